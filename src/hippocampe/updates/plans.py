"""Tell a plan that moved, or may have moved, from habits on several days.

"We marry in May" and "we marry in June" are one plan, "I swim on Mondays" and "I swim on Fridays" may both hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Final

from hippocampe.language.calendar import WEEKDAYS
from hippocampe.language.ends import is_hour
from hippocampe.language.grammar import grammar
from hippocampe.language.lexicon import load_all, words_of
from hippocampe.language.statement import Statement
from hippocampe.language.temporal.grammar import HABIT, HABITS
from hippocampe.language.tense import Tense, is_past, tense_of
from hippocampe.language.text import fold
from hippocampe.language.tokens import Token
from hippocampe.language.word_classes import word_classes
from hippocampe.updates.alignment import Alignment

_CHANGED: Final = frozenset({"became", "correction", "now"})
_ENDS: Final = frozenset({"ended", "no_longer"})
_DATES: Final = {"date", "month", "year"}
_TIMES: Final = _DATES | {"time", "weekday"}
_PAST_FORMS: Final = words_of("past_forms")
_BEEN: Final = words_of("been")
_LAST_DAY: Final = 31  # of a month
_HALF_YEAR: Final = 182  # days
_NUMBERS: Final = {"number", "money", "rank"}
_DATED: Final = 0.5
"""Share of the threshold for a review from which two statements that differ in a month, or in an amount in one unit, alone are
listed. In a day alone, they are listed always: a habit has no date, so this may be an appointment that moved."""
_Place = tuple[Statement, int]
"""A statement and the position of one of its tokens."""
_SAID: Final = 0.6
"""Share of the threshold for a merge that applies if the new statement says that a value changed."""
_SAID_OF_PLACES: Final = 0.8
"""The same for another place, which may be one of several."""
_LOCATED: Final = words_of("located")
NEW: Final = frozenset(map(fold, load_all("relations")["macros"]["NEW"]))
"""Words that say that something is new, folded."""
_FAR_APART: Final = 6 * 60
"""Minutes between two times of one day that tell of two occasions, "a pill at 8" and "a pill at 20": few plans move so far."""


def share_to_review(aligned: Alignment, told: date) -> float:
    """Return the share of the threshold for a review that applies to two statements: 0 lists them always.

    Args:
        aligned: The two statements, aligned.
        told: The day on which the new one was told.
    """
    if _is_instead(aligned) or _is_fulfilled(aligned):
        return 0
    if tense_of(aligned.new) is Tense.PAST or aligned.old.subject != aligned.new.subject:
        return 1
    before, after = differing(aligned)
    one = len(before) == len(after) == 1
    if one and _says_changed(aligned) and all(at > each.verb for each, at in (*before, *after)):
        return 0
    before = [(aligned.old, at) for at in aligned.open_old]
    reason = _start_of_reason(aligned.new)
    told_before = [at for at in aligned.open_new if at < reason]
    after = [(aligned.new, at) for at in told_before or aligned.open_new]
    if len(before) == len(after) == 1 and _measures(*before[0]) == _measures(*after[0]) != "":
        return _DATED
    if not (before and after and all(_is_dated(*each) for each in (*before, *after))):
        return 1
    old, new = ([each.tokens[at] for each, at in side] for side in (before, after))
    return _share_of_dates(old, new, told)


def _start_of_reason(statement: Statement) -> int:
    """The position from which a statement says why, or since when: "on 19 May because of the frost"; its length if nowhere."""
    classes, norms = word_classes(), [token.norm for token in statement.tokens]
    if not classes.may_occur("cause", norms):
        return len(norms)
    starts = (at for at in range(len(norms)) if classes.match("cause", norms, at))
    return next((at for at in starts if at > statement.verb), len(norms))


def _is_instead(aligned: Alignment) -> bool:
    """Return whether the new statement tells something else in the place of what it does not name: "booked Acme instead"."""
    old, new = aligned.old, aligned.new
    replaces = [word_classes().occurs("instead", each.norms) for each in (new, old)]
    if replaces != [True, False] or new.hedged:
        return False
    return bool(old.stems & new.content_stems) and bool(aligned.open_old)


def _is_fulfilled(aligned: Alignment) -> bool:
    """Return whether the new statement tells that the wish or plan of the old one came true: "I want to run a marathon", "I ran one"."""
    old, new, classes = aligned.old, aligned.new, word_classes()
    wished = classes.occurs("owed", old.norms) and not (old.negations or new.negations)
    if not wished or new.hedged or not is_past(new) or old.subject != new.subject:
        return False
    lost = [
        old.tokens[at] for at in aligned.open_old if not classes.has("hedges", old.tokens[at].norm)
    ]
    irregular = any(token.norm in _PAST_FORMS for token in new.tokens)
    done = not lost or (len(lost) == 1 and lost[0].stem in old.verbs and irregular)
    return done and len(aligned.open_old) < len(old.content)


def _share_of_dates(old: Sequence[Token], new: Sequence[Token], told: date) -> float:
    """Return the share that applies to statements that differ in these dates alone."""
    years = [int(token.value) for token in (*old, *new) if token.kind == "year"]
    if years:
        return 0 if min(years) >= told.year else 1
    if any(_is_over(token, told) for token in old):
        return 1
    return _DATED if any(token.kind == "month" for token in (*old, *new)) else 0


def differing(aligned: Alignment) -> tuple[list[_Place], list[_Place]]:
    """Return the places in which two statements differ, but for the words of the new one that say that it changed."""
    new, known = aligned.new, grammar(aligned.new.language)
    norms = [token.norm for token in new.tokens]

    def says_so(at: int) -> bool:
        starts = range(max(at - 2, 0), at + 1)
        if any(start + word_classes().match("neutral", norms, start) > at for start in starts):
            return True  # "These days"
        token, stems = new.tokens[at], [each.stem for each in new.tokens[at : at + 2]]
        said = known.signs(norms[at : at + 1], stems[:1])
        after = known.signs(norms[at + 1 : at + 2], stems[1:])
        said |= known.signs(norms[at : at + 2], stems) - after  # "gone up"
        changed = not said.isdisjoint(_CHANGED)
        return changed or (token.norm in _BEEN and at > 0 and "have" in new.tokens[at - 1].roles)

    gone = [(aligned.old, at) for at in aligned.open_old]
    return gone, [(new, at) for at in aligned.open_new if not says_so(at)]


def _says_changed(aligned: Alignment) -> bool:
    old, new = aligned.old, aligned.new
    # "Back from Lisbon" is another way than "to Lisbon".
    alike = _prepositions(old) <= _prepositions(new)
    return alike and not _CHANGED.isdisjoint(new.signs - old.signs)


def _is_dated(statement: Statement, at: int) -> bool:
    """Return whether a token is a date, a day of the month, "on the 5th", or a day on which something is, "due on Friday"."""
    tokens = statement.tokens
    token, before, after = tokens[at], tokens[max(0, at - 1)], tokens[at + 1 : at + 2]
    if token.kind in ("number", "rank"):
        is_day = not token.unit and token.value.isdigit() and int(token.value) <= _LAST_DAY
        return is_day and "definite" in before.roles and not any(map(_goes_on, after))
    if token.kind == "weekday":
        verb = tokens[statement.verb : statement.verb + 1]
        return any(each.roles & {"be", "have"} for each in verb) and not _recurs(statement, at)
    return token.kind in _DATES


def _measures(statement: Statement, at: int) -> str:
    """Return the unit of an amount behind the verb: "" for another word."""
    token = statement.tokens[at]
    return token.unit if token.kind in ("number", "money") and at > statement.verb else ""


def _goes_on(token: Token) -> bool:
    """Return whether a token may be what is counted by the one before it: "the 5th floor"."""
    return token.kind == "word" and not token.roles


def _is_over(token: Token, told: date) -> bool:
    """Return whether a date is over, and not of the year to come: what is then told of another one is another occasion."""
    if token.kind != "date":
        return False
    day, month = map(int, token.value.split("/"))
    since = 31 * (told.month - month) + told.day - day
    return 0 < since % 372 < _HALF_YEAR


def share_to_merge(aligned: Alignment) -> float:
    """Return the share of the threshold for a merge that applies to two statements: less if the new one says it changed.

    It then adds nothing but words that say so and other values of what is said of the subject, and may repeat less of it: "on
    Saturday instead".
    """
    lost, came = differing(aligned)
    gone = [each for each in lost if _is_value(*each)]
    values = gone and came and all(_is_value(*each) for each in came)
    # Of two numbers, the other one still holds.
    one = sum(old.tokens[at].kind in _NUMBERS for old, at in gone) <= 1
    of_it = _is_of_what_was_told(aligned, lost) and not _is_of_a_part(aligned.old, lost)
    dated = [{_is_a_day(*each) for each in side if _is_number(*each)} for side in (gone, came)]
    # "Paid on the 5th", "rises to 900".
    of_it = of_it and not (all(dated) and dated[0].isdisjoint(dated[1]))
    if values and one and of_it and _says_changed(aligned):
        return _SAID
    elsewhere = _is_elsewhere(aligned, lost, came) or _is_a_new_one(aligned, lost, came)
    return _SAID_OF_PLACES if elsewhere else 1


def _is_a_new_one(aligned: Alignment, lost: Sequence[_Place], came: Sequence[_Place]) -> bool:
    """Return whether a name alone differs, and the new statement says that it is of a new one: "my new doctor is Dr Bell"."""
    tokens = aligned.new.tokens
    named = [at for _, at in came if tokens[at].norm not in NEW]
    names = lost and named and all(each.tokens[at].name for each, at in lost)
    if not names or not all(tokens[at].name for at in named):
        return False
    return any(
        one.norm in NEW and at in aligned.new.content and at not in aligned.open_new
        for at, one in enumerate(tokens, start=1)
    )


def _is_elsewhere(aligned: Alignment, lost: Sequence[_Place], came: Sequence[_Place]) -> bool:
    """Return whether two statements differ in a place alone, and the new one says that it changed: "parks at the station now"."""
    changed = not _CHANGED.isdisjoint(aligned.new.signs - aligned.old.signs)
    return changed and is_a_place(lost) and is_a_place(came)


def tells_when_or_where(aligned: Alignment) -> bool:
    """Return whether one statement tells when something is and the other where: "starts at 7", "is at the library now"."""
    lost, came = differing(aligned)
    return (_is_when(lost) and is_a_place(came)) or (is_a_place(lost) and _is_when(came))


def _is_when(places: Sequence[_Place]) -> bool:
    """Return whether some words are an hour, and perhaps a verb."""
    values = [(each, at) for each, at in places if each.tokens[at].stem not in each.verbs]
    return bool(values) and all(is_hour(*each) for each in values)


def is_a_place(places: Sequence[_Place]) -> bool:
    """Return whether some words are a place behind the verb: "with my brother"."""
    if not places or any(each.tokens[at].kind != "word" for each, at in places):
        return False
    statement, first = places[0]
    start, norms = max(statement.verb + 1, first - 2), [each.norm for each in statement.tokens]
    return any(
        norms[at] in _LOCATED and not word_classes().match("beginning", norms, at)
        for at in range(start, first)
    )


def _is_of_what_was_told(aligned: Alignment, lost: Sequence[_Place]) -> bool:
    """Return whether another number is one of what the old statement tells, not only of the same person or thing.

    "Takes a pill twice a day", "has turned 4".
    """
    old, new = aligned.old, aligned.new
    if not any(new.tokens[at].kind in _NUMBERS for at in aligned.open_new):
        return True
    things = [at for at in new.content if not new.tokens[at].name and at not in aligned.open_new]
    told = all(_is_value(old, at) or old.tokens[at].stem in old.verbs for _, at in lost)
    return bool(things) or told


def _is_number(statement: Statement, at: int) -> bool:
    return statement.tokens[at].kind in _NUMBERS


def _is_a_day(statement: Statement, at: int) -> bool:
    """Return whether a number follows "the", as a day of the month does: "le 5"."""
    return "definite" in statement.tokens[max(0, at - 1)].roles


def _is_of_a_part(old: Statement, lost: Sequence[_Place]) -> bool:
    """Return whether a lost word names the part that the number of the old statement is of: "the kitchen budget is 18k"."""
    measures = any(token.kind in _NUMBERS for token in old.tokens)
    return measures and any(
        at < old.verb and old.tokens[at].kind == "word" and not _is_value(old, at) for _, at in lost
    )


def amount_kept(aligned: Alignment) -> str | None:
    """Return why the new statement tells no other amount than the old one; None if it may: "the rent rose by 20 euros"."""
    if _tells_a_difference(aligned):
        return "by how much"
    return "the amount stays" if _keeps_its_amount(aligned) else None


def _tells_a_difference(aligned: Alignment) -> bool:
    """Return whether the only new amount is by how much the old one changed: "went up by 5 euros"."""
    old, new = aligned.old, aligned.new
    by = words_of("differing_by", language=new.language)
    added = [at for at in aligned.open_new if new.tokens[at].kind in _NUMBERS]
    units = {(each.kind, each.unit) for each in old.tokens if each.kind in _NUMBERS}
    differences = all(
        at > 1
        and new.tokens[at - 1].norm in by
        and "be" not in new.tokens[at - 2].roles
        and (new.tokens[at].kind, new.tokens[at].unit) in units
        for at in added
    )
    return bool(added) and differences and "became" in new.signs


def _keeps_its_amount(aligned: Alignment) -> bool:
    """Return whether the old statement tells how much money something is, and the new one neither that nor a change of it.

    Another name alone changes no amount: "we pay the agency 24 pounds", "we changed agency, it's Bluebird now".
    """
    old, new = aligned.old, aligned.new
    money = any(token.kind == "money" for token in old.tokens)
    numbers = [at for at in range(len(new.tokens)) if _is_number(new, at)]
    if not money or new.negations or not all(_is_a_day(new, at) for at in numbers):
        return False
    verb = old.tokens[old.verb : old.verb + 1]
    measures = any(each.roles & {"be", "have"} for each in verb)
    named, renamed = (
        any(side.tokens[at].name for at in open_)
        for side, open_ in ((old, aligned.open_old), (new, aligned.open_new))
    )
    renames = renamed and not named and new.signs.isdisjoint(_ENDS)
    return renames or (measures and not new.signs)


def _prepositions(statement: Statement) -> set[str]:
    """The prepositions, but for those of a time or an amount: "on Tuesday", "at 8", "moved to Friday"."""
    tokens = (*statement.tokens, None)
    return {
        token.norm
        for token, after in pairwise(tokens)
        if token and "at" in token.roles and not (after and after.kind != "word")
    }


def _is_value(statement: Statement, at: int) -> bool:
    """Return whether a word is a time, or another value after the verb: before it, a number may name the subject."""
    token, classes = statement.tokens[at], word_classes()
    if token.kind == "word":
        return token.norm in classes.times or classes.has("time_links", token.norm)
    return at > statement.verb or token.kind not in _NUMBERS


def may_both_hold(aligned: Alignment) -> bool:
    """Return whether two statements tell what is done on two days of the week, or at two times far apart.

    Unless something says that it changed. What is on a day or at a time is at no other: "the class is on Mondays".
    """
    old, new = aligned.old.tokens, aligned.new.tokens
    gone = {old[at].kind for at in aligned.open_old}
    if gone and gone <= {"weekday", "time"} and holds_for_a_while(aligned):
        return True
    if not aligned.new.signs <= aligned.old.signs:
        return False
    runs = _runs_often(aligned.old) and _runs_often(aligned.new)
    if _is_at(old, aligned.open_old) and not runs:
        return False
    if len(aligned.open_old) == len(aligned.open_new) == 1:
        before, after = old[aligned.open_old[0]], new[aligned.open_new[0]]
        if before.kind == after.kind == "time":
            apart = abs(_minutes(before) - _minutes(after))
            return runs or min(apart, 24 * 60 - apart) >= _FAR_APART
    days = (
        [(aligned.old, at) for at in aligned.open_old],
        [(aligned.new, at) for at in aligned.open_new],
    )
    return all(each and all(_recurs(*day) for day in each) for each in days)


def holds_for_a_while(aligned: Alignment) -> bool:
    """Return whether the new statement adds for how long it holds: "this week", "pendant les vacances"; not "since May"."""
    classes, tokens = word_classes(), aligned.new.tokens
    words = {at for at, token in enumerate(tokens) if token.kind == "word"}
    added = [at for _, at in differing(aligned)[1] if at in words]
    # "At the same hour", "for an hour": no time of its own.
    alone = (at for at in added if tokens[at - 1].roles & {"definite", "at"} or at - 1 not in words)
    norms = [tokens[at].norm for at in alone]
    limited = classes.occurs("also", norms) or not classes.times.isdisjoint(norms)
    return limited and not classes.occurs("beginning", aligned.new.norms)


def _runs_often(statement: Statement) -> bool:
    """Return whether a statement is about a bus or a train, one of several a day: not "my train", "the last bus"."""
    subject = statement.tokens[: statement.verb]
    runs = len(subject) == 2 and word_classes().has("runs_often", subject[1].norm)
    return runs and "definite" in subject[0].roles


def _is_at(tokens: Sequence[Token], places: Sequence[int]) -> bool:
    """Return whether a form of "be" is just before one of some words, across a preposition or an article."""
    return any("be" in token.roles for at in places for token in tokens[max(0, at - 2) : at])


def _minutes(time: Token) -> int:
    hours, minutes = time.value.split(":")
    return 60 * int(hours) + int(minutes)


def _recurs(statement: Statement, at: int) -> bool:
    """Return whether a word is a day of each week, also by its verb: "they are fed on Monday"."""
    tokens = statement.tokens
    if tokens[at].kind != "weekday":
        return False
    if is_each_week(tokens, at):
        return True
    if at < 3 or "at" not in tokens[at - 1].roles or "be" not in tokens[at - 3].roles:
        return False
    endings = words_of("participle_endings", language=statement.language)
    return tokens[at - 2].norm.endswith(tuple(endings))


def is_each_week(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a word says that it is a day of each week: "every Monday", "on Mondays", "le lundi"."""
    if tokens[at].kind != "weekday":
        return False
    norm, before = tokens[at].norm, tokens[at - 1].norm if at else ""
    return (
        norm not in WEEKDAYS or before in HABIT["habit_articles"] or f" {before} " in HABITS[norm]
    )
