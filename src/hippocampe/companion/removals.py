"""Find what any process forgot or erased while a model still sees a reminder of it."""

from collections.abc import Collection
from datetime import datetime

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import HippocampeError
from hippocampe.types import AuditAction, AuditEntry, Scope
from hippocampe.validation import MAX_LIMIT

_REMOVALS: frozenset[AuditAction] = frozenset(("delete", "forget", "expire", "erase"))


async def removals(hippo: AsyncHippocampe, scope: Scope, since: datetime) -> list[AuditEntry]:
    """The removals in the space, newest first; none without the right to read the audit log."""
    try:
        entries = await hippo.audit(scope=scope, since=since, limit=MAX_LIMIT)
    except HippocampeError:
        return []
    return [each for each in entries if each.action in _REMOVALS]


def may_quote(at: datetime, ids: Collection[str], removal: AuditEntry) -> bool:
    """Return whether a reminder of some items may quote what was removed after it: an erasure does not say what."""
    removed: Collection[str] = removal.detail.get("ids", ())
    named = len(removed) == removal.detail["count"]
    return at <= removal.at and not (named and set(ids).isdisjoint(removed))
