"""Keys of the server, and moves of spaces."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hippocampe.cli.show.layout import entry, label, lines, listing, local_time, say, text
from hippocampe.cli.terminal import Shown
from hippocampe.types import ApiKey, NewKey

if TYPE_CHECKING:
    from rich.text import Text

    from hippocampe.server.cells.moves import Moved


def keys(found: Sequence[ApiKey], timezone: str) -> Shown:
    """A line per key."""
    return listing(
        found,
        say("There are no keys."),
        made=lambda each: local_time(each.created_at, timezone),
        space=lambda each: each.space,
        role=lambda each: label("role", each.role),
        label=lambda each: entry(each.label or "", each.id, *_ended(each, timezone)),
    )


def _ended(key: ApiKey, timezone: str) -> "list[Text]":
    at = key.revoked_at
    return [text(say("revoked {time}", time=local_time(at, timezone)), "bold")] if at else []


def made(made: NewKey) -> Shown:
    """The text of a key, alone on its line."""
    return lines(
        made.secret,
        say(
            "Role {role} in space {space}. Keep it: it is not stored and cannot be shown again.",
            role=label("role", made.key.role),
            space=made.key.space,
        ),
    )


def spread(moved: Sequence["Moved"]) -> Shown:
    """The result of `spread-spaces`."""
    if not moved:
        return say("Each space is in its cell already.")
    return say(
        "Spaces moved: {count}. Writes of each waited at most {seconds} s.",
        count=len(moved),
        seconds=f"{max(each.seconds for each in moved):.2f}",
    )


def moved(moved: "Moved") -> Shown:
    """The cell of a space that was moved."""
    if moved.source == moved.target:
        return say("{space} is in cell {cell} already.", space=moved.space, cell=moved.target)
    return say(
        "{space} moved from cell {source} to cell {target}; writes waited {seconds} s.",
        space=moved.space,
        source=moved.source,
        target=moved.target,
        seconds=f"{moved.seconds:.2f}",
    )
