"""Many statements at once: all are checked, then stored a batch per transaction."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from inspect import signature
from typing import Any

from hippocampe.errors import InvalidInput, NotFound
from hippocampe.parts import Parts
from hippocampe.remember import Draft, decide_and_store, draft, prepare
from hippocampe.types import Remembered, Scope

BATCH = 128
"""Statements per transaction: enough to share its cost, few enough to let others write."""
ARGUMENTS = tuple(name for name in signature(draft).parameters if name not in ("parts", "scope"))


def read_items(parts: Parts, items: Iterable[Mapping[str, Any]], *, scope: Scope) -> list[Draft]:
    """Check every item.

    Args:
        items: Mappings with the arguments of `remember`.

    Raises:
        InvalidInput: An item cannot be used; the message has its number, counted from 1.
    """
    if not _are_several(items):
        raise InvalidInput(
            'items must be a list of mappings, such as [{"content": "…"}], not '
            f"{type(items).__name__}."
        )
    drafts: list[Draft] = []
    for number, item in enumerate(items, 1):
        try:
            drafts.append(draft(parts, scope=scope, **_arguments(item)))
        except InvalidInput as exc:
            raise InvalidInput(f"item {number}: {exc} No item was stored.") from exc
    return drafts


def _are_several(items: object) -> bool:
    return isinstance(items, Iterable) and not isinstance(items, str | bytes | Mapping)


def _arguments(item: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(item, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f'must be a mapping, such as {{"content": "…"}}, not {type(item).__name__}.'
        )
    for name in item:
        if name not in ARGUMENTS:
            close = get_close_matches(str(name), ARGUMENTS, n=1)
            way_out = f"did you mean {close[0]!r}?" if close else f"use {', '.join(ARGUMENTS)}."
            raise InvalidInput(f"unknown argument {name!r}: {way_out}")
    if "content" not in item:
        raise InvalidInput("content is missing.")
    return dict(item)


def store_batch(
    parts: Parts, drafts: Sequence[Draft], *, start: int, scope: Scope
) -> list[Remembered]:
    """Store the next batch in one transaction, each statement as if it came after the one before.

    Args:
        drafts: All of them.
        start: How many are stored already.
        scope: Where they were said.

    Raises:
        InvalidInput: An item needs a category, and supersedes nothing that has one.
        NotFound: An id in `replaces` is not a current memory of the space.
    """
    batch = drafts[start : start + BATCH]
    embedded = prepare(parts, batch)
    results: list[Remembered] = []
    with parts.change() as change:
        for new, prepared in zip(batch, embedded, strict=True):
            try:
                results.append(decide_and_store(parts, change, new, prepared))
            except (InvalidInput, NotFound) as exc:
                number = start + len(results) + 1
                stored = f"Items 1 to {start} are stored." if start else "No item was stored."
                raise type(exc)(f"item {number}: {exc} {stored}") from exc
    return results
