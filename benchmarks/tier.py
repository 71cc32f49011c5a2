"""The server tier: quality and latency beside the embedded engine, and what breaks when its parts are killed.

    python benchmarks/tier.py [--size 10000] [--texts FILE...] [--data FOLDER...] [--calm SECONDS] [--away SECONDS]
                              [--skip failures|latency|quality] [--out results.json]

Quality: each folder of questions is imported into a data folder, moved to PostgreSQL and Qdrant, and asked on both.
Latency: a folder of `size` memories is moved likewise, and the same questions are asked on both in turn.
Failures: three Qdrant nodes with two copies of each of three shards, one PostgreSQL, two server processes. Clients write
through both, and retry with the same idempotency key; others recall and begin turns. Then a part is killed or
frozen. `lost`: acknowledged memories that are not stored, or not in the index, once all is well. `doubled`: memories stored
twice. `gap`: the longest time without an answered read. `heal`: from the end of the failure until store and index
agree. All on one machine of few cores: the times are upper bounds.
"""

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

import common
import corpora
import recall
from filling import Plan, fill

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import postgres
import qdrant
from hippocampe import Config, Hippocampe, Scope, migration
from hippocampe.store import outbox

WRITERS, READERS = 3, 2
PAUSE = 0.05
"""Seconds between the calls of a client."""
HEAL_SECONDS = 180


# Quality and latency


def quality(folder: Path, server: postgres.Server, node: qdrant.Node) -> dict[str, Any]:
    """nDCG@10 of the same questions on both."""
    corpus = corpora.read_corpus(folder)
    collection = corpora.COLLECTION[corpus.form]
    figures: dict[str, Any] = {"questions": len(corpus.queries)}
    with corpora.data_folder(corpus, corpus.form, None) as (data, _):
        embedded = Config(data, background=False)
        target = tier_config(server, node, f"q_{corpus.name}", data.parent / "tier")
        migration.migrate(embedded, target)
        for name, config in (("embedded", embedded), ("tier", target)):
            with Hippocampe.open(config, clock=corpora.Clock({})) as hippo:
                documents = corpora._documents(hippo, corpus, corpus.form)
                measured = []
                for query in corpus.queries:
                    found = hippo.recall(
                        query.text,
                        scope=Scope(space=query.space, user=query.user),
                        limit=10,
                        collections=(collection,),
                    )
                    ranked = [documents[item.id] for item in found]
                    measured.append(recall.measure(ranked, query.answers)[0])
                figures[name] = round(statistics.fmean(measured), 4)
    figures["difference"] = round(figures["tier"] - figures["embedded"], 4)
    return figures


def latency(plan: Plan, server: postgres.Server, node: qdrant.Node, folder: Path) -> dict[str, Any]:
    """Seconds of each call on both, asked in turn."""
    fill(folder / "data", plan)
    embedded = Config(folder / "data", background=False)
    target = tier_config(server, node, "latency", folder / "tier")
    started = time.perf_counter()
    migration.migrate(embedded, target)
    moved = time.perf_counter() - started
    seconds: dict[str, dict[str, list[float]]] = {}
    with Hippocampe.open(embedded) as one, Hippocampe.open(target) as other:
        sides = {"embedded": one, "tier": other}
        for hippo in sides.values():
            hippo.flush()
            hippo.update_settings(scope=Scope(space="space-0"), hook_timeout_ms=10_000)
        for warm, questions in ((True, plan.questions(1)[:30]), (False, plan.questions(2))):
            for number, (text, space) in enumerate(questions):
                for name, hippo in sides.items():
                    here = Scope(space=space, user="dev", channel=f"{warm}-{number}")
                    for call, ask in (
                        ("recall", lambda: hippo.recall(text, scope=here)),  # noqa: B023
                        ("before_turn", lambda: hippo.before_turn(text, scope=here)),  # noqa: B023
                    ):
                        began = time.perf_counter()
                        ask()
                        if not warm:
                            spent = time.perf_counter() - began
                            seconds.setdefault(name, {}).setdefault(call, []).append(spent)
        for text in plan.held()[:150]:
            for name, hippo in sides.items():
                began = time.perf_counter()
                hippo.remember(text, scope=Scope(space="space-0", user="dev"))
                seconds[name].setdefault("remember", []).append(time.perf_counter() - began)
    figures: dict[str, Any] = {
        name: {call: common.percentiles(some) for call, some in calls.items()}
        for name, calls in seconds.items()
    }
    return {"memories": plan.size, "turns": plan.turns, "moved_seconds": round(moved, 1), **figures}


