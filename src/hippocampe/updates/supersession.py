"""Decide whether a newly stated value of a relation replaces the old one.

A single-valued relation keeps its newest value, but a different value is not always newer: someone
who lives in Toulouse also lives in France, a second job adds to the first, and a bare year may refer to
the past.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from hippocampe.language.adverbials import is_time
from hippocampe.language.lexicon import words_of
from hippocampe.language.relation_values import date_of
from hippocampe.language.relations import ROUGH, Relation
from hippocampe.language.word_classes import word_classes

ValueChange = Literal["negated", "known", "detailed", "replaced", "perhaps"]
"""The change of a relation: its new value compared with the old one."""
ValueComparison = Literal["same", "more", "less", "other"]
"""The detail of the new value compared with the old one; `other` if they differ."""

_AFTER_NAME: Final = words_of("after_name")
_ALTERNATIVE: Final = words_of("alternative")
_UNION: Final = words_of("union")
_IN_YEAR: Final = re.compile(
    rf"(?:{'|'.join(sorted(words_of('stated.in_year', file='time')))}) \d{{4}}"
)


def value_change(now: Relation, then: Relation) -> ValueChange | None:
    """Compare a relation with its older statement.

    Args:
        now: The new relation.
        then: The old relation, with the same name and subject.

    Returns:
        What changed, or None when it cannot be decided.
    """
    change = _change(now, then)
    if change in ("known", "detailed", "replaced") and not (now.sure and then.sure):
        return "perhaps"
    return "detailed" if change == "known" and now.preceded else change


def _change(now: Relation, then: Relation) -> ValueChange | None:
    if not _same_slot(now, then):
        return None
    values = _compare_values(now, then)
    if values == "same" and now.negated != then.negated:
        always = _holds_always(now.rest) and not _holds_elsewhen(now, then)
        return "negated" if always else "perhaps"
    if now.negated or then.negated:
        return None
    if values == "same":
        return _same_value(now, then)
    if values == "other" and now.beside and not (now.slot or _is_instead(now, then)):
        return None
    if values == "other":
        replaces = _replaces(now, then) and not _holds_elsewhen(now, then)
        return "replaced" if replaces else "perhaps"
    if values == "more":
        return "detailed"
    return None if now.rest else "known"


def _same_slot(now: Relation, then: Relation) -> bool:
    if now.name != "choice":
        return now.slot == then.slot
    ours, theirs = set(now.slot.split()), set(then.slot.split())
    if not ours:
        return not theirs or _is_instead(now, then)
    # "For payments in Germany" is a part of "for payments", and so is what "moved the old payments" to another tool.
    part = now.aspect == "event" or word_classes().occurs("adjunct", list(ours - theirs))
    return bool(theirs) and (ours <= theirs or (theirs <= ours and not part))


def _is_instead(now: Relation, then: Relation) -> bool:
    return now.leaving == then.value or word_classes().occurs("instead", now.rest)


def _compare_values(now: Relation, then: Relation) -> ValueComparison:
    ours, theirs = now.value.split(), then.value.split()
    if ours == theirs:
        return "same"
    if now.kind == "date" and then.kind == "date":
        return _compare_dates(date_of(ours), date_of(theirs))
    if now.kind in ("name", "place") and ours[: len(theirs)] == theirs:
        return "more"
    if now.kind in ("name", "place") and theirs[: len(ours)] == ours:
        return "less"
    return "other"


def _compare_dates(
    ours: tuple[int | None, ...] | None, theirs: tuple[int | None, ...] | None
) -> ValueComparison:
    if ours is None or theirs is None or ours == theirs:
        return "same" if ours == theirs else "other"
    pairs = list(zip(ours, theirs, strict=True))
    if any(a is not None and b is not None and a != b for a, b in pairs):
        return "other"
    if all(a is not None for a, b in pairs if b is not None):
        return "more"
    return "less" if all(b is not None for a, b in pairs if a is not None) else "other"


def _same_value(now: Relation, then: Relation) -> ValueChange | None:
    if now.name in ROUGH:  # "aime" and "adore" differ
        return None
    if now.rest == then.rest or not now.rest:
        return "known"
    if now.kind == "choice" and (_holds_elsewhen(now, then) or not _holds_always(now.rest)):
        return None  # "végétarien à la maison": less than "végétarien"
    return "detailed" if not then.rest and _is_harmless(now.rest) else None


def _holds_always(rest: Sequence[str]) -> bool:
    """Return whether what follows sets no condition: "ne fume plus depuis mai", not "… à la maison"."""
    if not rest or is_time(rest) or word_classes().occurs("instead", rest):
        return True
    return bool(word_classes().match("cause", rest, 0))


def _holds_elsewhen(now: Relation, then: Relation) -> bool:
    """Return whether the new state holds only at some times, and not at those of the old one: "on Mondays"."""
    times = _times_of(now)
    return bool(times) and times != _times_of(then)


def _times_of(relation: Relation) -> frozenset[str]:
    """The weekdays and parts of the day at which a state holds, if it does not hold always, as since one of them."""
    classes, rest = word_classes(), relation.rest
    if relation.aspect == "event" or not classes.may_occur("recurring", rest):
        return frozenset()
    if classes.match("beginning", rest, 0) or classes.occurs("instead", rest):
        return frozenset()
    found = [(at, classes.match("recurring", rest, at)) for at in range(len(rest))]
    return frozenset(" ".join(rest[at : at + long]).removesuffix("s") for at, long in found if long)


def _replaces(now: Relation, then: Relation) -> bool:
    """Return whether the new value replaces the old one, instead of adding to it."""
    classes = word_classes()
    if not (_is_harmless(now.rest) and _is_harmless(then.rest)):
        return False
    if now.leaving and now.leaving != then.value:
        return False
    # "joined Mary for dinner" does not state a new employer.
    named = now.kind == "name" and "event" in (now.aspect, then.aspect)
    if named and not all(_follows_name(relation.rest) for relation in (now, then)):
        return False
    # "In 1841 he lives in Brest": then.
    if _is_of_a_year(now) or (_is_of_a_year(then) and then.aspect == "state"):
        return False
    if now.aspect == "event":
        return True
    if now.kind == "number" and not _UNION.isdisjoint(then.rest) and _UNION.isdisjoint(now.rest):
        return False  # "3 enfants et un chien", "4 enfants": a part
    # "j'habite au troisième étage", "je travaille à mi-temps": how, not where.
    if (now.kind == "place" or now.name == "employer") and any(
        classes.occurs("not_a_place", each.value.split()) for each in (now, then)
    ):
        return False
    if now.kind == "place":
        # Someone who lives in Toulouse also lives in France.
        wider = classes.has("countries", *now.value.split())
        return not wider or classes.has("countries", *then.value.split())
    return True


def _is_of_a_year(relation: Relation) -> bool:
    return _IN_YEAR.fullmatch(" ".join(relation.rest)) is not None


def _follows_name(rest: Sequence[str]) -> bool:
    return (
        not rest
        or rest[0] in _AFTER_NAME
        or is_time(rest)
        or word_classes().occurs("instead", rest)
    )


def _is_harmless(rest: Sequence[str]) -> bool:
    classes = word_classes()
    replaced = classes.occurs("instead", rest)
    if not _ALTERNATIVE.isdisjoint(rest):  # "Metz ou Dijon"
        return False
    # "Depuis l'été" tells no part of the year.
    begins = bool(rest) and bool(classes.match("beginning", rest, 0))
    adds = classes.occurs("also", rest) and not begins
    return not adds and (replaced or not classes.occurs("not_detail", rest))
