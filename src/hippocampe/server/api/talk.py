"""Endpoints on talk: messages and full-text search, and the users and subjects of a space."""

from typing import Annotated

from fastapi import APIRouter, Query

from hippocampe.server.http.door import Admin, Bound, Door, Reader
from hippocampe.types import Compacted, Counts, Message

router = APIRouter(tags=["talk"])
Words = Annotated[
    str | None,
    Query(
        description="Only messages with all these words: quoted ones as a phrase, those that end in * as "
        "a prefix.",
        examples=["thé"],
    ),
]


@router.get("/api/messages")
async def list_messages(
    hippo: Door,
    scope: Reader,
    q: Words = None,
    of_user: str | None = None,
    since: str | None = None,
    until: str | None = None,
    working: bool = False,
    limit: int = 20,
) -> list[Message]:
    """The latest messages, of the channel if one is given: oldest first, or with `q` newest first.

    `until`, the time of the earliest message of an answer, gives those before it. `of_user` needs `q`,
    `working` takes none.
    """
    if q is None:
        return await hippo.messages(
            scope=scope, since=since, until=until, working=working, limit=limit
        )
    return await hippo.search_text(
        q, scope=scope, user=of_user, since=since, until=until, limit=limit
    )


@router.get("/api/spaces")
async def list_spaces(hippo: Door, scope: Reader, bound: Bound) -> dict[str, Counts]:
    """The spaces with their counts, largest first; with a key only its own."""
    found = await hippo.spaces()
    return {scope.space: found.get(scope.space, Counts())} if bound else found


@router.get("/api/users")
async def list_users(hippo: Door, scope: Reader) -> dict[str, Counts]:
    """The users with their counts, most active first."""
    return await hippo.users(scope=scope)


@router.get("/api/subjects")
async def list_subjects(hippo: Door, scope: Reader) -> dict[str, int]:
    """The subjects with the number of their memories, most frequent first."""
    return await hippo.subjects(scope=scope)


@router.post("/admin/compact")
async def compact(hippo: Door, scope: Admin) -> Compacted:
    """Summarise the oldest messages in the working history of a channel."""
    return await hippo.compact(scope=scope)
