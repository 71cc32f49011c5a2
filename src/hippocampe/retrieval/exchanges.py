"""Read the stored talk: messages, conversations, exchanges page by page, and one exchange with what became of it."""

from collections.abc import Sequence
from datetime import datetime
from typing import get_args

from hippocampe.errors import InvalidInput, NotFound
from hippocampe.language.datetimes import as_utc
from hippocampe.retrieval.log import RetrievalBuffer, flush_with_room
from hippocampe.retrieval.request import MAX_QUERY_CHARACTERS
from hippocampe.store import (
    memories,
    message_rows,
    retrievals,
    schema,
    turn_rows,
    working_history,
)
from hippocampe.store.store import Store
from hippocampe.store.turn_rows import Turn
from hippocampe.types import Conversation, Exchange, ExchangeHistory, Message, Scope, TalkOrder
from hippocampe.validation import (
    MAX_EVIDENCE,
    check_choice,
    check_flag,
    check_id,
    check_limit,
    check_list,
    clean_text,
)

MOST_GIVEN = 50
"""Most injections of an exchange that its history lists; the latest."""


def messages(
    store: Store,
    *,
    scope: Scope,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    working: bool = False,
    live: bool = False,
    ids: Sequence[str] | None = None,
    external_ids: Sequence[str] | None = None,
    limit: int = 20,
) -> list[Message]:
    """The latest messages of the scope's channel (of all, if it names none), oldest first.

    Args:
        scope: The space, and the channel if only one is wanted.
        since: Earliest time, inclusive.
        until: Latest time, exclusive.
        working: Only the working history: exchanges that are not compacted yet.
        live: Only what was overheard since the last digest.
        ids: Only messages with these ids, such as the evidence of a memory.
        external_ids: Only messages that were stored with these ids of the host.
        limit: At most this many, 1 to 1,000.

    Raises:
        InvalidInput: An argument is invalid.
    """
    limit = check_limit(limit)
    named = ids is not None or external_ids is not None
    conditions = message_rows.within(
        schema.message,
        # By id alone: given a space too, SQLite would read all rows of the space.
        None if named else scope.space,
        channel=scope.channel,
        since=as_utc(since, name="since"),
        until=as_utc(until, name="until"),
    )
    if check_flag("working", working):
        conditions += working_history.INCLUDED
    if check_flag("live", live):
        conditions.append(schema.message.c.live.is_(True))
    if ids is not None:
        conditions.append(schema.message.c.id.in_(check_list("ids", ids, most=MAX_EVIDENCE)))
    if external_ids is not None:
        wanted = check_list("external_ids", external_ids, most=MAX_EVIDENCE)
        conditions.append(schema.message.c.external_id.in_(wanted))
    with store.read() as connection:
        found = message_rows.find(
            connection, *conditions, newest_first=True, limit=None if named else limit
        )
    return [each for each in found if each.space == scope.space][:limit][::-1]


def search_text(
    store: Store,
    query: str,
    *,
    scope: Scope,
    user: str | None = None,
    channel: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    limit: int = 20,
) -> list[Message]:
    """Messages with all the words of a query, newest first.

    Quoted words match as a phrase, and a word that ends in `*` as a prefix.

    Args:
        query: The words.
        scope: Where to look: its channel only, if it names one.
        user: Only messages of this user.
        channel: Only messages of this channel, instead of the channel of the scope.
        since: Earliest time, inclusive.
        until: Latest time, exclusive.
        limit: At most this many, 1 to 1,000.

    Raises:
        InvalidInput: An argument is invalid.
    """
    filters = Scope(user=user, channel=channel)
    query = clean_text(query, what="query")[:MAX_QUERY_CHARACTERS]
    with store.read() as connection:
        return message_rows.search_text(
            connection,
            scope.space,
            query,
            author=filters.user,
            channel=filters.channel or scope.channel,
            since=as_utc(since, name="since"),
            until=as_utc(until, name="until"),
            limit=check_limit(limit),
        )


def conversations(store: Store, *, scope: Scope) -> list[Conversation]:
    """The talk of each channel of the space in numbers, the most recent first, without forgotten exchanges."""
    with store.read() as connection:
        return message_rows.conversations(connection, scope.space)


def exchanges(
    store: Store,
    *,
    scope: Scope,
    query: str | None = None,
    user: str | None = None,
    channel: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    order: TalkOrder = "newest",
    limit: int = 20,
    cursor: str | None = None,
) -> list[Exchange]:
    """The exchanges of the space page by page, without forgotten ones.

    Args:
        scope: The space.
        query: Only those with all these words in one message, as in `search_text`.
        user: Only those that this user began.
        channel: Only those of this channel.
        since: Earliest time, inclusive.
        until: Latest time, exclusive.
        order: `newest` or `oldest` first.
        limit: At most this many, 1 to 1,000.
        cursor: The id of the last exchange of the page before.

    Raises:
        InvalidInput: An argument is invalid.
    """
    check_choice("order", order, get_args(TalkOrder))
    labels = Scope(user=user, channel=channel)
    words = query and clean_text(query, what="query")[:MAX_QUERY_CHARACTERS]
    with store.read() as connection:
        after = None
        if cursor is not None:
            after = turn_rows.get(connection, scope.space, [check_id(cursor, name="cursor")]).get(
                cursor
            )
            if after is None:
                raise InvalidInput(
                    "cursor is the id of no exchange: give that of the last one of a page, or leave it out."
                )
        found = turn_rows.latest(
            connection,
            scope.space,
            author=labels.user,
            channel=labels.channel,
            since=as_utc(since, name="since"),
            until=as_utc(until, name="until"),
            words=words,
            after=after,
            oldest_first=order == "oldest",
            limit=check_limit(limit),
        )
        messages = message_rows.messages_of(connection, [each.id for each in found])
    return [_exchange(each, messages[each.id]) for each in found]


def exchange(store: Store, buffer: RetrievalBuffer, id: str, *, scope: Scope) -> ExchangeHistory:
    """One exchange with what was learnt from it and where it was given.

    Args:
        id: The id that `after_turn` returned, or that of a recollection of the kind `turn`.
        scope: The space.

    Raises:
        NotFound: The space has no exchange of this id.
    """
    check_id(id)
    flush_with_room(store, buffer)
    with store.read() as connection:
        found = turn_rows.get(connection, scope.space, [id]).get(id)
        if found is None:
            raise NotFound(
                f"space {scope.space!r} has no exchange {id!r}: take ids from exchanges or recall."
            )
        messages = message_rows.messages_of(connection, [id])[id]
        learnt = memories.resting_on(
            connection, scope.space, [each.id for each in messages], current_only=False
        )
        given = retrievals.giving(connection, scope.space, id, MOST_GIVEN)
    return ExchangeHistory(
        _exchange(found, messages), tuple(learnt), tuple(given), found.previous_id, found.next_id
    )


def _exchange(turn: Turn, messages: list[Message]) -> Exchange:
    return Exchange(
        id=turn.id,
        space=turn.space,
        channel=turn.channel or None,
        author=turn.author,
        at=turn.at,
        messages=tuple(messages),
        forgotten_at=turn.forgotten_at,
    )
