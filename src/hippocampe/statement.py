"""Reading one statement: its words, what negates it, what it names. Pure.

A statement is read once into words that remember how they were written (a capital, a comma in
front, a hyphen), because a folded text no longer tells "Marie" from "marié" or "où" from "ou".
Elisions and contractions are written out ("n'a" → `ne a`, "don't" → `do not`), so that the same
claim has the same words however it is spelt.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from hippocampe.language.lexicon import languages, mapping, together
from hippocampe.language.lexicon import words as words_of
from hippocampe.text import (
    ELIDED,
    MONTH_NAMES,
    ORDINALS,
    STOP_WORDS,
    fold,
    guess_language,
)

_TOKEN: Final = re.compile(
    r"(?:(?<!\S)[-+])?\d+(?:[.,:/-]\d+)*\w*"  # a number, date or time keeps its inner signs
    r"|[^\W\d_]\w*(?:'\w+)*[+#]*"  # "C++" and "C#" are not "C"
    r"|[^\w\s]"
)
_APOSTROPHE: Final = re.compile("[’‘ʼ´`′]")
_ELIDED: Final = re.compile(rf"({ELIDED})'(?=\w)")
_ELIDED_TO: Final = mapping("elided")
_CLITIC: Final = mapping("clitics")
_CONTRACTED: Final = mapping("contracted")
_IS_AFTER: Final = words_of("is_after")
_WHOLE: Final = words_of("whole")
_MEANINGFUL_SIGNS: Final = frozenset("=<>%&+#@")
_THOUSANDS: Final = re.compile(r"[-+]?\d{1,3}(?:[.,]\d{3})+")
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
_FORMAL_QUESTIONS: Final = tuple(together("questions")["formal"])
_BACK: Final = 4  # how far "ne" may stand before its "pas": "ne nous l'a pas"

_Renaming = tuple[tuple[str, ...], str]
"""A name that has others, as words, and the one that stands for all."""


class Word(NamedTuple):
    """One word as compared (`norm`) and as written; `glued` by a hyphen, `pause`: after a comma."""

    norm: str
    surface: str
    glued: bool = False
    pause: bool = False
    opens: bool = False

    @property
    def capital(self) -> bool:
        """Whether it is written with a capital."""
        return self.surface[:1].isupper()


# Compared by identity: one text is read once, and what is found in it is kept by statement.
@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A statement as read.

    `words` are all its words; `core` those left without openers, "now" and the like, and the
    negation; `negations` counts it, and `unclear` says that it is none the rules may touch
    ("not only", "ne … que"). `counts` says how often each word occurs, and `weighty` are those
    that mean something by themselves; `letters` are those of the alphabet, in order.
    """

    text: str
    words: tuple[Word, ...]
    norms: tuple[str, ...]
    counts: Mapping[str, int]
    weighty: frozenset[str]
    letters: bytes
    core: tuple[Word, ...]
    negations: int
    unclear: bool
    auxiliary: bool
    question: bool
    subjects: frozenset[str]

    @property
    def language(self) -> str:
        """The language it is in."""
        return _language(self.text)

    @property
    def lowercase(self) -> bool:
        """Whether it is written without any capital, so that names cannot show."""
        return not any(word.capital for word in self.words)


