"""Commands that list memories, spaces, users and subjects."""

from typing import Annotated, cast, get_args

import typer

from hippocampe.cli import options
from hippocampe.cli.call import OF_A_FOLDER, Call, command
from hippocampe.cli.show import memories as show
from hippocampe.types import MEMORY_COLLECTIONS, Order, State

app = typer.Typer()
PANEL = "Memories"
STATES = get_args(State)
ORDERS = get_args(Order)


@command(
    app,
    "list",
    panel=PANEL,
    examples=[
        "list --type decision --since 2026-01-01",
        "list --state all --order importance -n 20",
    ],
)
def list_memories(
    call: Call,
    *,
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection",
            help=f"One of {', '.join(MEMORY_COLLECTIONS)}.",
            autocompletion=lambda: list(MEMORY_COLLECTIONS),
        ),
    ] = None,
    type: options.Types = None,
    subject: options.Subjects = None,
    category: options.Category = None,
    of_user: options.OfUser = None,
    of_channel: options.OfChannel = None,
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
        typer.Option("--cursor", help="Continue a listing; repeat its other options."),
    ] = None,
) -> None:
    """List memories page by page. Times refer to when they were stored."""
    with call.read() as hippo:
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
        # Not wrapped, so that it can be copied.
        typer.echo(f"\nThere are more: add --cursor {page.next_cursor}")


@command(app, "spaces", panel=PANEL, shared=OF_A_FOLDER)
def spaces(call: Call) -> None:
    """List the spaces with their numbers of memories and messages, largest first."""
    with call.read() as hippo:
        found = hippo.spaces()
    call.answer(found, lambda: show.counts("space", found))


@command(app, "users", panel=PANEL)
def users(call: Call) -> None:
    """List the users of the space with their numbers of memories and messages."""
    with call.read() as hippo:
        found = hippo.users(scope=call.scope)
    call.answer(found, lambda: show.counts("user", found))


@command(app, "subjects", panel=PANEL)
def subjects(call: Call) -> None:
    """List the subjects of the space with their numbers of current memories."""
    with call.read() as hippo:
        found = hippo.subjects(scope=call.scope)
    call.answer(found, lambda: show.subjects(found))
