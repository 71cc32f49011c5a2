"""Whether one statement only says more than another: where, when, with whom, why. Pure.

What is added must leave the claim standing. An adjunct does ("… le 10 janvier"); a noun that takes
the head ("coffee" → "coffee shops"), an adverb that weakens ("rarement"), a condition, an exception
or anything added to a negated or general claim does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from hippocampe.language.lexicon import of
from hippocampe.language.lexicon import words as words_of
from hippocampe.language.sentence import Statement, is_hedged, is_time, lexicon
from hippocampe.language.tokenizer import Word
from hippocampe.language.traits import has_number

_ARTICLES: Final = words_of("articles")
_SOMEONE: Final = words_of("someone")
_UNION: Final = words_of("union")
_ALTERNATIVE: Final = words_of("alternative")
_HAVE_UNACCENTED: Final = words_of("have_unaccented")
_MANNER: Final = words_of("manner_prepositions")
_OPENING: Final = _ARTICLES | words_of("after_preposition")
_PLACES_OF_LIFE: Final = words_of("places_of_life")
_LONGEST_ADDITION: Final = 14
_SUBJECT_AND_VERB: Final = 2


@dataclass(frozen=True, slots=True)
class Addition:
    """A run of words that one statement has more, between `before` and `after`."""

    words: tuple[Word, ...]
    before: Word | None
    after: Word | None


def additions(longer: list[Word], shorter: list[Word]) -> list[Addition]:
    """What `longer` adds to `shorter`; empty unless everything else is the same, in order."""
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
    """Whether the claim of `base` still holds, unchanged, once the words are added to it."""
    lex = lexicon()
    norms = [word.norm for word in addition.words]
    if len(norms) > _LONGEST_ADDITION or any(
        w.surface.lower() in _ALTERNATIVE for w in addition.words
    ):
        return False
    if lex.holds("not_detail", norms) or is_hedged(addition.words):
        return False
    narrows = base.negations or lex.holds("narrowing", base.norms)
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
    """What follows the time that an addition begins with: "every Sunday | with her father"."""
    words = addition.words
    for size in range(len(words) - 1, 0, -1):
        when = Addition(words[:size], addition.before, words[size])
        if is_time([word.norm for word in when.words]) and not _counts(when):
            return Addition(words[size:], words[size - 1], addition.after)
    return None


def _counts(addition: Addition) -> bool:
    """Whether it says of what a number was: "two" → "two days"."""
    before = addition.before
    return before is not None and has_number(before.norm) and not has_number(addition.words[0].norm)


def is_cause(addition: Addition) -> bool:
    norms = [word.norm for word in addition.words]
    lex = lexicon()
    blocked = lex.holds("not_detail", norms) or is_hedged(addition.words)
    return bool(lex.match("cause", norms, 0)) and not blocked


def _is_adjunct(addition: Addition) -> bool:
    """A phrase that begins with a preposition, a relative or "and", at the end."""
    first, *others = addition.words
    if first.glued or not others or not lexicon().match("adjunct", [first.norm, others[0].norm], 0):
        return False
    after = others[0]
    if after.capital or is_time([w.norm for w in others]):
        return True
    if first.norm in _MANNER and first.surface.lower() not in _HAVE_UNACCENTED:
        # "une tour en plastique", "arrive à nager": not the thing it was.
        return after.norm in _OPENING or lexicon().has("time", after.norm)
    # "rich in ideas", "on purpose", "avec difficulté"
    return len(others) > 1 or first.norm in _UNION or after.norm in _PLACES_OF_LIFE


def _is_named(addition: Addition, base: Statement) -> bool:
    """Who it is, after a comma: "has a son, Peter"."""
    words = addition.words
    owned = len(base.core) > 1 and base.core[-2].norm in _ARTICLES
    return owned and words[0].pause and len(words) < 4 and all(w.capital for w in words)


def _is_aside(addition: Addition) -> bool:
    """A remark between commas: "David, qui est médecin, …"."""
    first, after = addition.words[0], addition.after
    opening = lexicon().has("adjunct", first.norm) or first.norm in _ARTICLES
    return first.pause and after is not None and after.pause and opening


def _is_adjective(addition: Addition, base: Statement) -> bool:
    """A plain adjective next to its noun: "a dog" → "a black dog", "un chat noir qui …"."""
    if not all(lexicon().has("plain_adjectives", word.norm) for word in addition.words):
        return False
    before = addition.before
    follows: bool = of(base.language, "words")["adjective_follows"]
    if addition.after is not None:
        return not follows and before is not None and before.norm in _ARTICLES
    article = base.core[-2].norm if len(base.core) > 1 else ""
    return follows and len(addition.words) == 1 and article in _SOMEONE & _ARTICLES


def is_moved(new: Statement, old: Statement) -> bool:
    """The same words, but when it happened is told first instead of last."""
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
