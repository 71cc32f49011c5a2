"""Injections, the log of retrievals, and settings."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from hippocampe.cli.show.layout import (
    beginning,
    count,
    counted,
    entry,
    label,
    lines,
    listing,
    local_time,
    reader,
    say,
    spelled,
    spoken,
    table,
    text,
)
from hippocampe.cli.terminal import Shown
from hippocampe.presentation.injections import stages_of
from hippocampe.types import Injection, Recollection, Retrieval, Settings

if TYPE_CHECKING:
    from rich.text import Text

_MAX_SIGNALS = 4
"""Signals shown for each item, the strongest first."""


def injection(turn: Injection, *, explain: bool) -> Shown:
    """The text of an injection; with `explain`, every candidate and its outcome too."""
    trace, by = turn.trace, reader()
    shown = turn.text or say("Nothing was injected.")
    notes = [*_skipped(trace.skipped), *_left_out(trace.missing)]
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
    rows = listing(
        trace.considered,
        "",
        path=lambda each: label("route", each.path),
        kind=lambda each: label("kind", each.recollection.kind),
        score=lambda each: f"{each.recollection.score:.2f}",
        outcome=lambda each: label("outcome", each.outcome),
        content=lambda each: _with_signals(each.recollection),
    )
    return lines(shown, "", rows, "", *(text(note, "dim") for note in notes))


def _with_signals(item: Recollection) -> "Text":
    strongest = sorted(item.why, key=lambda signal: -abs(signal.contribution))[:_MAX_SIGNALS]
    signals = ", ".join(
        f"{signal.name} {signal.value:.2f} ({signal.contribution:+.1f})" for signal in strongest
    )
    details = [text(signals, "italic")] if signals else []
    return entry(beginning(spoken(item)), item.id, *details)


def _outcomes(outcomes: Iterable[str]) -> str:
    return counted(Counter(outcomes))


def retrievals(found: Sequence[Retrieval], timezone: str) -> Shown:
    """Logged turns: message, tokens, and the outcomes of what was found."""
    return listing(
        found,
        say("No turn was logged."),
        when=lambda each: local_time(each.created_at, timezone),
        channel=lambda each: each.channel or "",
        ms=lambda each: reader().number(each.took_ms, 1),
        tokens=lambda each: reader().number(each.tokens_added),
        message=lambda each: entry(each.message_preview, each.id, *_notes(each)),
    )


def _notes(logged: Retrieval) -> "list[Text]":
    """The outcomes of what was found, and what is missing."""
    outcomes = _outcomes(item.outcome for item in logged.items)
    notes = [say("{outcomes} of {number} found", outcomes=outcomes, number=len(logged.items))]
    notes += [*_skipped(logged.skipped), *_left_out(logged.missing)]
    return [text(note, "italic") for note in notes]


def _skipped(reason: str | None) -> list[str]:
    return [label("skipped", reason)] if reason else []


def _left_out(missing: Sequence[str]) -> list[str]:
    names = ", ".join(map(reader().recorded, missing))
    return [say("left out: {names}", names=names)] if missing else []


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
