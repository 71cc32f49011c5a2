"""Acknowledged writes that are lost when the process is killed at a random instant.

    python benchmarks/crash.py [--rounds 1000] [--block 50] [--seed 0] [--out results.json]

In each round a fresh process opens the folder, writes, and prints what was acknowledged. It is killed
(SIGKILL) at a random instant, sometimes while it opens. Then everything acknowledged must be found,
everything deleted must be hidden, and `verify` must be clean. A folder is used for a block of rounds and
checked completely at the end. The index is flushed and rebuilt far more often than usual, so that kills
interrupt that too.
"""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import common
from hippocampe import Config, Hippocampe, Scope
from hippocampe.embed.local import LocalEmbedder
from hippocampe.errors import NotFound
from hippocampe.types import Recollection

SCOPE = Scope(space="crash", user="camille", channel="lobby")
OPENING = 0.2
"""Share of rounds in which the kill may come before the process is ready."""
LONGEST = 1.0
"""Maximum seconds before a writing process is killed."""


def config(folder: Path) -> Config:
    """Flush and build graphs many times a second."""
    return Config(folder, flush_seconds=0.1, graph_threshold=60)


# The process that is killed


def child(folder: Path, seed: int) -> None:
    """Write in a loop, printing each intended change before and each acknowledgement after it."""
    choose = random.Random(seed)
    hippo = Hippocampe.open(config(folder))
    _say(ready=True)
    kept: set[str] = set()
    for number in itertools.count(seed * 10_000):
        content = common.sentences(1, number)[0]
        action = choose.choices(("remember", "fact", "turn", "live", "delete"), (5, 2, 2, 2, 1))[0]
        if action in ("remember", "fact"):
            key = f"fact_{choose.randrange(5)}" if action == "fact" else None
            if key:
                _say(intended=key)
            done = hippo.remember(content, scope=SCOPE, key=key)
            # What it replaced is history: it need not be found any more.
            kept -= set(done.replaced)
            id = done.memory.id
            if key:
                _say(key=key, id=id, hidden=done.replaced)
            else:
                kept.add(id)
                _say(kind="memory", id=id, content=content, hidden=done.replaced)
        elif action == "turn":
            id = hippo.after_turn(content, "Bien noté.", scope=SCOPE)
            _say(kind="turn", id=id, content=content)
        elif action == "live":
            overheard = hippo.observe(content, scope=SCOPE)
            assert overheard is not None
            _say(kind="live", id=overheard.id, content=content)
        elif kept:
            id = choose.choice(sorted(kept))
            kept.remove(id)
            _say(intended=id)
            hippo.delete(id, scope=SCOPE, reason="crash test")
            _say(hidden=[id])


def _say(**what: Any) -> None:
    print(json.dumps(what, ensure_ascii=False), flush=True)


def nursery() -> None:
    """Fork one writing process per line read (`folder seed`), from one that has loaded everything.

    Loading the embedder's weights takes longer than most rounds last.
    """
    LocalEmbedder().embed(["."])
    for line in sys.stdin:
        folder, seed = json.loads(line)
        pid = os.fork()
        if not pid:
            child(Path(folder), seed)
        _say(pid=pid)
        _, status = os.waitpid(pid, 0)
        # The killed process may have left half a line.
        print(flush=True)
        _say(ended=os.waitstatus_to_exitcode(status))


# The process that checks


