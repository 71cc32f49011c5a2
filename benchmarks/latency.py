"""Latency of `recall`, `before_turn`, `remember` and of opening, at several sizes.

    python benchmarks/latency.py [--sizes 1000,10000,100000,1000000] [--spaces 1,1,1,50]
                                 [--turns 200,2000,20000,200000] [--texts FILE...] [--without-reader]
                                 [--deadline 10000] [--cache DIR] [--out results.json]

Each size is filled in bulk, then measured in its own process: before there is a graph, while one is built
(past the size from which Hippocampe builds one), just after, and after as many questions again. A cached
folder with its graph is only measured after. Texts beyond those given are repeated in other spaces, with
noise added to their vectors. Every figure includes embedding the query; the first question of a space,
which loads its word counts, is reported separately. Each turn has its own channel, so that nothing was
given before, and by default a long deadline, so that slow sources are not dropped.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any

import common
from filling import HELD, Plan, fill, refresh, say
from hippocampe import Hippocampe, Scope
from hippocampe.config import Config
from hippocampe.folder import maintenance
from hippocampe.injection import turn as turn_step
from hippocampe.retrieval import candidates, features, results, scoring, signals
from hippocampe.retrieval import recall as recall_step
from hippocampe.types import Injection

NO_GRAPH = 10**9
ALWAYS_ON = "always-on context, beside the search"
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
    values = dict(line.split()[:2] for line in lines if line.startswith(("VmRSS", "RssAnon")))
memory, own = (int(values[name]) / 1024 for name in ("VmRSS:", "RssAnon:"))
print(json.dumps({"import": imported - start, "open": opened - imported, "first": first - opened,
                  "second": second - first, "memory_mib": memory, "own_memory_mib": own}))
hippo.close()
"""


@dataclass(slots=True)
class Served:
    """Served turns with the milliseconds of each stage, from their traces."""

    seconds: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=dict)
    items: int = 0
    tokens: int = 0
    missing: int = 0

    def note(self, injection: Injection, seconds: float) -> None:
        self.seconds.append(seconds)
        for name, milliseconds in injection.trace.stages.items():
            self.stages.setdefault(name, []).append(milliseconds / 1000)
        self.items += len(injection.items)
        self.tokens += injection.tokens
        self.missing += bool(injection.trace.missing or injection.trace.skipped)

    def summary(self) -> dict[str, Any]:
        count = len(self.seconds)
        return common.percentiles(self.seconds) | {
            "items": round(self.items / count, 1),
            "tokens": round(self.tokens / count, 1),
            "missing": self.missing,
        }


