"""Tell what happened once from what holds: a dose that was taken, a piano that was sold, an office left at six.

Such an event resembles the end of a habit, an activity or a home, and ends none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from hippocampe.language.negation import are_contraries
from hippocampe.language.statement import CHANGE, Statement
from hippocampe.language.tense import is_past
from hippocampe.language.tokens import Token
from hippocampe.language.topics import topic, topics_of
from hippocampe.language.word_classes import word_classes
from hippocampe.updates.alignment import Alignment
from hippocampe.updates.plans import is_each_week


def occasion(aligned: Alignment) -> str | None:
    """Return why the new statement may tell of one occasion, after which the old one still holds; None if it does not."""
    old, new = aligned.old, aligned.new
    classes = word_classes()
    active = not old.negations and classes.occurs("activities", old.norms)
    if active and classes.occurs("parted", new.norms):
        return "a thing is no activity"
    if classes.occurs("visits", new.norms) and not classes.occurs("visits", old.norms):
        return "a visit"
    if is_off_once(new, old):
        return "off this time"
    return "left for the day" if is_left_for_the_day(new, old) else None


def is_only_done_again(aligned: Alignment) -> bool:
    """Return whether the new statement tells nothing but that a habit was kept: "I took my pills this morning"."""
    old, new = aligned.old, aligned.new
    if CHANGE & new.signs or new.negations or not is_past(new) or is_past(old):
        return False
    times = word_classes().times
    added = [new.tokens[at] for at in aligned.open_new]
    added = [each for each in added if each.kind == "word" and each.norm not in times]
    takes = word_classes().occurs("takes", old.norms)
    recurs = _recurs(old) or (takes and not times.isdisjoint(new.norms))
    return len(added) <= 1 and recurs and not _recurs(new)


def is_of_another_meal(aligned: Alignment) -> bool:
    """Return whether each statement is of another meal, or part of the day, with another amount: "2 pills at lunch", "3 at dinner"."""
    ours, theirs = _meals(aligned.new), _meals(aligned.old)
    if not (ours and theirs and ours.isdisjoint(theirs)):
        return False
    sides = (aligned.new, aligned.open_new), (aligned.old, aligned.open_old)
    return all(any(each.tokens[at].kind in _VALUES for at in opened) for each, opened in sides)


def _meals(statement: Statement) -> set[str]:
    norms = [token.norm for token in statement.tokens]
    return {" ".join(norms[at:end]) for at, end in word_classes().spans("meals", norms)}


def is_left_for_the_day(new: Statement, old: Statement) -> bool:
    """Return whether somebody only went away: "I left Google at 6 pm" ends no job."""
    left = word_classes().occurs("departing", new.norms)
    return left and _has_time(new.tokens) and not _has_time(old.tokens)


def is_off_once(new: Statement, old: Statement) -> bool:
    """Return whether what is done, or is so, every week is not this week: "I'm not working Saturday", "judo is off on Thursday"."""
    once = {
        each.stem
        for at, each in enumerate(new.tokens)
        if each.kind == "weekday" and not is_each_week(new.tokens, at)
    }
    if not once or "no_longer" in new.signs:
        return False
    weekly = {each.stem for at, each in enumerate(old.tokens) if is_each_week(old.tokens, at)}
    denied = not _DENIED.isdisjoint(new.signs)
    return not weekly.isdisjoint(once) and (denied or _is_contrary(new, old))


def _is_contrary(new: Statement, old: Statement) -> bool:
    """Return whether each tells a state that is the contrary of the other's: "is on", "is off"."""
    ours, theirs = (
        [after for token, after in pairwise(each.tokens) if "be" in token.roles]
        for each in (new, old)
    )
    return any(are_contraries(one, other) for one in ours for other in theirs)


def _has_time(tokens: Sequence[Token]) -> bool:
    return any(token.kind == "time" for token in tokens)


def _recurs(statement: Statement) -> bool:
    """Return whether a statement tells what is done again and again; a treatment is, whatever it says."""
    classes, tokens = word_classes(), statement.tokens
    if classes.occurs("often", statement.norms):
        return True
    for at, after in enumerate((*tokens[1:], None)):
        # "Le lundi 4 mai" is one day.
        if is_each_week(tokens, at) and not (after and after.kind in _DAYS):
            return True
    takes = classes.occurs("takes", statement.norms)
    return takes and any(topics_of(norm) & topic("medication") for norm in statement.norms)


_DENIED: Final = frozenset({"negation", "ended"})
_VALUES: Final = {"number", "money", "time"}
_DAYS: Final = {"date", "number", "rank"}
