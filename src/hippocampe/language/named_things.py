"""Names that a text gives to people and things: "our cat Marmite", "my boss is Priya", "the plumber is Mr Diaz". Pure.

Relatives are in `kin`: they have words in every language.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from hippocampe.language.kin import called, is_owner, is_relative, kin_words, linked, relation
from hippocampe.language.lexicon import words_of
from hippocampe.language.text import STOP_WORDS, words

_OWN: Final = words_of("grammar.own")
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


def things_in(text: str, names: Collection[str]) -> list[Thing]:
    """Return the things that a text names as somebody's, or as known to all.

    Args:
        text: A question or a statement.
        names: Folded names in it.
    """
    spoken = words(text)
    plain = [
        word not in STOP_WORDS and word not in names and not is_relative(word) for word in spoken
    ]
    found: list[Thing] = []
    for at in (at for at, is_plain in enumerate(plain) if is_plain):
        if name := called(spoken, at, names):
            owner = spoken[0] if spoken[0] in names and spoken[0] != name else ""
            found.append(Thing(owner, _kind(spoken[at : at + 1]), name, (at, at)))
            continue
        # "My old car", "my piano teacher".
        before = at - 1 - (at > 1 and plain[at - 1])
        if before < 0 or (spoken[before] not in _DETERMINERS and spoken[before] not in names):
            continue
        # "Ma prof de piano".
        is_of = at + 2 < len(spoken) and spoken[at + 1] in _OF and plain[at + 2]
        last = at + 2 if is_of else at
        kind = _kind(spoken[before + 1 : last + 1])
        owner, last = _owner(spoken, before, last, names)
        after, ahead = spoken[last + 1 :], spoken[:before][::-1]
        name = None if is_owner(spoken, before) else _linked(after, names, kind)
        # "Mrs Roux is my piano teacher" names no piano.
        if not name and not any(plain[last + 1 : last + 2]):
            name = " ".join(reversed(_linked(ahead, names, kind).split()))
        found.append(Thing(owner, kind, name or None, (before, last)))
    return found


def _linked(spoken: Sequence[str], names: Collection[str], kind: Collection[str]) -> str:
    """The whole name that a link joins to a thing, "" without one: "is Mr Diaz"."""
    name = linked(spoken, names)
    # Two words may be a thing and a verb: "my dog bit Tom".
    if name is None or (len(kind) > 1 and spoken[0] == name):
        return ""
    return " ".join(takewhile(names.__contains__, spoken[spoken.index(name) :]))


def _kind(spoken: Iterable[str]) -> frozenset[str]:
    return frozenset(relation(word) or word for word in spoken if word not in STOP_WORDS)


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
