"""What becomes of a new statement that resembles an old one. Pure and deterministic.

Similarity only nominates: vectors put "David habite à Paris" next to "Mickael habite à Paris", and
a sentence next to its negation. Here the words decide, and what no rule is sure of is left for
review: a wrong merge costs more trust than a duplicate. The rules are tried in the order of the
table in the design: the same, negated or replaced, more detailed, different, unsure, apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from hippocampe.consolidation.elaboration import additions, is_cause, is_detail, is_moved
from hippocampe.consolidation.relations import Relation, relation_of, relations
from hippocampe.consolidation.supersession import Outcome, compared
from hippocampe.language.lexicon import mapping, of, together
from hippocampe.language.lexicon import words as words_of
from hippocampe.language.sentence import (
    OneNames,
    Statement,
    is_name,
    is_time,
    lexicon,
    read,
    spelling,
)
from hippocampe.language.tokenizer import Word

__all__ = ["Decision", "Relation", "Verdict", "compare", "decide", "relation_of", "subjects_of"]

_NO_ALIASES: Final[Mapping[str, frozenset[str]]] = MappingProxyType({})
_PRESENT: Final = frozenset(together("words")["present_endings"])
"""What follows the base of a verb in the present, when an infinitive has another ending."""
_INFINITIVES: Final = tuple(words_of("infinitive_endings"))
_GERUNDS: Final = tuple(words_of("gerund_endings"))
_BASES: Final[list[tuple[str, str]]] = together("words")["base_endings"]
_IRREGULAR: Final = mapping("irregular")
_AUXILIARIES: Final = words_of("auxiliaries")
_HAVE_UNACCENTED: Final = words_of("have_unaccented")
_PERSONS: Final = words_of("persons")
_UNNAMED: Final = words_of("unnamed")
_ARTICLES: Final = words_of("articles")
_SOMEONE: Final = words_of("someone")
_NUMBER_WORDS: Final = words_of("numerals")


class Verdict(StrEnum):
    """What to do with the new statement."""

    REINFORCED = "reinforced"
    UPDATED = "updated"
    RELATED = "related"
    UNSURE = "unsure"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and its reason in a few words that can be shown ("home: ordizan → toulouse")."""

    verdict: Verdict
    reason: str


_OUTCOMES: Final[Mapping[Outcome, Verdict]] = MappingProxyType(
    {
        "negated": Verdict.UPDATED,
        "known": Verdict.REINFORCED,
        "detailed": Verdict.UPDATED,
        "replaced": Verdict.UPDATED,
        "perhaps": Verdict.UNSURE,
    }
)


def decide(
    new: str,
    old: str,
    *,
    new_subjects: Sequence[str] = (),
    old_subjects: Sequence[str] = (),
    aliases: Mapping[str, frozenset[str]] = _NO_ALIASES,
) -> Decision:
    """Decide what the statement `new` is to the nominated statement `old`.

    `new_subjects` and `old_subjects` are their tags; they only say whom a statement is about that
    names nobody ("works at Google", "il habite à Pau"). `aliases` maps a name to its other names.
    """
    names = OneNames(aliases)
    return compare(
        read(new, subjects=new_subjects, names=names), read(old, subjects=old_subjects, names=names)
    )


def compare(fresh: Statement, known: Statement) -> Decision:
    """`decide` between two statements that were read, both with the same aliases."""
    for rule in (_same, _negation, _end, _relation, _detail, _difference):
        decision = rule(fresh, known)
        if decision is not None:
            return decision
    return _overlap(fresh, known)


def subjects_of(text: str) -> frozenset[str]:
    """The likely subjects of `text`, folded: its proper names and whom its relation is about.

    In a text without capitals the first word stands for a name unless it is a function word.
    """
    statement = read(text)
    found = set(_names(statement.words, statement))
    for relation in relations(statement):
        if relation.subject not in ("", "we", "they"):
            found.add(relation.subject)
    if statement.lowercase and statement.core:
        first = statement.core[0].norm
        if first.isalpha() and first in statement.weighty:
            found.add(first)
    return frozenset(found)


def _same(new: Statement, old: Statement) -> Decision | None:
    if new.norms or old.norms:
        # Letters rule out most before they are spelt.
        same = new.norms == old.norms or (
            new.letters == old.letters and spelling(new.text) == spelling(old.text)
        )
    else:
        same = new.text.strip() == old.text.strip()
    if not same:
        return None
    if _other_subject(new, old):
        return Decision(Verdict.RELATED, f"different subject: {_tags(new)} / {_tags(old)}")
    return Decision(Verdict.REINFORCED, "same statement")


def _other_subject(new: Statement, old: Statement) -> bool:
    """Whether the tags tell apart two statements that name nobody themselves."""
    if not (new.subjects and old.subjects) or new.subjects & old.subjects:
        return False
    return not (_names(new.words, new) or _names(old.words, old))


def _tags(statement: Statement) -> str:
    return ", ".join(sorted(statement.subjects)) or "?"


