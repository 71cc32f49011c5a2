"""Make one table of the results of `run.py`, whose parts may be in several files; a file made by `--out` is one of them.

python benchmarks/leaderboard/table.py RESULT... [--out FILE]
"""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import common

DATA = {"talk": "talk", "locomo": "LoCoMo", "piaf": "PIAF", "beam": "BEAM", "realtalk": "REALTALK"}
"""Columns of recall beside that of statements, by the folder of their data; only those that a memory was asked about."""
FIRST = ("memory", "recall@5: statements")
LAST = (
    *("given without an answer", "missed corrections", "wrong"),
    *("search, processor ms p50 / p95", "lost / acknowledged"),
)


def row(result: dict[str, Any], data: Iterable[str]) -> list[str]:
    """The cells of one memory, with those of recall on some data."""
    recall, changes = result["recall"], result.get("changes", {})
    versions = [
        f"{name} {number}" for name, number in result["versions"].items() if name != "python"
    ]
    statements = recall.get("memories", {})
    latency = result.get("latency", {}).get("processor", {})
    durable = result.get("durability", {})
    return [
        f"{result['adapter']} ({', '.join(versions)})" if versions else result["adapter"],
        _share(statements.get("recall@5")),
        *(_share(recall.get(name, {}).get("recall@5")) for name in data),
        _share(statements.get("given without an answer")),
        _share(changes.get("missed corrections")),
        _share(changes.get("wrong corrections")),
        f"{latency.get('p50', '–')} / {latency.get('p95', '–')}",
        f"{durable.get('lost', '–')} / {durable.get('acknowledged', '–')}",
    ]


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".lstrip("0") if value < 1 else "1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    by_name: dict[str, dict[str, Any]] = {}
    for path in given.results:
        loaded = json.loads(path.read_text(encoding="utf-8"))
        for result in loaded["results"]["memories"] if "results" in loaded else [loaded]:
            known = by_name.setdefault(result["adapter"], {"recall": {}})
            recall = known["recall"] | result["recall"]
            by_name[result["adapter"]] = known | result | {"recall": recall}
    results = list(by_name.values())
    results.sort(key=lambda each: -(each["recall"].get("memories", {}).get("recall@5") or 0))
    data = [name for name in DATA if any(name in each["recall"] for each in results)]
    rows = [[*FIRST, *(DATA[name] for name in data), *LAST], *(row(each, data) for each in results)]
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    lines.insert(1, "|---" * len(rows[0]) + "|")
    print("\n".join(lines))
    if given.out:
        common.save(given.out, "leaderboard", {"memories": results})


if __name__ == "__main__":
    main()
