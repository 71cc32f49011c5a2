"""Auto-retrieval: its switch and sliders, a preview of the next injection, the log of the latest ones."""

from typing import Annotated, Any

from fastapi import Form
from starlette.responses import Response

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, ReadPage, Visit
from hippocampe.types import Message, Scope

router = page_router(prefix="/memory/auto-retrieval")
CHANGED = "settings-changed"
SHOWN = 10


@router.post("")
async def change(
    page: AdminPage,
    switch: Annotated[str | None, Form()] = None,
    enabled: Annotated[str | None, Form()] = None,
    results: Annotated[int | None, Form()] = None,
    score: Annotated[float | None, Form()] = None,
) -> Response:
    """Save a moved slider or switch at once."""
    changes: dict[str, Any] = {}
    if switch is not None:
        changes["auto_retrieve_enabled"] = enabled is not None
    if results is not None:
        changes["auto_retrieve_max_results"] = results
    if score is not None:
        changes["auto_retrieve_min_score"] = score
    await page.hippo.update_settings(scope=page.scope, **changes)
    return page.part(changed=CHANGED)


@router.get("/next")
async def next_injection(page: ReadPage) -> Response:
    """Preview the next injection for the last message."""
    message = await _last_message(page)
    injection, considered = None, {}
    if message is not None:
        scope = Scope(page.scope.space, message.author, message.channel)
        injection = await page.hippo.preview(message.content, scope=scope)
        considered = {each.recollection.id: each for each in injection.trace.considered}
    return page.part(
        "memory/next.html", message=message, injection=injection, considered=considered
    )


@router.get("/log")
async def log(page: ReadPage) -> Response:
    """The latest injections."""
    found = await page.hippo.retrievals(scope=page.scope, limit=SHOWN)
    return page.part("memory/log.html", injections=found)


async def _last_message(page: Visit) -> Message | None:
    latest = await page.hippo.messages(scope=page.scope, limit=20)
    utterances = [each for each in latest if each.role != "assistant" and each.content.strip()]
    return utterances[-1] if utterances else None
