"""How answers look to people: each function draws one kind of answer."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from zoneinfo import ZoneInfo

from hippocampe.cli.terminal import escaped, plain, sign
from hippocampe.types import (
    Action,
    Association,
    Counts,
    History,
    Imported,
    Injection,
    Memory,
    Message,
    MetadataValue,
    Note,
    Receipt,
    Recollection,
    Reindexed,
    Remembered,
    Retrieval,
    Review,
    Settings,
    Stats,
    Verification,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from hippocampe.cli.doctor import Check
    from hippocampe.demo import Asked, Report
    from hippocampe.text import Language

_MOST_PROBLEMS = 20
_SIGNALS = 4


def _text(content: str, style: str = "") -> "Text":
    from rich.text import Text

    return Text(escaped(content), style=style)


def _table(*columns: str) -> "Table":
    """A table whose last column takes the room that is left."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), expand=False)
    for name in columns[:-1]:
        table.add_column(name, no_wrap=True)
    table.add_column(columns[-1], overflow="fold")
    return table


def _lines(*parts: "RenderableType") -> "RenderableType":
    from rich.console import Group

    return Group(*parts)


def _pairs(rows: Iterable[tuple[str, object]]) -> "RenderableType":
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(_text(name, "bold"), _text(str(value)))
    return table


def when(at: datetime | None, said: str, timezone: str, now: datetime | None = None) -> str:
    """How long ago, in the language of what was said."""
    from hippocampe.text import guess_language
    from hippocampe.times import relative_time

    if at is None:
        return ""
    language: Language = guess_language(said)
    return relative_time(at, now=now or datetime.now(UTC), timezone=timezone, language=language)


def _entry(content: str, id: str, *more: "Text") -> "Text":
    from rich.text import Text

    return Text("\n").join([_text(content), *more, _text(id, "dim")])


def _spoken(item: Recollection) -> str:
    if item.memory is None and item.author and not item.content.startswith(item.author):
        return f"{item.author}: {item.content}"
    return item.content


def recollections(
    found: Sequence[Recollection], *, query: str, timezone: str, took_ms: float | None = None
) -> "RenderableType":
    """What was found, best first."""
    if not found:
        return _text("Nothing was found.")
    table = _table("score", "kind", "when", "content")
    for item in found:
        why = [_text(reasons(item), "italic")] if item.why else []
        table.add_row(
            f"{item.score:.2f}",
            item.kind,
            when(item.at, query, timezone),
            _entry(_spoken(item), item.id, *why),
        )
    if took_ms is None:
        return table
    return _lines(table, _text(f"{len(found)} found in {took_ms:,.0f} ms", "dim"))


_REASONS = {
    "its words, or those just around it, mean the same": (
        *("late", "late_damped", "near", "near_damped", "passage", "density", "mass", "soft"),
        "rarest",
    ),
    "it means the same as a whole": ("dense", "window", "meaning", "meaning_near"),
    "it has the same words": ("bm25", "exact", "exact_near", "phrase"),
    "it speaks of what is asked about": ("covered",),
    "it stands out among what was found": ("ahead", "rivals"),
    "what was said around it fits": (
        *("before", "after", "before_2", "after_2", "around", "session", "session_top"),
    ),
    "it answers a question that fits": ("answers", "answers_before"),
    "the person asked about said it": ("named",),
    "it has a date": ("date_asked",),
    "it has a number": ("number_asked",),
    "it says where": ("place_asked",),
    "it is of the time asked about": ("in_window",),
    "it is important": ("importance",),
    "it is often used": ("use",),
}
"""Reasons in words, each with the signals that are it."""
_OF_OTHER = "someone else says it of themselves"


