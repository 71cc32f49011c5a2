"""Commands on single memories, facts and reviews."""

from time import perf_counter
from typing import Annotated, Any, cast

import typer

from hippocampe.cli import options, terminal
from hippocampe.cli.call import (
    NOTHING_FOUND,
    Call,
    ListFirst,
    command,
    read_content,
    read_statements,
)
from hippocampe.cli.show import memories as show
from hippocampe.types import UNSET, Mode, Remembered
from hippocampe.validation import MAX_MANY

app = typer.Typer()
facts_app = typer.Typer(help="Memories under a key: list, set, delete.", cls=ListFirst)
reviews_app = typer.Typer(
    help="Similar memories that no rule could decide on: list, settle.", cls=ListFirst
)
app.add_typer(facts_app, name="facts", rich_help_panel="Memories")
app.add_typer(reviews_app, name="reviews", rich_help_panel="Memories")
PANEL = "Memories"
DEFAULT_COLLECTIONS = ("memory", "summary", "turn", "live", "note")
"""Default collections of `recall`: it finds imported talk too."""


@command(
    app,
    "remember",
    panel=PANEL,
    examples=[
        'remember "David moved to Toulouse" --subject david',
        'remember "Standup is at 9" --type decision --ttl 30d',
        "remember --file notes.jsonl",
    ],
)
def remember(
    call: Call,
    content: Annotated[
        str | None,
        typer.Argument(help="The statement; - reads it from standard input.", show_default=False),
    ] = None,
    *,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            metavar="PATH",
            help="Statements, one per line: text, or a JSON object with `content` and any of these "
            "options; - reads standard input. Options given here are the defaults of all lines.",
        ),
    ] = None,
    type: options.Type = None,
    collection: options.Collection = None,
    category: options.Category = None,
    key: Annotated[
        str | None, typer.Option("--key", help="A unique name; a new value replaces the old one.")
    ] = None,
    subject: options.Subjects = None,
    importance: options.Importance = None,
    ttl: Annotated[
        str | None,
        typer.Option(
            "--ttl",
            help="Lifetime: 1h, 7d, 2w, or never.",
            show_default="that of the category, or never",
        ),
    ] = None,
    occurred_at: options.OccurredAt = None,
    source: Annotated[str, typer.Option(help="Origin of the statement.")] = "conversation",
    replaces: Annotated[
        list[str] | None,
        typer.Option("--replaces", metavar="ID", help="A memory it supersedes; repeatable."),
    ] = None,
    evidence: Annotated[
        list[str] | None,
        typer.Option("--evidence", metavar="ID", help="A message that supports it; repeatable."),
    ] = None,
    metadata: options.Pairs = None,
) -> None:
    """Store a statement, or a file of statements. A corrected memory stays in the history."""
    details: dict[str, Any] = {
        "type": type,
        "collection": collection,
        "category": category,
        "key": key,
        "subjects": subject or (),
        "importance": importance,
        "ttl": UNSET if ttl is None else None if ttl == "never" else ttl,
        "occurred_at": occurred_at,
        "source": source,
        "replaces": replaces or (),
        "evidence": evidence or (),
        "metadata": options.read_metadata(metadata),
    }
    if (content is None) == (file is None):
        raise typer.BadParameter("give either a statement or --file.")
    if file is not None:
        if key or replaces:
            raise typer.BadParameter(
                "--key and --replaces apply to one statement and cannot be used with --file."
            )
        _remember_file(call, file, details)
        return
    details["occurred_at"] = call.moment(occurred_at)
    with call.open() as hippo:
        result = hippo.remember(read_content(content or ""), scope=call.scope, **details)
        replaced = [hippo.get(id, scope=call.scope) for id in result.replaced]
    call.answer(result, lambda: show.remembered(result, replaced))


def _remember_file(call: Call, file: str, details: dict[str, Any]) -> None:
    items = [details | item for item in read_statements(file)]
    for item in items:
        if isinstance(item["occurred_at"], str):
            item["occurred_at"] = call.moment(item["occurred_at"])
    with call.open() as hippo, terminal.progress() as progress:
        results: list[Remembered] = []
        for start in range(0, len(items), MAX_MANY):
            some = items[start : start + MAX_MANY]
            results += hippo.remember_many(some, scope=call.scope, progress=progress)
    call.answer(results, lambda: show.remembered_many(results))


