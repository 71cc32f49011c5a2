"""An injection put into a copy of a list of messages, and taken out of whatever comes back.

It lies in the last user message, in front of what the user says: the messages before it stay byte
for byte what they were, so that the provider's prompt cache holds, and OpenAI's and Anthropic's
rules are kept. Its marker is how it is recognised later: nothing between the marks is ever stored.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from hippocampe.errors import InvalidInput
from hippocampe.language.markers import CLOSING, MARK, MARKER, OPENING, without_injection
from hippocampe.types import Injection

_SEPARATOR = "\n\n"
_FROM_HOST = ("system", "developer", "user")
_RESPONSES_PARTS = ("input_text", "input_image", "input_file")


def with_injection(messages: Sequence[Any], injection: Injection | str) -> list[Any]:
    """A copy of a list of messages with an injection in it; the list itself is left as it is.

    The injection stands in the last user message that says something, in front of what it says; in
    a message made of parts it is a text part of its own, after the results of tools. An injection
    that an earlier call put there is replaced.

    Args:
        messages: Those of OpenAI's Chat Completions or Responses, or of Anthropic's Messages.
        injection: What `before_turn` gave, or a text; a text without the marker is put between
            its marks. When it is empty, or when no user says anything, nothing is put in.

    Returns:
        A new list that shares nothing mutable with the one that was given.

    Raises:
        InvalidInput: `messages` is no list of messages, or `injection` is no injection.
    """
    text = injection.text if isinstance(injection, Injection) else injection
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"an injection is what before_turn gives, or text, not {type(injection).__name__}."
        )
    copied = without_injections(messages)
    if not text.strip():
        return copied
    text = _marked(text.strip())
    for message in reversed(copied):
        if _field(message, "role") == "user" and _put(message, text):
            break
    return copied


def without_injections(messages: Sequence[Any]) -> list[Any]:
    """A copy of a list of messages without any injection; a message that was only one is left out.

    Raises:
        InvalidInput: `messages` is no list of messages.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"messages must be a list of messages, not {type(messages).__name__}: wrap a text as "
            '[{"role": "user", "content": text}].'
        )
    return [kept for kept in map(_clean_message, deepcopy(list(messages))) if kept is not None]


def _marked(text: str) -> str:
    marks = [mark[0] for mark in MARK.finditer(text)]
    if marks == [OPENING, CLOSING] and text.startswith(OPENING) and text.endswith(CLOSING):
        return text
    return f"{OPENING}\n{MARK.sub(MARKER, text)}\n{CLOSING}"


def _field(value: Any, name: str) -> Any:
    """A field of a message or part, which a client may give as an object of its own."""
    if isinstance(value, Mapping):
        return cast(Mapping[str, Any], value).get(name)
    return getattr(value, name, None)


def _put(message: Any, text: str) -> bool:
    """Put a text in front of what a user message says, if it says anything."""
    content = _field(message, "content")
    if not content or _is_empty(content):
        return False
    if isinstance(content, str):
        new: str | list[Any] = text + _SEPARATOR + content
    else:
        parts = list(cast(Sequence[Any], content))
        kinds = [_field(part, "type") for part in parts]
        # Anthropic wants the results of tools first.
        place = next((n for n, kind in enumerate(kinds) if kind != "tool_result"), None)
        if place is None:
            return False
        responses = any(kind in _RESPONSES_PARTS for kind in kinds)
        part = {"type": "input_text" if responses else "text", "text": text}
        new = [*parts[:place], part, *parts[place:]]
    if not isinstance(message, dict):
        raise InvalidInput(
            f"the last user message is a {type(message).__name__}, which cannot be changed: "
            "give user messages as dicts."
        )
    message["content"] = new
    return True


def _clean_message(message: Any) -> Any | None:
    """A message without injections, changed in place; None when it was only one."""
    if not isinstance(message, dict):
        return message
    message = cast(dict[str, Any], message)
    before = message.get("content")
    after = _clean_content(before)
    if after == before:
        return message
    message["content"] = after
    return None if message.get("role") in _FROM_HOST and _is_empty(after) else message


def _clean_content(content: Any) -> Any:
    """Text, or a list of parts, without injections; parts that were only one are left out."""
    if isinstance(content, str):
        return without_injection(content)
    if not isinstance(content, list):
        return content
    cleaned = [(part, _clean_part(part)) for part in cast(list[Any], content)]
    return [
        after
        for before, after in cleaned
        if after == before or not _is_empty(_field(after, "text"))
    ]


def _clean_part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    part = cast(dict[str, Any], part)
    inner = {name: _clean_content(part[name]) for name in ("text", "content") if name in part}
    return part | inner


def _is_empty(content: Any) -> bool:
    return content == [] or (isinstance(content, str) and not content.strip())