def reasons(item: Recollection, most: int = 3) -> str:
    """The strongest reasons for an item, in words, with what they add to the log-odds."""
    sums = {
        reason: sum(signal.contribution for signal in item.why if signal.name in names)
        for reason, names in _REASONS.items()
    }
    strongest = sorted(sums, key=lambda reason: -sums[reason])[:most]
    named = [f"{reason} (+{sums[reason]:.1f})" for reason in strongest if sums[reason] >= 0.05]
    named += [
        f"but {_OF_OTHER} ({signal.contribution:.1f})"
        for signal in item.why
        if signal.name == "of_other" and signal.contribution
    ]
    return "why: " + "; ".join(named) if named else ""


def memories(found: Sequence[Memory], timezone: str) -> "RenderableType":
    """Memories in a table."""
    if not found:
        return _text("There are no memories.")
    states = [state(memory) for memory in found]
    some_hidden = set(states) != {"current"}
    table = _table("type", *(["state"] if some_hidden else []), "when", "content")
    for memory, its_state in zip(found, states, strict=True):
        table.add_row(
            memory.type,
            *([its_state] if some_hidden else []),
            when(memory.created_at, memory.content, timezone),
            _entry(memory.content, memory.id, *_metadata(memory)),
        )
    return table


def _metadata(item: Memory) -> "list[Text]":
    return [_text(_pairs_of(item), "italic")] if item.metadata else []


def _pairs_of(item: Memory) -> str:
    """Metadata as it is typed: text that could be read as something else is in quotes."""
    return ", ".join(f"{name}={_typed(value)}" for name, value in item.metadata.items())


def _typed(value: MetadataValue) -> str:
    import json

    as_json = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        return as_json
    try:
        json.loads(value)
    except ValueError:
        return value
    return as_json


def memory(item: Memory) -> "RenderableType":
    """Every field of a memory that has a value."""
    values = plain(item) | {
        name: ", ".join(getattr(item, name)) for name in ("subjects", "evidence")
    }
    values["metadata"] = _pairs_of(item)
    return _pairs((name, value) for name, value in values.items() if value not in (None, ""))


def restored(item: Memory | Recollection) -> "RenderableType":
    """What is current again."""
    return memory(item) if isinstance(item, Memory) else _entry(_spoken(item), item.id)


def remembered(result: Remembered, replaced: Sequence[Memory]) -> "RenderableType":
    """What `remember` did, and what it replaced."""
    lines = [_text(f"{result.action}: {result.memory.content}")]
    lines += [_text(f"replaces: {old.content} ({old.id})") for old in replaced]
    if result.action != "inserted":
        lines.append(_text(f"because: {result.reason}"))
    return _lines(*lines, _text(result.memory.id, "dim"))


def remembered_many(results: Sequence[Remembered]) -> "RenderableType":
    """How many statements were inserted, updated an older one, or reinforced one."""
    counts = Counter(result.action for result in results)
    told = ", ".join(f"{counts[action]:,} {action}" for action in get_args(Action))
    read = "1 statement" if len(results) == 1 else f"{len(results):,} statements"
    return _text(f"{read}: {told}")


def state(item: Memory) -> str:
    """What became of a memory."""
    if item.superseded_by is not None:
        return "superseded"
    return "current" if item.forgotten_at is None else "forgotten"


def history(found: History, timezone: str) -> "RenderableType":
    """The versions of a statement, oldest first, and the edges that touch them."""
    table = _table("state", "learnt", "content")
    for version in found.versions:
        table.add_row(
            state(version),
            when(version.created_at, version.content, timezone),
            _entry(version.content, version.id),
        )
    return _lines(table, associations(found.associations))


def associations(edges: Sequence[Association]) -> "RenderableType":
    """Edges, one a line."""
    return _lines(
        *(
            _text(
                f"{edge.source_id} {edge.kind} {edge.target_id}"
                + (f": {edge.reason}" if edge.reason else "")
            )
            for edge in edges
        )
    )


def graph(found: Sequence[Memory], edges: Sequence[Association], timezone: str) -> "RenderableType":
    """Memories, and the edges between them."""
    return _lines(memories(found, timezone), associations(edges))


