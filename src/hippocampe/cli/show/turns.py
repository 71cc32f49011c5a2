"""Injections, the log of retrievals, and settings."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from hippocampe.cli.show.layout import (
    beginning,
    count,
    counted,
    entry,
    label,
    lines,
    local_time,
    reader,
    say,
    spelled,
    spoken,
    table,
    text,
)
from hippocampe.cli.terminal import Shown
from hippocampe.presentation.stages import stages_of
from hippocampe.types import Considered, Injection, Retrieval, Settings

_MAX_SIGNALS = 4
"""Signals shown for each item, the strongest first."""


def injection(turn: Injection, *, explain: bool) -> Shown:
    """The text of an injection; with `explain`, every candidate and its outcome too."""
    trace, by = turn.trace, reader()
    shown = turn.text or say("Nothing was injected.")
    notes = [label("skipped", trace.skipped)] if trace.skipped else []
    if trace.missing:
        notes.append(say("left out: {names}", names=", ".join(map(by.recorded, trace.missing))))
    if not explain:
        return lines(shown, *(text(note, "italic") for note in notes))
    stages = ", ".join(
        f"{label('stage', name)} {by.number(spent, 1)}"
        for name, spent in stages_of(trace.stages).items()
    )
    notes = [
        say(
            "{outcomes} of {number} considered",
            outcomes=_outcomes(each.outcome for each in trace.considered),
            number=len(trace.considered),
        ),
        say(
            "{tokens} in {time}",
            tokens=count(turn.tokens, "token"),
            time=by.milliseconds(turn.took_ms),
        )
        + (f" ({stages})" if stages else ""),
        *notes,
    ]
    rows = table("path", "kind", "score", "outcome", "content")
    for each in trace.considered:
        rows.add_row(*_considered(each))
    return lines(shown, "", rows, "", *(text(note, "dim") for note in notes))


def _considered(each: Considered) -> tuple[Shown, ...]:
    item = each.recollection
    strongest = sorted(item.why, key=lambda signal: -abs(signal.contribution))[:_MAX_SIGNALS]
    signals = ", ".join(
        f"{signal.name} {signal.value:.2f} ({signal.contribution:+.1f})" for signal in strongest
    )
    details = [text(signals, "italic")] if signals else []
    return (
        label("route", each.path),
        label("kind", item.kind),
        f"{item.score:.2f}",
        label("outcome", each.outcome),
        entry(beginning(spoken(item)), item.id, *details),
    )


def _outcomes(outcomes: Iterable[str]) -> str:
    return counted(Counter(outcomes))


def retrievals(found: Sequence[Retrieval], timezone: str) -> Shown:
    """Logged turns: message, tokens, and the outcomes of what was found."""
    if not found:
        return say("No turn was logged.")
    by = reader()
    rows = table("when", "channel", "ms", "tokens", "message")
    for each in found:
        outcomes = _outcomes(item.outcome for item in each.items)
        notes = [say("{outcomes} of {number} found", outcomes=outcomes, number=len(each.items))]
        if each.skipped:
            notes.append(label("skipped", each.skipped))
        if each.missing:
            notes.append(say("left out: {names}", names=", ".join(map(by.recorded, each.missing))))
        rows.add_row(
            local_time(each.created_at, timezone),
            text(each.channel or ""),
            by.number(each.took_ms, 1),
            by.number(each.tokens_added),
            entry(each.message_preview, each.id, *(text(note, "italic") for note in notes)),
        )
    return rows


def settings(values: Mapping[str, object], default: Settings, accepted: Mapping[str, str]) -> Shown:
    """Settings with the values they accept, and the default of those that were changed."""
    by = reader()
    changed = {name for name, value in values.items() if value != getattr(default, name)}
    rows = table("setting", "value", *(["default"] if changed else []), "accepted")
    for name, value in values.items():
        cells = [text(spelled(value), "bold" if name in changed else "")]
        if changed:
            cells.append(text(spelled(getattr(default, name)) if name in changed else ""))
        rows.add_row(name, *cells, text(by.error(accepted[name])))
    return rows
