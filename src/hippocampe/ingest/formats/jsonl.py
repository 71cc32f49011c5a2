"""The documented JSON Lines form of talk: one message a line."""

import json
from collections.abc import Iterator
from datetime import tzinfo
from typing import cast

from hippocampe.errors import InvalidInput
from hippocampe.ingest.formats.record import (
    Identities,
    Problem,
    TalkMessage,
    content_of,
    identifier_of,
    in_utc,
    label_of,
    moment_of,
)
from hippocampe.ingest.formats.source import Source, lines
from hippocampe.types import Scope

ROLES = ("user", "assistant")


def read_jsonl(source: Source, zone: tzinfo) -> Iterator[TalkMessage | Problem]:
    """Read one message a line: an object with the fields of `TalkMessage`.

    Only `content` and `author` are required; `at` is in ISO 8601, in `zone` if it names none.
    """
    identities = Identities("jsonl")
    for line in lines(source):
        if line.problem:
            yield Problem(line.number, line.problem)
        elif line.text.strip():
            try:
                yield _message(line.text, zone, identities)
            except InvalidInput as exc:
                yield Problem(line.number, str(exc))


def parse_object(text: str) -> dict[str, object]:
    """Parse one line as a JSON object.

    Raises:
        InvalidInput: It is something else.
    """
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise InvalidInput("the line is not valid JSON") from exc
    if not isinstance(value, dict):
        raise InvalidInput("the line is not a JSON object")
    return cast("dict[str, object]", value)


def _message(text: str, zone: tzinfo, identities: Identities) -> TalkMessage:
    raw = parse_object(text)
    content = content_of(raw.get("content"))
    author = label_of(raw.get("author"), "author")
    channel = label_of(raw["channel"], "channel") if raw.get("channel") is not None else None
    written = moment_of(raw["at"]) if raw.get("at") is not None else None
    external_id = identifier_of(raw.get("external_id"))
    reply_to = identifier_of(raw.get("reply_to"))
    role, space = _role(raw.get("role")), _space(raw.get("space"))
    return TalkMessage(
        content=content,
        author=author,
        role=role,
        channel=channel,
        at=in_utc(written, zone) if written else None,
        space=space,
        external_id=external_id
        or identities.of(space, channel, author, written.isoformat() if written else None, content),
        reply_to=reply_to,
    )


def _role(value: object) -> str | None:
    if value is None or (isinstance(value, str) and value in ROLES):
        return value
    raise InvalidInput(f"role must be one of {', '.join(ROLES)}, or be left out")


def _space(value: object) -> str | None:
    """Check a space without changing it: tidied, two tenants could become one."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput("space is not text")
    try:
        return Scope(space=value).space
    except InvalidInput as exc:
        raise InvalidInput("space is not a valid name of a space") from exc