class Probe:
    """Measures one open folder."""

    def __init__(self, hippo: Hippocampe, plan: Plan, deadline: int) -> None:
        self._hippo = hippo
        self._held = iter(enumerate(plan.held()))
        self._plan = plan
        self._deadline = deadline
        self._seed = 0
        self._served = 0

    def first_in_each_space(self) -> dict[str, float]:
        """The question that loads a space's word counts."""
        seconds: list[float] = []
        for number in range(self._plan.spaces):
            scope = Scope(space=f"space-{number}")
            self._hippo.update_settings(scope=scope, hook_timeout_ms=self._deadline)
            seconds.append(_timed(lambda scope=scope: self._hippo.recall("?", scope=scope)))
        return common.percentiles(seconds)

    def phase(self, builder: Thread | None = None) -> dict[str, Any]:
        """Recall, `before_turn` and remember with their stages; if `builder` is given, while it runs."""
        watch, served = common.Stopwatch(), Served()
        stages = self._stages(watch)
        recalls: list[float] = []
        while not recalls or (builder is not None and builder.is_alive()):
            for (text, space), said in zip(self._questions(), self._questions(), strict=True):
                scope = Scope(space=space)
                with common.watched(*stages):
                    recalls.append(_timed(lambda t=text, s=scope: self._hippo.recall(t, scope=s)))
                self._serve(*said, served)
                if builder is not None:
                    if not builder.is_alive():
                        break
                    time.sleep(0.02)
            if builder is not None and builder.is_alive():
                self._remember(5)
        found: dict[str, Any] = {
            "recall": common.percentiles(recalls),
            "stages": {n: common.percentiles(each) for n, each in watch.spent.items() if each},
            "before_turn": served.summary(),
            "before_turn_stages": {
                n: common.percentiles(each) for n, each in served.stages.items() if each
            },
            "memory_mib": common.memory_mib(),
            "own_memory_mib": common.own_memory_mib(),
        }
        if builder is None:
            seconds, findable = self._remember(min(HELD // 4, self._plan.queries))
            found["remember"] = common.percentiles(seconds) | {"findable": findable}
        return found

    def _questions(self) -> list[tuple[str, str]]:
        self._seed += 1
        return self._plan.questions(self._seed)

    def _serve(self, text: str, space: str, served: Served) -> None:
        self._served += 1
        scope = Scope(space=space, user="camille", channel=f"channel {self._served}")
        watch = common.Stopwatch(served.stages)
        with common.watched((turn_step, "_read_context", watch.of(ALWAYS_ON))):
            started = time.perf_counter()
            injection = self._hippo.before_turn(text, scope=scope)
            served.note(injection, time.perf_counter() - started)

    def _remember(self, count: int) -> tuple[list[float], int]:
        """Seconds of each `remember`, and how many the next recall found."""
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
        parts = self._hippo._context.corpus
        index = type(parts.index)
        return [
            (recall_step, "analyse", watch.of("query analysis, embedding included")),
            (type(parts.vocabulary.embedder), "embed_query", watch.of("embedding")),
            (candidates, "search", watch.of("searches")),
            (index, "nearest", watch.of("search by meaning")),
            (index, "matching", watch.of("search by words")),
            (candidates, "fuse", watch.of("fusion")),
            (features, "load", watch.of("features")),
            (signals, "measure", watch.of("signals")),
            (scoring, "score", watch.of("scoring")),
            (results, "load", watch.of("results")),
        ]


def _timed(call: Any) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def measure(folder: Path, plan: Plan, threshold: int, deadline: int) -> dict[str, Any]:
    """All phases of one size. Call it in a fresh process."""
    config = Config(folder, graph_threshold=NO_GRAPH)
    with Hippocampe.open(config) as hippo:
        parts = hippo._context.corpus
        probe = Probe(hippo, plan, deadline)
        found: dict[str, Any] = {"first_in_a_space": probe.first_in_each_space()}
        probe.phase()  # the first questions also warm the caches of the database
        whole = parts.index.count("memory") >= threshold > parts.index.ungraphed("memory")
        found["after_graph" if whole else "before_graph"] = probe.phase()
        if parts.index.ungraphed("memory") >= threshold:
            started = time.perf_counter()
            parts.config = replace(config, graph_threshold=threshold)
            builder = Thread(target=maintenance.grow_graphs, args=(hippo._context.writer,))
            builder.start()
            found["while_building"] = probe.phase(builder)
            builder.join()
            found["graphed"] = parts.index.count("memory") - parts.index.ungraphed("memory")
            parts.config = config
            found["graph_seconds"] = round(time.perf_counter() - started, 1)
            found["just_after_graph"] = probe.phase()  # its files were not read from yet
            found["after_graph"] = probe.phase()
            found["ratios"] = _ratios(found)
        found["peak_memory_mib"] = common.memory_mib(peak=True)
    return found


def _ratios(found: dict[str, Any]) -> dict[str, float]:
    """Latency of recall relative to the phase without a graph."""
    before = found["before_graph"]["recall"]
    return {
        f"{phase} / before_graph, {quantile}": round(
            found[phase]["recall"][quantile] / before[quantile], 3
        )
        for phase in ("while_building", "just_after_graph", "after_graph")
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
    memory = {name: round(named.pop(name), 1) for name in ("memory_mib", "own_memory_mib")}
    return {f"{name}_ms": round(value * 1000, 1) for name, value in named.items()} | memory


def run(
    plan: Plan, keep: Path | None, threshold: int, openings: int, deadline: int
) -> dict[str, Any]:
    """Fill, measure and open again one size."""
    source = "+".join(path.name for path in plan.texts) or "made-up"
    name = f"{source}-{plan.size}-{plan.spaces}-{plan.turns}"
    with tempfile.TemporaryDirectory() as scratch:
        used = Path(scratch) / "data"
        kept = keep / name if keep else None
        took = None
        if kept is not None and kept.exists():
            common.in_own_process(refresh, kept)
            shutil.copytree(kept, used)
        else:
            took = round(common.in_own_process(fill, used, plan), 1)
            if kept is not None:
                shutil.copytree(used, kept)
        say("")
        found = {
            "size": plan.size,
            "spaces": plan.spaces,
            "turns": plan.turns,
            "deadline_ms": deadline,
        }
        found["fill_seconds"] = took
        found |= common.in_own_process(measure, used, plan, threshold, deadline)
        found["cold"] = cold(used, plan, openings)
        found["disk_mib"] = common.folder_mib(used)
    return found


def show(found: dict[str, Any]) -> None:
    """Print one size."""
    print(
        f"\n{found['size']} memories and {found['turns']} turns in {found['spaces']} spaces, ",
        end="",
    )
    print(f"disk {found['disk_mib']} MiB")
    for phase in ("before_graph", "while_building", "just_after_graph", "after_graph"):
        for what in ("recall", "before_turn", "remember"):
            if figures := found.get(phase, {}).get(what):
                quantiles = "".join(f"{figures[name]:9.2f}" for name in ("p50", "p95", "p99"))
                told = ("findable", "items", "tokens", "missing")
                more = "".join(f"  {name} {figures[name]}" for name in told if name in figures)
                print(
                    f"  {phase:16} {what:12} p50 p95 p99 ms {quantiles}  of {figures['count']}{more}"
                )
    last = found.get("after_graph") or found["before_graph"]
    for what, stages in (("recall", "stages"), ("before_turn", "before_turn_stages")):
        for name, figures in last[stages].items():
            print(
                f"    {what:11} {name:45} p50 {figures['p50']:8.2f}  p95 {figures['p95']:8.2f} ms"
            )
    for name, value in found.get("ratios", {}).items():
        print(f"  {name}: {value}")
    print(f"  first in a space: {found['first_in_a_space']['p50']} ms; cold: {found['cold']}")
    print(f"  memory {last['memory_mib']} MiB, peak {found['peak_memory_mib']} MiB", flush=True)


def main() -> None:
    """Measure the sizes given on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument(
        "--sizes", type=common.numbers, default=[1_000, 10_000, 100_000, 1_000_000], help="memories"
    )
    parser.add_argument(
        "--spaces", type=common.numbers, default=[1, 1, 1, 50], help="per size, or one"
    )
    parser.add_argument(
        "--turns",
        type=common.numbers,
        default=[200, 2_000, 20_000, 200_000],
        help="of talk, beside the memories: per size, or one",
    )
    parser.add_argument(
        "--texts",
        type=Path,
        nargs="+",
        default=[],
        help="JSON Lines with a `text`; default: made up",
    )
    parser.add_argument("--queries", type=int, default=300, help="questions in each phase")
    parser.add_argument("--openings", type=int, default=3, help="cold openings, for their median")
    parser.add_argument("--deadline", type=int, default=10_000, help="of a turn, in milliseconds")
    common.add_reader_option(parser)
    parser.add_argument("--cache", type=Path, help="keep filled folders here")
    parser.add_argument(
        "--graph-threshold", type=int, default=Config(Path()).graph_threshold, help="see `Config`"
    )
    options = parser.parse_args()
    each_size: list[list[int]] = []
    for name in ("spaces", "turns"):
        given: list[int] = getattr(options, name)
        each_size.append(given * len(options.sizes) if len(given) == 1 else given)
        if len(each_size[-1]) != len(options.sizes):
            parser.error(f"give one number of {name}, or one for each of the sizes")
    found: list[dict[str, Any]] = []
    for size, spaces, turns in zip(options.sizes, *each_size, strict=True):
        plan = Plan(size, spaces, turns, options.queries, tuple(options.texts))
        found.append(
            run(plan, options.cache, options.graph_threshold, options.openings, options.deadline)
        )
        show(found[-1])
        common.save(options.out, "latency", {"sizes": found})


if __name__ == "__main__":
    main()