class Lexicon:
    """The shipped word classes, folded; a class holds single words and word sequences."""

    def __init__(self, classes: Mapping[str, Iterable[str]]) -> None:
        self._classes: Final[dict[str, frozenset[tuple[str, ...]]]] = {
            name: frozenset(tuple(w.norm for w in split(entry)) for entry in entries)
            for name, entries in classes.items()
        }
        # By first word, longest first: most words begin no entry, and that must be cheap.
        self._lengths: Final[dict[str, dict[str, tuple[int, ...]]]] = {
            name: _lengths(entries) for name, entries in self._classes.items()
        }
        functions = self._single("not_names", "pronouns")
        self.weightless: Final = functions | STOP_WORDS
        self.times: Final = self._single("time")
        self.never_names: Final = functions | self.times

    def _single(self, *names: str) -> frozenset[str]:
        return frozenset(
            entry[0] for name in names for entry in self._classes[name] if not entry[1:]
        )

    def match(self, name: str, norms: Sequence[str], at: int) -> int:
        """How many words of class `name` begin at position `at`; 0 for none."""
        for length in self._lengths[name].get(norms[at], ()):
            if tuple(norms[at : at + length]) in self._classes[name]:
                return length
        return 0

    def holds(self, name: str, norms: Sequence[str]) -> bool:
        """Whether any entry of class `name` occurs in `norms`."""
        return self.may_hold(name, norms) and any(
            self.match(name, norms, at) for at in range(len(norms))
        )

    def may_hold(self, name: str, norms: Iterable[str]) -> bool:
        """Whether an entry of class `name` could begin at one of `norms`: rules out most, fast."""
        return not self._lengths[name].keys().isdisjoint(norms)

    def has(self, name: str, *norms: str) -> bool:
        """Whether the words are one entry of class `name`."""
        return norms in self._classes[name]


