"""Turns per second of a server with one process and with cells, and what a busy space does to the others.

    python benchmarks/cells.py [--size 20000] [--turns 4000] [--workers 1,2] [--seconds 20] [--callers 4]
                               [--without-reader] [--cache DIR] [--out results.json]

As many spaces as the most workers, each with an equal part of the memories; with cells, each is in a cell of its own.
Closed loop over HTTP, from another process: the callers of each space ask again as soon as they are answered, each turn
on its own channel. Then noisy neighbours: one space is asked by all callers at once, another one five times a second;
the times of the second, beside and alone. Processor time by process is given too: it does not depend on what else the
machine does, and says what more cores would give: a router is worth `1 / router` turns per second, a cell
`1 / cell`.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import common
from filling import Plan, fill
from hippocampe.cells import Divided, folder_of
from hippocampe.config import Config
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.cells import serving as orders
from hippocampe.system.owner import read_owner
from hippocampe.types import Scope
from server_load import Connections

DEADLINE_MS = 2_000
"""Long, so that a turn is late and not partial where the machine is busy with other work."""
QUIET_RATE = 5.0
"""Turns per second of the space that is not busy."""
Figures = dict[str, Any]


class Asker:
    """Asks for turns of one space.

    Args:
        address: The server.
        plan: What the folder holds.
        space: The space.
    """

    def __init__(self, address: str, plan: Plan, space: str) -> None:
        self._connections = Connections(address)
        self._questions = [text for text, of in plan.questions(1) if of == space]
        self._space = space
        self._number = count()
        self.seconds: list[float] = []
        self.full = 0

    async def ask(self, due: float | None = None) -> None:
        """Ask for one turn; its time starts when it was due."""
        number = next(self._number)
        started = time.perf_counter() if due is None else due
        path = f"/api/before_turn?space={self._space}&user=camille&channel={number}"
        body = {"message": self._questions[number % len(self._questions)]}
        status, answer = await self._connections.ask("POST", path, body)
        self.seconds.append(time.perf_counter() - started)
        trace = json.loads(answer)["trace"] if status == 200 else {"skipped": str(status)}
        self.full += not trace["skipped"] and not set(trace["missing"]) - common.UNREAD

    async def loop(self, ends: float) -> None:
        """Ask again as soon as answered."""
        while time.perf_counter() < ends:
            await self.ask()

    async def steadily(self, rate: float, ends: float) -> None:
        """Ask at a fixed rate."""
        started = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            number = 0
            while (due := started + number / rate) < ends:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                tasks.create_task(self.ask(due))
                number += 1

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()


async def closed_loop(askers: list[Asker], callers: int, seconds: float) -> None:
    """Callers of each space that ask again as soon as they are answered."""
    ends = time.perf_counter() + seconds
    await asyncio.gather(*(each.loop(ends) for each in askers for _ in range(callers)))


async def beside(quiet: Asker, busy: Asker | None, callers: int, seconds: float) -> None:
    """A space that is asked now and then, beside one that is asked all the time."""
    ends = time.perf_counter() + seconds
    loud = [busy.loop(ends) for _ in range(callers)] if busy is not None else []
    await asyncio.gather(quiet.steadily(QUIET_RATE, ends), *loud)


@contextmanager
def serving(folder: Path, workers: int) -> Iterator[tuple[str, dict[str, int]]]:
    """A server: its address, and the ids of its processes by name."""
    command = [sys.executable, "-m", "hippocampe", "serve", "--folder", str(folder), "--port", "0"]
    command += ["--workers", str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+:\d+", process.stdout.readline())
            if found is None:
                raise SystemExit("the server did not start")
            pids = {"router" if workers > 1 else "server": process.pid}
            for number in range(workers if workers > 1 else 0):
                owner = read_owner(folder_of(folder, number))
                assert owner is not None
                pids[f"cell {number}"] = owner.pid
            yield found[0], pids
        finally:
            process.terminate()


def processor_seconds(pids: Mapping[str, int]) -> dict[str, float]:
    """The processor time that each process has used."""
    used = {}
    for name, pid in pids.items():
        values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        used[name] = (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")
    return used


def measure(
    folder: Path, plan: Plan, workers: int, seconds: float, callers: int, warm: float
) -> Figures:
    """Throughput and noisy neighbours of a server on a copy of the folder."""
    spaces = [f"space-{number}" for number in range(plan.spaces)]
    with serving(folder, workers) as (address, pids):
        if workers > 1:
            divided = Divided(folder)
            for number, space in enumerate(spaces):
                if divided.read().cell_of(space) != number % workers:
                    orders.move(folder, space, number % workers)

        def figures(steps: Any) -> tuple[list[Asker], dict[str, float], float]:
            async def run() -> list[Asker]:
                askers = [Asker(address, plan, space) for space in spaces]
                await steps(askers)
                for each in askers:
                    each.close()
                return askers

            before, started = processor_seconds(pids), time.perf_counter()
            own = time.process_time()
            askers = asyncio.run(run())
            took = time.perf_counter() - started
            used = {name: at - before[name] for name, at in processor_seconds(pids).items()}
            return askers, used | {"callers": time.process_time() - own}, took

        figures(lambda askers: closed_loop(askers, 1, warm))
        askers, used, took = figures(lambda a: closed_loop(a, callers, seconds))
        turns = sum(len(each.seconds) for each in askers)
        throughput = {
            "turns": turns,
            "full": sum(each.full for each in askers),
            "turns_per_second": round(turns / took, 1),
            "turn_ms": common.percentiles([s for each in askers for s in each.seconds]),
            "processor_ms_per_turn": {
                name: round(spent * 1000 / turns, 2) for name, spent in used.items()
            },
            "busy_cores": round(sum(used.values()) / took, 2),
        }
        neighbours = {}
        for name in ("alone", "beside a busy space"):
            loud = name != "alone"
            askers, _, _ = figures(
                lambda a, loud=loud: beside(a[-1], a[0] if loud else None, 2 * callers, seconds)
            )
            neighbours[name] = common.percentiles(askers[-1].seconds)
        ratio = neighbours["beside a busy space"]["p95"] / neighbours["alone"]["p95"]
        return {
            "workers": workers,
            "throughput": throughput,
            "noisy_neighbour": neighbours | {"p95_ratio": round(ratio, 2)},
        }


def prepare(kept: Path, folder: Path, plan: Plan) -> None:
    """Copy a filled folder, and give its turns time."""
    shutil.copytree(kept, folder)
    with Hippocampe.open(Config(folder, background=False)) as hippo:
        for number in range(plan.spaces):
            scope = Scope(space=f"space-{number}")
            hippo.update_settings(scope=scope, hook_timeout_ms=DEADLINE_MS)


def model(measured: list[Figures]) -> list[Figures]:
    """What more cores would give, from the processor time of a turn: computed, not measured."""
    most = measured[-1]["throughput"]["processor_ms_per_turn"]
    router = most.get("router", 0.0)
    cell = sum(spent for name, spent in most.items() if name.startswith("cell"))
    alone = measured[0]["throughput"]["processor_ms_per_turn"]["server"]
    busiest = {cores: max((cell + router) / cores, router) for cores in (2, 4, 8, 16)}
    return [
        {
            "cores": cores,
            "turns_per_second": round(1000 / spent, 1),
            "of_one_process": round(alone / spent / cores, 3),
        }
        for cores, spent in busiest.items()
    ]


def main() -> None:
    """Measure the numbers of workers given on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("--size", type=int, default=20_000, help="memories in all")
    parser.add_argument("--turns", type=int, default=4_000, help="of talk, beside the memories")
    parser.add_argument("--workers", default="1,2", help="numbers of processes")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    parser.add_argument("--warm", type=float, default=5.0, help="seconds before the first one")
    parser.add_argument("--callers", type=int, default=4, help="of each space")
    common.add_reader_option(parser)
    parser.add_argument("--cache", type=Path, help="folder of filled folders")
    options = parser.parse_args()
    workers = [int(each) for each in options.workers.split(",")]
    plan = Plan(options.size, max(workers), options.turns, 2_000, ())
    measured: list[Figures] = []
    with tempfile.TemporaryDirectory() as scratch:
        kept = (options.cache or Path(scratch)) / f"cells-{plan.size}-{plan.spaces}-{plan.turns}"
        if not kept.exists():
            common.in_own_process(fill, kept, plan)
        for each in workers:
            folder = Path(scratch) / f"workers-{each}"
            common.in_own_process(prepare, kept, folder, plan)
            measured.append(
                measure(
                    folder,
                    plan,
                    each,
                    options.seconds,
                    options.callers,
                    options.warm,
                )
            )
            shutil.rmtree(folder)
            print(json.dumps(measured[-1], indent=1), file=sys.stderr)
    results: Figures = {
        "size": plan.size,
        "spaces": plan.spaces,
        "turns": plan.turns,
        "callers": options.callers,
        "reader": not options.without_reader,
        "measured": measured,
    }
    if workers[0] == 1 and workers[-1] > 1:
        rates = [each["throughput"]["turns_per_second"] for each in measured]
        results["scaling"] = round(rates[-1] / rates[0] / workers[-1], 3)
        results["model"] = model(measured)
    common.save(options.out, "cells", results)


if __name__ == "__main__":
    main()
