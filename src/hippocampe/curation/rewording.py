"""Decide whether a statement only rewords another one.

Sentence vectors cannot decide it: "Nina has a dog" and "Nina has a cat" are as close as two wordings of one
fact. So each word of the new statement must be in the old one or mean the same as one of its words, and
names, numbers, dates and negations must be equal. In doubt the statement is new: a lost statement is worse than
a duplicate.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from hippocampe.engine.corpus import Corpus
from hippocampe.language.difference import proper_names
from hippocampe.language.lexicon import words_of
from hippocampe.language.names import CanonicalNames
from hippocampe.language.statement import Statement, parse
from hippocampe.language.text import STOP_WORDS
from hippocampe.language.word_classes import word_classes
from hippocampe.protocols import Vector, Vectors
from hippocampe.types import Memory
from hippocampe.updates.speakers import may_be_same

SYNONYM_SHARE = 0.28
"""Share of the way from the embedder's threshold for statements to 1 at which two words mean the same.
With the local embedder that is a cosine of 0.71: "likes" and "enjoys" pass, "buys" and "sells" do not."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A statement prepared for comparison.

    Attributes:
        statement: As parsed.
        words: Its content words, without the names of the speaker.
        literal: The words that match only themselves: names, numbers, times.
        order: The names, in order.
    """

    statement: Statement
    words: tuple[str, ...]
    literal: frozenset[str]
    order: tuple[str, ...]


class Rewordings:
    """Compares statements by meaning; each word is embedded once.

    Args:
        space: Whose aliases are used.
        speaker: Names of the one who speaks, folded: "I" and the name say the same.
    """

    def __init__(self, corpus: Corpus, space: str, speaker: Collection[str]) -> None:
        self._names = CanonicalNames(corpus.aliases.of(space))
        self._speaker = frozenset(norm for name in speaker for norm in parse(name).norms)
        self._embedder = corpus.vocabulary.embedder
        self._vectors: dict[str, Vector] = {}
        threshold = corpus.vocabulary.embedder.dedup_threshold
        self._synonym = threshold + SYNONYM_SHARE * (1 - threshold)

    def read(self, text: str) -> Wording:
        """Prepare a statement for `says_the_same`."""
        statement = parse(text, names=self._names)
        names = proper_names(statement)
        order = [name for name in names if name not in self._speaker]
        ignored = STOP_WORDS | self._speaker | _persons()
        norms = [norm for norm in statement.norms if norm not in ignored or _is_number(norm)]
        words = tuple(dict.fromkeys(norms))
        times = word_classes().times
        literal = {norm for norm in words if norm in times or _is_number(norm)}
        return Wording(statement, words, frozenset(literal.union(order)), tuple(order))

    def repeated(self, new: Memory, known: Iterable[Memory]) -> Memory | None:
        """The first memory that a statement only rewords; None if there is none."""
        wording = self.read(new.content)
        same = (
            old
            for old in known
            if may_be_same(new, old) and self.says_the_same(wording, self.read(old.content))
        )
        return next(same, None)

    def says_the_same(self, new: Wording, old: Wording) -> bool:
        """Return whether `new` says nothing beyond `old`."""
        ours, theirs = new.statement, old.statement
        if bool(ours.negations) != bool(theirs.negations) or ours.unclear != theirs.unclear:
            return False
        # "A lends to B" has the words of "B lends to A".
        shared = [name for name in old.order if name in new.order]
        if len(shared) > 1 and shared != [name for name in new.order if name in shared]:
            return False
        return self.adds_nothing(new, old)

    def adds_nothing(self, new: Wording, *olds: Wording) -> bool:
        """Return whether each word of `new` is in one of the others, or means the same as a word there."""
        known = list(dict.fromkeys(word for old in olds for word in old.words))
        if not new.words or new.literal.difference(known):
            return False
        left = [word for word in new.words if word not in known]
        return not left or self._are_synonyms(left, known)

    def _are_synonyms(self, words: Sequence[str], others: Sequence[str]) -> bool:
        """Return whether each of `words` has a synonym in `others`."""
        if not others:
            return False
        cosines = self._embedded(words) @ self._embedded(others).T
        return bool((cosines.max(axis=1) >= self._synonym).all())

    def _embedded(self, words: Sequence[str]) -> Vectors:
        new = [word for word in words if word not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._vectors[word] for word in words])


def _is_number(norm: str) -> bool:
    return any(character.isdigit() for character in norm) or norm in words_of("numerals")


@cache
def _persons() -> frozenset[str]:
    """Words for the speakers, which add nothing to "I"."""
    return words_of("persons") | words_of("speaker")
