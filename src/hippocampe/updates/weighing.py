"""The learnt decision over the evidence of two aligned statements, for pairs that no sure rule decides.

Pairs that may merge are read: the learnt model weighs the reader's opinion with the evidence. Without the reader,
nothing is merged here.

A pair that must not merge at any probability (a doubt, a question, swapped roles) is listed for review, and so is
every pair that may well belong together: a review loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

import numpy as np

from hippocampe.language.adverbials import with_time_behind
from hippocampe.language.difference import (
    SWAPPED,
    counts_another,
    is_about_another,
    numbered_things,
    other_unit,
)
from hippocampe.language.ends import tells_one_end
from hippocampe.language.equated import equated_names
from hippocampe.language.lexicon import words_of
from hippocampe.language.negation import are_contraries, may_reverse
from hippocampe.language.relations import TASTE, Relation, relations
from hippocampe.language.roles import roles_swapped
from hippocampe.language.secrets import MASKED
from hippocampe.language.statement import CHANGE, Statement, parse
from hippocampe.language.tense import Tense, is_past, tense_of
from hippocampe.language.text import keywords
from hippocampe.language.tokens import Token
from hippocampe.language.word_classes import word_classes
from hippocampe.updates.alignment import Alignment, align
from hippocampe.updates.beside import beside
from hippocampe.updates.decide import Decision, Verdict
from hippocampe.updates.evidence import common_subsequence, evidence_of, substituted
from hippocampe.updates.learnt import MERGING, OUTCOMES, SAME, SEPARATE, UPDATE, Floats, Model
from hippocampe.updates.occasions import is_of_another_meal, is_only_done_again, occasion
from hippocampe.updates.plans import (
    NEW,
    amount_kept,
    may_both_hold,
    share_to_merge,
    share_to_review,
    tells_when_or_where,
)
from hippocampe.updates.possessions import is_another_one, is_one_more

_ALTERNATIVE: Final = words_of("alternative")
_UNION: Final = words_of("union")
_LINKING: Final = frozenset({"definite", "be", "at", "of"})
_NEVER_THE_SAME: Final = ("other_polarity", "hedged", "no_longer_hedged", "one_substituted")
LEAST_COSINE: Final = 0.15
"""Two statements that share a keyword are weighed from this cosine on."""
_NEAR: Final = 0.22
"""All others are weighed from this cosine on."""
_SHOWN_WORDS: Final = 5
_SAME_WORDS, _IN_ORDER, _AS_LONG = 0.6, 0.95, 0.25
"""Least share of common words, share of words in the same order, and difference of the logarithms of the lengths,
of two statements that differ in the order of their words: 83 % of the pairs of PAWS-X that differ in meaning, and
.7 % of the updates of `benchmarks/learn_decide.py`."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """An old statement to weigh a new one against.

    Attributes:
        statement: The old statement.
        cosine: The cosine of the two, as evidence.
        rule: The decision of the rules, which is no merge.
        labels: Written before the old and the new text when they are read, as from `speakers.labels`.
    """

    statement: Statement
    cosine: float
    rule: Decision
    labels: tuple[str, str] = ("", "")

    def pair(self, new: Statement) -> tuple[str, str]:
        """Both texts to read."""
        old_label, new_label = self.labels
        return (
            old_label + with_time_behind(self.statement.text),
            new_label + with_time_behind(new.text),
        )


def worth_weighing(old: str, keywords_of_new: Set[str], cosine: float) -> bool:
    """Return whether two statements are near enough for the model to weigh them."""
    if cosine >= _NEAR:
        return True
    return cosine >= LEAST_COSINE and shares_keyword(old, keywords_of_new)


def shares_keyword(old: str, keywords_of_new: Set[str]) -> bool:
    """Return whether an old statement has a keyword of a new one."""
    return not keywords_of_new.isdisjoint(keywords(old))


Read = Callable[[Sequence[tuple[str, str]]], Floats | None]
"""The reader's logits of pairs of an old and a new statement, shape (pairs, outcomes); None while it is down."""


