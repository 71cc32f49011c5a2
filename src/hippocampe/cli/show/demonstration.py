"""The result of the demonstration."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hippocampe.cli.show.layout import (
    beginning,
    count,
    grid,
    lines,
    reader,
    reasons,
    say,
    spoken,
    text,
)
from hippocampe.cli.terminal import Shown, sign
from hippocampe.system.command_line import command_line

if TYPE_CHECKING:
    from hippocampe.demo import AskedQuestion, Report

_MAX_CORRECTIONS = 3
"""The latest corrections, which are shown."""


def demonstration(report: "Report") -> Shown:
    """Each question with its answers, then the totals."""
    parts: list[Shown] = [
        say(
            "{messages} and {memories} of Camille and Owen, of the last eight weeks, loaded in {seconds} s",
            messages=count(report.messages, "message"),
            memories=count(report.memories, "memory"),
            seconds=reader().number(report.load_seconds, 1),
        )
    ]
    for each in report.asked:
        mark = text(f"\n{sign('✓' if each.answered else '✗')} ", "bold")
        parts.append(mark.append(text(each.question, "bold")).append(f"  {each.took_ms:.0f} ms"))
        parts.append(_answers(each))
    parts += [
        "",
        say(
            "{answered} of {questions} answered by the first result, {time} at the median, without a language "
            "model.",
            answered=report.answered,
            questions=count(len(report.asked), "question"),
            time=reader().milliseconds(report.median_ms),
        ),
        say(
            "corrected: {memories}; the old versions stay in the history:",
            memories=count(len(report.corrected), "memory"),
        ),
    ]
    changed = [each for each in report.corrected if each.old != each.new]
    for each in reversed(changed[-_MAX_CORRECTIONS:]):
        parts.append(grid([("", each.old), (sign("→"), each.new)], indent=2))
    return lines(*parts)


def _answers(asked: "AskedQuestion") -> Shown:
    by = replace(reader("Europe/Paris"), now=asked.asked_at)
    rows: list[tuple[Shown, Shown]] = []
    for item in asked.found:
        at = by.ago(item.at) if item.at else ""
        content = f"{beginning(spoken(item))} ({at})"
        rows.append((f"{item.score:.2f}", lines(content, text(reasons(item, reader()), "dim"))))
    return grid(rows, indent=2)


def next_steps(folder: Path | None) -> str:
    """Commands to try next. Print it as it is: a command that is broken over lines cannot be copied."""
    own = say("Now try your own:")
    more: list[str] = []
    if folder:
        more = ["\n" + say("Ask this memory more:")]
        more.append("  " + command_line("recall", "où part cam ?", "--folder", str(folder)))
        own = say("Now try your own, in the default folder:")
    return "\n".join(
        (
            *more,
            f"\n{own}",
            "  " + command_line("import", "whatsapp.txt"),
            "  " + command_line("recall", "what did we say about the holidays?"),
        )
    )
