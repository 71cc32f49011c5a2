"""Terminal output of the chat: notices around answers, and the results of its commands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hippocampe.cli.show.layout import (
    beginning,
    grid,
    lines,
    reasons,
    spelled,
    spoken,
    stated,
    text,
)
from hippocampe.cli.terminal import Shown, sign
from hippocampe.companion import Reply, ToolCalled
from hippocampe.presentation.injections import parts_of
from hippocampe.presentation.model_ways import model_ways
from hippocampe.presentation.reader import Reader
from hippocampe.types import (
    Considered,
    Injection,
    Memory,
    Part,
    ReceiptItem,
    Recollection,
    Remembered,
)

if TYPE_CHECKING:
    from rich.text import Text

    from hippocampe.companion import DeepRecall

_MAX_ARGUMENT = 60
_MAX_GIVEN = 3
"""Given memories below an answer; `/why` shows all of them."""
_MAX_CONTENT = 160
_IDS = ("id", "replaces")
"""Arguments that are ids, which mean nothing to a reader."""


def without_model(by: Reader) -> Shown:
    """The ways to get a language model."""
    shown: list[Shown] = [by.say("No language model is set. There are three ways to get one:")]
    for number, way in enumerate(model_ways(by), 1):
        variables = {"HIPPOCAMPE_MODEL": way.model, **way.variables}
        # One a line: a line that a terminal breaks cannot be copied.
        exported = [f"export {name}={value}" for name, value in variables.items()]
        shown.append(f"{number}. {way.says}")
        shown += [text(f"   {each}", "bold") for each in (*way.before, *exported)]
    return lines(*shown)


def memory_alone(by: Reader) -> "Text":
    """A notice on the chat without a model."""
    return text(
        by.say(
            "Meanwhile, try memory alone: tell it something, then ask. It answers with what it would give to a "
            "model. /help lists the commands, Ctrl-D leaves."
        ),
        "dim",
    )


def tool(event: ToolCalled) -> "Text":
    """One line for a call of a tool."""
    arguments = ", ".join(
        _one_line(spelled(value), _MAX_ARGUMENT)
        for name, value in event.arguments.items()
        if value and name not in _IDS
    )
    return text(f"  {sign('·')} {event.name} {arguments}".rstrip(), "dim")


def after(reply: Reply, by: Reader) -> Shown:
    """Below an answer: what was given and why, what was stored, replaced and forgotten, the expression, the cost."""
    usage = reply.usage
    notes = [reply.expression, by.amount(usage.input_tokens + usage.output_tokens, "token")]
    if usage.injected_tokens:
        notes[-1] += by.say(" ({number} of memory)", number=by.number(usage.injected_tokens))
    if usage.price is not None:
        notes.append(by.dollars(usage.price))
    return lines(
        *_given(reply.injected, reply.injection, by),
        *changed(reply.memories, reply.replaced, by),
        _notes(notes),
    )


def _given(items: Sequence[Recollection], injection: Injection | None, by: Reader) -> list[Shown]:
    """The first items that a model was given, each with its strongest reason."""
    shown: list[Shown] = []
    for each in _traced(items[:_MAX_GIVEN], injection):
        why = by.reasons(each.item.why, 1)
        reason = f" {sign('·')} {why[0].text}" if why and not why[0].objection else ""
        shown.append(text(f"  {sign('‹')} {_one_line(spoken(each.item, by), 100)}{reason}", "dim"))
    if len(items) > _MAX_GIVEN:
        more = by.number(len(items) - _MAX_GIVEN)
        shown.append(text(by.say("    and {number} more: /why", number=more), "dim"))
    return shown


def changed(
    memories: Sequence[Memory], replaced: Mapping[str, Sequence[Memory]], by: Reader
) -> list[Shown]:
    """A line per memory that was stored or forgotten, and per memory that it replaced."""
    shown: list[Shown] = []
    for memory in memories:
        mark = "+" if memory.current else sign("−")
        shown.append(text(f"  {mark} {_statement(memory, by)}", "dim"))
        for old in replaced.get(memory.id, ()):
            was = by.say("it replaces: {content}", content=_one_line(old.content))
            shown.append(text(f"    {was}", "dim"))
    return shown


def remembered(stored: Remembered, replaced: Sequence[Memory], by: Reader) -> Shown:
    """The outcome of storing a statement."""
    if stored.action == "reinforced":
        known = by.say("known already: {content}", content=stated(stored.memory, by))
        return text(f"  = {known}", "dim")
    return lines(*changed([stored.memory], {stored.memory.id: replaced}, by))


def commands(by: Reader) -> Shown:
    """The commands of the chat."""
    shown = {
        "/memories [QUERY]": by.say("recent memories, or those about something"),
        "/why": by.say("what the last answer was given from memory, and why"),
        "/forget TOPIC": by.say("forget everything about a topic; asks first"),
        "/deep QUESTION": by.say("search in several steps, with reasons"),
        "/self": by.say("what the companion knows about itself, and its goals"),
        "/quit": by.say("leave; Ctrl-D too"),
        "Ctrl-C": by.say("cancel the answer"),
    }
    return grid((text(name, "bold"), use) for name, use in shown.items())


def memories(found: Sequence[Memory], by: Reader) -> Shown:
    """Memories, each on a line with its age and who told it."""
    if not found:
        return text(by.say("Nothing found."), "dim")
    told = (filter(None, [each.user, by.ago(each.created_at)]) for each in found)
    origins = (text(f" {sign('·')} ".join(notes), "dim") for notes in told)
    return grid(zip((_statement(each, by) for each in found), origins, strict=True))


def why(reply: Reply, by: Reader) -> Shown:
    """The items that a model was given before an answer and those that it found, with their reasons."""
    items, injection = reply.injected, reply.injection
    shown: list[Shown] = []
    if items:
        tokens = reply.usage.injected_tokens // max(reply.usage.turns, 1)
        notes = [by.amount(tokens, "token")]
        if injection is not None:
            notes.append(by.milliseconds(injection.took_ms))
        parts = parts_of(_traced(items, injection))
        for part, given in parts.items():
            heading = [text(by.label("part", part), "bold")] if len(parts) > 1 else []
            shown += [*heading, _rows(given, by)]
        shown.append(_notes(notes, indent=""))
    elif not reply.searched:
        return text(by.say("Nothing was injected."), "dim")
    for each in reply.searched:
        shown.append(text(f"{sign('·')} {each.tool} {each.query}".rstrip(), "bold"))
        found = [_Given(item, "", "search") for item in each.items]
        shown.append(_rows(found, by) if found else text(by.say("Nothing found."), "dim"))
    return lines(*shown)


@dataclass(frozen=True, slots=True)
class _Given:
    """An item with its reasons, the path that found it, and the part of the injection to which it belongs."""

    item: Recollection
    path: str
    part: Part


def _traced(items: Sequence[Recollection], injection: Injection | None) -> list[_Given]:
    considered: Sequence[Considered] = () if injection is None else injection.trace.considered
    traced = {each.recollection.id: each for each in considered}
    found = [(traced.get(item.id), item) for item in items]
    return [
        _Given(known.recollection, known.path, known.part)
        if known
        else _Given(item, "companion", "always_on")
        for known, item in found
    ]


def _rows(found: Sequence[_Given], by: Reader) -> Shown:
    rows: list[tuple[Shown, Shown]] = []
    for each in found:
        content = f"{_kind(each.item, by)} {sign('·')} {_one_line(spoken(each.item, by))}"
        why = reasons(each.item, by)
        # What needs no search has no relevance.
        score = f"{each.item.score:.2f}" if each.part in ("search", "live") else ""
        path = by.label("route", each.path) if each.path else ""
        details = [text(why, "dim italic")] if why else []
        rows.append((text(f"{score} {path}".strip(), "dim"), lines(content, *details)))
    return grid(rows)


def _kind(item: Recollection, by: Reader) -> str:
    teller = item.memory.user if item.memory is not None else None
    kind = by.label("kind", item.kind)
    return f"{kind} ({teller})" if teller else kind


def deep(found: "DeepRecall", by: Reader) -> Shown:
    """The results of a deep recall, each with the reason why it was chosen."""
    searches = _notes(found.searches)
    if not found.items:
        return lines(searches, text(by.say("Nothing found."), "dim"))
    results = (
        lines(
            f"{sign('·')} {_one_line(spoken(each.recollection, by))}",
            text(f"  {each.reason}", "dim italic"),
        )
        for each in found.items
    )
    return lines(searches, found.summary, *results)


def planned(items: Sequence[ReceiptItem], by: Reader) -> Shown:
    """The items that a topic would forget."""
    return lines(
        *(
            f"  {sign('−')} [{by.label('kind', item.kind)}] {_one_line(item.content)}"
            for item in items
        )
    )


def own(groups: Mapping[tuple[str, str], Sequence[Memory]], by: Reader) -> Shown:
    """Statements of `self` and `goal`, by category."""
    shown: list[Shown] = []
    for kind, group in groups.items():
        if group:
            name = by.label("category", "/".join(kind))
            shown.append(text(f"{name} ({len(group)})", "bold"))
            shown += [f"  {memory.content}" for memory in group]
    return lines(*shown) if shown else text(by.say("Nothing found."), "dim")


def _statement(memory: Memory, by: Reader) -> str:
    """A memory after its kind; a fact with a key after the key too."""
    if memory.category is None:
        kind = by.label("kind", memory.type)
    else:
        kind = by.label("category", f"{memory.collection}/{memory.category}")
    return f"[{kind}] {stated(memory, by)}"


def _notes(notes: Sequence[str], indent: str = "  ") -> "Text":
    return text(indent + f" {sign('·')} ".join(notes), "dim")


def _one_line(content: str, limit: int = _MAX_CONTENT) -> str:
    return beginning(" ".join(content.split()), limit)
