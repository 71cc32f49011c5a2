"""Parse one statement: its words, its negation, its proper names.

A statement is parsed once into words that keep how they were written (capital, preceding comma,
hyphen), because folding removes the difference between "Marie" and "marié" or "où" and "ou". Elisions
and contractions are expanded ("n'a" → `ne a`, "don't" → `do not`), so that spelling variants of one
claim have the same words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from hippocampe.language.asides import without_aside
from hippocampe.language.calendar import ORDINALS
from hippocampe.language.detect import guess_language
from hippocampe.language.lexicon import languages, load_all, words_of
from hippocampe.language.text import APOSTROPHE, fold
from hippocampe.language.tokenizer import TOKEN, Word, is_meaningful, tokenize
from hippocampe.language.word_classes import word_classes

_NO_LETTERS: Final = bytes(set(range(128)) - set(b"abcdefghijklmnopqrstuvwxyz"))
_NOT_BETWEEN_DIGITS: Final = re.compile(r"(?<!\d) | (?!\d)")
_PARTICLE: Final = words_of("negation.particle")
_BORN: Final = words_of("negation.born")
_NEGATES: Final = words_of("negation.alone")
_AFTER_PARTICLE: Final = words_of("negation.after_particle")
_DETERMINER: Final = words_of("negation.determiner")
_COMPARED: Final = words_of("negation.compared")
_TAIL: Final = words_of("negation.tail")
_UNCLEAR: Final = words_of("negation.unclear")
_NEGATING: Final = _PARTICLE | _NEGATES | _AFTER_PARTICLE | _DETERMINER | _UNCLEAR
_CLOSING: Final = frozenset[str]().union(
    *(
        words_of(f"negation.{role}", language=each)
        for each in languages()
        for role in ("alone", "after_particle")
        if words_of("negation.particle", language=each)
    )
)
_SUPPORT: Final = words_of("support")
_FORMAL_QUESTIONS: Final = tuple(load_all("questions")["formal"])
_MAX_PARTICLE_DISTANCE: Final = 4  # words from "ne" to "pas": "ne nous l'a pas"

_Renaming = tuple[tuple[str, ...], str]
"""An alias, as words, and the canonical name that replaces it."""


# Compared by identity: parsing is cached by text, and relations are cached by statement.
@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A parsed statement.

    Attributes:
        text: The text as written.
        words: All its words.
        norms: The folded form of each word.
        counts: Occurrences by folded word.
        content_words: The folded words that are no function words.
        letters: The ASCII letters of the folded text, in order.
        core: Words without openers, neutral adverbs ("now") and negation.
        negations: Number of negations.
        unclear: Whether it has a negation no rule can handle ("not only", "ne … que").
        question: Whether it is a question.
        subjects: Its subject tags, folded.
        aside: The words of the aside about its subject: "le frère de Mickael".
        plain: The statement without it, if it has one.
    """

    text: str
    words: tuple[Word, ...]
    norms: tuple[str, ...]
    counts: Mapping[str, int]
    content_words: frozenset[str]
    letters: bytes
    core: tuple[Word, ...]
    negations: int
    unclear: bool
    question: bool
    subjects: frozenset[str]
    aside: frozenset[str]
    plain: Statement | None

    @property
    def language(self) -> str:
        """The guessed language, English by default."""
        return language_of(self.text)

    @property
    def lowercase(self) -> bool:
        """Return whether it has no capital at all, so that names cannot be recognised."""
        return not any(word.capital for word in self.words)


class CanonicalNames:
    """Maps every name of an alias group to one canonical name.

    Args:
        aliases: The other names of each name.
        speaker: The name of the speaker: it and its aliases become "user".
    """

    def __init__(
        self, aliases: Mapping[str, frozenset[str]], *, speaker: str | None = None
    ) -> None:
        found: dict[tuple[str, ...], str] = {}
        for name, others in aliases.items():
            group = sorted(tuple(w.norm for w in tokenize(n)) for n in {name, *others})
            found |= {member: " ".join(group[0]) for member in group if member}
        own = tuple(w.norm for w in tokenize(speaker or ""))
        if own:
            group = found.get(own, " ".join(own))
            found |= {member: "user" for member in found if found[member] == group}
            found[own] = "user"
        self._by_first: Final[dict[str, list[_Renaming]]] = {}
        for renaming in sorted(found.items()):
            self._by_first.setdefault(renaming[0][0], []).append(renaming)

    def within(self, texts: Iterable[str]) -> tuple[_Renaming, ...]:
        """Return the renamings whose first word occurs in any of the texts."""
        if not self._by_first:
            return ()
        present = {word.norm for text in texts for word in tokenize(text)}
        firsts = sorted(present.intersection(self._by_first))
        return tuple(renaming for first in firsts for renaming in self._by_first[first])


