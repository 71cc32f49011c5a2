"""Tell who "I" is in two statements: "I" of one user is not "I" of another, but "Jess works" and "I work" of Jess are one."""

from __future__ import annotations

from typing import Protocol

from hippocampe.language.mentions import mentions
from hippocampe.language.names import NO_OTHER_NAMES, Aliases
from hippocampe.language.person import is_about_speaker, is_first_person, names_user
from hippocampe.language.relations import is_fragment, leaves_out_subject
from hippocampe.language.text import fold


class Told(Protocol):
    """A statement with the user who told it."""

    @property
    def content(self) -> str:
        """Its text."""
        ...

    @property
    def user(self) -> str | None:
        """Its user, if known."""
        ...


def may_be_same(one: Told, other: Told, aliases: Aliases = NO_OTHER_NAMES) -> bool:
    """Return whether two statements may be about the same person.

    "The user" of two users is two people. So is "I", unless only one of both is in the first person and the other names
    that user. "We" of two users may be one group, and "I" of nobody known any user: see `is_unclear`.
    """
    if not _are_two(one, other):
        return True
    if names_user(one.content) and names_user(other.content):
        return False
    if is_unclear(one, other):
        return True
    ours, theirs = _is_told(one), _is_told(other)
    if ours and theirs:
        return False
    if ours or theirs:
        teller, told = (one, other) if ours else (other, one)
        return mentions(told.content, _names(teller, aliases))
    return True


def is_unclear(one: Told, other: Told) -> bool:
    """Return whether nobody can tell if two statements about their user have one owner.

    Two users say "we", and neither "I", perhaps of one group, or note something without a verb, "Diet: vegan"; or only one
    of both has a known user.
    """
    if one.user == other.user:
        return False
    if not (_is_told(one) and _is_told(other)):
        return _are_two(one, other) and is_fragment(one.content) and is_fragment(other.content)
    return not _are_two(one, other) or not any(
        is_about_speaker(each.content) or leaves_out_subject(each.content) for each in (one, other)
    )


def speaker_of(one: Told, other: Told) -> str | None:
    """The user who is "I" in two statements that may be about the same person."""
    return other.user if other.user and _is_told(other) else one.user


def labels(old: Told, new: Told, aliases: Aliases = NO_OTHER_NAMES) -> tuple[str, str]:
    """The label of each of two statements for a reader of both: "Jess: ", or nothing.

    The one in the first person gets the name of its user if the other has it. Otherwise nothing would tell that "I'm
    allergic" of Jess and "Jess is allergic" say the same.
    """
    by_old, by_new = _is_told(old), _is_told(new)
    if by_old == by_new:
        return "", ""
    teller, told = (old, new) if by_old else (new, old)
    if not teller.user or not mentions(told.content, _names(teller, aliases)):
        return "", ""
    label = f"{teller.user}: "
    return (label, "") if by_old else ("", label)


def _are_two(one: Told, other: Told) -> bool:
    """Return whether two statements are known to be of two users."""
    return one.user is not None and other.user is not None and one.user != other.user


def _is_told(each: Told) -> bool:
    """Return whether a statement is about its user without a name: "I live in Lyon", "m'a prêté", "Lives in Lyon"."""
    text = each.content
    return is_first_person(text) or is_about_speaker(text) or leaves_out_subject(text)


def _names(teller: Told, aliases: Aliases) -> tuple[str, ...]:
    user = teller.user or ""
    return (user, *aliases.get(fold(user), ()))
