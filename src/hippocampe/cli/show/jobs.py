"""Runs of background jobs, and the calls of language models."""

from collections.abc import Sequence

from hippocampe.cli.show.layout import (
    count,
    entry,
    label,
    lines,
    local_time,
    reader,
    say,
    table,
    text,
)
from hippocampe.cli.terminal import Shown
from hippocampe.types import JobRun, ModelUsage


def runs(found: Sequence[JobRun], timezone: str, *, none: str = "") -> Shown:
    """A line per run: its time, its state, its outcome or the reason of its failure."""
    if not found:
        return none or say("No job has run.")
    rows = table("when", "job", "state", "outcome")
    for run in found:
        at = run.ended_at or run.due_at
        rows.add_row(
            local_time(at, timezone),
            label("job", run.job),
            label("job state", run.state),
            entry(_outcome(run, timezone), run.id),
        )
    return rows


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
    rows = table("when", "purpose", "in", "injected", "out", "price", "model")
    by = reader()
    for call in found:
        rows.add_row(
            local_time(call.created_at, timezone),
            text(label("purpose", call.purpose)),
            f"{call.input_tokens:,}",
            f"{call.injected_tokens:,}",
            f"{call.output_tokens:,}",
            "?" if call.price is None else by.dollars(call.price),
            text(call.model),
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
