"""Commands that list: memories page by page, and the spaces, users and subjects there are."""

from typing import Annotated, cast, get_args

import typer

from hippocampe.cli import options, show
from hippocampe.cli.call import OF_A_FOLDER, Call, command
from hippocampe.types import MEMORY_COLLECTIONS, Order, State

app = typer.Typer()
PANEL = "Memories"
STATES = get_args(State)
ORDERS = get_args(Order)


@command(app, "list", panel=PANEL)
def list_memories(
    call: Call,
    *,
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection",
            help=f"Only this one: {', '.join(MEMORY_COLLECTIONS)}.",
            autocompletion=lambda: list(MEMORY_COLLECTIONS),
        ),
    ] = None,
    type: options.Types = None,
    subject: options.Subjects = None,
    category: options.Category = None,
    of_user: Annotated[
        str | None, typer.Option("--of-user", help="Only what this user said.")
    ] = None,
    of_channel: Annotated[
        str | None, typer.Option("--of-channel", help="Only what was said on this channel.")
    ] = None,
    metadata: options.WithPairs = None,
    since: options.Since = None,
    until: options.Until = None,
    state: Annotated[
        str,
        typer.Option("--state", help=", ".join(STATES), autocompletion=lambda: list(STATES)),
    ] = "current",
    order: Annotated[
        str,
        typer.Option("--order", help=", ".join(ORDERS), autocompletion=lambda: list(ORDERS)),
    ] = "newest",
    limit: options.Limit = 50,
    cursor: Annotated[
        str | None,
        typer.Option("--cursor", help="Where the page before ended; repeat its other options."),
    ] = None,
) -> None:
    """List memories, page by page; times are those at which they were learnt."""
    with call.open() as hippo:
        page = hippo.memories(
            scope=call.scope,
            collection=collection,
            types=type or None,
            subjects=subject or None,
            category=category,
            user=of_user,
            channel=of_channel,
            metadata=options.read_metadata(metadata),
            since=call.moment(since),
            until=call.moment(until),
            state=cast(State, state),
            order=cast(Order, order),
            limit=limit,
            cursor=cursor,
        )
    call.answer(page, lambda: show.memories(page.items, call.config.timezone))
    if page.next_cursor and not call.json:
        # On one line, however narrow the terminal: it is there to be copied.
        typer.echo(f"There are more: add --cursor {page.next_cursor}")


@command(app, "spaces", panel=PANEL, shared=OF_A_FOLDER)
def spaces(call: Call) -> None:
    """Show the spaces with their memories and messages, the largest first."""
    with call.open() as hippo:
        found = hippo.spaces()
    call.answer(found, lambda: show.counts("space", found))


@command(app, "users", panel=PANEL)
def users(call: Call) -> None:
    """Show who said something in the space, with their memories and messages."""
    with call.open() as hippo:
        found = hippo.users(scope=call.scope)
    call.answer(found, lambda: show.counts("user", found))


@command(app, "subjects", panel=PANEL)
def subjects(call: Call) -> None:
    """Show the subjects of the space with their current memories, the most frequent first."""
    with call.open() as hippo:
        found = hippo.subjects(scope=call.scope)
    call.answer(found, lambda: show.subjects(found))
