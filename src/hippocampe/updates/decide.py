"""Decide what a new statement means for an existing one that resembles it.

Similarity only nominates candidates: vectors place "David habite à Paris" next to "Mickael habite à
Paris", and a sentence next to its negation. The words decide, by deterministic rules tried in order:
same, relation, outcome, fact, past, opposite, overlap. A pair that no rule decides is weighed by a learnt model (`weighing`) or left for
review, because a wrong merge costs more trust than a duplicate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import Final, Literal

from hippocampe.language.asides import are_of_two
from hippocampe.language.difference import SWAPPED, difference, other_unit, shared_words
from hippocampe.language.ends import ends
from hippocampe.language.equality import same_spelling
from hippocampe.language.lexicon import words_of
from hippocampe.language.names import NO_OTHER_NAMES, Aliases, CanonicalNames
from hippocampe.language.relation_values import TRADES
from hippocampe.language.relations import Relation, relations
from hippocampe.language.roles import only_order_differs
from hippocampe.language.statement import Statement, parse
from hippocampe.language.word_classes import word_classes
from hippocampe.updates.facts import are_two_facts
from hippocampe.updates.occasions import is_left_for_the_day
from hippocampe.updates.outcomes import outcome
from hippocampe.updates.supersession import ValueChange, value_change

__all__ = ["Decision", "Verdict", "compare", "decide"]

_UNION: Final = words_of("union")
_WITH: Final = words_of("beside")

Rule = Literal[
    "subject", "same", "relation", "outcome", "fact", "past", "opposite", "overlap", "weighed"
]
"""The rule that decided; "weighed" is the learnt model."""


class Verdict(StrEnum):
    """The decision on the new statement."""

    REINFORCED = "reinforced"
    UPDATED = "updated"
    RELATED = "related"
    UNSURE = "unsure"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on a pair of statements, and how it was reached.

    Attributes:
        verdict: The decision on the new statement.
        rule: The rule that decided.
        reason: Explanation for people: "home: ordizan → toulouse".
        relation: Name of the relation both state, if the rule is `relation`.
        change: The new value of that relation compared with the old one.
        probability: Of a merge, if the learnt model weighed the two.
    """

    verdict: Verdict
    rule: Rule
    reason: str
    relation: str | None = None
    change: ValueChange | None = None
    probability: float | None = None

    @property
    def is_final(self) -> bool:
        """Return whether the learnt model may not decide otherwise."""
        sure = self.rule in ("fact", "past", "opposite", "subject")
        return sure or self.verdict in (Verdict.UPDATED, Verdict.REINFORCED)

    @property
    def names_no_target(self) -> bool:
        """Return whether the statement makes a choice without naming the replaced one ("use MySQL instead")."""
        return self.relation == "choice" and self.change in ("known", "replaced")


_VERDICTS: Final[Mapping[ValueChange, Verdict]] = MappingProxyType(
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
    aliases: Aliases = NO_OTHER_NAMES,
) -> Decision:
    """Decide what the statement `new` means for the existing statement `old`.

    Args:
        new: The new statement.
        old: The existing statement.
        new_subjects: Subject tags of `new`, used only when the text names nobody ("works at Google").
        old_subjects: Subject tags of `old`, used likewise.
        aliases: The other names of each name.
    """
    names = CanonicalNames(aliases)
    return compare(
        parse(new, subjects=new_subjects, names=names),
        parse(old, subjects=old_subjects, names=names),
    )


def compare(new: Statement, old: Statement) -> Decision:
    """Decide like `decide`, on statements parsed with the same aliases.

    An aside about the subject ("David, le frère de Mickael, …") changes nothing, unless the two have different ones:
    then they may be about two people of one name.
    """
    decision = _compare(new, old)
    if decision.is_final or (new.plain is None and old.plain is None):
        return decision
    if new.aside and old.aside and are_of_two(new.aside, old.aside):
        return decision
    plain = _compare(new.plain or new, old.plain or old)
    loses_nothing = plain.verdict is Verdict.UPDATED or not new.aside
    return plain if plain.is_final and loses_nothing else decision


