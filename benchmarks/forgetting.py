"""Requests to forget as people make them: what each hides, and what other talk with the same words hides.

    python benchmarks/forgetting.py FILE... [--out results.json] [--show]

A file holds the store of two people as lines of JSON: first the language and the time now, then `{id, days, user, kind, text}`
(a memory, a turn or a live message, told so many days ago), then the messages, each for a store of its own: `{user, say,
forget, may, any, before, topic}`. `forget` are the items to hide (one is enough with `any`), none for talk that asks for
nothing; `may` may be hidden too; `before` was said just before; `topic` is the same for the verb `forget`. A request that
asks gets a yes.

- `forgotten`: all that is to be forgotten is hidden; `right`: and nothing else
- `asked`: the request waits for a yes; `hid another unasked`: something else is hidden without one
- `quiet`: talk that asks for nothing hides nothing, and nothing is asked
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

import common
from hippocampe import Config, Hippocampe, Scope
from hippocampe.store import schema
from hippocampe.testing.clock import FakeClock

SPACE = "home"
DEADLINE = 10_000
TABLES = (schema.memory, schema.turn)
REPLY = "OK."


def scope_of(user: str, channel: str = "kitchen") -> Scope:
    return Scope(space=SPACE, user=user, channel=channel)


def filled(folder: Path, first: dict[str, Any], items: list[dict[str, Any]]) -> dict[str, str]:
    """Tell the items in order, and return their names by the ids of what is stored."""
    now = datetime.fromisoformat(first["start"])
    names: dict[str, str] = {}
    clock = FakeClock(now - timedelta(days=items[0]["days"]))
    config = Config(folder, background=False, language=first["language"])
    with Hippocampe.open(config, clock=clock) as hippo:
        hippo.update_settings(scope=Scope(space=SPACE), hook_timeout_ms=DEADLINE)
        for number, item in enumerate(items):
            at = now - timedelta(days=item["days"]) + timedelta(minutes=number)
            clock.advance(seconds=max(0, (at - hippo.now()).total_seconds()))
            scope = scope_of(item["user"])
            if item["kind"] == "memory":
                id = hippo.remember(item["text"], scope=scope).memory.id
            elif item["kind"] == "turn":
                id = hippo.after_turn(item["text"], REPLY, scope=scope)
            else:
                id = hippo.observe(item["text"], scope=scope_of(item["user"], "lobby"))
            names[str(id)] = item["id"]
        hippo.flush()
    return names


def hidden(hippo: Hippocampe) -> set[str]:
    """The ids of what is hidden."""
    with hippo._context.corpus.store.read() as connection:
        return {
            str(row.id)
            for table in TABLES
            for row in connection.execute(
                select(table.c.id).where(table.c.forgotten_at.is_not(None))
            )
        }


def say(hippo: Hippocampe, clock: FakeClock, text: str, scope: Scope) -> tuple[bool, str]:
    """Whether a message is asked about, and the id of its turn."""
    forgetting = hippo.before_turn(text, scope=scope).forgetting
    clock.advance(seconds=5)
    turn = hippo.after_turn(text, REPLY, scope=scope)
    clock.advance(seconds=20)
    return forgetting is not None and forgetting.waits, turn


def tried(
    folder: Path, first: dict[str, Any], row: dict[str, Any], names: dict[str, str], *, verb: bool
) -> tuple[bool, set[str]]:
    """Whether a message was asked about, and the items that are hidden after it and a yes, or after the verb."""
    clock = FakeClock(datetime.fromisoformat(first["start"]))
    scope, named = scope_of(row["user"]), dict(names)
    config = Config(folder, background=False, language=first["language"])
    with Hippocampe.open(config, clock=clock) as hippo:
        for number, text in enumerate(row.get("before", ()), 1):
            named[say(hippo, clock, text, scope)[1]] = f"s{number}"
        asked = False
        if verb:
            hippo.forget(row["topic"], scope=scope)
        else:
            asked, _ = say(hippo, clock, row["say"], scope)
            if asked and row["forget"]:
                # Both languages agree with "ok".
                say(hippo, clock, "ok", scope)
        return asked, {named[id] for id in hidden(hippo) if id in named}


def judged(row: dict[str, Any], asked: bool, gone: set[str], *, verb: bool) -> list[str]:
    """What is counted of one message."""
    wanted = set(row["forget"])
    if not wanted:
        return ["other talk", "disturbed" if asked or gone - set(row.get("may", ())) else "quiet"]
    other = gone - wanted - set(row.get("may", ()))
    done = bool(gone & wanted) if row.get("any") else wanted <= gone
    found = ["requests", *(["asked"] if asked else [])]
    found += ["forgotten"] if done else []
    found += ["right"] if done and not other else []
    if other:
        found.append("hid another" if asked or verb else "hid another unasked")
    return found


def measured(rows: Iterator[dict[str, Any]], *, show: bool) -> dict[str, dict[str, int]]:
    """Counts of the messages and of the verb of one file."""
    first, *others = rows
    items = [each for each in others if "id" in each]
    counted: dict[str, Counter[str]] = {"messages": Counter(), "verb": Counter()}
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch) / "store"
        names = filled(store, first, items)
        for row in (each for each in others if "say" in each):
            for way in ("messages", "verb") if "topic" in row else ("messages",):
                folder = Path(scratch) / "copy"
                shutil.copytree(store, folder)
                asked, gone = tried(folder, first, row, names, verb=way == "verb")
                shutil.rmtree(folder)
                found = judged(row, asked, gone, verb=way == "verb")
                counted[way].update(found)
                if show and not {"right", "quiet"} & set(found):
                    print(f"{way}: {row['say']!r}: {', '.join(found)}: hid {sorted(gone)}")
    return {way: dict(sorted(each.items())) for way, each in counted.items()}


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--show", action="store_true", help="print what is not right")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for file in options.files:
        results[file.stem] = measured(common.json_lines(file), show=options.show)
    print(json.dumps(results, indent=1))
    common.save(options.out, "forgetting", results)


if __name__ == "__main__":
    main()
