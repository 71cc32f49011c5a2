"""Find and fold the subjects of a statement."""

from collections.abc import Iterable

from hippocampe.language.difference import proper_names
from hippocampe.language.relations import relations
from hippocampe.language.statement import parse
from hippocampe.language.text import fold


def proper_names_in(text: str) -> frozenset[str]:
    """Return the folded words of the proper names in a text."""
    return frozenset(proper_names(parse(text)))


def subjects_of(text: str) -> frozenset[str]:
    """Return the likely subjects of `text`, folded: its proper names and the subject of its relation.

    In a text without capitals, the first word is taken for a name unless it is a function word.
    """
    statement = parse(text)
    found = set(proper_names(statement))
    for relation in relations(statement):
        if relation.subject not in ("", "we", "they"):
            found.add(relation.subject)
    if statement.lowercase and statement.core:
        first = statement.core[0].norm
        if first.isalpha() and first in statement.content_words:
            found.add(first)
    return frozenset(found)


def fold_subjects(subjects: Iterable[str]) -> tuple[str, ...]:
    """Fold and deduplicate subjects, in order."""
    return tuple(dict.fromkeys(filter(None, (fold(name).strip() for name in subjects))))
