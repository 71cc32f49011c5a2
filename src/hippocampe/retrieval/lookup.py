"""Look memories up by id, by key, by date, and through their history."""

from collections.abc import Mapping
from datetime import datetime

from hippocampe.engine.caches import AliasCache
from hippocampe.errors import NotFound
from hippocampe.language.datetimes import as_utc
from hippocampe.language.text import fold
from hippocampe.store import associations, memories, schema
from hippocampe.store.store import Store
from hippocampe.types import History, Memory, Scope
from hippocampe.validation import check_id, check_limit, only_channel


def get(store: Store, id: str, *, scope: Scope) -> Memory:
    """One memory, current or not.

    Raises:
        NotFound: The space has no memory of this id.
    """
    check_id(id)
    with store.read() as connection:
        return require(memories.get(connection, scope.space, [id]), id, scope)


def require(found: Mapping[str, Memory], id: str, scope: Scope) -> Memory:
    """The memory with an id among those found.

    Raises:
        NotFound: No memory has this id.
    """
    if id not in found:
        raise NotFound(
            f"space {scope.space!r} has no memory {id!r}: take the id of a memory from recall or recent. "
            "Of turns, only delete, restore and erase take ids."
        )
    return found[id]


def recent(
    store: Store,
    limit: int = 10,
    *,
    scope: Scope,
    since: datetime | str | None = None,
    channel_only: bool = False,
) -> list[Memory]:
    """The newest memories, newest first.

    Raises:
        InvalidInput: An argument is invalid.
    """
    limit = check_limit(limit)
    conditions = [
        memories.living(scope.space, store.now()),
        schema.memory.c.collection == "memory",
    ]
    after = as_utc(since, name="since")
    if after is not None:
        conditions.append(schema.memory.c.created_at >= after)
    channel = only_channel(scope, channel_only)
    if channel is not None:
        conditions.append(schema.memory.c.channel == channel)
    with store.read() as connection:
        return memories.find(connection, *conditions, limit=limit)


def facts(store: Store, *, scope: Scope) -> dict[str, Memory]:
    """The current memories that have a key, by key."""
    conditions = [memories.living(scope.space, store.now()), schema.memory.c.key.is_not(None)]
    with store.read() as connection:
        found = memories.find(connection, *conditions, newest_first=False)
    return dict(sorted((memory.key or "", memory) for memory in found))


def history(store: Store, id: str, *, scope: Scope) -> History:
    """All versions of a memory, oldest first, with their associations.

    Raises:
        NotFound: The space has no memory of this id.
    """
    check_id(id)
    with store.read() as connection:
        versions = memories.versions(connection, scope.space, id)
        if not versions:
            require({}, id, scope)
        edges = associations.touching(connection, scope.space, [memory.id for memory in versions])
    return History(tuple(versions), tuple(edges))


def names(aliases: AliasCache, user: str, *, scope: Scope) -> tuple[str, ...]:
    """The name of a user and the other names that aliases give to it.

    Raises:
        InvalidInput: The name is not text.
    """
    check_id(user, name="user")
    others = aliases.of(scope.space).get(fold(user), ())
    return (user, *others)
