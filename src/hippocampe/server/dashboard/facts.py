"""Facts: named values, edited in place."""

from functools import partial
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from hippocampe.errors import NotFound
from hippocampe.language.text import fold
from hippocampe.server.dashboard.memory import BY_HAND, CHANGED
from hippocampe.server.dashboard.routing import address_of, page_router
from hippocampe.server.dashboard.search import numbers
from hippocampe.server.dashboard.visit import ReadPage, Text, Visit, WritePage

router = page_router(prefix="/facts")
SHOWN = 100
"""Facts of a page."""
Number = Annotated[int, Query(alias="page", ge=1, le=1_000_000)]


@router.get("")
async def facts(page: ReadPage, q: str = "", number: Number = 1) -> Response:
    """The page, with the facts whose name or value has some words."""
    return page.render("facts/page.html", section="facts", **await _facts(page, q, number))


@router.get("/list")
async def listed(page: ReadPage, q: str = "", number: Number = 1) -> Response:
    """The facts, after a change of them or of the words."""
    response = page.part("facts/list.html", **await _facts(page, q, number))
    response.headers["HX-Replace-Url"] = _address(q, number)
    return response


async def _facts(page: Visit, q: str, number: int) -> dict[str, Any]:
    """The facts of a page, by key."""
    words = fold(q).split()
    found = [
        (key, fact)
        for key, fact in (await page.hippo.facts(scope=page.scope)).items()
        if all(word in fold(f"{key} {fact.content}") for word in words)
    ]
    last = max(-(-len(found) // SHOWN), 1)
    number = min(number, last)
    return {
        "q": q,
        "facts": found[(number - 1) * SHOWN : number * SHOWN],
        "total": len(found),
        "number": number,
        "pages": tuple(numbers(number, last)),
        "address": partial(_address, q),
    }


def _address(q: str, page: int) -> str:
    return address_of("/facts", {"q": q, "page": page}, {"page": 1})


@router.get("/row")
async def row(page: ReadPage, key: str, edit: bool = False) -> Response:
    """One fact, for display or editing."""
    found = (await page.hippo.facts(scope=page.scope)).get(key)
    if found is None:
        raise NotFound(f"there is no fact {key!r} any more: reload the page.")
    template = "facts/edited.html" if edit and page.may("write") else "facts/one.html"
    return page.part(template, key=key, fact=found)


@router.post("")
async def set_fact(page: WritePage, key: Text = "", value: Text = "") -> Response:
    """Set a fact; the old value becomes history."""
    done = await page.hippo.set_fact(key.strip(), value, scope=page.scope)
    undo = f"/memory/{done.replaced[0]}/restore" if done.replaced else None
    said = page.say("Saved: {key}", key=done.memory.key)
    return page.part(toast=said, undo=undo, changed=CHANGED)


@router.post("/forget")
async def forget(page: WritePage, key: Text) -> Response:
    """Forget a fact; it can be restored."""
    hidden = await page.hippo.delete_fact(key, scope=page.scope, reason=BY_HAND)
    said, undo = page.say("Forgotten: {key}", key=key), f"/memory/{hidden.id}/restore"
    return page.part(toast=said, undo=undo, changed=CHANGED)
