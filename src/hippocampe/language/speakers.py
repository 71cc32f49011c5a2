"""Tell who speaks in a statement, unnamed ("I live in Pau", but not "David lives in Pau") or named in front of it. Pure."""

from collections.abc import Collection
from typing import Final

from hippocampe.language.kin import begins_with_teller
from hippocampe.language.lexicon import words_of
from hippocampe.language.person import is_about_speaker, is_first_person, names_user
from hippocampe.language.relations import is_fragment, leaves_out_subject
from hippocampe.language.sanitize import quote_label
from hippocampe.language.text import STOP_WORDS, fold, words

_TALK: Final = words_of("discourse.talk")
_AROUND_SAID: Final = ' \t\n*_"“”«»'


def unnamed_speaker(text: str, user: str | None, subjects: Collection[str], collection: str) -> str:
    """The user who made a statement about themselves or theirs without their name, as a label; empty for others.

    Args:
        text: The statement.
        user: The user who made it, if known.
        subjects: Its subjects, folded.
        collection: Its collection; in those other than `memory`, "I" is the companion.
    """
    name = words(user or "")
    if collection != "memory" or not user or words(text)[: len(name)] == name:
        return ""
    unnamed = (
        is_first_person(text)
        or begins_with_teller(text)
        or names_user(text)
        or leaves_out_subject(text)
        or is_fragment(text)
        or fold(user) in subjects
    )
    return quote_label(user) if unnamed else ""


def means_speaker(name: str) -> bool:
    """Return whether a name is only a pronoun of who speaks: "me", "moi"."""
    return is_about_speaker(name) and STOP_WORDS.issuperset(words(name))


def without_teller(text: str, user: str) -> str:
    """A statement without the name of the user who made it in front, as logs and models write it: "Anna said: “I moved”".

    Args:
        text: The statement.
        user: The user who made it; empty if nobody is known.
    """
    before, _, said = text.partition(":")
    said = said.strip(_AROUND_SAID)
    name = words(user) if said else []
    label = words(before) if name else []
    if not name or label[: len(name)] != name:
        return text
    between = set(label[len(name) :])
    says = not between or (not between.isdisjoint(_TALK) and between <= STOP_WORDS | _TALK)
    return said if says else text
