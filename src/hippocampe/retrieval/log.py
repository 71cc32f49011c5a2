"""The log of retrievals: the injected items, the rejected ones, and the reasons.

A turn adds its retrieval to a buffer in memory; the buffer is written to the store in batches.
Candidates are logged by id, with their signals and never with their content.
"""

import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from hippocampe.engine.answers import secrets_answered
from hippocampe.engine.corpus import Corpus
from hippocampe.errors import InvalidInput, NotFound, StoreError, StoreFull
from hippocampe.language import secrets
from hippocampe.language.datetimes import as_utc
from hippocampe.language.text import without_control
from hippocampe.retrieval import scoring
from hippocampe.store import retrievals as rows
from hippocampe.store.retrievals import Line, Noted
from hippocampe.store.store import Store
from hippocampe.types import Injection, Retrieval, Scope
from hippocampe.validation import check_id, check_limit, only_channel

MAX_BUFFERED = 500
"""Retrievals that wait to be logged: a few seconds of turns at full load."""
PREVIEW_CHARACTERS = 120
# Longer than any secret, so that a secret is masked before the preview is cut.
_PREVIEWED_CHARACTERS = 10_000


class RetrievalBuffer:
    """Retrievals that are not logged yet, oldest first. Thread-safe.

    Attributes:
        dropped: Retrievals that were never logged: the buffer was full, or another process erased what they may quote.
        erasure: In a shared database, the mark of the last erasure that this process knows; see `Store.last_erasure`.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self.erasure: str | None = None
        self._waiting = deque[Noted](maxlen=MAX_BUFFERED)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, entry: Noted) -> None:
        """Add an entry; a full buffer drops its oldest one."""
        with self._lock:
            if len(self._waiting) == MAX_BUFFERED:
                self.dropped += 1
            self._waiting.append(entry)

    def take(self) -> list[Noted]:
        """Empty the buffer and return its entries."""
        with self._lock:
            taken = list(self._waiting)
            self._waiting.clear()
        return taken

    def drop(self, space: str | None, erasure: str | None) -> None:
        """Drop the entries of a space, or all, since what they quote may have been erased.

        Args:
            erasure: The mark of the erasure.
        """
        with self._lock:
            self.erasure = erasure
            others = [noted for noted in self._waiting if space not in (None, noted.entry.space)]
            self.dropped += len(self._waiting) - len(others)
            self._waiting.clear()
            self._waiting.extend(others)

    def put_back(self, entries: Sequence[Noted]) -> None:
        """Return entries that could not be written, in front of newer ones."""
        with self._lock:
            everything = [*entries, *self._waiting]
            self._waiting.clear()
            self._waiting.extend(everything)
            self.dropped += len(everything) - len(self._waiting)


def record(
    store: Store,
    buffer: RetrievalBuffer,
    injection: Injection,
    considered: tuple[Line, ...],
    *,
    scope: Scope,
    message: str,
) -> None:
    """Buffer the retrieval of one turn; a read-only process logs nothing."""
    if store.read_only:
        return
    trace = injection.trace
    notes = sum(item.kind == "note" for item in injection.items)
    entry = Retrieval(
        id=injection.id,
        space=scope.space,
        user=scope.user,
        channel=scope.channel,
        message_preview=preview(_without_answer(store, message[:_PREVIEWED_CHARACTERS], scope)),
        memories_injected=len(injection.items) - notes,
        notes_injected=notes,
        tokens_added=injection.tokens,
        took_ms=injection.took_ms,
        stages=trace.stages,
        missing=trace.missing,
        skipped=trace.skipped,
        created_at=store.now(),
    )
    buffer.add(Noted(entry, scoring.LOGGED_SIGNALS, considered))


def flush(store: Store, buffer: RetrievalBuffer, *, from_reserve: bool = False) -> None:
    """Write the buffered retrievals to the store in one transaction.

    Args:
        buffer: The retrievals.
        from_reserve: Whether the write may use the reserve of the disk; see `Store.write`.

    Raises:
        StoreError: They could not be written; they stay in the buffer.
    """
    # An erasure flushes while it locks the store: then no entry may be between buffer and store.
    with store.fenced(None), store.alone():
        waiting = buffer.take()
        if not waiting:
            return
        try:
            # The entries were only in memory until now: a power cut may still lose them.
            with store.write(durable=False, from_reserve=from_reserve) as connection:
                erasure = store.last_erasure(connection)
                if known := erasure == buffer.erasure:
                    rows.add(connection, waiting)
        except BaseException:
            buffer.put_back(waiting)
            raise
        if not known:
            # Another process has erased, and it is not known where: they may quote what was.
            buffer.dropped += len(waiting)
            buffer.drop(None, erasure)


def retrievals(
    store: Store,
    buffer: RetrievalBuffer,
    *,
    scope: Scope,
    limit: int = 20,
    since: datetime | str | None = None,
    channel_only: bool = False,
    cursor: str | None = None,
) -> list[Retrieval]:
    """The retrieval log of the space, newest first: the items of each turn, with their outcomes.

    Args:
        scope: The space, and the channel for `channel_only`.
        limit: At most this many, 1 to 1,000.
        since: Earliest time, inclusive.
        channel_only: Only turns of the scope's channel.
        cursor: The id of the last retrieval of the page before.

    Raises:
        InvalidInput: An argument is invalid.
    """
    limit, since = check_limit(limit), as_utc(since, name="since")
    channel = only_channel(scope, channel_only)
    flush_with_room(store, buffer)
    with store.read() as connection:
        before = None
        if cursor is not None:
            before = rows.get(connection, scope.space, check_id(cursor, name="cursor"))
            if before is None:
                raise InvalidInput(
                    "cursor is the id of no retrieval: give that of the last one of a page, or leave it out."
                )
        return rows.find(
            connection, scope.space, channel=channel, since=since, before=before, limit=limit
        )


def retrieval(store: Store, buffer: RetrievalBuffer, id: str, *, scope: Scope) -> Retrieval:
    """One entry of the retrieval log, by the id of its injection.

    Raises:
        NotFound: The log of the space has no entry with this id.
    """
    check_id(id)
    flush_with_room(store, buffer)
    with store.read() as connection:
        found = rows.get(connection, scope.space, id)
    if found is None:
        raise NotFound(
            f"space {scope.space!r} has no retrieval {id!r}: take ids from retrievals, which keeps them "
            "for the setting retrieval_days."
        )
    return found


def flush_with_room(store: Store, buffer: RetrievalBuffer) -> None:
    """Write the buffered retrievals before a read, unless the disk is full."""
    with suppress(StoreFull):
        flush(store, buffer)


def expire(corpus: Corpus) -> None:
    """Delete retrievals older than the setting `retrieval_days` of their space."""
    with corpus.store.read() as connection:
        oldest = rows.oldest(connection)
    chosen = corpus.settings.of_all(oldest)
    for space, at in oldest.items():
        oldest_retained = corpus.store.now() - timedelta(days=chosen[space].retrieval_days)
        if at < oldest_retained:
            with corpus.store.write(from_reserve=True) as connection:
                rows.remove_before(connection, space, oldest_retained)


def _without_answer(store: Store, message: str, scope: Scope) -> str:
    """The message without a secret that the assistant had asked for."""
    try:
        return secrets.mask_values(message, secrets_answered(store, message, scope))
    except StoreError:
        return message


def preview(message: str) -> str:
    """The beginning of a message on one line, without secrets."""
    storable = without_control(message.encode(errors="replace").decode())
    line = " ".join(secrets.mask(storable).split())
    if len(line) <= PREVIEW_CHARACTERS:
        return line
    # Cut between words: an erasure would not find part of a name.
    return line[: PREVIEW_CHARACTERS + 1].rpartition(" ")[0] + "…"