def _lengths(entries: Iterable[tuple[str, ...]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, set[int]] = {}
    for entry in entries:
        found.setdefault(entry[0], set()).add(len(entry))
    return {first: tuple(sorted(lengths, reverse=True)) for first, lengths in found.items()}


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The word classes of all languages, read once; months and weekdays are words of time."""
    classes: dict[str, list[str]] = dict(together("words")["classes"])
    weekdays: list[str] = together("time")["weekdays"].split()
    months = [name for names in MONTH_NAMES.values() for name in names]
    plural = [f"{name}s" for name in weekdays]
    return Lexicon(classes | {"time": [*classes["time"], *months, *weekdays, *plural]})


@lru_cache(maxsize=1024)
def split(text: str) -> tuple[Word, ...]:
    """The words of `text`, punctuation dropped, elisions and contractions written out."""
    found: list[Word] = []
    plain = _APOSTROPHE.sub("'", text)
    pause, opens, end = False, True, -1
    for match in _TOKEN.finditer(plain):
        token = match.group()
        if len(token) == 1 and not token.isalnum() and not _is_meaningful(token):
            pause = pause or token in ",;:()—–"
            opens = opens or (token in ".!?:" and _ends_sentence(plain, match.start(), found))
            continue
        start, last = match.start(), end
        end = match.end()
        glued = start == last + 1 and plain[last : last + 1] == "-"
        norm = fold(token)
        if norm.isalpha() and norm != "cannot":
            found.append(Word(norm, token, glued, pause, opens))
            pause = opens = False
            continue
        for surface, norm in _written_out(token):
            found.append(Word(norm, surface, glued, pause, opens))
            pause = opens = glued = False
    return tuple(found)


def _ends_sentence(text: str, at: int, words: Sequence[Word]) -> bool:
    """Not so in "one.example", nor after "St." or "J."."""
    short = bool(words) and words[-1].capital and len(words[-1].surface) <= 2
    return not short and text[at + 1 : at + 2] in ("", " ", "\n", "\t")


def _is_meaningful(sign: str) -> bool:
    """Emoji, currencies and the like say something; commas and quotes do not."""
    return sign in _MEANINGFUL_SIGNS or unicodedata.category(sign) in ("So", "Sc")


def _written_out(token: str) -> Iterator[tuple[str, str]]:
    """The words that one token stands for, each as it is written and as it is compared."""
    norm = fold(token)
    if norm[:1].isdigit() or norm[:1] in "-+":
        thousands = _THOUSANDS.fullmatch(norm)
        yield token, re.sub(r"[.,]", "", norm) if thousands else norm.replace(",", ".")
        return
    while norm not in _WHOLE and (elided := _ELIDED.match(norm)):
        head = elided[1]
        yield token[: len(head)], _ELIDED_TO[head]
        token, norm = token[len(head) + 1 :], norm[len(head) + 1 :]
    if norm == "cannot" or norm.endswith("n't"):
        yield token, _CONTRACTED.get(norm, norm[:-3])
        yield token[-1:], "not"
        return
    base, mark, clitic = norm.partition("'")
    if not mark or norm in _WHOLE:
        yield token, norm
        return
    yield token[: len(base)], base
    if clitic == "s":
        yield "'s", "is" if base in _IS_AFTER else "'s"
    else:
        for part in clitic.split("'"):
            yield part, _CLITIC.get(part, part)


class OneNames:
    """For each name that has others, the one that stands for all."""

    def __init__(self, aliases: Mapping[str, frozenset[str]]) -> None:
        found: dict[tuple[str, ...], str] = {}
        for name, others in aliases.items():
            group = sorted(tuple(w.norm for w in split(n)) for n in {name, *others})
            found |= {member: " ".join(group[0]) for member in group if member}
        self._by_first: Final[dict[str, list[_Renaming]]] = {}
        for renaming in sorted(found.items()):
            self._by_first.setdefault(renaming[0][0], []).append(renaming)

    def within(self, texts: Iterable[str]) -> tuple[_Renaming, ...]:
        """Those that may occur in one of the texts."""
        if not self._by_first:
            return ()
        said = {word.norm for text in texts for word in split(text)}
        firsts = sorted(said.intersection(self._by_first))
        return tuple(renaming for first in firsts for renaming in self._by_first[first])


NO_NAMES: Final = OneNames({})


def read(text: str, *, subjects: Sequence[str] = (), names: OneNames = NO_NAMES) -> Statement:
    """Read `text`; names that are aliases of each other become one."""
    return _read(text, tuple(subjects), names.within((text, *subjects)))


# An old statement is read again with each new one that it is compared with. Four times as many kept
# made every reading an eighth slower, for the garbage collector looks at all that their words are.
@lru_cache(maxsize=1024)
def _read(text: str, subjects: tuple[str, ...], names: tuple[_Renaming, ...]) -> Statement:
    one_name = dict(names)
    folded = fold(text)
    words = _renamed(split(text), one_name)
    norms = tuple([word.norm for word in words])
    kept = _without_openers(words, norms)
    core, negations, unclear, auxiliary = _without_negation(kept, text)
    tags = (_renamed(split(subject), one_name) for subject in subjects)
    counts = Counter(norms)
    return Statement(
        text=text,
        words=tuple(words),
        norms=norms,
        counts=counts,
        weighty=frozenset(counts) - lexicon().weightless,
        letters=folded.encode("ascii", "ignore").translate(None, _NO_LETTERS),
        core=tuple(core),
        negations=negations,
        unclear=unclear,
        auxiliary=auxiliary,
        question="?" in text or folded.lstrip().startswith(_FORMAL_QUESTIONS),
        subjects=frozenset(" ".join(w.norm for w in tag) for tag in tags) - {""},
    )


@lru_cache(maxsize=1024)
def _language(text: str) -> str:
    return guess_language(text, default="en")


def _is_negation(norm: str, text: str) -> bool:
    """Whether a word such as "no" negates: in its own language only."""
    return norm in words_of("negation.determiner", language=_language(text))


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
    lex = lexicon()
    at = 0
    while at < len(words) and (length := lex.match("openers", norms, at)):
        # "No, she came" but not "No student came".
        follows = words[at + length : at + length + 1]
        apart = length > 1 or any(w.pause or w.opens for w in follows)
        if not (apart or lex.match("openers", norms[at + length :] or ("",), 0)):
            break
        at += length
    if not lex.may_hold("neutral", norms):
        return list(words[at:]) or list(words)
    kept: list[Word] = []
    while at < len(words):
        length = 0 if lex.match("kept", norms, at) else lex.match("neutral", norms, at)
        if not length:
            kept.append(words[at])
        at += max(length, 1)
    return kept or list(words)


def _without_negation(words: Sequence[Word], text: str) -> tuple[list[Word], int, bool, bool]:
    """The words that are no negation, how many negations, whether unclear, whether "do" went."""
    norms = [word.norm for word in words]
    unclear = lexicon().holds("not_quite", norms)
    if _NEGATING.isdisjoint(norms):
        return list(words), 0, unclear, False
    dropped: set[int] = set()
    count = 0
    for at, norm in enumerate(norms):
        after_ne = bool(dropped.intersection(range(at - _BACK, at)))
        if norm in _PARTICLE and _is_particle(words, at):
            dropped.add(at)
            unclear = unclear or not _closes(norms, at)
        elif norm in _DETERMINER and not at:  # "No student came", "No that's all"
            unclear = True
        elif norm in _NEGATES or (norm in _AFTER_PARTICLE and after_ne):
            dropped.add(at)
            count += 1
        elif norm in _DETERMINER and _is_negation(norm, text):
            longer = norms[at + 1 : at + 2] and norms[at + 1] in _COMPARED
            dropped |= {at, at + 1} if longer else {at}
            count += 1
        elif norm in _TAIL and count:
            dropped.add(at)
        elif norm in _UNCLEAR:
            unclear = True
    do = {at for at, norm in enumerate(norms) if norm in _SUPPORT and at + 1 in dropped}
    dropped |= do
    core = [word for at, word in enumerate(words) if at not in dropped]
    return core, count, unclear or count > 1, bool(do)


def _is_particle(words: Sequence[Word], at: int) -> bool:
    """Whether a folded "ne" is the particle and not "né", which writers leave unaccented too."""
    born = at > 0 and words[at - 1].norm in _BORN
    return words[at].surface.isascii() and not born


def _closes(norms: Sequence[str], at: int) -> bool:
    return not _CLOSING.isdisjoint(norms[at + 1 : at + 1 + _BACK + 1])


@lru_cache(maxsize=1024)
def spelling(text: str) -> str:
    """`text` up to case, accents, punctuation and spaces; digits of two numbers never meet."""
    found = _TOKEN.findall(fold(_APOSTROPHE.sub("'", text)))
    kept = (t.replace("'", "") for t in found if len(t) > 1 or t.isalnum() or _is_meaningful(t))
    return _NOT_BETWEEN_DIGITS.sub("", " ".join(kept))


def clear_caches() -> None:
    """Drop the cached texts of the process: an erased one must not stay."""
    for cached in (split, _read, _language, spelling):
        cached.cache_clear()


def is_hedged(words: Sequence[Word]) -> bool:
    """Whether the words hold a wish, a guess, a condition or another's claim."""
    return lexicon().holds("hedges", [word.norm for word in words]) or any(
        word.norm in _MODALS and not _is_month(words, at) for at, word in enumerate(words)
    )


def _is_month(words: Sequence[Word], at: int) -> bool:
    around = [word.norm for word in words[max(0, at - 1) : at + 2]]
    dated = any(norm[:1].isdigit() or norm in _BEFORE_MONTH for norm in around)
    return words[at].capital or dated


_MODALS: Final = words_of("stated.not_dates", file="time")
"""Months that are verbs more often."""
_BEFORE_MONTH: Final = words_of("stated.before_month", file="time")


def is_name(statement: Statement, word: Word) -> bool:
    """Whether `word` looks like a proper name: a capital, and no function or time word."""
    if not (word.capital or " " in word.norm) or word.norm[:1].isdigit():
        return False
    return word.norm not in lexicon().never_names


def is_time(norms: Iterable[str]) -> bool:
    """Whether the words only say when: "le 10 janvier 2026", "since last May"."""
    lex = lexicon()
    telling = False
    for norm in norms:
        if lex.has("time", norm) or _YEAR_OR_TIME.fullmatch(norm):
            telling = True
        elif not (lex.has("time_links", norm) or norm.isdigit()):
            return False
    return telling


_YEAR_OR_TIME: Final = re.compile(
    r"(?:1[5-9]|20)\d\d|\d{1,4}[-/]\d{1,2}(?:[-/]\d{1,4})?|\d{1,2}(?:h|:)\d{0,2}(?:am|pm)?"
    rf"|\d{{1,2}}(?:am|pm|{ORDINALS})"
)