def _compare(new: Statement, old: Statement) -> Decision:
    for rule in (_subject, _same, _relation, _outcome, _birth, _fact, _past, _opposite):
        decision = rule(new, old)
        if decision is not None:
            return decision
    return _overlap(new, old)


def _subject(new: Statement, old: Statement) -> Decision | None:
    """The tags alone say whom each is about, and it is not the same: "est malade" of Léa and of Marc."""
    if not (new.subjects and old.subjects) or new.subjects & old.subjects:
        return None
    if not (_says_nobody(new) and _says_nobody(old)):
        return None
    ours, theirs = (", ".join(sorted(each.subjects)) for each in (new, old))
    return Decision(Verdict.RELATED, "subject", f"different subject: {ours} / {theirs}")


def _says_nobody(statement: Statement) -> bool:
    """Return whether the text has no subject, or none that says more than "she"."""
    opening = statement.tokens[:1]
    is_verb = bool(opening) and opening[0].stem in statement.verbs
    return is_verb or statement.subject in ("other", "third")


def _same(new: Statement, old: Statement) -> Decision | None:
    if new.norms or old.norms:
        same = new.norms == old.norms or same_spelling(new.text, old.text)
    else:
        same = new.text.strip() == old.text.strip()
    same = same or only_order_differs(new, old)
    return Decision(Verdict.REINFORCED, "same", "same statement") if same else None


def _relation(new: Statement, old: Statement) -> Decision | None:
    """Both statements state one single-valued relation of one subject."""
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
            reason = f"{SWAPPED}: {now.value} / {then.value}"
            return Decision(Verdict.RELATED, "relation", reason, now.name)
        change = value_change(now, then)
        if (
            (change == "known" and _other_trade(new, old))
            or (change == "replaced" and (other_unit(new, old) or _is_company(now, new)))
            or (change == "negated" and is_left_for_the_day(new, old))
        ):
            change = "perhaps"
        if change is not None:
            reason = _explain(change, now, then)
            return Decision(_VERDICTS[change], "relation", reason, now.name, change)
    return None


def _other_trade(new: Statement, old: Statement) -> bool:
    """Return whether each names a trade that the other lacks: a merge would lose one."""
    ours, theirs = (TRADES.intersection(statement.norms) for statement in (new, old))
    return bool(ours - theirs) and bool(theirs - ours)


def _is_company(now: Relation, new: Statement) -> bool:
    """Return whether a choice may be of somebody to do it with: "we went with Paul for standups"."""
    norms, value = new.norms, now.value.split()
    return (
        now.name == "choice"
        and not now.leaving
        and word_classes().has("first_names", value[0])
        and any(one in _WITH and two == value[0] for one, two in pairwise(norms))
    )


def _explain(change: ValueChange, now: Relation, then: Relation) -> str:
    match change:
        case "negated":
            polarity = "negation" if now.negated else "affirmation"
            return f"{polarity} of {now.name}: {now.value}"
        case "known":
            return f"{now.name}: {then.value} already known"
        case "detailed":
            return f"adds detail to {now.name}: {' '.join((now.value, *now.rest))}"
        case "replaced":
            return f"{now.name}: {then.value} → {now.value}"
        case "perhaps" if now.value == then.value:
            return f"perhaps {now.name}: {now.value}"
        case "perhaps":
            return f"perhaps {now.name}: {then.value} → {now.value}"


def _mentions(statement: Statement, relation: Relation) -> bool:
    """Return whether the statement has most words of the value: "New York" for "New York City"."""
    value = set(relation.value.split())
    return 2 * len(value.intersection(statement.norms)) > len(value)


