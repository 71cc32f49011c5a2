"""How a memory is written: checked, compared by rule with what is known, and nothing destroyed.

Similarity and shared names only nominate the memories worth comparing; `hippocampe.decide` decides.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from uuid6 import uuid7

from hippocampe.checks import (
    check_drawer,
    check_importance,
    check_list,
    check_metadata,
    check_subjects,
    clean,
    own,
    safe,
    safe_metadata,
)
from hippocampe.decide import Decision, Verdict, compare, relation_of, subjects_of
from hippocampe.errors import IndexUnavailable, NotFound
from hippocampe.language.lexicon import together
from hippocampe.lexicon import Prepared
from hippocampe.parts import Change, Parts
from hippocampe.points import fold_subjects, memory_embedding_text, memory_point, memory_text
from hippocampe.protocols import Filter
from hippocampe.statement import OneNames, read
from hippocampe.store import associations, derived, memories
from hippocampe.store.memories import Known
from hippocampe.text import fold, is_first_person, keywords
from hippocampe.times import as_utc, parse_ttl
from hippocampe.types import (
    MAX_LABEL_CHARACTERS,
    Association,
    Memory,
    Metadata,
    Remembered,
    Scope,
)

NOMINATED_BY_VECTOR = 10
NOMINATED_BY_SUBJECT = 20
MAX_RELATED = 8
"""Edges to what a new memory is related to: those nearest, for a person's name alone relates all."""