def tier_config(server: postgres.Server, node: qdrant.Node, name: str, folder: Path) -> Config:
    """A new database, and a collection of its name."""
    return Config(
        folder,
        database_url=server.create(name),
        qdrant_url=node.url,
        qdrant_collection=name,
        background=False,
    )


# Failures


class Process:
    """A server process over the tier."""

    def __init__(self, environment: dict[str, str], folder: Path, port: int) -> None:
        self._environment = environment
        self._folder = folder
        self.port = port
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "hippocampe", "serve", "--port", str(self.port)),
                    *("--folder", str(self._folder)),
                ],
                env={**os.environ, **self._environment},
                stdout=log,
                stderr=log,
            )
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            with contextlib.suppress(httpx.HTTPError):
                httpx.get(f"{self.url}/healthz", timeout=2)
                return
            time.sleep(0.1)
        raise SystemExit((self._folder / "log").read_text())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Load:
    """Clients that write and read through both processes until they are stopped."""

    urls: list[str]
    label: str
    acknowledged: list[str] = field(default_factory=list)
    unknown: int = 0
    answers: list[float] = field(default_factory=list)
    refused: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        for number in range(WRITERS):
            self._threads.append(threading.Thread(target=self._write, args=(number,)))
        for number in range(READERS):
            self._threads.append(threading.Thread(target=self._read, args=(number,)))
        self.answers.append(time.monotonic())
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        self._stop.set()
        for each in self._threads:
            each.join()
        self.answers.append(time.monotonic())

    def _write(self, writer: int) -> None:
        number = 0
        with httpx.Client(timeout=10) as client:
            while not self._stop.is_set():
                number += 1
                words = f"{self.label}{writer}x{number}"
                content = f"Le code {words} ouvre la porte {uuid.uuid4().hex[:12]}"
                key = uuid.uuid4().hex
                for attempt in range(60):
                    url = self.urls[(writer + number + attempt) % len(self.urls)]
                    with contextlib.suppress(httpx.HTTPError):
                        done = client.post(
                            f"{url}/api/memories",
                            params={"space": f"space-{writer}"},
                            json={"content": content},
                            headers={"Idempotency-Key": key},
                        )
                        if done.status_code < 300:
                            self.acknowledged.append(content)
                            break
                    if self._stop.is_set():
                        self.unknown += 1
                        break
                    time.sleep(0.2)
                else:
                    self.unknown += 1
                time.sleep(PAUSE)

    def _read(self, reader: int) -> None:
        number = 0
        with httpx.Client(timeout=2) as client:
            while not self._stop.is_set():
                number += 1
                url = self.urls[(reader + number) % len(self.urls)]
                here = {"space": "space-0", "channel": f"{reader}-{number}"}
                asked = {"message": "Quel code ouvre la porte ?"}
                with contextlib.suppress(httpx.HTTPError):
                    done = client.post(f"{url}/api/before_turn", params=here, json=asked)
                    if done.status_code == 200:
                        self.answers.append(time.monotonic())
                    else:
                        self.refused += 1
                time.sleep(PAUSE)

    @property
    def gap(self) -> float:
        """The longest time without an answer."""
        return max(b - a for a, b in zip(self.answers, self.answers[1:], strict=False))


@dataclass
class Tier:
    """All parts of the tier."""

    server: postgres.Server
    nodes: list[qdrant.Node]
    processes: list[Process]
    config: Config


@contextmanager
def tier(folder: Path) -> Iterator[Tier]:
    with postgres.running() as server, qdrant.running(3) as nodes:
        server.stop()
        # Each commit is on the disk before it is acknowledged.
        server.start(durable=True)
        config = replace(
            tier_config(server, nodes[0], "failures", folder / "look"),
            qdrant_url=",".join(node.url for node in nodes),
            qdrant_replicas=2,
            qdrant_shards=3,
        )
        environment = config.as_variables()
        processes: list[Process] = []
        try:
            for number in range(2):
                port = qdrant._free_port()
                processes.append(Process(environment, folder / f"process-{number}", port))
            yield Tier(server, nodes, processes, config)
        finally:
            for each in processes:
                each.kill()


