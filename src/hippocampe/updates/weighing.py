"""The learnt decision over the evidence of two aligned statements, for pairs that no sure rule decides.

Pairs that may well merge by the evidence are read too: the reader errs on other pairs, so a second model weighs both.

A pair that must not merge at any probability (a doubt, a question, another owner, swapped roles, one verb or
modifier for another) is listed for review, and so is every pair that may well belong together: a review loses
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from hippocampe.language.difference import SWAPPED
from hippocampe.language.equated import equated_names
from hippocampe.language.reading.statement import Reading
from hippocampe.language.text import keywords
from hippocampe.updates.alignment import Alignment, Floats, align
from hippocampe.updates.decide import Decision, Verdict
from hippocampe.updates.evidence import evidence_of
from hippocampe.updates.learnt import MERGING, OUTCOMES, SEPARATE, Model

LEAST_COSINE: Final = 0.2
"""Two statements that share a keyword are weighed from this cosine on."""
_NEAR: Final = 0.28
"""All others are weighed from this cosine on."""
_SHOWN_WORDS: Final = 5
_SAME_WORDS, _IN_ORDER, _AS_LONG = 0.6, 0.95, 0.25
"""Least share of common words, share of words in the same order, and difference of the logarithms of the lengths,
of two statements that differ in the order of their words: 83 % of the pairs of PAWS-X that differ in meaning, and
.7 % of the updates of `benchmarks/learn_decide.py`."""


@dataclass(frozen=True, slots=True)
class Side:
    """A statement to weigh: its reading and the vectors of its content words, shape (words, width)."""

    reading: Reading
    vectors: Floats

    @property
    def speaks(self) -> bool:
        """Return whether a statement can be weighed: it has words, and does more than equate two names."""
        words = any(word[0].isalnum() for word in self.reading.words)
        return words and equated_names(self.reading.text) is None


@dataclass(frozen=True, slots=True)
class Weighed:
    """An old statement to weigh a new one against.

    Attributes:
        side: The old statement.
        cosine: The cosine of the two.
        rule: The decision of the rules, which is no merge.
    """

    side: Side
    cosine: float
    rule: Decision


def worth_weighing(old: str, keywords_of_new: Set[str], cosine: float) -> bool:
    """Return whether two statements are near enough for the model to weigh them."""
    if cosine >= _NEAR:
        return True
    return cosine >= LEAST_COSINE and not keywords_of_new.isdisjoint(keywords(old))


Read = Callable[[Sequence[tuple[str, str]]], Floats | None]
"""The reader's logits of pairs of an old and a new statement, shape (pairs, outcomes); None without a reader."""


def weigh(olds: Sequence[Weighed], new: Side, model: Model, read: Read) -> list[Decision]:
    """Decide on a new statement against old ones that no sure rule decides.

    A statement without words ("👍") cannot be aligned, and one that equates two names ("cam = Camille") states
    nothing else: the decision of the rules is final.

    Args:
        olds: The old statements.
        new: The new one.
        model: The learnt weights.
        read: Reads the pairs that may merge.
    """
    decided = [old.rule for old in olds]
    spoken = [at for at, old in enumerate(olds) if new.speaks and old.side.speaks]
    if not spoken:
        return decided
    aligned = [
        align(olds[at].side.reading, new.reading, olds[at].side.vectors, new.vectors)
        for at in spoken
    ]
    evidence = [
        evidence_of(each, olds[at].cosine, olds[at].side.vectors, new.vectors)
        for at, each in zip(spoken, aligned, strict=True)
    ]
    shares, thresholds = model.probabilities(evidence), model.thresholds
    likely = np.flatnonzero(shares[:, :MERGING].sum(axis=1) >= thresholds["read"])
    texts = [(olds[spoken[row]].side.reading.text, new.reading.text) for row in likely]
    logits = read(texts) if texts else None
    if logits is not None:
        thresholds = model.joint.thresholds
        shares[likely] = model.joint.probabilities(shares[likely], logits)
    for row, at in enumerate(spoken):
        decided[at] = conclude(aligned[row], evidence[row], shares[row], decided[at], thresholds)
    return decided


