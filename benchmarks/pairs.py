"""Wrong merges and missed updates of the safe-update decision on files of sentence pairs.

    python benchmarks/pairs.py FILE... [--out results.json] [--show 10]

Each pair is decided in both orders, as if every pair were nominated, the worst case. Reads
JSON Lines (``.jsonl``, ``.jsonl.gz``) and CSV, in one of these forms:

- ``{"fr1", "fr2", "en1", "en2", "duplicate": 0|1}``: one pair per language, same or different;
- ``{"a", "b", "label", "language"?}``: ``paraphrase`` is the same, any other label is different, and
  ``must_update`` (``a`` is old, ``b`` is new) must be decided as an update;
- ``a,b,score`` without a header: a similarity from 0 to 5; below 4 is different, 5 is the same, values
  between count separately as close.

A wrong merge is a different pair decided as ``updated`` or ``reinforced``.
"""

from __future__ import annotations

import csv
import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import common
from hippocampe.updates.decide import Verdict, decide

MERGED = {Verdict.UPDATED, Verdict.REINFORCED}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences, their language and their relation."""

    first: str
    second: str
    language: str
    truth: str  # same, close, differ, must_update


def pairs(path: Path) -> Iterator[Pair]:
    """The pairs of a file in one of the documented forms."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as lines:
        if path.name.removesuffix(".gz").endswith(".csv"):
            yield from _scored(csv.reader(lines), "en" if "en" in path.stem.split("-") else "fr")
        else:
            for line in lines:
                yield from _labelled(json.loads(line))


def _scored(rows: Iterator[list[str]], language: str) -> Iterator[Pair]:
    for first, second, score in rows:
        value = float(score)
        truth = "differ" if value < 4 else "same" if value == 5 else "close"
        yield Pair(first, second, language, truth)


def _labelled(row: dict[str, object]) -> Iterator[Pair]:
    if "duplicate" in row:
        truth = "same" if row["duplicate"] else "differ"
        for language in ("fr", "en"):
            yield Pair(str(row[f"{language}1"]), str(row[f"{language}2"]), language, truth)
        return
    truth = {"paraphrase": "same", "must_update": "must_update"}.get(str(row["label"]), "differ")
    yield Pair(str(row["a"]), str(row["b"]), str(row.get("language", "fr")), truth)


def measure(path: Path, show: int) -> dict[str, object]:
    """Count the verdicts of a file by language, truth and order."""
    counts: dict[str, Counter[str]] = {}
    totals: Counter[tuple[str, str]] = Counter()
    merged: Counter[tuple[str, str, str]] = Counter()
    shown: Counter[str] = Counter()
    started = time.perf_counter()
    for pair in pairs(path):
        totals[pair.language, pair.truth] += 1
        for order, new, old in (
            ("second_after_first", pair.second, pair.first),
            ("first_after_second", pair.first, pair.second),
        ):
            decision = decide(new, old)
            group = f"{pair.language} {pair.truth}"
            counts.setdefault(group, Counter())[decision.verdict] += 1
            merged[pair.language, pair.truth, order] += decision.verdict in MERGED
            if pair.truth == "differ" and decision.verdict in MERGED and shown[group] < show:
                shown[group] += 1
                print(f"  {decision.verdict}: {decision.reason}\n    old {old}\n    new {new}")
    took = time.perf_counter() - started
    return {
        "file": path.name,
        "groups": {
            f"{language} {truth}": {
                "pairs": total,
                "merged": {
                    order: {
                        "count": merged[language, truth, order],
                        "share": round(merged[language, truth, order] / total, 5),
                    }
                    for order in ("second_after_first", "first_after_second")
                },
                "verdicts_both_orders": dict(counts[f"{language} {truth}"]),
            }
            for (language, truth), total in sorted(totals.items())
        },
        "microseconds_per_decision": round(took / max(1, 2 * totals.total()) * 1e6, 1),
    }


def main() -> None:
    """Measure the files named on the command line, print the figures, write them as JSON."""
    parser = common.arguments(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=0, help="wrong merges to print per group")
    options = parser.parse_args()
    results = [measure(path, options.show) for path in options.files]
    common.save(options.out, "pairs", {"files": results})
    for result in results:
        print(f"{result['file']}: {result['microseconds_per_decision']} µs a decision")
        for name, group in dict(result["groups"]).items():  # type: ignore[call-overload]
            shares = " / ".join(
                f"{order['count']} ({order['share']:.2%})" for order in group["merged"].values()
            )
            print(f"  {name:16} {group['pairs']:5} pairs, merged in both orders {shares}")
            print(f"  {'':16} {group['verdicts_both_orders']}")


if __name__ == "__main__":
    main()
