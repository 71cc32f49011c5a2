"""Quality of recall on folders of documents and questions.

    python benchmarks/recall.py FOLDER... [--sample N] [--cache DIR] [--out results.json]

A folder holds `corpus.jsonl` {id, text, scope?, session?, date?, speaker|role?}, `queries.jsonl`
{id, text, scope?, type?, user?, date?} (both may be gzipped) and `qrels.tsv` (query, document). Documents with a
speaker or a role are imported as talk, each as its own turn; others as memories. Everything runs in the
real engine. Only questions with evidence count.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import common
import corpora
from corpora import Loaded, Query
from hippocampe import Scope
from hippocampe.retrieval import features, scoring, signals

SHOWN = 20
"""Results per question, also used for the calibration error."""
METRICS = ("ndcg@10", "recall@5", "recall@10", "hit@1", "mrr@20")
MOST_KINDS = 20
"""With more types, they are titles rather than kinds of question."""
BINS = 10
LEAST = 0.3
"""The lowest threshold that the settings accept for injections."""
STAGES = {"late interaction": "late"}
"""Rows ranked by a single signal over the fused candidates."""
WHOLE = "hybrid (the whole)"


# Asking


@dataclass(slots=True)
class Asked:
    """Measurements of one folder, in the order of the questions."""

    kinds: list[str] = field(default_factory=list)
    measured: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    ceiling: list[float] = field(default_factory=list)
    candidates: list[int] = field(default_factory=list)
    scores: list[list[tuple[float, bool]]] = field(default_factory=list)


def measure(found: Sequence[str], answers: frozenset[str]) -> tuple[float, ...]:
    """Metrics of a ranking of documents, in the order of `METRICS`."""
    right = [document in answers for document in found]
    gains = sum(1 / np.log2(place + 2) for place, good in enumerate(right[:10]) if good)
    ideal = sum(1 / np.log2(place + 2) for place in range(min(10, len(answers))))
    first = right.index(True) if True in right else None
    return (
        float(gains / ideal),
        sum(right[:5]) / len(answers),
        sum(right[:10]) / len(answers),
        float(right[:1] == [True]),
        0.0 if first is None else 1 / (first + 1),
    )


class Questions:
    """Asks the questions of a corpus for every row."""

    def __init__(self, loaded: Loaded, collection: str):
        self._loaded = loaded
        self._collection = collection

    def _recall(self, query: Query, mode: str) -> tuple[list[Any], float]:
        self._loaded.clock.ask(query)
        started = time.perf_counter()
        found = self._loaded.hippo.recall(
            query.text,
            scope=Scope(space=query.space, user=query.user),
            limit=SHOWN,
            collections=(self._collection,),
            mode=mode,
        )
        return found, time.perf_counter() - started

    def ask(self, query: Query, asked: Asked) -> None:
        """Ask one question for all rows and record the results."""
        rows: dict[str, Sequence[str]] = {}
        for name, mode in (("BM25", "text"), ("dense", "semantic")):
            found, seconds = self._recall(query, mode)
            rows[name] = [item.id for item in found]
            asked.seconds.setdefault(name, []).append(seconds)
        seen: dict[str, Any] = {}
        with common.watched(
            (features, "load", lambda args, result, _: seen.update(fused=args[3], loaded=result)),
            (scoring, "score", lambda args, _result, _: seen.update(signals=args[0])),
        ):
            found, seconds = self._recall(query, "hybrid")
        asked.seconds.setdefault(WHOLE, []).append(seconds)
        rows["fused candidates"] = seen.get("fused", [])
        candidates = seen["loaded"].ids if "loaded" in seen else []
        measured = dict(zip(signals.SIGNALS, seen["signals"].T, strict=True)) if candidates else {}
        for name, signal in STAGES.items():
            if signal in measured:
                order = np.argsort(-measured[signal], kind="stable")
                rows[name] = [candidates[place] for place in order]
        rows[WHOLE] = [item.id for item in found]
        self._note(query, rows, candidates, [item.score for item in found], asked)

    def _note(
        self,
        query: Query,
        rows: dict[str, Sequence[str]],
        candidates: Sequence[str],
        scores: Sequence[float],
        asked: Asked,
    ) -> None:
        asked.kinds.append(query.kind)
        for name, ids in rows.items():
            found = [self._loaded.documents[id] for id in ids[:SHOWN]]
            asked.measured.setdefault(name, []).append(measure(found, query.answers))
        good = [self._loaded.documents[id] in query.answers for id in candidates]
        asked.ceiling.append(sum(good) / len(query.answers))
        asked.candidates.append(len(candidates))
        right = [self._loaded.documents[id] in query.answers for id in rows[WHOLE]]
        asked.scores.append(list(zip(scores, right, strict=True)))


# Figures


def calibration(scores: Sequence[Sequence[tuple[float, bool]]]) -> dict[str, Any]:
    """Expected calibration errors and reliability table over equal bins of the score.

    Most of what is found for a question is rightly given a score near 0, which flatters the error
    over all of it: that of the first results, and that of what a threshold could let through, are
    given too.

    Args:
        scores: Of each question the score of each result, best first, and whether it was right.
    """
    every = [each for of_question in scores for each in of_question]
    error, table = _reliability(every)
    best = _reliability([of_question[0] for of_question in scores if of_question])
    strong = _reliability([each for each in every if each[0] >= LEAST])
    return {
        "error": error,
        "error_of_the_first": best[0],
        f"error_from_{LEAST}": strong[0],
        "results_per_question": SHOWN,
        "reliability": table,
    }


def _reliability(
    scores: Sequence[tuple[float, bool]],
) -> tuple[float | None, list[dict[str, float]]]:
    if not scores:
        return None, []
    score = np.array([each[0] for each in scores])
    right = np.array([each[1] for each in scores], float)
    places = np.minimum((score * BINS).astype(int), BINS - 1)
    table: list[dict[str, float]] = []
    error = 0.0
    for place in range(BINS):
        inside = places == place
        if not inside.any():
            continue
        said, was = float(score[inside].mean()), float(right[inside].mean())
        error += abs(said - was) * float(inside.mean())
        table.append({"count": int(inside.sum()), "score": round(said, 4), "share": round(was, 4)})
    return round(error, 4), table


def summary(asked: Asked) -> dict[str, Any]:
    """All figures of one folder."""
    kinds = np.array(asked.kinds)
    tables = {name: np.array(values) for name, values in asked.measured.items()}
    of_kind = {
        kind: {"questions": int((kinds == kind).sum())}
        | {
            name: {
                metric: round(float(values[kinds == kind, place].mean()), 4)
                for place, metric in enumerate(METRICS)
            }
            for name, values in tables.items()
        }
        for kind in (sorted(set(asked.kinds)) if len(set(asked.kinds)) <= MOST_KINDS else ())
    }
    return {
        "rows": {name: common.intervals(values, METRICS) for name, values in tables.items()},
        "milliseconds": {name: common.percentiles(each) for name, each in asked.seconds.items()},
        "candidates": {
            "mean": round(float(np.mean(asked.candidates)), 1),
            "share_of_evidence": round(float(np.mean(asked.ceiling)), 4),
        },
        "calibration": calibration(asked.scores),
        "kinds": of_kind,
    }


def run(folder: Path, sample: int | None, cache: Path | None, form: str | None) -> dict[str, Any]:
    """Import one folder, ask its questions and return the figures."""
    corpus = corpora.read_corpus(folder)
    form = form or corpus.form
    queries = corpora.sample(corpus, sample)
    asked = Asked()
    with corpora.loaded(corpus, form, cache) as loaded:
        questions = Questions(loaded, corpora.COLLECTION[form])
        for number, query in enumerate(queries, 1):
            questions.ask(query, asked)
            if number % 200 == 0:
                print(f"{corpus.name}: {number}/{len(queries)}", file=sys.stderr)
    head = {"form": form, "documents": len(corpus.documents), "questions": len(queries)}
    head["in_sample"] = corpora.in_sample(corpus.name)
    return head | {"import_seconds": round(loaded.seconds, 1)} | summary(asked)


def show(name: str, figures: dict[str, Any]) -> None:
    """Print one folder's table."""
    errors = [str(each) for key, each in figures["calibration"].items() if key.startswith("error")]
    flattered = " (in-sample)" if figures["in_sample"] else ""
    print(f"\n{name}{flattered}: {figures['documents']} documents as {figures['form']}, ", end="")
    print(f"{figures['questions']} questions, calibration errors (all, the first, from {LEAST}) ")
    print(", ".join(errors), end="; ")
    print(f"evidence among the candidates {figures['candidates']['share_of_evidence']:.3f}")
    print(f"{'':20}" + "".join(f"{metric:>11}" for metric in METRICS) + f"{'95 %':>15}{'ms':>7}")
    for row, values in figures["rows"].items():
        means = "".join(f"{values[metric]['mean']:11.3f}" for metric in METRICS)
        interval = f"[{values['ndcg@10']['low']:.3f} {values['ndcg@10']['high']:.3f}]"
        spent = figures["milliseconds"].get(row)
        print(f"{row:20}{means}{interval:>15}" + (f"{spent['mean']:7.1f}" if spent else ""))


def main() -> None:
    """Measure the folders named on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, help="ask only this many questions of each folder")
    parser.add_argument("--cache", type=Path, help="keep imported folders here")
    parser.add_argument("--as", dest="form", choices=("talk", "memory"), help="for all documents")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for folder in options.folders:
        figures = run(folder, options.sample, options.cache, options.form)
        results[folder.resolve().name] = figures
        show(folder.resolve().name, figures)
    common.save(options.out, "recall", {"ranker": corpora.ranker(), "folders": results})


if __name__ == "__main__":
    main()
