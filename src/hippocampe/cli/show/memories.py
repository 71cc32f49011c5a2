"""Terminal output of memories: found, listed, removed, one with its fields, its versions and its neighbours."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar, get_args

from hippocampe.cli.show.layout import (
    count,
    counted,
    entry,
    label,
    lines,
    listing,
    local_time,
    named,
    pairs,
    reader,
    reasons,
    say,
    spoken,
    stated,
    table,
    text,
    when,
)
from hippocampe.cli.terminal import Shown
from hippocampe.client.wire import encode
from hippocampe.language.secrets import MASKED
from hippocampe.types import (
    Action,
    Association,
    Change,
    History,
    Memory,
    MetadataValue,
    Receipt,
    Recollection,
    Remembered,
    Review,
)

if TYPE_CHECKING:
    from rich.text import Text

T = TypeVar("T")
SHOWN_SCORE = 0.005
"""Lower scores are shown as 0.00."""


def recollections(found: Sequence[Recollection], *, timezone: str, took_ms: float) -> Shown:
    """The results of a recall, best first; those of no relevance only with their reasons."""
    relevant = [item for item in found if item.why or item.score >= SHOWN_SCORE]
    weak = len(found) - len(relevant)
    left_out = say("{results} of score 0.00 left out: see --explain", results=count(weak, "result"))
    if not relevant:
        nothing = say("Nothing found.")
        return lines(nothing, text(left_out, "dim")) if weak else nothing
    rows = listing(
        relevant,
        "",
        score=lambda each: f"{each.score:.2f}",
        kind=lambda each: (
            label("state", "former")
            if each.memory is not None and each.memory.former
            else label("kind", each.kind)
        ),
        when=lambda each: when(each.at, timezone),
        who=_if_any(relevant, lambda each: each.memory.user if each.memory is not None else None),
        content=lambda each: entry(spoken(each), each.id, *_reasons(each)),
    )
    results = count(len(relevant), "result")
    time = reader().milliseconds(took_ms)
    below = ["\n" + say("{results} in {time}", results=results, time=time)]
    if weak:
        below.append(left_out)
    return lines(rows, *(text(line, "dim") for line in below))


def memories(found: Sequence[Memory], timezone: str) -> Shown:
    """A table of memories; their state only if one of them is not current."""
    from hippocampe.presentation.reader import state_of

    with_state = any(state_of(each) != "current" for each in found)
    return listing(
        found,
        say("Nothing found."),
        type=lambda each: label("kind", each.type),
        state=(lambda each: label("state", state_of(each))) if with_state else None,
        when=lambda each: when(each.created_at, timezone),
        who=_if_any(found, lambda each: each.user),
        content=lambda each: entry(stated(each), each.id, *_metadata(each)),
    )


def _if_any(found: Sequence[T], cell: Callable[[T], str | None]) -> Callable[[T], Shown] | None:
    """The cells of a column that is left out unless one of them is known."""
    return (lambda each: cell(each) or "") if any(map(cell, found)) else None


def _reasons(item: Recollection) -> "list[Text]":
    return [text(reasons(item, reader()), "italic")] if item.why else []


def changes(found: Sequence[Change], timezone: str) -> Shown:
    """A table of changes, with what replaced a memory."""
    return listing(
        found,
        say("Nothing changed."),
        change=lambda each: label("change", each.kind),
        when=lambda each: when(each.at, timezone),
        who=_if_any(found, lambda each: each.memory.user),
        content=lambda each: entry(
            stated(each.memory),
            each.memory.id,
            *([text(say("by: {new}", new=stated(each.by)), "dim")] if each.by else []),
        ),
    )


def memory(item: Memory, timezone: str) -> Shown:
    """Every field of a memory that has a value."""
    values = encode(item)
    for name in ("subjects", "evidence"):
        values[name] = ", ".join(getattr(item, name))
    for name in values:
        at = getattr(item, name)
        if isinstance(at, datetime):
            values[name] = local_time(at, timezone)
    values["metadata"] = _metadata_as_typed(item)
    return pairs(
        (name.replace("_", " "), value)
        for name, value in values.items()
        if value not in (None, "", False)
    )


def changed(action: str, item: Memory | Recollection) -> Shown:
    """The change of one memory or turn: `forgotten: …`."""
    content = stated(item) if isinstance(item, Memory) else spoken(item)
    return lines(named(label("change", action), content), text(item.id, "dim"))


def remembered(result: Remembered, replaced: Sequence[Memory]) -> Shown:
    """The action of `remember`, the replaced memories and the reason."""
    shown = [named(label("change", result.action), stated(result.memory))]
    if MASKED in result.memory.content:
        shown.append(say("A secret in it was masked."))
    shown += [
        f"{say('it replaces: {content}', content=old.content)} ({old.id})" for old in replaced
    ]
    if result.action != "inserted":
        shown.append(say("because: {reason}", reason=reader().decision_reason(result.reason)))
    return lines(*shown, text(result.memory.id, "dim"))


def remembered_many(results: Sequence[Remembered]) -> Shown:
    """The numbers of inserted, updated and reinforced statements."""
    counts = Counter(result.action for result in results)
    actions = ", ".join(f"{counts[each]:,} {label('change', each)}" for each in get_args(Action))
    return named(count(len(results), "statement"), actions)


def history(found: History, timezone: str) -> Shown:
    """The versions of a statement, oldest first, and the associations between them."""
    from hippocampe.presentation.reader import state_of

    rows = listing(
        found.versions,
        "",
        state=lambda each: label("state", state_of(each)),
        learnt=lambda each: when(each.created_at, timezone),
        content=lambda each: entry(stated(each), each.id),
    )
    return lines(rows, associations(found.associations, found.versions))


def associations(edges: Sequence[Association], memories: Sequence[Memory] = ()) -> Shown:
    """Associations, with the content of the memories that are known, else their ids."""
    names = {memory.id: f'"{stated(memory)}"' for memory in memories}
    shown: list[str] = []
    for edge in edges:
        source, target = (names.get(id, id) for id in (edge.source_id, edge.target_id))
        reason = f" ({reader().decision_reason(edge.reason)})" if edge.reason else ""
        shown.append(f"{source}\n  {label('association', edge.kind)} {target}{reason}")
    return lines("\n\n".join(shown))


def graph(found: Sequence[Memory], edges: Sequence[Association], timezone: str) -> Shown:
    """Memories and the associations between them."""
    return lines(memories(found, timezone), *(["", associations(edges, found)] if edges else []))


def reviews(found: Sequence[Review]) -> Shown:
    """Pairs that await a decision."""
    if not found:
        return say("There is nothing to review.")
    return lines(
        *(
            lines(
                entry(stated(each.memory), each.memory.id),
                entry(stated(each.other), each.other.id),
                text(f"{say('why:')} {reader().decision_reason(each.reason)}\n", "italic"),
            )
            for each in found
        )
    )


def facts(found: Mapping[str, Memory]) -> Shown:
    """Facts by key."""
    if not found:
        return say("There are no facts.")
    return pairs((key, found[key].content) for key in sorted(found))


def receipt(
    done: Receipt, verb: str, *, timezone: str, listed: bool = True, of_subject: bool = False
) -> Shown:
    """The removed items, or in a dry run those to remove: the items if `listed`, then their counts."""
    shown: list[Shown] = []
    if done.items and listed:
        rows = table("kind", "when", "matched", "content", wrapped=("matched",))
        for item in done.items:
            matched = ", ".join(label("matched", each) for each in item.matched)
            content = item.content if item.memory is None else stated(item.memory)
            rows.add_row(
                label("kind", item.kind),
                local_time(item.at, timezone),
                matched,
                entry(content, item.id),
            )
        shown += [rows, ""]
    if not done.ids and verb == "forgotten":
        shown.append(
            say(
                "Nothing is about this topic: name it in fewer words, or find it with recall and delete it by id."
            )
        )
        return lines(*shown)
    if not done.ids and of_subject:
        shown.append(
            say(
                "Nothing has this subject: it is a tag, or a name that the texts write with a capital. Erase anything "
                "else by its id, which recall shows."
            )
        )
    change = label("planned" if done.dry_run else "change", verb)
    shown.append(named(change, counted(done.counts)))
    if done.settings:
        names = ", ".join(done.settings)
        shown.append(say("still named in settings: {names} (see hippocampe settings)", names=names))
    if done.users:
        names = ", ".join(done.users)
        shown.append(
            say("what they said themselves stays: {names} (see erase --of-user)", names=names)
        )
    shown += [label("remains", place) for place in done.remains]
    if verb == "erased" and done.ids and not done.dry_run:
        shown.append(say("exported files and copies of backups elsewhere keep it: delete them"))
    return lines(*shown)


def _metadata(item: Memory) -> "list[Text]":
    return [text(_metadata_as_typed(item), "italic")] if item.metadata else []


def _metadata_as_typed(item: Memory) -> str:
    """Metadata as `--metadata` takes it: text that would parse as another type is quoted."""
    return ", ".join(f"{name}={_typed(value)}" for name, value in item.metadata.items())


def _typed(value: MetadataValue) -> str:
    as_json = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        return as_json
    try:
        json.loads(value)
    except ValueError:
        return value
    return as_json
