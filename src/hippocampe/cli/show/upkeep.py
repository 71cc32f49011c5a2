"""The audit log, verification and the checks of `doctor`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
)
from hippocampe.cli.terminal import Shown, sign
from hippocampe.types import AuditEntry, Reindexed, Verification

if TYPE_CHECKING:
    from hippocampe.cli.doctor import Check
    from hippocampe.migration import Migrated


def audit(found: Sequence[AuditEntry], timezone: str) -> Shown:
    """A line per entry."""
    return listing(
        found,
        say("Nothing was forgotten, restored or changed by hand yet."),
        when=lambda each: local_time(each.at, timezone),
        who=lambda each: label("actor", each.actor),
        did=lambda each: label("audit", each.action),
        what=reader().audited,
    )


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
    error = reader().error
    problem = say("store and index differ") if differ else say("problems were found")
    shown = [f"{sign('✗')} {problem}"]
    for what, ids in (
        (say("{items} missing in the index"), found.missing_in_index),
        (say("{items} unknown to the store"), found.unknown_to_store),
        (say("{items} answered differently by the index"), found.differing_in_index),
        (say("{items} with a damaged vector"), found.damaged),
    ):
        shown += [what.format(items=count(len(some), kind)) for kind, some in ids.items()]
    shown += [
        say("damaged file of the index: {name}", name=error(name)) for name in found.damaged_files
    ]
    if differ or found.damaged:
        shown.append(
            say(
                "`hippocampe reindex` rebuilds the index, and repairs damaged vectors from their texts"
            )
        )
    shown += [
        say("the database is damaged: {reason}", reason=error(reason))
        for reason in found.database.splitlines()
        if found.database != "ok"
    ]
    shown += [
        say("{word} is in: {places}", word=repr(absent), places=", ".join(map(error, places)))
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
