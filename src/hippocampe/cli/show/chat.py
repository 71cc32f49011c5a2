"""Terminal output of the chat: notices around answers, and the results of its commands."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from hippocampe.cli.show.layout import (
    beginning,
    grid,
    lines,
    reader,
    reasons,
    spelled,
    spoken,
    text,
)
from hippocampe.cli.terminal import sign
from hippocampe.companion import Reply, ToolCalled
from hippocampe.language.detect import Language
from hippocampe.language.i18n import translate
from hippocampe.presentation.reader import Reader
from hippocampe.types import Memory, Receipt

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from hippocampe.companion import DeepRecall

_MAX_ARGUMENT = 60
_IDS = ("id", "replaces")
"""Arguments that are ids, which mean nothing to a reader."""


def tool(event: ToolCalled) -> "Text":
    """One line for a call of a tool."""
    arguments = ", ".join(
        _one_line(spelled(value), _MAX_ARGUMENT)
        for name, value in event.arguments.items()
        if value and name not in _IDS
    )
    return text(f"  {sign('·')} {event.name} {arguments}".rstrip(), "dim")


def after(reply: Reply, language: Language) -> "RenderableType":
    """Below an answer: what was stored and deleted, the expression, the cost."""
    by = reader(language=language)
    changed = [
        text(f"  {'+' if memory.current else sign('−')} {_statement(memory, by)}", "dim")
        for memory in reply.memories
    ]
    usage = reply.usage
    notes = [reply.expression, by.amount(usage.input_tokens + usage.output_tokens, "token")]
    if usage.price is not None:
        notes.append(by.dollars(usage.price))
    return lines(*changed, text("  " + f" {sign('·')} ".join(notes), "dim"))


def commands(language: Language) -> "RenderableType":
    """The commands of the chat."""
    shown = {
        "/memories [QUERY]": translate("recent memories, or those about something", language),
        "/why": translate("what the companion was reminded of before its last answer", language),
        "/forget TOPIC": translate("forget everything about a topic; asks first", language),
        "/deep QUESTION": translate("search in several steps, with reasons", language),
        "/self": translate("what the companion knows about itself, and its goals", language),
        "/quit": translate("leave; Ctrl-D too", language),
        "Ctrl-C": translate("cancel the answer", language),
    }
    return grid((text(name, "bold"), text(use)) for name, use in shown.items())


def memories(
    found: Sequence[Memory], language: Language, timezone: str, now: datetime
) -> "RenderableType":
    """Memories, each on a line with its age."""
    if not found:
        return text(translate("Nothing found.", language), "dim")
    by = Reader(language=language, timezone=timezone, now=now)
    return grid(
        (text(_statement(memory, by)), text(by.ago(memory.created_at), "dim")) for memory in found
    )


def reminders(reply: Reply, language: Language) -> "RenderableType":
    """The reminders of the companion before an answer, with their reasons."""
    if not reply.injected:
        return text(translate("Nothing was injected.", language), "dim")
    injection, by = reply.injection, reader(language=language)
    considered = injection.trace.considered if injection is not None else ()
    traced = {each.recollection.id: each for each in considered}
    rows: list[tuple[RenderableType, RenderableType]] = []
    for item in reply.injected:
        known = traced.get(item.id)
        path, found = (known.path, known.recollection) if known else ("companion", item)
        content = text(f"{by.label('kind', item.kind)} {sign('·')} {_one_line(spoken(item))}")
        why = reasons(found, by)
        rows.append(
            (
                text(f"{item.score:.2f} {by.label('route', path)}", "dim"),
                lines(content, *([text(why, "dim italic")] if why else [])),
            )
        )
    tokens = reply.usage.injected_tokens // max(reply.usage.turns, 1)
    notes = [by.amount(tokens, "token")]
    if injection is not None:
        notes.append(by.milliseconds(injection.took_ms))
    return lines(grid(rows), text(f" {sign('·')} ".join(notes), "dim"))


def deep(found: "DeepRecall", language: Language) -> "RenderableType":
    """The results of a deep recall, each with the reason why it was chosen."""
    searches = text("  " + f" {sign('·')} ".join(found.searches), "dim")
    if not found.items:
        return lines(searches, text(translate("Nothing found.", language), "dim"))
    results = (
        lines(
            text(f"{sign('·')} {_one_line(spoken(each.recollection))}"),
            text(f"  {each.reason}", "dim italic"),
        )
        for each in found.items
    )
    return lines(searches, text(found.summary), *results)


def planned(receipt: Receipt, language: Language) -> "RenderableType":
    """The items that a topic would forget."""
    by = reader(language=language)
    return lines(
        *(
            text(f"  {sign('−')} [{by.label('kind', item.kind)}] {_one_line(item.content)}")
            for item in receipt.items
        )
    )


def own(groups: Mapping[tuple[str, str], Sequence[Memory]], language: Language) -> "RenderableType":
    """Statements of `self` and `goal`, by category."""
    shown: list[RenderableType] = []
    by = reader(language=language)
    for kind, group in groups.items():
        if group:
            name = by.label("category", "/".join(kind))
            shown.append(text(f"{name} ({len(group)})", "bold"))
            shown += [text(f"  {memory.content}") for memory in group]
    return lines(*shown) if shown else text(translate("Nothing found.", language), "dim")


def _statement(memory: Memory, by: Reader) -> str:
    if memory.category is None:
        return f"[{by.label('kind', memory.type)}] {memory.content}"
    return f"[{by.label('category', f'{memory.collection}/{memory.category}')}] {memory.content}"


def _one_line(content: str, limit: int = 160) -> str:
    return beginning(" ".join(content.split()), limit)