def weigh(
    olds: Sequence[Weighed], new: Statement, model: Model, read: Read, *, told: date = date.max
) -> list[Decision]:
    """Decide on a new statement against old ones that no sure rule decides.

    A statement of less than two words ("👍") states nothing, and one that equates two names ("cam = Camille") states
    nothing else: the decision of the rules is final.

    Args:
        olds: The old statements.
        new: The new one.
        model: The learnt weights.
        read: Reads the pairs that may merge.
        told: The day on which the new one was told.
    """
    decided = [old.rule for old in olds]
    spoken = [at for at, old in enumerate(olds) if _speaks(new) and _speaks(old.statement)]
    if not spoken:
        return decided
    aligned = [align(olds[at].statement, new) for at in spoken]
    evidence = [
        evidence_of(each, olds[at].cosine) for at, each in zip(spoken, aligned, strict=True)
    ]
    shares = model.by_evidence(evidence)
    likely = np.flatnonzero(shares[:, :MERGING].sum(axis=1) >= model.thresholds["read"])
    logits = read([olds[spoken[row]].pair(new) for row in likely])
    if logits is not None and len(likely):
        shares[likely] = model.by_both([evidence[row] for row in likely], logits)
    for row, at in enumerate(spoken):
        read_too = logits is not None and row in likely
        review = model.thresholds["review"] * share_to_review(aligned[row], told)
        thresholds = {**model.thresholds, "review": review}
        decided[at] = conclude(
            aligned[row], evidence[row], shares[row], decided[at], thresholds, read=read_too
        )
    return decided


def _speaks(statement: Statement) -> bool:
    """Return whether a statement can be weighed: it has several words, and does more than equate two names.

    One word, such as the value of a keyed fact, states nothing by itself.
    """
    words = sum(token.norm[0].isalnum() for token in statement.tokens)
    return words > 1 and equated_names(statement.text) is None


def lost_words(old: Statement, new: Statement) -> list[str]:
    """The words of an old statement that its update neither repeats nor replaces.

    A value is replaced by a value of its kind, a word by the word in its place; a verb alone is not a fact.
    """
    if not (_speaks(old) and _speaks(new)):
        return []
    aligned = align(old, new)
    kinds = {token.kind for token in new.tokens} - {"word"}
    return [
        old.tokens[at].shown
        for at in aligned.open_old
        if at not in aligned.replaced
        and old.tokens[at].kind not in kinds
        and old.tokens[at].stem not in old.verbs
    ]


def conclude(
    aligned: Alignment,
    evidence: Mapping[str, float],
    shares: Floats,
    rule: Decision,
    thresholds: Mapping[str, float],
    *,
    read: bool,
) -> Decision:
    """Decide from the probabilities of the outcomes.

    Args:
        aligned: The two statements, aligned.
        evidence: Their evidence.
        shares: The probability of each of `OUTCOMES`.
        rule: The decision of the rules, which is no merge.
        thresholds: As in `Model`.
        read: Whether the pair was read; if not, it cannot merge.
    """
    merge = float(shares[:MERGING].sum())
    if 1 - float(shares[SEPARATE]) < thresholds["review"]:
        # Another value of a relation is worth a review however little the two resemble each other.
        return apart(rule) if rule.change is None else rule
    if is_about_another(aligned.new, aligned.old) or is_only_done_again(aligned):
        return apart(rule)
    why = veto(aligned, evidence, rule)
    outcome = likeliest(shares, evidence)
    ours, theirs = aligned.old.counts.keys(), aligned.new.counts.keys()
    if outcome == "same" and may_reverse(ours - theirs, theirs - ours):
        outcome = "update"
    if outcome == "same" and MASKED in aligned.new.text:
        # Masked secrets look the same: "the gate code is …" is not "the door code is …".
        return apart(rule)
    told, known = tense_of(aligned.new), tense_of(aligned.old)
    goes_back = told < known and not aligned.open_new
    done = goes_back and _is_done(aligned)
    if why is None and goes_back and not (done or _tells_otherwise(aligned)):
        if not aligned.open_old:
            # "I have been ill" neither repeats nor ends "I am ill".
            return apart(rule)
        if not word_classes().occurs("owed", aligned.old.norms):
            # "He has walked" after "he walks to work".
            why = "perhaps once"
    if outcome == "same" and aligned.old.language != aligned.new.language:
        # An update in either language then replaces both: see `twins`.
        why = why or "in another language"
    likely = merge_probability(shares, evidence)
    changed = _says_changed(aligned, evidence) and shares[UPDATE] >= thresholds["merge"]
    clear = done or changed or _reverses(aligned) or _is_no_longer_denied(aligned)
    if clear:
        outcome, likely = "update", merge
    least = _threshold(aligned, evidence, thresholds, clear=clear)
    if read and why is None and likely >= least:
        at_one_time = told == known and is_past(aligned.new) == is_past(aligned.old)
        return _merged(aligned, outcome, merge, at_one_time=at_one_time)
    return _weighed(Verdict.UNSURE, why or f"perhaps {outcome}", aligned, merge)


