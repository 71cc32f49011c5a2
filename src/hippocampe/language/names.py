"""Replace the names of a statement by one canonical name for each person or thing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from hippocampe.language.text import STOP_WORDS, words
from hippocampe.language.tokenizer import Word, tokenize

Aliases = Mapping[str, frozenset[str]]
"""The other names of each name."""
NO_OTHER_NAMES: Final[Aliases] = MappingProxyType({})
Renaming = tuple[tuple[str, ...], str]
"""An alias, as words, and the canonical name that replaces it."""


def named_in(names: Iterable[str], spoken: Collection[str]) -> list[str]:
    """Return the names whose words all are among some folded words; an emoji has none."""
    said = frozenset(spoken)
    return [name for name in names if (of_name := words(name)) and said.issuperset(of_name)]


def with_other_names(names: Iterable[str], aliases: Aliases) -> frozenset[str]:
    """Return names with the other names of each."""
    known = frozenset(names)
    return known.union(*(aliases.get(name, ()) for name in known))


class CanonicalNames:
    """Maps every name of an alias group to one canonical name.

    Args:
        aliases: The other names of each name.
        speaker: The name of the speaker: it and its aliases become "user".
    """

    def __init__(self, aliases: Aliases, *, speaker: str | None = None) -> None:
        found: dict[tuple[str, ...], str] = {}
        for name, others in aliases.items():
            spelled = (_key(tokenize(n)) for n in {name, *others})
            # Punctuation has no words, and would erase the names of its group.
            group = sorted(filter(None, spelled))
            found |= {member: " ".join(group[0]) for member in group}
        own = _key(tokenize(speaker or ""))
        if own:
            group = found.get(own, " ".join(own))
            found |= {member: "user" for member in found if found[member] == group}
            found[own] = "user"
        self._by_first: Final[dict[str, list[Renaming]]] = {}
        for renaming in sorted(found.items()):
            self._by_first.setdefault(renaming[0][0], []).append(renaming)

    def within(self, texts: Iterable[str]) -> tuple[Renaming, ...]:
        """Return the renamings whose first word occurs in any of the texts."""
        if not self._by_first:
            return ()
        present = {norm for text in texts for norm in _key(tokenize(text))}
        firsts = sorted(present.intersection(self._by_first))
        return tuple(renaming for first in firsts for renaming in self._by_first[first])


def _key(words: Iterable[Word]) -> tuple[str, ...]:
    return tuple(word.norm.lower() for word in words)


NO_ALIASES: Final = CanonicalNames({})


def renamed(words: Sequence[Word], names: Mapping[tuple[str, ...], str]) -> list[Word]:
    """Return words with each alias replaced by its canonical name."""
    if not names:
        return list(words)
    longest = max(map(len, names))
    result: list[Word] = []
    at = 0
    while at < len(words):
        for length in range(min(longest, len(words) - at), 0, -1):
            name = names.get(_key(words[at : at + length]))
            first = words[at]
            # "Will" and "A" are names, "will" and "à" are not.
            if name is not None and (first.capital or first.norm not in STOP_WORDS):
                surface = first.surface[:1].upper() + first.surface[1:]
                result.append(Word(name, surface, first.glued, first.pause, first.opens))
                at += length
                break
        else:
            result.append(words[at])
            at += 1
    return result
