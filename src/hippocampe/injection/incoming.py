"""Parse the messages of a host into the texts of the user. Pure."""

from collections.abc import Mapping, Sequence
from typing import cast

from hippocampe.language.markers import without_injection
from hippocampe.language.text import cut, without_control
from hippocampe.retrieval.request import MAX_QUERY_CHARACTERS
from hippocampe.validation import MAX_BURST

MAX_READ_CHARACTERS = 200_000
"""Characters read of a burst, latest first: injections and the text around them. A turn uses the beginning and
the end."""
SKIPPED_ROLES = ("system", "developer", "tool", "function")
"""Roles of messages that are not from a user."""


def read_messages(message: object, role: str) -> tuple[list[str], str | None]:
    """The texts to answer, without earlier injections; or none, and the reason.

    Never raises: values that are not messages are skipped.

    Args:
        message: One message or several; the latest are read.
        role: The role of messages without one.
    """
    texts: list[str] = []
    skipped = "nothing was said"
    left = MAX_READ_CHARACTERS
    for each in reversed(_each(message)[-MAX_BURST:]):
        of: Mapping[str, object] = {"content": each}
        if isinstance(each, Mapping):
            of = cast("Mapping[str, object]", each)
        if str(of.get("role") or of.get("source") or role).lower() in SKIPPED_ROLES:
            skipped = "a message of the system"
            continue
        text = cut(_text(of.get("content")), left)
        left = max(0, left - len(text))
        text = without_injection(text)
        # Lone surrogates are valid in Python, but not in SQLite or the tokenizer.
        text = without_control(text.encode("utf-8", "replace").decode()).strip()
        if text:
            texts.append(cut(text, MAX_QUERY_CHARACTERS))
    return texts[::-1], None if texts else skipped


def _each(message: object) -> Sequence[object]:
    if isinstance(message, Sequence) and not isinstance(message, str):
        return cast("Sequence[object]", message)
    return [message]


def _text(content: object) -> str:
    """The text of a content, which may be a list of parts, as for OpenAI and Anthropic."""
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
