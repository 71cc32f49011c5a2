"""Talk as a language model reads it: parts of one room each, quoted as JSON with short ids."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from hippocampe.language.datetimes import as_zone
from hippocampe.types import Message

PART_CHARACTERS = 12_000
"""Characters of a part: about 4,000 tokens, which leaves room in the window of a small local model."""
PART_MESSAGES = 120
"""Messages of a part: more of them have more to state than one answer can hold."""
SHOWN_CHARACTERS = 4_000
"""Characters of one message that are shown."""

Part = tuple[Message, ...]
"""Messages of one room, oldest first."""


def parts(messages: Sequence[Message]) -> list[Part]:
    """Cut messages into parts of one room each that a model can read at once.

    Args:
        messages: Oldest first.

    Returns:
        The parts, ordered by the time of their first message.
    """
    rooms = sorted(messages, key=lambda message: message.channel or "")
    found: list[Part] = []
    for _, talk in groupby(rooms, lambda message: message.channel):
        part: list[Message] = []
        size = 0
        for message in talk:
            length = min(len(message.content), SHOWN_CHARACTERS)
            if part and (size + length > PART_CHARACTERS or len(part) == PART_MESSAGES):
                found.append(tuple(part))
                part, size = [], 0
            part.append(message)
            size += length
        if part:
            found.append(tuple(part))
    return sorted(found, key=lambda part: part[0].at)


def short_ids(part: Part) -> dict[str, Message]:
    """The messages of a part by a short id, which a model can repeat without an error."""
    return {f"m{number}": message for number, message in enumerate(part, 1)}


def quoted(messages: Mapping[str, Message], timezone: str) -> list[dict[str, Any]]:
    """Messages by short id, as JSON: id, local time with the day of the week, author, text."""
    zone = as_zone(timezone)
    return [
        {
            "id": id,
            "at": message.at.astimezone(zone).strftime("%a %Y-%m-%d %H:%M"),
            "by": message.author or message.role or "?",
            "text": _shortened(message.content),
        }
        for id, message in messages.items()
    ]


def _shortened(content: str) -> str:
    return content if len(content) <= SHOWN_CHARACTERS else content[: SHOWN_CHARACTERS - 1] + "…"
