"""Terminal output of the chat: notices around answers, and the results of its commands."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hippocampe.cli.show.layout import beginning, grid, lines, spoken, text
from hippocampe.cli.show.reasons import reasons
from hippocampe.cli.terminal import sign
from hippocampe.companion import Reply, ToolCalled
from hippocampe.language.detect import Language
from hippocampe.language.humanize import relative_time
from hippocampe.language.i18n import translate
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
    given = ", ".join(
        _argument(value) for name, value in event.arguments.items() if value and name not in _IDS
    )
    return text(f"  {sign('·')} {event.name} {given}".rstrip(), "dim")


def _argument(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return _one_line(str(value), _MAX_ARGUMENT)


def after(reply: Reply, language: Language) -> "RenderableType":
    """Below an answer: what was stored and deleted, the expression, the cost."""
    changed = [
        text(f"  {'+' if memory.current else sign('−')} {_statement(memory)}", "dim")
        for memory in reply.memories
    ]
    usage = reply.usage
    tokens = translate("{number} tokens", language).format(
        number=f"{usage.input_tokens + usage.output_tokens:,}"
    )
    notes = [reply.expression, tokens]
    if usage.price is not None:
        notes.append(f"${usage.price:.4f}")
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
    return grid(
        (
            text(_statement(memory)),
            text(
                relative_time(memory.created_at, now=now, timezone=timezone, language=language),
                "dim",
            ),
        )
        for memory in found
    )


def reminders(reply: Reply, language: Language) -> "RenderableType":
    """The reminders of the companion before an answer, with their reasons."""
    if not reply.injected:
        return text(translate("Nothing was injected.", language), "dim")
    injection = reply.injection
    considered = injection.trace.considered if injection is not None else ()
    traced = {each.recollection.id: each for each in considered}
    rows: list[tuple[RenderableType, RenderableType]] = []
    for item in reply.injected:
        known = traced.get(item.id)
        path, why = (known.path, known.recollection) if known else ("companion", item)
        content = text(f"{item.kind} {sign('·')} {_one_line(spoken(item))}")
        told = reasons(why, language=language)
        rows.append(
            (
                text(f"{item.score:.2f} {path}", "dim"),
                lines(content, *([text(told, "dim italic")] if told else [])),
            )
        )
    tokens = reply.usage.injected_tokens // max(reply.usage.turns, 1)
    notes = [translate("{number} tokens", language).format(number=f"{tokens:,}")]
    if injection is not None:
        notes.append(f"{injection.took_ms:,.0f} ms")
    return lines(grid(rows), text(f" {sign('·')} ".join(notes), "dim"))


def deep(found: "DeepRecall", language: Language) -> "RenderableType":
    """The results of a deep recall, each with the reason why it was kept."""
    searches = text("  " + f" {sign('·')} ".join(found.searches), "dim")
    if not found.items:
        return lines(searches, text(translate("Nothing found.", language), "dim"))
    kept = (
        lines(
            text(f"{sign('·')} {_one_line(spoken(each.recollection))}"),
            text(f"  {each.reason}", "dim italic"),
        )
        for each in found.items
    )
    return lines(searches, text(found.summary), *kept)


def planned(receipt: Receipt) -> "RenderableType":
    """The items that a topic would forget."""
    return lines(
        *(text(f"  {sign('−')} [{item.kind}] {_one_line(item.content)}") for item in receipt.items)
    )


def own(groups: Mapping[tuple[str, str], Sequence[Memory]], language: Language) -> "RenderableType":
    """Statements of `self` and `goal`, by category."""
    shown: list[RenderableType] = []
    for (collection, category), group in groups.items():
        if group:
            shown.append(text(f"{collection} {sign('·')} {category} ({len(group)})", "bold"))
            shown += [text(f"  {memory.content}") for memory in group]
    return lines(*shown) if shown else text(translate("Nothing found.", language), "dim")


def _statement(memory: Memory) -> str:
    return f"[{memory.category or memory.type}] {memory.content}"


def _one_line(content: str, limit: int = 160) -> str:
    return beginning(" ".join(content.split()), limit)
