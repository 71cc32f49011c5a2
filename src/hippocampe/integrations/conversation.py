"""A conversation as memory reads it, independent of the host and of its protocol. No I/O."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

Role = Literal["user", "assistant", "tool", "system"]

CALL_OUTPUT = "_output"
"""Suffix of the type of an item with the result of a call; the call and its result share one `call_id`."""
_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "chatbot": "assistant",
    "tool": "tool",
    "function": "tool",
}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request.

    Attributes:
        role: `user` only for new words of the user; results of tools are `tool`, in messages of the user too.
        text: Its text, without images and files.
        results: Results of tools beside new words of the user.
    """

    role: Role
    text: str
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of a request.

    Attributes:
        messages: In order.
        names: Ids of the user's messages, by position; each covers the message and the answer before it.
        message: The text of the message of the user that is to be answered; empty if it has none, or is not in
            the request.
        opening: Identifies the conversation by its first message, or by the history that it continues.
        begins: Whether the model has not answered yet.
        continued: Whether the model has answered that message already, with calls of tools.
        results: Results of tools beside that message and since.
        continues: Id of the provider's stored history that the request continues, if any.
    """

    messages: tuple[Message, ...]
    names: Mapping[int, str]
    message: str
    opening: str
    begins: bool
    continued: bool
    results: tuple[str, ...]
    continues: str | None


def conversation(
    messages: Sequence[Message] | None, continues: str | None = None
) -> Conversation | None:
    """The conversation of messages.

    Args:
        messages: The messages; None if the request has no readable ones.

    Returns:
        None if it has no text of a user, and continues no history.
    """
    if messages is None:
        return None
    names, answered = dict[int, str](), continues or ""
    for position, message in enumerate(messages):
        if message.role == "user" and message.text.strip():
            names[position] = _digest(answered, message.text)
        elif message.role == "assistant":
            answered = message.text
    if not names and continues is None:
        return None
    last = max(turn_starts(messages), default=-1)
    after = messages[last + 1 :]
    beside = messages[last].results if last in names else ()
    return Conversation(
        tuple(messages),
        names,
        messages[last].text if last in names else "",
        _digest(messages[min(names)].text if continues is None else continues),
        continues is None and not any(each.role == "assistant" for each in messages),
        bool(after),
        (*beside, *(each.text for each in after if each.role == "tool" and each.text)),
        continues,
    )


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """The positions of the messages that begin a turn: those of the user with text, or after an answer.

    One without text after another message or after results of tools, such as a screenshot, belongs to their turn.
    """
    starts, before = list[int](), "assistant"
    for position, message in enumerate(messages):
        if message.role == "user" and (message.text.strip() or before == "assistant"):
            starts.append(position)
        if message.role != "system":
            before = message.role
    return starts


def text_of(content: object, between: str = "\n") -> str:
    """The text of a content: itself, or its parts of text.

    Args:
        content: A text, a list of parts, or anything else, which has none.
        between: Separator of the texts of two parts.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [_field(part, "text") for part in cast("list[object]", content)]
    return between.join(text for text in texts if isinstance(text, str))


def role_of(name: object) -> Role:
    """A role by its name in a host; `system` for any other."""
    return _ROLES.get(str(name), "system")


def of_chat(message: object) -> Message:
    """A message of chat completions, as a mapping or an object."""
    return Message(role_of(_field(message, "role")), text_of(_field(message, "content")))


def of_response(item: object) -> Message:
    """An item of the input or the output of a response, as a mapping or an object."""
    role = _field(item, "role")
    if str(_field(item, "type") or "").endswith(CALL_OUTPUT):
        return Message("tool", text_of(_field(item, "output")))
    if role == "user":
        return Message("user", text_of(_field(item, "content")))
    if role in ("system", "developer"):
        return Message("system", text_of(_field(item, "content")))
    # All other items come from the model: messages, calls, reasoning, references to them.
    return Message("assistant", text_of(_field(item, "content")))


def _field(value: object, name: str) -> object:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    return getattr(value, name, None)


def _digest(*texts: str) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()