def broken(tier: Tier, name: str, calm: float, fail: Callable[[Tier], None]) -> dict[str, Any]:
    """Run the clients, break something, and wait until all is well again."""
    load = Load([each.url for each in tier.processes], uuid.uuid4().hex[:6])
    load.start()
    time.sleep(calm)
    began = time.monotonic()
    fail(tier)
    ended = time.monotonic()
    time.sleep(calm)
    load.stop()
    with Hippocampe.open(tier.config) as hippo:
        healed = _healed(hippo, ended)
        stored: Counter[str] = Counter()
        for space in hippo.spaces():
            cursor = None
            while True:
                page = hippo.memories(scope=Scope(space=space), limit=200, cursor=cursor)
                stored.update(memory.content for memory in page.items)
                cursor = page.next_cursor
                if cursor is None:
                    break
        verified = hippo.verify()
    mine = [each for each in load.acknowledged if each not in stored]
    figures = {
        "failure_seconds": round(ended - began, 1),
        "acknowledged": len(load.acknowledged),
        "not_acknowledged": load.unknown,
        "lost": len(mine) + sum(map(len, verified.missing_in_index.values())),
        "doubled": sum(many - 1 for many in stored.values())
        + sum(map(len, verified.unknown_to_store.values())),
        "reads_answered": len(load.answers) - 2,
        "reads_refused": load.refused,
        "gap_seconds": round(load.gap, 2),
        "heal_seconds": None if healed is None else round(healed, 1),
        "verified": verified.ok,
    }
    print(name, figures, flush=True)
    return figures


def _healed(hippo: Hippocampe, since: float) -> float | None:
    while time.monotonic() < since + HEAL_SECONDS:
        with contextlib.suppress(Exception):
            if hippo.verify().ok:
                return time.monotonic() - since
        time.sleep(0.5)
    return None


def _kill_node(number: int, seconds: float) -> Callable[[Tier], None]:
    def fail(tier: Tier) -> None:
        tier.nodes[number].kill()
        time.sleep(seconds)
        tier.nodes[number].start()

    return fail


def _freeze_node(seconds: float) -> Callable[[Tier], None]:
    def fail(tier: Tier) -> None:
        os.kill(tier.nodes[2].process.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(tier.nodes[2].process.pid, signal.SIGCONT)

    return fail


def _kill_process(tier: Tier) -> None:
    tier.processes[0].kill()
    time.sleep(5)
    tier.processes[0].start()


def _restart_database(tier: Tier) -> None:
    tier.server.stop()
    tier.server.start(durable=True)


def _index_away(seconds: float) -> Callable[[Tier], None]:
    def fail(tier: Tier) -> None:
        for node in tier.nodes:
            node.kill()
        time.sleep(seconds)
        starting = [threading.Thread(target=node.start) for node in tier.nodes]
        for each in starting:
            each.start()
        for each in starting:
            each.join()

    return fail


def failures(calm: float, away: float) -> dict[str, Any]:
    """Each failure in turn, on one tier."""
    kinds: dict[str, Callable[[Tier], None]] = {
        "kill -9 of a Qdrant node": _kill_node(2, 10),
        "kill -9 of the first Qdrant node, the leader": _kill_node(0, 10),
        "a Qdrant node frozen": _freeze_node(30),
        "kill -9 of a server process": _kill_process,
        "restart of PostgreSQL": _restart_database,
        "the whole index away": _index_away(away),
    }
    with tempfile.TemporaryDirectory() as folder, tier(Path(folder)) as running:
        found = {name: broken(running, name, calm, fail) for name, fail in kinds.items()}
        with (
            Hippocampe.open(running.config) as hippo,
            hippo._context.corpus.store.read() as connection,
        ):
            found["left_in_outbox"] = outbox.pending_count(connection)
    return found


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    here = Path(__file__).parent / "data"
    parser.add_argument("--data", type=Path, nargs="*", default=[here / "memories", here / "talk"])
    parser.add_argument("--calm", type=float, default=8.0)
    parser.add_argument("--away", type=float, default=60.0)
    parser.add_argument("--skip", action="append", default=[])
    chosen = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        if {"quality", "latency"} - set(chosen.skip):
            with postgres.running() as server, qdrant.running() as [node]:
                server.stop()
                server.start(durable=True)
                if "quality" not in chosen.skip:
                    results["quality"] = {
                        each.name: quality(each, server, node) for each in chosen.data
                    }
                    print(results["quality"], flush=True)
                if "latency" not in chosen.skip:
                    plan = Plan(chosen.size, 1, chosen.size // 5, 300, tuple(chosen.texts))
                    results["latency"] = latency(plan, server, node, Path(folder))
                    print(results["latency"], flush=True)
    if "failures" not in chosen.skip:
        results["failures"] = failures(chosen.calm, chosen.away)
    common.save(chosen.out, "tier", results)


if __name__ == "__main__":
    main()
