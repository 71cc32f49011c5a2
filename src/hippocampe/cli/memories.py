"""Commands for memories one by one, the facts among them, and the pairs to review."""

from time import perf_counter
from typing import Annotated, Any, cast

import typer

from hippocampe.cli import options, show, terminal
from hippocampe.cli.call import (
    NOTHING_FOUND,
    Call,
    ListFirst,
    command,
    read_content,
    read_statements,
)
from hippocampe.types import Mode

app = typer.Typer()
facts_app = typer.Typer(help="The memories that have a key.", cls=ListFirst)
reviews_app = typer.Typer(
    help="Pairs of memories that no rule could tell apart for sure.", cls=ListFirst
)
app.add_typer(facts_app, name="facts", rich_help_panel="Memories")
app.add_typer(reviews_app, name="reviews", rich_help_panel="Memories")
PANEL = "Memories"
EVERYTHING_SAID = ("memory", "summary", "turn", "live", "note")
"""Where `recall` looks by itself: someone who has just imported their talk wants it found."""


@command(app, "remember", panel=PANEL)
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
            help="Many statements, one a line: text, or a JSON object with `content` and any of "
            "these options; - reads standard input. The options given are those of lines without.",
        ),
    ] = None,
    type: options.Type = None,
    collection: options.Collection = None,
    category: options.Category = None,
    key: Annotated[
        str | None, typer.Option("--key", help="A unique name; writing it again replaces.")
    ] = None,
    subject: options.Subjects = None,
    importance: options.Importance = None,
    ttl: Annotated[
        str | None,
        typer.Option("--ttl", help="How long it holds: 1h, 7d, 2w.", show_default="for ever"),
    ] = None,
    occurred_at: options.OccurredAt = None,
    source: Annotated[str, typer.Option(help="Where it comes from.")] = "conversation",
    replaces: Annotated[
        list[str] | None,
        typer.Option("--replaces", metavar="ID", help="A memory it supersedes; repeatable."),
    ] = None,
    evidence: Annotated[
        list[str] | None,
        typer.Option("--evidence", metavar="ID", help="A message it was drawn from; repeatable."),
    ] = None,
    metadata: options.Pairs = None,
) -> None:
    """Store one durable statement, or a file of them; what they correct becomes history."""
    details: dict[str, Any] = {
        "type": type,
        "collection": collection,
        "category": category,
        "key": key,
        "subjects": subject or (),
        "importance": importance,
        "ttl": ttl,
        "occurred_at": occurred_at,
        "source": source,
        "replaces": replaces or (),
        "evidence": evidence or (),
        "metadata": options.read_metadata(metadata),
    }
    if (content is None) == (file is None):
        raise typer.BadParameter("give a statement, or --file with many.")
    if file is not None:
        if key or replaces:
            raise typer.BadParameter("--key and --replaces are of one statement: not with --file.")
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
        results = hippo.remember_many(items, scope=call.scope, progress=progress)
    call.answer(results, lambda: show.remembered_many(results))


@command(app, "recall", panel=PANEL)
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
        float | None, typer.Option("--min-score", help="Only what is this relevant, 0 to 1.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each was found.")] = False,
) -> None:
    """Find what is relevant to a question, best first, without a language model."""
    with call.read() as hippo:
        started = perf_counter()
        found = hippo.recall(
            query,
            scope=call.scope,
            limit=limit,
            mode=cast(Mode, mode),
            collections=collection or EVERYTHING_SAID,
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
    """Show the newest memories, newest first."""
    with call.read() as hippo:
        found = hippo.recent(
            limit, scope=call.scope, since=call.moment(since), channel_only=channel_only
        )
    call.answer(found, lambda: show.memories(found, call.config.timezone))


@command(app, "get", panel=PANEL)
def get(call: Call, id: options.Id) -> None:
    """Show one memory, current or not, with all its fields."""
    with call.read() as hippo:
        found = hippo.get(id, scope=call.scope)
    call.answer(found, lambda: show.memory(found))


@command(app, "history", panel=PANEL)
def history(call: Call, id: options.Id) -> None:
    """Show every version of what a memory states, oldest first."""
    with call.read() as hippo:
        found = hippo.history(id, scope=call.scope)
    call.answer(found, lambda: show.history(found, call.config.timezone))


@command(app, "edit", panel=PANEL)
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
        typer.Option("--ttl", help="How long it holds from now: 1h, 7d, 2w, or never: for ever."),
    ] = None,
    occurred_at: options.OccurredAt = None,
    metadata: options.Pairs = None,
) -> None:
    """Change fields of a current memory in place; what is not given stays.

    Metadata is replaced as a whole; {} removes it.
    """
    from hippocampe.revise import UNSET

    pairs = options.read_metadata(metadata)
    given = (content, type, category, subject or None, importance, ttl, occurred_at, pairs)
    if all(value is None for value in given):
        raise typer.BadParameter("say what to change, for example --content or --importance.")
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
    call.answer(changed, lambda: show.memory(changed))


