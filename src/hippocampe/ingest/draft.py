"""Check the arguments of `remember` and build a draft: a statement that is not stored yet."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from uuid6 import uuid7

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.settings import SpaceSettings
from hippocampe.language.datetimes import as_utc, parse_ttl
from hippocampe.language.subjects import subjects_of
from hippocampe.language.temporal.events import parse_event
from hippocampe.store import memories
from hippocampe.types import MAX_LABEL_CHARACTERS, UNSET, Memory, Metadata, Scope, Unset
from hippocampe.updates.draft import INHERITED_FIELDS, Draft
from hippocampe.validation import (
    MAX_EVIDENCE,
    MAX_REPLACES,
    check_collection,
    check_identifiers,
    check_importance,
    check_list,
    check_new_key,
    clean_text,
    redact,
    redact_metadata,
    redact_named,
    redact_subjects,
    strip_injection,
)


def make_draft(
    corpus: Corpus,
    content: str,
    *,
    scope: Scope,
    type: str | None = None,
    collection: str | None = None,
    category: str | None = None,
    key: str | None = None,
    subjects: Sequence[str] = (),
    importance: float | None = None,
    ttl: str | timedelta | Unset | None = UNSET,
    occurred_at: datetime | str | None = None,
    source: str = "conversation",
    replaces: Sequence[str] = (),
    evidence: Sequence[str] = (),
    metadata: Metadata | None = None,
) -> Draft:
    """Store one durable statement; memories that it corrects become history.

    A correction inherits the type, importance, subjects, category and collection that the caller
    omits. A new type replaces the default importance of the old type.

    Args:
        content: The statement, 1 to 100,000 characters. Secrets in it are masked.
        scope: The space, and the user and channel it comes from.
        type: One of `hippocampe.types.DEFAULT_IMPORTANCE`; default of a new memory: `fact`.
        collection: `memory` (default of a new memory), `self`, `goal` or `summary`.
        category: Of `self` and `goal`: one of `hippocampe.types.CATEGORIES`.
        key: A unique name in the space, without secrets; writing it again replaces the value.
        subjects: Flat tags; an empty list counts as omitted.
        importance: 0 to 1; default of a new memory: that of its type.
        ttl: Time to live: `"1h"`, `"7d"`, `"2w"`, a timedelta, or None for ever. By default that
            of the category in the setting `category_ttl`, or for ever.
        occurred_at: When it happened, if not now.
        source: Its origin. Secrets in it are masked.
        replaces: Ids of memories that it supersedes.
        evidence: Ids of the messages it was extracted from.
        metadata: Key-value pairs of the caller, up to 32 keys and 4 KiB: strings, numbers,
            booleans, None. Secrets are masked. A correction inherits omitted pairs, as far as they fit.

    Returns:
        The memory, and whether it was `inserted`, `updated` or `reinforced`.

    Raises:
        InvalidInput: An argument is invalid; nothing was changed.
        NotFound: An id in `replaces` is not a current memory of the space.
    """
    check_identifiers(space=scope.space, user=scope.user, channel=scope.channel)
    replaced = check_list("replaces", replaces, most=MAX_REPLACES)
    now = corpus.store.now()
    lifetime = (
        default_lifetime(corpus.settings, scope.space, collection, category)
        if isinstance(ttl, Unset)
        else parse_ttl(ttl)
    )
    refuse = corpus.config.refuse_secrets
    key = None if key is None else check_new_key(key)
    memory = Memory(
        id=str(uuid7()),
        space=scope.space,
        content=mask_keyed(
            corpus, scope.space, strip_injection(clean_text(content)), key, replaced
        ),
        collection="memory" if collection is None else collection,
        type="fact" if type is None else type,
        category=category,
        key=key,
        subjects=redact_subjects(subjects, refuse=refuse, beside=content),
        importance=check_importance("fact" if type is None else type, importance),
        source=redact(
            clean_text(source, what="source", limit=MAX_LABEL_CHARACTERS),
            refuse=refuse,
            what="source",
        ),
        user=scope.user,
        channel=scope.channel,
        created_at=now,
        updated_at=now,
        occurred_at=as_utc(occurred_at, name="occurred_at")
        or event_time(corpus.settings, content, scope, now),
        expires_at=now + lifetime if lifetime else None,
        evidence=check_list("evidence", evidence, most=MAX_EVIDENCE),
        metadata=redact_metadata(
            {} if metadata is None else metadata, refuse=refuse, beside=content
        ),
    )
    # A missing category may be inherited from the superseded memory.
    check_collection(memory, complete=False)
    values = (type, importance, memory.subjects or None, category, collection)
    provided = (
        name for name, value in zip(INHERITED_FIELDS, values, strict=True) if value is not None
    )
    names = tuple(subjects_of(memory.content))
    return Draft(
        memory,
        names,
        replaced,
        frozenset(provided),
        keeps_lifetime=not isinstance(ttl, Unset),
    )


def mask_keyed(
    corpus: Corpus, space: str, content: str, key: str | None, replaces: Sequence[str]
) -> str:
    """Mask the secrets in a statement, which its key may tell: its own, or one of a memory that it replaces.

    Raises:
        InvalidInput: It contains a secret, and secrets are refused.
    """
    names = {key} if key else {""}
    if replaces and not key:
        with corpus.store.read() as connection:
            replaced = memories.get(connection, space, replaces)
        names |= {old.key for old in replaced.values() if old.key}
    for name in sorted(names):
        content = redact_named(name, content, refuse=corpus.config.refuse_secrets)
    return content


def event_time(
    settings: SpaceSettings, content: str, scope: Scope, now: datetime
) -> datetime | None:
    """Resolve the time of an event that a statement gives relative to now ("yesterday"); None without one."""
    zone = settings.of(scope.space).timezone
    return parse_event(content, now=now, timezone=zone)


def default_lifetime(
    settings: SpaceSettings, space: str, collection: str | None, category: str | None
) -> timedelta | None:
    """The time to live of a category in the settings of a space; None is for ever."""
    if category is None:
        return None
    chosen = settings.of(space).category_ttl
    return parse_ttl(chosen.get(f"{collection}/{category}"))
