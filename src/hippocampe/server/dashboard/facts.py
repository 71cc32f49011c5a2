"""Facts: named values, edited in place."""

from typing import Annotated

from fastapi import Form
from starlette.responses import Response

from hippocampe.errors import NotFound
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Toast, WritePage

router = page_router(prefix="/memory/facts")
CHANGED = "memory-changed"
Text = Annotated[str, Form()]


@router.get("")
async def facts(page: ReadPage) -> Response:
    """All facts, by key."""
    found = await page.hippo.facts(scope=page.scope)
    return page.part("memory/facts.html", facts=sorted(found.items()))


@router.get("/row")
async def row(page: ReadPage, key: str, edit: bool = False) -> Response:
    """One fact, for display or editing."""
    found = (await page.hippo.facts(scope=page.scope)).get(key)
    if found is None:
        raise NotFound(f"there is no fact {key!r} any more: reload the page.")
    template = "memory/fact_edited.html" if edit and page.may("write") else "memory/fact.html"
    return page.part(template, key=key, fact=found)


@router.post("")
async def set_fact(page: WritePage, key: Text = "", value: Text = "") -> Response:
    """Set a fact; the old value becomes history."""
    done = await page.hippo.set_fact(key.strip(), value, scope=page.scope)
    undo = f"/memory/{done.replaced[0]}/restore" if done.replaced else None
    toast = Toast(page.say("Saved: {key}", key=done.memory.key), undo)
    return page.part(toast=toast, changed=CHANGED)


@router.post("/delete")
async def delete_fact(page: WritePage, key: Text) -> Response:
    """Hide a fact; it can be restored."""
    hidden = await page.hippo.delete_fact(key, scope=page.scope, reason="deleted on the dashboard")
    toast = Toast(page.say("Deleted: {key}", key=key), f"/memory/{hidden.id}/restore")
    return page.part(toast=toast, changed=CHANGED)
