"""Tell that something has another value or was given for another: "the rent rose to 850", "traded the Corolla in for a bike"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hippocampe.language.ends import ends, tells_one_end
from hippocampe.language.lexicon import words_of
from hippocampe.language.relations import TASTE, relations
from hippocampe.language.statement import Statement
from hippocampe.language.tense import is_past
from hippocampe.language.tokens import Token
from hippocampe.language.word_classes import word_classes
from hippocampe.updates.alignment import Alignment
from hippocampe.updates.plans import differing, holds_for_a_while

_FOR: Final = words_of("before_purpose")
_EXCHANGED_FOR: Final = words_of("exchanged_for")
_REACHING: Final = words_of("reaching")
_AMOUNTS: Final = frozenset({"number", "money"})
_TIMES: Final = frozenset({"time", "weekday", "month", "date"})
_OWN: Final = frozenset({"speaker", "own"})
"""Kinds of subjects of what is the speaker's."""


def may_be_exchanged(statement: Statement) -> bool:
    """Return whether a statement may name what something became, and what it was: "traded it for", "rose to"."""
    classes = word_classes()
    says_so = any(classes.occurs(name, statement.norms) for name in ("exchanging", "replacing"))
    return says_so or "became" in statement.signs


def exchanged(aligned: Alignment) -> str | None:
    """Return what was exchanged, "another amount" or "another time"; None if nothing was, or something of another owner."""
    if names_another_owner(aligned):
        return None
    if is_past(aligned.new) and _is_exchanged(aligned):
        return "exchanged"
    return _another_value(aligned)


def changes_it(aligned: Alignment) -> bool:
    """Return whether the new statement tells the change of a thing, when the old one tells only its name or number.

    "I'm with the Vanves club", "I changed clubs, I'm in Malakoff"; but not after "the club has a party in Vanves".
    """
    old, new = aligned.old, aligned.new
    changed = place_of_change(new)
    if changed is None or not {old.subject, new.subject} <= _OWN or names_another_owner(aligned):
        return False
    things = [each for each in old.content if old.tokens[each].stem == new.tokens[changed].stem]
    if len(things) != 1 or is_past(old) or is_part(aligned, changed):
        return False
    if any(each.name == TASTE for each in relations(old)):
        return False
    named = [at for at in aligned.open_old if _is_named(old.tokens[at])]
    beyond = (at for at in aligned.open_old if at not in named)
    renamed = any(at > changed and _is_named(new.tokens[at]) for at in aligned.open_new)
    return bool(named) and renamed and not any(at >= things[0] - 1 for at in beyond)


def place_of_change(new: Statement) -> int | None:
    """The first content word behind a verb of change: "gym" of "I switched gyms"."""
    classes, norms = word_classes(), [token.norm for token in new.tokens]
    dated = any(token.kind == "year" for token in new.tokens)  # "in 2010, I was with Ally"
    change = next(classes.spans("changing", norms), None)
    if change is None or new.negations or dated:
        return None
    return next((each for each in new.content if each > change[0]), None)


def _is_named(token: Token) -> bool:
    return token.name or token.kind != "word"


def _is_exchanged(aligned: Alignment) -> bool:
    """Return whether all that the old statement names was given for something else: "traded the Corolla in for a bike"."""
    old, new = aligned.old, aligned.new
    classes, norms = word_classes(), [token.norm for token in new.tokens]
    if classes.occurs("activities", old.norms):
        return False
    for at in range(len(norms)):
        if length := classes.match("exchanging", norms, at):
            begins = at + length
            ends = next(
                (k for k in range(begins, len(norms)) if norms[k] in _EXCHANGED_FOR), begins
            )
            given, taken = range(begins, ends), range(ends, len(norms))
        elif length := classes.match("replacing", norms, at):
            given, taken = range(at + length, len(norms)), range(new.verb, at)
        else:
            continue
        things = {old.tokens[k].stem for k in old.content if old.tokens[k].stem not in old.verbs}
        owner = {new.tokens[k].stem for k in new.content if k < min(new.verb, given.start)}
        gone = {new.tokens[k].stem for k in new.content if k in given}
        came = {new.tokens[k].stem for k in new.content if k in taken} - new.verbs - things
        if gone and came and gone == things - owner:
            return True
    return False


