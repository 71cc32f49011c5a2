"""One memory: its fields, its history, its evidence, its associations; edit, forget, restore, erase."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import SequenceMatcher
from typing import Annotated, Any

from fastapi import Form
from markupsafe import Markup, escape
from starlette.responses import Response

from hippocampe.errors import InvalidInput
from hippocampe.language.text import truncated
from hippocampe.server.dashboard.memory import BY_HAND, CHANGED
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, ReadPage, Text, Visit, WritePage
from hippocampe.types import (
    CATEGORIES,
    DEFAULT_IMPORTANCE,
    Association,
    Memory,
    Message,
    Receipt,
    Scope,
)

router = page_router(prefix="/memory/{id}")
AROUND = timedelta(minutes=30)
"""Time around a message of the evidence in which related talk is searched."""
NEIGHBOURS = 2
"""Messages shown before and after one of the evidence."""
SHORT = 80
SHOWN_AFTER_SECONDS = 0.5
"""Time after which an erasure that goes on is shown."""
MOST_WORDS = 4_000
"""Words of two texts that are compared: the time grows with the square."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a memory, with its changes since the previous one marked."""

    memory: Memory
    content: Markup
    changes: Sequence[tuple[str, str, str]]


@dataclass(slots=True)
class Erasing:
    """An erasure that was started from a page; it rebuilds the index without what is erased."""

    task: "asyncio.Task[Receipt]" = field(init=False)
    done: int = 0
    total: int = 0

    def note(self, what: str, done: int, total: int) -> None:
        """Note the progress of the part that takes longest."""
        self.done, self.total = done, total


Erasures = dict[tuple[str, str], Erasing]
"""The erasures that were started from a page, by space and id."""


@router.get("")
async def memory(page: ReadPage, id: str) -> Response:
    """The page of a memory."""
    return page.render("memory_detail.html", **await _detail(page, id))


@router.get("/panel")
async def panel(page: ReadPage, id: str) -> Response:
    """The same beside the list of memories."""
    return page.part("memory/panel.html", **await _detail(page, id, heading="h2"))


@router.post("")
async def edit(
    page: WritePage,
    id: str,
    content: Text,
    type: Text,
    importance: Annotated[float, Form()],
    subjects: Text = "",
    category: Text = "",
    seen: Text = "",
) -> Response:
    """Edit a memory in place: unchanged fields stay. `seen` is the time of the version that the form shows."""
    before = await page.hippo.get(id, scope=page.scope)
    if seen and seen != before.updated_at.isoformat():
        raise InvalidInput(
            "the memory was changed after this form was opened: copy your text, and reload the page."
        )
    tags = [each.strip() for each in subjects.split(",") if each.strip()]
    submitted: dict[str, Any] = {
        "content": content.replace("\r\n", "\n").strip(),
        "type": type,
        "importance": importance,
        "subjects": tags,
        "category": category or None,
    }
    # The slider has two decimals.
    same = {"importance": round(before.importance, 2), "subjects": list(before.subjects)}
    changes = {
        name: value
        for name, value in submitted.items()
        if value != same.get(name, getattr(before, name))
    }
    if changes:
        await page.hippo.edit(id, scope=page.scope, **changes)
    return page.part(toast=page.say("Saved."), changed=CHANGED)


@router.post("/forget")
async def forget(page: WritePage, id: str) -> Response:
    """Forget a memory; it can be restored."""
    hidden = await page.hippo.delete(id, scope=page.scope, reason=BY_HAND)
    said = page.say("Forgotten: “{content}”", content=truncated(hidden.content, SHORT))
    return page.part(toast=said, undo=f"/memory/{id}/restore", changed=CHANGED)


@router.post("/restore")
async def restore(page: WritePage, id: str) -> Response:
    """Make a memory current again."""
    await page.hippo.restore(id, scope=page.scope)
    return page.part(toast=page.say("Restored: it is current again."), changed=CHANGED)


@router.post("/erase")
async def erase(page: AdminPage, id: str) -> Response:
    """Erase a memory with all its versions, permanently, and show the progress of a long erasure."""
    begun, key = _erasures(page), (page.scope.space, id)
    if key not in begun:
        begun[key] = erasing = Erasing()
        work = page.hippo.erase(id=id, scope=page.scope, progress=erasing.note)
        erasing.task = asyncio.create_task(work)
        await asyncio.wait({erasing.task}, timeout=SHOWN_AFTER_SECONDS)
    return await erase_state(page, id)


