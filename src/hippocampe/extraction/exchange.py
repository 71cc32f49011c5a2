"""The input of extraction: the messages of an exchange, the memories known on it, and the prompt that shows
both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hippocampe.engine.corpus import Corpus
from hippocampe.extraction import talk
from hippocampe.language.datetimes import as_zone
from hippocampe.language.names import Aliases
from hippocampe.language.sanitize import quote, quote_label
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.subjects import subjects_of
from hippocampe.language.text import cut, fold
from hippocampe.retrieval import recall
from hippocampe.retrieval.request import MAX_QUERY_CHARACTERS, RecallRequest
from hippocampe.store import message_rows, schema
from hippocampe.store.store import Store
from hippocampe.store.turn_rows import Turn
from hippocampe.types import Memory, Message, Scope, Settings

MAX_KNOWN = 10
"""Memories that the model is shown."""
MAX_CHARACTERS = 8_000
"""Characters shown of a message."""
MAX_TOOL_CHARACTERS = 16_000
"""Characters shown of all tool results together."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The messages of a turn, and the memories known on their subjects at the time of reading.

    Attributes:
        messages: Its messages by short id, in order.
        known: The most related current memories by short id.
        names: The names of the people of the exchange, folded.
    """

    turn: Turn
    messages: Mapping[str, Message]
    known: Mapping[str, Memory]
    names: frozenset[str]

    @property
    def speaker(self) -> str | None:
        """The user of the exchange; None without one."""
        return next((each.author for each in self.messages.values() if each.role == "user"), None)


def messages_of(store: Store, turn: Turn) -> list[Message]:
    """The messages of a turn: the spoken ones in order, then the tool results."""
    with store.read() as connection:
        return message_rows.find(
            connection, schema.message.c.space == turn.space, schema.message.c.turn_id == turn.id
        )


def supports(message: Message, names: Sequence[str]) -> bool:
    """Return whether a statement may rest on a message: of the user or a tool, and more than small talk."""
    if message.role == "assistant":
        return False
    return message.role == "tool" or not is_small_talk(message.content, names=names)


def read_exchange(corpus: Corpus, turn: Turn, messages: Sequence[Message]) -> Exchange:
    """Look up the memories known on an exchange. The look-up does not count as an access."""
    texts = [each.content for each in messages if each.role != "tool"]
    names = talk.speakers(corpus.aliases.of(turn.space), messages)
    about = "\n".join(texts)
    found = recall.search(
        corpus,
        about[:MAX_QUERY_CHARACTERS],
        RecallRequest(Scope(turn.space, user=turn.author), limit=MAX_KNOWN),
    )
    known = [item.memory for item in found if item.memory is not None]
    return Exchange(turn, talk.by_short_id("m", messages), talk.by_short_id("k", known), names)


def prompt_of(corpus: Corpus, exchange: Exchange, settings: Settings) -> str:
    """The exchange, the known memories and their number, as data between tags.

    Each text is one sanitised line, so that none can end its tag or speak for the system.
    """
    aliases = corpus.aliases.of(exchange.turn.space)
    left = MAX_TOOL_CHARACTERS
    lines: list[str] = []
    for id, message in exchange.messages.items():
        text = cut(message.content, MAX_CHARACTERS)
        if message.role == "tool":
            text = cut(text, left)
            left = max(left - len(text), 0)
        lines.append(
            f"[{id}] {_author(message, aliases)}, {_when(message.at, settings)}: {quote(text)}"
        )
    known = [
        f"[{id}] {quote(memory.content)} ({_origin(memory, settings)})"
        for id, memory in exchange.known.items()
    ]
    spoken = "\n".join(each.content for each in exchange.messages.values() if each.role != "tool")
    tags = (subject for each in exchange.known.values() for subject in each.subjects)
    subjects = (exchange.turn.author or "", *subjects_of(spoken), *tags)
    density = talk.density(corpus.store, exchange.turn.space, filter(None, subjects))
    return talk.tagged({"exchange": lines, "known": known, "density": density})


def _author(message: Message, aliases: Aliases) -> str:
    if message.role == "tool":
        return "tool result"
    if not message.author:
        return message.role or "user"
    names = [message.author, *sorted(aliases.get(fold(message.author), ()))]
    return f"{' = '.join(map(quote_label, names))} ({message.role or 'user'})"


def _origin(memory: Memory, settings: Settings) -> str:
    speaker = [quote_label(memory.user)] if memory.user else []
    return ", ".join((*speaker, _when(memory.occurred_at or memory.created_at, settings)))


def _when(at: datetime, settings: Settings) -> str:
    there = at.astimezone(as_zone(settings.timezone))
    return f"{there:%A %Y-%m-%d %H:%M}"
