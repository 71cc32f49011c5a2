"""The highest rate at which a server still answers turns fast, beside that of the library alone.

    python benchmarks/server_load.py [--size 100000] [--turns 20000] [--seconds 30] [--overload-seconds 300]
                                     [--pages /memory] [--cache DIR] [--out results.json]

Requests arrive at a fixed rate, regardless of pending answers, in the mix before_turn 6 : after_turn 2 :
recall 1 : page of the dashboard 1. Their times start when they were due. A rate is held if 95 % of the turns
are answered within 60 ms and 99 % are served in full. The highest rate that is held is found for the library
in a process of its own, called by threads, and for `hippocampe serve`, called over HTTP by another process.
Then requests arrive at twice the rate of the server: how many are served in full then, of those that it
served at its highest rate.
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
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import common
from filling import Plan, fill
from hippocampe import Hippocampe, Scope
from hippocampe.config import Config

MIX = ("turn", "store", "turn", "recall", "turn", "turn", "store", "turn", "page", "turn")
"""The kinds of ten requests in a row."""
ARRIVALS = 64
"""Threads that call the library: more than can be pending within the deadline."""
FULL = 0.99
"""The share of turns that must be served in full."""
GROWTH = 1.25
"""From one rate to the next, until one is not held."""
LEAST = 0.5
"""Requests a second below which the search is given up."""
REFINED = 3
"""Halvings of the interval between the last rate that was held and the first that was not."""
REST = 2.0
"""Seconds between two rates, so that the background work of one does not burden the next."""
KEPT = 2.0
"""Seconds that an idle connection is used again; the server closes it after five."""
PATIENCE = 30.0
"""Seconds after which an answer is given up."""
Figures = dict[str, Any]


class Requests:
    """The texts of the requests, each asked once in its turn and on its own channel."""

    def __init__(self, plan: Plan) -> None:
        self.space = plan.space(0)
        self._questions = [text for text, _ in plan.questions(1)]
        self._said = plan.held()
        self._number = count()

    def next(self) -> tuple[str, str, str]:
        """Kind, text and channel of the next request."""
        number = next(self._number)
        kind = MIX[number % len(MIX)]
        texts = self._said if kind == "store" else self._questions
        return kind, texts[number % len(texts)], str(number)


@dataclass(slots=True)
class Outcomes:
    """What became of the requests; seconds by kind and outcome."""

    seconds: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def note(self, kind: str, outcome: str, seconds: float) -> None:
        """Count one answer."""
        self.seconds.setdefault((kind, outcome), []).append(seconds)

    def of(self, kind: str) -> dict[str, list[float]]:
        """The seconds of one kind, by outcome."""
        return {outcome: found for (of, outcome), found in self.seconds.items() if of == kind}

    def figures(self, rate: float, seconds: float) -> Figures:
        """Counts and times, by kind."""
        turns = self.of("turn")
        answered = [each for found in turns.values() for each in found]
        full = turns.get("full", [])
        times = common.percentiles(answered)
        served = sum(len(each) for (_, outcome), each in self.seconds.items() if outcome == "full")
        return {
            "arrivals_per_second": round(rate, 1),
            "seconds": round(seconds, 1),
            "turns": len(answered),
            "full_turns_per_second": round(len(full) / seconds, 1),
            "full_share": round(len(full) / max(1, len(answered)), 4),
            "full_requests_per_second": round(served / seconds, 1),
            "turn_ms": times,
            "kinds": {
                kind: {
                    outcome: {"count": len(found), "ms": common.percentiles(found)}
                    for outcome, found in sorted(self.of(kind).items())
                }
                for kind in sorted({kind for kind, _ in self.seconds})
            },
            "refused_with_5xx": sum(
                len(found) for (_, outcome), found in self.seconds.items() if outcome == "503"
            ),
            "other_5xx": sum(
                len(found)
                for (_, outcome), found in self.seconds.items()
                if outcome.startswith("5") and outcome != "503"
            ),
        }


Arrive = Callable[[float, float], Figures]
"""Sends requests at a rate for some seconds; the figures."""


def highest(arrive: Arrive, start: float, seconds: float, limit: float) -> Figures:
    """The highest rate that is held, and the figures of every rate that was tried.

    A rate is held if 95 % of the turns are answered within `limit` milliseconds.
    """
    tried: list[Figures] = []

    def held(rate: float) -> bool:
        time.sleep(min(REST, seconds))
        found = arrive(rate, seconds)
        found["held"] = found["turn_ms"]["p95"] <= limit and found["full_share"] >= FULL
        tried.append(found)
        say(found)
        return found["held"]

    low, high = 0.0, start
    while held(high):
        low, high = high, high * GROWTH
    while not low and not held(high / GROWTH):
        high /= GROWTH
        if high < LEAST:
            raise SystemExit(f"not even {high:.1f} requests a second are held: the machine is busy")
    low = low or high / GROWTH
    for _ in range(REFINED):
        middle = (low + high) / 2
        low, high = (middle, high) if held(middle) else (low, middle)
    return {"rate": round(low, 1), "tried": tried}


def say(found: Figures) -> None:
    """Show one rate."""
    times = found["turn_ms"]
    print(
        f"  {found['arrivals_per_second']:7.1f}/s  turns p50 {times['p50']:6.1f} p95 {times['p95']:6.1f} ms"
        f"  in full {found['full_share']:.3f} ({found['full_turns_per_second']:.1f}/s)"
        f"  {'held' if found.get('held') else ''}"
        + "".join(
            f"  {kind} " + " ".join(f"{name}:{each['count']}" for name, each in outcomes.items())
            for kind, outcomes in found["kinds"].items()
        ),
        file=sys.stderr,
    )


# The library alone


class Library:
    """Calls the verbs that the requests stand for, from threads."""

    def __init__(self, hippo: Hippocampe, plan: Plan) -> None:
        self._hippo = hippo
        self._requests = Requests(plan)

    def arrive(self, rate: float, seconds: float) -> Figures:
        """Requests at a fixed rate."""
        outcomes = Outcomes()
        started = time.perf_counter()
        with ThreadPoolExecutor(ARRIVALS) as pool:
            for number in range(int(rate * seconds)):
                due = started + number / rate
                time.sleep(max(0.0, due - time.perf_counter()))
                pool.submit(self._serve, due, outcomes)
        return outcomes.figures(rate, time.perf_counter() - started)

    def _serve(self, due: float, outcomes: Outcomes) -> None:
        kind, text, channel = self._requests.next()
        scope = Scope(space=self._requests.space, user="camille", channel=channel)
        outcome = "full"
        if kind == "turn":
            trace = self._hippo.before_turn(text, scope=scope).trace
            outcome = trace.skipped or ("partial" if trace.missing else "full")
        elif kind == "store":
            self._hippo.after_turn(text, "Noté.", scope=scope)
        elif kind == "recall":
            self._hippo.recall(text, scope=scope)
        # The library has no pages, and does nothing for one: the server must do that beside.
        outcomes.note(kind, outcome, time.perf_counter() - due)


def prepare(kept: Path, folder: Path, plan: Plan, deadline: int) -> None:
    """Copy a filled folder, and set the deadline of its turns."""
    shutil.copytree(kept, folder)
    with Hippocampe.open(Config(folder, background=False)) as hippo:
        hippo.update_settings(scope=Scope(space=plan.space(0)), hook_timeout_ms=deadline)


def measure_library(
    folder: Path, plan: Plan, start: float, seconds: float, limit: float
) -> Figures:
    """The highest rate of the library alone."""
    with Hippocampe.open(Config(folder)) as hippo:
        hippo.flush()
        library = Library(hippo, plan)
        library.arrive(start / 2, min(5.0, seconds))  # warms the caches
        return highest(library.arrive, start, seconds, limit)


# The server


class Connections:
    """Connections to one address, kept open; as many as there are pending requests."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._idle: list[tuple[float, asyncio.StreamReader, asyncio.StreamWriter]] = []
        """With the time of the last answer, oldest first."""

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Send one request; status and body of its answer."""
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
        if content:
            head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        reader, writer = await self._connection()
        writer.write(f"{head}\r\n".encode() + content)
        told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"(?i)\r\ncontent-length: (\d+)", told)
        answer = await reader.readexactly(int(length[1]) if length else 0)
        if "connection: close" in told.lower():
            writer.close()
        else:
            self._idle.append((time.monotonic(), reader, writer))
        return int(told.split(" ", 2)[1]), answer

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while self._idle:
            since, reader, writer = self._idle.pop()
            if time.monotonic() - since < KEPT:
                return reader, writer
            writer.close()
        return await asyncio.open_connection(self._host, self._port, limit=2**24)

    def close(self) -> None:
        """Close the idle ones."""
        for _, _, writer in self._idle:
            writer.close()


class Server:
    """Sends the requests to a server, from one event loop."""

    def __init__(self, address: str, plan: Plan, pages: list[str]) -> None:
        self._address = address
        self._requests = Requests(plan)
        self._pages = pages
        self._page = count()

    def arrive(self, rate: float, seconds: float) -> Figures:
        """Requests at a fixed rate."""
        return asyncio.run(self._arrive(rate, seconds))

    async def _arrive(self, rate: float, seconds: float) -> Figures:
        outcomes = Outcomes()
        connections = Connections(self._address)
        started = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for number in range(int(rate * seconds)):
                due = started + number / rate
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                tasks.create_task(self._serve(connections, due, outcomes))
        took = time.perf_counter() - started
        connections.close()
        return outcomes.figures(rate, took)

    async def _serve(self, connections: Connections, due: float, outcomes: Outcomes) -> None:
        kind, text, channel = self._requests.next()
        try:
            async with asyncio.timeout(PATIENCE):
                status, answer = await self._ask(connections, kind, text, channel)
        except TimeoutError:
            status, answer = 0, b""
        except (OSError, asyncio.IncompleteReadError):
            status, answer = -1, b""
        seconds = time.perf_counter() - due
        outcomes.note(kind, self._outcome(kind, status, answer), seconds)

    def _ask(
        self, connections: Connections, kind: str, text: str, channel: str
    ) -> Awaitable[tuple[int, bytes]]:
        where = f"?space={self._requests.space}&user=camille&channel={channel}"
        if kind == "turn":
            return connections.ask("POST", f"/api/before_turn{where}", {"message": text})
        if kind == "store":
            body = {"user_message": text, "reply": "Noté."}
            return connections.ask("POST", f"/api/after_turn{where}", body)
        if kind == "recall":
            return connections.ask("POST", f"/api/recall{where}", {"query": text})
        page = self._pages[next(self._page) % len(self._pages)]
        return connections.ask("GET", f"{page}?space={self._requests.space}")

    @staticmethod
    def _outcome(kind: str, status: int, answer: bytes) -> str:
        if status < 200 or status >= 300:
            return {0: "no answer", -1: "disconnected"}.get(status, str(status))
        if kind != "turn":
            return "full"
        trace = json.loads(answer)["trace"]
        return trace["skipped"] or ("partial" if trace["missing"] else "full")


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, int]]:
    """`hippocampe serve` on a folder: its address and its process id."""
    command = [sys.executable, "-m", "hippocampe", "serve", "--folder", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+:\d+", process.stdout.readline())
            if found is None:
                raise SystemExit("the server did not start")
            yield found[0], process.pid
        finally:
            process.terminate()


def resident_mib(pid: int) -> float | None:
    """Memory that a process holds, in MiB; None where the system does not tell."""
    with suppress(OSError):
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)
    return None


def measure_server(
    folder: Path,
    plan: Plan,
    pages: list[str],
    start: float,
    seconds: float,
    limit: float,
    long: float,
) -> Figures:
    """The highest rate of a server, and its answers at twice that rate, with its memory meanwhile."""
    with serving(folder) as (address, pid):
        server = Server(address, plan, pages)
        server.arrive(start / 2, min(5.0, seconds))  # warms the caches
        found = highest(server.arrive, start, seconds, limit)
        time.sleep(min(REST, seconds))
        memory: list[float | None] = []
        overload: Figures = {}
        rate, parts = 2 * found["rate"], 10
        with ThreadPoolExecutor(1) as pool:
            arriving = pool.submit(server.arrive, rate, long)
            for _ in range(parts):
                memory.append(resident_mib(pid))
                time.sleep(long / parts)
            overload = arriving.result()
        say(overload)
        memory.append(resident_mib(pid))
    turns = found["rate"] * Counter(MIX)["turn"] / len(MIX)
    overload["of_capacity"] = round(overload["full_requests_per_second"] / found["rate"], 3)
    overload["turns_of_capacity"] = round(overload["full_turns_per_second"] / turns, 3)
    overload["memory_mib"] = memory
    return found | {"overload": overload}


def run(options: Any) -> Figures:
    """Fill a folder, or use a cached one, and measure the library and the server on copies of it."""
    plan = Plan(options.size, 1, options.turns, 500, ())
    with tempfile.TemporaryDirectory() as scratch:
        kept = (options.cache or Path(scratch)) / f"overload-{plan.size}-{plan.turns}"
        if not kept.exists():
            common.in_own_process(fill, kept, plan)
        folders = [Path(scratch) / name for name in ("library", "server")]
        common.in_own_process(prepare, kept, folders[0], plan, options.deadline)
        how = (options.seconds, options.limit)
        alone = common.in_own_process(measure_library, folders[0], plan, options.start, *how)
        shutil.rmtree(folders[0])
        common.in_own_process(prepare, kept, folders[1], plan, options.deadline)
        how = (options.pages, alone["rate"], *how, options.overload_seconds)
        server = measure_server(folders[1], plan, *how)
    ratio = round(server["rate"] / alone["rate"], 3)
    return {
        "size": plan.size,
        "turns": plan.turns,
        "mix": Counter(MIX),
        "pages": options.pages,
        "deadline_ms": options.deadline,
        "limit_ms": options.limit,
        "library": alone,
        "server": server,
        "ratio": ratio,
    }


def main() -> None:
    """Measure the size given on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("--size", type=int, default=100_000, help="memories, in one space")
    parser.add_argument("--turns", type=int, default=20_000, help="of talk, beside the memories")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each rate")
    parser.add_argument(
        "--overload-seconds", type=float, default=300.0, help="at twice the rate of the server"
    )
    parser.add_argument("--start", type=float, default=60.0, help="the first rate of the library")
    parser.add_argument(
        "--pages",
        type=lambda text: text.split(","),
        default=["/memory"],
        help="paths of the dashboard to get",
    )
    parser.add_argument("--limit", type=float, default=60.0, help="of the p95 of turns, in ms")
    parser.add_argument("--deadline", type=int, default=100, help="of a turn, in milliseconds")
    parser.add_argument("--cache", type=Path, help="keep the filled folder here")
    found = run(options := parser.parse_args())
    over = found["server"]["overload"]
    print(
        f"library alone {found['library']['rate']}/s, server {found['server']['rate']}/s: "
        f"{found['ratio']:.0%}; at {over['arrivals_per_second']}/s {over['of_capacity']:.0%} of its "
        f"requests and {over['turns_of_capacity']:.0%} of its turns in full, 5xx other than refusals: {over['other_5xx']}, memory {over['memory_mib']} MiB"
    )
    common.save(options.out, "server_load", found)


if __name__ == "__main__":
    main()