def _threshold(
    aligned: Alignment,
    evidence: Mapping[str, float],
    thresholds: Mapping[str, float],
    *,
    clear: bool,
) -> float:
    """The probability from which two statements merge; a pair that needs care may be clear for another reason."""
    share = share_to_merge(aligned)
    if not needs_care(evidence):
        return thresholds["merge"] * share
    adds = _only_adds(aligned) and not (evidence["long"] or evidence["one_substituted"])
    return thresholds["merge" if clear or adds or share < 1 else "careful"]


def _says_changed(aligned: Alignment, evidence: Mapping[str, float]) -> bool:
    """Return whether the new statement says that something changed, in more than a word; a denial may be of a part alone."""
    signs = CHANGE & (aligned.new.signs - aligned.old.signs)
    return (
        bool(signs) and "no_longer" not in signs and not (evidence["long"] or evidence["one_word"])
    )


def _tells_otherwise(aligned: Alignment) -> bool:
    """Return whether the new statement says that it is now otherwise than what was to come: "we're not going after all"; "he won't
    eat fish", "he eats fish now"."""
    old, new = aligned.old, aligned.new
    denied = {"negation", "no_longer"} & (new.signs - old.signs)
    changed = bool(old.negations) and not new.negations and bool(CHANGE & (new.signs - old.signs))
    return tense_of(new) is Tense.PRESENT and (bool(denied) or changed)


def _is_no_longer_denied(aligned: Alignment) -> bool:
    """Return whether what had not happened has, all of it: "the leak isn't repaired", "the plumber has repaired the leak"."""
    old, new = aligned.old, aligned.new
    happened = is_past(new) and not (new.negations or aligned.open_old)
    return happened and bool(old.negations) and not old.unclear


def _is_done(aligned: Alignment) -> bool:
    """Return whether the old statement tells what is to be done, once: "I must call Ann", "I called Ann"."""
    classes, old = word_classes(), aligned.old.norms
    return classes.occurs("owed", old) and not classes.occurs("recurring", old)


def _reverses(aligned: Alignment) -> bool:
    """Return whether the new statement is the old one with the contrary of one word: "the alarm is off".

    A particle is a state behind "be", else a direction: "I get off the bus there".
    """
    new = aligned.new
    differ = substituted(aligned.old.tokens, new.tokens)
    if not differ or not are_contraries(*differ):
        return False
    at = new.tokens.index(differ[1])
    return at in new.content or "be" in new.tokens[at - 1].roles


def _only_adds(aligned: Alignment) -> bool:
    """Return whether the new statement adds to the old one "new", or repeats it in order and adds words behind the verb: "no longer", one more of a list."""
    old, new = aligned.old, aligned.new
    ours, theirs = ([token.stem for token in each.tokens] for each in (old, new))
    added = [at for at in new.content if new.tokens[at].stem not in ours]
    if added and all(new.tokens[at].norm in NEW for at in added):
        return True
    if any(at <= new.verb and new.tokens[at].norm not in NEW for at in added):
        return False
    if common_subsequence(ours, theirs) == len(ours):
        return True
    # The "and" of a list comes later in a longer one.
    ours, theirs = ([each.tokens[at].stem for at in each.content] for each in (old, new))
    in_order = common_subsequence(ours, theirs) == len(ours)
    return bool(added) and in_order and "negation" not in new.signs - old.signs


def _merged(aligned: Alignment, outcome: str, merge: float, *, at_one_time: bool) -> Decision:
    """Repeat or replace: a repeated statement is not stored, so it must add no word, and tell of the same time."""
    if at_one_time and _says_less(aligned):
        return _weighed(Verdict.REINFORCED, "same", aligned, merge)
    if outcome != "same":
        return _weighed(Verdict.UPDATED, outcome, aligned, merge)
    if at_one_time and not (_adds(aligned) or _chooses(aligned)):
        return _weighed(Verdict.REINFORCED, outcome, aligned, merge)
    return _weighed(Verdict.UPDATED, "update", aligned, merge)


