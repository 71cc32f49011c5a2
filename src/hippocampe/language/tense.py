"""Tell the tense of a statement by its auxiliaries: "I have been ill" is past, "I am ill" present, "I will be" future."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from hippocampe.language.lexicon import words_of
from hippocampe.language.statement import Statement
from hippocampe.language.tokenizer import Word
from hippocampe.language.word_classes import word_classes

_PAST: Final = words_of("past_auxiliaries")
_BEFORE_PARTICIPLE: Final = words_of("grammar.have")
_PARTICIPLES: Final = tuple(words_of("participle_endings"))
_NO_PARTICIPLES: Final = words_of("no_participles")
_PAST_ENDINGS: Final = tuple(words_of("past_endings"))
_PAST_FORMS: Final = words_of("past_forms")
_GONE: Final = {f"{each}{end}" for each in words_of("gone") for end in ("", "e", "s", "es")}
_REFLEXIVE: Final = words_of("reflexive")
_ARRANGING: Final = words_of("arranging")
_SUBJECTS: Final = words_of("grammar.third_person")
_OF: Final = words_of("grammar.of")
_BE: Final = words_of("grammar.be")
_RECENT: Final = words_of("recent_past")
_FUTURE: Final = words_of("future_auxiliaries")
_BEFORE_INFINITIVE: Final = words_of("before_infinitive")
_INFINITIVES: Final = tuple(words_of("infinitive_endings"))
_ADVERBS: Final = words_of("grammar.light") | words_of("grammar.negation")


class Tense(IntEnum):
    """The time of a statement, in order."""

    PAST = -1
    PRESENT = 0
    FUTURE = 1


def tense_of(statement: Statement) -> Tense:
    """Return the tense of the first auxiliary of a statement that has another tense than the present; else the present."""
    words = statement.words
    articles = words_of("grammar.indefinite", language=statement.language)
    for at, word in enumerate(words):
        pronoun = at > 0 and word_classes().has("pronouns", words[at - 1].norm)
        if word.norm in articles and not pronoun:
            continue  # "a" is no French verb in "a red car".
        after = _next_word(words, at)
        if (
            (pronoun and is_past_form(word.norm))
            or word.norm in _PAST
            or (_is_have(word) and _is_participle(after))
            or (word.norm in _RECENT and _is_before_infinitive(words, at))
        ):
            return Tense.PAST
        if word.norm in _FUTURE or (
            word.norm in _BEFORE_INFINITIVE and after.endswith(_INFINITIVES)
        ):
            return Tense.FUTURE
    return Tense.FUTURE if "future" in statement.signs else Tense.PRESENT


def _is_before_infinitive(words: Sequence[Word], at: int) -> bool:
    """Return whether a preposition and an infinitive follow: "je viens de finir"."""
    linked = [word.norm in _OF for word in words[at + 1 : at + 2]] == [True]
    return linked and _next_word(words, at + 1).endswith(_INFINITIVES)


def is_past(statement: Statement) -> bool:
    """Return whether a statement tells of the past, also without "have" or a pronoun: "elle est venue", "Tom moved"."""
    words = statement.words
    return tense_of(statement) is Tense.PAST or any(
        (word.norm in _BE and _is_gone(words, at))
        or (at > 0 and words[at - 1].capital and is_past_form(word.norm))
        for at, word in enumerate(words)
    )


def is_over(statement: Statement) -> bool:
    """Return whether a time that a statement names is over: not if it arranges something, "I booked it for Thursday"."""
    return is_past(statement) and _ARRANGING.isdisjoint(statement.norms)


def _is_have(word: Word) -> bool:
    """Return whether a word is a form of "have", unlike "à"."""
    return word.norm in _BEFORE_PARTICIPLE and word.surface.lower() == word.norm


def _is_participle(word: str) -> bool:
    """Return whether a word may be a participle, unlike "midi" in "a midi" and "quoi" in "on a quoi"."""
    may_be = word.endswith(_PARTICIPLES) and word not in _NO_PARTICIPLES
    return may_be and word not in word_classes().times


def is_past_form(word: str) -> bool:
    """Return whether a folded word has a form of the past: "gave", "walked"."""
    return word in _PAST_FORMS or word.endswith(_PAST_ENDINGS)


def _is_gone(words: Sequence[Word], at: int) -> bool:
    """Return whether "be" forms the past of a verb: "elle est venue", "est-elle venue", "elle s'est levée"."""
    if at > 0 and words[at - 1].norm in _REFLEXIVE:
        return _next_word(words, at).rstrip("es").endswith(_PARTICIPLES)
    asked = at + 1 < len(words) and words[at + 1].norm in _SUBJECTS
    after = words[at + 1 + asked :]
    return bool(after) and after[0].norm in _GONE


def _next_word(words: Sequence[Word], at: int) -> str:
    """The next word as written, across adverbs and negations: "pas encore mangé"."""
    following = (word for word in words[at + 1 : at + 4] if word.norm not in _ADVERBS)
    return next((word.surface.lower() for word in following), "")
