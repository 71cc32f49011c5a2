"""How a memory is written: checked, compared by rule with what is known, and nothing destroyed.

Similarity and shared names only nominate the memories worth comparing; `hippocampe.consolidation.decide` decides.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import nlargest
from typing import Any, TypedDict, Unpack

from uuid6 import uuid7

from hippocampe.consolidation.decide import Decision, Verdict, compare, relation_of, subjects_of
from hippocampe.engine.context import Aliases, Context
from hippocampe.engine.unit_of_work import Change
from hippocampe.engine.vocabulary import Prepared
from hippocampe.errors import IndexUnavailable, NotFound
from hippocampe.index.documents import (
    fold_subjects,
    memory_embedding_text,
    memory_point,
    memory_text,
)
from hippocampe.language.datetimes import as_utc, parse_ttl
from hippocampe.language.equality import equality_digest
from hippocampe.language.lexicon import together
from hippocampe.language.sentence import OneNames, read
from hippocampe.language.text import fold, is_first_person, keywords
from hippocampe.protocols import Filter
from hippocampe.store import associations, embeddings, memories, statements
from hippocampe.store.statements import StoredStatement
from hippocampe.types import (
    DEFAULT_IMPORTANCE,
    MAX_LABEL_CHARACTERS,
    Association,
    Memory,
    Metadata,
    Remembered,
    Scope,
)
from hippocampe.validation import (
    check_collection,
    check_importance,
    check_list,
    check_metadata,
    check_subjects,
    clean,
    own,
    safe,
    safe_metadata,
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


class Details(TypedDict, total=False):
    """The optional arguments of `remember`."""

    type: str | None
    collection: str | None
    category: str | None
    key: str | None
    subjects: Sequence[str]
    importance: float | None
    ttl: str | timedelta | None
    occurred_at: datetime | str | None
    source: str
    replaces: Sequence[str]
    evidence: Sequence[str]
    metadata: Metadata | None


KEPT = ("type", "importance", "subjects", "category", "collection")
"""Fields that an update takes from the superseded memory unless the caller gives them."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked statement that is not stored yet.

    Attributes:
        memory: The statement; fields that were not given have their defaults.
        names: The subjects found in its words.
        replaces: Ids of memories that it supersedes by order of the caller.
        given: Those of `KEPT` that the caller gave.
    """

    memory: Memory
    names: tuple[str, ...]
    replaces: tuple[str, ...] = ()
    given: frozenset[str] = frozenset(KEPT)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a statement is to the current memories.

    At most one of `same`, `replaced` and `related` is filled.

    Attributes:
        same: The memory that already states it.
        replaced: The memories it supersedes.
        related: Ids of memories that look alike, each with why and whether to list the pair for
            review.
        reason: Which rule decided.
        similarity: The cosine with the nearest memory that was compared, if any was.
    """

    same: Memory | None = None
    replaced: tuple[Memory, ...] = ()
    related: tuple[tuple[str, str, bool], ...] = ()
    reason: str = "new"
    similarity: float | None = None


def remember(
    context: Context, content: str, *, scope: Scope, **details: Unpack[Details]
) -> Remembered:
    """Store one statement by the decision table.

    Raises:
        InvalidInput: An argument cannot be used; nothing was changed.
        NotFound: An id in `replaces` is not a current memory of the space.
    """
    new = draft(context, content, scope=scope, **details)
    (prepared,) = prepare(context, [new])
    with context.change() as change:
        return decide_and_store(context, change, new, prepared)