@command(app, "delete", panel=PANEL)
def delete(call: Call, id: options.Id, *, reason: options.Reason = "deleted by hand") -> None:
    """Hide a memory from recall; `restore` brings it back."""
    with call.open() as hippo:
        hidden = hippo.delete(id, scope=call.scope, reason=reason)
    call.answer(hidden, lambda: show.memory(hidden))


@command(app, "restore", panel=PANEL)
def restore(call: Call, id: options.Id) -> None:
    """Make a forgotten, expired or superseded memory current again, or a forgotten turn of talk."""
    with call.open() as hippo:
        back = hippo.restore(id, scope=call.scope)
    call.answer(back, lambda: show.restored(back))


@command(app, "associate", panel=PANEL)
def associate(
    call: Call,
    source: options.Id,
    target: options.Id,
    kind: options.Kind,
    *,
    reason: Annotated[str | None, typer.Option("--reason", help="Why.")] = None,
) -> None:
    """Add a typed edge from one memory to another."""
    with call.open() as hippo:
        edge = hippo.associate(source, target, kind, scope=call.scope, reason=reason)
    call.answer(edge, lambda: show.associations([edge]))


@command(app, "neighbours", panel=PANEL)
def neighbours(
    call: Call,
    id: options.Id,
    *,
    depth: Annotated[int, typer.Option("--depth", help="How many edges away, 1 to 5.")] = 2,
) -> None:
    """Show the memories around one, itself first, and the edges between them."""
    with call.read() as hippo:
        found, edges = hippo.neighbours(id, scope=call.scope, depth=depth)
    call.answer(
        {"memories": found, "associations": edges},
        lambda: show.graph(found, edges, call.config.timezone),
    )


@command(facts_app, "list")
def list_facts(
    call: Call, key: Annotated[str | None, typer.Argument(help="Only this one.")] = None
) -> None:
    """Show the facts, or one of them."""
    with call.read() as hippo:
        found = hippo.facts(scope=call.scope)
    if key is not None:
        found = {name: fact for name, fact in found.items() if name == key}
    call.answer(found, lambda: show.facts(found))
    if not found:
        raise typer.Exit(NOTHING_FOUND)


@command(facts_app, "set")
def set_fact(call: Call, key: str, value: str) -> None:
    """Write a fact; the value it had becomes history."""
    with call.open() as hippo:
        result = hippo.set_fact(key, read_content(value), scope=call.scope)
        replaced = [hippo.get(id, scope=call.scope) for id in result.replaced]
    call.answer(result, lambda: show.remembered(result, replaced))


@command(facts_app, "delete")
def delete_fact(call: Call, key: str, *, reason: options.Reason = "deleted by hand") -> None:
    """Hide a fact."""
    with call.open() as hippo:
        hidden = hippo.delete_fact(key, scope=call.scope, reason=reason)
    call.answer(hidden, lambda: show.memory(hidden))


@command(reviews_app, "list")
def list_reviews(call: Call) -> None:
    """Show the pairs, newest first."""
    with call.read() as hippo:
        found = hippo.reviews(scope=call.scope)
    call.answer(found, lambda: show.reviews(found))


@command(reviews_app, "settle")
def settle(
    call: Call,
    id: options.Id,
    other: options.Id,
    *,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep", metavar="ID", help="The one that supersedes the other.", show_default="both"
        ),
    ] = None,
) -> None:
    """Take a pair off the list."""
    with call.open() as hippo:
        hippo.settle(id, other, scope=call.scope, keep=keep)
    call.answer({"settled": [id, other], "kept": keep}, lambda: "settled")