@command(
    app,
    "recall",
    panel=PANEL,
    examples=[
        'recall "where does David live?" --explain',
        'recall "the cabin in Gavarnie" --collection turn --since 2026-01-01',
    ],
)
def recall(
    call: Call,
    query: Annotated[str, typer.Argument(help="The question, or any words.")],
    *,
    limit: options.Limit = 10,
    mode: options.Searching = "hybrid",
    collection: options.Collections = None,
    type: options.Types = None,
    subject: options.Subjects = None,
    category: options.Category = None,
    metadata: options.WithPairs = None,
    since: options.Since = None,
    until: options.Until = None,
    of_user: options.OfUser = None,
    of_channel: options.OfChannel = None,
    min_score: Annotated[
        float | None, typer.Option("--min-score", help="Minimum relevance, 0 to 1.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the reasons for each score.")
    ] = False,
    as_of: options.AsOf = None,
) -> None:
    """Find memories, talk and notes relevant to a question, best first."""
    with call.read() as hippo:
        started = perf_counter()
        found = hippo.recall(
            query,
            scope=call.scope,
            limit=limit,
            mode=cast(Mode, mode),
            collections=collection or DEFAULT_COLLECTIONS,
            types=type or None,
            subjects=subject or None,
            category=category,
            metadata=options.read_metadata(metadata),
            since=call.moment(since),
            until=call.moment(until),
            user=of_user,
            channel=of_channel,
            min_score=min_score,
            explain=explain,
            as_of=call.moment(as_of),
        )
        took_ms = (perf_counter() - started) * 1000
    zone = call.config.timezone
    call.answer(
        found, lambda: show.recollections(found, query=query, timezone=zone, took_ms=took_ms)
    )


@command(app, "recent", panel=PANEL)
def recent(
    call: Call,
    *,
    limit: options.Limit = 10,
    since: options.Since = None,
    channel_only: options.ChannelOnly = False,
) -> None:
    """Show the newest memories."""
    with call.read() as hippo:
        found = hippo.recent(
            limit, scope=call.scope, since=call.moment(since), channel_only=channel_only
        )
    call.answer(found, lambda: show.memories(found, call.config.timezone))


@command(app, "get", panel=PANEL)
def get(call: Call, id: options.Id) -> None:
    """Show all fields of a memory, current or not."""
    with call.read() as hippo:
        found = hippo.get(id, scope=call.scope)
    call.answer(found, lambda: show.memory(found, call.config.timezone))


@command(app, "history", panel=PANEL)
def history(call: Call, id: options.Id) -> None:
    """Show the versions of a memory, oldest first."""
    with call.read() as hippo:
        found = hippo.history(id, scope=call.scope)
    call.answer(found, lambda: show.history(found, call.config.timezone))


@command(
    app,
    "edit",
    panel=PANEL,
    examples=['edit ID --content "David lives in Lyon"', "edit ID --importance 0.9 --ttl never"],
)
def edit(
    call: Call,
    id: options.Id,
    *,
    content: Annotated[str | None, typer.Option("--content", help="The statement.")] = None,
    type: options.Type = None,
    category: options.Category = None,
    subject: options.Subjects = None,
    importance: options.Importance = None,
    ttl: Annotated[
        str | None,
        typer.Option("--ttl", help="Lifetime from now: 1h, 7d, 2w, or never to remove it."),
    ] = None,
    occurred_at: options.OccurredAt = None,
    metadata: options.Pairs = None,
) -> None:
    """Change fields of a current memory in place.

    Metadata is replaced as a whole; {} removes it.
    """
    pairs = options.read_metadata(metadata)
    given = (content, type, category, subject or None, importance, ttl, occurred_at, pairs)
    if all(value is None for value in given):
        raise typer.BadParameter("give a field to change, for example --content or --importance.")
    with call.open() as hippo:
        changed = hippo.edit(
            id,
            scope=call.scope,
            content=content,
            type=type,
            category=category,
            subjects=subject or None,
            importance=importance,
            ttl=UNSET if ttl is None else None if ttl == "never" else ttl,
            occurred_at=UNSET if occurred_at is None else call.moment(occurred_at),
            metadata=pairs,
        )
    call.answer(changed, lambda: show.memory(changed, call.config.timezone))


