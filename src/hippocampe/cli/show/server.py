"""The address of the server, and its keys."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hippocampe.cli.show.layout import entry, lines, local_time, table, text
from hippocampe.types import ApiKey, NewKey

if TYPE_CHECKING:
    from rich.console import RenderableType


def started(address: str) -> "RenderableType":
    """Where the server can be reached, and how to stop it."""
    return text(f"Hippocampe serves at {address}\nCtrl-C stops it.")


def keys(found: Sequence[ApiKey], timezone: str) -> "RenderableType":
    """A line per key."""
    if not found:
        return text("There are no keys. Make one with: hippocampe keys create")
    rows = table("made", "space", "role", "revoked", "label")
    for key in found:
        revoked = local_time(key.revoked_at, timezone) if key.revoked_at else text("")
        rows.add_row(
            local_time(key.created_at, timezone),
            text(key.space),
            key.role,
            revoked,
            entry(key.label or "", key.id),
        )
    return rows


def made(made: NewKey) -> "RenderableType":
    """The text of a key, alone on its line."""
    return lines(
        text(made.secret),
        text(
            f"Role {made.key.role} in space {made.key.space}. Keep it: it is not stored and cannot be "
            "shown again."
        ),
    )
