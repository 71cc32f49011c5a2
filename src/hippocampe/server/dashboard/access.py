"""Keys of the server and the audit log: who may use the space, and who changed it."""

import asyncio
from typing import Any, get_args

from starlette.responses import Response

from hippocampe.errors import NotFound
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, Text, Visit
from hippocampe.types import ApiKey, Role

router = page_router(prefix="/access")
CHANGED = "access-changed"
ENTRIES = 200
"""Entries of the audit log shown; the latest."""


@router.get("")
async def access_page(page: AdminPage) -> Response:
    """The keys of the space and its audit log."""
    keys, entries = await asyncio.gather(
        _keys(page), page.hippo.audit(scope=page.scope, limit=ENTRIES)
    )
    names = {f"key {key.id}": key.label or key.id for key in keys}
    return page.render(
        "access/page.html",
        roles=get_args(Role),
        keys=keys,
        entries=[
            (each, names.get(each.actor) or page.label("actor", each.actor), page.audited(each))
            for each in entries
        ],
        most=ENTRIES,
    )


@router.post("/keys")
async def create(page: AdminPage, role: Text = "read", label: Text = "") -> Response:
    """Make a key of the space, and show its text once."""
    chosen: Any = role
    made = await page.hippo.create_key(scope=page.scope, role=chosen, label=label.strip() or None)
    return page.part("access/made.html", changed=CHANGED, made=made)


@router.post("/keys/{id}/revoke")
async def revoke(page: AdminPage, id: str) -> Response:
    """Revoke a key of the space."""
    if not any(key.id == id for key in await _keys(page)):
        raise NotFound(f"there is no key {id!r} of this space.")
    await page.hippo.revoke_key(id)
    return page.part(toast=page.say("Revoked: it opens nothing any more."), changed=CHANGED)


async def _keys(page: Visit) -> list[ApiKey]:
    return [key for key in await page.hippo.keys() if key.space == page.scope.space]
