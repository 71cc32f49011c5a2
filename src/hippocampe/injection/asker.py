"""The person who speaks in a turn, and what concerns them."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from hippocampe.engine.corpus import Corpus
from hippocampe.language.person import is_about_speaker, is_to_somebody
from hippocampe.language.questions import is_question, only_asks
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.statement import parse
from hippocampe.language.text import fold
from hippocampe.protocols import TALK
from hippocampe.store.turn_rows import Turn
from hippocampe.types import Memory, Recollection, Scope, Settings

_TELLER = frozenset({"speaker", "own"})
"""Subjects of statements about their teller: "I", "my brother"."""
_AUTHOR = re.compile(r"^[^:\n]{1,40} ?: ")


@dataclass(frozen=True)
class Asker:
    """The person who speaks.

    Attributes:
        corpus: It has the aliases.
        scope: Their name and channel.
        settings: The settings of the space.
        text: The message; empty if it does not matter.
    """

    corpus: Corpus
    scope: Scope
    settings: Settings
    text: str = ""

    @cached_property
    def names(self) -> frozenset[str] | None:
        """Their names, as they may be written; None if what others told is theirs too, or nobody knows who speaks."""
        user = self.scope.user
        if user is None or self.settings.shared_memories:
            return None
        name = fold(user)
        aliases = self.corpus.aliases.of(self.scope.space)
        # SQLite knows no case of accented letters.
        written = (user, user.lower(), user.upper(), user.title())
        return frozenset({*written, name, *aliases.get(name, ())})

    @property
    def channel(self) -> str | None:
        """The channel whose memories and talk they get; None for all."""
        return self.scope.channel if self.settings.channel_scope else None

    def took_part(self, talk: Turn | Recollection) -> bool:
        """Return whether they may have taken part in a turn: their own, or one of this room or a live one."""
        if self.names is None or talk.author is None or fold(talk.author) in self.names:
            return True
        return (talk.channel or "") in (self.scope.channel or "", *self.settings.live_rooms)

    def is_concerned(self, item: Recollection) -> bool:
        """Return whether an item that a search found may answer a question about themselves.

        Not if others told it about themselves, or where the asker was not.
        """
        if item.memory is not None:
            return concerns(item.memory, self.names)
        return self.took_part(item)

    def may_answer(self, item: Recollection) -> bool:
        """Return whether an item says something, of the right person.

        Small talk and questions that nobody answered resemble a question, and "my ship" of the companion resembles "my ship".
        """
        if item.kind == "self":
            return not self._asks_own
        return item.kind not in TALK or self.is_told(item)

    @cached_property
    def _asks_own(self) -> bool:
        """Return whether the message asks about the speaker, and nothing about the companion."""
        asks = is_question(self.text) and is_about_speaker(self.text)
        return asks and not is_to_somebody(self.text)

    def is_told(self, item: Recollection) -> bool:
        """Return whether talk is more than small talk, and a turn more than a question that nobody answered."""
        users = (name for name in (item.author, self.scope.user) if name)
        names = (*self.settings.companion_names, *users)
        lines = (without_author(line) for line in item.content.splitlines())
        of_turn = item.kind == "turn"
        return not all(
            is_small_talk(each, names=names) or (of_turn and only_asks(each)) for each in lines
        )


def concerns(memory: Memory, names: Collection[str] | None) -> bool:
    """Return whether a memory found for a person, by who told it and by its subjects, concerns them.

    What others say of themselves does not, though they name that person: "I plan a party for Mickael".

    Args:
        memory: The memory.
        names: The names of the person; None if all memories concern them.
    """
    told_by_other = memory.user is not None and names is not None and fold(memory.user) not in names
    return not told_by_other or parse(memory.content).subject not in _TELLER


def without_author(line: str) -> str:
    """A line of talk without the speaker at its beginning."""
    return _AUTHOR.sub("", line)