def _another_value(aligned: Alignment) -> str | None:
    """Return what of the old statement alone reached another one, whatever follows: "the rent rose to 850", "moved to 3 May"."""
    old, new = aligned.old, aligned.new
    kinds = _AMOUNTS if any(token.kind in _AMOUNTS for token in old.tokens) else _TIMES
    known = [token for token in old.tokens if token.kind in kinds]
    if len(known) != 1 or "became" not in new.signs:
        return None
    if tells_one_end(new, old) or ends(new, old):
        return None
    values = [at for at, token in enumerate(new.tokens) if token.kind in kinds]
    reached = [at for at in values if _is_reached(new.tokens, at, known[0])]
    others = [at for at in values if at not in reached and new.tokens[at].stem != known[0].stem]
    gone = [old.tokens[at] for at in aligned.open_old]
    lost = [each for each in gone if each is not known[0] and not is_time(each)]
    if len(reached) != 1 or others or lost or _is_limited(aligned, *reached):
        return None
    return "another amount" if kinds is _AMOUNTS else "another time"


def _is_limited(aligned: Alignment, at: int) -> bool:
    """Return whether an amount or time is of another thing, for some, or for a day: "the garage rent", "to 8 tomorrow"."""
    new = aligned.new
    told = set(new.content).difference(aligned.open_new)
    things = sorted(place for place in told if new.tokens[place].kind == "word")
    # A person before the verb may have changed it.
    start = things[0] if things and things[0] > new.verb else 0
    added = [place for _, place in differing(aligned)[1] if place < at]
    before = [new.tokens[place] for place in added if place >= start or place + 1 in things]
    of_another = any(each.stem not in new.verbs and each.kind == "word" for each in before)
    for_some = any(each.norm in _FOR for each in new.tokens[at + 1 : at + 2])
    return not things or of_another or for_some or holds_for_a_while(aligned)


def _is_reached(tokens: Sequence[Token], at: int, known: Token) -> bool:
    """Return whether a token is another amount behind "to", in the same unit or, at the end, in none: "rose to 850"."""
    token, before = tokens[at], tokens[at - 1] if at else None
    same_unit = token.kind == known.kind and token.unit == known.unit
    bare = token.kind == "number" and not token.unit and at + 1 == len(tokens)
    another = token.value != known.value and (same_unit or (bare and known.kind in _AMOUNTS))
    return another and before is not None and before.norm in _REACHING


def is_time(token: Token) -> bool:
    """Return whether a word is a time, or says how often."""
    classes = word_classes()
    often = any(classes.has(name, token.norm) for name in ("often", "recurring"))
    return often or token.kind in _TIMES or token.norm in classes.times


def is_part(aligned: Alignment, at: int) -> bool:
    """Return whether a word is a part of the name of another thing: "a car seat", "my sister's dog", "le chien de ma sœur"."""
    new = aligned.new
    in_subject = at < new.verb and new.links[at] == "of"
    if in_subject and any(place in aligned.open_new for place in range(at - 3, at)):
        return True
    at += any(token.norm == "'s" for token in new.tokens[at + 1 : at + 2])
    if at + 1 not in aligned.open_new:
        return False
    after = new.tokens[at + 1]
    known = after.norm in word_classes().times or after.stem in new.verbs
    return after.kind == "word" and not known


def names_another_owner(aligned: Alignment) -> bool:
    """Return whether the new statement names an owner whom the old one does not name: "Paul's keys", "my sister"."""
    new = aligned.new
    # "I" is the owner, whatever stands before the verb that was found.
    end = 0 if new.subject == "speaker" else new.verb
    opened = ((at, new.tokens[at]) for at in aligned.open_new)
    return any(
        token.kin or (token.name and (at < end or _owns(aligned, at))) for at, token in opened
    )


def _owns(aligned: Alignment, at: int) -> bool:
    """Return whether a name is that of the owner of a repeated thing: "Paul's keys", "les clés de Paul"."""
    tokens = aligned.new.tokens
    if any("of" in each.roles and each.norm == "'s" for each in tokens[at + 1 : at + 2]):
        return True
    thing = at - 2
    return (
        thing in aligned.new.content
        and thing not in aligned.open_new
        and "of" in tokens[at - 1].roles
    )
