"""Many spaces at once: what loading, a turn, a write, memory and disk take, embedded, with cells and on the server tier.

    python benchmarks/scale.py [--sizes 10000,100000,1000000] [--spaces 10,100,1000] [--queries 1000]
                               [--sides embedded,cells,tier,tier-exact-vectors] [--workers 2] [--without-reader]
                               [--cache DIR] [--resume] [--out results.json]

A folder of each size is filled as for latency, with a fifth as many turns as memories, and each side gets its data: `embedded` opens it, `cells` is a server of `--workers`
cells, to which the spaces are moved that their names hash to, the tier is one PostgreSQL and one Qdrant, on the disk of
the same machine. Loading: rows per second of filling, of moving spaces, of the move to the tier with its index. Each
space is asked once (`first`, which loads what the process keeps of it), then as many questions are asked at random
(`before_turn`). Memory is the proportional set size of all processes of a side, without the benchmark's own where it is
not one of them. The turns have a long deadline.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import cells
import common
from filling import Plan, fill, refresh
from hippocampe import Config, Hippocampe, Scope, migration
from hippocampe.server.cells import serving as orders

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import postgres
import qdrant

WRITES = 250
SHARED_BUFFERS = "1GB"
Figures = dict[str, Any]


def measure(open_memory: Callable[[], Hippocampe], plan: Plan, pids: Mapping[str, int]) -> Figures:
    """Turns and writes over all spaces; `pids` are the roots of the processes that take part, by name."""
    with open_memory() as hippo:
        spaces = [f"space-{number}" for number in range(plan.spaces)]
        asked = dict[str, str]()
        for text, space in plan.questions(1):
            asked.setdefault(space, text)
        for space in spaces:
            hippo.update_settings(scope=Scope(space=space), hook_timeout_ms=10_000)
        first = [_turn(hippo, text, space, 0) for space, text in asked.items()]
        before = processor_seconds(pids)
        warm = [_turn(hippo, *each, number + 1) for number, each in enumerate(plan.questions(2))]
        spent = {name: at - before[name] for name, at in processor_seconds(pids).items()}
        written: list[float] = []
        for number, text in enumerate(plan.held()[:WRITES]):
            scope = Scope(space=spaces[number % len(spaces)], user="camille")
            started = time.perf_counter()
            hippo.remember(text, scope=scope)
            written.append(time.perf_counter() - started)
        return {
            "first_in_a_space": common.percentiles(first),
            "before_turn": common.percentiles(warm),
            "processor_ms_per_turn": {
                name: round(seconds * 1000 / len(warm), 2) for name, seconds in spent.items()
            },
            "remember": common.percentiles(written),
        }


def processor_seconds(pids: Mapping[str, int]) -> dict[str, float]:
    """The processor time that each process and its descendants have used."""
    return {
        name: sum(cells.processor_seconds({str(each): each for each in tree(pid)}).values())
        for name, pid in pids.items()
    }


def _turn(hippo: Hippocampe, text: str, space: str, number: int) -> float:
    scope = Scope(space=space, user="camille", channel=f"channel {number}")
    started = time.perf_counter()
    hippo.before_turn(text, scope=scope)
    return time.perf_counter() - started


def embedded(folder: Path, plan: Plan) -> Figures:
    """The folder, opened by one process."""
    return common.in_own_process(_embedded, folder, plan)


def _embedded(folder: Path, plan: Plan) -> Figures:
    started = time.perf_counter()
    opened: list[float] = []

    def open_memory() -> Hippocampe:
        hippo = Hippocampe.open(Config(folder))
        opened.append(time.perf_counter() - started)
        return hippo

    found = measure(open_memory, plan, {"library": os.getpid()})
    return found | {
        "open_seconds": round(opened[0], 2),
        "memory_mib": memory_mib([os.getpid()]),
        "disk_mib": common.folder_mib(folder),
    }


def divided(folder: Path, plan: Plan, workers: int) -> Figures:
    """The same folder, divided among the cells of a server."""
    with cells.serving(folder, workers) as (address, pids):
        started = time.perf_counter()
        moved = 0
        while some := orders.spread(folder):
            moved += len(some)
        spent = time.perf_counter() - started
        each = (plan.size + plan.turns) / plan.spaces
        found = measure(
            lambda: Hippocampe.connect(address), plan, {"server": next(iter(pids.values()))}
        )
        return found | {
            "moved_spaces": moved,
            "load_per_second": round(moved * each / spent, 1) if moved else None,
            "memory_mib": memory_mib(list(pids.values())),
            "disk_mib": common.folder_mib(folder),
        }


def tier(source: Path, plan: Plan, quantized: bool) -> Figures:
    """One PostgreSQL and one Qdrant, and this library over them."""
    with servers() as (database, node, folder):
        target = Config(
            folder / "tier",
            database_url=database.create("scale"),
            qdrant_url=node.url,
            qdrant_quantized=quantized,
        )
        started = time.perf_counter()
        migration.migrate(Config(source, background=False), target)
        spent = time.perf_counter() - started
        with database.admin("scale") as connection:
            connection.execute("VACUUM ANALYZE")
        pids = {"postgresql": database._process.pid, "qdrant": node.process.pid}
        found = common.in_own_process(_tier, target, plan, pids)
        with database.admin("scale") as connection:
            size = connection.execute("SELECT pg_database_size('scale')").fetchone()
        return found | {
            "load_per_second": round((plan.size + plan.turns) / spent, 1),
            "server_memory_mib": {name: memory_mib(tree(pid)) for name, pid in pids.items()},
            "disk_mib": {
                "postgresql": round(int(str(size[0])) / 2**20, 1) if size else None,
                "qdrant": common.folder_mib(node.folder),
            },
        }


def _tier(target: Config, plan: Plan, servers: Mapping[str, int]) -> Figures:
    pids = {"library": os.getpid(), **servers}
    found = measure(lambda: Hippocampe.open(target), plan, pids)
    return found | {"memory_mib": memory_mib([os.getpid()])}


@contextmanager
def servers() -> Iterator[tuple[postgres.Server, qdrant.Node, Path]]:
    """PostgreSQL and Qdrant with folders on the disk."""
    folder = Path(tempfile.mkdtemp(prefix="scale-"))
    folder.chmod(0o711)  # PostgreSQL runs as another user
    (folder / "postgresql").mkdir()
    database = postgres.Server(folder / "postgresql")
    with database.admin() as connection:
        connection.execute(f"ALTER SYSTEM SET shared_buffers = '{SHARED_BUFFERS}'")
        connection.execute("ALTER SYSTEM SET max_wal_size = '4GB'")
    database.stop()
    database.start(durable=True)
    node = qdrant.Node(folder / "qdrant")
    try:
        yield database, node, folder
    finally:
        node.kill()
        database.stop()
        shutil.rmtree(folder, ignore_errors=True)


def tree(pid: int) -> list[int]:
    """A process and all its descendants."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in tree(int(child)))]


