"""Look memories up by id, by key, by date, and through their history."""

from collections.abc import Mapping
from datetime import datetime

from hippocampe.engine.context import Context
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.language.datetimes import as_utc
from hippocampe.language.text import fold
from hippocampe.store import associations, memories, schema
from hippocampe.types import History, Memory, Scope
from hippocampe.validation import check_flag, check_id, check_limit


def get(context: Context, id: str, *, scope: Scope) -> Memory:
    """One memory, current or not.

    Raises:
        NotFound: The space has no memory with this id.
    """
    check_id(id)
    with context.store.read() as connection:
        return require(memories.get(connection, scope.space, [id]), id, scope)


def require(found: Mapping[str, Memory], id: str, scope: Scope) -> Memory:
    """The memory with an id among those found.

    Raises:
        NotFound: No memory has this id.
    """
    if id not in found:
        raise NotFound(
            f"space {scope.space!r} has no memory {id!r}: take ids from recall or recent."
        )
    return found[id]


def recent(
    context: Context, limit: int, *, scope: Scope, since: datetime | str | None, channel_only: bool
) -> list[Memory]:
    """The memories created last, newest first.

    Args:
        context: The open memory.
        limit: Maximum number of memories, 1 to 1,000.
        scope: The space, and the channel for `channel_only`.
        since: Earliest time of creation.
        channel_only: Only memories of the scope's channel.

    Raises:
        InvalidInput: An argument is invalid, or `channel_only` is set and the scope has no channel.
    """
    limit = check_limit(limit)
    conditions = [
        memories.living(scope.space, context.now()),
        schema.memory.c.collection == "memory",
    ]
    after = as_utc(since, name="since")
    if after is not None:
        conditions.append(schema.memory.c.created_at >= after)
    if check_flag("channel_only", channel_only):
        if scope.channel is None:
            raise InvalidInput("channel_only needs a scope that names a channel.")
        conditions.append(schema.memory.c.channel == scope.channel)
    with context.store.read() as connection:
        return memories.find(connection, *conditions, limit=limit)


def facts(context: Context, *, scope: Scope) -> dict[str, Memory]:
    """The current memories that have a key, by key, in alphabetical order."""
    conditions = [memories.living(scope.space, context.now()), schema.memory.c.key.is_not(None)]
    with context.store.read() as connection:
        found = memories.find(connection, *conditions, newest_first=False)
    return dict(sorted((memory.key or "", memory) for memory in found))


def history(context: Context, id: str, *, scope: Scope) -> History:
    """Every version of a statement, oldest first, and the associations of each version.

    Raises:
        NotFound: The space has no memory with this id.
    """
    check_id(id)
    with context.store.read() as connection:
        versions = memories.versions(connection, scope.space, id)
        if not versions:
            require({}, id, scope)
        edges = associations.touching(connection, scope.space, [memory.id for memory in versions])
    return History(tuple(versions), tuple(edges))


def names(context: Context, user: str, *, scope: Scope) -> tuple[str, ...]:
    """The name of a user as given, then the names that aliases give to it.

    Raises:
        InvalidInput: The name is not text.
    """
    check_id(user, name="user")
    others = context.aliases(scope.space).get(fold(user), ())
    return (user, *others)