NO_ALIASES: Final = CanonicalNames({})


def parse(
    text: str, *, subjects: Sequence[str] = (), names: CanonicalNames = NO_ALIASES
) -> Statement:
    """Parse a statement; results are cached.

    Args:
        text: One statement.
        subjects: Its subject tags.
        names: Replaces aliases by their canonical name, in the text and in the tags.
    """
    return _parse(text, tuple(subjects), names.within((text, *subjects)))


# An old statement is parsed again for each new statement it is compared with. A cache four times as
# large made parsing 12 % slower, because the garbage collector traverses all cached words.
@lru_cache(maxsize=1024)
def _parse(text: str, subjects: tuple[str, ...], names: tuple[_Renaming, ...]) -> Statement:
    canonical = dict(names)
    folded = fold(text)
    words = _renamed(tokenize(text), canonical)
    norms = tuple([word.norm for word in words])
    core, negations, unclear = _without_negation(_without_openers(words, norms), text)
    tags = (_renamed(tokenize(subject), canonical) for subject in subjects)
    counts = Counter(norms)
    plain = without_aside(text)
    return Statement(
        text=text,
        words=tuple(words),
        norms=norms,
        counts=counts,
        content_words=frozenset(counts) - word_classes().function_words,
        letters=folded.encode("ascii", "ignore").translate(None, _NO_LETTERS),
        core=tuple(core),
        negations=negations,
        unclear=unclear,
        question="?" in text or folded.lstrip().startswith(_FORMAL_QUESTIONS),
        subjects=frozenset(" ".join(w.norm for w in tag) for tag in tags) - {""},
        aside=plain.aside if plain else frozenset(),
        plain=_parse(plain.text, subjects, names) if plain else None,
    )


@lru_cache(maxsize=1024)
def language_of(text: str) -> str:
    """The guessed language of a statement, English by default; results are cached."""
    return guess_language(text, default="en")


def _renamed(words: Sequence[Word], names: Mapping[tuple[str, ...], str]) -> list[Word]:
    if not names:
        return list(words)
    longest = max(map(len, names))
    result: list[Word] = []
    at = 0
    while at < len(words):
        for length in range(min(longest, len(words) - at), 0, -1):
            name = names.get(tuple(w.norm for w in words[at : at + length]))
            if name is not None:
                first = words[at]
                surface = first.surface[:1].upper() + first.surface[1:]
                result.append(Word(name, surface, first.glued, first.pause, first.opens))
                at += length
                break
        else:
            result.append(words[at])
            at += 1
    return result


def _without_openers(words: Sequence[Word], norms: Sequence[str]) -> list[Word]:
    classes = word_classes()
    at = 0
    while at < len(words) and (length := classes.match("openers", norms, at)):
        # "No, she came" but not "No student came".
        follows = words[at + length : at + length + 1]
        apart = length > 1 or any(w.pause or w.opens for w in follows)
        if not (apart or classes.match("openers", norms[at + length :] or ("",), 0)):
            break
        at += length
    if not classes.may_occur("neutral", norms):
        return list(words[at:]) or list(words)
    remaining: list[Word] = []
    while at < len(words):
        length = 0 if classes.match("kept", norms, at) else classes.match("neutral", norms, at)
        if not length:
            remaining.append(words[at])
        at += max(length, 1)
    return remaining or list(words)


def _without_negation(words: Sequence[Word], text: str) -> tuple[list[Word], int, bool]:
    """Return the words without negation, its count, and whether it is unclear."""
    norms = [word.norm for word in words]
    unclear = word_classes().occurs("not_quite", norms)
    if _NEGATING.isdisjoint(norms):
        return list(words), 0, unclear
    dropped: set[int] = set()
    count = 0
    for at in range(len(words)):
        after_particle = not dropped.isdisjoint(range(at - _MAX_PARTICLE_DISTANCE, at))
        match _negating_role(words, at, text, after_particle=after_particle, negated=count > 0):
            case "particle":
                dropped.add(at)
                unclear = unclear or not _closes(norms, at)
            case "negation":
                dropped.add(at)
                count += 1
            case "compared":
                dropped |= {at, at + 1}
                count += 1
            case "tail":
                dropped.add(at)
            case "unclear":
                unclear = True
            case None:
                pass
    do = {at for at, norm in enumerate(norms) if norm in _SUPPORT and at + 1 in dropped}
    core = [word for at, word in enumerate(words) if at not in dropped | do]
    return core, count, unclear or count > 1


