"""Put an injection into a list of chat messages, and remove injections from one.

The injection goes into the last user message, before the user's text. Earlier messages stay byte for
byte the same, so the provider's prompt cache stays valid. The marks around an injection identify it
later: text between them is never stored.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from hippocampe.errors import InvalidInput
from hippocampe.language.fence import CLOSING, MARKER, OPENING
from hippocampe.language.markers import MARK, without_injection
from hippocampe.types import Injection

_SEPARATOR = "\n\n"
_FROM_HOST = ("system", "developer", "user")
_RESPONSES_PARTS = ("input_text", "input_image", "input_file")


def with_injection(
    messages: Sequence[Any], injection: Injection | str, *, keep: bool = False
) -> list[Any]:
    """Copy a list of messages and put an injection into the copy.

    The injection goes before the text of the last user message that has any; in a message made of
    parts it becomes a text part of its own, after tool results.

    Args:
        messages: Messages of OpenAI's Chat Completions or Responses, or of Anthropic's Messages.
        injection: The result of `before_turn`, or a text; a text without marks is put between
            marks. An empty one adds nothing.
        keep: Keep earlier injections in earlier messages, for a host that stores the copy, so that the
            provider's prompt cache covers them. Else they are removed.

    Returns:
        A deep copy.

    Raises:
        InvalidInput: `messages` is not a list of messages, or `injection` is not an injection.
    """
    text = injection.text if isinstance(injection, Injection) else injection
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"injection must be the result of before_turn or a text, not {type(injection).__name__}."
        )
    copied = without_injections(messages)
    if keep:
        copied = deepcopy(list(messages))
    if not text.strip():
        return copied
    text = _marked(text.strip())
    for position in reversed(range(len(copied))):
        message = copied[position]
        if _field(message, "role") != "user":
            continue
        again = _clean_message(deepcopy(message)) if keep else message
        if again is not None and _put(again, text):
            copied[position] = again
            break
    return copied


def without_injections(messages: Sequence[Any]) -> list[Any]:
    """Copy a list of messages without injections; drop messages that contained nothing else.

    Raises:
        InvalidInput: `messages` is not a list of messages.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"messages must be a list of messages, not {type(messages).__name__}: wrap a text as "
            '[{"role": "user", "content": text}].'
        )
    return [
        cleaned for cleaned in map(_clean_message, deepcopy(list(messages))) if cleaned is not None
    ]


def _marked(text: str) -> str:
    marks = [mark[0] for mark in MARK.finditer(text)]
    if marks == [OPENING, CLOSING] and text.startswith(OPENING) and text.endswith(CLOSING):
        return text
    return f"{OPENING}\n{MARK.sub(MARKER, text)}\n{CLOSING}"


def _field(value: Any, name: str) -> Any:
    """A field of a message or part, which may be a mapping or an object of a client library."""
    if isinstance(value, Mapping):
        return cast(Mapping[str, Any], value).get(name)
    return getattr(value, name, None)


def _put(message: Any, text: str) -> bool:
    """Put a text before the content of a user message; return False if it has no content."""
    content = _field(message, "content")
    if not content or _is_empty(content):
        return False
    if isinstance(content, str):
        new: str | list[Any] = text + _SEPARATOR + content
    else:
        parts = list(cast(Sequence[Any], content))
        kinds = [_field(part, "type") for part in parts]
        # Anthropic requires tool results first.
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
    """Remove injections from a message in place; None if nothing else is left."""
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
    """Text, or a list of parts, without injections and without parts that contained nothing else."""
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