def reviews(found: Sequence[Review]) -> "RenderableType":
    """Pairs to look at."""
    if not found:
        return _text("There is nothing to review.")
    return _lines(
        *(
            _lines(
                _entry(each.memory.content, each.memory.id),
                _entry(each.other.content, each.other.id),
                _text(f"why: {each.reason}\n", "italic"),
            )
            for each in found
        )
    )


def facts(found: Mapping[str, Memory]) -> "RenderableType":
    """Facts by key."""
    if not found:
        return _text("There are no facts.")
    return _pairs((key, found[key].content) for key in sorted(found))


def counts(of: str, found: Mapping[str, Counts]) -> "RenderableType":
    """Memories and messages by name."""
    if not found:
        return _text("There are none.")
    table = _table("memories", "messages", of)
    for name, each in found.items():
        table.add_row(f"{each.memories:,}", f"{each.messages:,}", _text(name))
    return table


def subjects(found: Mapping[str, int]) -> "RenderableType":
    """Subjects with their memories."""
    if not found:
        return _text("There are no subjects.")
    table = _table("memories", "subject")
    for name, many in found.items():
        table.add_row(f"{many:,}", _text(name))
    return table


def messages(found: Sequence[Message], timezone: str) -> "RenderableType":
    """Messages as they were said."""
    from hippocampe.times import clock_label

    if not found:
        return _text("There are no messages.")
    table = _table("when", "channel", "author", "content")
    for each in found:
        table.add_row(
            clock_label(each.at, timezone, now=datetime.now(UTC)),
            _text(each.channel or ""),
            _text(each.author or ""),
            _text(each.content),
        )
    return table


def notes(found: Sequence[Note], timezone: str) -> "RenderableType":
    """Notes by path."""
    from hippocampe.times import clock_label

    if not found:
        return _text("There are no notes.")
    now = datetime.now(UTC)
    table = _table("written", "path", "tags")
    for each in found:
        tags = " ".join(f"#{tag}" for tag in each.tags)
        table.add_row(
            clock_label(each.modified_at, timezone, now=now), _text(each.path), _text(tags)
        )
    return table


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def settings(
    values: Mapping[str, object], default: Settings, accepted: Mapping[str, str]
) -> "RenderableType":
    """Settings with their defaults and what they may be; those that were changed stand out."""
    table = _table("setting", "value", "default", "accepted")
    for name, value in values.items():
        normal = getattr(default, name)
        table.add_row(
            name,
            _text(_spelled(value), "" if value == normal else "bold"),
            _text(_spelled(normal), "dim"),
            accepted[name],
        )
    return table


def injection(turn: Injection, *, explain: bool) -> "RenderableType":
    """The text that a turn is given; and how it was chosen, with `explain`."""
    trace = turn.trace
    text = _text(turn.text) if turn.text else _text("Nothing was injected.")
    notes = [f"skipped: {trace.skipped}"] if trace.skipped else []
    if trace.missing:
        notes.append(f"left out, late or down: {', '.join(trace.missing)}")
    if not explain:
        return _lines(text, *(_text(note, "italic") for note in notes))
    table = _table("path", "kind", "score", "outcome", "content")
    for each in trace.considered:
        item = each.recollection
        strongest = sorted(item.why, key=lambda signal: -abs(signal.contribution))[:_SIGNALS]
        signals = "  ".join(
            f"{signal.name} {signal.value:.2f} ({signal.contribution:+.1f})" for signal in strongest
        )
        table.add_row(
            each.path,
            item.kind,
            f"{item.score:.2f}",
            each.outcome.replace("_", " "),
            _entry(
                _beginning(_spoken(item)), item.id, *([_text(signals, "italic")] if signals else [])
            ),
        )
    stages = ", ".join(f"{name} {spent:.1f}" for name, spent in trace.stages.items())
    outcomes = Counter(each.outcome.replace("_", " ") for each in trace.considered)
    notes = [
        f"{counted(outcomes)} of {len(trace.considered)} considered",
        f"{turn.tokens:,} tokens in {turn.took_ms:,.1f} ms" + (f" ({stages})" if stages else ""),
        *notes,
    ]
    return _lines(text, table, *(_text(note, "dim") for note in notes))


