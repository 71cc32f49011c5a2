"""The exports of ChatGPT and Claude: lists of conversations with an assistant."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, tzinfo
from typing import TypeVar

from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.ingest.formats.document import Document
from hippocampe.ingest.formats.record import (
    Problem,
    TalkMessage,
    content_of,
    fields,
    identifier_of,
    in_utc,
    items,
    label_of,
    moment_of,
    moment_of_seconds,
)
from hippocampe.ingest.formats.source import Source

_Read = TypeVar("_Read")
_Spoken = tuple[str, str, str | None, datetime | None]
"""Who spoke (`user` or `assistant`), what, under which id, and when."""

# What a conversation of these exports cannot lack.
_CHATGPT_KEY, _CLAUDE_KEY = "mapping", "chat_messages"


def read_chatgpt(source: Source, zone: tzinfo) -> Iterator[TalkMessage | Problem]:
    """Read the branch of each conversation that was last on the screen."""
    for number, conversation in _conversations(source):
        if not isinstance(conversation.get(_CHATGPT_KEY), dict):
            yield Problem(number, "the conversation has no tree of messages")
            continue
        began = conversation.get("create_time")
        at = None if began is None else _or_none(moment_of_seconds, began)
        channel = _title(conversation.get("title"), "ChatGPT")
        for node in _chatgpt_branch(conversation):
            try:
                spoken = _chatgpt_message(fields(node.get("message")))
                if spoken is None:
                    continue
                at = spoken[3] or at
                yield _message((*spoken[:3], at), channel, "ChatGPT", zone)
            except InvalidInput as exc:
                yield Problem(number, str(exc))


def read_claude(source: Source, zone: tzinfo) -> Iterator[TalkMessage | Problem]:
    """Read the messages of each conversation, without the branches that were left."""
    for number, conversation in _conversations(source):
        if not isinstance(conversation.get(_CLAUDE_KEY), list):
            yield Problem(number, "the conversation has no list of messages")
            continue
        began = conversation.get("created_at")
        at = None if began is None else _or_none(moment_of, began)
        channel = _title(conversation.get("name"), "Claude")
        for raw in _claude_branch(conversation):
            try:
                spoken = _claude_message(raw)
                if spoken is None:
                    continue
                at = spoken[3] or at
                yield _message((*spoken[:3], at), channel, "Claude", zone)
            except InvalidInput as exc:
                yield Problem(number, str(exc))


def _conversations(source: Source) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield each conversation with its number, once the whole document is known to be sound."""
    for _ in _records(source):
        pass
    for number, record in enumerate(_records(source), start=1):
        yield number, fields(record)


def _records(source: Source) -> Iterator[object]:
    with source.open() as stream:
        document = Document(source, stream)
        if document.peek() == "[":
            for _ in document.elements():
                yield document.value()
        elif document.peek() == "{":
            yield document.value()
        else:
            raise UnreadableFile(
                f"cannot import {source.name}: it is not a JSON list of conversations."
            )
        document.end()


def _message(spoken: _Spoken, channel: str, assistant: str, zone: tzinfo) -> TalkMessage:
    role, content, external_id, at = spoken
    return TalkMessage(
        content=content,
        author=assistant if role == "assistant" else role,
        role=role,
        channel=channel,
        at=in_utc(at, zone) if at else None,
        external_id=external_id,
    )


def _chatgpt_branch(conversation: dict[str, object]) -> list[dict[str, object]]:
    nodes = {key: fields(node) for key, node in fields(conversation.get(_CHATGPT_KEY)).items()}
    current = conversation.get("current_node")
    if not isinstance(current, str) or current not in nodes:
        leaves = [key for key, node in nodes.items() if not items(node.get("children"))]
        current = leaves[-1] if leaves else None
    return _upwards(nodes, current, "parent")


def _upwards(
    nodes: Mapping[str, dict[str, object]], leaf: object, parent: str
) -> list[dict[str, object]]:
    """Follow the parents of a leaf; a loop, which only a damaged file has, ends the walk."""
    branch: dict[str, dict[str, object]] = {}
    while isinstance(leaf, str) and leaf in nodes and leaf not in branch:
        branch[leaf] = nodes[leaf]
        leaf = nodes[leaf].get(parent)
    return list(branch.values())[::-1]


def _chatgpt_message(raw: dict[str, object]) -> _Spoken | None:
    """Read a message that was shown; None for those of tools, of the system, and hidden ones."""
    role = fields(raw.get("author")).get("role")
    if (
        role not in ("user", "assistant")
        or raw.get("recipient", "all") not in ("all", None)
        or fields(raw.get("metadata")).get("is_visually_hidden_from_conversation") is True
    ):
        return None
    content = fields(raw.get("content"))
    if content.get("content_type", "text") not in ("text", "multimodal_text"):
        return None
    text = "\n".join(filter(None, map(_part_text, items(content.get("parts")))))
    if not text.strip():
        return None
    created = raw.get("create_time")
    at = None if created is None else moment_of_seconds(created)
    return str(role), content_of(text), identifier_of(raw.get("id")), at


def _part_text(part: object) -> str:
    """The text of a part; images have none, and a voice message has its transcription."""
    text = part if isinstance(part, str) else fields(part).get("text")
    return text if isinstance(text, str) else ""


def _claude_branch(conversation: dict[str, object]) -> list[dict[str, object]]:
    """Keep the branch of the last message, where the export says what answers what."""
    messages = [fields(raw) for raw in items(conversation.get(_CLAUDE_KEY))]
    nodes = {str(raw["uuid"]): raw for raw in messages if raw.get("uuid")}
    leaf = conversation.get("current_leaf_message_uuid") or (
        messages[-1].get("uuid") if messages else None
    )
    branch = _upwards(nodes, leaf, "parent_message_uuid")
    roots = [raw for raw in messages if raw.get("parent_message_uuid") not in nodes]
    # With several roots the parents are not those of one tree: nothing can be left out safely.
    return branch if len(roots) == 1 and branch[:1] == roots else messages


def _claude_message(raw: dict[str, object]) -> _Spoken | None:
    roles = {"human": "user", "user": "user", "assistant": "assistant"}
    sender = raw.get("sender")
    if not isinstance(sender, str):
        raise InvalidInput("the message has no sender")
    role = roles.get(sender.lower())
    if role is None:
        return None
    # `text` also holds stand-ins for the blocks that are no text, so the blocks come first.
    blocks = [fields(block) for block in items(raw.get("content"))]
    texts = [_part_text(block) for block in blocks if block.get("type") == "text"]
    text = "\n".join(filter(None, texts)) or ("" if blocks else raw.get("text"))
    if not isinstance(text, str) or not text.strip():
        return None
    created = raw.get("created_at")
    at = None if created is None else moment_of(created)
    return role, content_of(text), identifier_of(raw.get("uuid")), at


def _title(value: object, default: str) -> str:
    return _or_none(lambda title: label_of(title, "title"), value) or default


def _or_none(read: Callable[[object], _Read], value: object) -> _Read | None:
    try:
        return read(value)
    except InvalidInput:
        return None
