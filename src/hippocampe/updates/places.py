"""Tell that a thing is in another place: "the router is in the hallway", "we moved the router to the living room"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hippocampe.language.lexicon import words_of
from hippocampe.language.statement import Statement
from hippocampe.language.tense import Tense, tense_of
from hippocampe.language.tokens import Token
from hippocampe.updates.alignment import Alignment
from hippocampe.updates.plans import holds_for_a_while

_LOCATED: Final = words_of("located")
_PLACED: Final = words_of("placed")
_KNOWN: Final = frozenset({"definite", "own", "others_own"})
"""Roles in front of a thing that was told before: "the", "my", "his"."""
_LONGEST_PLACE: Final = 4
"""Content words of a place: an older statement with more tells more than the place."""


def may_be_moved(new: Statement, old: Statement) -> bool:
    """Return whether an older statement may tell where a thing is, and the new one that it was put elsewhere."""
    told = any(token.norm in _PLACED for token in new.tokens)
    return told and not (new.negations or old.negations) and _tells_a_place(old)


def is_moved(aligned: Alignment) -> bool:
    """Return whether the new statement tells that the thing whose place the old one tells was put in another one."""
    old, new = aligned.old, aligned.new
    if tense_of(new) is Tense.FUTURE or holds_for_a_while(aligned):
        return False
    behind = _behind(new, old.tokens[: old.verb])
    return behind is not None and any(at >= behind for at in aligned.open_new)


def _tells_a_place(statement: Statement) -> bool:
    """Return whether a statement tells the place of a thing, and nothing else."""
    tokens, verb = statement.tokens, statement.verb
    known = verb > 1 and bool(tokens[0].roles & _KNOWN)
    located = any(each.norm in _LOCATED for each in tokens[verb + 1 : verb + 2])
    place = [at for at in statement.content if at > verb]
    told = known and located and "be" in tokens[verb].roles
    return told and 0 < len(place) <= _LONGEST_PLACE and tense_of(statement) is Tense.PRESENT


def _behind(new: Statement, thing: Sequence[Token]) -> int | None:
    """The position behind a thing that was put somewhere: "moved the router" is followed by "to"."""
    tokens = new.tokens
    verb = next(at for at, token in enumerate(tokens) if token.norm in _PLACED)
    end = verb + 1 + len(thing)
    put = tokens[verb + 1 : end]
    if [each.norm for each in put[1:]] != [each.norm for each in thing[1:]]:
        return None
    # "His bike" is not "my bike".
    the_same = "definite" in put[0].roles or put[0].norm == thing[0].norm
    leads = any(each.norm in _LOCATED for each in tokens[end : end + 1])
    return end if the_same and leads else None
