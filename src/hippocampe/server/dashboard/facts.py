"""Facts: named values, edited in place."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.responses import Response

from hippocampe.errors import NotFound
from hippocampe.server.dashboard.lists import Listed, numbers
from hippocampe.server.dashboard.memory import BY_HAND, CHANGED
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Text, WritePage

router = page_router(prefix="/facts")


@dataclass(frozen=True, slots=True)
class Asked(Listed):
    """The query of the page."""

    path = "/facts"


@router.get("")
async def facts(page: ReadPage, asked: Annotated[Asked, Depends()]) -> Response:
    """The facts whose name or value has some words, by key."""
    every = [*(await page.hippo.facts(scope=page.scope)).items()]
    found = asked.having_words(every, lambda fact: f"{fact[0]} {fact[1].content}")
    asked, shown = asked.cut(found)
    response = page.render(
        "facts/page.html",
        asked=asked,
        facts=shown,
        total=len(found),
        pages=tuple(numbers(asked.page, len(found))),
    )
    response.headers["HX-Replace-Url"] = asked.address(page=asked.page)
    return response


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
    text = value.replace("\r\n", "\n")
    done = await page.hippo.set_fact(key.strip(), text, scope=page.scope)
    undo = f"/memory/{done.replaced[0]}/restore" if done.replaced else None
    said = page.say("Saved: {key}", key=done.memory.key)
    return page.part(toast=said, undo=undo, changed=CHANGED)


@router.post("/forget")
async def forget(page: WritePage, key: Text) -> Response:
    """Forget a fact; it can be restored."""
    hidden = await page.hippo.delete_fact(key, scope=page.scope, reason=BY_HAND)
    said, undo = page.say("Forgotten: {key}", key=key), f"/memory/{hidden.id}/restore"
    return page.part(toast=said, undo=undo, changed=CHANGED)
