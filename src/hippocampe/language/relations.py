"""Extract the single-valued relations of a statement: "David habite à Pau" → home of david: pau.

The wordings are data (`language/*/relations.toml`). A relation is extracted only when the whole
statement matches its wording. Past tenses, wishes, guesses and other people's opinions match none, so
they can replace nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import Final

from hippocampe.language.adverbials import is_time
from hippocampe.language.calendar import NUMBERS
from hippocampe.language.grammar import grammar
from hippocampe.language.lexicon import load_all, words_of
from hippocampe.language.relation_values import (
    MAX_REST_WORDS,
    MAX_VALUE_WORDS,
    is_sure,
    split_value,
    value_of,
    without_leading,
)
from hippocampe.language.statement import Statement, is_hedged, is_name, parse
from hippocampe.language.text_cache import text_cache
from hippocampe.language.tokenizer import Word
from hippocampe.language.word_classes import word_classes
from hippocampe.language.wordings import Aspect, ValueKind, Wording, candidate_wordings

_DETERMINERS: Final = words_of("determiners")
_INDEFINITE: Final = words_of("indefinite")
SPEAKER: Final = "user"
"""The subject of a relation in the first person."""
_HOLDERS: Final = {
    word: subject
    for role, subject in (("speaker", SPEAKER), ("group", "we"), ("others", "they"))
    for word in words_of(role)
}
"""The subject that a word means by itself: "je", "nous", "elle"."""
_SOMEONE: Final = words_of("someone")
_POSSESSIVES: Final = words_of("possessives")
_OWNER_LINKS: Final = words_of("owner_links")
_OPEN_LINKS: Final = words_of("open_links")
_CONTRAST: Final = words_of("contrast")
_AFTER_CHOICE: Final = words_of("after_choice")
_NEW: Final = frozenset(load_all("relations")["macros"]["NEW"])
_NO_OWNERS: Final = ("not_owners", "hedges", "not_names", "pronouns", "also", "time", "adjunct")
_MAX_WORDS: Final = 30
_MAX_OPENING: Final = 400
"""Characters that are read to find the subject of a statement."""

TASTE: Final = "attitude"
"""The relation of who likes or dislikes what."""
ROUGH: Final = frozenset({TASTE, "employment"})
"""The relations that hold less than a statement of them says: one value has several wordings or things."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A single-valued relation.

    Attributes:
        name: Name of the relation: "home".
        subject: The subject; "user" for the first person, "we" for its plural, "" if not named.
        value: The value, folded.
        slot: Distinguishes relations of one name: the thing liked, the purpose of a tool.
        leaving: The previous value, if the statement names it.
        rest: The remaining words of the statement.
        aspect: Whether the wording states a state ("lives in") or an event ("moved to").
        kind: Kind of value.
        negated: Whether the statement denies the relation.
        sure: Whether the value is one that lasts: not in "ma femme est malade", "I'm seeing Tom tonight".
        preceded: Whether other words stand before it, which a repetition may add: "mdr, j'habite à Nice".
        beside: Whether it holds beside other values, since nothing says that it is new: "I use Anki".
    """

    name: str
    subject: str
    value: str
    slot: str = ""
    leaving: str = ""
    rest: tuple[str, ...] = ()
    aspect: Aspect = "state"
    kind: ValueKind = "text"
    negated: bool = False
    sure: bool = True
    preceded: bool = False
    beside: bool = False


def relation_of(text: str) -> Relation | None:
    """Return the first relation of `text`, by which memories are found."""
    return next(iter(relations_of(text)), None)


def relations_of(text: str) -> tuple[Relation, ...]:
    """Return the relations of each part of `text`, or of the part without its aside."""
    return tuple(
        relation
        for part in parse(text).parts
        for relation in relations(part) or relations(part.plain or part)
    )


@text_cache(256, length=lambda statement: len(statement.text))
def relations(statement: Statement) -> tuple[Relation, ...]:
    """Return every relation whose wording matches the whole statement, or all but words that state nothing."""
    found = tuple(_relations(statement))
    if not found and statement.labelled:
        found = tuple(_relations(statement.labelled))
    if not found or any(each.negated for each in found):
        found = _of_halves(statement) or found
    for later in () if found or statement.plain else statement.later:
        if found := tuple(
            replace(each, preceded=True) for each in _relations(later) if each.subject
        ):
            return found
    return found


def _of_halves(statement: Statement) -> tuple[Relation, ...]:
    """Return the relations of both clauses of a statement, if the first one ends what the second one may go on from."""
    found = [tuple(_relations(half)) for half in statement.halves]
    if not found or not any(each.negated for each in found[0]):
        return ()
    return tuple(replace(each, preceded=True) for half in found for each in half)


def leaves_out_subject(text: str) -> bool:
    """Return whether a statement leaves out its user, as programs write: "Lives in Lyon", "Aime le jazz", "Email: a@b.example"."""
    statement = parse(text[:_MAX_OPENING])
    if statement.question:
        return False
    if any(not each.subject for each in relations(statement)):
        return True
    verbs = grammar(statement.language).verbs
    tokens = list(dropwhile(lambda token: "light" in token.roles, statement.tokens))
    if len(tokens) < 2 or "auxiliary" in tokens[0].roles:
        return len(tokens) > 1
    # "Building B is closed" and "Train leaves at 8" begin with a noun.
    later = (token for token in tokens[1:] if token.stem in verbs or "auxiliary" in token.roles)
    return tokens[0].stem in verbs and next(later, None) is None


def is_fragment(text: str) -> bool:
    """Return whether a statement has no known verb, so that nobody can tell whose it is: "Salary: 2400 euros"."""
    return not parse(text[:_MAX_OPENING]).has_verb


def _relations(statement: Statement) -> Iterator[Relation]:
    if statement.question or statement.ironic or not 0 < len(statement.core) <= _MAX_WORDS:
        return
    if any(word.opens for word in statement.core[1:]):  # more than one sentence
        return
    text = "".join(f"{word.norm.replace(' ', '_')} " for word in statement.core)
    present = frozenset(word.norm for word in statement.core)
    seen: set[str] = set()
    for wording in candidate_wordings(present):
        if wording.name in seen or any(present.isdisjoint(need) for need in wording.needs):
            continue
        match = wording.pattern().fullmatch(text)
        if match and (relation := _relation(statement, wording, match)):
            seen.add(wording.name)
            yield relation


def _relation(statement: Statement, wording: Wording, match: re.Match[str]) -> Relation | None:
    # "a cinq ans de plus que moi" is no age, but not the same as one.
    if statement.unclear and (wording.kind != "number" or statement.negations):
        return None
    owner = _owner_of(statement, wording, match)
    written = _words(statement, match, "value")
    stated = written
    if wording.kind != "number":
        stated = without_leading(_DETERMINERS - _INDEFINITE, stated)
    if owner is None or not stated:
        return None
    head, rest = split_value(stated, wording.kind, lowercase=statement.lowercase)
    rest += _words(statement, match, "rest")
    value = value_of(statement, wording, head)
    qualifier = _words(statement, match, "slot")
    if value is None or not _is_asserted(stated, rest, qualifier):
        return None
    if rest and not _may_follow([word.norm for word in rest], wording.kind):
        return None
    slot = without_leading(_DETERMINERS, qualifier)
    if qualifier and not slot:
        return None
    return Relation(
        name=wording.name,
        subject=owner,
        value=value,
        slot=" ".join(word.norm for word in slot),
        leaving=" ".join(word.norm for word in _words(statement, match, "from")),
        rest=tuple(word.norm for word in rest),
        aspect="state" if wording.aspect == "end" else wording.aspect,
        kind=wording.kind,
        negated=bool(statement.negations) != (wording.aspect == "end"),
        sure=is_sure(statement, wording, written, head, rest, value),
        beside=_is_beside(statement, wording, match),
    )


def _owner_of(statement: Statement, wording: Wording, match: re.Match[str]) -> str | None:
    """The owner that a match names; empty for none, and None for one that is not clear."""
    groups = match.groupdict()
    place = next((each for each in ("owner", "mine") if each in groups), None)
    owner = _owner(statement, _words(statement, match, place)) if place else ""
    if wording.owned and place and not owner:
        return None
    return "we" if wording.shared_owner and owner in ("", "we", "user") else owner


def _is_beside(statement: Statement, wording: Wording, match: re.Match[str]) -> bool:
    """Return whether somebody tells what they use, without a purpose or a word that makes it a decision.

    "Use MySQL", "Decision: we use MySQL" and "we use MySQL now" decide.
    """
    decides = len(statement.core) < len(statement.words) or not match.groupdict().get("owner")
    return wording.shared_owner and wording.aspect == "state" and not decides


def _is_asserted(value: Sequence[Word], rest: Sequence[Word], slot: Sequence[Word]) -> bool:
    """Return whether the words state a short fact, without a wish, a guess or a contrast."""
    if len(rest) > MAX_REST_WORDS or len(slot) > MAX_VALUE_WORDS:
        return False
    around = [*value, *rest, *slot]
    return not is_hedged(around) and all(word.norm not in _CONTRAST for word in around)


def _may_follow(extra: Sequence[str], kind: ValueKind) -> bool:
    """Return whether the words after a value leave it intact. They do not in "works for Acme's rival"."""
    if extra[0] == "'s":
        return False
    if kind != "choice" or is_time(extra) or extra[0] in _AFTER_CHOICE:
        return True
    # "Un paquet par jour", "ten a day".
    counted = any(norm.isdigit() or norm in NUMBERS for norm in extra[:-1])
    return counted and extra[-1] in word_classes().times


def _words(statement: Statement, match: re.Match[str], group: str) -> list[Word]:
    """Return the words of a group of a wording; none if the wording lacks it."""
    if group not in match.re.groupindex:
        return []
    start, end = match.span(group)
    text = match.string
    return list(statement.core[text.count(" ", 0, start) : text.count(" ", 0, end)])


def _owner(statement: Statement, words: list[Word]) -> str | None:
    """Return the subject, or None when the words are more than that ("David pense que …")."""
    if len(words) > 1 and words[0].norm in _SOMEONE:
        return None  # "a man" may be another man next time
    if len(words) == 1 and words[0].norm in _NEW:
        return None
    owner = without_leading(_DETERMINERS, words)
    norms = [word.norm for word in owner]
    if len(norms) == 1 and norms[0] in _HOLDERS:
        return _HOLDERS[norms[0]]
    if not _is_owner(owner, determined=len(owner) < len(words)):
        return None
    return " ".join(norm for norm in norms if norm not in _DETERMINERS)


def _is_owner(words: Sequence[Word], *, determined: bool) -> bool:
    """Return whether words mean one person or thing: "Anna", "ma sœur", "le projet Atlas", "Paul's dog"."""
    norms = [word.norm for word in words]
    possessed = bool(norms) and norms[0] in _POSSESSIVES
    linked = not _OWNER_LINKS.isdisjoint(norms)
    unlinked = [word for word in words[possessed:] if word.norm not in _OWNER_LINKS]
    common = [word for word in unlinked if not is_name(word)]
    classes = word_classes()
    if any(classes.has(name, word.norm) for word in common for name in _NO_OWNERS):
        return False
    if len(common) > 2 or not _OPEN_LINKS.isdisjoint(norms[-1:]):
        return False
    named = len(common) < len(unlinked)
    if len(common) == 2:
        return linked or (possessed and not named)
    titled = determined and common == list(words[:1])  # "le projet Atlas"
    return not common or not named or linked or titled
