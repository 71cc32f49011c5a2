"""Serve the provider that PrecisionMemBench asks over HTTP, on the installed package.

    python benchmarks/foreign/precision.py [--port 8790] [--scope]

The benchmark (`fetch.py`) asserts what must not come back. Name the service in its `providers.config.json` as `hippocampe`, then:

    RESEED=true MEMORY_PROVIDER=hippocampe npx ava src/retrieval.external.eval.test.ts

A belief is stored by `remember` with its aliases as subjects; a search gives what scores at least the default
threshold of the product, which a submission must disclose. `--scope` takes the scope of a search as a filter of metadata.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from hippocampe import Config, Hippocampe, Scope
from hippocampe.types import Settings

ENOUGH = Settings().auto_retrieve_min_score


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--port", type=int, default=8790)
    parser.add_argument("--scope", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        uvicorn.run(
            service(Path(scratch), by_scope=options.scope), port=options.port, log_level="warning"
        )