def retrievals(found: Sequence[Retrieval], timezone: str) -> "RenderableType":
    """Logged turns: what was said, how much it was given, and what became of what was found."""
    from hippocampe.times import clock_label

    if not found:
        return _text("No turn was logged.")
    table = _table("when", "channel", "ms", "tokens", "message")
    for each in found:
        outcomes = Counter(item.outcome.replace("_", " ") for item in each.items)
        lines = [_text(f"{counted(outcomes)} of {len(each.items)} found", "italic")]
        if each.skipped:
            lines.append(_text(f"skipped: {each.skipped}", "italic"))
        if each.missing:
            lines.append(_text(f"left out, late or down: {', '.join(each.missing)}", "italic"))
        table.add_row(
            clock_label(each.created_at, timezone, now=datetime.now(UTC)),
            _text(each.channel or ""),
            f"{each.took_ms:,.1f}",
            f"{each.tokens_added:,}",
            _entry(each.message_preview, each.id, *lines),
        )
    return table


_NOUNS = {
    "memory": ("memory", "memories"),
    "summary": ("summary", "summaries"),
    "goal": ("goal", "goals"),
    "fact": ("fact", "facts"),
    "turn": ("turn", "turns"),
    "message": ("message", "messages"),
    "live": ("live message", "live messages"),
    "note": ("note", "notes"),
    "problem": ("problem", "problems"),
    "line": ("line", "lines"),
}
"""What is counted, one and several; what is missing here, such as an outcome, stays as it is."""


def count(number: int, kind: str) -> str:
    """A count in words: `1 memory`, `1,200 memories`."""
    one, several = _NOUNS.get(kind, (kind, kind))
    return f"{number:,} {one if number == 1 else several}"


def counted(counts: Mapping[str, int]) -> str:
    """Counts in words: `3 memories, 1 turn`."""
    return ", ".join(count(number, kind) for kind, number in counts.items() if number) or "nothing"


def receipt(
    done: Receipt, verb: str, *, timezone: str = "UTC", listed: bool = True
) -> "RenderableType":
    """What was touched, or would be: every item if `listed`, then the counts."""
    head = f"{'would be ' if done.dry_run else ''}{verb}: {counted(done.counts)}"
    lines: list[RenderableType] = [_text(head)]
    if done.items and listed:
        table = _table("kind", "when", "matched", "content")
        for item in done.items:
            entry = _entry(item.content, item.id)
            at = f"{item.at.astimezone(ZoneInfo(timezone)):%Y-%m-%d %H:%M}"
            table.add_row(item.kind, at, ", ".join(item.matched), entry)
        lines.insert(0, table)
    if done.settings:
        names = ", ".join(done.settings)
        lines.append(_text(f"still named in settings: {names} (see hippocampe settings)"))
    return _lines(*lines)


def stats(found: Stats) -> "RenderableType":
    """The counts of a space and the state of the index."""
    rows: list[tuple[str, object]] = []
    for each in fields(found):
        value = getattr(found, each.name)
        if isinstance(value, Mapping):
            value = ", ".join(f"{name} {count:,}" for name, count in value.items()) or "none"  # pyright: ignore[reportUnknownVariableType]
        rows.append(
            (each.name.replace("_", " "), f"{value:,}" if isinstance(value, int) else value)
        )
    return _pairs(rows)


