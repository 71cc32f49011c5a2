"""Listing: memories page by page or about a name, and the spaces, users and subjects of the data."""

import base64
import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import ColumnElement, and_, or_

from hippocampe.engine.corpus import Corpus
from hippocampe.errors import InvalidInput
from hippocampe.language.datetimes import as_utc
from hippocampe.language.mentions import mentions
from hippocampe.language.person import is_about_speaker
from hippocampe.language.relations import SPEAKER
from hippocampe.language.speakers import means_speaker
from hippocampe.language.text import fold, written_words
from hippocampe.retrieval import lookup
from hippocampe.retrieval.request import check_category, check_subjects, check_types
from hippocampe.store import listing
from hippocampe.store.schema import instant, memory, microseconds
from hippocampe.store.store import Store
from hippocampe.types import (
    MEMORY_COLLECTIONS,
    Change,
    ChangeKind,
    Counts,
    Memory,
    Metadata,
    Order,
    Page,
    Scope,
    State,
    most_first,
)
from hippocampe.validation import (
    MAX_CHOICES,
    MAX_TOKEN_CHARACTERS,
    check_choice,
    check_flag,
    check_id,
    check_limit,
    check_list,
    check_metadata,
    check_share,
    check_text,
    check_whole,
)

MAX_SKIPPED = 1_000_000_000
MAX_ABOUT = 1_000
"""Memories that a name finds in each way, before those of another name are left out."""


def memories(
    store: Store,
    *,
    scope: Scope,
    collection: str | None = None,
    types: Sequence[str] | None = None,
    subjects: Sequence[str] | None = None,
    category: str | None = None,
    user: str | None = None,
    channel: str | None = None,
    metadata: Metadata | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    min_importance: float | None = None,
    words: str | None = None,
    state: State = "current",
    order: Order = "newest",
    limit: int = 50,
    cursor: str | None = None,
    skip: int = 0,
    count: bool = False,
) -> Page:
    """List the memories of the space, page by page.

    Pages neither repeat nor skip a memory when others are added or removed in between.

    Args:
        scope: Whose memory: its space alone counts.
        collection: `memory`, `self`, `goal` or `summary`; default: all.
        types: Only memories of these types.
        subjects: Only memories with any of these subjects.
        category: Only memories of this category.
        user: Only what this user said.
        channel: Only what was said on this channel.
        metadata: Only memories that hold all these pairs, equal in value and type.
        since: Only what was learnt at or after this.
        until: Only what was learnt before this.
        min_importance: Only memories of this importance or more, 0 to 1.
        words: Only memories whose text or key has all of these words, as parts of its own words.
        state: `current`, `superseded`, `forgotten` (also expired) or `all`.
        order: `newest` or `oldest` learnt first, `importance`, the highest first, or `used`, the most often
            recalled first.
        limit: At most this many per page, 1 to 1,000.
        cursor: `next_cursor` of the page before; the other arguments must be the same, except
            `limit`.
        skip: Leave out this many first, for numbered pages.
        count: Give the number of memories on all pages, and that of each state.

    Raises:
        InvalidInput: An argument cannot be used, or the cursor belongs to another query.
    """
    limit = check_limit(limit)
    check_choice("state", state, get_args(State))
    check_choice("order", order, get_args(Order))
    if min_importance is not None:
        check_share("min_importance", min_importance)
    skip = check_whole("skip", skip, least=0, most=MAX_SKIPPED)
    check_flag("count", count)
    wanted = check_text("words", words)
    start, end = as_utc(since, name="since"), as_utc(until, name="until")
    if start and end and start >= end:
        raise InvalidInput("since must be before until.")
    labels = Scope(user=user, channel=channel)
    equal = {
        "collection": collection,
        "category": check_category(category),
        "user": labels.user,
        "channel": labels.channel,
    }
    any_of = {"types": check_types(types), "subjects": check_subjects(subjects)}
    pairs = {} if metadata is None else check_metadata(metadata)
    if collection is not None:
        check_choice("collection", collection, MEMORY_COLLECTIONS)
    query = _digest(
        [
            *(scope.space, equal, any_of, pairs, str(start), str(end)),
            *(min_importance, wanted, state, order),
        ]
    )
    after = None
    if cursor is not None:
        after = _read_cursor(check_id(cursor, name="cursor", limit=MAX_TOKEN_CHARACTERS), query)
    conditions = _filters(scope.space, equal, any_of, pairs)
    if min_importance is not None:
        conditions.append(memory.c.importance >= min_importance)
    conditions += [listing.has_word(each) for each in (wanted or "").split()]
    if start is not None:
        conditions.append(memory.c.created_at >= start)
    if end is not None:
        conditions.append(memory.c.created_at < end)
    now = store.now()
    with store.read() as connection:
        shown = [listing.in_state(state, now), *conditions]
        found = listing.page(connection, scope.space, shown, order, after, limit + 1, skip)
        states = listing.of_states(connection, scope.space, conditions, now) if count else None
    items = tuple(found[:limit])
    more = len(found) > limit
    after = _cursor(query, listing.position(items[-1], order)) if more else None
    return Page(items, after, None if states is None else states[state], states)