@dataclass(slots=True)
class Expected:
    """The expected content of a folder."""

    shown: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Kind and content by id."""
    hidden: set[str] = field(default_factory=set)
    facts: dict[str, str] = field(default_factory=dict)
    """The id of the acknowledged value by key."""
    unsure: set[str] = field(default_factory=set)
    """Ids and keys with a change that was started but not acknowledged."""

    def take(self, line: dict[str, Any]) -> bool:
        """Process one line of the child. Returns whether it acknowledges a write."""
        if "intended" in line:
            self.unsure.add(line["intended"])
            return False
        if "content" in line:
            self.shown[line["id"]] = (line["kind"], line["content"])
        if "key" in line:
            self.facts[line["key"]] = line["id"]
            self.unsure.discard(line["key"])
        for id in line.get("hidden", ()):
            self.hidden.add(id)
            self.shown.pop(id, None)
            self.unsure.discard(id)
        return "id" in line or "hidden" in line


@dataclass(slots=True)
class Tally:
    """The result of all rounds."""

    counts: Counter[str] = field(default_factory=Counter)
    opening: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def fail(self, what: str) -> None:
        self.counts["failures"] += 1
        self.failures.append(what)


def write_and_kill(
    source: "subprocess.Popen[str]", folder: Path, seed: int, expected: Expected, tally: Tally
) -> list[str]:
    """One round's writes; return the ids that were acknowledged."""
    choose = random.Random(-seed)
    assert source.stdin is not None
    assert source.stdout is not None
    source.stdin.write(json.dumps([str(folder), seed]) + "\n")
    source.stdin.flush()
    pid = json.loads(source.stdout.readline())["pid"]
    early = choose.random() < OPENING
    if not early and "ready" not in source.stdout.readline():
        tally.fail(f"round {seed}: the folder could not be opened for writing")
    time.sleep(choose.uniform(0, LONGEST / 2 if early else LONGEST))
    os.kill(pid, signal.SIGKILL)
    said = ""
    while '{"ended"' not in (line := source.stdout.readline()):
        said += line
    ended = json.loads(line)["ended"]
    if ended != -signal.SIGKILL:
        tally.fail(f"round {seed}: the writing process ended by itself, {ended}")
    said = "".join(line for line in said.splitlines(keepends=True) if "ready" not in line)
    tally.counts["killed while opening"] += early and not said
    acknowledged: list[str] = []
    for text in said.splitlines(keepends=True):
        if not text.endswith("}\n"):  # cut short by the kill: never acknowledged
            continue
        line = json.loads(text)
        if expected.take(line):
            tally.counts["acknowledged"] += 1
            acknowledged += [line["id"]] if "content" in line else []
    return acknowledged


def check(folder: Path, ids: list[str], expected: Expected, tally: Tally, where: str) -> None:
    """Open the folder and compare it with the acknowledged writes."""
    started = time.perf_counter()
    with Hippocampe.open(Config(folder, background=False)) as hippo:
        tally.opening.append(time.perf_counter() - started)
        result = hippo.verify()
        if not result.ok:
            tally.fail(f"{where}: verify found {result}")
        for id in ids:
            if id not in expected.shown:
                continue
            kind, content = expected.shown[id]
            found = id in [item.id for item in _recall(hippo, kind, content)]
            if not found and id not in expected.unsure and not _replaced(hippo, kind, id):
                tally.fail(f"{where}: the acknowledged {kind} {id} was not found")
            tally.counts["checked"] += 1
        facts = hippo.facts(scope=SCOPE)
        for key, id in expected.facts.items():
            if key not in facts or (facts[key].id != id and key not in expected.unsure):
                tally.fail(f"{where}: the fact {key} has lost its acknowledged value")
            elif key in expected.unsure:  # the value that was begun may or may not be there
                expected.facts[key] = facts[key].id
                expected.unsure.discard(key)
        for id in expected.hidden:
            try:
                if hippo.get(id, scope=SCOPE).current:
                    tally.fail(f"{where}: {id} came back after it was hidden")
            except NotFound:
                tally.fail(f"{where}: {id} was hidden and is gone altogether")


def _recall(hippo: Hippocampe, kind: str, content: str) -> list[Recollection]:
    return hippo.recall(content, scope=SCOPE, collections=(kind,), limit=5)


def _replaced(hippo: Hippocampe, kind: str, id: str) -> bool:
    """Whether a write that was stored but not acknowledged replaced a memory."""
    if kind != "memory":
        return False
    try:
        return hippo.get(id, scope=SCOPE).superseded_by is not None
    except NotFound:
        return False


def run(rounds: int, block: int, seed: int) -> dict[str, Any]:
    """All rounds, block after block."""
    tally = Tally()
    started = time.perf_counter()
    source = subprocess.Popen(
        [sys.executable, __file__, "--nursery"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    for first in range(0, rounds, block):
        expected = Expected()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            folder = Path(scratch) / "data"
            for number in range(first, min(first + block, rounds)):
                ids = write_and_kill(source, folder, seed + number + 1, expected, tally)
                check(folder, ids, expected, tally, f"round {number + 1}")
            check(folder, list(expected.shown), expected, tally, "end of the block")
        print(f"{number + 1} rounds: {dict(tally.counts)}", file=sys.stderr)
    source.kill()
    counted = {"rounds": rounds, "block": block, "failures": 0} | dict(tally.counts)
    return counted | {
        "seconds": round(time.perf_counter() - started, 1),
        "opening_after_a_kill": common.percentiles(tally.opening),
        "failed": tally.failures[:20],
    }


def main() -> int:
    """Run the rounds; exit with 1 if anything was lost."""
    parser = common.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--block", type=int, default=50, help="rounds on one folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nursery", action="store_true", help="for its own use: fork writers")
    options = parser.parse_args()
    if options.nursery:
        nursery()
        return 0
    found = run(options.rounds, options.block, options.seed)
    print(json.dumps(found, indent=1))
    common.save(options.out, "crash", found)
    return 1 if found["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
