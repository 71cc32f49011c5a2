"""Take the aside about its subject out of a statement: "David, le frère de Mickael, habite à Pau" → "David habite à Pau".

Language models introduce a person this way; later statements use the name alone.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from hippocampe.language.kin import are_two, relation
from hippocampe.language.lexicon import words_of
from hippocampe.language.text import APOSTROPHE, STOP_WORDS, fold, words
from hippocampe.language.word_classes import word_classes

_MAX_SUBJECT_WORDS: Final = 5
_PART: Final = r"[^,()—–:;.!?]{1,80}?"
_BETWEEN: Final = re.compile(
    rf"(?P<subject>{_PART})(?:,\s(?P<comma>{_PART}),|\s?\((?P<round>{_PART})\),?|\s[—–-]\s(?P<dash>{_PART})\s[—–-])"
    r"\s(?P<rest>[^\W\d_A-Z].*)",
    re.DOTALL,
)
_TITLE: Final = re.compile(
    r"(?P<title>(?:[^\W\d_]+['’]s|[^\W\d_]+)(?:\s[^\WA-Z\d_]\S*){1,3})\s(?P<name>[A-ZÀ-Þ][\w-]+)"
    r"(?P<rest>(?:,|\s[(—–]|\s[^\W\d_A-Z]).*)",
    re.DOTALL,
)
_POSSESSIVES: Final = words_of("possessives")
_NO_VERBS: Final = _POSSESSIVES.union(
    *map(words_of, ("persons", "articles", "coordinators", "union"))
)
_HAVE_UNACCENTED: Final = words_of("have_unaccented")


@dataclass(frozen=True, slots=True)
class Plain:
    """A statement without the aside about its subject.

    Attributes:
        text: The statement.
        aside: The folded words of the aside that mean something.
    """

    text: str
    aside: frozenset[str]


def without_aside(text: str) -> Plain | None:
    """The statement without the aside about its subject; None if it has none."""
    text = APOSTROPHE.sub("'", text)
    title = _without_title(text)
    between = _without_insertion(title.text if title else text)
    if title is None or between is None:
        return between or title
    return Plain(between.text, between.aside | title.aside)


def are_of_two(aside: Set[str], other: Set[str]) -> bool:
    """Return whether two asides are about two people: a son and a nephew of one name, or nothing in common."""
    ours, theirs = ({relation(word) for word in each} - {""} for each in (aside, other))
    related = len(ours) == len(theirs) == 1
    return aside.isdisjoint(other) or (related and are_two(*ours, *theirs))


def _without_title(text: str) -> Plain | None:
    """Without what somebody is to somebody else: "my brother David works" → "David works"."""
    found = _TITLE.match(text)
    if found is None:
        return None
    title = words(found["title"])
    first = fold(found["title"].split()[0])
    owned = first in _POSSESSIVES or first.endswith("'s")
    if not owned or not relation(title[-1]) or _is_common(found["name"]):
        return None
    return Plain(f"{found['name']}{found['rest']}", _meaning(found["title"]))


def _without_insertion(text: str) -> Plain | None:
    """Without what stands between commas, dashes or brackets behind the subject."""
    found = _BETWEEN.match(text)
    if found is None or not _opens_predicate(found["rest"]):
        return None
    subject = found["subject"].strip()
    inserted = (found["comma"] or found["round"] or found["dash"]).strip()
    if word_classes().occurs("hedges", words(inserted)):  # "David, je crois, …"
        return None
    if _is_named(subject):
        if _is_named(inserted):  # A second name makes a list: "David, Paul, …".
            return None
    elif not any(map(relation, words(subject))) or len(subject.split()) > _MAX_SUBJECT_WORDS:
        return None
    elif _is_named(inserted):
        subject, inserted = inserted, subject
    return Plain(f"{subject} {found['rest']}", _meaning(inserted))


def _opens_predicate(rest: str) -> bool:
    """Return whether a text may begin with a verb: no pronoun, article, preposition or conjunction does."""
    first = re.split(r"[\s']", rest, maxsplit=1)[0].lower()
    folded = fold(first)
    preposition = word_classes().has("adjunct", folded)
    return first in _HAVE_UNACCENTED or (folded not in _NO_VERBS and not preposition)


def _is_named(text: str) -> bool:
    """Return whether a text is a proper name."""
    parts = text.split()
    return 0 < len(parts) <= _MAX_SUBJECT_WORDS and not any(_is_common(part) for part in parts)


def _is_common(word: str) -> bool:
    return not word[:1].isupper() or fold(word) in word_classes().never_names


def _meaning(text: str) -> frozenset[str]:
    # "Son" is French for "his" too.
    return frozenset(word for word in words(text) if word not in STOP_WORDS or relation(word))
