"""Messages, notes and imports."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hippocampe.cli.show.layout import count, lines, listing, local_time, text
from hippocampe.types import Compacted, Distilled, Imported, Message, Note

if TYPE_CHECKING:
    from rich.console import RenderableType

_MAX_PROBLEMS = 20
"""Problems of an import that are printed; `--json` gives all of them."""


def messages(found: Sequence[Message], timezone: str) -> "RenderableType":
    """Messages, word for word."""
    return listing(
        (
            (
                local_time(each.at, timezone),
                text(each.channel or ""),
                text(each.author or ""),
                text(each.content),
            )
            for each in found
        ),
        *("when", "channel", "author", "content"),
        none="There are no messages.",
    )


def observed(
    message: Message | None, channel: str | None, rooms: Sequence[str]
) -> "RenderableType":
    """A live message that was stored, or the reason why none was."""
    if message is not None:
        return lines(text(f"stored: {message.content}"), text(message.id, "dim"))
    if channel in rooms:
        return text("not kept: it names the companion (setting companion_names), or is its own.")
    where = f"the room {channel!r} is" if channel else "a message without --channel is"
    return text(f"not kept: {where} not observed. The setting live_rooms has: {', '.join(rooms)}.")


def digested(done: Distilled) -> "RenderableType":
    """The result of a digest of live messages."""
    return _distilled(done, "digested") if done.messages else text("There is nothing to digest.")


def extracted(done: Distilled) -> "RenderableType":
    """The result of an extraction from an exchange."""
    return _distilled(done, "read") if done.remembered else text("There is nothing to remember.")


def _distilled(done: Distilled, verb: str) -> "RenderableType":
    made = count(done.turns, "turn") if done.turns else count(len(done.remembered), "statement")
    return lines(
        text(f"{count(done.messages, 'message')} {verb}, {made}"),
        *(text(f"{each.action}: {each.memory.content}") for each in done.remembered),
    )


def compacted(done: Compacted) -> "RenderableType":
    """The summaries of a channel."""
    if not done.messages:
        return text("There is nothing to compact.")
    header = f"{count(done.messages, 'message')}, {count(len(done.summaries), 'summary')}"
    return lines(text(header), *(text(each.content) for each in done.summaries))


def notes(found: Sequence[Note], timezone: str) -> "RenderableType":
    """Notes by path."""
    return listing(
        (
            (
                local_time(each.modified_at, timezone),
                text(each.path),
                text(" ".join(f"#{tag}" for tag in each.tags)),
            )
            for each in found
        ),
        *("written", "path", "tags"),
        none="There are no notes.",
    )


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
