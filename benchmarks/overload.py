"""Turns per second of one process, and the share that is still served at twice that load.

    python benchmarks/overload.py [--size 100000] [--turns 20000] [--seconds 10] [--callers 1,2,4,8,16]
                                  [--load 2] [--deadline 100] [--without-reader] [--cache DIR]
                                  [--out results.json]

Closed loop: each caller asks again as soon as it is answered. The capacity is the highest rate of turns
served in full. Open loop: turns arrive at a fixed rate of `--load` times the capacity, regardless of
pending answers. A turn is served in full if its trace has nothing late, down or skipped but the
reader, which goes first under load. Each turn has its
own channel. Settings are those of a new space, except for the deadline (`hook_timeout_ms`) if given.
"""

import logging
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import common
from filling import Plan, fill, refresh
from hippocampe import Hippocampe, Scope
from hippocampe.config import Config
from hippocampe.types import Injection

ARRIVALS = 64
"""Threads that send turns: more than can be pending within the deadline."""


class Load:
    """Sends turns to one open folder, from any thread, and records their outcomes."""

    def __init__(self, hippo: Hippocampe, plan: Plan) -> None:
        self._hippo = hippo
        self._questions = [text for text, _ in plan.questions(1)]
        self._space = plan.space(0)
        self._number = count()
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Start counting again."""
        self.full: list[float] = []
        self.refused: list[float] = []
        self.partial: list[float] = []
        self.read = 0
        self.why: Counter[str] = Counter()

    def ask(self, due: float | None = None) -> None:
        """Serve one turn. Its time starts when it was due."""
        number = next(self._number)
        text = self._questions[number % len(self._questions)]
        started = time.perf_counter() if due is None else due
        turn = self._hippo.before_turn(text, scope=Scope(space=self._space, channel=str(number)))
        self._note(turn, time.perf_counter() - started)

    def _note(self, turn: Injection, seconds: float) -> None:
        trace = turn.trace
        with self._lock:
            if trace.skipped is not None:
                self.refused.append(seconds)
            elif set(trace.missing) - common.UNREAD:
                self.partial.append(seconds)
            else:
                self.full.append(seconds)
                self.read += not trace.missing
            self.why.update(trace.missing if trace.skipped is None else [trace.skipped])

    def figures(self, seconds: float) -> dict[str, Any]:
        """The outcomes of the turns."""
        answered = [*self.full, *self.partial, *self.refused]
        return {
            "turns": len(answered),
            "full_per_second": round(len(self.full) / seconds, 1),
            "full_share": round(len(self.full) / max(1, len(answered)), 3),
            "read_share": round(self.read / max(1, len(self.full)), 3),
            "partial": len(self.partial),
            "refused": len(self.refused),
            "why": dict(self.why),
            "answered_ms": common.percentiles(answered),
            "full_ms": common.percentiles(self.full) if self.full else None,
        }


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def logged() -> Iterator[list[str]]:
    """Collects the lines that the library logs."""
    log, handler = logging.getLogger("hippocampe"), _Lines()
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield handler.lines
    finally:
        log.removeHandler(handler)


def closed_loop(load: Load, callers: int, seconds: float) -> dict[str, Any]:
    """Callers that ask again as soon as they are answered."""
    load.clear()
    end = time.perf_counter() + seconds

    def call() -> None:
        while time.perf_counter() < end:
            load.ask()

    return _measured(load, lambda: _in_threads(callers, call))


def open_loop(load: Load, per_second: float, seconds: float) -> dict[str, Any]:
    """Turns that arrive at a fixed rate."""
    load.clear()
    with ThreadPoolExecutor(ARRIVALS) as pool:

        def arrive() -> None:
            started = time.perf_counter()
            for number in range(int(per_second * seconds)):
                due = started + number / per_second
                time.sleep(max(0.0, due - time.perf_counter()))
                pool.submit(load.ask, due)
            pool.shutdown()

        return _measured(load, arrive)


def _measured(load: Load, work: Callable[[], None]) -> dict[str, Any]:
    started = time.perf_counter()
    with logged() as lines:
        work()
    figures = load.figures(time.perf_counter() - started)
    return figures | {"log_lines": len(lines)}


def _in_threads(callers: int, call: Callable[[], None]) -> None:
    threads = [threading.Thread(target=call) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure(
    folder: Path,
    plan: Plan,
    callers: list[int],
    seconds: float,
    load_factor: float,
    deadline: int,
) -> dict[str, Any]:
    """Both loops on a filled folder."""
    with Hippocampe.open(Config(folder)) as hippo:
        hippo.flush()
        hippo.update_settings(scope=Scope(space=plan.space(0)), hook_timeout_ms=deadline)
        load = Load(hippo, plan)
        closed_loop(load, 1, min(2.0, seconds))  # warms the caches
        closed = {str(number): closed_loop(load, number, seconds) for number in callers}
        capacity = max(figures["full_per_second"] for figures in closed.values())
        overload = open_loop(load, load_factor * capacity, seconds)
        overload["arrivals_per_second"] = round(load_factor * capacity, 1)
        overload["of_capacity"] = round(overload["full_per_second"] / max(capacity, 0.1), 3)
    return {
        "size": plan.size,
        "turns": plan.turns,
        "deadline_ms": deadline,
        "capacity_per_second": capacity,
        "closed_loop": closed,
        "open_loop": overload,
    }


def run(plan: Plan, keep: Path | None, *how: Any) -> dict[str, Any]:
    """Fill a folder, or use a cached one, and measure it in a fresh process."""
    with tempfile.TemporaryDirectory() as scratch:
        used = Path(scratch) / "data"
        kept = keep / f"overload-{plan.size}-{plan.turns}" if keep else None
        if kept is not None and kept.exists():
            common.in_own_process(refresh, kept)
            shutil.copytree(kept, used)
        else:
            common.in_own_process(fill, used, plan)
            if kept is not None:
                shutil.copytree(used, kept)
        return common.in_own_process(measure, used, plan, *how)


def show(found: dict[str, Any]) -> None:
    """Print the figures."""
    print(f"{found['size']} memories, {found['turns']} turns of talk, one space")
    rows = [(f"{callers} callers", each) for callers, each in found["closed_loop"].items()]
    rate = found["open_loop"]["arrivals_per_second"]
    rows.append((f"{rate} arrivals/s", found["open_loop"]))
    for name, each in rows:
        times = each["answered_ms"]
        print(
            f"  {name:20} {each['full_per_second']:7.1f} in full/s  share {each['full_share']:.3f}"
            f"  answered p50 {times['p50']:6.1f} p95 {times['p95']:6.1f} ms"
            f"  log lines {each['log_lines']}  {each['why']}"
        )
    share = found["open_loop"]["of_capacity"]
    print(f"  capacity {found['capacity_per_second']}/s; of it served in full under load: {share}")


def main() -> None:
    """Measure the size given on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("--size", type=int, default=100_000, help="memories, in one space")
    parser.add_argument("--turns", type=int, default=20_000, help="of talk, beside the memories")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each loop")
    parser.add_argument(
        "--callers",
        type=common.numbers,
        default=[1, 2, 4, 8, 16],
        help="of the closed loop",
    )
    parser.add_argument("--load", type=float, default=2.0, help="of the capacity, in the open loop")
    parser.add_argument("--deadline", type=int, default=100, help="of a turn, in milliseconds")
    common.add_reader_option(parser)
    parser.add_argument("--cache", type=Path, help="keep the filled folder here")
    options = parser.parse_args()
    plan = Plan(options.size, 1, options.turns, 500, ())
    how = (options.callers, options.seconds, options.load, options.deadline)
    found = run(plan, options.cache, *how) | {"reader": not options.without_reader}
    show(found)
    common.save(options.out, "overload", found)


if __name__ == "__main__":
    main()
