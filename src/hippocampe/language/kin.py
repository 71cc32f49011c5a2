"""Relatives that a text names: "ma mère", "Mum". Each has words in every language. Pure.

The words are data: `kin`, `grammar.own`, `owner_links` and `names_a_relative` in `language/*/words.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, product
from typing import Final

from hippocampe.language.lexicon import load_all, table_of, words_of
from hippocampe.language.text import fold, words, written_words


@dataclass(frozen=True, slots=True)
class Kin:
    """A relative that a question names, and how texts name them in all languages. All words are folded.

    Attributes:
        said: The words that name them in the question: "belle" and "mère".
        words: Each names them alone.
        others: Each, beside one of `words`, makes it the name of another relative: "grand", "belle", "law".
        pairs: Two words in order that name them together, each as alternatives.
    """

    said: frozenset[str]
    words: frozenset[str]
    others: Set[str]
    pairs: tuple[tuple[frozenset[str], frozenset[str]], ...]


_NO_RELATIVES: Final = frozenset(
    {
        *("in_law", "former_partner", "team", "friend", "colleague", "boss", "doctor", "landlord"),
        *("neighbour", "flatmate"),
    }
)
"""Words of `kin` left out, for people who change or are mostly named by other words."""
_KINDS: Final = {
    "parents": ("mother", "father"),
    "child": ("son", "daughter"),
    "siblings": ("brother", "sister"),
    "partner": ("wife", "husband"),
}
"""The relatives that a more general word names."""
_ALSO: Final = _KINDS | {kin: (general,) for general, kinds in _KINDS.items() for kin in kinds}
"""Further names of a relative."""
_PARENTS, _CHILDREN, _SIBLINGS, _PARTNERS = ((*kinds, kin) for kin, kinds in _KINDS.items())
_BY_MARRIAGE: Final = frozenset((*_PARENTS, *_CHILDREN, *_SIBLINGS))
"""The relatives of a partner that "in law" or "belle-" names."""
_INVERSE: Final = {
    **dict.fromkeys(_PARENTS, _CHILDREN),
    **dict.fromkeys(_CHILDREN, _PARENTS),
    **dict.fromkeys(_SIBLINGS, _SIBLINGS),
    **dict.fromkeys(_PARTNERS, _PARTNERS),
}
"""The relatives that somebody may be to a relative of theirs."""
_MUTUAL: Final = frozenset(
    ("friend", "colleague", "neighbour", "flatmate", "cousin", "sibling_in_law", "former_partner")
)
"""Further words of `kin` for somebody who is the same to the other."""
_OWN_WORDS: Final[dict[str, frozenset[str]]] = {
    kin: frozenset(listed.split()) for kin, listed in load_all("words")["kin"].items()
}
"""The words for each relative, friend or colleague."""
_IN_LAW: Final = _OWN_WORDS["in_law"]
_RELATION_OF: Final = {word: kin for kin, listed in _OWN_WORDS.items() for word in listed}
_KIN_OF: Final = {word: kin for word, kin in _RELATION_OF.items() if kin not in _NO_RELATIVES}
_WORDS_OF: Final = {
    kin: listed.union(*(_OWN_WORDS.get(other, ()) for other in _ALSO.get(kin, ())))
    for kin, listed in _OWN_WORDS.items()
}
"""The words for each of them, and for those who may be meant by them."""
_MINE: Final = words_of("grammar.own")
_LINKS: Final = words_of("names_a_relative")
_MERGED: Final[dict[str, str]] = table_of("merged")
_OWNER_LINKS: Final = words_of("owner_links")
_TELLERS: Final = words_of("grammar.first_person")
_DEFINITE: Final = words_of("grammar.definite")
_INDEFINITE: Final = words_of("grammar.indefinite")
_NAMING: Final = _LINKS - words_of("grammar.be") - _DEFINITE
"""Words after which a name follows: "called"."""
_OF: Final = words_of("grammar.of")
_OF_CLITICS: Final = tuple(word for word in _OF if word.startswith("'"))
_HYPHEN: Final = re.compile(r"(?<=\w)[-\u2010\u2011](?=\w)")


@dataclass(frozen=True, slots=True)
class Relative:
    """Somebody by what they are to somebody else: "Tom's sister".

    Attributes:
        owner: The folded name of the other; None for the speaker.
        kin: The relative, as a key of the table `kin`.
        name: The folded name of the relative, if the text tells it.
        span: The places of the first and the last of the words that name the relative.
    """

    owner: str | None
    kin: str
    name: str | None = None
    span: tuple[int, int] = (0, 0)


def relatives_in(text: str, names: Collection[str]) -> list[Relative]:
    """Return the relatives of somebody that a text names: "my sister", "la mère de Bastien".

    Args:
        text: A question or a statement.
        names: Folded names of people in it.
    """
    spoken = words(text)
    kin_at = {at: kin for at, word in enumerate(spoken) if (kin := _KIN_OF.get(word))}
    compounds = _hyphenated(text) if kin_at else frozenset[int]()
    found: list[Relative] = []
    for at, kin in kin_at.items():
        if at in compounds or _is_other(spoken, at):
            continue
        place = _owner(spoken, at, names)
        if place is None:
            if told := called(spoken, at, names):
                owner, name = told
                found.append(Relative(owner, kin, name, (at, at)))
            continue
        owner = None if spoken[place] in _MINE else spoken[place]
        first, last = min(place, at), max(place, at)
        named = None
        if not is_owner(spoken, first):
            named = linked(spoken[last + 1 :], names)
        if named is None and not owns(text, spoken[at]):
            named = linked(spoken[:first][::-1], names)
        found.append(Relative(owner, kin, named, (first, last)))
    return found


def with_name(question: str, span: tuple[int, int], name: str) -> str:
    """Return a question with the name of a relative in place of what they are: "Where does Beth live?".

    Args:
        question: The question.
        span: The places of the first and the last of the words that name the relative.
        name: The name.
    """
    written, (first, last) = written_words(question), span
    if [fold(word) for word in written] != words(question):
        return f"{question} ({name})"
    before = fold(written[first - 1]) if first else ""
    first -= before in _DEFINITE or before in _MERGED
    name = f"{_MERGED[before]} {name}" if before in _MERGED else name
    between = r"(?:\W|\b[dsDS]\b)*?"
    phrase = between.join(re.escape(word) for word in written[first : last + 1])
    return re.sub(rf"\b{phrase}\b", lambda _: name, question, count=1)


def name_of(asked: Relative, told: Relative) -> str | None:
    """Return the folded name of a relative that is asked for, as a statement tells it; None if it is another one.

    "Odile est la mère de Bastien" names her son too.

    Args:
        asked: The relative asked for, with an owner.
        told: One from a statement, with an owner.
    """
    if asked.owner == told.owner and told.kin in (asked.kin, *_ALSO.get(asked.kin, ())):
        return told.name
    is_inverse = asked.owner == told.name and asked.kin in _INVERSE.get(told.kin, ())
    return told.owner if is_inverse else None


def are_inverse(kin: str, other: str) -> bool:
    """Return whether somebody may be `other` to their `kin`: a mother to her son, a friend to a friend."""
    return other in _INVERSE.get(kin, ()) or (kin == other and kin in _MUTUAL)


def are_two(kin: str, other: str) -> bool:
    """Return whether two relatives of somebody are two people: a son and a daughter, but not a son and a child."""
    known = not _NO_RELATIVES.intersection((kin, other))
    return known and kin != other and other not in _ALSO.get(kin, ())


def is_child(kin: str) -> bool:
    """Return whether a relative, as a key of the table `kin`, is a child of somebody."""
    return kin in _CHILDREN


def is_partner(kin: str) -> bool:
    """Return whether a relative, as a key of the table `kin`, is the partner of somebody."""
    return kin in _PARTNERS


def is_relative(word: str) -> bool:
    """Return whether a folded word names a relative, who has words in every language."""
    return word in _KIN_OF


def kin_words(kin: str) -> frozenset[str]:
    """Return the folded words for a relative, and for those of whom one is such a relative; a word that is no key itself."""
    others = (_WORDS_OF[other] for other in _INVERSE.get(kin, ()))
    return _WORDS_OF.get(kin, frozenset({kin})).union(*others)


def _hyphenated(text: str) -> frozenset[int]:
    """The places of the words that a hyphen joins: "belle-mère", "ex-wife"."""
    *ends, _ = accumulate(len(words(part)) for part in _HYPHEN.split(text))
    return frozenset(place for end in ends for place in (end - 1, end))


def _is_other(spoken: Sequence[str], at: int) -> bool:
    """Return whether a word for a relative is a part of one for another: "beau frère", "wife's brother", "mother in law"."""
    before = spoken[at - 1] if at else ""
    joined = {before + spoken[at], "".join(spoken[at : at + 3])} - {spoken[at]}
    return before in _RELATION_OF or not joined.isdisjoint(_RELATION_OF)


def is_owner(spoken: Sequence[str], first: int) -> bool:
    """Return whether a relative is the owner of what is named: "la copine de mon fils s'appelle Ella".

    Args:
        spoken: The folded words of a text.
        first: The place of the first word for the relative.
    """
    at = first - 1
    while at >= 0 and spoken[at] in _DEFINITE:
        at -= 1
    # "The name of my mother is Odile".
    return at >= 0 and spoken[at] in _OF and (at == 0 or spoken[at - 1] not in _LINKS)


def owns(text: str, word: str) -> bool:
    """Return whether somebody, by a folded word, is an owner: "Rex is my son's dog"."""
    folded = fold(text)
    return any(f"{word}{clitic}" in folded for clitic in _OF_CLITICS)


def _owner(spoken: Sequence[str], at: int, names: Collection[str]) -> int | None:
    """The place of the word that tells whose relative is meant: before it, or after "de"."""
    if at > 0 and (spoken[at - 1] in _MINE or spoken[at - 1] in names):
        return at - 1
    if at > 1 and spoken[at - 2] in _MINE:
        return at - 2
    after = next(
        (place for place in range(at + 1, len(spoken)) if spoken[place] not in _OWNER_LINKS), at
    )
    return after if after > at and spoken[after] in names else None


def linked(spoken: Sequence[str], names: Collection[str]) -> str | None:
    """Return the first word that is more than a link, if it is a name: "is called Beth"."""
    first = next((word for word in spoken if word not in _LINKS), None)
    return first if first in names else None


def are_links(spoken: Collection[str]) -> bool:
    """Return whether folded words only join a name to somebody: "is", "est le"."""
    return _LINKS.issuperset(spoken)


def called(spoken: Sequence[str], at: int, names: Collection[str]) -> tuple[str | None, str] | None:
    """Return who has something, and its name: "Tom has a sister called Beth", "un petit chat qui s'appelle Marmite".

    Args:
        spoken: The folded words of a text.
        at: The place of the word for it.
        names: Folded names in the text.

    Returns:
        The owner, None for the speaker, and the name; None if the text gives it none.
    """
    has_one = not _INDEFINITE.isdisjoint(spoken[max(0, at - 2) : at])
    name = linked(spoken[at + 1 :], names)
    if not (has_one and name and is_naming(spoken[at + 1 : spoken.index(name, at)])):
        return None
    return spoken[0] if spoken[0] in names and spoken[0] != name else None, name


def is_naming(spoken: Collection[str]) -> bool:
    """Return whether folded words between a thing and its name say that it is its name: "is called"."""
    return not _NAMING.isdisjoint(spoken)


def kin_asked(question: str) -> tuple[Kin, ...]:
    """Return each relative that a question names, in the order of the question."""
    spoken = words(question)
    found: dict[tuple[str, bool], Kin] = {}
    at = 0
    while at < len(spoken):
        kin, in_law, length = _named_at(spoken, at)
        if kin:
            said = frozenset(spoken[at : at + length])
            found.setdefault((kin, in_law), _asked(kin, in_law, said))
        at += length
    return tuple(found.values())


def _named_at(spoken: Sequence[str], at: int) -> tuple[str, bool, int]:
    """The relative that is named at a place, "" without one, whether by marriage, and the number of words."""
    for size in (3, 2):
        named = spoken[at : at + size]
        if len(named) < size:
            continue
        if kin := _KIN_OF.get("".join(named)):
            return kin, False, size
        # "Mother in law", "belle-maman".
        of, by_marriage = (0, -1) if size == 3 else (-1, 0)
        kin = _KIN_OF.get(named[of], "")
        if kin in _BY_MARRIAGE and named[by_marriage] in _IN_LAW:
            return kin, True, size
    return _KIN_OF.get(spoken[at], ""), False, 1


@cache
def _asked(kin: str, in_law: bool, said: frozenset[str]) -> Kin:
    alone = _WORDS_OF[kin]
    if in_law:
        glued = frozenset(word for word in _IN_LAW if word.startswith(tuple(alone)))
        return Kin(said, glued, frozenset(), ((_IN_LAW, alone), (alone, _IN_LAW)))
    pairs = ((frozenset({head}), frozenset({tail})) for head, tail in _compounds(alone, _KIN_OF))
    others = {head for head, _ in _compounds(_KIN_OF.keys() - alone, alone)}
    others |= _IN_LAW if kin in _BY_MARRIAGE else set()
    return Kin(said, alone, others, tuple(pairs))


def _compounds(words: Set[str], tails: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The words that end with one of others, "grandmother", each as its head and its tail."""
    for word, tail in product(words, tails):
        if word != tail and word.endswith(tail):
            yield word.removesuffix(tail), tail


def begins_with_teller(statement: str) -> bool:
    """Return whether a statement begins with its teller or with a relative of theirs: "On a fini", "Maman est là"."""
    return any(word in _TELLERS or word in _KIN_OF for word in words(statement)[:1])


def names_relation(question: str) -> bool:
    """Return whether a question names a relative, a friend, a colleague: it is not about the speaker alone."""
    return not _RELATION_OF.keys().isdisjoint(words(question))


def relation(word: str) -> str:
    """Return the key in the table `kin` of a folded word: "soeur" → `sister`, "coworker" → `colleague`; "" without one."""
    return _RELATION_OF.get(word, "")
