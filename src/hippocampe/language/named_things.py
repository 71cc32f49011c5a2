"""Names that a text gives to people and things: "our cat Marmite", "my boss is Priya", "the cat is called Moka". Pure.

Relatives are in `kin`: they have words in every language.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from hippocampe.language.kin import (
    are_links,
    called,
    is_naming,
    is_owner,
    is_relative,
    kin_words,
    linked,
    owns,
    relation,
)
from hippocampe.language.lexicon import words_of
from hippocampe.language.statement import parse
from hippocampe.language.text import STOP_OF, words

_OWN: Final = words_of("grammar.own")
_BE: Final = words_of("grammar.be")
_DETERMINERS: Final = _OWN | words_of("grammar.definite")
_OF: Final = words_of("grammar.of")


@dataclass(frozen=True, slots=True)
class Thing:
    """A person or a thing by what they are: "my boss", "the cat", "la prof de piano de Tom".

    Attributes:
        owner: The folded name of whose it is; "" for the speaker, None if the text does not tell.
        kind: What it is: its folded words without function words, those of the table `kin` by their key.
        name: Its folded name, if the text tells it.
        span: The places of the first and the last of the words for it.
    """

    owner: str | None
    kind: frozenset[str]
    name: str | None
    span: tuple[int, int]

    @property
    def words(self) -> frozenset[str]:
        """The words that texts may have for it."""
        return frozenset[str]().union(*map(kin_words, self.kind))


def may_name(text: str) -> bool:
    """Return whether a text may give a thing a name: most do not, and to parse one takes longest."""
    spoken = words(text)
    return is_naming(spoken) or not (_OWN | _BE).isdisjoint(spoken)


def things_in(text: str, names: Collection[str]) -> list[Thing]:
    """Return the things that a text names as somebody's, or as known to all.

    Args:
        text: A question or a statement.
        names: Folded names in it.
    """
    spoken = words(text)
    # A French function word may be an English thing: "my car".
    stop = STOP_OF[parse(text).language]
    plain = [word not in stop and word not in names and not is_relative(word) for word in spoken]
    found: list[Thing] = []
    for at in (at for at, is_plain in enumerate(plain) if is_plain):
        if told := called(spoken, at, names):
            owner, name = told
            found.append(Thing(owner or "", _kind(spoken[at : at + 1]), name, (at, at)))
            continue
        # "My old car", "my piano teacher".
        before = at - 1 - (at > 1 and plain[at - 1])
        if before < 0 or (spoken[before] not in _DETERMINERS and spoken[before] not in names):
            continue
        # "Ma prof de piano".
        is_of = at + 2 < len(spoken) and spoken[at + 1] in _OF and plain[at + 2]
        last = at + 2 if is_of else at
        kind = _kind(word for word in spoken[before + 1 : last + 1] if word not in stop)
        owner, last = _owner(spoken, before, last, names)
        given = [] if is_owner(spoken, before) else _name_after(spoken, last, names, kind, owner)
        # "Mrs Roux is my piano teacher" names no piano.
        if not given and not any(plain[last + 1 : last + 2]):
            given = _name_before(spoken[:before], names)
        name = " ".join(given) if given and not owns(text, given[-1]) else None
        found.append(Thing(owner, kind, name, (before, last)))
    return found


def _name_after(
    spoken: Sequence[str],
    last: int,
    names: Collection[str],
    kind: Collection[str],
    owner: str | None,
) -> list[str]:
    """The words of the name that follows a thing, if a link joins them: "is Mr Diaz"."""
    first = linked(spoken[last + 1 :], names)
    if first is None:
        return []
    at = spoken.index(first, last)
    # Two words may be a thing and a verb: "my dog bit Tom". "The winner is Tom" gives it no name.
    if (len(kind) > 1 and at == last + 1) or (
        owner is None and not is_naming(spoken[last + 1 : at])
    ):
        return []
    return list(takewhile(names.__contains__, spoken[at:]))


def _name_before(spoken: Sequence[str], names: Collection[str]) -> list[str]:
    """The words of the name that a statement begins with, if only links follow it: "Mr Diaz is"."""
    name = list(takewhile(names.__contains__, spoken))
    links = spoken[len(name) :]
    return name if links and are_links(links) else []


def _kind(spoken: Iterable[str]) -> frozenset[str]:
    return frozenset(relation(word) or word for word in spoken)


def _owner(
    spoken: Sequence[str], before: int, last: int, names: Collection[str]
) -> tuple[str | None, int]:
    """The owner of a thing, by the word before it or after "of", and the place of the last word for it."""
    if spoken[before] in _OWN:
        return "", last
    if spoken[before] in names:
        return spoken[before], last
    match spoken[last + 1 : last + 3]:
        case [of, owner] if of in _OF and owner in names:
            return owner, last + 2
        case _:
            return None, last
