"""Latency of `hippocampe hook prompt-submit` as a whole process, beside a running server.

    python benchmarks/hook.py [--size 10000] [--turns 2000] [--runs 200] [--cache DIR] [--out results.json]

Each prompt starts a process that reads the JSON of a coding agent and prints what memory knows, on a channel
that was given nothing before. An interpreter that does nothing runs in turn with it: the difference is what
the hook adds. The command is `python -m hippocampe`; the script `hippocampe` does the same.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common
from filling import Plan, fill
from server_load import serving

NOTHING = [sys.executable, "-c", "pass"]
HOOK = [sys.executable, "-m", "hippocampe", "hook", "prompt-submit"]
WARM_UP = 5
"""Prompts that are not measured: the first ones read files and fill caches."""


def timed(command: list[str], told: str = "") -> tuple[float, str]:
    """Seconds from the start of a process to its end, and what it printed."""
    started = time.perf_counter()
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=True)
    return time.perf_counter() - started, done.stdout


def told(prompt: str, number: int) -> str:
    """What a coding agent writes to a hook, each time in another project."""
    event = {"hook_event_name": "UserPromptSubmit", "cwd": f"/home/dev/project-{number}"}
    return json.dumps({**event, "session_id": str(number), "prompt": prompt})


def measure(folder: Path, plan: Plan) -> dict[str, Any]:
    """Times of prompts and of an interpreter that does nothing, in turn."""
    where = ["--folder", str(folder), "--space", plan.space(0), "--user", "benchmark"]
    hooks, nothings, given = list[float](), list[float](), 0
    with serving(folder):
        for number, (prompt, _) in enumerate(plan.questions(7)):
            took, printed = timed([*HOOK, *where], told(prompt, number))
            nothing, _ = timed(NOTHING)
            if number >= WARM_UP:
                hooks.append(took)
                nothings.append(nothing)
                given += bool(printed)
    return {
        "prompts_given_something": given,
        "hook_ms": {"min": round(1000 * min(hooks), 3), **common.percentiles(hooks)},
        "interpreter_ms": {"min": round(1000 * min(nothings), 3), **common.percentiles(nothings)},
    }


def run(options: Any) -> dict[str, Any]:
    """Fill a folder, or use a cached one, and measure."""
    plan = Plan(options.size, 1, options.turns, options.runs + WARM_UP, ())
    with tempfile.TemporaryDirectory() as scratch:
        kept = (options.cache or Path(scratch)) / f"hook-{plan.size}-{plan.turns}"
        if not kept.exists():
            common.in_own_process(fill, kept, plan)
        return {"size": plan.size, "turns": plan.turns, **measure(kept, plan)}


def main() -> None:
    """Measure the size given on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("--size", type=int, default=10_000, help="memories, in one space")
    parser.add_argument("--turns", type=int, default=2_000, help="of talk, beside the memories")
    parser.add_argument("--runs", type=int, default=200, help="prompts")
    parser.add_argument("--cache", type=Path, help="keep the filled folder here")
    found = run(options := parser.parse_args())
    hook, nothing = found["hook_ms"], found["interpreter_ms"]
    print(
        f"hook: median {hook['p50']} ms, p95 {hook['p95']} ms; an interpreter that does nothing: "
        f"median {nothing['p50']} ms, p95 {nothing['p95']} ms"
    )
    common.save(options.out, "hook", found)


if __name__ == "__main__":
    main()
