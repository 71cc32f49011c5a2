"""Tell who does what to whom in two statements with the same verb: "Tom owes me 20" is not "I owe Tom 20".

The participants are the speaker, names and relatives. They are compared in order; one behind the same preposition in both
("in Paris") may stand anywhere, and so may one behind "with" or "by".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from hippocampe.language.adverbials import is_time
from hippocampe.language.kin import are_inverse
from hippocampe.language.lexicon import words_of
from hippocampe.language.statement import Statement
from hippocampe.language.tokens import Token
from hippocampe.language.word_classes import word_classes

_ACTING: Final = words_of("speaker_acts")
_OBJECT: Final = words_of("speaker_undergoes")
_BESIDE: Final = words_of("beside")
_UNION: Final = words_of("union")
_DETERMINERS: Final = frozenset({"definite", "indefinite", "own", "others_own"})
_DEFINITE: Final = frozenset({"definite", "own", "others_own"})
_NOUN_BEFORE: Final = _DETERMINERS | {"of", "at"}
_AUXILIARIES: Final = words_of("grammar.auxiliary")
"""Of all languages: the language of a short text is a guess."""
_HAVE_UNACCENTED: Final = words_of("have_unaccented")
_OF: Final = "of"
_REACH: Final = 8
"""Words within which the verb of a pronoun is."""
_LONGEST_TIME: Final = 8
"""Words of a time: "on the first Monday of next month"."""
_SHORT: Final = 3
"""Letters that the forms of an auxiliary share: "dois", "doit"."""


def roles_swapped(new: Statement, old: Statement) -> bool:
    """Return whether two statements with a common verb give a common participant another role."""
    if speaker_swapped(new, old):
        return True
    ours, theirs = _participants(new), _participants(old)
    common = [name for name in ours if name in theirs]
    if _is_belonging(new) and _is_belonging(old):
        moving = {name for name in common if {ours[name].link, theirs[name].link} == {"", _OF}}
        if are_inverse(_kin(ours), _kin(theirs)):
            return False
    elif _verb_after_first(new, ours) & _verb_after_first(old, theirs):
        moving = {
            name for name in common if not ours[name].link or ours[name].link != theirs[name].link
        }
    else:
        return False
    return [name for name in ours if name in moving] != [name for name in theirs if name in moving]


def has_role(statement: Statement) -> bool:
    """Return whether the speaker does something in a text, or something is done to the speaker."""
    return any(_verbs_of_speaker(statement))


def speaker_swapped(one: Statement, other: Statement) -> bool:
    """Return whether the speaker does in one text what is done to the speaker in the other: "who lent me it?", "I lent it".

    Not if both are about the speaker: "I get the 8.15", "I'm on the 7.40, it gets me in for 9".
    """
    if one.subject == other.subject == "speaker":
        return False
    acts, undergoes = _verbs_of_speaker(one)
    acted, underwent = _verbs_of_speaker(other)
    swapped = acts & underwent | undergoes & acted
    return bool(swapped - (acts & acted) - (undergoes & underwent))


def only_order_differs(new: Statement, old: Statement) -> bool:
    """Return whether two statements have the same words, but for the place of one time or the order of two that "and" joins
    or "is" equates.

    As in "on Monday" at the end or at the beginning; "Tom and Ann", "Ann and Tom"; "Tom is Ann's son", "Ann's son is Tom".
    """
    if new.counts != old.counts:
        return False
    ours, theirs = list(new.norms), list(old.norms)
    moved = _only_time_moved(ours, theirs) or _only_joined_moved(ours, theirs)
    return moved or _only_sides_moved(new, old)


def _only_sides_moved(new: Statement, old: Statement) -> bool:
    """Return whether the sides of "is", both of them definite, changed places."""
    if not (_is_belonging(new) and _is_belonging(old)) or new.negations or new.question:
        return False
    (left, right), (old_left, old_right) = (
        (each.tokens[: each.verb], each.tokens[each.verb + 1 :]) for each in (new, old)
    )
    same = [_norms(left), _norms(right)] == [_norms(old_right), _norms(old_left)]
    return same and all(map(_is_definite, (left, right)))


def _norms(tokens: Sequence[Token]) -> list[str]:
    return [token.norm for token in tokens]


def _is_definite(side: Sequence[Token]) -> bool:
    """Return whether words begin with a name, or with an article or a possessive that makes them definite."""
    first = side[:1]
    return any(token.name or token.roles & _DEFINITE for token in first)


def _only_time_moved(ours: list[str], theirs: list[str]) -> bool:
    for _ in range(2):  # Without the words that both begin with, and those that both end with.
        same = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=True))
        )
        ours, theirs = ours[same:][::-1], theirs[same:][::-1]
    ends = [*range(_LONGEST_TIME), *range(len(ours) - _LONGEST_TIME, len(ours))]
    return any(
        (_is_when(ours[:at]) or _is_when(ours[at:])) and ours[at:] + ours[:at] == theirs
        for at in ends
        if 0 < at < len(ours)
    )


def _is_when(words: Sequence[str]) -> bool:
    """Return whether words are a time, or say how often: "every summer"."""
    often = word_classes().match("often", words, 0)
    return is_time(words) or 0 < often == len(words) - 1


def _only_joined_moved(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether the groups on both sides of an "and", of as many words each, changed places."""
    return any(
        [*ours[: at - size], *ours[at + 1 : end], ours[at], *ours[at - size : at], *ours[end:]]
        == theirs
        for at, word in enumerate(ours)
        if word in _UNION
        for size in range(1, min(at, len(ours) - at - 1) + 1)
        for end in (at + 1 + size,)
    )


