"""What the companion knows about itself, and the result of a seed file."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hippocampe.cli.show.layout import count, lines, local_time, table, text
from hippocampe.cli.terminal import sign
from hippocampe.types import Memory

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hippocampe.companion.seed import Seeded
    from hippocampe.companion.self_knowledge import Kind


def own_statements(
    groups: "Mapping[Kind, Sequence[Memory]]",
    times: Sequence[datetime],
    counts: "Mapping[Kind, Sequence[int]]",
    timezone: str,
) -> "RenderableType":
    """Statements by category, then their counts over time if there are any."""
    shown: list[RenderableType] = []
    for (collection, category), group in groups.items():
        shown.append(text(f"{collection} {sign('·')} {category}: {len(group)}", "bold"))
        for memory in group:
            shown.append(text(f"  {memory.content}"))
            shown.append(text(f"  {memory.id}", "dim"))
    if times:
        zone = ZoneInfo(timezone)
        dates = [f"{time.astimezone(zone):%m-%d}" for time in times]
        # A period ends at midnight: its date is that of the day before.
        rows = table("until", *(f"{category}" for _, category in counts))
        for number, date in enumerate(dates):
            rows.add_row(date, *(f"{each[number]:,}" for each in counts.values()))
        shown += ["", rows]
    return lines(*shown)


def seeded(done: "Seeded", timezone: str) -> "RenderableType":
    """What a seed file planted."""
    if done.before is not None:
        return text(
            f"nothing was planted: this space was seeded on {local_time(done.before, timezone)}"
        )
    planted = [
        text(f"  {memory.collection} {sign('·')} {memory.category}: {memory.content}")
        for memory in done.planted
    ]
    return lines(text(f"planted {count(len(done.planted), 'statement')}"), *planted)
