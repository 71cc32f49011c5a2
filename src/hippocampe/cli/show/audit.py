"""The audit log."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hippocampe.cli.show.layout import listing, local_time, text
from hippocampe.types import AuditEntry

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_SHOWN = 3
"""Ids or names of an entry that are shown; `--json` has all."""


def entries(found: Sequence[AuditEntry], timezone: str) -> "RenderableType":
    """A line per entry."""
    return listing(
        (
            (
                local_time(entry.at, timezone),
                text(entry.actor),
                entry.action,
                text(_detail(entry)),
            )
            for entry in found
        ),
        *("when", "who", "did", "what"),
        none="Nothing was deleted, restored or changed by hand yet.",
    )


def _detail(entry: AuditEntry) -> str:
    shown: list[str] = []
    for name, value in entry.detail.items():
        if isinstance(value, list):
            named: list[str] = [str(each) for each in value[:MOST_SHOWN]]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            more = ["…"] if len(value) > MOST_SHOWN else []  # pyright: ignore[reportUnknownArgumentType]
            shown.append(", ".join([*named, *more]))
        else:
            shown.append(f"{name} {value}")
    return "; ".join(shown)
