"""The page of memories: one search, a table, several memories at once, and a form to add one."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlencode

from fastapi import Depends, Form, Query
from starlette.responses import Response

from hippocampe.errors import InvalidInput, NotFound
from hippocampe.language.secrets import MASKED
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.search import CHOICES, Asked, find, snippet
from hippocampe.server.dashboard.visit import ReadPage, Text, WritePage
from hippocampe.types import Scope

router = page_router(prefix="/memory")
CHANGED = "memory-changed"
MOST_SUGGESTED = 500
BY_HAND = "forgotten on the dashboard"
"""The stored reason of what is forgotten here; pages show it in the language of the reader."""

Lifetime = Literal["1d", "7d", "30d", "365d", ""]
"""Lifetimes to choose from for several memories; an empty one is for ever."""
Question = Annotated[Asked, Depends()]
Ids = Annotated[list[str], Form()]


@router.get("")
async def memories(page: ReadPage, asked: Question) -> Response:
    """The page of a query; ranked results load after it, since a search takes longer than a list."""
    later = asked.ranked and not page.loads_part
    response = page.render(
        "memory.html",
        choices=CHOICES,
        asked=asked,
        found=None if later else await find(page, asked),
        snippet=partial(snippet, query=asked.q),
        lifetimes=get_args(Lifetime),
        threshold=page.settings.auto_retrieve_min_score,
    )
    response.headers["HX-Replace-Url"] = asked.address(page=asked.page, open=asked.open)
    return response


@router.get("/suggestions")
async def suggestions(page: ReadPage) -> Response:
    """The users and subjects to choose from; they load after the page, since all memories are counted."""
    return page.part(
        "memory/suggestions.html",
        users=tuple(await page.hippo.users(scope=page.scope))[:MOST_SUGGESTED],
        subjects=tuple(await page.hippo.subjects(scope=page.scope))[:MOST_SUGGESTED],
    )


@router.post("/add")
async def add(page: WritePage, content: Text, user: Text = "", type: Text = "fact") -> Response:
    """Remember a statement, with the rules that apply to every statement."""
    scope = Scope(page.scope.space, user.strip() or None)
    text = content.replace("\r\n", "\n").strip()
    done = await page.hippo.remember(text, scope=scope, type=type, source="dashboard")
    said = {
        "inserted": page.say("Remembered."),
        "updated": page.say("Remembered; it replaces what it contradicts."),
        "reinforced": page.say("It was known already."),
    }
    toast = said[done.action]
    if MASKED in done.memory.content:
        toast += " " + page.say("A secret in it was masked.")
    return page.part(toast=toast, changed=CHANGED)


@router.post("/forget")
async def forget(page: WritePage, id: Ids) -> Response:
    """Forget several memories; they can be restored."""

    def hide(each: str) -> Awaitable[Any]:
        return page.hippo.delete(each, scope=page.scope, reason=BY_HAND)

    done = await _each(id, hide)
    undo = "/memory/restore?" + "&".join(f"id={each}" for each in done) if done else None
    text = page.count("{number} memory forgotten.", "{number} memories forgotten.", len(done))
    return page.part(toast=text, undo=undo, changed=CHANGED)


@router.post("/restore")
async def restore(
    page: WritePage,
    id: Annotated[list[str] | None, Form()] = None,
    undone: Annotated[list[str] | None, Query(alias="id")] = None,
) -> Response:
    """Make several memories current again."""
    done = await _each(
        [*(id or ()), *(undone or ())], lambda each: page.hippo.restore(each, scope=page.scope)
    )
    text = page.count("{number} memory restored.", "{number} memories restored.", len(done))
    return page.part(toast=text, changed=CHANGED)


@router.post("/expire")
async def expire(page: WritePage, id: Ids, ttl: Annotated[Lifetime, Form()] = "") -> Response:
    """Set when several memories expire; an empty lifetime keeps them for ever."""
    before: dict[str, datetime | None] = {}

    async def limit(each: str) -> None:
        expires_at = (await page.hippo.get(each, scope=page.scope)).expires_at
        await page.hippo.edit(each, scope=page.scope, ttl=ttl or None)
        before[each] = expires_at

    done = await _each(id, limit)
    was = [("was", f"{each} {at.isoformat() if (at := before[each]) else ''}") for each in done]
    undo = f"/memory/expire/undo?{urlencode(was)}" if was else None
    text = page.count("{number} memory changed.", "{number} memories changed.", len(done))
    return page.part(toast=text, undo=undo, changed=CHANGED)


@router.post("/expire/undo")
async def undo_expire(page: WritePage, was: Annotated[list[str], Query()]) -> Response:
    """Give several memories their former time of expiry: each an id, a space, and the time or nothing."""
    ends = {id: end for id, _, end in (each.partition(" ") for each in was)}

    async def restore(each: str) -> None:
        left = datetime.fromisoformat(ends[each]) - page.now if ends[each] else None
        await page.hippo.edit(each, scope=page.scope, ttl=left)

    done = await _each(tuple(ends), restore)
    text = page.count("{number} memory changed.", "{number} memories changed.", len(done))
    return page.part(toast=text, changed=CHANGED)


async def _each(ids: Sequence[str], change: Callable[[str], Awaitable[Any]]) -> list[str]:
    """Change memories one by one; those that something else changed meanwhile are left as they are."""
    done: list[str] = []
    for id in ids:
        try:
            await change(id)
        except (NotFound, InvalidInput):
            continue
        done.append(id)
    return done
