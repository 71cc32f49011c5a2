"""Options that several commands share, with shell completion."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NoReturn, get_args

import typer

from hippocampe.types import (
    ASSOCIATIONS,
    CATEGORIES,
    DEFAULT_IMPORTANCE,
    MEMORY_COLLECTIONS,
    RECALL_COLLECTIONS,
    Mode,
)


def _one_of(names: Iterable[str]) -> Callable[[], list[str]]:
    return lambda: list(names)


MODES = get_args(Mode)
_ALL_CATEGORIES = sorted({name for names in CATEGORIES.values() for name in names})

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a memory, as recall prints it.")]
Kind = Annotated[
    str,
    typer.Argument(
        metavar="KIND", help=", ".join(ASSOCIATIONS), autocompletion=_one_of(ASSOCIATIONS)
    ),
]
Type = Annotated[
    str | None,
    typer.Option(
        "--type", help=", ".join(DEFAULT_IMPORTANCE), autocompletion=_one_of(DEFAULT_IMPORTANCE)
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        help=f"Only memories of this type; repeatable: {', '.join(DEFAULT_IMPORTANCE)}.",
        autocompletion=_one_of(DEFAULT_IMPORTANCE),
    ),
]
Collection = Annotated[
    str | None,
    typer.Option(
        "--collection",
        help=", ".join(MEMORY_COLLECTIONS),
        autocompletion=_one_of(MEMORY_COLLECTIONS),
    ),
]
Collections = Annotated[
    list[str] | None,
    typer.Option(
        "--collection",
        help=f"Collection to search; repeatable: {', '.join(RECALL_COLLECTIONS)}.",
        show_default="memory, summary, turn, live and note",
        autocompletion=_one_of(RECALL_COLLECTIONS),
    ),
]
Searching = Annotated[
    str,
    typer.Option("--mode", help=", ".join(MODES), autocompletion=_one_of(MODES)),
]
Category = Annotated[
    str | None,
    typer.Option(
        "--category",
        help=f"For self and goal: {', '.join(_ALL_CATEGORIES)}.",
        autocompletion=_one_of(_ALL_CATEGORIES),
    ),
]
Subjects = Annotated[list[str] | None, typer.Option("--subject", help="A tag; repeatable.")]
Importance = Annotated[
    float | None, typer.Option("--importance", help="0 to 1.", show_default="depends on the type")
]
OccurredAt = Annotated[
    str | None,
    typer.Option("--occurred-at", metavar="TIME", help="When it happened, ISO 8601."),
]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="From this time on, ISO 8601."),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="As it was known at this time, ISO 8601."),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Before this time, ISO 8601.")
]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of results.")]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--metadata",
        metavar="KEY=VALUE",
        help="Your own data: a pair or a JSON object; repeatable. Numbers, true, false, null and "
        "quoted values are parsed as JSON, anything else is text.",
    ),
]
WithPairs = Annotated[
    list[str] | None,
    typer.Option(
        "--metadata",
        metavar="KEY=VALUE",
        help="Only with this pair, same value and type; repeatable.",
    ),
]
OfUser = Annotated[
    str | None, typer.Option("--of-user", metavar="USER", help="Only from this user.")
]
OfChannel = Annotated[
    str | None,
    typer.Option("--of-channel", metavar="CHANNEL", help="Only from this channel."),
]
ChannelOnly = Annotated[bool, typer.Option("--channel-only", help="Only the channel of --channel.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the items; change nothing.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept in the history.")]


def read_metadata(typed: Sequence[str] | None) -> dict[str, Any] | None:
    """Parse `KEY=VALUE` pairs and JSON objects into one mapping."""
    if not typed:
        return None
    pairs: dict[str, Any] = {}
    for each in typed:
        name, sign, value = each.partition("=")
        if each.startswith("{"):
            pairs |= _object(each)
        elif sign:
            pairs[name] = _value(value)
        else:
            raise typer.BadParameter(f"--metadata takes KEY=VALUE, not {each!r}.")
    return pairs


def _object(typed: str) -> dict[str, Any]:
    try:
        return json.loads(typed)
    except ValueError as exc:
        raise typer.BadParameter(f"--metadata is not a JSON object: {exc}.") from exc


def _value(typed: str) -> Any:
    try:
        return json.loads(typed, parse_constant=_refuse)
    except ValueError:
        return typed


def _refuse(constant: str) -> NoReturn:
    """Take NaN and Infinity as text."""
    raise ValueError(constant)