def lost_words(old: Side, new: Side) -> list[str]:
    """The words of an old statement that its update neither repeats nor replaces.

    A value is replaced by a value of its kind, a word by the word in its place; a verb alone is not a fact.
    """
    if not (old.speaks and new.speaks):
        return []
    aligned = align(old.reading, new.reading, old.vectors, new.vectors)
    replaced = {contrast.old for contrast in aligned.contrasts}
    kinds = {token.kind for token in new.reading.tokens} - {"word"}
    found: list[str] = []
    for row in aligned.open_old:
        at = old.reading.content[row]
        token = old.reading.tokens[at]
        if at not in replaced and token.kind not in kinds and token.stem not in old.reading.verbs:
            found.append(token.shown)
    return found


def conclude(
    aligned: Alignment,
    evidence: Mapping[str, float],
    shares: Floats,
    rule: Decision,
    thresholds: Mapping[str, float],
) -> Decision:
    """Decide from the probabilities of the outcomes.

    Args:
        aligned: The two statements, aligned.
        evidence: Their evidence.
        shares: The probability of each of `OUTCOMES`.
        rule: The decision of the rules, which is no merge.
        thresholds: As in `Model`.
    """
    merge = float(shares[:MERGING].sum())
    if 1 - float(shares[SEPARATE]) < thresholds["review"]:
        return apart(rule)
    why = veto(aligned, evidence, rule)
    outcome = likeliest(shares, evidence)
    if outcome == "same" and aligned.old.language != aligned.new.language:
        # An update in either language then replaces both: see `twins`.
        why = why or "in another language"
    if why is None and merge >= thresholds["careful" if needs_care(evidence) else "merge"]:
        verdict = Verdict.REINFORCED if outcome == "same" else Verdict.UPDATED
        return Decision(
            verdict, "weighed", f"{outcome}, {merge:.0%}: {contrast_of(aligned)}", probability=merge
        )
    reason = f"{why or f'perhaps {outcome}, {merge:.0%}'}: {contrast_of(aligned)}"
    return Decision(Verdict.UNSURE, "weighed", reason, probability=merge)


def needs_care(evidence: Mapping[str, float]) -> bool:
    """Return whether two statements are long, or have nearly the same words in another order.

    Such statements resemble each other whether or not they say the same.
    """
    reordered = evidence["jaccard"] >= _SAME_WORDS and evidence["in_order_new"] < _IN_ORDER
    return bool(evidence["long"]) or (reordered and abs(evidence["longer"]) < _AS_LONG)


def apart(rule: Decision) -> Decision:
    """Downgrade `unsure` to `related`: the model found no merge, so no review is needed."""
    return replace(rule, verdict=Verdict.RELATED) if rule.verdict is Verdict.UNSURE else rule


def likeliest(shares: Floats, evidence: Mapping[str, float]) -> str:
    """The likeliest merging outcome.

    An added or removed negation excludes "same"; and "same" needs most of the probability, because it drops
    words.
    """
    best = int(shares[:MERGING].argmax())
    rare = OUTCOMES[best] == "same" and shares[best] < shares[:MERGING].sum() / 2
    return "update" if rare or evidence["other_polarity"] else OUTCOMES[best]


def veto(aligned: Alignment, evidence: Mapping[str, float], rule: Decision) -> str | None:
    """The reason why two statements must not be merged, or None."""
    if rule.reason.startswith(SWAPPED):
        return SWAPPED
    if rule.change == "perhaps":
        return rule.reason
    if evidence["asked"] and not aligned.old.question:
        return "a question"
    came = aligned.new.signs - aligned.old.signs
    if "doubt" in came:
        return "a doubt"
    if "unfulfilled" in came:
        return "not done"
    if "partly" in came:
        return "in part"
    if evidence["speaker_kin"]:
        return "another owner"
    if evidence["one_substituted"] and (
        evidence["contrast_of"] or (evidence["verbs_differ"] and not evidence["open_be_old"])
    ):
        return "one word for another"
    return None


def contrast_of(aligned: Alignment) -> str:
    """The lost and the added words, for people: "22 → 29"."""
    old, new = aligned.old, aligned.new
    gone = [old.tokens[old.content[row]].shown for row in aligned.open_old]
    came = [new.tokens[new.content[row]].shown for row in aligned.open_new]
    return f"{_shown(gone)} → {_shown(came)}"


def _shown(words: list[str]) -> str:
    more = "…" if len(words) > _SHOWN_WORDS else ""
    return (" ".join(words[:_SHOWN_WORDS]) + more) or "–"
