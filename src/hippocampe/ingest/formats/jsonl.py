"""Read the documented JSON Lines format: one message per line."""

import json
from collections.abc import Iterator
from datetime import tzinfo
from typing import cast

from hippocampe.errors import InvalidInput
from hippocampe.ingest.formats.format import Format, any_line
from hippocampe.ingest.formats.record import (
    ExternalIds,
    Problem,
    TalkMessage,
    optional,
    parse_content,
    parse_identifier,
    parse_label,
    parse_time,
    to_utc,
)
from hippocampe.ingest.formats.source import Line, Source, read_lines
from hippocampe.types import Scope

ROLES = ("user", "assistant")


def read_jsonl(source: Source, zone: tzinfo) -> Iterator[TalkMessage | Problem]:
    """Read one message per line: an object with the fields of `TalkMessage`.

    Only `content` and `author` are required. `at` is ISO 8601, in `zone` without an offset.
    """
    external_ids = ExternalIds("jsonl")
    for line in read_lines(source):
        if line.problem:
            yield Problem(line.number, line.problem)
        elif line.text.strip():
            try:
                yield _message(line, zone, external_ids)
            except InvalidInput as exc:
                yield Problem(line.number, str(exc))


def parse_object(text: str) -> dict[str, object]:
    """Parse one line as a JSON object.

    Raises:
        InvalidInput: The line is not a JSON object.
    """
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise InvalidInput("the line is not valid JSON") from exc
    if not isinstance(value, dict):
        raise InvalidInput("the line is not a JSON object")
    return cast("dict[str, object]", value)


def _message(line: Line, zone: tzinfo, external_ids: ExternalIds) -> TalkMessage:
    raw = parse_object(line.text)
    content = parse_content(raw.get("content"))
    author = parse_label(raw.get("author"), "author")
    channel = optional(lambda name: parse_label(name, "channel"), raw.get("channel"))
    written = optional(parse_time, raw.get("at"))
    external_id = parse_identifier(raw.get("external_id"))
    reply_to = parse_identifier(raw.get("reply_to"))
    role, space = _role(raw.get("role")), _space(raw.get("space"))
    return TalkMessage(
        content=content,
        author=author,
        role=role,
        channel=channel,
        at=to_utc(written, zone) if written else None,
        space=space,
        external_id=external_id
        or external_ids.derive(
            space, channel, author, written.isoformat() if written else None, content
        ),
        reply_to=reply_to,
        line=line.number,
    )


def _role(value: object) -> str | None:
    if value is None or (isinstance(value, str) and value in ROLES):
        return value
    raise InvalidInput(f"role must be one of {', '.join(ROLES)}, or be left out")


def _space(value: object) -> str | None:
    """Check a space: its name must be in normal form already."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput("space is not text")
    try:
        return Scope(space=value).space
    except InvalidInput as exc:
        raise InvalidInput("space is not a valid name of a space") from exc


def _is_message(line: str) -> bool:
    try:
        return "content" in parse_object(line)
    except InvalidInput:
        return False


JSONL = Format("jsonl", "JSON Lines", read_jsonl, recognises=any_line(_is_message))
