"""The cost of using a memory through the process that owns its folder, and of starting one.

    python benchmarks/sharing.py [--size 10000] [--turns 2000] [--runs 200] [--starts 10] [--cache DIR] [--out FILE]

Each call is made in turn by the process that owns the folder and by one that has joined it: the difference is what
sharing costs. Then the first hook of a session is timed as a whole process, while no process owns the folder.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
from filling import Plan, fill
from hippocampe import Config, Hippocampe, Scope
from hippocampe.client.local import LocalConnection
from hippocampe.system.owner import read_owner
from hook import HOOK, timed, told

WARM_UP = 5
"""Calls that are not measured: the first ones read files and fill caches."""


def calls(folder: Path, plan: Plan) -> dict[str, Any]:
    """Milliseconds of calls in the process that owns the folder, and of the same calls through it."""
    me = Scope(space=plan.space(0), user="benchmark")
    verbs: dict[str, Callable[[Hippocampe, str, int], object]] = {
        "recall": lambda memory, text, _: memory.recall(text, scope=me),
        "before_turn": lambda memory, text, n: memory.before_turn(
            text, scope=Scope(me.space, me.user, f"channel {n}")
        ),
        "now": lambda memory, *_: memory.now(),
    }
    found: dict[str, Any] = {}
    with Hippocampe.open(Config(folder)) as owner, Hippocampe.open(Config(folder)) as joined:
        assert (owner.owns, joined.owns) == (True, False)
        for name, verb in verbs.items():
            times: dict[str, list[float]] = {"owner": [], "joined": []}
            for number, (text, _) in enumerate(plan.questions(7)):
                for memory, who in ((owner, "owner"), (joined, "joined")):
                    started = time.perf_counter()
                    verb(memory, text, 2 * number + (who == "joined"))
                    if number >= WARM_UP:
                        times[who].append(time.perf_counter() - started)
            found[name] = {who: common.percentiles(each) for who, each in times.items()}
    return found


def starts(folder: Path, plan: Plan, count: int) -> dict[str, float]:
    """Milliseconds of the first hook of a session, which finds no owner."""
    where = ["--folder", str(folder), "--space", plan.space(0), "--user", "benchmark"]
    times: list[float] = []
    for number, (prompt, _) in enumerate(plan.questions(7)[:count]):
        took, _ = timed([*HOOK, *where], told(prompt, number))
        times.append(took)
        owner = LocalConnection(folder)
        owner.call("leave")
        owner.close()
        while read_owner(folder) is not None:
            time.sleep(0.02)
    return common.percentiles(times)


def run(options: Any) -> dict[str, Any]:
    """Fill a folder, or use a cached one, and measure."""
    plan = Plan(options.size, 1, options.turns, options.runs + WARM_UP, ())
    with tempfile.TemporaryDirectory() as scratch:
        kept = (options.cache or Path(scratch)) / f"hook-{plan.size}-{plan.turns}"
        if not kept.exists():
            common.in_own_process(fill, kept, plan)
        first = starts(kept, plan, options.starts)
        return {
            "size": plan.size,
            "turns": plan.turns,
            "calls_ms": calls(kept, plan),
            "first_hook_ms": first,
        }


def main() -> None:
    """Measure the size given on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("--size", type=int, default=10_000, help="memories, in one space")
    parser.add_argument("--turns", type=int, default=2_000, help="of talk, beside the memories")
    parser.add_argument("--runs", type=int, default=200, help="calls of each verb")
    parser.add_argument("--starts", type=int, default=10, help="first hooks of a session")
    parser.add_argument("--cache", type=Path, help="keep the filled folder here")
    found = run(options := parser.parse_args())
    for name, times in found["calls_ms"].items():
        print(f"{name}: {times['owner']['p50']} ms as owner, {times['joined']['p50']} ms joined")
    first = found["first_hook_ms"]
    print(f"first hook of a session: median {first['p50']} ms, p95 {first['p95']} ms")
    common.save(options.out, "sharing", found)


if __name__ == "__main__":
    main()
