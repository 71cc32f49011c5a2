"""The result of a verb by its type: in a view of its own, else as a table of its fields."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any, cast

from hippocampe.cli.show import memories, talk, turns, upkeep
from hippocampe.cli.show.layout import label, listing, local_time, pairs, reader, say
from hippocampe.cli.terminal import Shown
from hippocampe.types import (
    AuditEntry,
    Change,
    History,
    JobRun,
    Memory,
    Message,
    ModelUsage,
    Retrieval,
)

_BYTES = {"bytes", "disk_free", "disk_reserve"}
"""Fields in bytes."""
VIEWS: Mapping[Any, Callable[[Any, str], Shown]] = {
    Memory: memories.memory,
    list[Memory]: memories.memories,
    History: memories.history,
    list[Change]: memories.changes,
    list[Message]: talk.messages,
    list[Retrieval]: turns.retrievals,
    list[JobRun]: upkeep.runs,
    list[ModelUsage]: upkeep.usage,
    list[AuditEntry]: upkeep.audit,
}
"""Views by the type that a verb returns; they take the result and the timezone."""


def result(found: object, returned: Any, timezone: str) -> Shown:
    """Render the result of a verb.

    Args:
        returned: The type by which the verb declares it.
    """
    if (view := VIEWS.get(returned)) is not None:
        return view(found, timezone)
    if isinstance(found, Mapping):
        named = cast("Mapping[str, object]", found)
        rows = [{**_cells(each, timezone), "name": name} for name, each in named.items()]
    elif isinstance(found, list | tuple):
        rows = [_cells(each, timezone) for each in cast("Sequence[object]", found)]
    elif is_dataclass(found):
        return pairs(_cells(found, timezone).items())
    else:
        return say("done") if found is None else str(found)
    columns = {name: itemgetter(name) for name in (rows[0] if rows else ("name",))}
    return listing(rows, say("There are none."), **columns)


def _cells(item: object, timezone: str) -> dict[str, str]:
    """The fields of a value in words, by name; of a plain value, the value."""
    if not is_dataclass(item):
        return {"number" if isinstance(item, int) else "value": _words(item, timezone)}
    return {
        each.name.replace("_", " "): _words(
            getattr(item, each.name), timezone, bytes=each.name in _BYTES
        )
        for each in fields(item)
    }


def _words(value: object, timezone: str, *, bytes: bool = False) -> str:
    if isinstance(value, Mapping):
        counts = cast("Mapping[str, object]", value).items()
        named = (f"{_named(name)} {_words(each, timezone, bytes=bytes)}" for name, each in counts)
        return ", ".join(named) or say("none")
    if isinstance(value, datetime):
        return local_time(value, timezone)
    if isinstance(value, bool):
        return say("yes") if value else say("no")
    if isinstance(value, int | float):
        if bytes:
            return reader().size(value)
        return reader().number(value, 0 if isinstance(value, int) else 1)
    return say("none") if value is None else str(value)


def _named(name: str) -> str:
    """The name of a count: a kind of memories, a job, a file, or itself."""
    named = (label(kind, name) for kind in ("kind", "job", "file"))
    return next((each for each in named if each != name), name)
