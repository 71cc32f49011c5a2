"""Terminal output of the companion's statements about itself, and of the result of a seed file."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hippocampe.cli.show.layout import (
    count,
    label,
    lines,
    local_time,
    named,
    reader,
    say,
    table,
    text,
)
from hippocampe.cli.terminal import Shown
from hippocampe.types import Memory

_INSTANT = timedelta(microseconds=1)

if TYPE_CHECKING:
    from hippocampe.companion.seed import Seeded
    from hippocampe.companion.self_knowledge import Kind


def own_statements(
    groups: "Mapping[Kind, Sequence[Memory]]",
    times: Sequence[datetime],
    counts: "Mapping[Kind, Sequence[int]]",
    timezone: str,
) -> Shown:
    """Statements by category, then their counts over time if there are any."""
    shown: list[Shown] = []
    for (collection, category), group in groups.items():
        name = label("category", f"{collection}/{category}")
        shown.append(text(named(name, reader().number(len(group))), "bold"))
        for memory in group:
            shown.append(f"  {memory.content}")
            shown.append(text(f"  {memory.id}", "dim"))
    ever = {kind: each for kind, each in counts.items() if any(each)}
    if times and ever:
        shown += ["", _over_time(times, ever, timezone)]
    return lines(*shown)


def _over_time(
    times: "Sequence[datetime]", counts: "Mapping[Kind, Sequence[int]]", timezone: str
) -> Shown:
    names = [label("category", "/".join(kind)) for kind in counts]
    rows = table("end of", *names, wrapped=tuple(names))
    # A day ends at the next midnight; the last one has not ended.
    days = [f"{time.astimezone(ZoneInfo(timezone)) - _INSTANT:%Y-%m-%d}" for time in times[:-1]]
    for number, day in enumerate([*days, say("now")]):
        rows.add_row(day, *(reader().number(each[number]) for each in counts.values()))
    return rows


def seeded(done: "Seeded", timezone: str) -> Shown:
    """The statements planted from a seed file."""
    if done.before is not None:
        at = local_time(done.before, timezone)
        return say("Nothing was planted: this space was seeded on {time}.", time=at)
    planted = [
        f"  {named(label('category', f'{memory.collection}/{memory.category}'), memory.content)}"
        for memory in done.planted
    ]
    return lines(say("planted: {what}", what=count(len(done.planted), "statement")), *planted)
