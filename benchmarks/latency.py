"""How long recall and remember take, and opening, at several sizes.

    python benchmarks/latency.py [--sizes 10000,100000,1000000] [--spaces 1,1,50]
                                 [--texts FILE...] [--cache DIR] [--out results.json]

Each size is filled in bulk, then measured in a process of its own: before there is a graph, while
one is built (only past the size from which the product builds one), and after. Texts beyond those
given are repeated in other spaces, their vectors turned a little. The embedding of the query is
part of every figure; the first question of each space, which loads its word counts, is apart.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any

import common
from filling import HELD, Plan, fill, say
from hippocampe import Hippocampe, Scope, evidence, maintain, rank, relevance
from hippocampe import recall as recall_step
from hippocampe.config import Config

NO_GRAPH = 10**9
COLD = """
import json, sys, time
start = time.perf_counter()
import hippocampe
imported = time.perf_counter()
hippo = hippocampe.Hippocampe.open(sys.argv[1])
opened = time.perf_counter()
scope = hippocampe.Scope(space=sys.argv[2])
hippo.recall(sys.argv[3], scope=scope)
first = time.perf_counter()
hippo.recall(sys.argv[4], scope=scope)
second = time.perf_counter()
with open("/proc/self/status") as lines:
    resident = [int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")]
print(json.dumps({"import": imported - start, "open": opened - imported, "first": first - opened,
                  "second": second - first, "memory_mib": resident[0]}))
hippo.close()
"""


class Probe:
    """Measures one open folder."""

    def __init__(self, hippo: Hippocampe, plan: Plan) -> None:
        self._hippo = hippo
        self._held = iter(enumerate(plan.held()))
        self._plan = plan
        self._seed = 0

    def first_in_each_space(self) -> dict[str, float]:
        """The question that loads a space's word counts."""
        seconds: list[float] = []
        for number in range(self._plan.spaces):
            scope = Scope(space=f"space-{number}")
            seconds.append(_timed(lambda scope=scope: self._hippo.recall("?", scope=scope)))
        return common.percentiles(seconds)

    def phase(self, builder: Thread | None = None) -> dict[str, Any]:
        """Recall with its stages, `before_turn`, remember; while `builder` lives if one is given."""
        watch, stages = common.Stopwatch(), self._stages
        recalls: list[float] = []
        with common.watched(*stages(watch)):
            while not recalls or (builder is not None and builder.is_alive()):
                for text, space in self._questions():
                    scope = Scope(space=space)
                    recalls.append(_timed(lambda t=text, s=scope: self._hippo.recall(t, scope=s)))
                    if builder is not None:
                        if not builder.is_alive():
                            break
                        time.sleep(0.02)
                if builder is not None and builder.is_alive():
                    self._remember(5)
        found: dict[str, Any] = {
            "recall": common.percentiles(recalls),
            "stages": {n: common.percentiles(each) for n, each in watch.spent.items() if each},
            "memory_mib": common.memory_mib(),
        }
        if builder is None:
            if hasattr(self._hippo, "before_turn"):
                found["before_turn"] = common.percentiles(self._before_turn())
            seconds, findable = self._remember(min(HELD // 3, self._plan.queries))
            found["remember"] = common.percentiles(seconds) | {"findable": findable}
        return found

    def _questions(self) -> list[tuple[str, str]]:
        self._seed += 1
        return self._plan.questions(self._seed)

    def _before_turn(self) -> list[float]:
        return [
            _timed(
                lambda text=text, space=space, number=number: self._hippo.before_turn(
                    text, scope=Scope(space=space, user="u", channel=f"c{number}")
                )
            )
            for number, (text, space) in enumerate(self._questions())
        ]

    def _remember(self, count: int) -> tuple[list[float], int]:
        """Seconds of each, and how many the very next recall found."""
        seconds: list[float] = []
        findable = 0
        for number, text in islice(self._held, count):
            scope = Scope(space=f"space-{number % self._plan.spaces}")
            started = time.perf_counter()
            done = self._hippo.remember(text, scope=scope)
            seconds.append(time.perf_counter() - started)
            found = self._hippo.recall(done.memory.content, scope=scope)
            findable += done.memory.id in [item.id for item in found]
        return seconds, findable

    def _stages(self, watch: common.Stopwatch) -> list[tuple[object, str, common.Seen]]:
        parts = self._hippo._parts
        index = type(parts.index)
        return [
            (recall_step, "understand", watch.of("understand, embedding included")),
            (type(parts.embedder), "embed_query", watch.of("embedding")),
            (recall_step, "gather", watch.of("searches")),
            (index, "nearest", watch.of("search by meaning")),
            (index, "matching", watch.of("search by words")),
            (recall_step, "_fuse", watch.of("fuse")),
            (evidence, "load", watch.of("evidence")),
            (rank, "signals", watch.of("signals")),
            (relevance, "probability", watch.of("relevance")),
            (recall_step, "_read", watch.of("read")),
        ]


def _timed(call: Any) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def measure(folder: Path, plan: Plan, threshold: int) -> dict[str, Any]:
    """All phases of one size; to be called in a process of its own."""
    config = Config(folder, graph_threshold=NO_GRAPH)
    with Hippocampe.open(config) as hippo:
        parts = hippo._parts
        probe = Probe(hippo, plan)
        found: dict[str, Any] = {"first_in_a_space": probe.first_in_each_space()}
        probe.phase()  # the first questions also warm the caches of the database
        found["before_graph"] = probe.phase()
        if parts.index.unindexed("memory") >= threshold:
            started = time.perf_counter()
            parts.config = replace(config, graph_threshold=threshold)
            builder = Thread(target=maintain.grow_graphs, args=(parts,))
            builder.start()
            found["while_building"] = probe.phase(builder)
            builder.join()
            parts.config = config
            found["graph_seconds"] = round(time.perf_counter() - started, 1)
            found["after_graph"] = probe.phase()
            found["ratios"] = _ratios(found)
        found["peak_memory_mib"] = common.memory_mib(peak=True)
    return found


def _ratios(found: dict[str, Any]) -> dict[str, float]:
    """How many times slower or faster recall is than before there was a graph."""
    before = found["before_graph"]["recall"]
    return {
        f"{phase} / before_graph, {quantile}": round(
            found[phase]["recall"][quantile] / before[quantile], 3
        )
        for phase in ("while_building", "after_graph")
        for quantile in ("p50", "p95")
    }


def cold(folder: Path, plan: Plan, times: int) -> dict[str, float]:
    """Medians of import, open, first and second recall in fresh processes, in milliseconds."""
    (first, space), (second, _) = plan.questions(99)[:2]
    runs: list[dict[str, float]] = []
    for _ in range(times):
        command = [sys.executable, "-c", COLD, str(folder), space, first, second]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        runs.append(json.loads(done.stdout))
    named = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    memory = named.pop("memory_mib")
    found = {f"{name}_ms": round(value * 1000, 1) for name, value in named.items()}
    return found | {"memory_mib": round(memory, 1)}


def run(plan: Plan, keep: Path | None, threshold: int, openings: int) -> dict[str, Any]:
    """Fill, measure and open again one size."""
    source = "+".join(path.name for path in plan.texts) or "made-up"
    name = f"{source}-{plan.size}-{plan.spaces}"
    with tempfile.TemporaryDirectory() as scratch:
        used = Path(scratch) / "data"
        kept = keep / name if keep else None
        took = None
        if kept is not None and kept.exists():
            shutil.copytree(kept, used)
        else:
            took = round(common.in_own_process(fill, used, plan), 1)
            if kept is not None:
                shutil.copytree(used, kept)
        say("")
        found = {"size": plan.size, "spaces": plan.spaces, "fill_seconds": took}
        found |= common.in_own_process(measure, used, plan, threshold)
        found["cold"] = cold(used, plan, openings)
        found["disk_mib"] = common.folder_mib(used)
    return found


def show(found: dict[str, Any]) -> None:
    """Print one size."""
    print(f"\n{found['size']} memories in {found['spaces']} spaces, disk {found['disk_mib']} MiB")
    for phase in ("before_graph", "while_building", "after_graph"):
        for what in ("recall", "before_turn", "remember"):
            if figures := found.get(phase, {}).get(what):
                quantiles = "".join(f"{figures[name]:9.2f}" for name in ("p50", "p95", "p99"))
                more = f"  findable {figures['findable']}" if what == "remember" else ""
                print(
                    f"  {phase:15} {what:12} p50 p95 p99 ms {quantiles}  of {figures['count']}{more}"
                )
    last = found.get("after_graph") or found["before_graph"]
    for name, figures in last["stages"].items():
        print(f"    {name:32} p50 {figures['p50']:8.2f}  p95 {figures['p95']:8.2f} ms")
    for name, value in found.get("ratios", {}).items():
        print(f"  {name}: {value}")
    print(f"  first in a space: {found['first_in_a_space']['p50']} ms; cold: {found['cold']}")
    print(f"  memory {last['memory_mib']} MiB, peak {found['peak_memory_mib']} MiB", flush=True)


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def main() -> None:
    """Measure the sizes given on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("--sizes", type=_numbers, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--spaces", type=_numbers, default=[1, 1, 50], help="per size, or one")
    parser.add_argument(
        "--texts",
        type=Path,
        nargs="+",
        default=[],
        help="JSON Lines with a `text`; default: made up",
    )
    parser.add_argument("--queries", type=int, default=300, help="questions in each phase")
    parser.add_argument("--openings", type=int, default=3, help="cold openings, for their median")
    parser.add_argument("--cache", type=Path, help="keep filled folders here")
    parser.add_argument(
        "--graph-threshold", type=int, default=Config(Path()).graph_threshold, help="see `Config`"
    )
    options = parser.parse_args()
    spaces = options.spaces * (len(options.sizes) if len(options.spaces) == 1 else 1)
    found: list[dict[str, Any]] = []
    for size, count in zip(options.sizes, spaces, strict=False):
        plan = Plan(size, count, options.queries, tuple(options.texts))
        found.append(run(plan, options.cache, options.graph_threshold, options.openings))
        show(found[-1])
        common.save(options.out, "latency", {"sizes": found})


if __name__ == "__main__":
    main()