def draft(
    context: Context,
    content: str,
    *,
    scope: Scope,
    type: str | None = None,
    collection: str | None = None,
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
) -> Draft:
    """Check the arguments of `remember`.

    Raises:
        InvalidInput: One of them cannot be used.
    """
    now = context.now()
    lifetime = parse_ttl(ttl)
    memory = Memory(
        id=str(uuid7()),
        space=scope.space,
        content=safe(own(clean(content)), refuse=context.config.refuse_secrets),
        collection="memory" if collection is None else collection,
        type="fact" if type is None else type,
        category=category,
        key=None if key is None else clean(key, what="key", limit=MAX_LABEL_CHARACTERS),
        subjects=check_subjects(subjects),
        importance=check_importance("fact" if type is None else type, importance),
        source=clean(source, what="source", limit=MAX_LABEL_CHARACTERS),
        user=scope.user,
        channel=scope.channel,
        created_at=now,
        updated_at=now,
        occurred_at=as_utc(occurred_at, name="occurred_at"),
        expires_at=now + lifetime if lifetime else None,
        evidence=check_list("evidence", evidence),
        metadata=safe_metadata(
            {} if metadata is None else metadata, refuse=context.config.refuse_secrets
        ),
    )
    # A category that was not given may come from the memory that is superseded.
    check_collection(memory, complete=False)
    values = (type, importance, memory.subjects or None, category, collection)
    given = (name for name, value in zip(KEPT, values, strict=True) if value is not None)
    names = tuple(subjects_of(memory.content))
    return Draft(memory, names, check_list("replaces", replaces), frozenset(given))


def prepare(context: Context, drafts: Sequence[Draft]) -> list[Prepared]:
    """Embed statements."""
    new = [draft.memory for draft in drafts]
    return context.prepare(
        [memory_embedding_text(memory) for memory in new], [memory_text(memory) for memory in new]
    )


def decide_and_store(
    context: Context, change: Change, draft: Draft, prepared: Prepared
) -> Remembered:
    """Store a checked statement by the decision table, in a transaction.

    Raises:
        InvalidInput: It needs a category, and supersedes nothing that has one.
        NotFound: An id in `replaces` is not a current memory of the space.
    """
    judgement = judge(context, change, draft, prepared)
    if judgement.same is not None:
        return _reinforce(change, draft, prepared, judgement.same, judgement)
    memory = draft.memory
    if judgement.replaced:
        memory = _updated(draft, judgement.replaced)
    check_collection(memory)
    insert(change, memory, draft.names, prepared)
    supersede_and_link(change, memory, judgement)
    return Remembered(
        memory,
        "updated" if judgement.replaced else "inserted",
        tuple(old.id for old in judgement.replaced),
        judgement.similarity,
        judgement.reason,
    )


def judge(
    context: Context,
    change: Change,
    draft: Draft,
    prepared: Prepared,
    *,
    successor: str | None = None,
) -> Judgement:
    """Decide by rule what a statement is to the other current memories; change nothing.

    Args:
        successor: The memory that had superseded the statement. If it says the same in more words,
            it is replaced.

    Raises:
        NotFound: An id in `replaces` is not a current memory of the space.
    """
    memory, connection = draft.memory, change.connection
    named = _named_to_replace(change, draft)
    if named:
        same_key = any(old.key == memory.key and memory.key for old in named)
        return Judgement(replaced=tuple(named), reason="same key" if same_key else "replaced by id")
    same = double_of(change, memory)
    if same is not None:
        return Judgement(same=same, reason="same statement", similarity=1.0)
    # What this transaction has written only shows in its own connection.
    written = bool(change.kinds())
    aliases = (
        statements.aliases(connection, memory.space) if written else context.aliases(memory.space)
    )
    related: list[tuple[str, str, bool]] = []
    updated: list[str] = []
    reason = "new"
    nominated = _nominate(context, change, draft, prepared, aliases)
    nearest = max((cosine for _, cosine in nominated if cosine is not None), default=None)
    names = OneNames(aliases)
    statement = read(memory.content, subjects=memory.subjects, names=names)
    for old, cosine in nominated:
        decision = compare(statement, read(old.content, subjects=old.subjects, names=names))
        verdict = decision.verdict
        if verdict is Verdict.REINFORCED and old.id == successor:
            verdict = Verdict.UPDATED
        if verdict is Verdict.REINFORCED and not updated:
            same = memories.get(connection, memory.space, [old.id])[old.id]
            return Judgement(same=same, reason=decision.reason, similarity=cosine)
        if verdict is Verdict.UPDATED and not (updated and _is_vague(decision)):
            reason = reason if updated else decision.reason
            updated.append(old.id)
        elif verdict is Verdict.RELATED:
            related.append((old.id, decision.reason, False))
        elif verdict is Verdict.UNSURE and cosine is not None:
            related.append((old.id, decision.reason, True))
    if updated:
        found = memories.get(connection, memory.space, updated)
        replaced = tuple(found[id] for id in updated)
        return Judgement(replaced=replaced, reason=reason, similarity=nearest)
    return Judgement(
        related=tuple(related[:MAX_RELATED]),
        reason=related[0][1] if related else "new",
        similarity=nearest,
    )