def _negation(new: Statement, old: Statement) -> Decision | None:
    """The new statement is the negation of the old one, or the old one was negated."""
    if new.unclear or old.unclear or new.question or old.question:
        return None
    if new.negations == old.negations or _other_subject(new, old):
        return None
    ours, theirs = _bare(new), _bare(old)
    if len(ours) == len(theirs):
        stems = new.auxiliary or old.auxiliary
        if all(_same_word(a, b, stems=stems) for a, b in zip(ours, theirs, strict=True)):
            return Decision(Verdict.UPDATED, "negation")
        return None
    # "n'habite plus à Pau" denies "habite à Pau depuis 2010", but "ne mange pas de viande le
    # vendredi" does not deny "mange de la viande".
    affirmed, denied = (old, new) if new.negations else (new, old)
    added = additions(_bare_words(affirmed), _bare_words(denied))
    if new.negations and added and all(is_detail(part, old) for part in added):
        return Decision(Verdict.UPDATED, "negation")
    longer = additions(_bare_words(new), _bare_words(old))
    if longer and all(is_cause(part) for part in longer):
        return Decision(Verdict.UPDATED, "negation")
    return None


def _end(new: Statement, old: Statement) -> Decision | None:
    """One says that what the other says has ended: "plays golf", "stopped playing golf"."""
    may_hold = lexicon().may_hold
    if not (may_hold("stopped", new.norms) or may_hold("stopped", old.norms)):
        return None
    if new.unclear or old.unclear or new.question or old.question or _other_subject(new, old):
        return None
    if new.negations or old.negations:
        return None
    if _ends(new, old):
        return Decision(Verdict.UPDATED, "it has ended")
    if _ends(old, new):
        return Decision(Verdict.UPDATED, "it goes on again")
    return None


def _ends(ended: Statement, going_on: Statement) -> bool:
    """Whether `ended` is `going_on` with "stopped" before its verb; a time may follow one of them."""
    ours, theirs = _bare(ended), _bare(going_on)
    found = ((at, lexicon().match("stopped", ours, at)) for at in range(len(ours)))
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


def _same_verb(ending: str, present: str) -> bool:
    """Whether a gerund or a French infinitive is of the verb that stands in the present."""
    for gerund in _GERUNDS:
        if ending.endswith(gerund):
            base = ending.removesuffix(gerund)
            bases = [base, base[:-1]] if base[-1:] == base[-2:-1] else [base]  # "running", "run"
            return _stem(present) in map(_stem, bases)
    for infinitive in _INFINITIVES:
        base = ending.removesuffix(infinitive)
        if base and base != ending:
            return present.startswith(base) and present.removeprefix(base) in _PRESENT
    return False


def _bare_words(statement: Statement) -> list[Word]:
    """The core without indefinite articles, which a negation changes ("un chien", "pas de …")."""
    articles = words_of("negation_articles", language=statement.language)
    partitive: dict[str, str] = of(statement.language, "words")["partitive"]
    kept: list[Word] = []
    previous = ""
    for word in statement.core:
        is_partitive = word.norm in partitive["article"].split() and previous == partitive["after"]
        if not is_partitive and word.norm not in articles:
            kept.append(word)
        previous = word.norm
    return kept


def _bare(statement: Statement) -> list[str]:
    return [word.norm for word in _bare_words(statement)]


def _same_word(a: str, b: str, *, stems: bool) -> bool:
    return a == b or (stems and _stem(a) == _stem(b))


def _stem(word: str) -> str:
    """The base of a verb, for "does not like" against "likes"."""
    word = _IRREGULAR.get(word, word)
    for ending, base in _BASES:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word[: -len(ending)] + base
    return word


def _relation(new: Statement, old: Statement) -> Decision | None:
    """Both state one single-valued relation of one subject."""
    stated = relations(new)
    if not stated:
        return None
    before = {relation.name: relation for relation in relations(old)}
    for now in stated:
        then = before.get(now.name)
        if then is None or not _same_subject(now, new, then, old):
            continue
        crossed = (
            now.kind in ("name", "place")
            and now.value != then.value
            and _mentions(old, now)
            and _mentions(new, then)
        )
        if crossed:
            return Decision(Verdict.RELATED, f"roles swapped: {now.value} / {then.value}")
        outcome = compared(now, then)
        if outcome is not None:
            return Decision(_OUTCOMES[outcome], _told(outcome, now, then))
    return None


def _told(outcome: Outcome, now: Relation, then: Relation) -> str:
    match outcome:
        case "negated":
            return f"negation of {now.name}: {now.value}"
        case "known":
            return f"{now.name}: {then.value} already known"
        case "detailed":
            return f"adds detail to {now.name}: {' '.join((now.value, *now.rest))}"
        case "replaced":
            return f"{now.name}: {then.value} → {now.value}"
        case "perhaps":
            return f"perhaps {now.name}: {then.value} → {now.value}"


