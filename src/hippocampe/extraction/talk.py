"""Format talk for a language model: parts of one room each, one line per message."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from hippocampe.language.datetimes import as_zone
from hippocampe.language.names import Aliases
from hippocampe.language.sanitize import quote, quote_label
from hippocampe.language.subjects import fold_subjects
from hippocampe.language.text import cut, fold
from hippocampe.store import statements
from hippocampe.store.store import Store
from hippocampe.types import Message

T = TypeVar("T")

MAX_SUBJECTS = 30
"""Subjects whose memories are counted."""
SPEAKER = "user"
"""The subject that rules give to "I"; the names of the speakers are counted instead."""
PART_CHARACTERS = 12_000
"""Characters of a part: about 4,000 tokens, which fit into the context of a small local model."""
PART_MESSAGES = 120
"""Messages of a part: a longer one states more than one answer can list."""
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


def by_short_id(letter: str, items: Sequence[T]) -> dict[str, T]:
    """Items by a short id, which a model can repeat without an error: `m1`, `m2`."""
    return {f"{letter}{number}": item for number, item in enumerate(items, 1)}


def speakers(aliases: Aliases, messages: Iterable[Message]) -> frozenset[str]:
    """The folded names of the authors of messages, with their aliases."""
    names = frozenset(fold(each.author) for each in messages if each.author)
    return names.union(*(aliases.get(name, ()) for name in names))


def lines(messages: Mapping[str, Message], timezone: str) -> list[str]:
    """Each message on one sanitised line: short id, author, local time, text.

    A message can neither end its tag nor pose as another author.
    """
    zone = as_zone(timezone)
    return [
        f"[{id}] {quote_label(message.author or message.role or '?')}, "
        f"{message.at.astimezone(zone):%A %Y-%m-%d %H:%M}: "
        f"{quote(cut(message.content, SHOWN_CHARACTERS))}"
        for id, message in messages.items()
    ]


def density(store: Store, space: str, subjects: Iterable[str]) -> list[str]:
    """Count the current memories on each of the first subjects, one line each."""
    names = [name for name in dict.fromkeys(fold_subjects(list(subjects))) if name != SPEAKER]
    with store.read() as connection:
        counts = statements.count_about(connection, space, names[:MAX_SUBJECTS])
    return [f"{quote_label(name)}: {number}" for name, number in counts.items()]


def tagged(sections: Mapping[str, Sequence[str]]) -> str:
    """Put lines between tags, as the prompts describe them."""
    return "\n".join(
        "\n".join((f"<{tag}>", *section, f"</{tag}>")) for tag, section in sections.items()
    )