@command(app, "delete", panel=PANEL)
def delete(call: Call, id: options.Id, *, reason: options.Reason = "deleted by hand") -> None:
    """Hide a memory from recall. `restore` undoes it."""
    with call.open() as hippo:
        hidden = hippo.delete(id, scope=call.scope, reason=reason)
    call.answer(hidden, lambda: show.changed("deleted", hidden))


@command(app, "restore", panel=PANEL)
def restore(call: Call, id: options.Id) -> None:
    """Make a forgotten, expired or superseded memory, or a forgotten turn, current again."""
    with call.open() as hippo:
        back = hippo.restore(id, scope=call.scope)
    call.answer(back, lambda: show.changed("restored", back))


@command(app, "associate", panel=PANEL, examples=['associate ID ID caused_by --reason "the storm"'])
def associate(
    call: Call,
    source: options.Id,
    target: options.Id,
    kind: options.Kind,
    *,
    reason: Annotated[str | None, typer.Option("--reason", help="Why.")] = None,
) -> None:
    """Associate one memory with another."""
    with call.open() as hippo:
        edge = hippo.associate(source, target, kind, scope=call.scope, reason=reason)
    call.answer(edge, lambda: show.associations([edge]))


@command(app, "neighbours", panel=PANEL)
def neighbours(
    call: Call,
    id: options.Id,
    *,
    depth: Annotated[
        int, typer.Option("--depth", help="Maximum distance in associations, 1 to 5.")
    ] = 2,
) -> None:
    """Show a memory, its neighbours and their associations."""
    with call.read() as hippo:
        found, edges = hippo.neighbours(id, scope=call.scope, depth=depth)
    call.answer(
        {"memories": found, "associations": edges},
        lambda: show.graph(found, edges, call.config.timezone),
    )


@command(facts_app, "list")
def list_facts(
    call: Call, key: Annotated[str | None, typer.Argument(help="Only this key.")] = None
) -> None:
    """Show all facts, or one."""
    with call.read() as hippo:
        found = hippo.facts(scope=call.scope)
    if key is not None:
        found = {name: fact for name, fact in found.items() if name == key}
    call.answer(found, lambda: show.facts(found))
    if not found:
        raise typer.Exit(NOTHING_FOUND)


@command(facts_app, "set", examples=["facts set user_name Mickael"])
def set_fact(call: Call, key: str, value: str) -> None:
    """Set a fact. The old value stays in the history."""
    with call.open() as hippo:
        result = hippo.set_fact(key, read_content(value), scope=call.scope)
        replaced = [hippo.get(id, scope=call.scope) for id in result.replaced]
    call.answer(result, lambda: show.remembered(result, replaced))


@command(facts_app, "delete")
def delete_fact(call: Call, key: str, *, reason: options.Reason = "deleted by hand") -> None:
    """Hide a fact."""
    with call.open() as hippo:
        hidden = hippo.delete_fact(key, scope=call.scope, reason=reason)
    call.answer(hidden, lambda: show.changed("deleted", hidden))


@command(reviews_app, "list")
def list_reviews(call: Call) -> None:
    """Show the pairs to review, newest first."""
    with call.read() as hippo:
        found = hippo.reviews(scope=call.scope)
    call.answer(found, lambda: show.reviews(found))


@command(reviews_app, "settle", examples=["reviews settle ID OTHER_ID --keep ID"])
def settle(
    call: Call,
    id: options.Id,
    other: options.Id,
    *,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="ID",
            help="The memory that supersedes the other.",
            show_default="both stay",
        ),
    ] = None,
) -> None:
    """Decide on a pair and remove it from the list."""
    with call.open() as hippo:
        hippo.settle(id, other, scope=call.scope, keep=keep)
    call.answer({"settled": [id, other], "kept": keep}, lambda: "settled")
