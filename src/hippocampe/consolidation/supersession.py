"""How a relation stated now stands to the same relation stated before. Pure.

A single-valued relation holds the newest value, but not every other value is a newer one: who
lives in Toulouse also lives in France, a second job joins the first, and a bare year tells of long
ago as often as it brings news.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from hippocampe.consolidation.relations import Relation, date_of
from hippocampe.language.lexicon import words as words_of
from hippocampe.language.sentence import is_time, lexicon

Outcome = Literal["negated", "known", "detailed", "replaced", "perhaps"]

_AFTER_NAME: Final = words_of("after_name")
_ALTERNATIVE: Final = words_of("alternative")
_IN_YEAR: Final = re.compile(
    rf"(?:{'|'.join(sorted(words_of('stated.in_year', file='time')))}) \d{{4}}"
)


def compared(now: Relation, then: Relation) -> Outcome | None:
    """What `now` is to `then`, of the same name and subject; None when that cannot be told."""
    if not _same_slot(now, then):
        return None
    values = _values(now, then)
    if values == "same" and now.negated != then.negated:
        return "negated"
    if now.negated or then.negated:
        return None
    if values == "same":
        return _same_value(now, then)
    if values == "other":
        return "replaced" if _replaces(now, then) else "perhaps"
    if values == "more":
        return "detailed"
    return None if now.rest else "known"


def _same_slot(now: Relation, then: Relation) -> bool:
    if now.name != "choice":
        return now.slot == then.slot
    ours, theirs = set(now.slot.split()), set(then.slot.split())
    if not ours:
        return not theirs or now.leaving == then.value or lexicon().holds("instead", now.rest)
    return bool(theirs) and (ours <= theirs or theirs <= ours)


def _values(now: Relation, then: Relation) -> str:
    """How the new value stands to the old one: same, more or less detailed, or other."""
    ours, theirs = now.value.split(), then.value.split()
    if ours == theirs:
        return "same"
    if now.kind == "date" and then.kind == "date":
        return _dates(date_of(ours), date_of(theirs))
    if now.kind in ("name", "place") and ours[: len(theirs)] == theirs:
        return "more"
    if now.kind in ("name", "place") and theirs[: len(ours)] == ours:
        return "less"
    return "other"


def _dates(ours: tuple[int | None, ...] | None, theirs: tuple[int | None, ...] | None) -> str:
    if ours is None or theirs is None or ours == theirs:
        return "same" if ours == theirs else "other"
    pairs = list(zip(ours, theirs, strict=True))
    if any(a is not None and b is not None and a != b for a, b in pairs):
        return "other"
    if all(a is not None for a, b in pairs if b is not None):
        return "more"
    return "less" if all(b is not None for a, b in pairs if a is not None) else "other"


def _same_value(now: Relation, then: Relation) -> Outcome | None:
    if now.name == "attitude":  # "aime" and "adore" are not quite the same
        return None
    if now.rest == then.rest or not now.rest:
        return "known"
    return "detailed" if not then.rest and _is_harmless(now.rest) else None


def _replaces(now: Relation, then: Relation) -> bool:
    """Whether the new value takes the place of the old one, and does not merely join it."""
    lex = lexicon()
    if not (_is_harmless(now.rest) and _is_harmless(then.rest)):
        return False
    if now.leaving and now.leaving != then.value:
        return False
    # "joined Mary for dinner" is no new employer.
    named = now.kind == "name" and "event" in (now.mode, then.mode)
    if named and not all(_follows_name(relation.rest) for relation in (now, then)):
        return False
    if now.mode == "event":
        return not _IN_YEAR.fullmatch(" ".join(now.rest))
    if now.kind == "place":
        # Who lives in Toulouse also lives in France.
        wider = lex.has("countries", *now.value.split())
        return not wider or lex.has("countries", *then.value.split())
    return True


def _follows_name(rest: Sequence[str]) -> bool:
    return not rest or rest[0] in _AFTER_NAME or is_time(rest) or lexicon().holds("instead", rest)


def _is_harmless(rest: Sequence[str]) -> bool:
    lex = lexicon()
    replaced = lex.holds("instead", rest)
    if not _ALTERNATIVE.isdisjoint(rest):  # "Metz ou Dijon"
        return False
    return not lex.holds("also", rest) and (replaced or not lex.holds("not_detail", rest))