@router.get("/erase")
async def erase_state(page: AdminPage, id: str) -> Response:
    """The progress of an erasure."""
    erasing = _erasures(page).get((page.scope.space, id))
    if erasing is None:
        return page.go(f"/memory/{id}")
    if not erasing.task.done():
        return page.part("memory/erasing.html", id=id, erasing=erasing)
    del _erasures(page)[page.scope.space, id]
    await erasing.task
    return page.go("/memory", toast=page.say("Erased for ever."))


def _erasures(page: Visit) -> Erasures:
    return page.request.app.state.erasures


async def _detail(page: Visit, id: str, heading: str = "h1") -> dict[str, Any]:
    found = await page.hippo.get(id, scope=page.scope)
    history, (near, edges), evidence = await asyncio.gather(
        page.hippo.history(id, scope=page.scope),
        page.hippo.neighbours(id, scope=page.scope, depth=1),
        _evidence(page, found),
    )
    erased = 0
    if page.may("admin"):
        receipt = await page.hippo.erase(id=id, scope=page.scope, dry_run=True)
        erased = len(receipt.ids)
    return {
        "memory": found,
        "heading": heading,
        "versions": versions(history.versions),
        "links": _links(found, near, edges),
        "evidence": evidence,
        "erased": erased,
        "types": tuple(DEFAULT_IMPORTANCE),
        "categories": sorted(CATEGORIES[found.collection]),
        "replaced_by": next(
            (each for each in history.versions if each.id == found.superseded_by), None
        ),
        "now": page.now,
    }


def _links(
    memory: Memory, near: Sequence[Memory], edges: Sequence[Association]
) -> list[tuple[Association, bool, Memory]]:
    """The associations of a memory, each with whether it leads away from it, and with its other end."""
    known = {each.id: each for each in near}
    found: list[tuple[Association, bool, Memory]] = []
    for edge in edges:
        outward = edge.source_id == memory.id
        other = known.get(edge.target_id if outward else edge.source_id)
        if other is not None and memory.id in (edge.source_id, edge.target_id):
            found.append((edge, outward, other))
    return found


async def _evidence(page: Visit, memory: Memory) -> list[list[tuple[Message, bool]]]:
    """The messages of the evidence, each with the talk around it; of each message, whether it is evidence."""
    if not memory.evidence:
        return []
    sources = await page.hippo.messages(scope=page.scope, ids=memory.evidence, limit=50)
    talks: list[list[tuple[Message, bool]]] = []
    shown: set[str] = set()
    wanted = {each.id for each in sources}
    for source in sources:
        if source.id in shown:
            continue
        around = await page.hippo.messages(
            scope=Scope(page.scope.space, channel=source.channel),
            since=source.at - AROUND,
            until=source.at + AROUND,
            limit=200,
        )
        at = next((i for i, each in enumerate(around) if each.id == source.id), None)
        near = [source] if at is None else around[max(at - NEIGHBOURS, 0) : at + NEIGHBOURS + 1]
        shown |= {each.id for each in near}
        talks.append([(each, each.id in wanted) for each in near])
    return talks


def versions(found: Sequence[Memory]) -> list[Version]:
    """The versions of a memory, oldest first, each with its changes."""
    shown: list[Version] = []
    for before, each in zip([None, *found], found, strict=False):
        if before is None:
            shown.append(Version(each, escape(each.content), ()))
            continue
        fields = ("type", "key", "category", "channel", "user")
        changes = [
            (name, str(getattr(before, name) or "–"), str(getattr(each, name) or "–"))
            for name in fields
            if getattr(before, name) != getattr(each, name)
        ]
        shown.append(Version(each, difference(before.content, each.content), changes))
    return shown


def difference(before: str, after: str) -> Markup:
    """A text with its removed and added words marked; one that is too long to compare, as it is."""
    old, new = before.split(), after.split()
    if len(old) + len(new) > MOST_WORDS:
        return escape(after)
    shown: list[Markup] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind in ("replace", "delete"):
            shown.append(Markup("<del>{}</del>").format(" ".join(old[a:b])))
        if kind in ("replace", "insert"):
            shown.append(Markup("<ins>{}</ins>").format(" ".join(new[c:d])))
        if kind == "equal":
            shown.append(escape(" ".join(new[c:d])))
    return Markup(" ").join(shown)
