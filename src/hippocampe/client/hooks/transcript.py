"""The last exchange in the transcript that a coding agent keeps: one JSON object per line."""

import json
import os

from hippocampe.language.machine_made import MACHINE_MADE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO, TypeGuard

BLOCK_BYTES = 1 << 16
_CODEX_ROLES = {
    "user_message": "user",
    "agent_message": "assistant",
    "UserMessage": "user",
    "AgentMessage": "assistant",
}
"""Roles by the kind of an event of Codex; in newer versions, by that of its item."""
COMMAND_OUTPUT = ("<local-command-stdout>", "<local-command-stderr>")
"""Beginnings of the output of a command that Claude Code executed by itself, which follows the command."""


def last_exchange(path: str) -> tuple[str, str, str | None] | None:
    """The last prompt of the user and the last text of the agent after it.

    A command that the agent answered is a prompt, as it was typed; one that the program executed by itself is none.

    Returns:
        The id of the prompt, the prompt, and the reply if there is one; None without a prompt.

    Raises:
        OSError: The file cannot be read.
    """
    reply: str | None = None
    executed = False
    with open(os.path.expanduser(path), "rb") as file:
        for each in _lines_from_the_end(file):
            try:
                record = json.loads(each)
            except ValueError:
                continue  # An incomplete line, still being written.
            if not is_object(record) or record.get("isSidechain"):
                continue
            role, text = _said(record)
            if role == "user" and not text:
                has_output, line = _of_command(record)
                text = "" if executed else line
                executed = has_output or (executed and not line)
            if not text:
                continue
            if role == "assistant" and reply is None:
                reply = text
            elif role == "user":
                return str(record.get("uuid") or record.get("timestamp")), text, reply
    return None


def _said(record: "dict[str, Any]") -> "tuple[object, str]":
    """The role and the text of a record; the text is empty if it has none of a person or of the agent."""
    if record.get("type") != "event_msg":
        return record.get("type"), _text(record)
    # Codex.
    payload = _object(record.get("payload"))
    if payload.get("type") == "item_completed":
        payload = _object(payload.get("item"))
    role = _CODEX_ROLES.get(str(payload.get("type")))
    if role is None:
        return None, ""
    return role, str(payload.get("message") or "").strip() or _joined(payload.get("content"))


def _text(record: "dict[str, Any]") -> str:
    """The text of a person or of the agent in a record; empty if it has none."""
    return _joined(_content(record))


def _of_command(record: "dict[str, Any]") -> "tuple[bool, str]":
    """Return whether a record has the output of a command of Claude Code, and the line of one that a person typed."""
    text = "\n".join(_texts(_content(record)))
    line = f"{_tagged(text, 'command-name')} {_tagged(text, 'command-args')}"
    return text.startswith(COMMAND_OUTPUT), line.strip()


def _tagged(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()


def _content(record: "dict[str, Any]") -> "Any":
    """The content of a message that a person or the agent wrote; None of any other record."""
    message = record.get("message")
    if not is_object(message) or record.get("isMeta") or record.get("isCompactSummary"):
        return None
    return message.get("content")


def _joined(content: "Any") -> str:
    return "\n\n".join(each for each in _texts(content) if not each.startswith(MACHINE_MADE))


def _texts(content: "Any") -> list[str]:
    """The texts of a content: a string, or parts of several kinds. Codex writes `text` and `Text`."""
    parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [
        str(part.get("text", "")).strip()
        for part in parts or ()
        if is_object(part) and str(part.get("type")).lower() == "text"
    ]
    return [each for each in texts if each]


def _object(value: "Any") -> "dict[str, Any]":
    return value if is_object(value) else {}


def is_object(value: "Any") -> "TypeGuard[dict[str, Any]]":
    """Return whether a JSON value is an object."""
    return isinstance(value, dict)


def _lines_from_the_end(file: "BinaryIO") -> "Iterator[bytes]":
    """The lines of a file, last first: a transcript grows to many megabytes."""
    at = file.seek(0, os.SEEK_END)
    pending: list[bytes] = []
    while at:
        size = min(BLOCK_BYTES, at)
        at = file.seek(at - size)
        first, *others = file.read(size).split(b"\n")
        if not others:
            pending.append(first)
            continue
        yield b"".join([others.pop(), *reversed(pending)])
        yield from reversed(others)
        pending = [first]
    yield b"".join(reversed(pending))
