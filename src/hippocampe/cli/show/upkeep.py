"""The audit log, verification and the checks of `doctor`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, cast

from hippocampe.cli.show.layout import (
    count,
    counted,
    grid,
    label,
    lines,
    listing,
    local_time,
    reader,
    say,
    spelled,
)
from hippocampe.cli.terminal import Shown, sign
from hippocampe.types import AuditEntry, Reindexed, Verification

if TYPE_CHECKING:
    from hippocampe.cli.doctor import Check
    from hippocampe.migration import Migrated


_MAX_NAMED = 3
"""Ids or names of an entry that are shown; `--json` has all."""


def audit(found: Sequence[AuditEntry], timezone: str) -> Shown:
    """A line per entry."""
    return listing(
        (
            (
                local_time(entry.at, timezone),
                label("actor", entry.actor),
                label("audit", entry.action),
                _detail(entry),
            )
            for entry in found
        ),
        *("when", "who", "did", "what"),
        none=say("Nothing was forgotten, restored or changed by hand yet."),
    )


def _detail(entry: AuditEntry) -> str:
    return "; ".join(
        spelled((*value[:_MAX_NAMED], *(["…"] if len(value) > _MAX_NAMED else [])), ", ")
        if isinstance(value, list)
        else f"{name} {value}"
        for name, value in cast("Mapping[str, list[object] | str]", entry.detail).items()
    )


def together(cells: Sequence[Verification]) -> Verification:
    """The results of all cells as one; places and damages are given the number of their cell."""

    def named(number: int, places: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"cell {number}: {place}" for place in places)

    of_cells = [*enumerate(cells)]
    checked = Counter[str]()
    for cell in cells:
        checked.update(cell.checked)
    databases = [named(n, [each.database]) for n, each in of_cells if each.database != "ok"]
    places = [{w: named(n, some) for w, some in each.present.items()} for n, each in of_cells]
    return Verification(
        ok=all(cell.ok for cell in cells),
        checked=dict(checked),
        missing_in_index=_joined(cell.missing_in_index for cell in cells),
        unknown_to_store=_joined(cell.unknown_to_store for cell in cells),
        pending=sum(cell.pending for cell in cells),
        database="; ".join(chain(*databases)) or "ok",
        present=_joined(places),
        differing_in_index=_joined(cell.differing_in_index for cell in cells),
        damaged=_joined(cell.damaged for cell in cells),
        damaged_files=(*chain(*(named(n, each.damaged_files) for n, each in of_cells)),),
    )


def _joined(parts: Iterable[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for part in parts:
        found |= {name: (*found.get(name, ()), *some) for name, some in part.items()}
    return found


def verification(found: Verification) -> Shown:
    """The result of comparing store and index."""
    if found.ok:
        agreed = say("store and index agree: {counts} checked", counts=counted(found.checked))
        return f"{sign('✓')} {agreed}"
    differ = (
        found.missing_in_index
        or found.unknown_to_store
        or found.differing_in_index
        or found.damaged_files
    )
    problem = say("store and index differ") if differ else say("problems were found")
    shown = [f"{sign('✗')} {problem}"]
    for what, ids in (
        (say("{items} missing in the index"), found.missing_in_index),
        (say("{items} unknown to the store"), found.unknown_to_store),
        (say("{items} answered differently by the index"), found.differing_in_index),
        (say("{items} with a damaged vector"), found.damaged),
    ):
        shown += [what.format(items=count(len(some), kind)) for kind, some in ids.items()]
    shown += [say("damaged file of the index: {name}", name=name) for name in found.damaged_files]
    if differ or found.damaged:
        shown.append(
            say(
                "`hippocampe reindex` rebuilds the index, and repairs damaged vectors from their texts"
            )
        )
    if found.database != "ok":
        shown.append(say("the database is damaged: {reason}", reason=found.database))
    shown += [
        say("{word} is in: {places}", word=repr(absent), places=", ".join(places))
        for absent, places in found.present.items()
    ]
    return lines(*shown)


def reindexed(done: Reindexed) -> Shown:
    """The embedder of the new index, and the graphs still to build."""
    shown = [say("index rebuilt with {embedder}", embedder=done.embedder)]
    if done.mended:
        shown.append(
            say("repaired from the texts: {vectors}", vectors=count(done.mended, "damaged vector"))
        )
    if done.damaged:
        shown.append(
            say(
                "still damaged, because the embedder is down: {vectors}; run it again later",
                vectors=count(done.damaged, "vector"),
            )
        )
    if done.without_graph:
        kinds = ", ".join(done.without_graph)
        shown.append(
            say(
                "no graph for {kinds} yet: searches scan until a program that keeps the folder open builds it, "
                "within minutes",
                kinds=kinds,
            )
        )
    return lines(*shown)


def migrated(done: "Migrated") -> Shown:
    """The rows that were moved."""
    rows = sum(each.rows for each in done.tables.values())
    return lines(
        say(
            "copied and compared: {rows} rows, {queries} queries",
            rows=rows,
            queries=done.queries,
        ),
        say("the source stays as it is: let programs use the new place, then remove it"),
    )


def scrubbed(left: Sequence[str]) -> Shown:
    """The places of erased bytes that are left after all."""
    return lines(
        say("tables and index were written again, without erased rows"),
        *(label("remains", place) for place in left),
    )


def checks(found: Sequence["Check"]) -> Shown:
    """One line per check."""
    by = reader()
    return grid(
        (
            say("ok") if check.ok else say("problem"),
            say("{key}: {value}", key=by.label("check", check.name), value=by.error(check.seen)),
        )
        for check in found
    )
