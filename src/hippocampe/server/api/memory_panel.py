"""Endpoints of a memory page: facts, search, settings, statistics, the log of injections."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from hippocampe.server.api.bodies import NewFact, SettingsChanges
from hippocampe.server.http.door import Admin, Bound, Door, Reader, Writer
from hippocampe.types import Memory, Mode, Recollection, Retrieval, Settings, Stats

router = APIRouter(prefix="/api/memory", tags=["page of memory"])
EXCERPT = 200
"""Displayed characters of a result."""
SEARCHED = ("memory", "summary", "turn", "live", "note")


@dataclass(frozen=True, slots=True)
class Fact:
    """A named value; `id` is that of the memory."""

    key: str
    value: str
    id: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Found:
    """A result of a search, with the beginning of its content."""

    id: str
    kind: str
    score: float
    channel: str | None
    at: datetime | None
    excerpt: str


def _fact(memory: Memory) -> Fact:
    return Fact(memory.key or "", memory.content, memory.id, memory.updated_at)


def _found(item: Recollection) -> Found:
    content = item.content
    excerpt = content if len(content) <= EXCERPT else content[: EXCERPT - 1].rstrip() + "…"
    return Found(item.id, item.kind, item.score, item.channel, item.at, excerpt)


@router.get("/facts")
async def list_facts(hippo: Door, scope: Reader) -> list[Fact]:
    """All facts, by key."""
    return [_fact(memory) for memory in (await hippo.facts(scope=scope)).values()]


@router.post("/facts", status_code=201)
async def set_fact(hippo: Door, scope: Writer, body: NewFact) -> Fact:
    """Write a fact; the value it had becomes history."""
    return _fact((await hippo.set_fact(**body.given(), scope=scope)).memory)


@router.delete("/facts/{key:path}")
async def delete_fact(hippo: Door, scope: Writer, key: str) -> Fact:
    """Hide a fact."""
    return _fact(await hippo.delete_fact(key, scope=scope, reason="deleted over HTTP"))


@router.get("/search")
async def search(
    hippo: Door,
    scope: Reader,
    q: Annotated[str, Query(description="The question or the words.")],
    mode: Mode = "semantic",
    limit: int = 20,
) -> list[Found]:
    """Search memories, talk and notes by meaning (`semantic`), by words (`text`) or by both (`hybrid`)."""
    items = await hippo.recall(q, scope=scope, mode=mode, limit=limit, collections=SEARCHED)
    return [_found(item) for item in items]


@router.get("/settings")
async def get_settings(hippo: Door, scope: Reader) -> Settings:
    """The settings of the space."""
    return await hippo.settings(scope=scope)


@router.patch("/settings")
async def change_settings(hippo: Door, scope: Admin, body: SettingsChanges) -> Settings:
    """Change settings, all or none; they apply from the next turn on."""
    return await hippo.update_settings(**body.given(), scope=scope)


@router.get("/stats")
async def stats(hippo: Door, scope: Reader, bound: Bound) -> Stats:
    """Counts of the space; without a key also those of the whole index, which all spaces share."""
    found = await hippo.stats(scope=scope)
    return of_one_space(found) if bound else found


def of_one_space(found: Stats) -> Stats:
    """Counts without those of the whole index, which all spaces share, for a key that opens one space."""
    return replace(found, indexed={}, pending=0, outages={}, retrievals_dropped=0)


@router.get("/retrievals")
async def retrievals(
    hippo: Door,
    scope: Reader,
    limit: int = 20,
    since: str | None = None,
    channel_only: bool = False,
) -> list[Retrieval]:
    """The latest injections, newest first: the message, the injected items and their scores."""
    return await hippo.retrievals(scope=scope, limit=limit, since=since, channel_only=channel_only)