def double_of(change: Change, memory: Memory) -> Memory | None:
    """Another current memory that states the same up to case, accents, punctuation and spaces."""
    same = statements.same_statement(change.connection, memory, equality_digest(memory.content))
    return same if same is not None and _same_voice(memory, same) else None


def supersede_and_link(change: Change, memory: Memory, judgement: Judgement) -> None:
    """Supersede what a stored statement replaces, and link it to what it resembles."""
    at = memory.updated_at
    for old in judgement.replaced:
        memories.supersede(change.connection, old, memory.id, at)
        change.unindex("memory", old.id, old.space)
    edges = [
        (Association(memory.id, old.id, "updates", judgement.reason, at), False)
        for old in judgement.replaced
    ]
    edges += [
        (Association(memory.id, old, "related_to", why, at), review)
        for old, why, review in judgement.related
    ]
    associations.add(change.connection, memory.space, edges)


def _is_vague(decision: Decision) -> bool:
    """Whether the update does not say which old choice it means ("use MySQL instead"): it then
    replaces only the nearest."""
    return decision.reason.startswith("choice:")


def _same_voice(memory: Memory, old: Memory | StoredStatement) -> bool:
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
        if holder is not None and holder.id != memory.id:
            named[holder.id] = holder
    return list(named.values())


def _nominate(
    context: Context,
    change: Change,
    draft: Draft,
    prepared: Prepared,
    aliases: Aliases,
) -> list[tuple[StoredStatement, float | None]]:
    """Memories worth comparing, those near by vector first, each with its cosine if known."""
    memory, connection = draft.memory, change.connection
    where = Filter(
        space=memory.space,
        collections=(memory.collection,),
        category=memory.category,
        now=memory.updated_at.timestamp(),
    )
    cosines: dict[str, float] = {}
    try:
        # What this transaction removed is still in the index.
        limit = NOMINATED_BY_VECTOR + len(change.removed)
        hits = context.index.nearest("memory", prepared.dense, limit=limit, where=where)
        cosines = {hit.id: hit.score for hit in hits if ("memory", hit.id) not in change.removed}
        context.outages.works("index")
    except IndexUnavailable as exc:
        # Compared by subject only.
        context.outages.failed("index", exc)
    cosines |= change.near("memory", prepared.dense, where)
    near = [
        (cosine, id) for id, cosine in cosines.items() if cosine >= context.embedder.dedup_threshold
    ]
    cosines = {id: cosine for cosine, id in nlargest(NOMINATED_BY_VECTOR, near)}
    names = set(fold_subjects((*memory.subjects, *draft.names)))
    names |= {other for name in names for other in aliases.get(name, ())}
    where_known = (connection, memory.space, memory.collection)
    found = {old.id: old for old in statements.current(*where_known, list(cosines))}
    claim = relation_of(memory.content)
    if claim is not None:
        subjects = {fold(claim.subject), *aliases.get(fold(claim.subject), ())}
        found |= {old.id: old for old in statements.claiming(*where_known, claim.name, subjects)}
    said = set(keywords(memory.content)).difference(*(name.split() for name in names))
    for old in statements.about(*where_known, names, NOMINATED_BY_SUBJECT):
        # Without a word in common but the name, no rule would have anything to say.
        if old.id not in found and not said.isdisjoint(keywords(old.content)):
            found[old.id] = old
    comparable = [
        old
        for old in found.values()
        if old.id != memory.id
        and (memory.category is None or old.category == memory.category)
        and (memory.key is None or old.key is None)
        and _same_voice(memory, old)
        and (old.expires_at is None or old.expires_at > memory.updated_at)
    ]
    comparable.sort(key=lambda old: (-cosines.get(old.id, -1.0), old.id))
    return [(old, cosines.get(old.id)) for old in comparable]


