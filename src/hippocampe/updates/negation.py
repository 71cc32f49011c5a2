"""Decide whether one statement denies another: a negation, or an activity that has ended."""

from __future__ import annotations

from typing import Final

from hippocampe.language.lexicon import load, load_all, table_of, words_of
from hippocampe.language.sentence import Statement, is_time
from hippocampe.language.tokenizer import Word
from hippocampe.language.word_classes import word_classes
from hippocampe.updates.elaboration import additions, is_cause, is_detail

_PRESENT_ENDINGS: Final = frozenset(load_all("words")["present_endings"])
"""Endings of a verb in the present, where its infinitive has another ending."""
_INFINITIVE_ENDINGS: Final = tuple(words_of("infinitive_endings"))
_GERUND_ENDINGS: Final = tuple(words_of("gerund_endings"))
_BASE_ENDINGS: Final[list[tuple[str, str]]] = load_all("words")["base_endings"]
_IRREGULAR: Final = table_of("irregular")
_AUXILIARIES: Final = words_of("auxiliaries")


def is_negation(new: Statement, old: Statement) -> bool:
    """Return whether `new` is the negation of `old`, or the reverse.

    The caller checks that exactly one is negated, and that neither is unclear or a question.
    """
    ours, theirs = _comparable(new), _comparable(old)
    if len(ours) == len(theirs):
        stems = new.auxiliary or old.auxiliary
        pairs = zip(ours, theirs, strict=True)
        return all(_same_word(a.norm, b.norm, stems=stems) for a, b in pairs)
    # "n'habite plus à Pau" denies "habite à Pau depuis 2010", but "ne mange pas de viande le
    # vendredi" does not deny "mange de la viande".
    if new.negations:
        denied = additions(theirs, ours)
        if denied and all(is_detail(part, old) for part in denied):
            return True
    added = additions(ours, theirs)
    return bool(added) and all(is_cause(part) for part in added)


def ends(ended: Statement, ongoing: Statement) -> bool:
    """Return whether `ended` is `ongoing` with "stopped" before the verb.

    A time may follow one of them. The caller checks that neither is negated.
    """
    ours, theirs = _norms(ended), _norms(ongoing)
    found = ((at, word_classes().match("stopped", ours, at)) for at in range(len(ours)))
    at, length = next((each for each in found if each[1]), (0, 0))
    if not length:
        return False
    before, rest = ours[:at], ours[at + length :]
    if before and before[-1] in _AUXILIARIES:
        before.pop()
    verb = len(before)
    if not (rest and verb < len(theirs) and _same_verb(rest[0], theirs[verb])):
        return False
    shorter, longer = sorted(([*before, theirs[verb], *rest[1:]], theirs), key=len)
    after = longer[len(shorter) :]
    return longer[: len(shorter)] == shorter and (not after or is_time(after))


def _same_verb(nonfinite: str, present: str) -> bool:
    """Return whether a gerund or a French infinitive belongs to the verb in the present."""
    for gerund in _GERUND_ENDINGS:
        if nonfinite.endswith(gerund):
            base = nonfinite.removesuffix(gerund)
            bases = [base, base[:-1]] if base[-1:] == base[-2:-1] else [base]  # "running", "run"
            return _stem(present) in map(_stem, bases)
    for infinitive in _INFINITIVE_ENDINGS:
        base = nonfinite.removesuffix(infinitive)
        if base and base != nonfinite:
            return present.startswith(base) and present.removeprefix(base) in _PRESENT_ENDINGS
    return False


def _comparable(statement: Statement) -> list[Word]:
    """Return the core without indefinite articles, which negation changes ("un chien", "pas de …")."""
    articles = words_of("negation_articles", language=statement.language)
    partitive: dict[str, str] = load(statement.language, "words")["partitive"]
    comparable: list[Word] = []
    previous = ""
    for word in statement.core:
        is_partitive = word.norm in partitive["article"].split() and previous == partitive["after"]
        if not is_partitive and word.norm not in articles:
            comparable.append(word)
        previous = word.norm
    return comparable


def _norms(statement: Statement) -> list[str]:
    return [word.norm for word in _comparable(statement)]


def _same_word(a: str, b: str, *, stems: bool) -> bool:
    return a == b or (stems and _stem(a) == _stem(b))


def _stem(word: str) -> str:
    """Return the base of a verb, to match "does not like" with "likes"."""
    word = _IRREGULAR.get(word, word)
    for ending, base in _BASE_ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word[: -len(ending)] + base
    return word
