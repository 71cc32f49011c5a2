"""Statistics, verification and the checks of `doctor`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hippocampe.cli.show.layout import (
    count,
    counted,
    grid,
    lines,
    text,
)
from hippocampe.cli.terminal import sign
from hippocampe.types import Reindexed, Verification

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hippocampe.cli.doctor import Check


def verification(found: Verification) -> "RenderableType":
    """The result of comparing store and index."""
    if found.ok:
        return text(f"{sign('✓')} store and index agree: {counted(found.checked)} checked")
    differ = (
        found.missing_in_index
        or found.unknown_to_store
        or found.differing_in_index
        or found.damaged_files
    )
    shown = [f"{sign('✗')} {'store and index differ' if differ else 'problems were found'}"]
    for what, ids in (
        ("missing in the index", found.missing_in_index),
        ("unknown to the store", found.unknown_to_store),
        ("answered differently by the index", found.differing_in_index),
        ("with a damaged vector", found.damaged),
    ):
        shown += [f"{count(len(some), kind)} {what}" for kind, some in ids.items()]
    shown += [f"damaged file of the index: {name}" for name in found.damaged_files]
    if differ or found.damaged:
        shown.append(
            "`hippocampe reindex` rebuilds the index, and repairs damaged vectors from their texts"
        )
    if found.database != "ok":
        shown.append(f"the database is damaged: {found.database}")
    shown += [f"{absent!r} is in: {', '.join(places)}" for absent, places in found.present.items()]
    return lines(*map(text, shown))


def reindexed(done: Reindexed) -> "RenderableType":
    """The embedder of the new index, and the graphs still to build."""
    shown = [f"index rebuilt with {done.embedder}"]
    if done.mended:
        shown.append(f"{count(done.mended, 'damaged vector')} repaired from the texts")
    if done.damaged:
        shown.append(
            f"{count(done.damaged, 'vector')} still damaged, because the embedder is down: run it again later"
        )
    if done.without_graph:
        kinds = ", ".join(done.without_graph)
        shown.append(
            f"no graph for {kinds} yet: searches scan until a program that keeps the folder open "
            "builds it, within minutes"
        )
    return lines(*map(text, shown))


def checks(found: Sequence["Check"]) -> "RenderableType":
    """One line per check."""
    return grid(
        (text("ok" if check.ok else "problem"), text(f"{check.name}: {check.seen}"))
        for check in found
    )
