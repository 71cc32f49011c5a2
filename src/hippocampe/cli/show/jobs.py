"""Runs of background jobs, and the calls of language models."""

from collections.abc import Sequence

from hippocampe.cli.show.layout import (
    count,
    entry,
    label,
    lines,
    listing,
    local_time,
    reader,
    say,
)
from hippocampe.cli.terminal import Shown
from hippocampe.types import JobRun, ModelUsage


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
