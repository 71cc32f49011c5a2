"""The grammar of one language: the words of each role, verbs, stems, units and signs of change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from hippocampe.language.lexicon import load
from hippocampe.language.text import STOP_OF
from hippocampe.language.text_cache import LONGEST_WORD, text_cache
from hippocampe.language.tokenizer import tokenize, told_by_accent


@dataclass(frozen=True, slots=True)
class Grammar:
    """The grammar of a language.

    Attributes:
        language: Its code.
        spellings: Intended words of hurried spellings.
        glued: Full forms of one-letter pronouns that are written in one word with a verb.
        again: Prefix of a verb by which it is done again, or "".
        numbers: Value by number word.
        ordinals: Rank by ordinal.
        units: Unit by word or sign.
        kin: Relationship by word.
        roles: Grammatical roles by word.
        verbs: Stems of verbs.
        future: Endings of the future.
        clock: Words of a time of day.
    """

    language: str
    spellings: Mapping[str, tuple[str, ...]]
    glued: Mapping[str, str]
    again: str
    numbers: Mapping[str, int]
    ordinals: Mapping[str, int]
    units: Mapping[str, str]
    kin: Mapping[str, str]
    roles: Mapping[str, frozenset[str]]
    verbs: frozenset[str]
    future: tuple[str, ...]
    clock: Mapping[str, frozenset[str]]
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

    def repeated(self, norm: str) -> str:
        """The verb that a verb with the prefix `again` repeats: "fume" of "refume"; "" for a verb of its own, "regarde"."""
        verb = norm.removeprefix(self.again)
        if verb == norm or len(verb) < _SHORTEST_VERB:
            return ""
        own = plain_stem(norm, self.language)
        is_own = own in self.verbs or own in self._single or norm in self.roles
        return "" if is_own or plain_stem(verb, self.language) not in self.verbs else verb


_SHORTEST_VERB: Final = 3  # letters


@text_cache(20_000, longest=LONGEST_WORD)
def stem(word: str, language: str) -> str:
    """Stem a word roughly, well enough to compare two words of one language. A code, "parcel11", is its own stem."""
    if word[-1:].isdigit():
        return word
    endings, shortest = _endings(language)
    for ending in endings:
        if word.endswith(ending) and len(word) - len(ending) >= shortest:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > shortest and word[-1] == word[-2] else word


def plain_stem(word: str, language: str) -> str:
    """The stem of a word; a function word equals only itself ("par" is not "paraît")."""
    apart = word in STOP_OF[language] or word in _function_words(language)
    return f"={word}" if apart else stem(word, language)


@cache
def _function_words(language: str) -> frozenset[str]:
    roles = load(language, "words")["grammar"].values()
    return frozenset(word for words in roles for word in words.split())


@cache
def _endings(language: str) -> tuple[tuple[str, ...], int]:
    data = load(language, "words")
    longest_first = sorted(data["endings"].split(), key=len, reverse=True)
    return tuple(longest_first), data["shortest_stem"]


@cache
def grammar(language: str) -> Grammar:
    """The grammar of a language."""
    data = load(language, "words")
    single: dict[str, set[str]] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for sign, entries in data["signs"].items():
        for entry in entries:
            norms = tuple(told_by_accent(word).norm for word in tokenize(entry))
            # "Pars" and "serre" have the stems of "paraît" and "serait", which is a doubt in that form only.
            if len(norms) == 1 and sign != "doubt":
                single.setdefault(plain_stem(norms[0], language), set()).add(sign)
            else:
                phrases.setdefault(norms[0], []).append((norms, sign))
    of_role: dict[str, set[str]] = {}
    for role, words in data["grammar"].items():
        for word in words.split():
            of_role.setdefault(word, set()).add(role)
    return Grammar(
        language=language,
        spellings={word: tuple(meant.split()) for word, meant in data["spellings"].items()},
        glued=data["glued"],
        again=data["again"],
        # "Un" is an article more often.
        numbers={word: n for word, n in _by_word(data["numbers"], int).items() if n > 1},
        ordinals=_by_word(data["ordinals"], int),
        units=_by_word(data["units"], str),
        kin=_by_word(data["kin"], str),
        roles={word: frozenset(roles) for word, roles in of_role.items()},
        verbs=frozenset(plain_stem(word, language) for word in data["verbs"].split()),
        future=tuple(data["future"]),
        clock={name: frozenset(words.split()) for name, words in data["clock"].items()},
        _single={word: frozenset(signs) for word, signs in single.items()},
        _phrases={word: tuple(entries) for word, entries in phrases.items()},
    )


def _by_word(table: Mapping[str, str], type: Any) -> dict[str, Any]:
    return {word: type(name) for name, words in table.items() for word in words.split()}
