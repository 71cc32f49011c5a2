"""Read the documented JSON Lines format: one message per line."""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import tzinfo
from typing import cast

from hippocampe.errors import InvalidInput
from hippocampe.ingest.formats.format import Format, any_line
from hippocampe.ingest.formats.record import (
    ROLES,
    ExternalIds,
    Problem,
    Record,
    TalkMessage,
    optional,
    parse_content,
    parse_identifier,
    parse_label,
    parse_time,
    parsed,
    to_utc,
)
from hippocampe.ingest.formats.source import Line, Source, read_lines
from hippocampe.types import Scope


def read_jsonl(source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    """Read one message per line: an object with the fields of `TalkMessage`.

    Only `content`, and `author` or `role`, are required. `at` is ISO 8601, in `zone` without an offset.
    """
    external_ids = ExternalIds("jsonl")
    return read_objects(source, lambda raw: [parse_message(raw, zone, external_ids)])


def read_objects(
    source: Source, parse: Callable[[dict[str, object]], Iterable[Record | Problem]]
) -> Iterator[Record | Problem]:
    """Read a file with a JSON object on each line that is not blank."""

    def read(line: Line) -> Iterable[Record | Problem]:
        if line.problem:
            raise InvalidInput(line.problem)
        return parse(parse_object(line.text)) if line.text.strip() else ()

    return parsed(((line.number, line) for line in read_lines(source)), read)


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


def parse_message(raw: dict[str, object], zone: tzinfo, external_ids: ExternalIds) -> TalkMessage:
    """Parse an object with the fields of a message.

    Raises:
        InvalidInput: A field is missing or cannot be used.
    """
    content, role = parse_content(raw.get("content")), _role(raw.get("role"))
    # The importer gives what "user" says to the user of its scope.
    named = raw.get("author")
    author = role if role and named is None else parse_label(named, "author")
    channel = optional(lambda name: parse_label(name, "channel"), raw.get("channel"))
    written = optional(parse_time, raw.get("at"))
    external_id = parse_identifier(raw.get("external_id"))
    reply_to = parse_identifier(raw.get("reply_to"))
    space = _space(raw.get("space"))
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


def any_object(test: Callable[[dict[str, object]], bool]) -> Callable[[str], bool]:
    """Recognise a format by the JSON object on one of the first lines."""

    def holds(line: str) -> bool:
        try:
            return test(parse_object(line))
        except InvalidInput:
            return False

    return any_line(holds)


JSONL = Format(
    "jsonl",
    "JSON Lines",
    read_jsonl,
    recognises=any_object(lambda raw: "content" in raw and "record" not in raw),
)
