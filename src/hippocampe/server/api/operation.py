"""Endpoints for operators: liveness, readiness and metrics."""

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import EmbedderError, HippocampeError, StoreError
from hippocampe.server.http.dependencies import Hippo
from hippocampe.server.http.metrics import Metrics
from hippocampe.types import Scope

router = APIRouter(tags=["Server"])
FRESH_SECONDS = 5.0
"""Time to live of a cached answer: anyone may ask, and a remote embedder costs money."""
PROBE = Scope(space="hippocampe-readiness")
State = Literal["ok", "loading", "down"]


@dataclass(frozen=True, slots=True)
class Health:
    """The process answers."""

    status: Literal["ok"] = "ok"


@dataclass(frozen=True, slots=True)
class Readiness:
    """The state of each dependency. Turns are served without embedder and index, by words only."""

    ready: bool
    store: State
    embedder: State
    """`loading`: the first turns would wait for models that are not loaded yet."""
    index: State
    disk: State
    """`down`: free space is below the reserve, so new writes are refused. Reading goes on."""


DOWN = Readiness(ready=False, store="down", embedder="down", index="down", disk="down")
"""The state while the store cannot be read."""


class Probe:
    """Checks the dependencies in a space without data, at most once in `FRESH_SECONDS`."""

    def __init__(self, hippo: AsyncHippocampe, scope: Scope = PROBE) -> None:
        self._hippo = hippo
        self._scope = scope
        self._trying = asyncio.Lock()
        self._known: tuple[float, Readiness] | None = None

    async def readiness(self) -> Readiness:
        """The current or cached state of each dependency."""
        async with self._trying:
            now = time.monotonic()
            if self._known is None or now - self._known[0] > FRESH_SECONDS:
                self._known = now, await self._try()
            found = self._known[1]
        # Not cached, since it ends soon.
        if self._hippo.sync.warming and found.embedder == "ok":
            return replace(found, ready=False, embedder="loading")
        return found

    async def _try(self) -> Readiness:
        try:
            stats = await self._hippo.stats(scope=self._scope)
        except HippocampeError:
            return DOWN
        disk: State = "down" if stats.disk_full else "ok"
        embedder: State = "ok"
        index: State = "ok"
        try:
            await self._hippo.recall("ready", scope=self._scope, mode="semantic", limit=1)
        except EmbedderError:
            embedder = "down"
        except StoreError:
            return DOWN
        except HippocampeError:
            index = "down"
        ready = embedder == index == disk == "ok"
        return Readiness(ready, store="ok", embedder=embedder, index=index, disk=disk)


@router.get("/healthz")
async def health() -> Health:
    """Report that the process answers."""
    return Health()


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """The metrics of the server for Prometheus."""
    found: Metrics = request.app.state.metrics
    return Response(await asyncio.to_thread(found.text), media_type=CONTENT_TYPE_PLAIN_0_0_4)


@router.get("/readyz", responses={503: {"description": "It cannot serve.", "model": Readiness}})
async def readiness(request: Request, hippo: Hippo, response: Response) -> Readiness:
    """Report the state of each dependency; 503 if one is down."""
    probe: Probe = request.app.state.probe
    found = await probe.readiness()
    if not found.ready:
        response.status_code = 503
    return found
