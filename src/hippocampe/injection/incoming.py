"""What a host hands over as one turn, read as the texts that somebody said. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from hippocampe.language.markers import without_injection
from hippocampe.language.text import without_control

HostMessage = str | Mapping[str, Any]

NOT_SAID = ("system", "developer", "tool", "function")
"""Roles of messages that nobody said."""


def read_messages(message: object, role: str, *, longest: int) -> tuple[list[str], str | None]:
    """The texts to answer, without what was injected; or why there is nothing to answer.

    Whatever a host hands over is taken: what says nothing is left out.

    Args:
        message: One message or several.
        role: Of those that do not say.
        longest: Characters of each that are kept.
    """
    texts: list[str] = []
    skipped = "nothing was said"
    for each in _each(message):
        of: Mapping[str, object] = {"content": each}
        if isinstance(each, Mapping):
            of = cast("Mapping[str, object]", each)
        if str(of.get("role") or of.get("source") or role).lower() in NOT_SAID:
            skipped = "a message of the system"
            continue
        text = without_injection(_text(of.get("content")))
        # No database and no tokenizer takes half a character.
        text = without_control(text.encode("utf-8", "replace").decode()).strip()
        if text:
            texts.append(cut(text, longest))
    return texts, None if texts else skipped


def _each(message: object) -> Sequence[object]:
    if isinstance(message, Sequence) and not isinstance(message, str):
        return cast("Sequence[object]", message)
    return [message]


def _text(content: object) -> str:
    """What a content says, which may be a list of parts, as OpenAI and Anthropic have it."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [
        cast("Mapping[str, object]", p)
        for p in cast("list[object]", content)
        if isinstance(p, Mapping)
    ]
    return " ".join(text for part in parts if isinstance(text := part.get("text"), str))


def cut(text: str, longest: int) -> str:
    """A text, or the beginning and the end of a long one: what is asked stands at either."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} {text[len(text) - half + 1 :]}"