def insert(change: Change, memory: Memory, names: Iterable[str], prepared: Prepared) -> None:
    """Store a new memory with everything derived from its statement, and index it."""
    memories.add(change.connection, [memory], [equality_digest(memory.content)])
    statements.add_readings(change.connection, [read_statement(memory, names)])
    change.index("memory", memory_point(memory, prepared.dense, names), prepared)


def read_statement(memory: Memory, names: Iterable[str]) -> statements.Reading:
    """What a statement says: the names in it, its claim, its alias."""
    claim = relation_of(memory.content)
    return statements.Reading(
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


def _updated(draft: Draft, replaced: Sequence[Memory]) -> Memory:
    """The new statement with what the caller did not give, as the superseded memories have it.

    Of several, the most important one counts; the new statement has the subjects of all.
    """
    memory, given = draft.memory, draft.given
    old = max(replaced, key=lambda each: each.importance)
    collection = memory.collection if "collection" in given else old.collection
    kept: dict[str, Any] = {
        "collection": collection,
        "key": memory.key or next((each.key for each in replaced if each.key), None),
        "metadata": _joined_metadata([*replaced, memory]),
    }
    if "type" not in given:
        kept["type"] = old.type
    if "importance" not in given:
        kept["importance"] = kept_importance(old, kept.get("type", memory.type))
    if "subjects" not in given:
        names = (name for each in replaced for name in each.subjects)
        kept["subjects"] = tuple(dict.fromkeys(names))
    if "category" not in given and collection == old.collection:
        kept["category"] = old.category
    return replace(memory, **kept)


def kept_importance(old: Memory, type: str) -> float:
    """The importance of a memory whose type changes: its own, unless it was that of its type."""
    if old.importance == DEFAULT_IMPORTANCE[old.type]:
        return check_importance(type, None)
    return old.importance


def _joined_metadata(versions: Sequence[Memory]) -> Metadata:
    """The metadata of all versions; where keys are the same, the last one wins."""
    return check_metadata(
        {name: each.metadata[name] for each in versions for name in each.metadata}
    )


def _reinforce(
    change: Change, draft: Draft, prepared: Prepared, old: Memory, judgement: Judgement
) -> Remembered:
    new = draft.memory
    ends = [each.expires_at for each in (old, new)]
    later = None if None in ends else max(end for end in ends if end is not None)
    importance = old.importance
    if not draft.given.isdisjoint(("type", "importance")):
        importance = max(importance, new.importance)
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
    return Remembered(stronger, "reinforced", (), judgement.similarity, judgement.reason)


def rewrite(change: Change, memory: Memory, prepared: Prepared | None = None) -> None:
    """Write a memory that exists, and its point; `prepared` when its statement changed."""
    names = subjects_of(memory.content)
    memories.replace_row(change.connection, memory, equality_digest(memory.content))
    statements.replace_reading(change.connection, read_statement(memory, names))
    if prepared is not None:
        embeddings.remove_vectors(change.connection, [memory.id])
        change.index("memory", memory_point(memory, prepared.dense, names), prepared)
        return
    dense = change.dense("memory", memory.id)
    if dense is not None:
        change.index("memory", memory_point(memory, dense, names))
