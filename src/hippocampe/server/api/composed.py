"""Endpoints on memories, talk and keys that do more than pass a request on to one verb."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query, Request, Response
from pydantic import BeforeValidator, Field

from hippocampe.errors import NotFound
from hippocampe.hippocampe import Hippocampe
from hippocampe.language.text import truncated
from hippocampe.server.api.arguments import Label, body_of
from hippocampe.server.http.dependencies import AdminScope, HasKey, Hippo, ReadScope, WriteScope
from hippocampe.types import (
    ApiKey,
    Counts,
    Injection,
    Message,
    Mode,
    Recollection,
    Remembered,
    Stats,
)
from hippocampe.validation import MAX_BURST

router = APIRouter(prefix="/api")
EXCERPT = 200
"""Displayed characters of a result."""
SEARCHED = ("memory", "summary", "turn", "live", "note")
HostMessage = str | dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """A result of a search, with the beginning of its content."""

    id: str
    kind: str
    score: float
    channel: str | None
    at: datetime | None
    excerpt: str


class NewMemory(
    body_of(
        Hippocampe.remember,
        example={
            "content": "Paul aime le thé vert.",
            "subjects": ["paul"],
            "ttl": "7d",
            "occurred_at": "2026-03-02T18:00:00+01:00",
        },
    )
):
    """A statement to remember."""


def _latest(message: Any) -> Any:
    return cast("list[Any]", message)[-MAX_BURST:] if isinstance(message, list) else message


class ComingTurn(
    body_of(
        Hippocampe.before_turn,
        example={"message": "Je bois quoi ce soir ?"},
        message={"type": Annotated[HostMessage | list[HostMessage], BeforeValidator(_latest)]},
    )
):
    """A message that a model is about to answer."""

    explain: bool = Field(default=False, description="Whether the trace has all candidates.")


@router.post(
    "/memories",
    status_code=201,
    responses={200: {"description": "A current memory states it already.", "model": Remembered}},
    tags=["Memories"],
)
async def remember(
    hippo: Hippo, scope: WriteScope, body: NewMemory, response: Response
) -> Remembered:
    """Store a statement; memories that it corrects become history."""
    stored = await hippo.remember(**body.arguments(), scope=scope)
    if stored.action != "inserted":
        response.status_code = 200
    return stored


@router.post("/before_turn", tags=["Turns"])
async def before_turn(hippo: Hippo, scope: ReadScope, body: ComingTurn) -> Injection:
    """Select what to put in front of a model before it answers."""
    arguments = body.arguments()
    explain = arguments.pop("explain")
    injection = await hippo.before_turn(**arguments, scope=scope)
    # The candidates are computed at access, which takes a moment.
    considered = await asyncio.to_thread(tuple, injection.trace.considered) if explain else ()
    return replace(injection, trace=replace(injection.trace, considered=considered))


@router.get("/messages", tags=["Talk"])
async def list_messages(
    hippo: Hippo,
    scope: ReadScope,
    q: Annotated[
        str | None,
        Query(
            description="Only messages with all these words: quoted ones as a phrase, those that end in * as "
            "a prefix.",
            examples=["thé"],
        ),
    ] = None,
    of_user: str | None = None,
    since: str | None = None,
    until: str | None = None,
    working: bool = False,
    external_id: Annotated[
        list[Label] | None, Query(description="Only messages stored with one of these ids.")
    ] = None,
    limit: int = 20,
) -> list[Message]:
    """The latest messages, of the channel if one is given: oldest first, or with `q` newest first.

    `until`, the time of the earliest message of an answer, gives those before it. `of_user` needs `q`,
    `working` and `external_id` take none.
    """
    if q is None:
        return await hippo.messages(
            scope=scope,
            since=since,
            until=until,
            working=working,
            external_ids=external_id,
            limit=limit,
        )
    return await hippo.search_text(
        q, scope=scope, user=of_user, since=since, until=until, limit=limit
    )


@router.get("/memory/search", tags=["Memories"])
async def search(
    hippo: Hippo,
    scope: ReadScope,
    q: Annotated[str, Query(description="The question or the words.")],
    mode: Mode = "semantic",
    limit: int = 20,
) -> list[Found]:
    """Search memories, talk and notes by meaning (`semantic`), by words (`text`) or by both (`hybrid`)."""
    items = await hippo.recall(q, scope=scope, mode=mode, limit=limit, collections=SEARCHED)
    return [_found(item) for item in items]


def _found(item: Recollection) -> Found:
    excerpt = truncated(item.content, EXCERPT)
    return Found(item.id, item.kind, item.score, item.channel, item.at, excerpt)


@router.get("/spaces", tags=["Memories"])
async def list_spaces(hippo: Hippo, scope: ReadScope, has_key: HasKey) -> dict[str, Counts]:
    """The spaces with their counts, largest first; with a key only its own."""
    found = await hippo.spaces()
    return {scope.space: found.get(scope.space, Counts())} if has_key else found


@router.get("/memory/stats", tags=["Upkeep"])
async def stats(hippo: Hippo, scope: ReadScope, has_key: HasKey) -> Stats:
    """Counts of the space; without a key also those of the whole index, which all spaces share."""
    found = await hippo.stats(scope=scope)
    return of_one_space(found) if has_key else found


def of_one_space(found: Stats) -> Stats:
    """Counts without those of the whole index, which all spaces share, for a key that opens one space."""
    return replace(found, indexed={}, outages={}, retrievals_dropped=0)


@router.get("/keys", tags=["Server"])
async def list_keys(
    hippo: Hippo, scope: AdminScope, has_key: HasKey, request: Request
) -> list[ApiKey]:
    """The keys of the space, revoked ones included, newest first; of all spaces without key and `space`."""
    everywhere = not has_key and "space" not in request.query_params
    return [key for key in await hippo.keys() if everywhere or key.space == scope.space]


@router.delete("/keys/{id}", tags=["Server"])
async def revoke_key(hippo: Hippo, scope: AdminScope, has_key: HasKey, id: str) -> ApiKey:
    """Revoke a key: it is refused from the next request on."""
    if has_key and not any(key.id == id and key.space == scope.space for key in await hippo.keys()):
        raise NotFound(f"there is no key {id!r} to revoke: see the ids with GET /api/keys.")
    return await hippo.revoke_key(id)