def about(
    corpus: Corpus, name: str | None = None, *, scope: Scope, limit: int = 50
) -> list[Memory]:
    """List what is known about a person or a thing, the most important first.

    These are the memories that have any of its names as a subject or in their text, and what a user of this
    name said of themselves ("I live in Lyon"). What the companion knows about itself is left out.

    Args:
        name: Whom or what; default, and for "me" or "moi": the user.
        scope: Whose memory: its space alone counts for a name.
        limit: At most this many, 1 to 1,000.

    Raises:
        InvalidInput: There is no name, or it is not text.
    """
    check_limit(limit)
    named = scope.user if name is None else check_id(name, name="name")
    if named is None or not named.strip():
        raise InvalidInput("nobody is named: give a name, or a user.")
    if scope.user is not None and means_speaker(named):
        named = scope.user
    names = lookup.names(corpus.aliases, named, scope=scope)
    current = listing.in_state("current", corpus.store.now())
    with corpus.store.read() as connection:

        def found(*conditions: ColumnElement[bool]) -> list[Memory]:
            shown = [current, memory.c.collection != "self", *conditions]
            return listing.page(connection, scope.space, shown, "importance", None, MAX_ABOUT)

        folded = list(map(fold, names))
        # All who say "I" have that subject.
        subjects = [each for each in folded if each != SPEAKER]
        known = found(listing.has_subject(scope.space, subjects))
        written = [and_(*map(listing.has_word, each)) for each in map(written_words, names) if each]
        known += [
            each
            for each in (found(or_(*written)) if written else [])
            if mentions(each.content, names)
        ]
        tellers = [
            each for each in listing.tellers(connection, scope.space) if fold(each) in folded
        ]
        known += [
            each
            for each in found(memory.c.user.in_(tellers), memory.c.collection == "memory")
            if is_about_speaker(each.content)
        ]
    ranked = sorted(
        {each.id: each for each in known}.values(),
        key=lambda each: (each.importance, each.created_at, each.id),
        reverse=True,
    )
    return ranked[:limit]


def changes(
    store: Store,
    *,
    scope: Scope,
    kinds: Sequence[str] | None = None,
    types: Sequence[str] | None = None,
    subjects: Sequence[str] | None = None,
    user: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    limit: int = 50,
    skip: int = 0,
) -> list[Change]:
    """List what was learnt, replaced and forgotten in the space, newest first.

    Args:
        scope: Whose memory: its space alone counts.
        kinds: Among `learnt`, `replaced`, `forgotten`; default: all.
        types: Only memories of these types.
        subjects: Only memories with any of these subjects.
        user: Only what this user said.
        since: Only changes at or after this.
        until: Only changes before this.
        limit: At most this many, 1 to 1,000.
        skip: Leave out this many first.

    Raises:
        InvalidInput: An argument cannot be used.
    """
    chosen = get_args(ChangeKind) if kinds is None else check_list("kinds", kinds, most=MAX_CHOICES)
    wanted = [check_choice("kind", each, get_args(ChangeKind)) for each in chosen]
    start, end = as_utc(since, name="since"), as_utc(until, name="until")
    any_of = {"types": check_types(types), "subjects": check_subjects(subjects)}
    conditions = _filters(scope.space, {"user": Scope(user=user).user}, any_of, {})
    with store.read() as connection:
        return listing.changes(
            connection,
            scope.space,
            conditions,
            kinds=[each for each in get_args(ChangeKind) if each in wanted],
            since=start,
            until=end,
            limit=check_limit(limit),
            skip=check_whole("skip", skip, least=0, most=MAX_SKIPPED),
        )


def _filters(
    space: str,
    equal: dict[str, str | None],
    any_of: dict[str, tuple[str, ...] | None],
    pairs: Metadata,
) -> list[ColumnElement[bool]]:
    conditions = [memory.c[name] == value for name, value in equal.items() if value is not None]
    if any_of["types"] is not None:
        conditions.append(memory.c.type.in_(any_of["types"]))
    if any_of["subjects"] is not None:
        conditions.append(listing.has_subject(space, any_of["subjects"]))
    if pairs:
        conditions.append(listing.has_metadata(pairs))
    return conditions


def _digest(query: Sequence[Any]) -> str:
    return hashlib.blake2b(json.dumps(query).encode(), digest_size=8).hexdigest()


def _cursor(query: str, position: Sequence[Any]) -> str:
    values = [microseconds(each) if isinstance(each, datetime) else each for each in position]
    return base64.urlsafe_b64encode(json.dumps([query, *values]).encode()).decode()


def _read_cursor(cursor: str, query: str) -> tuple[Any, ...]:
    """The position in a cursor: an importance or a number of uses if ordered by it, a time, an id."""
    try:
        made_for, *measure, at, id = json.loads(base64.urlsafe_b64decode(cursor))
        if made_for == query:
            return *map(float, measure), instant(at), str(id)
    except (TypeError, ValueError, OverflowError) as exc:
        raise InvalidInput(
            f"cursor {cursor!r:.60} cannot be read: give next_cursor of a page as it is."
        ) from exc
    raise InvalidInput(
        "the cursor belongs to another query: repeat the filters and the order of its page, or "
        "leave the cursor out."
    )


def spaces(store: Store) -> dict[str, Counts]:
    """The spaces with their counts, largest first. Takes no scope."""
    with store.read() as connection:
        memories, messages = listing.of_spaces(connection, store.now())
    return _sorted(memories, messages)


def users(store: Store, *, scope: Scope) -> dict[str, Counts]:
    """The users of the space with their counts, most active first."""
    with store.read() as connection:
        memories, messages = listing.of_users(connection, scope.space, store.now())
    return _sorted(memories, messages)


def _sorted(memories: dict[str, int], messages: dict[str, int]) -> dict[str, Counts]:
    names = {*memories, *messages}
    return most_first(
        {name: Counts(memories.get(name, 0), messages.get(name, 0)) for name in names}
    )


def subjects(store: Store, *, scope: Scope) -> dict[str, int]:
    """The subjects of the space, folded, with the number of current memories, most frequent first.

    People in the first person ("I like tea") are not among them: see `users`.
    """
    with store.read() as connection:
        found = listing.of_subjects(connection, scope.space, store.now())
    return {name: many for name, many in found.items() if name != SPEAKER}
