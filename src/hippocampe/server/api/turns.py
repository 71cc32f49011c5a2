"""Endpoints of a conversation: before and after a turn, live messages, the digest."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter

from hippocampe.server.api.bodies import ComingTurn, Exchange, LiveMessage
from hippocampe.server.http.door import Admin, Door, Reader, Writer
from hippocampe.types import Distilled, Injection, Message

router = APIRouter(tags=["turns"])


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """The id of a stored exchange."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class Observed:
    """The stored message; null if the room is not observed or the companion is addressed."""

    message: Message | None


@router.post("/api/before_turn")
async def before_turn(hippo: Door, scope: Reader, body: ComingTurn) -> Injection:
    """Select what to put in front of a model before it answers."""
    injection = await hippo.before_turn(body.message, scope=scope, role=body.role, fresh=body.fresh)
    if not body.explain:
        return replace(injection, trace=replace(injection.trace, considered=()))
    # The candidates are computed at access, which takes a moment.
    considered = await asyncio.to_thread(tuple, injection.trace.considered)
    return replace(injection, trace=replace(injection.trace, considered=considered))


@router.post("/api/after_turn", status_code=201)
async def after_turn(hippo: Door, scope: Writer, body: Exchange) -> StoredTurn:
    """Store an exchange; memories are extracted from it in the background."""
    given: dict[str, Any] = {"reply": None, **body.given()}
    return StoredTurn(await hippo.after_turn(**given, scope=scope))


@router.post("/api/live")
async def observe(hippo: Door, scope: Writer, body: LiveMessage) -> Observed:
    """Store a message of an observed room; recall finds it until the next digest."""
    return Observed(await hippo.observe(**body.given(), scope=scope))


@router.post("/admin/digest")
async def digest(hippo: Door, scope: Admin) -> Distilled:
    """Turn the live messages of the space into memories now."""
    return await hippo.digest(scope=scope)
