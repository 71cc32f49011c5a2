"""Read a topic to forget: whose it is, and which texts name it."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.documents import memory_text
from hippocampe.language import secrets
from hippocampe.language.difference import names_another
from hippocampe.language.kin import is_relative
from hippocampe.language.lexicon import words_of
from hippocampe.language.mentions import mentions
from hippocampe.language.owners import Fit, fit
from hippocampe.language.person import is_about_speaker, is_first_person
from hippocampe.language.questions import without_former
from hippocampe.language.statement import parse
from hippocampe.language.subjects import proper_names_in, subjects_of
from hippocampe.language.text import (
    STOP_WORDS,
    content_words,
    fold,
    sentences,
    words,
    written_words,
)
from hippocampe.language.values import value_words
from hippocampe.retrieval.lookup import names
from hippocampe.retrieval.reading import LONG
from hippocampe.types import ReceiptItem, Scope

_OF = words_of("grammar.of")
_REPLY = re.compile(r"\n[^:\n]{1,40} ?: ")
"""Between the lines of a turn and those of its reply."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic.

    Attributes:
        text: As written.
        space: The space.
        wanted: Its content words.
        kinds: The kinds of secrets that it names.
        user: The user whose own topic it is; None for a topic of everyone.
        names: The names of the user, folded.
        said: Whether every statement of the user about it matches, also about other people.
        without: The turns in which it was asked for.
    """

    text: str
    space: str
    wanted: Set[str]
    kinds: frozenset[str]
    user: str | None
    names: tuple[str, ...]
    said: bool
    without: frozenset[str] = frozenset()

    @property
    def last(self) -> str:
        """The last word, as written in small letters."""
        return next(iter(written_words(self.text.lower())[::-1]), "")

    def owns(self, text: str, author: str | None, *, memory: bool) -> bool:
        """Return whether a text may be about the topic: it is the user's own, or the topic is everyone's."""
        if self.user is None:
            return True
        told = self._is_by_user(author)
        if self.said:
            return told
        if mentions(text, self.names):
            return True
        if not memory:
            return told
        about = set(subjects_of(text))
        of_speaker = is_first_person(text) or is_about_speaker(text)
        return told and (not about or "user" in about or of_speaker)

    def is_worded_in(self, text: str) -> bool:
        """Return whether a text has all its words, or a secret of a kind that it names."""
        contains = any(self.wanted <= set(words(part)) for part in _parts(text))
        if contains and len(self.wanted) == 1:
            contains = has_word(text, self.last)
        return contains or any(f"[secret: {kind}]" in text for kind in self.kinds)

    def is_told_in(self, text: str) -> bool:
        """Return whether a text has the names and values of the topic and half of its words, or all of these."""
        topic, told = parse(self.text), {token.stem for token in parse(text).tokens}
        wanted = [topic.tokens[at] for at in topic.content]
        named = {token.stem for token in wanted if token.name or token.kind != "word"}
        stems = {token.stem for token in wanted}
        return named <= told and len(stems & told) * 2 >= len(stems) * (1 if named else 2)

    def fit(self, item: ReceiptItem, author: str | None) -> Fit:
        """Return whether an item that matches is about the owner of the topic, and says the same of them."""
        text = memory_text(item.memory) if item.memory else item.content
        if not self.owns(text, author, memory=item.memory is not None):
            return "other"
        by_user = self.user is None or author is None or self._is_by_user(author)
        # "I" in the reply of a turn is not who asked.
        return fit(self.text, words_said(text), self.names, by_speaker=by_user)

    def names_another(self, text: str) -> bool:
        """Return whether the topic and a text each have a name or a number that the other lacks."""
        if self.wanted <= set(words(text)):
            return False
        return names_another(parse(self.text), parse(text))

    def _is_by_user(self, author: str | None) -> bool:
        return author is not None and self.user is not None and fold(author) == fold(self.user)


def read_topic(corpus: Corpus, topic: str, scope: Scope, *, said: bool) -> Topic:
    called = names(corpus.aliases, scope.user, scope=scope) if scope.user else ()
    own = is_about_speaker(topic) or mentions(topic, called) or _is_of_speaker(topic)
    said = said and not own
    user = scope.user if own or said else None
    name = {word for each in called for word in words(each)}
    wanted = {word for word in content_words(topic) if word not in STOP_WORDS}
    wanted = wanted - name or wanted
    return Topic(
        topic,
        scope.space,
        wanted,
        secrets.kinds_named(topic),
        user,
        called,
        said,
    )


def _is_of_speaker(topic: str) -> bool:
    """Return whether a topic is of the speaker without saying so: "mum's number", "the old address"."""
    if proper_names_in(topic):
        return False
    spoken = words(topic)
    of = (at == 0 or spoken[at - 1] in _OF for at, word in enumerate(spoken) if is_relative(word))
    detail = value_words(topic)
    return any(of) or (
        bool(detail) and detail >= set(content_words(without_former(topic) or topic))
    )


def words_said(content: str) -> str:
    """The words of a turn without its reply."""
    return _REPLY.split(content, maxsplit=1)[0]


def has_word(text: str, word: str) -> bool:
    """Return whether a text has a word with the same end: "le saumon fumé" does not tell "je fume"."""
    found = [each for each in written_words(text.lower()) if fold(each) == fold(word)]
    return any(each[-1:] == word[-1:] for each in found)


def _parts(text: str) -> Sequence[str]:
    """A text, or every two sentences of a long one: words far apart in it tell nothing together."""
    if len(text) <= LONG:
        return (text,)
    told = sentences(text)
    return [" ".join(told[at : at + 2]) for at in range(max(1, len(told) - 1))]


def part_about(text: str, topic: str) -> str:
    """The part of a long text that has most words of a topic, between ellipses; a short text as it is."""
    wanted, parts = set(content_words(topic)), _parts(text)
    best = max(parts, key=lambda part: len(wanted & set(words(part))))
    return best if len(parts) == 1 else f"… {best} …"