def _negating_role(
    words: Sequence[Word], at: int, text: str, *, after_particle: bool, negated: bool
) -> Literal["particle", "negation", "compared", "tail", "unclear"] | None:
    """Return the part of a word in a negation; None if it has none."""
    norm = words[at].norm
    if norm in _PARTICLE and _is_particle(words, at):
        return "particle"
    if norm in _DETERMINER and not at:  # "No student came", "No that's all"
        return "unclear"
    if norm in _NEGATES or (norm in _AFTER_PARTICLE and after_particle):
        return "negation"
    # "no" negates in English only.
    if norm in _DETERMINER and norm in words_of("negation.determiner", language=language_of(text)):
        following = words[at + 1].norm if at + 1 < len(words) else ""
        return "compared" if following in _COMPARED else "negation"
    if norm in _TAIL and negated:
        return "tail"
    return "unclear" if norm in _UNCLEAR else None


def _is_particle(words: Sequence[Word], at: int) -> bool:
    """Return whether a folded "ne" is the particle, not "né" (often written without its accent)."""
    born = at > 0 and words[at - 1].norm in _BORN
    return words[at].surface.isascii() and not born


def _closes(norms: Sequence[str], at: int) -> bool:
    return not _CLOSING.isdisjoint(norms[at + 1 : at + _MAX_PARTICLE_DISTANCE + 2])


@lru_cache(maxsize=1024)
def spelling(text: str) -> str:
    """Normalise `text`: equal for texts that differ in case, accents, punctuation or spaces.

    A space between two digits is kept, so that "1 23" and "12 3" differ.
    """
    found = TOKEN.findall(fold(APOSTROPHE.sub("'", text)))
    words = (t.replace("'", "") for t in found if len(t) > 1 or t.isalnum() or is_meaningful(t))
    return _NOT_BETWEEN_DIGITS.sub("", " ".join(words))


def clear_caches() -> None:
    """Drop cached texts, so that erased text does not stay in memory."""
    for cached in (tokenize, _parse, language_of, spelling):
        cached.cache_clear()


def is_hedged(words: Sequence[Word]) -> bool:
    """Return whether the words express a wish, a guess, a condition or another person's claim."""
    return word_classes().occurs("hedges", [word.norm for word in words]) or any(
        word.norm in _MODALS and not _is_month(words, at) for at, word in enumerate(words)
    )


def _is_month(words: Sequence[Word], at: int) -> bool:
    around = [word.norm for word in words[max(0, at - 1) : at + 2]]
    dated = any(norm[:1].isdigit() or norm in _BEFORE_MONTH for norm in around)
    return words[at].capital or dated


_MODALS: Final = words_of("stated.not_dates", file="time")
"""Month names that are verbs more often ("may", "march")."""
_BEFORE_MONTH: Final = words_of("stated.before_month", file="time")


def is_name(statement: Statement, word: Word) -> bool:
    """Return whether a word looks like a proper name: a capital, and no function or time word."""
    if not (word.capital or " " in word.norm) or word.norm[:1].isdigit():
        return False
    return word.norm not in word_classes().never_names


def is_time(norms: Iterable[str]) -> bool:
    """Return whether the words only state a time: "le 10 janvier 2026", "since last May"."""
    classes = word_classes()
    found = False
    for norm in norms:
        if classes.has("time", norm) or _YEAR_OR_TIME.fullmatch(norm):
            found = True
        elif not (classes.has("time_links", norm) or norm.isdigit()):
            return False
    return found


_YEAR_OR_TIME: Final = re.compile(
    r"(?:1[5-9]|20)\d\d|\d{1,4}[-/]\d{1,2}(?:[-/]\d{1,4})?|\d{1,2}(?:h|:)\d{0,2}(?:am|pm)?"
    rf"|\d{{1,2}}(?:am|pm|{ORDINALS})"
)
