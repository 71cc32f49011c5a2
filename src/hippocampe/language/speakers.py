"""Tell whether a statement leaves out who speaks in it: "I live in Pau", but not "David lives in Pau". Pure."""

from collections.abc import Collection

from hippocampe.language.kin import begins_with_teller
from hippocampe.language.person import is_about_speaker, is_first_person, names_user
from hippocampe.language.relations import is_fragment, leaves_out_subject
from hippocampe.language.text import STOP_WORDS, fold, words


def leaves_out_speaker(text: str, user: str, subjects: Collection[str] = ()) -> bool:
    """Return whether a statement is about its user or theirs without their name.

    Args:
        text: The statement.
        user: The user who made it.
        subjects: Its subjects, folded.
    """
    name = words(user)
    if words(text)[: len(name)] == name:
        return False
    return (
        is_first_person(text)
        or begins_with_teller(text)
        or names_user(text)
        or leaves_out_subject(text)
        or is_fragment(text)
        or fold(user) in subjects
    )


def means_speaker(name: str) -> bool:
    """Return whether a name is only a pronoun of who speaks: "me", "moi"."""
    return is_about_speaker(name) and STOP_WORDS.issuperset(words(name))