def _mentions(statement: Statement, relation: Relation) -> bool:
    """Whether it names most of the value: "New York" names much of "New York City"."""
    value = set(relation.value.split())
    return 2 * len(value.intersection(statement.norms)) > len(value)


def _same_subject(now: Relation, new: Statement, then: Relation, old: Statement) -> bool:
    if now.subject == then.subject and now.subject in ("user", "we"):
        return True
    return bool(_holders(now, new) & _holders(then, old))


def _holders(relation: Relation, statement: Statement) -> frozenset[str]:
    """Whom it is about: the named subject, else the tags that the text does not already use."""
    if relation.subject not in ("", "they", "user"):
        return frozenset({relation.subject})
    tags = frozenset(tag for tag in statement.subjects if tag not in statement.norms)
    if relation.subject == "user":
        return tags | {"user"}
    return tags if tags or relation.subject == "they" else frozenset({""})


def _detail(new: Statement, old: Statement) -> Decision | None:
    """One says all that the other says, and adds where, when, with whom or why."""
    if new.question or old.question or new.negations != old.negations or _other_subject(new, old):
        return None
    if new.unclear != old.unclear or _is_someone(old):
        return None
    ours, theirs = list(new.core), list(old.core)
    if len(ours) == len(theirs):
        if is_moved(new, old):
            return Decision(Verdict.REINFORCED, "same statement, reordered")
        return None
    longer, shorter = (new, old) if len(ours) > len(theirs) else (old, new)
    added = additions(list(longer.core), list(shorter.core))
    if not added or not all(is_detail(part, shorter) for part in added):
        return None
    said = "; ".join(" ".join(w.norm for w in part.words) for part in added)
    if longer is new:
        return Decision(Verdict.UPDATED, f"adds detail: {said}")
    return Decision(Verdict.REINFORCED, f"already known with detail: {said}")


def _is_someone(statement: Statement) -> bool:
    """Whether it is about "a man" or "some people": the next one may be another."""
    return bool(statement.norms) and statement.norms[0] in _SOMEONE


def _difference(new: Statement, old: Statement) -> Decision | None:
    """Both say something alike, but a name, a number, a date or a role differs."""
    if not _shared(new, old):
        return None
    only_new, only_old = _words_beyond(new, old), _words_beyond(old, new)
    for kind, pick in (
        ("name", _names),
        ("number", _numbers),
        ("date", _dated),
        ("subject", _persons),
    ):
        left = pick(only_new, new)
        right = pick(only_old, old) if left else []
        if left and right:
            return Decision(
                Verdict.RELATED, f"different {kind}: {' '.join(right)} / {' '.join(left)}"
            )
    if not only_new and not only_old and len(new.words) == len(old.words):
        return Decision(Verdict.RELATED, "roles swapped")
    return None


def _words_beyond(statement: Statement, other: Statement) -> list[Word]:
    """The words that occur in it more often than in the other."""
    ours, theirs = statement.counts, other.counts
    return [word for word in statement.words if ours[word.norm] > theirs.get(word.norm, 0)]


def _names(words: Sequence[Word], statement: Statement) -> list[str]:
    return [word.norm for word in words if _is_named(word, statement)]


def _is_named(word: Word, statement: Statement) -> bool:
    """Whether it is a name, and not a capital that only opens the sentence ("Habite à …")."""
    if not is_name(statement, word):
        return False
    if not word.opens:
        return True
    at = statement.words.index(word)
    following = statement.words[at + 1 : at + 2]
    if not following or following[0].surface.lower() in _HAVE_UNACCENTED:
        return True
    after = following[0].norm
    return not (lexicon().has("adjunct", after) or after in _ARTICLES)


def _numbers(words: Sequence[Word], statement: Statement) -> list[str]:
    return [w.norm for w in words if any(c.isdigit() for c in w.norm) or _is_number_word(w.norm)]


def _is_number_word(norm: str) -> bool:
    return norm in _NUMBER_WORDS


def _dated(words: Sequence[Word], statement: Statement) -> list[str]:
    return [word.norm for word in words if word.norm in lexicon().times]


def _persons(words: Sequence[Word], statement: Statement) -> list[str]:
    return [w.norm for w in words if w.norm in _PERSONS or _is_named(w, statement)]


def _overlap(new: Statement, old: Statement) -> Decision:
    if _shared(new, old):
        return Decision(Verdict.UNSURE, "alike, and no rule is sure")
    return Decision(Verdict.APART, "nothing shared but the subject")


def _shared(new: Statement, old: Statement) -> frozenset[str]:
    """The words of weight that both have, the subject they begin with left out."""
    shared = new.weighty & old.weighty
    return shared.difference(set(_leading(new)).intersection(_leading(old))) if shared else shared


def _leading(statement: Statement) -> Iterator[str]:
    """The subject a statement begins with: its first words up to the first that is no name."""
    for word in statement.core:
        if not (is_name(statement, word) or word.norm in _UNNAMED or word is statement.core[0]):
            return
        yield word.norm
