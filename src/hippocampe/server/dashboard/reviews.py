"""Pairs of memories that no rule could decide: keep both, mark as the same, replace, or merge."""

import difflib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import Form, Query
from starlette.responses import Response

from hippocampe.errors import InvalidInput, NotFound
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Text, Visit, WritePage
from hippocampe.types import Memory, Review

router = page_router()
PAGE_SIZE = 20
"""Pairs per page; the next ones load as these are settled."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]+")
_ALIKE = 0.5
"""Least share of common pieces for which the differences are marked: otherwise nearly all would be."""
_MOST_PIECES = 1_500
"""Pieces of both texts up to which they are compared, since the time grows with their square."""
_LONGEST_KEPT = 2_000
"""Characters up to which the text before a merge is part of the address that undoes it."""

Decision = Literal["both", "same", "replace"]
Marked = Sequence[tuple[str, bool]]
"""A text in pieces, each with whether the other text lacks it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A displayed pair: the older memory and the newer one."""

    older: Memory
    newer: Memory
    reason: str
    likelihood: float | None
    older_text: Marked
    newer_text: Marked

    @property
    def id(self) -> str:
        """Both ids, the older one first: the value of its fields."""
        return f"{self.older.id}.{self.newer.id}"


def pair_of(review: Review) -> Pair:
    """A pair with its differences marked."""
    older, newer = sorted((review.memory, review.other), key=lambda each: each.created_at)
    left, right = _WORD.findall(older.content), _WORD.findall(newer.content)
    if len(left) + len(right) > _MOST_PIECES:
        texts = ((older.content, False),), ((newer.content, False),)
        return Pair(older, newer, review.reason, review.likelihood, *texts)
    matcher = difflib.SequenceMatcher(
        None, [word.casefold() for word in left], [word.casefold() for word in right], False
    )
    alike = matcher.ratio() >= _ALIKE
    old_text: list[tuple[str, bool]] = []
    new_text: list[tuple[str, bool]] = []
    for tag, start, stop, begin, end in matcher.get_opcodes():
        if start < stop:
            old_text.append(("".join(left[start:stop]), alike and tag != "equal"))
        if begin < end:
            new_text.append(("".join(right[begin:end]), alike and tag != "equal"))
    older_text, newer_text = _joined(old_text), _joined(new_text)
    return Pair(older, newer, review.reason, review.likelihood, older_text, newer_text)


def _joined(pieces: Sequence[tuple[str, bool]]) -> Marked:
    """The same pieces; a space between two marked ones is marked with them."""
    joined: list[tuple[str, bool]] = []
    for at, (piece, marked) in enumerate(pieces):
        inside = not piece.strip() and 0 < at < len(pieces) - 1
        marked = marked or (inside and pieces[at - 1][1] and pieces[at + 1][1])
        if joined and joined[-1][1] == marked:
            piece = joined.pop()[0] + piece
        joined.append((piece, marked))
    return joined


@router.get("/reviews")
async def reviews_page(page: ReadPage) -> Response:
    """The pairs to review."""
    found = await page.hippo.reviews(scope=page.scope)
    pairs = [pair_of(each) for each in found[:PAGE_SIZE]]
    return page.render("reviews/page.html", pairs=pairs, waiting=len(found))


@router.post("/reviews/decide")
async def decide(
    page: WritePage,
    pair: Annotated[list[str], Form()],
    decision: Annotated[Decision, Form()],
) -> Response:
    """Settle one or more pairs, each the id of its older memory, a dot, and that of its newer one."""
    done: list[str] = []
    waiting = await _waiting(page)
    for each, (older, newer) in zip(pair, map(_ids, pair), strict=True):
        if {older, newer} not in waiting:
            continue
        keep = {"both": None, "same": older, "replace": newer}[decision]
        # An earlier pair of the same decision may have had one of them.
        with suppress(NotFound):
            await page.hippo.settle(newer, older, scope=page.scope, keep=keep)
            done.append(each)
    if not done:
        return _decided_already(page)
    match decision:
        case "both":
            text = page.count("Both memories stay.", "{number} pairs: both stay.", len(done))
        case "same":
            text = page.count(
                "The second one is history now.",
                "{number} pairs: the second one is history now.",
                len(done),
            )
        case "replace":
            text = page.count(
                "The first one is history now.",
                "{number} pairs: the first one is history now.",
                len(done),
            )
    return page.part(toast=text, undo=_undo(decision, done), changed="memory-changed")


async def _waiting(page: Visit) -> list[set[str]]:
    """The ids of each pair to review."""
    found = await page.hippo.reviews(scope=page.scope)
    return [{each.memory.id, each.other.id} for each in found]


def _decided_already(page: Visit) -> Response:
    """Keep the decision that was made in another tab, and show the pairs that are left."""
    said = page.say("It was decided already: nothing was changed.")
    return page.part(toast=said, changed="memory-changed")


@router.post("/reviews/undo")
async def undo(
    page: WritePage,
    pair: Annotated[list[str], Query()],
    decision: Annotated[Decision, Query()],
    text: Annotated[str | None, Query()] = None,
) -> Response:
    """Undo a decision: what became history is current again, and the pairs are listed again.

    `text` is what the newer memory of a merge said before it.
    """
    for older, newer in map(_ids, pair):
        if decision == "both":
            await _list_again(page, older, newer)
            continue
        if text is not None:
            await page.hippo.edit(newer, scope=page.scope, content=text)
        await page.hippo.restore(older if decision == "replace" else newer, scope=page.scope)
    said = page.say("Undone: it waits for your decision again.")
    return page.part(toast=said, changed="memory-changed")


async def _list_again(page: Visit, older: str, newer: str) -> None:
    _, edges = await page.hippo.neighbours(newer, scope=page.scope, depth=1)
    reasons = [e for e in edges if {e.source_id, e.target_id} == {older, newer}]
    for edge in [e for e in reasons if e.kind == "related_to"][:1]:
        await page.hippo.associate(
            edge.source_id,
            edge.target_id,
            edge.kind,
            scope=page.scope,
            reason=edge.reason,
            review=True,
        )


def _ids(pair: str) -> tuple[str, str]:
    older, dot, newer = pair.partition(".")
    if not dot:
        raise InvalidInput(
            "a pair is the id of its older memory, a dot, and that of its newer one."
        )
    return older, newer


def _undo(decision: Decision, pairs: Iterable[str], text: str | None = None) -> str:
    fields = [("decision", decision), *(("pair", each) for each in pairs)]
    return "/reviews/undo?" + urlencode([*fields, *([("text", text)] if text else [])])


@router.post("/reviews/merge")
async def merge(page: WritePage, pair: Text, content: Text) -> Response:
    """Merge a pair into one memory, with a text that states the facts of both."""
    older, newer = _ids(pair)
    if {older, newer} not in await _waiting(page):
        return _decided_already(page)
    before = (await page.hippo.get(newer, scope=page.scope)).content
    await page.hippo.edit(newer, scope=page.scope, content=content)
    # The new text may have superseded the other one by itself.
    if (await page.hippo.get(older, scope=page.scope)).current:
        await page.hippo.settle(newer, older, scope=page.scope, keep=newer)
    kept = before if len(before) <= _LONGEST_KEPT else None
    said, undo = page.say("The pair is one memory now."), _undo("replace", [pair], kept)
    return page.part(toast=said, undo=undo, changed="memory-changed")
