"""Background jobs, calls of language models, the audit log, keys, moves of spaces, verification and the checks of `doctor`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hippocampe.cli.show.layout import (
    count,
    counted,
    entry,
    grid,
    label,
    lines,
    listing,
    local_time,
    named,
    reader,
    say,
    text,
)
from hippocampe.cli.terminal import Shown, sign
from hippocampe.types import ApiKey, AuditEntry, JobRun, ModelUsage, NewKey, Reindexed, Verification

if TYPE_CHECKING:
    from rich.text import Text

    from hippocampe.cli.doctor import Check
    from hippocampe.migration import Migrated
    from hippocampe.server.cells.moves import Moved


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
            named(by.label("check", check.name), by.error(check.seen)),
        )
        for check in found
    )


def runs(found: Sequence[JobRun], timezone: str, *, none: str = "") -> Shown:
    """A line per run: its time, its state, its outcome or the reason of its failure."""
    return listing(
        found,
        none or say("No job has run."),
        when=lambda run: local_time(run.ended_at or run.due_at, timezone),
        job=lambda run: label("job", run.job),
        state=lambda run: label("job state", run.state),
        outcome=lambda run: entry(_outcome(run, timezone), run.id),
    )


def _outcome(run: JobRun, timezone: str) -> str:
    if run.error is None:
        return reader().recorded(run.outcome or "")
    error = reader().error(run.error)
    notes = [count(run.attempts, "attempt")] if run.attempts else []
    if run.state == "failed":
        notes.append(say("next one {time}", time=local_time(run.due_at, timezone)))
    return f"{error} ({', '.join(notes)})" if notes else error


def usage(found: Sequence[ModelUsage], timezone: str) -> Shown:
    """A line per call, and the sum of the known prices."""
    # Not at the top: the help must load nothing heavy.
    from hippocampe.model.prices import injected_price

    if not found:
        return say("No language model was called.")
    by = reader()
    rows = listing(
        found,
        "",
        when=lambda call: local_time(call.created_at, timezone),
        purpose=lambda call: label("purpose", call.purpose),
        **{"in": _sent},
        injected=lambda call: f"{call.injected_tokens:,}",
        out=lambda call: f"{call.output_tokens:,}",
        price=lambda call: "?" if call.price is None else by.dollars(call.price),
        model=lambda call: call.model,
    )
    unpriced = sum(call.price is None for call in found)
    if unpriced == len(found):
        return lines(rows, by.say("{calls}, at an unknown price", calls=count(unpriced, "call")))
    spent = sum(call.price or 0 for call in found)
    added = sum(injected_price(call) or 0 for call in found)
    summed = by.say(
        "{price} in {calls}, about {added} of it by injections",
        price=by.dollars(spent),
        calls=count(len(found), "call"),
        added=by.dollars(added),
    )
    if unpriced:
        unknown = by.say("{calls} of them at an unknown price", calls=by.number(unpriced))
        summed = f"{summed}, {unknown}"
    return lines(rows, summed)


def _sent(call: ModelUsage) -> str:
    return f"{call.input_tokens:,}"


def keys(found: Sequence[ApiKey], timezone: str) -> Shown:
    """A line per key."""
    return listing(
        found,
        say("There are no keys."),
        made=lambda each: local_time(each.created_at, timezone),
        space=lambda each: each.space,
        role=lambda each: label("role", each.role),
        label=lambda each: entry(each.label or "", each.id, *_ended(each, timezone)),
    )


def _ended(key: ApiKey, timezone: str) -> "list[Text]":
    at = key.revoked_at
    return [text(say("revoked {time}", time=local_time(at, timezone)), "bold")] if at else []


def made(made: NewKey) -> Shown:
    """The text of a key, alone on its line."""
    return lines(
        made.secret,
        say(
            "Role {role} in space {space}. Keep it: it is not stored and cannot be shown again.",
            role=label("role", made.key.role),
            space=made.key.space,
        ),
    )


def spread(moved: Sequence["Moved"]) -> Shown:
    """The result of `spread-spaces`."""
    if not moved:
        return say("Each space is in its cell already.")
    return say(
        "Spaces moved: {count}. Writes of each waited at most {seconds} s.",
        count=len(moved),
        seconds=f"{max(each.seconds for each in moved):.2f}",
    )


def moved(moved: "Moved") -> Shown:
    """The cell of a space that was moved."""
    if moved.source == moved.target:
        return say("{space} is in cell {cell} already.", space=moved.space, cell=moved.target)
    return say(
        "{space} moved from cell {source} to cell {target}; writes waited {seconds} s.",
        space=moved.space,
        source=moved.source,
        target=moved.target,
        seconds=f"{moved.seconds:.2f}",
    )