_NAME = r"[\w.@-]+(?: [\w.-]+){0,2}?"
_ALIAS = re.compile(
    rf"^\s*(?P<name>{_NAME})\s*(?:=|{'|'.join(together('words')['alias'])})\s*(?P<other>{_NAME})\s*[.!]?\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked statement, not stored yet."""

    memory: Memory
    names: tuple[str, ...]
    replaces: tuple[str, ...]


def remember(
    parts: Parts,
    content: str,
    *,
    scope: Scope,
    type: str = "fact",
    collection: str = "memory",
    category: str | None = None,
    key: str | None = None,
    subjects: Sequence[str] = (),
    importance: float | None = None,
    ttl: str | timedelta | None = None,
    occurred_at: datetime | str | None = None,
    source: str = "conversation",
    replaces: Sequence[str] = (),
    evidence: Sequence[str] = (),
    metadata: Metadata | None = None,
) -> Remembered:
    """Store one statement by the decision table.

    Raises:
        InvalidInput: An argument cannot be used; nothing was changed.
        NotFound: An id in `replaces` is not a current memory of the space.
    """
    now = parts.now()
    lifetime = parse_ttl(ttl)
    memory = Memory(
        id=str(uuid7()),
        space=scope.space,
        content=safe(own(clean(content)), refuse=parts.config.refuse_secrets),
        collection=collection,
        type=type,
        category=category,
        key=None if key is None else clean(key, what="key", limit=MAX_LABEL_CHARACTERS),
        subjects=check_subjects(subjects),
        importance=check_importance(type, importance),
        source=clean(source, what="source", limit=MAX_LABEL_CHARACTERS),
        user=scope.user,
        channel=scope.channel,
        created_at=now,
        updated_at=now,
        occurred_at=as_utc(occurred_at, name="occurred_at"),
        expires_at=now + lifetime if lifetime else None,
        evidence=check_list("evidence", evidence),
        metadata=safe_metadata(
            {} if metadata is None else metadata, refuse=parts.config.refuse_secrets
        ),
    )
    check_drawer(memory)
    draft = Draft(memory, tuple(subjects_of(memory.content)), check_list("replaces", replaces))
    prepared = parts.prepare([memory_embedding_text(memory)], [memory_text(memory)])[0]
    with parts.change() as change:
        return _decide_and_store(parts, change, draft, prepared)


def _decide_and_store(parts: Parts, change: Change, draft: Draft, prepared: Prepared) -> Remembered:
    memory, connection = draft.memory, change.connection
    named = _named_to_replace(change, draft)
    if named:
        reason = (
            "same key"
            if any(old.key == memory.key and memory.key for old in named)
            else "replaced by id"
        )
        return _update(change, draft, prepared, named, reason, None)
    same = memories.same_statement(connection, memory)
    if same is not None and _same_voice(memory, same):
        return _reinforce(change, draft, prepared, same, "same statement", 1.0)
    aliases = memories.aliases(connection, memory.space)
    related: list[tuple[str, str, bool]] = []
    updated: list[str] = []
    reason = "new"
    nominated = _nominate(parts, change, draft, prepared, aliases)
    nearest = max((cosine for _, cosine in nominated if cosine is not None), default=None)
    names = OneNames(aliases)
    statement = read(memory.content, subjects=memory.subjects, names=names)
    for old, cosine in nominated:
        decision = compare(statement, read(old.content, subjects=old.subjects, names=names))
        if decision.verdict is Verdict.REINFORCED and not updated:
            same = memories.get(connection, memory.space, [old.id])[old.id]
            return _reinforce(change, draft, prepared, same, decision.reason, cosine)
        if decision.verdict is Verdict.UPDATED and not (updated and _is_vague(decision)):
            reason = reason if updated else decision.reason
            updated.append(old.id)
        elif decision.verdict is Verdict.RELATED:
            related.append((old.id, decision.reason, False))
        elif decision.verdict is Verdict.UNSURE and cosine is not None:
            related.append((old.id, decision.reason, True))
    if updated:
        found = memories.get(connection, memory.space, updated)
        replaced = [found[id] for id in updated]
        return _update(change, draft, prepared, replaced, reason, nearest)
    insert(change, draft.memory, draft.names, prepared)
    edges = [
        (Association(memory.id, old, "related_to", why, memory.created_at), review)
        for old, why, review in related[:MAX_RELATED]
    ]
    associations.add(connection, memory.space, edges)
    return Remembered(
        memory, "inserted", similarity=nearest, reason=related[0][1] if related else "new"
    )


def _is_vague(decision: Decision) -> bool:
    """Whether the update does not say which old choice it means ("use MySQL instead"): it then
    replaces only the nearest."""
    return decision.reason.startswith("choice:")


def _same_voice(memory: Memory, old: Memory | Known) -> bool:
    """Whether "I" is the same person in both: what one user says of themselves is not another's."""
    if memory.user is None or old.user is None or memory.user == old.user:
        return True
    return not (is_first_person(memory.content) or is_first_person(old.content))


def _named_to_replace(change: Change, draft: Draft) -> list[Memory]:
    memory = draft.memory
    named = memories.get(change.connection, memory.space, draft.replaces)
    for id in draft.replaces:
        if id not in named or not named[id].current:
            raise NotFound(
                f"cannot replace memory {id!r}: space {memory.space!r} has no current memory of this id. "
                "Take ids from recall or recent."
            )
    if memory.key is not None:
        holder = memories.holder_of_key(change.connection, memory.space, memory.key)
        if holder is not None:
            named[holder.id] = holder
    return list(named.values())


def _nominate(
    parts: Parts,
    change: Change,
    draft: Draft,
    prepared: Prepared,
    aliases: dict[str, frozenset[str]],
) -> list[tuple[Known, float | None]]:
    """Memories worth comparing, those near by vector first, each with its cosine if known."""
    memory, connection = draft.memory, change.connection
    where = Filter(
        space=memory.space,
        collections=(memory.collection,),
        category=memory.category,
        now=memory.created_at.timestamp(),
    )
    cosines: dict[str, float] = {}
    try:
        hits = parts.index.nearest("memory", prepared.dense, limit=NOMINATED_BY_VECTOR, where=where)
        cosines = {hit.id: hit.score for hit in hits if hit.score >= parts.embedder.dedup_threshold}
        parts.outages.works("index")
    except IndexUnavailable as exc:
        # Compared by subject only.
        parts.outages.failed("index", exc)
    names = set(fold_subjects((*memory.subjects, *draft.names)))
    names |= {other for name in names for other in aliases.get(name, ())}
    where_known = (connection, memory.space, memory.collection)
    found = {old.id: old for old in memories.known(*where_known, list(cosines))}
    claim = relation_of(memory.content)
    if claim is not None:
        subjects = {fold(claim.subject), *aliases.get(fold(claim.subject), ())}
        found |= {old.id: old for old in memories.claiming(*where_known, claim.name, subjects)}
    said = set(keywords(memory.content)).difference(*(name.split() for name in names))
    for old in memories.about(*where_known, names, NOMINATED_BY_SUBJECT):
        # Without a word in common but the name, no rule would have anything to say.
        if old.id not in found and not said.isdisjoint(keywords(old.content)):
            found[old.id] = old
    comparable = [
        old
        for old in found.values()
        if (memory.category is None or old.category == memory.category)
        and (memory.key is None or old.key is None)
        and _same_voice(memory, old)
        and (old.expires_at is None or old.expires_at > memory.created_at)
    ]
    comparable.sort(key=lambda old: (-cosines.get(old.id, -1.0), old.id))
    return [(old, cosines.get(old.id)) for old in comparable]


def insert(change: Change, memory: Memory, names: Iterable[str], prepared: Prepared) -> None:
    """Store a new memory with everything derived from its statement, and index it."""
    memories.add(change.connection, [memory])
    memories.add_readings(change.connection, [read_statement(memory, names)])
    change.index("memory", memory_point(memory, prepared.dense, names), prepared)


def read_statement(memory: Memory, names: Iterable[str]) -> memories.Reading:
    """What a statement says: the names in it, its claim, its alias."""
    claim = relation_of(memory.content)
    return memories.Reading(
        memory.id,
        memory.space,
        fold_subjects((*memory.subjects, *names)),
        (claim.name, fold(claim.subject)) if claim else None,
        _alias(memory),
    )


def _alias(memory: Memory) -> tuple[str, str] | None:
    found = _ALIAS.match(memory.content) if memory.collection == "memory" else None
    if found is None:
        return None
    name, other = fold(found["name"]).strip(), fold(found["other"]).strip()
    return (name, other) if name != other else None


def _update(
    change: Change,
    draft: Draft,
    prepared: Prepared,
    replaced: Sequence[Memory],
    reason: str,
    similarity: float | None,
) -> Remembered:
    memory = draft.memory
    subjects = dict.fromkeys(
        (*memory.subjects, *(name for old in replaced for name in old.subjects))
    )
    key = memory.key or next((old.key for old in replaced if old.key), None)
    memory = replace(
        memory, subjects=tuple(subjects), key=key, metadata=_joined_metadata([*replaced, memory])
    )
    insert(change, memory, draft.names, prepared)
    for old in replaced:
        memories.supersede(change.connection, old, memory.id, memory.created_at)
        change.unindex("memory", old.id, old.space)
    edges = [
        (Association(memory.id, old.id, "updates", reason, memory.created_at), False)
        for old in replaced
    ]
    associations.add(change.connection, memory.space, edges)
    ids = tuple(old.id for old in replaced)
    return Remembered(memory, "updated", ids, similarity, reason)


def _joined_metadata(versions: Sequence[Memory]) -> Metadata:
    """The metadata of all versions; where keys are the same, the last one wins."""
    return check_metadata(
        {name: each.metadata[name] for each in versions for name in each.metadata}
    )


def _reinforce(
    change: Change,
    draft: Draft,
    prepared: Prepared,
    old: Memory,
    reason: str,
    similarity: float | None,
) -> Remembered:
    new = draft.memory
    ends = [each.expires_at for each in (old, new)]
    later = None if None in ends else max(end for end in ends if end is not None)
    importance = max(old.importance, new.importance)
    stronger = replace(
        old,
        # A tenth of what is missing to 1, so that it rises for ever and never arrives.
        importance=importance + 0.1 * (1 - importance),
        access_count=old.access_count + 1,
        last_accessed_at=new.created_at,
        updated_at=new.created_at,
        expires_at=later,
        subjects=tuple(dict.fromkeys((*old.subjects, *new.subjects))),
        evidence=tuple(dict.fromkeys((*old.evidence, *new.evidence))),
        metadata=_joined_metadata([old, new]),
    )
    if new.key and not old.key:
        stronger = replace(stronger, key=new.key, content=new.content)
        rewrite(change, stronger, prepared)
    else:
        rewrite(change, stronger)
    return Remembered(stronger, "reinforced", (), similarity, reason)


def rewrite(change: Change, memory: Memory, prepared: Prepared | None = None) -> None:
    """Write a memory that exists, and its point; `prepared` when its statement changed."""
    names = subjects_of(memory.content)
    memories.replace_row(change.connection, memory)
    memories.replace_reading(change.connection, read_statement(memory, names))
    if prepared is not None:
        derived.remove_vectors(change.connection, [memory.id])
        change.index("memory", memory_point(memory, prepared.dense, names), prepared)
        return
    stored = derived.vectors(change.connection, change.model, [memory.id]).get(memory.id)
    if stored is not None:
        change.index("memory", memory_point(memory, stored.dense, names))
