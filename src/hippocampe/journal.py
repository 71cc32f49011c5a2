"""The log of retrievals: what was put in front of the model, what was left out, and why.

An injection is noted in memory, which costs the turn nothing, and written with others later. What
was considered is logged by id, with its signals; its content never is.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from hippocampe import settings
from hippocampe.parts import Noted, Parts
from hippocampe.remember import check_limit
from hippocampe.store import retrievals as rows
from hippocampe.times import as_utc
from hippocampe.types import Considered, Injection, Retrieval, Retrieved, Scope

# Longer than any secret, so that the preview is masked whole.
_KEPT_CHARACTERS = 10_000


def note(
    parts: Parts,
    injection: Injection,
    *,
    scope: Scope,
    message: str,
    items: Callable[[], tuple[Retrieved, ...]] | None = None,
) -> None:
    """Keep an injection for the log; the oldest that waits is dropped when too many do.

    Args:
        items: Makes the lines of the log; default: from what the trace says was considered.
    """
    lines = items or partial(_lines, injection)
    noted = Noted(injection, scope, message[:_KEPT_CHARACTERS], parts.now(), lines)
    with parts.noted_lock:
        if len(parts.noted) == parts.noted.maxlen:
            parts.dropped += 1
        parts.noted.append(noted)


def _lines(injection: Injection) -> tuple[Retrieved, ...]:
    return tuple(retrieved(each) for each in injection.trace.considered)


def write(parts: Parts) -> None:
    """Write what waits in one transaction.

    Raises:
        StoreError: It could not be written; it waits on.
    """
    # An erasure holds the store while it writes what waits, so none may be on its way elsewhere.
    with parts.store.exclusive():
        with parts.noted_lock:
            waiting = list(parts.noted)
            parts.noted.clear()
        if not waiting:
            return
        try:
            with parts.store.write() as connection:
                rows.add(connection, [_entry(noted) for noted in waiting])
        except BaseException:
            _put_back(parts, waiting)
            raise


def _put_back(parts: Parts, waiting: Sequence[Noted]) -> None:
    with parts.noted_lock:
        everything = [*waiting, *parts.noted]
        parts.noted.clear()
        parts.noted.extend(everything)
        parts.dropped += len(everything) - len(parts.noted)


def _entry(noted: Noted) -> Retrieval:
    injection, trace = noted.injection, noted.injection.trace
    notes = sum(item.kind == "note" for item in injection.items)
    return Retrieval(
        id=injection.id,
        space=noted.scope.space,
        user=noted.scope.user,
        channel=noted.scope.channel,
        message_preview=rows.preview(noted.message),
        memories_injected=len(injection.items) - notes,
        notes_injected=notes,
        tokens_added=injection.tokens,
        took_ms=injection.took_ms,
        stages=trace.stages,
        missing=trace.missing,
        skipped=trace.skipped,
        created_at=noted.at,
        items=noted.items(),
    )


def retrieved(considered: Considered) -> Retrieved:
    """What was considered, as a line of the log."""
    found = considered.recollection
    return Retrieved(
        id=found.id,
        kind=found.kind,
        score=found.score,
        path=considered.path,
        outcome=considered.outcome,
        # Four digits say why, and halve what the log takes on disk.
        signals={signal.name: round(signal.value, 4) for signal in found.why},
    )


def retrievals(
    parts: Parts,
    *,
    scope: Scope,
    limit: int = 20,
    since: datetime | str | None = None,
    channel_only: bool = False,
) -> list[Retrieval]:
    """The latest injections of a space, newest first.

    Raises:
        InvalidInput: An argument cannot be used.
    """
    limit, since = check_limit(limit), as_utc(since, name="since")
    write(parts)
    channel = scope.channel if channel_only else None
    with parts.store.read() as connection:
        return rows.find(connection, scope.space, channel=channel, since=since, limit=limit)


def expire(parts: Parts) -> None:
    """Remove what is older than the setting `retrieval_days` of its space."""
    with parts.store.read() as connection:
        oldest = rows.oldest(connection)
    for space, at in oldest.items():
        days = settings.read(parts, scope=Scope(space=space)).retrieval_days
        kept_from = parts.now() - timedelta(days=days)
        if at < kept_from:
            with parts.store.write() as connection:
                rows.remove_before(connection, space, kept_from)
