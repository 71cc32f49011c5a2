"""The log of retrievals: what was put in front of the model, what was left out, and why.

An injection is noted in memory, which costs the turn nothing, and written with others later. What
was considered is logged by id, with its signals; its content never is.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from hippocampe.engine import settings
from hippocampe.engine.context import Context
from hippocampe.language import secrets
from hippocampe.language.datetimes import as_utc
from hippocampe.language.text import without_control
from hippocampe.retrieval import scoring
from hippocampe.store import retrievals as rows
from hippocampe.store.retrievals import Line, Noted
from hippocampe.types import Injection, Retrieval, Scope
from hippocampe.validation import check_limit

# Longer than any secret, so that the preview is masked whole.
PREVIEW_CHARACTERS = 120
_KEPT_CHARACTERS = 10_000


def note(
    context: Context,
    injection: Injection,
    considered: tuple[Line, ...],
    *,
    scope: Scope,
    message: str,
) -> None:
    """Keep an injection for the log; the oldest that waits is dropped when too many do.

    A read-only process logs nothing.
    """
    if context.store.read_only:
        return
    trace = injection.trace
    notes = sum(item.kind == "note" for item in injection.items)
    entry = Retrieval(
        id=injection.id,
        space=scope.space,
        user=scope.user,
        channel=scope.channel,
        message_preview=preview(message[:_KEPT_CHARACTERS]),
        memories_injected=len(injection.items) - notes,
        notes_injected=notes,
        tokens_added=injection.tokens,
        took_ms=injection.took_ms,
        stages=trace.stages,
        missing=trace.missing,
        skipped=trace.skipped,
        created_at=context.now(),
    )
    with context.noted_lock:
        if len(context.noted) == context.noted.maxlen:
            context.dropped += 1
        context.noted.append(Noted(entry, scoring.NAMES, considered))


def preview(message: str) -> str:
    """The beginning of a message on one line, without secrets."""
    storable = without_control(message.encode(errors="replace").decode())
    line = " ".join(secrets.mask(storable).split())
    if len(line) <= PREVIEW_CHARACTERS:
        return line
    # Cut between words: an erasure would not find part of a name.
    return line[: PREVIEW_CHARACTERS + 1].rpartition(" ")[0] + "…"


def write(context: Context) -> None:
    """Write what waits in one transaction.

    Raises:
        StoreError: It could not be written; it waits on.
    """
    # An erasure holds the store while it writes what waits, so none may be on its way elsewhere.
    with context.store.exclusive():
        with context.noted_lock:
            waiting = list(context.noted)
            context.noted.clear()
        if not waiting:
            return
        try:
            # Until now it waited in memory: a power cut may as well take it a moment later.
            with context.store.write(durable=False) as connection:
                rows.add(connection, waiting)
        except BaseException:
            _put_back(context, waiting)
            raise


def _put_back(context: Context, waiting: Sequence[Noted]) -> None:
    with context.noted_lock:
        everything = [*waiting, *context.noted]
        context.noted.clear()
        context.noted.extend(everything)
        context.dropped += len(everything) - len(context.noted)


def retrievals(
    context: Context,
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
    write(context)
    channel = scope.channel if channel_only else None
    with context.store.read() as connection:
        return rows.find(connection, scope.space, channel=channel, since=since, limit=limit)


def expire(context: Context) -> None:
    """Remove what is older than the setting `retrieval_days` of its space."""
    with context.store.read() as connection:
        oldest = rows.oldest(connection)
    for space, at in oldest.items():
        days = settings.read(context, scope=Scope(space=space)).retrieval_days
        kept_from = context.now() - timedelta(days=days)
        if at < kept_from:
            with context.store.write() as connection:
                rows.remove_before(connection, space, kept_from)
