"""Store one statement: compare it by rule with the current memories, then insert, update or
reinforce. Nothing is destroyed; superseded memories stay in history.

`draft` checks the arguments, `nomination` finds candidates by vector and subject, `judgement`
applies the rules of `hippocampe.updates`, `memory_writes` writes.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import wraps
from itertools import islice
from typing import Any, Concatenate, ParamSpec

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.documents import memory_embedding_text, memory_text
from hippocampe.engine.settings import SpaceSettings
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared, Vocabulary
from hippocampe.engine.writer import Writer
from hippocampe.ingest.draft import default_lifetime, make_draft
from hippocampe.ingest.memory_writes import (
    insert_memory,
    supersede,
    supersede_and_link,
    update_memory,
)
from hippocampe.language.statement import parse
from hippocampe.language.text import with_stop
from hippocampe.types import (
    DEFAULT_IMPORTANCE,
    Memory,
    Remembered,
    Scope,
)
from hippocampe.updates.draft import Draft
from hippocampe.updates.judgement import Judgement, judge
from hippocampe.validation import (
    MAX_EVIDENCE,
    MAX_SUBJECTS,
    check_collection,
    check_importance,
    clean_key,
    merge_metadata,
)

P = ParamSpec("P")
REINFORCEMENT = 0.1
"""Share of the distance to 1 by which a repetition raises the importance."""


def _declared_by(
    check: Callable[Concatenate[Corpus, P], Draft],
) -> Callable[[Callable[..., Remembered]], Callable[Concatenate[Writer, P], Remembered]]:
    """Give a step the arguments that `check` declares, and its documentation, which editors show for both."""
    signature = inspect.signature(check)
    _, *arguments = signature.parameters.values()

    def declare(step: Callable[..., Remembered]) -> Callable[Concatenate[Writer, P], Remembered]:
        writer, *_ = inspect.signature(step).parameters.values()
        declared = signature.replace(parameters=[writer, *arguments], return_annotation=Remembered)

        @wraps(step)
        def checked(*given: Any, **named: Any) -> Remembered:
            # Otherwise the error of a missing or unknown argument names `check`, which the caller did not call.
            try:
                declared.bind(*given, **named)
            except TypeError as exc:
                raise TypeError(f"{step.__name__}(): {exc}") from None
            return step(*given, **named)

        vars(checked)["__signature__"] = declared
        checked.__doc__ = check.__doc__
        checked.__annotations__ = check.__annotations__ | step.__annotations__
        return checked

    return declare


@_declared_by(make_draft)
def remember(writer: Writer, *arguments: Any, **named: Any) -> Remembered:
    """Store one statement; its documentation is that of `make_draft`, whose arguments it has."""
    return _remember(writer, make_draft(writer.corpus, *arguments, **named))


def set_fact(writer: Writer, key: str, value: str, *, scope: Scope) -> Remembered:
    """Write a fact; the value it had becomes history.

    Raises:
        InvalidInput: The key or the value cannot be stored.
    """
    return _remember(writer, make_draft(writer.corpus, value, scope=scope, key=clean_key(key)))


def _remember(writer: Writer, draft: Draft) -> Remembered:
    (prepared,) = embed_drafts(writer.corpus.vocabulary, [draft])
    with writer.change() as change:
        return decide_and_store(writer.corpus, change, draft, prepared)


def embed_drafts(vocabulary: Vocabulary, drafts: Sequence[Draft]) -> list[Prepared]:
    """Embed statements, in order, and each of the facts of those that tell several."""
    new = [draft.memory for draft in drafts]
    prepared = vocabulary.prepare(
        [memory_embedding_text(memory) for memory in new], [memory_text(memory) for memory in new]
    )
    facts = [parts if (parts := parse(memory.content).parts)[1:] else () for memory in new]
    texts = [with_stop(fact.text) for each in facts for fact in each]
    vectors = iter(vocabulary.embedder.embed(texts) if texts else ())
    return [
        each._replace(parts=tuple(islice(vectors, len(parts))))
        for each, parts in zip(prepared, facts, strict=True)
    ]


def decide_and_store(
    corpus: Corpus, change: UnitOfWork, draft: Draft, prepared: Prepared
) -> Remembered:
    """Store a checked statement by the decision table, in a transaction.

    Raises:
        InvalidInput: It needs a category and inherits none.
        NotFound: An id in `replaces` is not a current memory of the space.
    """
    judgement = judge(corpus, change, draft, prepared)
    if judgement.duplicate is not None:
        return _reinforce(change, draft, prepared, judgement.duplicate, judgement)
    memory = draft.memory
    if judgement.replaced:
        newest = max(judgement.replaced, key=_stated_at)
        if draft.imported and _stated_at(newest) > memory.created_at:
            return _insert_former(change, draft, prepared, newest, judgement)
        # The clock may be behind that of the process that stored the old one.
        at = max(memory.created_at, _stated_at(newest))
        memory = _inherit(corpus.settings, draft, judgement.replaced)
        memory = replace(memory, created_at=at, updated_at=at)
    check_collection(memory)
    insert_memory(change, memory, draft.names, prepared)
    supersede_and_link(change, memory, judgement)
    return Remembered(
        memory,
        "updated" if judgement.replaced else "inserted",
        tuple(old.id for old in judgement.replaced),
        judgement.similarity,
        judgement.reason,
    )


def _stated_at(memory: Memory) -> datetime:
    """Return when a memory was last stated: learnt, edited, repeated or restored."""
    return max(memory.created_at, memory.updated_at)


def _insert_former(
    change: UnitOfWork, draft: Draft, prepared: Prepared, newer: Memory, judgement: Judgement
) -> Remembered:
    """Insert a statement as the history of a memory that was stated after it and would be replaced by it."""
    memory, at = draft.memory, _stated_at(newer)
    check_collection(memory)
    insert_memory(change, memory, draft.names, prepared)
    supersede(change, [memory], newer, at, former=())
    superseded = replace(memory, superseded_by=newer.id, superseded_at=at)
    return Remembered(superseded, "inserted", (), judgement.similarity, judgement.reason)


def inherited_importance(old: Memory, type: str) -> float:
    """The importance of a memory after a change of type.

    A default importance becomes the default of the new type; any other stays.
    """
    if old.importance == DEFAULT_IMPORTANCE[old.type]:
        return check_importance(type, None)
    return old.importance


def _inherit(settings: SpaceSettings, draft: Draft, replaced: Sequence[Memory]) -> Memory:
    """Complete a statement with the fields of the superseded memories that the caller left out.

    The most important memory wins; subjects are the union of all.
    """
    memory, provided = draft.memory, draft.provided
    old = max(replaced, key=lambda each: each.importance)
    collection = memory.collection if "collection" in provided else old.collection
    inherited: dict[str, Any] = {
        "collection": collection,
        "key": memory.key or next((each.key for each in replaced if each.key), None),
        "metadata": merge_metadata(
            memory.metadata,
            {name: pair for each in replaced for name, pair in each.metadata.items()},
        ),
    }
    if "type" not in provided:
        inherited["type"] = old.type
    if "importance" not in provided:
        type = inherited.get("type", memory.type)
        inherited["importance"] = inherited_importance(old, type)
    if "subjects" not in provided:
        names = (name for each in replaced for name in each.subjects)
        inherited["subjects"] = tuple(dict.fromkeys(names))[:MAX_SUBJECTS]
    if "category" not in provided and collection == old.collection:
        inherited["category"] = old.category
        if not draft.keeps_lifetime:
            lifetime = default_lifetime(settings, memory.space, collection, old.category)
            inherited["expires_at"] = memory.created_at + lifetime if lifetime else None
    return replace(memory, **inherited)


def _occurred_at(old: Memory, new: Memory) -> datetime | None:
    """The time of the event of a repeated memory; a repetition may give it, unless the memory was told before."""
    given = new.occurred_at
    if old.occurred_at is not None or given is None or old.created_at < given <= new.created_at:
        return old.occurred_at
    return given


def _reinforce(
    change: UnitOfWork, draft: Draft, prepared: Prepared, old: Memory, judgement: Judgement
) -> Remembered:
    """Raise the importance of a repeated memory and merge what the repetition adds."""
    new = draft.memory
    ends = [each.expires_at for each in (old, new)]
    latest = None if None in ends else max(end for end in ends if end is not None)
    at = max(old.updated_at, new.created_at)
    importance = old.importance
    if not draft.provided.isdisjoint(("type", "importance")):
        importance = max(importance, new.importance)
    stronger = replace(
        old,
        type=new.type if "type" in draft.provided else old.type,
        importance=importance + REINFORCEMENT * (1 - importance),
        access_count=old.access_count + 1,
        last_accessed_at=at,
        updated_at=at,
        expires_at=latest,
        occurred_at=_occurred_at(old, new),
        subjects=tuple(dict.fromkeys((*old.subjects, *new.subjects)))[:MAX_SUBJECTS],
        evidence=tuple(dict.fromkeys((*old.evidence, *new.evidence)))[-MAX_EVIDENCE:],
        metadata=merge_metadata(new.metadata, old.metadata),
    )
    if new.key and not old.key:
        stronger = replace(stronger, key=new.key, content=new.content)
        update_memory(change, stronger, prepared)
    else:
        update_memory(change, stronger)
    return Remembered(stronger, "reinforced", (), judgement.similarity, judgement.reason)
