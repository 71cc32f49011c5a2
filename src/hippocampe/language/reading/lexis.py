"""The lexicon of one language by the roles of words in a statement, from its `reading.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from hippocampe.language.lexicon import languages, load
from hippocampe.language.text import STOP_WORDS
from hippocampe.language.tokenizer import tokenize

SIGNS: Final = tuple(load(languages()[0], "reading")["signs"])
"""Classes of words and phrases that indicate a change of an older statement."""
_OF_WORDS: Final = frozenset({"moved_participles", "not_imperfect"})
"""Roles whose members are content words."""
_NOTHING: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Lexis:
    """The lexicon of a language.

    Attributes:
        language: Its code.
        spellings: Intended words of hurried spellings.
        glued: Full forms of one-letter pronouns that are written in one word with a verb.
        numbers: Value by number word.
        ordinals: Rank by ordinal.
        units: Unit by word or sign.
        kin: Relationship by word.
        grammar: Words by grammatical role.
        verbs: Kind of a verb by stem.
        before: Names of the changes that a stem precedes ("looking for").
        after: Names of the changes that a stem follows ("found").
        clock: Words of a time of day.
        endings: Endings of participles and of moods.
        moved: Stems of participles that state an event after "to be".
        not_imperfect: Words that only end like an imperfect.
    """

    language: str
    spellings: Mapping[str, tuple[str, ...]]
    glued: Mapping[str, str]
    numbers: Mapping[str, int]
    ordinals: Mapping[str, int]
    units: Mapping[str, str]
    kin: Mapping[str, str]
    grammar: Mapping[str, frozenset[str]]
    verbs: Mapping[str, str]
    before: Mapping[str, frozenset[str]]
    after: Mapping[str, frozenset[str]]
    clock: Mapping[str, frozenset[str]]
    endings: Mapping[str, tuple[str, ...]]
    moved: frozenset[str]
    not_imperfect: frozenset[str]
    _single: Mapping[str, frozenset[str]]
    _phrases: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]

    def signs(self, norms: Sequence[str], stems: Sequence[str]) -> frozenset[str]:
        """The signs of change in a statement, from its folded words and their stems."""
        found: set[str] = set()
        for at, norm in enumerate(norms):
            if signs := self._single.get(stems[at]):
                found |= signs
            for phrase, sign in self._phrases.get(norm, ()):
                if tuple(norms[at : at + len(phrase)]) == phrase:
                    found.add(sign)
        return frozenset(found)

    def changes_before(self, stems: Iterable[str]) -> frozenset[str]:
        """The changes that one of these words may precede."""
        return _NOTHING.union(*(self.before.get(stem, _NOTHING) for stem in stems))

    def changes_after(self, stems: Iterable[str]) -> frozenset[str]:
        """The changes that end in one of these words."""
        return _NOTHING.union(*(self.after.get(stem, _NOTHING) for stem in stems))


@lru_cache(maxsize=20_000)
def stem(word: str, language: str) -> str:
    """Stem a word roughly, well enough to compare two words of one language."""
    endings, shortest = _endings(language)
    for ending in endings:
        if word.endswith(ending) and len(word) - len(ending) >= shortest:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > shortest and word[-1] == word[-2] else word


def plain_stem(word: str, language: str) -> str:
    """The stem of a word; a function word equals only itself ("par" is not "paraît")."""
    apart = word in STOP_WORDS or word in _function_words(language)
    return f"={word}" if apart else stem(word, language)


@cache
def _function_words(language: str) -> frozenset[str]:
    roles = load(language, "reading")["grammar"]
    return frozenset(
        word
        for role, words in roles.items()
        if isinstance(words, str) and role not in _OF_WORDS
        for word in words.split()
    )


@cache
def _endings(language: str) -> tuple[tuple[str, ...], int]:
    data = load(language, "reading")
    longest_first = sorted(data["endings"].split(), key=len, reverse=True)
    return tuple(longest_first), data["shortest_stem"]


@cache
def lexis(language: str) -> Lexis:
    """The lexicon of a language."""
    data = load(language, "reading")
    single: dict[str, set[str]] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for sign, entries in data["signs"].items():
        for entry in entries:
            norms = tuple(word.norm for word in tokenize(entry))
            if len(norms) == 1:
                single.setdefault(plain_stem(norms[0], language), set()).add(sign)
            else:
                phrases.setdefault(norms[0], []).append((norms, sign))
    grammar: dict[str, set[str]] = {}
    for role, words in data["grammar"].items():
        if isinstance(words, str) and role not in _OF_WORDS:
            for word in words.split():
                grammar.setdefault(word, set()).add(role)
    verbs = {
        plain_stem(word, language): kind
        for kind in ("other", "several", "wish", "single")
        for word in data["verbs"][kind].split()
    }
    return Lexis(
        language=language,
        spellings={word: tuple(meant.split()) for word, meant in data["spellings"].items()},
        glued=data["glued"],
        numbers=_by_word(data["numbers"], int),
        ordinals=_by_word(data["ordinals"], int),
        units=_by_word(data["units"], str),
        kin=_by_word(data["kin"], str),
        grammar={word: frozenset(roles) for word, roles in grammar.items()},
        verbs=verbs,
        before=_changes(data["changes"], "from", language),
        after=_changes(data["changes"], "to", language),
        clock={name: frozenset(words.split()) for name, words in data["clock"].items()},
        endings={
            role: tuple(words)
            for role, words in data["grammar"].items()
            if not isinstance(words, str)
        },
        moved=frozenset(
            plain_stem(word, language) for word in data["grammar"]["moved_participles"].split()
        ),
        not_imperfect=frozenset(data["grammar"]["not_imperfect"].split()),
        _single={word: frozenset(signs) for word, signs in single.items()},
        _phrases={word: tuple(entries) for word, entries in phrases.items()},
    )


def _by_word(table: Mapping[str, str], type: Any) -> dict[str, Any]:
    return {word: type(name) for name, words in table.items() for word in words.split()}


def _changes(
    table: Mapping[str, Mapping[str, str]], side: str, language: str
) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, change in table.items():
        for word in change[side].split():
            found.setdefault(plain_stem(word, language), set()).add(name)
    return {word: frozenset(names) for word, names in found.items()}