def _same_subject(now: Relation, new: Statement, then: Relation, old: Statement) -> bool:
    if now.subject == then.subject and now.subject in ("user", "we"):
        return True
    if (now.subject, then.subject, now.kind) == ("we", "user", "place"):
        # Where we moved to, I live; but a team moves to a program as well.
        return any(word_classes().has(name, *now.value.split()) for name in ("towns", "countries"))
    subjects = _subjects(now, new)
    # "Ann and Tom moved to York" tells where Ann lives.
    subjects = subjects.union(*map(_members, subjects))
    return bool(subjects & _subjects(then, old))


def _members(subject: str) -> frozenset[str]:
    """The people of a subject that names several: "ann and tom"."""
    together = [
        list(each) for union, each in groupby(subject.split(), _UNION.__contains__) if not union
    ]
    return frozenset(" ".join(each) for each in together)


def _subjects(relation: Relation, statement: Statement) -> frozenset[str]:
    """Return the subject the text names, or else the tags that do not occur in the text."""
    if relation.subject not in ("", "they", "user"):
        return frozenset({relation.subject})
    tags = frozenset(tag for tag in statement.subjects if tag not in statement.norms)
    if relation.subject == "user":
        return tags | {"user"}
    # What leaves out its subject is about its user.
    return tags if tags or relation.subject == "they" else frozenset({"", "user"})


def _outcome(new: Statement, old: Statement) -> Decision | None:
    """The new statement tells the event that ends what the old one tells."""
    why = outcome(new, old)
    return Decision(Verdict.UPDATED, "outcome", why) if why else None


def _birth(new: Statement, old: Statement) -> Decision | None:
    """Only one tells where somebody was born: it neither repeats nor undoes where they are, or live."""
    ours, theirs = (
        any(each.name == "birth place" for each in relations(statement)) for statement in (new, old)
    )
    return Decision(Verdict.RELATED, "past", "a birth is another fact") if ours != theirs else None


def _fact(new: Statement, old: Statement) -> Decision | None:
    """They tell two facts of one person or thing: "Otto's birthday is 4 May", "Otto is 9"."""
    return Decision(Verdict.APART, "fact", "another fact") if are_two_facts(new, old) else None


def _past(new: Statement, old: Statement) -> Decision | None:
    """One statement ends a plan or an activity, the other tells what was achieved: "gave up running", "won in 2019".

    Unless both tell the achievement: "has never won" may correct "has won".
    """
    for ended, told in ((new, old), (old, new)):
        if _is_achieved(told) and not _is_achieved(ended) and _has_ended(ended):
            return Decision(Verdict.RELATED, "past", "an end does not undo what was achieved")
    return None


def _opposite(new: Statement, old: Statement) -> Decision | None:
    """They tell both ends of something, each with its time or amount: "opens at 9", "closes at 19"."""
    opposed = ends(new, old)
    # Few statements have both ends, and values take the time to find.
    if opposed is None or not (_has_value(new) and _has_value(old)):
        return None
    ours, theirs = opposed
    return Decision(Verdict.RELATED, "opposite", f"both ends: {theirs} / {ours}")


def _has_value(statement: Statement) -> bool:
    return any(token.kind != "word" for token in statement.tokens)


def _has_ended(statement: Statement) -> bool:
    """Return whether a plan or an activity has ended."""
    signs = statement.signs
    ceased = "future" in signs or word_classes().occurs("ceased", statement.norms)
    return "ended" in signs or bool(statement.negations and ceased)


def _is_achieved(statement: Statement) -> bool:
    """Return whether a statement tells something done for good, such as a record with its value."""
    if statement.question or statement.negations:
        return False
    classes = word_classes()
    if classes.occurs("achieved", statement.norms):
        return True
    measured = any(character.isdigit() for character in statement.text)
    return measured and classes.occurs("achievement", statement.norms)


def _overlap(new: Statement, old: Statement) -> Decision:
    """Shared words, but no relation between the statements that a rule knows."""
    if not shared_words(new, old):
        return Decision(Verdict.APART, "overlap", "nothing shared but the subject")
    if reason := difference(new, old):
        return Decision(Verdict.RELATED, "overlap", reason)
    return Decision(Verdict.UNSURE, "overlap", "alike, and no rule is sure")