def memory_mib(pids: list[int]) -> float:
    """Memory of processes: shared pages are divided among those that share them."""
    total = 0
    for pid in pids:
        with suppress(OSError):  # a process of the database that has ended since it was listed
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                name, _, value = line.partition(":")
                if name == "Pss":
                    total += int(value.split()[0])
    return round(total / 1024, 1)


def fill_measured(folder: Path, plan: Plan) -> Figures:
    """Fill a folder; rows per second, embedding included."""
    spent = common.in_own_process(fill, folder, plan)
    return {"load_per_second": round((plan.size + plan.turns) / spent, 1)}


def copied(source: Path, target: Path) -> Path:
    """A copy of a folder, sparse where the source is."""
    subprocess.run(["cp", "-a", "--sparse=always", source, target], check=True)
    return target


def show(side: str, found: Figures) -> None:
    """Print the figures of one side."""
    print(side)
    for name, value in found.items():
        if isinstance(value, dict) and "p50" in value:
            print(f"  {name:18} p50 {value['p50']:8.2f}  p95 {value['p95']:8.2f} ms")
        else:
            print(f"  {name:18} {value}")


def run(
    plan: Plan, sides: Sequence[str], workers: int, cache: Path | None
) -> Iterator[tuple[str, Figures]]:
    """Fill a folder, or use a cached one, and measure each side of it."""
    with tempfile.TemporaryDirectory() as scratch:
        kept = (cache or Path(scratch)) / f"made-up-{plan.size}-{plan.spaces}-{plan.turns}"
        filled: Figures = {}
        if kept.exists():
            common.in_own_process(refresh, kept)
        else:
            filled = fill_measured(kept, plan)
        for side in sides:
            if side in ("embedded", "cells"):
                used = copied(kept, Path(scratch) / side)
                if side == "embedded":
                    yield side, filled | embedded(used, plan)
                else:
                    yield side, divided(used, plan, workers)
                shutil.rmtree(used)
            else:
                yield side, tier(kept, plan, quantized=side == "tier")


def main() -> None:
    """Measure the sizes and sides given on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument(
        "--sizes", type=common.numbers, default=[10_000, 100_000, 1_000_000], help="memories"
    )
    parser.add_argument("--spaces", type=common.numbers, default=[10, 100, 1_000], help="per size")
    parser.add_argument("--queries", type=int, default=1_000, help="turns asked for")
    parser.add_argument("--sides", default="embedded,cells,tier,tier-exact-vectors")
    parser.add_argument("--workers", type=int, default=2, help="cells")
    common.add_reader_option(parser)
    parser.add_argument("--cache", type=Path, help="keep filled folders here")
    parser.add_argument("--resume", action="store_true", help="keep what the file of results has")
    options = parser.parse_args()
    results: Figures = {"reader": not options.without_reader, "sizes": []}
    out = options.out or common.RESULTS / "scale.json"
    if options.resume and out.exists():
        results = json.loads(out.read_text(encoding="utf-8"))["results"]
    for size, spaces in zip(options.sizes, options.spaces, strict=True):
        plan = Plan(size, spaces, size // 5, options.queries, ())
        shape = {"size": size, "spaces": spaces, "turns": plan.turns}
        known = [each for each in results["sizes"] if each.items() >= shape.items()]
        if not known:
            results["sizes"].append(shape | {"sides": {}})
        sides = (known or results["sizes"])[-1]["sides"]
        wanted = [side for side in options.sides.split(",") if side not in sides]
        print(f"{size:,} memories and {plan.turns:,} turns in {spaces:,} spaces")
        for side, found in run(plan, wanted, options.workers, options.cache):
            show(side, found)
            sides[side] = found
            common.save(out, "scale", results)


if __name__ == "__main__":
    main()
