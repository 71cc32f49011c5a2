"""Find what any process forgot or erased while a model still sees a reminder of it."""

from collections.abc import Collection, Sequence
from datetime import datetime

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import HippocampeError
from hippocampe.types import AuditAction, AuditEntry, Scope
from hippocampe.validation import MAX_LIMIT

_REMOVALS: frozenset[AuditAction] = frozenset(
    ("delete", "delete_turn", "forget", "expire", "erase")
)


async def removals(
    hippo: AsyncHippocampe, scope: Scope, since: datetime
) -> list[AuditEntry] | None:
    """The removals in the space, newest first; None if the audit log cannot be read, which takes a key of an admin."""
    try:
        entries = await hippo.audit(scope=scope, since=since, limit=MAX_LIMIT)
    except HippocampeError:
        return None
    return [each for each in entries if each.action in _REMOVALS]


def may_quote(at: datetime, ids: Collection[str], removed: Sequence[AuditEntry] | None) -> bool:
    """Return whether a reminder of some items may quote what was removed after it: an erasure does not say what."""
    return removed is None or any(_may_quote(at, ids, each) for each in removed)


def _may_quote(at: datetime, ids: Collection[str], removal: AuditEntry) -> bool:
    removed: Collection[str] = removal.detail.get("ids", ())
    named = len(removed) == removal.detail["count"]
    return at <= removal.at and not (named and set(ids).isdisjoint(removed))
