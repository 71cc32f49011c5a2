"""Evenings of natural talk: what each message was given, of what it needed.

    python benchmarks/evenings.py FILE... [--out results.json] [--show]

A file holds one evening of several people in one room, as lines of JSON: first the language and the start, then in order
`{after, user, remember}` (a statement) and `{after, user, say, reply, needs, wrong}` (an exchange), each so many seconds
after the one before. `needs` are the parts of memories that the message needs, each with its alternatives; none if it
needs nothing, absent if that is open. `wrong` are parts of memories that would mislead.

- `given`: everything needed is injected, or was injected earlier in this session and is still before the model
- `misled`: something `wrong` is injected
- `quiet`: a message that needs nothing gets nothing from the search
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import common
from hippocampe import Config, Hippocampe, Scope
from hippocampe.testing.clock import FakeClock
from hippocampe.types import Injection

BEFORE_MODEL = ("injected", "already_known", "too_similar")
"""Outcomes of what the model has before it."""
DEADLINE = 10_000


def play(rows: Iterator[dict[str, Any]], *, show: bool = False) -> dict[str, int]:
    """Play one evening, and count."""
    first = next(rows)
    clock = FakeClock(datetime.fromisoformat(first["start"]))
    counted: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        Hippocampe.open(
            Config(Path(folder) / "data", background=False, language=first["language"]), clock=clock
        ) as hippo,
    ):
        hippo.update_settings(scope=Scope(space="home"), hook_timeout_ms=DEADLINE)
        for row in rows:
            clock.advance(seconds=row["after"])
            scope = Scope(space="home", user=row["user"], channel="room")
            if "remember" in row:
                counted[f"remembered, {hippo.remember(row['remember'], scope=scope).action}"] += 1
                continue
            given = hippo.before_turn(row["say"], scope=scope)
            found = judged(row, given)
            counted.update(found)
            if show and {"missed", "misled", "disturbed"} & set(found):
                print(f"{', '.join(found)}: {row['user']}: {row['say']} {row.get('needs', '')}")
            hippo.after_turn(row["say"], row["reply"], scope=scope)
    return dict(counted)


def judged(row: dict[str, Any], given: Injection) -> list[str]:
    """What is counted of one message."""
    considered = [
        (each.outcome, each.path, each.recollection.content.lower())
        for each in given.trace.considered
    ]
    known = "\n".join(text for outcome, _, text in considered if outcome in BEFORE_MODEL)
    injected = [(path, text) for outcome, path, text in considered if outcome == "injected"]
    found = ["messages"]
    if needs := row.get("needs"):
        has = all(any(part.lower() in known for part in each) for each in needs)
        found += ["needing", "given" if has else "missed"]
    elif needs is not None:
        searched = any(path == "search" for path, _ in injected)
        found += ["needing nothing", "disturbed" if searched else "quiet"]
    if row.get("wrong"):
        wrong = [part.lower() for part in row["wrong"]]
        misled = any(part in text for _, text in injected for part in wrong)
        found += ["with something wrong", *(["misled"] if misled else [])]
    return found


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--show", action="store_true", help="print what was missed or disturbed")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    total: Counter[str] = Counter()
    for file in options.files:
        results[file.stem] = play(common.json_lines(file), show=options.show)
        total.update(results[file.stem])
    results["all"] = dict(total)
    print(json.dumps(results, indent=1))
    common.save(options.out, "evenings", results)


if __name__ == "__main__":
    main()
