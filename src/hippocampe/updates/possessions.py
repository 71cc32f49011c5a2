"""Tell that somebody no longer has what an older statement says they have: "I have a Clio", "sold the Clio"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from hippocampe.language.lexicon import languages, words_of
from hippocampe.language.statement import Statement
from hippocampe.language.tense import Tense, tense_of
from hippocampe.language.text import fold
from hippocampe.language.tokens import Token
from hippocampe.language.word_classes import word_classes
from hippocampe.updates.alignment import Alignment
from hippocampe.updates.plans import differing


def _forms(name: str) -> dict[str, frozenset[str]]:
    """By language: "sold" is no "solde". The forms, not the stems: who sells something still has it."""
    return {
        each: frozenset(
            f"{fold(word)}{ending}"
            for word in words_of(name, language=each)
            for ending in ("", "e", "s", "es")
        )
        for each in languages()
    }


_GIVEN: Final = _forms("given")
_DISPOSED: Final = {each: forms | _GIVEN[each] for each, forms in _forms("disposed").items()}
_TO: Final = words_of("reaching")
_FOR: Final = words_of("before_purpose")
_SOME: Final = words_of("someone")
_ONE_MORE: Final = words_of("one_more")
_BEEN: Final = words_of("been")
_RECENT: Final = words_of("recent_past")
_KNOWN: Final = frozenset({"definite", "own", "others_own", "of"})
"""Roles in front of a thing that was told before: "the", "my", "his", "Ann's"."""
_PASSIVE: Final = frozenset({"be", "auxiliary", "light"})
_OWNERS: Final = frozenset({"own", "definite", "other"})
"""Kinds of subjects of what the speaker owns, or sold: "my Clio was stolen", "the Clio is sold", "sold the Clio"."""
_SOMEBODY: Final = frozenset({"name", "other"})


def may_be_disposed(new: Statement, old: Statement) -> bool:
    """Return whether an older statement may say that somebody has something, and the new one that it is sold or lost."""
    told = _DISPOSED[new.language].intersection(token.norm for token in new.tokens)
    if not told or new.negations or new.unclear or old.negations:
        return False
    verb = old.tokens[old.verb : old.verb + 1]
    return any(word_classes().has("owning", token.norm) for token in verb)


def is_disposed(aligned: Alignment) -> bool:
    """Return whether the new statement tells that all that the old one says somebody has is sold or lost."""
    old, new = aligned.old, aligned.new
    things = _things(old)
    # What is found again was lost for a while.
    if tense_of(old) is not Tense.PRESENT or _is_of_several(things) or "again" in new.signs:
        return False
    told = _place_of([each.norm for each in things], new)
    if told is None:
        return False
    owner = new.subject if told.start else "other"
    if owner != old.subject and not (old.subject == "speaker" and owner in _OWNERS):
        return False
    if new.tokens[_verb(new)].norm in _GIVEN[new.language] and not _is_for_good(new, told.stop):
        return False
    before = [new.tokens[at] for _, at in differing(aligned)[1] if at < told.start]
    return all(map(_is_when, before)) and not _goes_on(aligned, told.stop)


def _is_for_good(new: Statement, at: int) -> bool:
    """Return whether what is given goes to somebody, for no purpose: "gave it to my nephew"; not "gave it a wash"."""
    behind = new.tokens[at:]
    to = bool(behind) and behind[0].norm in _TO
    somebody = any(token.kin or token.name for token in behind[1:3])
    return to and somebody and not any(token.norm in _FOR for token in behind)


def _is_when(token: Token) -> bool:
    """Return whether a word only says when: "last week", "je viens de"."""
    classes = word_classes()
    return token.norm in _RECENT | classes.times or classes.has("time_links", token.norm)


def is_another_one(aligned: Alignment) -> bool:
    """Return whether what the new statement says is sold or lost may be another one than the old one says somebody has.

    That is of several, or named otherwise: "a flat in Nice", "sold the flat in Paris".
    """
    old, new = aligned.old, aligned.new
    if not may_be_disposed(new, old):
        return False
    things = _things(old)
    stems = {token.stem: token.norm for token in new.tokens if token.kind == "word"}
    of_many = any(stems.get(each.stem, each.norm) != each.norm for each in things)
    repeated = {each.stem for each in things if each.kind != "word"} <= set(new.values)
    named = any(new.tokens[at].name for at in aligned.open_new)
    other = named and any(old.tokens[at].name for at in aligned.open_old if at > old.verb)
    several = _is_of_several(things) and not repeated
    return of_many or other or several or _is_of_somebody_else(aligned)


def is_one_more(aligned: Alignment) -> bool:
    """Return whether the new statement tells of one more of what the old one has: "our dog is Rex", "we got a second dog"."""
    old, new = aligned.old, aligned.new
    if word_classes().occurs("instead", new.norms) or may_be_disposed(new, old):
        return False
    kept = old.content_words & new.content_words
    counted = (
        new.norms[at + 2 : at + 4]
        for at, (article, each) in enumerate(pairwise(new.norms))
        if each in _ONE_MORE and article in _SOME
    )
    return _ONE_MORE.isdisjoint(old.norms) and any(not kept.isdisjoint(each) for each in counted)


def _is_of_somebody_else(aligned: Alignment) -> bool:
    """Return whether the speaker has something, and somebody else sold or lost such a thing: "tom sold the clio"."""
    old, new = aligned.old, aligned.new
    if old.subject != "speaker" or new.subject not in _SOMEBODY:
        return False
    verb = _verb(new)
    return any(not _is_when(new.tokens[at]) for _, at in differing(aligned)[1] if at < verb)


def _verb(new: Statement) -> int:
    disposed = _DISPOSED[new.language]
    return next(at for at, token in enumerate(new.tokens) if token.norm in disposed)


def _things(old: Statement) -> list[Token]:
    return [old.tokens[at] for at in old.content if at > old.verb]


def _is_of_several(things: Sequence[Token]) -> bool:
    return any(each.kind != "word" for each in things)


def _place_of(thing: Sequence[str], new: Statement) -> range | None:
    """The words from the verb to the thing, or from the thing to the verb: "sold my Clio", "my Clio was sold"."""
    tokens, length = new.tokens, len(thing)
    norms = [token.norm for token in tokens]
    verb = _verb(new)
    places = [at for at in range(1, len(norms)) if norms[at : at + length] == list(thing)]
    for at in places:
        if tokens[at - 1].roles.isdisjoint(_KNOWN):
            continue
        if at - 2 == verb:
            return range(verb, at + length)
        between = tokens[at + length : verb]
        if between and all(token.roles & _PASSIVE or token.norm in _BEEN for token in between):
            return range(at, verb + 1)
    return None


def _goes_on(aligned: Alignment, at: int) -> bool:
    """Return whether what stands behind a thing makes it another one: "the Kindle charger", "le vélo de mon fils"."""
    tokens = aligned.new.tokens[at : at + 1]
    return at in aligned.open_new or any("of" in token.roles for token in tokens)