def verification(found: Verification) -> "RenderableType":
    """Whether store and index agree."""
    if found.ok:
        return _text(f"{sign('✓')} store and index agree: {counted(found.checked)} checked")
    differ = found.missing_in_index or found.unknown_to_store
    lines = [f"{sign('✗')} {'store and index differ' if differ else 'problems were found'}"]
    for what, ids in (
        ("missing in the index", found.missing_in_index),
        ("unknown to the store", found.unknown_to_store),
    ):
        lines += [f"{count(len(some), kind)} {what}" for kind, some in ids.items()]
    if differ:
        lines.append("`hippocampe reindex` builds the index anew")
    if found.database != "ok":
        lines.append(f"the database is damaged: {found.database}")
    lines += [f"{text!r} is in: {', '.join(places)}" for text, places in found.present.items()]
    return _lines(*map(_text, lines))


def reindexed(done: Reindexed) -> "RenderableType":
    """What the index is now."""
    lines = [f"the index was built again, with {done.embedder}"]
    if done.without_graph:
        kinds = ", ".join(done.without_graph)
        lines.append(
            f"without the graph of {kinds}: searches scan until a program that keeps the folder open "
            "has built it, some minutes later"
        )
    return _lines(*map(_text, lines))


def imported(done: Imported) -> "RenderableType":
    """The summary of an import."""
    lines = [
        f"{done.read:,} read, {done.added:,} added, {done.known:,} already there, "
        f"{count(done.turns, 'turn')}, {count(len(done.problems), 'problem')}"
    ]
    lines += [f"line {line}: {problem}" for line, problem in done.problems[:_MOST_PROBLEMS]]
    if len(done.problems) > _MOST_PROBLEMS:
        lines.append(f"and {len(done.problems) - _MOST_PROBLEMS:,} more; --json lists all")
    return _lines(*map(_text, lines))


def checks(found: Sequence["Check"]) -> "RenderableType":
    """What was looked at, a line each."""
    return _lines(
        *(
            _text(f"{'ok     ' if check.ok else 'problem'}  {check.name}: {check.seen}")
            for check in found
        )
    )


def demonstration(report: "Report", folder: Path | None) -> "RenderableType":
    """The questions with what was found, then the sum of it."""
    parts = [
        _text(
            f"{count(report.messages, 'message')} and {count(report.memories, 'memory')} of Camille and Owen, "
            f"January and February 2026, loaded in {report.load_seconds:.1f} s"
        )
    ]
    for each in report.asked:
        mark = _text(f"\n{sign('✓' if each.answered else '✗')} ", "bold")
        parts.append(mark.append(_text(each.question, "bold")).append(f"  {each.took_ms:.0f} ms"))
        parts += [_found_in_demo(item, each) for item in each.found]
    examples = [each for each in report.corrected if each.old != each.new][:3]
    parts.append(
        _text(
            f"\n{report.answered} of {len(report.asked)} questions answered among the first three, "
            f"{report.median_ms:.0f} ms at the median, no language model asked.\n"
            f"{len(report.corrected)} memories were corrected and stay in the history:"
        )
    )
    parts += [_text(f"  {each.old} {sign('→')} {each.new}") for each in examples]
    parts.append(_text(_next(folder)))
    return _lines(*parts)


def _found_in_demo(item: Recollection, asked: "Asked") -> "RenderableType":
    from rich.padding import Padding

    said = when(item.at, asked.question, "Europe/Paris", asked.asked_at)
    first = _text(f"{item.score:.2f}  {_beginning(_spoken(item))} ({said})")
    return Padding(_lines(first, _text(f"      {reasons(item)}", "dim")), (0, 0, 0, 2))


def _beginning(content: str, most: int = 200) -> str:
    return content if len(content) <= most else content[:most].rsplit(maxsplit=1)[0] + sign("…")


def _next(folder: Path | None) -> str:
    kept = f' --folder "{folder}"' if folder else ""
    more = [f'  hippocampe recall "où part cam ?"{kept}'] if folder else []
    return "\n".join(
        (
            "\nNow try your own:",
            *more,
            "  hippocampe import whatsapp.txt",
            '  hippocampe recall "what did we say about the holidays?"',
        )
    )
