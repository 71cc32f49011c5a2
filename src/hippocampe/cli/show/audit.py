"""The audit log."""

from collections.abc import Mapping, Sequence
from typing import cast

from hippocampe.cli.show.layout import label, listing, local_time, say, spelled, text
from hippocampe.cli.terminal import Shown
from hippocampe.types import AuditEntry

MOST_SHOWN = 3
"""Ids or names of an entry that are shown; `--json` has all."""


def entries(found: Sequence[AuditEntry], timezone: str) -> Shown:
    """A line per entry."""
    return listing(
        (
            (
                local_time(entry.at, timezone),
                text(label("actor", entry.actor)),
                label("audit", entry.action),
                text(_detail(entry)),
            )
            for entry in found
        ),
        *("when", "who", "did", "what"),
        none=say("Nothing was forgotten, restored or changed by hand yet."),
    )


def _detail(entry: AuditEntry) -> str:
    return "; ".join(
        spelled((*value[:MOST_SHOWN], *(["…"] if len(value) > MOST_SHOWN else [])), ", ")
        if isinstance(value, list)
        else f"{name} {value}"
        for name, value in cast("Mapping[str, list[object] | str]", entry.detail).items()
    )
