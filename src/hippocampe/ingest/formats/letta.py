"""Read the agent files of Letta: blocks, messages, and passages of the archival memory."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import tzinfo
from functools import partial

from hippocampe.errors import InvalidInput
from hippocampe.ingest.formats.document import walk
from hippocampe.ingest.formats.format import Format, has_key
from hippocampe.ingest.formats.passages import passages
from hippocampe.ingest.formats.record import (
    ROLES,
    ExternalIds,
    Problem,
    Record,
    Statement,
    TalkMessage,
    as_list,
    as_object,
    label_or,
    moment_or_none,
    parse_content,
    parse_identifier,
    parse_label,
    parse_metadata,
    parse_moment,
    parsed,
    with_metadata,
)
from hippocampe.ingest.formats.source import Source

_Object = dict[str, object]
_OF_THE_AGENT = "persona"
"""Label of the block in which an agent describes itself."""


def read_letta(source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    """Read an agent file, or a list of passages as the API gives it."""
    external_ids = ExternalIds("letta")
    ((_, whole),) = walk(source)
    file = as_object(whole)
    records = [
        *(partial(_block, as_object(raw)) for raw in as_list(file.get("blocks"))),
        *(
            partial(_passage, as_object(raw))
            for raw in as_list(whole) or as_list(file.get("passages"))
        ),
        *(
            partial(_message, as_object(raw), label_or(as_object(agent).get("name"), "Letta"))
            for agent in as_list(file.get("agents"))
            for raw in as_list(as_object(agent).get("messages"))
        ),
    ]
    yield from parsed(enumerate(records, start=1), lambda read: read(external_ids, zone))


def _block(raw: _Object, ids: ExternalIds, zone: tzinfo) -> Iterator[Record]:
    value, label = raw.get("value"), parse_label(raw.get("label"), "label")
    if not isinstance(value, str):
        raise InvalidInput("a block has no text")
    own = label == _OF_THE_AGENT
    for passage in passages(value):
        content = parse_content(passage.whole)
        yield Statement(
            content,
            collection="self" if own else None,
            category="context" if own else None,
            at=moment_or_none(passage.date, zone) or parse_moment(raw.get("created_at"), zone),
            metadata=parse_metadata({"block": label, "heading": " › ".join(passage.headings)}),
            external_id=ids.derive(label, content),
        )


def _passage(raw: _Object, ids: ExternalIds, zone: tzinfo) -> Iterator[Record | Problem]:
    if raw.get("is_deleted") is True:
        return
    content = parse_content(raw.get("text"))
    id = parse_identifier(raw.get("id"))
    found = Statement(
        content,
        at=parse_moment(raw.get("created_at"), zone),
        external_id=f"letta:{id}" if id else ids.derive(content),
    )
    yield from with_metadata(found, as_object(raw.get("metadata")) | {"tags": raw.get("tags")})


def _message(raw: _Object, agent: str, ids: ExternalIds, zone: tzinfo) -> Iterator[Record]:
    role, content = raw.get("role"), raw.get("content")
    if role not in ROLES:
        return
    parts = [as_object(part) for part in as_list(content)]
    texts = [part.get("text") for part in parts if part.get("type", "text") == "text"]
    joined = "\n".join(each for each in [*texts, content] if isinstance(each, str))
    # Agents of earlier versions answer with a tool, and think in their text.
    text = _sent(raw) or _spoken(joined)
    if text is None or not text.strip():
        return
    at = parse_moment(raw.get("created_at"), zone)
    yield TalkMessage(
        content=parse_content(text),
        author=agent if role == "assistant" else "user",
        role=str(role),
        channel=agent,
        at=at,
        # Ids are numbers within the file, the same in the file of another agent.
        external_id=ids.derive(agent, str(role), at.isoformat() if at else None, text),
    )


def _sent(raw: _Object) -> str:
    """The text that an agent sent with its tool for messages; empty without one."""
    texts: list[object] = []
    for call in as_list(raw.get("tool_calls")):
        function = as_object(as_object(call).get("function"))
        if function.get("name") == "send_message":
            with suppress(ValueError, RecursionError):
                texts.append(as_object(json.loads(str(function.get("arguments")))).get("message"))
    return "\n".join(each for each in texts if isinstance(each, str))


def _spoken(text: str) -> str | None:
    """Unpack the text of a user from the JSON of earlier versions; None for an event of the program."""
    try:
        packed: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    event = as_object(packed)
    if "type" not in event:
        return text
    message = event.get("message")
    return message if event["type"] == "user_message" and isinstance(message, str) else None


LETTA = Format(
    "letta",
    "Letta",
    read_letta,
    recognises=has_key(
        r'"(?:in_context_message_ids|archive_id|tool_exec_environment_variables)"\s*:'
    ),
)
"""The block `persona` is what the companion knows of itself."""
