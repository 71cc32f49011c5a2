"""Messages, notes and imports."""

from collections.abc import Sequence
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
    named,
    reader,
    say,
    text,
)
from hippocampe.cli.show.memories import memories
from hippocampe.cli.terminal import Shown
from hippocampe.types import (
    Compacted,
    Conversation,
    Distilled,
    Exchange,
    ExchangeHistory,
    Imported,
    Message,
    Note,
)

if TYPE_CHECKING:
    from hippocampe.hippocampe import ImportPreview

_MAX_REASONS = 20
"""Reasons of problems of an import that are printed; `--json` gives all of them."""


def messages(found: Sequence[Message], timezone: str) -> Shown:
    """Messages, word for word."""
    return listing(
        found,
        say("There are no messages."),
        when=lambda each: local_time(each.at, timezone),
        channel=lambda each: each.channel or "",
        author=lambda each: each.author or "",
        content=lambda each: each.content,
    )


def conversations(found: Sequence[Conversation], timezone: str) -> Shown:
    """A line per channel, with its number of messages and their time."""
    return listing(
        found,
        say("There are no messages."),
        channel=lambda each: each.channel or say("without a channel"),
        messages=lambda each: reader().number(each.messages),
        first=lambda each: local_time(each.first_at, timezone),
        last=lambda each: local_time(each.last_at, timezone),
    )


def exchanges(found: Sequence[Exchange], timezone: str) -> Shown:
    """Exchanges, word for word, each with its id."""
    return listing(
        found,
        say("There are no messages."),
        when=lambda each: local_time(each.at, timezone),
        channel=lambda each: each.channel or "",
        content=lambda each: entry("\n".join(map(_said, each.messages)), each.id),
    )


def exchange(found: ExchangeHistory, timezone: str) -> Shown:
    """An exchange, what was learnt from it, where it was given, and its neighbours in the channel."""
    shown: list[Shown] = [exchanges([found.exchange], timezone)]
    if found.learnt:
        shown += ["", text(say("Learnt from it"), "bold"), memories(found.learnt, timezone)]
    if found.given:
        given = listing(
            found.given,
            "",
            when=lambda each: local_time(each.created_at, timezone),
            message=lambda each: each.message_preview,
        )
        shown += ["", text(say("Given to"), "bold"), given]
    beside = {say("before:"): found.previous_id, say("after:"): found.next_id}
    notes = [text(f"{name} {id}", "dim") for name, id in beside.items() if id]
    return lines(*shown, *(["", *notes] if notes else []))


def _said(message: Message) -> str:
    return f"{message.author}: {message.content}" if message.author else message.content


def observed(message: Message | None, channel: str | None, rooms: Sequence[str]) -> Shown:
    """A live message that was stored, or the reason why none was."""
    if message is not None:
        return lines(say("stored: {content}", content=message.content), text(message.id, "dim"))
    if channel in rooms:
        return say("not kept: it names the companion (setting companion_names), or is its own.")
    named = ", ".join(rooms)
    if channel is None:
        reason = say("not kept: without --channel, no room is observed.")
    else:
        reason = say("not kept: the room {room} is not observed.", room=channel)
    setting = say("The setting live_rooms has: {rooms}.", rooms=named)
    return f"{reason} {setting}"


def digested(done: Distilled) -> Shown:
    """The result of a digest of live messages."""
    return _distilled(done, "digested") if done.messages else say("There is nothing to digest.")


def extracted(done: Distilled) -> Shown:
    """The result of an extraction from an exchange."""
    return _distilled(done, "read") if done.remembered else say("There is nothing to remember.")


def _distilled(done: Distilled, verb: str) -> Shown:
    made = count(done.turns, "turn") if done.turns else count(len(done.remembered), "statement")
    return lines(
        named(label("change", verb), f"{count(done.messages, 'message')}, {made}"),
        *(named(label("change", each.action), each.memory.content) for each in done.remembered),
    )


def compacted(done: Compacted) -> Shown:
    """The summaries of a channel."""
    if not done.messages:
        return say("There is nothing to compact.")
    header = f"{count(done.messages, 'message')}, {count(len(done.summaries), 'summary')}"
    return lines(header, *(each.content for each in done.summaries))


def notes(found: Sequence[Note], timezone: str) -> Shown:
    """Notes by path."""
    return listing(
        found,
        say("There are no notes."),
        written=lambda each: local_time(each.modified_at, timezone),
        path=lambda each: each.path,
        tags=lambda each: " ".join(f"#{tag}" for tag in each.tags),
    )


def imported(done: Imported) -> Shown:
    """The summary of an import."""
    shown = [
        say(
            "{read} read, {added} added, {known} already there, {turns}, {problems}",
            read=f"{done.read:,}",
            added=f"{done.added:,}",
            known=f"{done.known:,}",
            turns=count(done.turns, "turn"),
            problems=count(len(done.problems), "problem"),
        )
    ]
    return lines(*shown, *_problems(done.problems))


def previewed(found: "ImportPreview", timezone: str, user: str | None) -> Shown:
    """The contents of a file before its import: numbers, time, first items, problems."""
    shown = [named(found.programs, counted(found.counts) or "0")]
    if found.first_at is not None and found.last_at is not None:
        first, last = (local_time(at, timezone) for at in (found.first_at, found.last_at))
        shown.append(say("From {first} to {last}", first=first, last=last))
    items = [*((each.at, each.content) for each in found.statements)]
    items += [(each.at, named(each.author_for(user), each.content)) for each in found.first]
    first = [
        "  ".join([*([local_time(at, timezone)] if at else []), beginning(content)])
        for at, content in items
    ]
    if found.problems:
        first.append(count(len(found.problems), "problem"))
    stored = say("Nothing was stored. Without --dry-run, this comes in.")
    if found.known:
        known = say("{number} of these are there already.", number=f"{found.known:,}")
        rest = say("Nothing was stored. Without --dry-run, the rest comes in.")
        stored = f"{known} {rest}"
    return lines(*shown, *first, *_problems(found.problems), stored)


def _problems(problems: Sequence[tuple[int, str]]) -> list[str]:
    reasons = reader().problems(problems)
    shown = reasons[:_MAX_REASONS]
    if more := len(reasons) - len(shown):
        shown.append(say("and {number} more; --json lists all", number=f"{more:,}"))
    return shown
