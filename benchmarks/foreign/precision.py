"""Run PrecisionMemBench, which asks a provider over HTTP, against the installed package.

    (cd fetched/precision && npm ci)
    python benchmarks/foreign/precision.py fetched/precision [--out FILE]

Needs node 22. The benchmark (`fetch.py`) asserts what must not come back. It finds the service by an entry `hippocampe` in its
`providers.config.json`, which is added; nothing else of it changes. Its cases and its session are run twice: as they are, and
with the scope of a search as a filter of metadata.

A belief is stored by `remember` with its aliases as subjects; a search gives what scores at least the default
threshold of the product, which a submission must disclose.
"""

import argparse
import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from hippocampe import Config, Hippocampe, Scope
from hippocampe.types import Settings

ENOUGH = Settings().auto_retrieve_min_score
PROVIDER = "hippocampe"
ENTRY = {
    "envVar": "HIPPOCAMPE_BENCHMARK_URL",
    "seedDelayMs": 50,
    "beliefToText": "canonical_name_aliases",
    "supportsUpdate": True,
    "supportsMultiScope": True,
}
"""The provider, for the harness."""
FILES = ("fixtures/retrieval.cases.json", "src/adapters/baseAdapter.ts")
"""The cases and the adapter, which changed the figures before: their digests are stored with them."""


class Belief(BaseModel):
    """A statement to store; `id` names the one that an update replaces."""

    text: str
    user_id: str = "user"
    id: str | None = None
    aliases: list[str] = []
    metadata: dict[str, Any] = {}


class Question(BaseModel):
    """A search."""

    query: str
    user_id: str = "user"
    limit: int = 20
    scope: str | list[str] | None = None


def service(folder: Path, *, by_scope: bool) -> FastAPI:
    """The service of one memory; each user has a space."""
    app = FastAPI()
    hippo = Hippocampe.open(Config(folder, background=False), join=False)

    def stored(belief: Belief, replaces: list[str]) -> dict[str, str]:
        scope = Scope(space=belief.user_id)
        plain = {
            name: value if isinstance(value, str | int | float | bool) else str(value)
            for name, value in belief.metadata.items()
            if value is not None
        }
        done = hippo.remember(
            belief.text, scope=scope, subjects=belief.aliases, metadata=plain, replaces=replaces
        )
        return {"id": done.memory.id, "beliefId": str(plain.get("beliefId", done.memory.id))}

    @app.post("/add")
    def add(belief: Belief) -> dict[str, str]:
        return stored(belief, [])

    @app.put("/update")
    def update(belief: Belief) -> dict[str, str]:
        scope = Scope(space=belief.user_id)
        wanted = {belief.id, belief.metadata.get("beliefId")} - {None}
        old = [
            each.id
            for each in hippo.memories(scope=scope, limit=200).items
            if each.id in wanted or each.metadata.get("beliefId") in wanted
        ]
        return stored(belief, old)

    @app.post("/search")
    def search(question: Question) -> dict[str, list[dict[str, Any]]]:
        scopes = [question.scope] if isinstance(question.scope, str) else question.scope
        found = hippo.recall(
            question.query,
            scope=Scope(space=question.user_id),
            collections=["memory"],
            limit=question.limit,
            min_score=ENOUGH,
        )
        return {
            "results": [
                {
                    # The harness compares with its own ids.
                    "id": str(each.memory.metadata.get("beliefId", each.id)),
                    "text": each.content,
                    "score": each.score,
                    "metadata": dict(each.memory.metadata),
                }
                for each in found
                if each.memory is not None
                and (not by_scope or not scopes or each.memory.metadata.get("scope") in scopes)
            ]
        }

    @app.delete("/reset")
    def reset() -> dict[str, bool]:
        for space in hippo.spaces():
            hippo.erase(scope=Scope(space=space), whole_space=True)
        return {"ok": True}

    return app


@contextmanager
def served(harness: Path, *, by_scope: bool) -> Iterator[None]:
    """Serve an empty memory, and tell the harness where."""
    providers = harness / "providers.config.json"
    with tempfile.TemporaryDirectory() as scratch, socket.create_server(("127.0.0.1", 0)) as door:
        entry = ENTRY | {"defaultUrl": f"http://127.0.0.1:{door.getsockname()[1]}"}
        known = json.loads(providers.read_text(encoding="utf-8")) | {PROVIDER: entry}
        providers.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
        app = service(Path(scratch), by_scope=by_scope)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join()


def asked(harness: Path, name: str) -> dict[str, Any]:
    """The figures of one file of tests, without its times: the machine may be busy."""
    path = harness / "test-results" / f"{name}-report-{PROVIDER}.json"
    path.unlink(missing_ok=True)
    line = ("npx", "ava", f"src/{name}.external.eval.test.ts", "--timeout", "10m")
    given = os.environ | {"RESEED": "true", "MEMORY_PROVIDER": PROVIDER}
    # It fails if any case does.
    done = subprocess.run(line, cwd=harness, env=given, capture_output=True, text=True, check=False)
    if not path.exists():
        raise SystemExit(f"no report of {name}: run npm ci in {harness}. It says:\n{done.stdout}")
    found = json.loads(path.read_text(encoding="utf-8"))["retrieval"]
    return {
        "passed": found["totalPassed"],
        "cases": found["totalCases"],
        "precision": found["meanPrecision"],
        "recall": found["meanRecall"],
        "categories": {
            each["category"]: f"{each['passed']} of {each['caseCount']}"
            for each in found["categories"]
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("harness", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    result: dict[str, Any] = {
        "threshold": ENOUGH,
        "sha256": {
            name: hashlib.sha256((given.harness / name).read_bytes()).hexdigest() for name in FILES
        },
    }
    for name, by_scope in (("as it is", False), ("the scope as a filter", True)):
        with served(given.harness, by_scope=by_scope):
            result[name] = {
                "alone": asked(given.harness, "retrieval"),
                "in a session": asked(given.harness, "session-retrieval"),
            }
    print(json.dumps(result, indent=1))
    if given.out:
        common.save(given.out, "precision", result)


if __name__ == "__main__":
    main()
