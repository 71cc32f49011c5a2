"""Figures of the reader by itself, and beside the ranking of `recall`, on worlds and groups it did not learn from.

Questions: the first candidates of `recall` are read. `recall` is its own score, `reader` the reader's logit, `both`
the logit of `recall` and a share of the reader's.

- `first`, `three`: an answer is the first, or among the first three
- `area`: of the curve of right texts against the other candidates
- `beside`: other texts that score at least .5, by question
- `near`, `small_talk`: something scores at least .5, though nothing answers
- `found`: an answer scores at least .5; `all_found`: all of them do, of questions with several answers
- `found_at_fifth`: at the threshold at which one question in five without an answer gets something

Pairs: a new statement merges where update, same and detail together are at least the threshold.

- `area`: of the curve of updates and repetitions against separates
- `missed`, `missed_same`, `wrong`: at a threshold; `strict`: `missed` at the threshold where `wrong` is within its budget
- `strangers`: merged with old statements of other groups
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from hippocampe.retrieval import scoring
from hippocampe.updates.learnt import MERGING
from reader_data import LABELS, Candidate, Pair, World

Read = Callable[[str, Sequence[tuple[str, str]]], NDArray[np.float32]]
"""Logits of a head, shape (pairs, logits)."""
Ranked = Sequence[Sequence[Candidate]]

DEPTHS: Final = (8, 16)
"""Candidates that are read."""
SHARE: Final = 0.5
"""Share of the reader's logit that is added to the logit of `recall`."""
ENOUGH: Final = 0.5
THRESHOLDS: Final = (0.5, 0.65, 0.8)
BUDGET: Final = 0.0125
STRANGERS: Final = 5
"""Old statements of other groups that each new one is read with."""


def questions(known: Sequence[World], found: Sequence[Ranked], read: Read) -> dict[str, Any]:
    """Figures of the questions of some worlds, by way to score and candidates read."""
    rows = candidate_rows(known, found, read)
    for row in rows:
        row["both"] = row["recall"] + SHARE * row["reader"]
    return {"questions": len(rows)} | {
        f"{way} {depth}": ranking([_cut(row, depth) for row in rows], way, ENOUGH)
        for depth in DEPTHS
        for way in ("recall", "reader", "both")
    }


def _cut(row: dict[str, Any], depth: int) -> dict[str, Any]:
    return {name: each if name in ("kind", "count") else each[:depth] for name, each in row.items()}


def candidate_rows(
    known: Sequence[World], found: Sequence[Ranked], read: Read
) -> list[dict[str, Any]]:
    """The first candidates of the questions of some worlds: which are right, and their log-odds by each way."""
    return [row for each in zip(known, found, strict=True) for row in _candidates(*each, read)]


def _candidates(world: World, found: Ranked, read: Read) -> list[dict[str, Any]]:
    pairs: list[tuple[str, str]] = []
    rows: list[dict[str, Any]] = []
    for question, results in zip(world.questions, found, strict=True):
        first = results[: max(DEPTHS)]
        pairs += [(question.line, world.texts[each.id].line) for each in first]
        most = scoring.MOST_LOG_ODDS
        rows.append(
            {
                "kind": question.kind,
                "right": np.array([each.id in question.answers for each in first], bool),
                "recall": np.clip([each.odds for each in first], -most, most),
                "without_rules": np.array([each.without_rules for each in first]),
                "rules": np.array([each.rules for each in first]).reshape(-1, len(scoring.RULES)),
                "count": len(question.answers),
            }
        )
    logits = iter(read("answer", pairs)[:, 0])
    for row in rows:
        row["reader"] = np.array([next(logits) for _ in row["right"]], float)
    return rows


def ranking(rows: Sequence[dict[str, Any]], way: str, limit: float) -> dict[str, float]:
    """Figures of candidates.

    Args:
        rows: From `candidate_rows`.
        way: The log-odds to rank by.
        limit: The probability from which on a text counts as given.
    """
    least = float(np.log(limit / (1 - limit)))
    answered = [row for row in rows if row["kind"] in "QA"]
    several = [row for row in answered if row["kind"] == "A"]
    one = [row for row in answered if row["kind"] == "Q"]
    best = {
        kind: np.array([row[way].max(initial=-9) for row in rows if row["kind"] == kind])
        for kind in "NT"
    }
    order = [row["right"][np.argsort(-row[way])] for row in one]
    right_score = np.array([row[way][row["right"]].max(initial=-9) for row in one])
    figures = {
        "first": np.mean([each[:1].any() for each in order]),
        "three": np.mean([each[:3].any() for each in order]),
        "area": roc_auc_score(
            np.concatenate([row["right"] for row in answered]),
            np.concatenate([row[way] for row in answered]),
        ),
        "found": np.mean(right_score >= least),
        "found_at_fifth": np.mean(right_score >= max(np.quantile(best["N"], 0.8), -9 + 1e-9)),
        "beside": np.mean([(row[way][~row["right"]] >= least).sum() for row in one]),
        "near": np.mean(best["N"] >= least),
        "small_talk": np.mean(best["T"] >= least) if len(best["T"]) else np.nan,
    }
    if several:
        figures["all_found"] = np.mean(
            [(row[way][row["right"]] >= least).sum() == row["count"] for row in several]
        )
    return {name: round(float(value), 3) for name, value in figures.items()}


def statements(pairs: Sequence[Pair], read: Read) -> dict[str, Any]:
    """Figures of pairs of statements."""
    labels = np.array([each.label for each in pairs])
    merged = _merging(read("relation", [(each.old, each.new) for each in pairs]))
    update, same = labels == LABELS["update"], labels == LABELS["same"]
    separate = labels == LABELS["separate"]
    results: dict[str, Any] = {"pairs": len(pairs), "updates": int(update.sum())}
    usable = update | same | separate
    results["area"] = round(float(roc_auc_score((update | same)[usable], merged[usable])), 3)
    strict = float(np.quantile(merged[separate], 1 - BUDGET, method="higher")) + 1e-6
    results["strict"] = {"threshold": round(strict, 3)} | _at(
        merged, strict, update, same, separate
    )
    for threshold in THRESHOLDS:
        results[f"at {threshold}"] = _at(merged, threshold, update, same, separate)
    return results


def strangers(pairs: Sequence[Pair], read: Read) -> dict[str, float]:
    """The share of new statements merged with old ones of other groups, by threshold."""
    chance = random.Random(0)
    olds = list({each.group: each.old for each in pairs}.items())
    strange = [
        (old, each.new)
        for each in chance.sample(pairs, min(len(pairs), 200))
        for group, old in chance.sample(olds, min(len(olds), STRANGERS))
        if group != each.group
    ]
    apart = _merging(read("relation", strange))
    return {str(each): round(float(np.mean(apart >= each)), 4) for each in THRESHOLDS}


def _merging(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True))[:, :MERGING].sum(axis=1)


def _at(
    merged: NDArray[np.float64],
    threshold: float,
    update: NDArray[np.bool_],
    same: NDArray[np.bool_],
    separate: NDArray[np.bool_],
) -> dict[str, float]:
    shares = {
        "missed": np.mean(merged[update] < threshold),
        "missed_same": np.mean(merged[same] < threshold) if same.any() else np.nan,
        "wrong": np.mean(merged[separate] >= threshold),
    }
    return {name: round(float(value), 3) for name, value in shares.items()}
