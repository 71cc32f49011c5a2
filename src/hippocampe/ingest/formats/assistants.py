"""Read the exports of ChatGPT and Claude: lists of conversations with an assistant."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import partial
from typing import NamedTuple

from hippocampe.errors import InvalidInput
from hippocampe.ingest.formats.document import records
from hippocampe.ingest.formats.format import Format, has_key
from hippocampe.ingest.formats.record import (
    ROLES,
    Problem,
    TalkMessage,
    as_list,
    as_object,
    label_or,
    moment_or_none,
    optional,
    parse_content,
    parse_identifier,
    parse_time,
    parse_timestamp,
    to_utc,
)
from hippocampe.ingest.formats.source import Source

_Object = dict[str, object]
_MARKS = re.compile(r"( ?)(?:\ue200([^\ue200\ue201]*)\ue201|\u3010\d+\u2020[^\u3010\u3011]*\u3011)")
"""Marks in the texts of ChatGPT for what its page shows otherwise: citations, names."""
_SPOKEN = ("text", "voice_note")
"""Types of the blocks of Claude that have what was said."""
_PASTED = "paste.txt"
"""The name that Claude gives to a pasted text, if it gives one."""


class _Utterance(NamedTuple):
    """A message of the export. `role` is `user` or `assistant`."""

    role: str
    content: str
    external_id: str | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class _Assistant:
    """The layout of one assistant's export.

    `branch` lists the displayed messages of a conversation; `parse_message` returns None for a
    message that was not displayed or has no text.
    """

    name: str
    messages_key: str
    messages_type: type
    missing: str
    title_key: str
    time_key: str
    branch: Callable[[_Object], list[_Object]]
    parse_message: Callable[[_Object], _Utterance | None]


def _read(assistant: _Assistant, source: Source, zone: tzinfo) -> Iterator[TalkMessage | Problem]:
    for _ in records(source):
        pass  # A damaged document yields no record.
    for number, conversation in enumerate(records(source), start=1):
        if not isinstance(conversation.get(assistant.messages_key), assistant.messages_type):
            yield Problem(number, assistant.missing)
            continue
        # A message without a time gets that of the message before it.
        at = moment_or_none(conversation.get(assistant.time_key), zone)
        channel = label_or(conversation.get(assistant.title_key), assistant.name)
        for raw in assistant.branch(conversation):
            try:
                utterance = assistant.parse_message(raw)
                if utterance is None:
                    continue
                at = utterance.at or at
                yield TalkMessage(
                    content=utterance.content,
                    author=assistant.name if utterance.role == "assistant" else utterance.role,
                    role=utterance.role,
                    channel=channel,
                    at=to_utc(at, zone) if at else None,
                    external_id=utterance.external_id,
                    unique=utterance.external_id is not None,
                    line=number,
                )
            except InvalidInput as exc:
                yield Problem(number, str(exc))


def _chatgpt_branch(conversation: _Object) -> list[_Object]:
    nodes = {key: as_object(node) for key, node in as_object(conversation.get("mapping")).items()}
    current = conversation.get("current_node")
    if not isinstance(current, str) or current not in nodes:
        leaves = [key for key, node in nodes.items() if not as_list(node.get("children"))]
        current = leaves[-1] if leaves else None
    return [as_object(node.get("message")) for node in _upwards(nodes, current, "parent")]


def _upwards(nodes: Mapping[str, _Object], leaf: object, parent: str) -> list[_Object]:
    """Follow the parents of a leaf. A loop, found only in damaged files, ends the walk."""
    branch: dict[str, _Object] = {}
    while isinstance(leaf, str) and leaf in nodes and leaf not in branch:
        branch[leaf] = nodes[leaf]
        leaf = nodes[leaf].get(parent)
    return list(branch.values())[::-1]


def _chatgpt_message(raw: _Object) -> _Utterance | None:
    """Parse a displayed message; None for tool, system and hidden messages."""
    role = as_object(raw.get("author")).get("role")
    if (
        role not in ROLES
        or raw.get("recipient", "all") not in ("all", None)
        or as_object(raw.get("metadata")).get("is_visually_hidden_from_conversation") is True
    ):
        return None
    content = as_object(raw.get("content"))
    if content.get("content_type", "text") not in ("text", "multimodal_text"):
        return None
    text = "\n".join(filter(None, map(_part_text, as_list(content.get("parts")))))
    if not text.strip():
        return None
    at = optional(parse_timestamp, raw.get("create_time"))
    return _Utterance(str(role), parse_content(text), parse_identifier(raw.get("id")), at)


def _part_text(part: object) -> str:
    """The text of a part: empty for an image, the transcription of a voice message."""
    text = part if isinstance(part, str) else as_object(part).get("text")
    return _MARKS.sub(_shown, text) if isinstance(text, str) else ""


def _shown(mark: re.Match[str]) -> str:
    """The name that a mark of ChatGPT shows; empty for a citation."""
    kind, *values = (mark[2] or "").split("\ue202")
    if kind != "entity" or not values:
        return ""
    try:
        named = as_list(json.loads(values[0]))
    except (ValueError, RecursionError):
        return ""
    return f"{mark[1]}{named[1]}" if len(named) > 1 else ""


def _claude_branch(conversation: _Object) -> list[_Object]:
    """The branch of the last message, if the export has the parents of messages."""
    messages = [as_object(raw) for raw in as_list(conversation.get("chat_messages"))]
    nodes = {str(raw["uuid"]): raw for raw in messages if raw.get("uuid")}
    leaf = conversation.get("current_leaf_message_uuid") or (
        messages[-1].get("uuid") if messages else None
    )
    branch = _upwards(nodes, leaf, "parent_message_uuid")
    # In a damaged file, an id may be a list, which no dict can look up.
    roots = [raw for raw in messages if str(raw.get("parent_message_uuid")) not in nodes]
    # Several roots: the messages are not a single tree, so keep all of them.
    return branch if len(roots) == 1 and branch[:1] == roots else messages


def _claude_message(raw: _Object) -> _Utterance | None:
    roles = {"human": "user", "user": "user", "assistant": "assistant"}
    sender = raw.get("sender")
    if not isinstance(sender, str):
        raise InvalidInput("the message has no sender")
    role = roles.get(sender.lower())
    if role is None:
        return None
    # Prefer blocks: `text` also contains placeholders for blocks that are not text.
    blocks = [as_object(block) for block in as_list(raw.get("content"))]
    texts = [_part_text(block) for block in blocks if block.get("type") in _SPOKEN]
    texts += [_pasted(as_object(raw)) for raw in as_list(raw.get("attachments"))]
    if not blocks and isinstance(raw.get("text"), str):
        texts.insert(0, str(raw["text"]))
    text = "\n".join(filter(None, texts))
    if not text.strip():
        return None
    at = optional(parse_time, raw.get("created_at"))
    return _Utterance(role, parse_content(text), parse_identifier(raw.get("uuid")), at)


def _pasted(attachment: _Object) -> str:
    """A long text that was pasted into a message of Claude, whose page makes it an attachment; empty for a file."""
    text = attachment.get("extracted_content")
    named = attachment.get("file_name") not in ("", None, _PASTED)
    return "" if named or not isinstance(text, str) else text


_CHATGPT_EXPORT = _Assistant(
    name="ChatGPT",
    messages_key="mapping",
    messages_type=dict,
    missing="the conversation has no tree of messages",
    title_key="title",
    time_key="create_time",
    branch=_chatgpt_branch,
    parse_message=_chatgpt_message,
)
_CLAUDE_EXPORT = _Assistant(
    name="Claude",
    messages_key="chat_messages",
    messages_type=list,
    missing="the conversation has no list of messages",
    title_key="name",
    time_key="created_at",
    branch=_claude_branch,
    parse_message=_claude_message,
)
_FILES = r"conversations(?:-\d+)?\.json"
CHATGPT = Format(
    "chatgpt",
    "ChatGPT",
    partial(_read, _CHATGPT_EXPORT),
    recognises=has_key(r'"mapping"\s*:\s*\{'),
    files=_FILES,
)
"""Of each conversation, the branch that was displayed last is read."""
CLAUDE = Format(
    "claude",
    "Claude",
    partial(_read, _CLAUDE_EXPORT),
    recognises=has_key(r'"chat_messages"\s*:\s*\['),
    files=_FILES,
)
"""Abandoned branches are left out."""