def _says_less(aligned: Alignment) -> bool:
    """Return whether the new statement repeats a part of the old one, and nothing says that the rest is over.

    "Rehearsal is every Tuesday at 7:30 in the hall", "rehearsal is on Tuesdays"; not a shorter list.
    """
    old, new = aligned.old, aligned.new
    lost = [old.tokens[at] for at in aligned.open_old]
    if aligned.open_new or all(each.stem in old.verbs for each in lost):
        return False
    if may_reverse(old.counts.keys(), new.counts.keys()) or any(
        each.norm not in old.counts and each.roles.isdisjoint(_LINKING)
        for at, each in enumerate(new.tokens)
        if at not in new.content
    ):
        return False
    alike = new.signs == old.signs and new.hedged == old.hedged and new.negations == old.negations
    return alike and not _chooses(aligned) and _UNION.isdisjoint(old.norms)


def _weighed(verdict: Verdict, why: str, aligned: Alignment, merge: float) -> Decision:
    """A decision of the model, with the probability of a merge and the words in which the two differ."""
    if why.removeprefix("perhaps ") in OUTCOMES:
        why = f"{why}, {merge:.0%}"
    reason = ": ".join(filter(None, (why, contrast_of(aligned))))
    return Decision(verdict, "weighed", reason, probability=merge)


def _adds(aligned: Alignment) -> bool:
    """Return whether the new statement has a word that the old one lacks, in the same form, or lacks a letter of it.

    "le chien est vacciné" is the news of "il faut vacciner le chien"; a letter may be a value: "a B in history"; a degree
    is one: "very ill".
    """
    old, new = (
        {_spelled(each.tokens[at]) for at in each.content} for each in (aligned.old, aligned.new)
    )
    degrees = {each for each in aligned.new.norms if word_classes().has("degrees", each)}
    more = (new - old) or degrees.difference(aligned.old.norms)
    return bool(more) or any(len(word) == 1 for word in old - new)


def _chooses(aligned: Alignment) -> bool:
    """Return whether the old statement leaves a choice that the new one made: "blue or green"."""
    return not _ALTERNATIVE.isdisjoint(set(aligned.old.norms) - set(aligned.new.norms))


def _spelled(token: Token) -> str:
    return token.norm if token.kind == "word" else token.stem


def needs_care(evidence: Mapping[str, float]) -> bool:
    """Return whether two statements are long, differ in one common word or in one of the subject, or have the same
    words in another order.

    Such statements resemble each other whether or not they say the same.
    """
    reordered = evidence["jaccard"] >= _SAME_WORDS and evidence["in_order"] < _IN_ORDER
    reordered = reordered and abs(evidence["longer"]) < _AS_LONG and not evidence["short"]
    differs = evidence["one_word"] if evidence["one_substituted"] else reordered
    return bool(evidence["long"] or differs)


def apart(rule: Decision) -> Decision:
    """Downgrade `unsure` to `related`: the model found no merge, so no review is needed."""
    return replace(rule, verdict=Verdict.RELATED) if rule.verdict is Verdict.UNSURE else rule


def merge_probability(shares: Floats, evidence: Mapping[str, float]) -> float:
    """The probability of a merge.

    "same" does not count for one common word in the place of another ("buys", "sells"): the reader's accuracy on those is low.
    """
    merging = shares[:MERGING].sum() - evidence["one_word"] * shares[SAME]
    return float(merging)


def likeliest(shares: Floats, evidence: Mapping[str, float]) -> str:
    """The likeliest merging outcome.

    "same" drops the new words, so it needs most of the probability, the same polarity and modality, more than one other
    word, and no word beside all of the old ones.
    """
    best = int(shares[:MERGING].argmax())
    rare = best == SAME and shares[best] < shares[:MERGING].sum() / 2
    adds = evidence["covered"] == 1 and evidence["longer"] > 0
    differs = any(evidence[name] for name in _NEVER_THE_SAME)
    return "update" if rare or adds or differs else OUTCOMES[best]


def veto(aligned: Alignment, evidence: Mapping[str, float], rule: Decision) -> str | None:
    """The reason why two statements must not be merged, or None."""
    if rule.reason.startswith(SWAPPED) or _swaps(aligned, evidence):
        return SWAPPED
    if rule.change == "perhaps":
        return rule.reason
    certain = next((reason for holds, reason in _VETOES if holds(aligned)), None)
    return certain or amount_kept(aligned) or occasion(aligned) or beside(aligned)


def swaps(new: Statement, old: Statement) -> bool:
    """Return whether two statements, of several parts, have most of their words in common, and some or names in other places."""
    return share_most_words(new, old) and _swaps(
        aligned := align(old, new), evidence_of(aligned, 0.0)
    )


def share_most_words(new: Statement, old: Statement) -> bool:
    """Return whether two statements have most of their words in common."""
    return evidence_of(align(old, new), 0.0)["jaccard"] >= _SAME_WORDS


