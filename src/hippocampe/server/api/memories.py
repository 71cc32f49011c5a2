"""Endpoints on memories: store, list, find, change, hide."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from hippocampe.server.api.bodies import MemoryChanges, NewMemory, Question, ToErase, Topic
from hippocampe.server.http.door import Admin, Door, Reader, Writer
from hippocampe.types import (
    History,
    Memory,
    Order,
    Page,
    Receipt,
    Recollection,
    Remembered,
    State,
)
from hippocampe.validation import MAX_SUBJECTS

router = APIRouter(prefix="/api", tags=["memories"])
Several = Annotated[list[str] | None, Query(max_length=MAX_SUBJECTS)]


@router.post(
    "/memories",
    status_code=201,
    responses={200: {"description": "A current memory states it already.", "model": Remembered}},
)
async def remember(hippo: Door, scope: Writer, body: NewMemory, response: Response) -> Remembered:
    """Store a statement; memories that it corrects become history."""
    done = await hippo.remember(**body.given(), scope=scope)
    if done.action != "inserted":
        response.status_code = 200
    return done


@router.get("/memories")
async def list_memories(
    hippo: Door,
    scope: Reader,
    collection: str | None = None,
    type: Several = None,
    subject: Several = None,
    category: str | None = None,
    of_user: str | None = None,
    of_channel: str | None = None,
    since: str | None = None,
    until: str | None = None,
    state: State = "current",
    order: Order = "newest",
    limit: int = 50,
    cursor: str | None = None,
) -> Page:
    """List memories, page by page: pass the `next_cursor` of a page as the `cursor` of the next."""
    return await hippo.memories(
        scope=scope,
        collection=collection,
        types=type,
        subjects=subject,
        category=category,
        user=of_user,
        channel=of_channel,
        since=since,
        until=until,
        state=state,
        order=order,
        limit=limit,
        cursor=cursor,
    )


@router.get("/memories/{id}")
async def get_memory(hippo: Door, scope: Reader, id: str) -> Memory:
    """One memory, current or not."""
    return await hippo.get(id, scope=scope)


@router.patch("/memories/{id}")
async def edit_memory(hippo: Door, scope: Writer, id: str, body: MemoryChanges) -> Memory:
    """Change fields of a current memory."""
    return await hippo.edit(id, **body.given(), scope=scope)


@router.delete("/memories/{id}")
async def delete_memory(
    hippo: Door, scope: Writer, id: str, reason: str = "deleted over HTTP"
) -> Memory:
    """Hide a memory; it stays in history, and can be restored."""
    return await hippo.delete(id, scope=scope, reason=reason)


@router.get("/memories/{id}/history")
async def memory_history(hippo: Door, scope: Reader, id: str) -> History:
    """All versions of a memory, oldest first, with their associations."""
    return await hippo.history(id, scope=scope)


@router.post("/memories/{id}/restore")
async def restore_memory(hippo: Door, scope: Writer, id: str) -> Memory | Recollection:
    """Make a hidden or superseded memory current again, or a forgotten turn of talk."""
    return await hippo.restore(id, scope=scope)


@router.post("/recall")
async def recall(hippo: Door, scope: Reader, body: Question) -> list[Recollection]:
    """Find the items that answer a question, best first, without a language model."""
    return await hippo.recall(**body.given(), scope=scope)


@router.post("/forget")
async def forget(hippo: Door, scope: Writer, body: Topic) -> Receipt:
    """Hide everything about a topic, or list it in a dry run."""
    return await hippo.forget(**body.given(), scope=scope)


@router.post("/erase")
async def erase(hippo: Door, scope: Admin, body: ToErase) -> Receipt:
    """Remove data permanently, everywhere, or list it in a dry run."""
    return await hippo.erase(**body.given(), scope=scope)
