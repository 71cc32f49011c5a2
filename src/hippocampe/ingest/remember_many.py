"""Store many statements: check all of them, then write one transaction per batch."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from inspect import signature
from typing import Any

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared
from hippocampe.engine.writer import Writer
from hippocampe.errors import InvalidInput, NotFound, shown
from hippocampe.ingest.draft import make_draft
from hippocampe.ingest.remember import decide_and_store, embed_drafts
from hippocampe.types import MAX_LABEL_CHARACTERS, Remembered, Scope
from hippocampe.updates.draft import Draft
from hippocampe.validation import MAX_MANY

BATCH = 128
"""Statements per transaction: large enough to amortise it, small enough to let other writers in."""
ARGUMENTS = tuple(
    name for name in signature(make_draft).parameters if name not in ("corpus", "scope")
)


def check_items(
    corpus: Corpus, items: Iterable[str | Mapping[str, Any]], *, scope: Scope
) -> list[Draft]:
    """Check every item before any is stored.

    Args:
        items: Texts, or mappings with the arguments of `remember`.

    Raises:
        InvalidInput: An item is invalid; the message has its number, counted from 1.
    """
    if not _is_list(items):
        raise InvalidInput(
            'items must be a list of texts or mappings, such as ["…", {"content": "…"}], not '
            f"{type(items).__name__}."
        )
    drafts: list[Draft] = []
    for number, item in enumerate(items, 1):
        if number > MAX_MANY:
            raise InvalidInput(
                f"items has more than {MAX_MANY:,} statements: give them in several calls. No item was "
                "stored."
            )
        try:
            drafts.append(make_draft(corpus, scope=scope, **_arguments(item)))
        except InvalidInput as exc:
            raise InvalidInput(f"item {number}: {exc} No item was stored.") from exc
    return drafts


def _is_list(items: object) -> bool:
    return isinstance(items, Iterable) and not isinstance(items, str | bytes | Mapping)


def _arguments(item: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(item, str):
        return {"content": item}
    if not isinstance(item, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f'must be a text or a mapping, such as {{"content": "…"}}, not {type(item).__name__}.'
        )
    for name in item:
        if name not in ARGUMENTS:
            close = get_close_matches(str(name)[:MAX_LABEL_CHARACTERS], ARGUMENTS, n=1)
            way_out = f"did you mean {close[0]!r}?" if close else f"use {', '.join(ARGUMENTS)}."
            raise InvalidInput(f"unknown argument {shown(name)}: {way_out}")
    if "content" not in item:
        raise InvalidInput("content is missing.")
    return dict(item)


def store_batch(writer: Writer, drafts: Sequence[Draft], *, start: int) -> list[Remembered]:
    """Store the next batch in one transaction; each statement is compared with those before it.

    Args:
        drafts: All drafts.
        start: Number of drafts that are stored already.

    Raises:
        InvalidInput: An item needs a category and inherits none.
        NotFound: An id in `replaces` is not a current memory of the space.
    """
    batch = drafts[start : start + BATCH]
    embedded = embed_drafts(writer.corpus.vocabulary, batch)
    results: list[Remembered] = []
    with writer.change() as change:
        for draft, prepared in zip(batch, embedded, strict=True):
            try:
                results.append(decide_and_store(writer.corpus, change, draft, prepared))
            except (InvalidInput, NotFound) as exc:
                number = start + len(results) + 1
                stored = f"Items 1 to {start} are stored." if start else "No item was stored."
                raise type(exc)(f"item {number}: {exc} {stored}") from exc
    return results


def store_drafts(
    corpus: Corpus, change: UnitOfWork, drafts: Sequence[Draft], prepared: Sequence[Prepared]
) -> list[Remembered]:
    """Store the statements of a language model, in a transaction; each is compared with those before it.

    One bad statement does not stop the others: it is dropped if it cannot be stored, and decided by
    rule if an id in its `replaces` is not current.
    """
    results: list[Remembered] = []
    for draft, embedded in zip(drafts, prepared, strict=True):
        with suppress(InvalidInput):
            try:
                results.append(decide_and_store(corpus, change, draft, embedded))
            except NotFound:
                by_rule = replace(draft, replaces=())
                results.append(decide_and_store(corpus, change, by_rule, embedded))
    return results