def _is_belonging(statement: Statement) -> bool:
    """Return whether the verb is "be": "Tom is Ann's son"."""
    at = statement.verb
    return any("be" in token.roles for token in statement.tokens[at : at + 1])


def _verb_after_first(statement: Statement, named: Mapping[str, _Participant]) -> set[str]:
    first = min((each.at for each in named.values()), default=len(statement.tokens))
    return _verb_in(statement.tokens[first + 1 :])


def _kin(named: Mapping[str, _Participant]) -> str:
    """The relative that a statement tells somebody to be."""
    return next((each.kin for each in named.values() if each.kin), "")


def _precedes_noun(token: Token) -> bool:
    """Return whether a word is an article, a possessive or a preposition; the French "a" may be a verb."""
    return bool(token.roles & _NOUN_BEFORE) and "have" not in token.roles


def _verbs_of_speaker(statement: Statement) -> tuple[set[str], set[str]]:
    """The verbs of what the speaker does, and of what is done to the speaker; not those of "lives with me"."""
    tokens = statement.tokens
    acts, undergoes = set[str](), set[str]()
    before = ""
    for at, token in enumerate(tokens):
        if token.norm in _ACTING:
            acts |= _verb_in(tokens[at + 1 : at + _REACH])
        elif token.norm in _OBJECT and before not in _BESIDE | _UNION:
            # The verb comes before an English object, and after a French one.
            undergoes |= _verb_in(tokens[at + 1 : at + _REACH])
            undergoes |= _verb_in(tokens[max(0, at - _REACH) : at][::-1])
        before = token.norm
    return acts, undergoes - acts


def _verb_in(tokens: Sequence[Token]) -> set[str]:
    """The first verb of some words, and the auxiliaries next to it: "dois" in "je dois 20 euros"."""
    found = set[str]()
    is_noun = False
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.name or token.kin or token.norm in _ACTING:
            break
        if not token.roles and token.norm not in _AUXILIARIES:
            return found if is_noun else found | {token.stem}
        if token.norm in _AUXILIARIES - _HAVE_UNACCENTED and not token.roles & {"be", "have"}:
            found.add(token.norm[:_SHORT])
        # Right behind a pronoun, "a" is a verb: "m'a quitté".
        is_noun = _precedes_noun(token) and (at > 0 or token.norm not in _HAVE_UNACCENTED)
    return found


class _Participant(NamedTuple):
    """A name or a relative, with its preposition, its place and its kinship."""

    name: str
    link: str
    at: int
    kin: str


def _is_preposition(token: Token | None) -> bool:
    return token is not None and not token.roles.isdisjoint(("of", "at"))


def _link(before: Token | None, after: Sequence[Token]) -> str:
    """The preposition of a participant; `_OF` for an owner too: "Tom's"."""
    if (before is not None and "of" in before.roles) or any(each.norm == "'s" for each in after):
        return _OF
    return before.norm if before is not None and _is_preposition(before) else ""


def _participants(statement: Statement) -> dict[str, _Participant]:
    """The names and relatives of a statement, in order; those of an enumeration in the order of the alphabet."""
    tokens, content = statement.tokens, set(statement.content)
    found: list[_Participant] = []
    together, last = 0, -2
    start = 0
    for at, token in enumerate(tokens):
        if at and not tokens[at - 1].roles & _DETERMINERS:
            start = at
        before = tokens[start - 1] if start else None
        unmarked = statement.lowercase and start == at in content
        named = token.name or (unmarked and (at < statement.verb or _is_preposition(before)))
        if not (token.kin or named):
            continue
        joined = before is not None and before.norm in _UNION and last == start - 2
        together = together + 1 if joined else 1
        link = found[-1].link if joined else _link(before, tokens[at + 1 : at + 2])
        found.append(_Participant(token.kin or token.norm, link, at, token.kin))
        found[-together:] = sorted(found[-together:])
        last = at
    first = dict[str, _Participant]()
    for each in found:
        first.setdefault(each.name, each)
    return {name: each for name, each in first.items() if each.link not in _BESIDE}