def _swaps(aligned: Alignment, evidence: Mapping[str, float]) -> bool:
    moved = needs_care(evidence) and evidence["names_moved"]
    return bool(moved) or roles_swapped(aligned.new, aligned.old)


def _is_of_another_number(aligned: Alignment) -> bool:
    """Return whether each is about a thing that its number names, and the numbers differ: "Box 12 weighs…", "Box 13"."""
    ours, theirs = (numbered_things(each, each.verb) for each in (aligned.new, aligned.old))
    return any(thing in theirs and theirs[thing] != number for thing, number in ours.items())


def _is_in_another_unit(aligned: Alignment) -> bool:
    """Return whether amounts in two units are all that differs, and nothing says that one changed: "3 miles", "5 km"."""
    old, new = aligned.old, aligned.new
    differing = [old.tokens[at] for at in aligned.open_old]
    differing += [new.tokens[at] for at in aligned.open_new]
    amounts = all(token.kind in ("number", "money") for token in differing)
    return amounts and new.signs <= old.signs and other_unit(new, old)


def _is_beside_a_taste(aligned: Alignment) -> bool:
    """Return whether the old statement says that somebody likes something, and the new one neither that nor an end.

    "I burned the curry" ends no love of it, though it ends much else that is done with curry.
    """
    old, new = aligned.old, aligned.new
    liked = any(not each.negated for each in _tastes(old))
    # A long object hides the taste from the rules: "likes films of less than two hours".
    verb = {token.stem for token in old.tokens[old.verb : old.verb + 1]}
    repeated = any(token.stem in verb for token in new.tokens)
    return liked and not (new.signs or repeated or _tastes(new))


def _goes_on_after_its_end(aligned: Alignment) -> bool:
    """Return whether the old statement says that something was finished, and the new one only that it is done.

    "Léo is reading Emma" after "Léo has finished Emma" may be older news, told late.
    """
    old, new = aligned.old, aligned.new
    finished = tense_of(old) is Tense.PAST and word_classes().occurs("finished", old.norms)
    goes_on = not (new.signs or new.negations) and tense_of(new) is Tense.PRESENT
    return finished and goes_on and len(aligned.open_new) <= 1


def _tastes(statement: Statement) -> list[Relation]:
    return [each for each in relations(statement) if each.name == TASTE]


def _will_end(aligned: Alignment) -> bool:
    """Return whether the new statement tells an end to come of what the old one tells: "I will quit judo"."""
    new, old = aligned.new, aligned.old
    to_come = tense_of(new) is Tense.FUTURE and tense_of(old) is not Tense.FUTURE
    if not to_come or "ended" not in new.signs - old.signs:
        return False
    # "The trip is cancelled, we're going to Wales instead".
    first = parse(new.text.partition(",")[0])
    return "ended" not in first.signs or tense_of(first) is Tense.FUTURE


def contrast_of(aligned: Alignment) -> str:
    """The lost and the added words, for people: "22 → 29"; empty without any."""
    gone = [aligned.old.tokens[at].shown for at in aligned.open_old]
    came = [aligned.new.tokens[at].shown for at in aligned.open_new]
    return f"{_shown(gone)} → {_shown(came)}" if gone or came else ""


def _shown(words: list[str]) -> str:
    more = "…" if len(words) > _SHOWN_WORDS else ""
    return (" ".join(words[:_SHOWN_WORDS]) + more) or "–"


_VETOES: Final[tuple[tuple[Callable[[Alignment], object], str], ...]] = (
    (lambda aligned: aligned.new.question and not aligned.old.question, "a question"),
    (lambda aligned: aligned.new.ironic, "irony"),
    (lambda aligned: "doubt" in aligned.new.signs - aligned.old.signs, "a doubt"),
    (_will_end, "a doubt"),
    (_is_beside_a_taste, "a taste stays"),
    (is_another_one, "another one"),
    (is_one_more, "one more"),
    (may_both_hold, "another time"),
    (lambda aligned: tells_one_end(aligned.new, aligned.old), "perhaps both ends"),
    (tells_when_or_where, "when or where"),
    (_is_of_another_number, "another number"),
    (lambda aligned: counts_another(aligned.new, aligned.old), "another number"),
    (is_of_another_meal, "another meal"),
    (_is_in_another_unit, "another unit"),
    (_goes_on_after_its_end, "perhaps from before the end"),
)
"""Reasons to keep two statements apart, each with its condition; the first one that holds counts."""
