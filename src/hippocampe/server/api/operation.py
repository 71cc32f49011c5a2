"""Endpoints for those who run the server: is it alive, and can it serve?"""

import asyncio
import time
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import EmbedderError, HippocampeError, StoreError
from hippocampe.server.http.door import Admin, Door
from hippocampe.server.http.metrics import Metrics
from hippocampe.types import AuditEntry, Scope

router = APIRouter(tags=["operation"])
changes = APIRouter(tags=["operation"])
"""What needs a key."""
FRESH_SECONDS = 5.0
"""Anyone may ask, and a remote embedder costs money: an answer is kept this long."""
PROBE = Scope(space="hippocampe-readiness")
State = Literal["ok", "down"]


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
    index: State
    disk: State
    """`down`: there is less free space than the reserve, so new writes are refused. Reading goes on."""


DOWN = Readiness(ready=False, store="down", embedder="down", index="down", disk="down")
"""The state of all while the store cannot be read."""


class Probe:
    """Tries the dependencies, at most once in `FRESH_SECONDS`."""

    def __init__(self, hippo: AsyncHippocampe) -> None:
        self._hippo = hippo
        self._trying = asyncio.Lock()
        self._known: tuple[float, Readiness] | None = None

    async def readiness(self) -> Readiness:
        """The state of each dependency now, or a moment ago."""
        async with self._trying:
            now = time.monotonic()
            if self._known is None or now - self._known[0] > FRESH_SECONDS:
                self._known = now, await self._try()
            return self._known[1]

    async def _try(self) -> Readiness:
        try:
            stats = await self._hippo.stats(scope=PROBE)
        except HippocampeError:
            return DOWN
        disk: State = "down" if stats.disk_full else "ok"
        embedder: State = "ok"
        index: State = "ok"
        try:
            await self._hippo.recall("ready", scope=PROBE, mode="semantic", limit=1)
        except EmbedderError:
            embedder = "down"
        except StoreError:
            return DOWN
        except HippocampeError:
            index = "down"
        ready = embedder == index == disk == "ok"
        return Readiness(ready, store="ok", embedder=embedder, index=index, disk=disk)


@changes.get("/api/audit")
async def audit(
    hippo: Door, scope: Admin, since: str | None = None, limit: int = 100
) -> list[AuditEntry]:
    """Who deleted, erased, restored, or changed settings or keys of the space, newest first."""
    return await hippo.audit(scope=scope, since=since, limit=limit)


@router.get("/healthz")
async def health() -> Health:
    """Whether the process answers."""
    return Health()


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """The numbers of the server for Prometheus."""
    found: Metrics = request.app.state.metrics
    return Response(await asyncio.to_thread(found.text), media_type=CONTENT_TYPE_PLAIN_0_0_4)


@router.get("/readyz", responses={503: {"description": "It cannot serve.", "model": Readiness}})
async def readiness(request: Request, hippo: Door, response: Response) -> Readiness:
    """Whether each dependency works; 503 if one does not."""
    probe: Probe = request.app.state.probe
    found = await probe.readiness()
    if not found.ready:
        response.status_code = 503
    return found
