"""Find the negation of a statement, and its words without it: "ne … pas", "does not", "no longer"."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from hippocampe.language.detect import language_of
from hippocampe.language.lexicon import languages, pairs_of, words_of
from hippocampe.language.tokenizer import Word
from hippocampe.language.tokens import Token
from hippocampe.language.word_classes import word_classes

_PARTICLE: Final = words_of("negation.particle")
_BORN: Final = words_of("negation.born")
_NEGATES: Final = words_of("negation.alone")
_AFTER_PARTICLE: Final = words_of("negation.after_particle")
_DETERMINER: Final = words_of("negation.determiner")
_DETERMINER_OF: Final = {
    each: words_of("negation.determiner", language=each) for each in languages()
}
_COMPARED: Final = words_of("negation.compared")
_ENDED: Final = words_of("negation.ended")
_TAIL: Final = words_of("negation.tail")
_UNCLEAR: Final = words_of("negation.unclear")
_NEGATING: Final = _PARTICLE | _NEGATES | _AFTER_PARTICLE | _DETERMINER | _UNCLEAR
_CLOSING: Final = frozenset[str]().union(
    *(
        words_of(f"negation.{role}", language=each)
        for each in languages()
        for role in ("alone", "after_particle")
        if words_of("negation.particle", language=each)
    )
)
_SUPPORT: Final = words_of("support")
_CONTRARIES: Final = pairs_of("contraries")
_OF_CONTRARIES: Final = frozenset[str]().union(*(side for pair in _CONTRARIES for side in pair))
_PREFIXES: Final = tuple(words_of("denying_prefixes"))
_MAX_PARTICLE_DISTANCE: Final = 4  # words from "ne" to "pas": "ne nous l'a pas"


def without_negation(words: Sequence[Word], text: str) -> tuple[list[Word], int, bool]:
    """Return the words without negation, its count, and whether it is unclear."""
    norms = [word.norm for word in words]
    unclear = word_classes().occurs("not_quite", norms)
    if _NEGATING.isdisjoint(norms):
        return list(words), 0, unclear
    dropped: set[int] = set()
    count = 0
    for at, norm in enumerate(norms):
        after_particle = not dropped.isdisjoint(range(at - _MAX_PARTICLE_DISTANCE, at))
        if _is_particle(words, at):
            dropped.add(at)
            unclear |= _CLOSING.isdisjoint(norms[at + 1 : at + _MAX_PARTICLE_DISTANCE + 2])
        elif norm in _DETERMINER and not at:  # "No student came", "No that's all"
            unclear = True
        elif (
            norm in _NEGATES
            or (norm in _AFTER_PARTICLE and after_particle)
            # "no" negates in English only.
            or (norm in _DETERMINER and norm in _DETERMINER_OF[language_of(text)])
        ):
            dropped.add(at)
            count += 1
        elif count and (norm in _TAIL or (norm in _COMPARED and norms[at - 1] in _DETERMINER)):
            dropped.add(at)
        else:
            unclear = unclear or norm in _UNCLEAR
    do = {at for at, norm in enumerate(norms) if norm in _SUPPORT and at + 1 in dropped}
    core = [word for at, word in enumerate(words) if at not in dropped | do]
    return core, count, unclear or count > 1


def has_ceased(words: Sequence[Word]) -> bool:
    """Return whether a negation says that something is over: "ne joue plus", not "ne joue pas"."""
    return any(
        word.norm in _ENDED
        and any(
            _is_particle(words, before) for before in range(max(0, at - _MAX_PARTICLE_DISTANCE), at)
        )
        for at, word in enumerate(words)
    )


def _is_particle(words: Sequence[Word], at: int) -> bool:
    """Return whether a word is the particle "ne", not "né" (often written without its accent)."""
    born = at > 0 and words[at - 1].norm in _BORN
    return words[at].norm in _PARTICLE and words[at].surface.isascii() and not born


def may_reverse(ours: Set[str], theirs: Set[str]) -> bool:
    """Return whether each of two statements, by its folded words, has a word of a pair of contraries."""
    sides = ((ours - theirs, theirs), (theirs - ours, ours))
    if any(_denied(word, others) for some, others in sides for word in some):
        return True
    if _OF_CONTRARIES.isdisjoint(ours) or _OF_CONTRARIES.isdisjoint(theirs):
        return False
    return any(
        (ours & first and theirs & second) or (ours & second and theirs & first)
        for first, second in _CONTRARIES
    )


def are_contraries(one: Token, other: Token) -> bool:
    """Return whether two words are two states of one thing: "on" and "off", "locked" and "unlocked"."""
    return are_denied(one, other) or any(
        {one.norm, other.norm} & first and {one.norm, other.norm} & second
        for first, second in _CONTRARIES
    )


def are_denied(one: Token, other: Token) -> bool:
    """Return whether a prefix makes one word the contrary of the other; of other words than states, it may be a part: "tent", "intent"."""
    return _denied(one.stem, {other.stem}) or _denied(other.stem, {one.stem})


def _denied(word: str, others: Set[str]) -> bool:
    """Return whether a word is one of some others with a prefix that makes it the contrary."""
    return word.startswith(_PREFIXES) and any(
        word.startswith(prefix) and word[len(prefix) :] in others for prefix in _PREFIXES
    )
