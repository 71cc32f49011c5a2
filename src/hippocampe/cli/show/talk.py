"""Messages, notes and imports."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hippocampe.cli.show.layout import count, lines, table, text
from hippocampe.language.humanize import clock_label
from hippocampe.types import Imported, Message, Note

if TYPE_CHECKING:
    from rich.console import RenderableType

_MAX_PROBLEMS = 20
"""Problems of an import that are printed; `--json` gives all of them."""


def messages(found: Sequence[Message], timezone: str) -> "RenderableType":
    """Messages, word for word."""
    if not found:
        return text("There are no messages.")
    rows = table("when", "channel", "author", "content")
    for each in found:
        rows.add_row(
            clock_label(each.at, timezone, now=datetime.now(UTC)),
            text(each.channel or ""),
            text(each.author or ""),
            text(each.content),
        )
    return rows


def observed(message: Message) -> "RenderableType":
    """A live message that was stored."""
    return lines(text(f"stored: {message.content}"), text(message.id, "dim"))


def notes(found: Sequence[Note], timezone: str) -> "RenderableType":
    """Notes by path."""
    if not found:
        return text("There are no notes.")
    now = datetime.now(UTC)
    rows = table("written", "path", "tags")
    for each in found:
        tags = " ".join(f"#{tag}" for tag in each.tags)
        rows.add_row(clock_label(each.modified_at, timezone, now=now), text(each.path), text(tags))
    return rows


def imported(done: Imported) -> "RenderableType":
    """The summary of an import."""
    shown = [
        f"{done.read:,} read, {done.added:,} added, {done.known:,} already there, "
        f"{count(done.turns, 'turn')}, {count(len(done.problems), 'problem')}"
    ]
    shown += [f"line {line}: {problem}" for line, problem in done.problems[:_MAX_PROBLEMS]]
    if len(done.problems) > _MAX_PROBLEMS:
        shown.append(f"and {len(done.problems) - _MAX_PROBLEMS:,} more; --json lists all")
    return lines(*map(text, shown))
