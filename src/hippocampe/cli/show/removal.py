"""Terminal output of forgotten, erased and expired items."""

from hippocampe.cli.show.layout import (
    counted,
    entry,
    label,
    lines,
    local_time,
    say,
    stated,
    table,
)
from hippocampe.cli.terminal import Shown
from hippocampe.types import Receipt


def receipt(done: Receipt, verb: str, *, timezone: str, listed: bool = True) -> Shown:
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
    change = label("planned" if done.dry_run else "change", verb)
    shown.append(say("{key}: {value}", key=change, value=counted(done.counts)))
    if done.settings:
        names = ", ".join(done.settings)
        shown.append(say("still named in settings: {names} (see hippocampe settings)", names=names))
    if done.users:
        names = ", ".join(done.users)
        shown.append(
            say("what they said themselves stays: {names} (see erase --of-user)", names=names)
        )
    return lines(*shown, *(label("remains", place) for place in done.remains))
