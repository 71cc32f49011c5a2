"""Pairs of memories that no rule could decide: keep both, mark as the same, replace, or merge."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Form
from starlette.responses import Response

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Toast, Visit, WritePage
from hippocampe.types import Memory, Review

router = page_router()
PAGE_SIZE = 20
"""Pairs per page; the next ones load as these are settled."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]+")

Decision = Literal["both", "same", "replace"]
Marked = Sequence[tuple[str, bool]]
"""A text in pieces, each with whether the other text lacks it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A displayed pair: the older memory and the newer one."""

    older: Memory
    newer: Memory
    reason: str
    older_text: Marked
    newer_text: Marked


def pair_of(review: Review) -> Pair:
    """A pair with its differences marked."""
    older, newer = sorted((review.memory, review.other), key=lambda each: each.created_at)
    left, right = _WORD.findall(older.content), _WORD.findall(newer.content)
    matcher = difflib.SequenceMatcher(
        None, [word.casefold() for word in left], [word.casefold() for word in right], False
    )
    old_text: list[tuple[str, bool]] = []
    new_text: list[tuple[str, bool]] = []
    for tag, start, stop, begin, end in matcher.get_opcodes():
        if start < stop:
            old_text.append(("".join(left[start:stop]), tag != "equal"))
        if begin < end:
            new_text.append(("".join(right[begin:end]), tag != "equal"))
    return Pair(older, newer, review.reason, old_text, new_text)


@router.get("/reviews")
async def reviews_page(page: ReadPage) -> Response:
    """The pairs to review."""
    return page.render("reviews/page.html", section="reviews", **await _listed(page))


@router.get("/reviews/list")
async def reviews_list(page: ReadPage) -> Response:
    """The same, as the part of the page that changes."""
    return page.part("reviews/list.html", **await _listed(page))


async def _listed(page: Visit) -> dict[str, Any]:
    found = await page.hippo.reviews(scope=page.scope)
    return {"pairs": [pair_of(each) for each in found[:PAGE_SIZE]], "waiting": len(found)}


@router.post("/reviews/decide")
async def decide(
    page: WritePage,
    older: Annotated[str, Form()],
    newer: Annotated[str, Form()],
    decision: Annotated[Decision, Form()],
) -> Response:
    """Settle a pair."""
    keep = {"both": None, "same": older, "replace": newer}[decision]
    await page.hippo.settle(newer, older, scope=page.scope, keep=keep)
    match decision:
        case "both":
            toast = Toast(page.say("Both memories stay."))
        case "same":
            toast = Toast(page.say("The newer one is history now."), f"/memory/{newer}/restore")
        case "replace":
            toast = Toast(page.say("The older one is history now."), f"/memory/{older}/restore")
    return page.part(toast=toast, changed="memory-changed")


@router.post("/reviews/merge")
async def merge(
    page: WritePage,
    older: Annotated[str, Form()],
    newer: Annotated[str, Form()],
    content: Annotated[str, Form()],
) -> Response:
    """Merge a pair into one memory, with a text that states the facts of both."""
    await page.hippo.edit(newer, scope=page.scope, content=content)
    await page.hippo.settle(newer, older, scope=page.scope, keep=newer)
    toast = Toast(page.say("The pair is one memory now."), f"/memory/{older}/restore")
    return page.part(toast=toast, changed="memory-changed")
