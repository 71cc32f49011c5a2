"""Decide whether one statement only adds detail to another: where, when, with whom, why.

The addition must not change the claim. An adjunct does not ("… le 10 janvier"). A noun that becomes
the head ("coffee" → "coffee shops"), an adverb that weakens ("rarement"), a condition, an exception,
or any addition to a negated or general claim does.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from hippocampe.language.lexicon import load, words_of
from hippocampe.language.sentence import Statement, is_hedged, is_time
from hippocampe.language.tokenizer import Word
from hippocampe.language.traits import has_number
from hippocampe.language.word_classes import word_classes

_ARTICLES: Final = words_of("articles")
_SOMEONE: Final = words_of("someone")
_UNION: Final = words_of("union")
_ALTERNATIVE: Final = words_of("alternative")
_HAVE_UNACCENTED: Final = words_of("have_unaccented")
_MANNER: Final = words_of("manner_prepositions")
_OPENING: Final = _ARTICLES | words_of("after_preposition")
_PLACES_OF_LIFE: Final = words_of("places_of_life")
_MAX_ADDED_WORDS: Final = 14
_SUBJECT_AND_VERB: Final = 2  # words


@dataclass(frozen=True, slots=True)
class Addition:
    """A run of words that only the longer statement has.

    Attributes:
        words: The added words.
        before: The word before them; None at the start.
        after: The word after them; None at the end.
    """

    words: tuple[Word, ...]
    before: Word | None
    after: Word | None


def additions(longer: list[Word], shorter: list[Word]) -> list[Addition]:
    """Return what `longer` adds to `shorter`; empty if they differ in any other way."""
    if len(shorter) < 2:
        return []
    ours, theirs = [w.norm for w in longer], [w.norm for w in shorter]
    if not set(ours).issuperset(theirs):
        return []
    if ours[: len(theirs)] == theirs:
        return [Addition(tuple(longer[len(theirs) :]), longer[len(theirs) - 1], None)]
    if ours[-len(theirs) :] == theirs:
        return [Addition(tuple(longer[: -len(theirs)]), None, longer[-len(theirs)])]
    found: list[Addition] = []
    for tag, start, end, _, _ in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag == "delete":
            before = longer[start - 1] if start else None
            found.append(
                Addition(tuple(longer[start:end]), before, longer[end] if end < len(ours) else None)
            )
        elif tag != "equal":
            return []
    return found


def is_detail(addition: Addition, base: Statement) -> bool:
    """Return whether adding the words to `base` leaves its claim unchanged."""
    classes = word_classes()
    norms = [word.norm for word in addition.words]
    if len(norms) > _MAX_ADDED_WORDS or any(
        w.surface.lower() in _ALTERNATIVE for w in addition.words
    ):
        return False
    if classes.occurs("not_detail", norms) or is_hedged(addition.words):
        return False
    narrows = base.negations or classes.occurs("narrowing", base.norms)
    if narrows:
        return addition.after is None and is_cause(addition)
    if is_time(norms):
        return not _counts(addition)
    if addition.after is None and (rest := _after_time(addition)) is not None:
        addition = rest
    if len(base.core) <= _SUBJECT_AND_VERB:
        return is_cause(addition)  # "ran" is not "ran for president"
    if addition.after is None:
        return _is_adjunct(addition) or _is_named(addition, base) or _is_adjective(addition, base)
    if addition.before is None:
        return False
    return _is_aside(addition) or _is_adjective(addition, base)


def _after_time(addition: Addition) -> Addition | None:
    """Return the rest of an addition that begins with a time: "every Sunday | with her father"."""
    words = addition.words
    for size in range(len(words) - 1, 0, -1):
        when = Addition(words[:size], addition.before, words[size])
        if is_time([word.norm for word in when.words]) and not _counts(when):
            return Addition(words[size:], words[size - 1], addition.after)
    return None


def _counts(addition: Addition) -> bool:
    """Return whether the addition is the unit of a number: "two" → "two days"."""
    before = addition.before
    return before is not None and has_number(before.norm) and not has_number(addition.words[0].norm)


def is_cause(addition: Addition) -> bool:
    """Return whether the addition states a cause or a purpose."""
    norms = [word.norm for word in addition.words]
    classes = word_classes()
    blocked = classes.occurs("not_detail", norms) or is_hedged(addition.words)
    return bool(classes.match("cause", norms, 0)) and not blocked


def _is_adjunct(addition: Addition) -> bool:
    """Return whether it is a final phrase opened by a preposition, a relative pronoun or "and"."""
    first, *others = addition.words
    if (
        first.glued
        or not others
        or not word_classes().match("adjunct", [first.norm, others[0].norm], 0)
    ):
        return False
    after = others[0]
    if after.capital or is_time([w.norm for w in others]):
        return True
    if first.norm in _MANNER and first.surface.lower() not in _HAVE_UNACCENTED:
        # "une tour en plastique", "arrive à nager" change the claim.
        return after.norm in _OPENING or word_classes().has("time", after.norm)
    # "rich in ideas", "on purpose", "avec difficulté"
    return len(others) > 1 or first.norm in _UNION or after.norm in _PLACES_OF_LIFE


def _is_named(addition: Addition, base: Statement) -> bool:
    """Return whether it is a name after a comma: "has a son, Peter"."""
    words = addition.words
    owned = len(base.core) > 1 and base.core[-2].norm in _ARTICLES
    return owned and words[0].pause and len(words) < 4 and all(w.capital for w in words)


def _is_aside(addition: Addition) -> bool:
    """Return whether it is a remark between commas: "David, qui est médecin, …"."""
    first, after = addition.words[0], addition.after
    opening = word_classes().has("adjunct", first.norm) or first.norm in _ARTICLES
    return first.pause and after is not None and after.pause and opening


def _is_adjective(addition: Addition, base: Statement) -> bool:
    """Return whether it is a plain adjective of a noun: "a dog" → "a black dog", "un chat noir qui …"."""
    if not all(word_classes().has("plain_adjectives", word.norm) for word in addition.words):
        return False
    before = addition.before
    follows: bool = load(base.language, "words")["adjective_follows"]
    if addition.after is not None:
        return not follows and before is not None and before.norm in _ARTICLES
    article = base.core[-2].norm if len(base.core) > 1 else ""
    return follows and len(addition.words) == 1 and article in _SOMEONE & _ARTICLES


def is_moved(new: Statement, old: Statement) -> bool:
    """Return whether the words are the same, with the time at the other end of the sentence."""
    ours, theirs = [w.norm for w in new.core], [w.norm for w in old.core]
    if sorted(ours) != sorted(theirs):
        return False
    for size in range(1, len(ours)):
        for moved, rest, other in (
            (ours[:size], ours[size:], theirs),
            (theirs[:size], theirs[size:], ours),
        ):
            if is_time(moved) and other == rest + moved:
                return True
    return False
