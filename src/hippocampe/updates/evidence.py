"""The evidence of the learnt decision: an alignment as a few named numbers.

Chosen by `benchmarks/learn_decide.py` because they tell more than the reader alone: how much is repeated, in what
order, and whether the subjects differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from hippocampe.language.statement import CHANGE, Statement
from hippocampe.language.tokens import Token
from hippocampe.language.word_classes import word_classes
from hippocampe.updates.alignment import HIT, Alignment

Evidence = dict[str, float]
DENIED: Final = frozenset({"negation", "no_longer", "ended"})
_LONG, _SHORT = 14, 6
_MOST: Final = 16


def evidence_of(aligned: Alignment, cosine: float) -> Evidence:
    """The evidence on the relation of the new statement to the old one, by name.

    Args:
        aligned: The two statements, aligned.
        cosine: The cosine of the two statements.
    """
    old, new = aligned.old, aligned.new
    ours, theirs = ([token.stem for token in each.tokens] for each in (old, new))
    words, others = (Counter(r.tokens[at].stem for at in r.content) for r in (old, new))
    subject, other_subject = _names_before_verb(old), _names_before_verb(new)
    swapped = substituted(old.tokens, new.tokens)
    common = all(token.kind == "word" and not token.name for token in swapped)
    denied = all("negation" in token.roles for token in swapped)
    of_subject = _is_in_subject(old, swapped) and _is_in_subject(new, swapped)
    before_verb = sum(at < old.verb for at in old.content)
    return {
        "cosine": cosine,
        "covered": max(_mean(aligned.best_old), _mean(aligned.best_new)),
        "jaccard": (words & others).total() / max((words | others).total(), 1),
        "in_order": common_subsequence(ours, theirs) / max(len(theirs), 1),
        "one_substituted": float(bool(swapped)),
        "one_word": float(bool(swapped) and (common or of_subject) and not denied),
        "long": float(min(len(ours), len(theirs)) > _LONG),
        "short": float(min(len(ours), len(theirs)) <= _SHORT),
        "length": min(len(old.content), _MOST),
        "longer": math.log((len(new.content) + 1) / (len(old.content) + 1)),
        "same_subject": float(old.subject == new.subject),
        "other_name": float(bool(subject and other_subject) and not subject & other_subject),
        "open_end": sum(each < HIT for each in aligned.best_old[before_verb:]),
        "names_moved": float(_are_moved(old, new)),
        "other_polarity": float(bool(DENIED & old.signs) != bool(DENIED & new.signs)),
        "hedged": float(new.hedged and not old.hedged),
        "no_longer_hedged": float(old.hedged and not new.hedged),
        "change": float(bool(CHANGE & new.signs)),
        "other_value": float(_has_other_value(old, new)),
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def common_subsequence(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """The length of the longest common subsequence, a row of the table as the bits of one number (Hyyrö, 2004)."""
    places: dict[str, int] = {}
    for at, one in enumerate(ours):
        places[one] = places.get(one, 0) | 1 << at
    every = (1 << len(ours)) - 1
    row = every
    for other in theirs:
        matched = row & places.get(other, 0)
        row = (row + matched | row - matched) & every
    return len(ours) - row.bit_count()


def substituted(ours: Sequence[Token], theirs: Sequence[Token]) -> tuple[Token, ...]:
    """The only word or value in which two statements differ, in both of them; empty if they differ in more."""
    if len(ours) != len(theirs):
        return ()
    differ = [each for each in zip(ours, theirs, strict=True) if each[0].stem != each[1].stem]
    return differ[0] if len(differ) == 1 and not _mean_the_same(*differ[0]) else ()


def _mean_the_same(one: Token, other: Token) -> bool:
    """Return whether two words name one relative, "mum" and "mother", or both say that somebody has something."""
    return bool(one.kin and one.kin == other.kin) or (_is_owning(one) and _is_owning(other))


def _is_owning(token: Token) -> bool:
    # "À" is folded to the verb "a".
    verbal = "have" in token.roles or not token.roles
    return verbal and word_classes().has("owning", token.norm)


def _is_in_subject(statement: Statement, tokens: Sequence[Token]) -> bool:
    """Return whether one of some words or values precedes the verb: "number 12 is taken"."""
    verb = statement.tokens[statement.verb : statement.verb + 1]
    known = any("auxiliary" in token.roles or token.stem in statement.verbs for token in verb)
    return known and any(token in tokens for token in statement.tokens[: statement.verb])


def _names_before_verb(reading: Statement) -> set[str]:
    return {token.norm for token in reading.tokens[: max(reading.verb, 1)] if token.name}


def _are_moved(old: Statement, new: Statement) -> bool:
    """Return whether the names, or the values of one kind, of both come in another order.

    A place may stand anywhere: "in Lyon, Ann missed her train", "Ann missed her train in Lyon".
    """
    ours, theirs = _placed(old), _placed(new)
    shared = {
        value: (kind, in_place and (kind, in_place) == ours[value])
        for value, (kind, in_place) in theirs.items()
        if value in ours
    }
    group = shared.__getitem__
    # Sorting keeps the order within a group.
    return sorted((each for each in ours if each in shared), key=group) != sorted(shared, key=group)


def _placed(statement: Statement) -> dict[str, tuple[str, bool]]:
    """The names and values by stem, in order: the kind of each, and whether it is in a place: "at the Blue Note"."""
    placed: dict[str, tuple[str, bool]] = {}
    in_place = False
    for token, link in zip(statement.tokens, statement.links, strict=True):
        in_place = link == "at" or (
            in_place and not token.roles and token.stem not in statement.verbs
        )
        if token.kind != "word" or token.name:
            placed[token.stem] = token.kind, in_place
    return placed


def _has_other_value(old: Statement, new: Statement) -> bool:
    """Return whether each has a value of some kind that the other lacks."""
    ours, theirs = (
        {t.stem: t.kind for t in each.tokens if t.kind != "word"} for each in (old, new)
    )
    gone = {kind for stem, kind in ours.items() if stem not in theirs}
    return any(kind in gone for stem, kind in theirs.items() if stem not in ours)
