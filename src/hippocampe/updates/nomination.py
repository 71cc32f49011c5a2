"""Find the stored memories worth comparing with a new statement."""

from collections.abc import Mapping
from heapq import nlargest

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared
from hippocampe.errors import IndexUnavailable
from hippocampe.language.names import Aliases, with_other_names
from hippocampe.language.relations import relations_of
from hippocampe.language.subjects import fold_subjects
from hippocampe.language.text import fold, keywords
from hippocampe.protocols import Filter
from hippocampe.store import statements
from hippocampe.store.statements import StoredStatement
from hippocampe.types import Memory
from hippocampe.updates.draft import Draft
from hippocampe.updates.learnt import load_model
from hippocampe.updates.speakers import may_be_same
from hippocampe.updates.weighing import LEAST_COSINE, shares_keyword, worth_weighing

MAX_BY_VECTOR = 10
MAX_BY_SUBJECT = 20


def nominate(
    corpus: Corpus, change: UnitOfWork, draft: Draft, prepared: Prepared, aliases: Aliases
) -> list[tuple[StoredStatement, float | None]]:
    """Find the memories to compare a statement with.

    Candidates are near by vector, share a subject and a keyword, or state the same relation.

    Returns:
        Each memory with its cosine, by descending cosine. A memory that the vector search did not
        find comes last, with None.
    """
    memory = draft.memory
    cosines = _nearest(corpus, change, memory, prepared)
    found = _find(change, draft, cosines, aliases)
    comparable = [old for old in found.values() if _is_comparable(memory, old, aliases)]
    comparable.sort(key=lambda old: (-cosines.get(old.id, -1.0), old.id))
    return [(old, cosines.get(old.id)) for old in comparable]


def _nearest(
    corpus: Corpus, change: UnitOfWork, memory: Memory, prepared: Prepared
) -> Mapping[str, float]:
    """The cosines of the nearest memories above the threshold, by id, with the statement or the nearest of its facts.

    The threshold is lower with the embedder of the learnt model.
    """
    where = Filter(
        space=memory.space,
        collections=(memory.collection,),
        category=memory.category,
        now=memory.updated_at.timestamp(),
    )
    found: list[Mapping[str, float]] = []
    vectors = (prepared.dense, *prepared.parts)
    try:
        # The index still contains what this transaction removed.
        limit = MAX_BY_VECTOR + len(change.removed)
        for vector in vectors:
            hits = corpus.index.nearest("memory", vector, limit=limit, where=where)
            found.append(
                {hit.id: hit.score for hit in hits if ("memory", hit.id) not in change.removed}
            )
        corpus.outages.works("index")
    except IndexUnavailable as exc:
        # Fall back to subjects and relations only.
        corpus.outages.failed("index", exc)
    found += [change.near("memory", vector, where) for vector in vectors]
    cosines: dict[str, float] = {}
    for each in found:
        cosines |= {id: max(cosine, cosines.get(id, -1.0)) for id, cosine in each.items()}
    threshold = least_cosine(corpus, LEAST_COSINE)
    near = [(cosine, id) for id, cosine in cosines.items() if cosine >= threshold]
    return {id: cosine for cosine, id in nlargest(MAX_BY_VECTOR, near)}


def least_cosine(corpus: Corpus, least: float) -> float:
    """A threshold that holds for the embedder of the learnt model; for another one, its threshold of duplicates."""
    embedder = corpus.vocabulary.embedder
    return least if embedder.model == load_model().embedder else embedder.dedup_threshold


def _find(
    change: UnitOfWork, draft: Draft, cosines: Mapping[str, float], aliases: Aliases
) -> dict[str, StoredStatement]:
    """Load the nominated memories, by id."""
    memory = draft.memory
    scope = (change.connection, memory.space, memory.collection)
    names = with_other_names(fold_subjects((*memory.subjects, *draft.names)), aliases)
    terms = set(keywords(memory.content))
    found = {
        old.id: old
        for old in statements.current(*scope, list(cosines))
        if worth_weighing(old.content, terms, cosines[old.id])
    }
    for claim in relations_of(memory.content):
        # What another user says of themselves is compared if it is about the subject.
        subjects = _same_person(fold(claim.subject), memory.user, aliases) | {"", "user"}
        found |= {old.id: old for old in statements.claiming(*scope, claim.name, subjects)}
    terms.difference_update(*(name.split() for name in names))
    for old in statements.about(*scope, names, MAX_BY_SUBJECT):
        # No rule can match two statements that share only a name.
        if old.id not in found and shares_keyword(old.content, terms):
            found[old.id] = old
    return found


def _same_person(subject: str, user: str | None, aliases: Aliases) -> set[str]:
    """The names of a subject; "user" and the name of the speaker are one."""
    own = {"user", fold(user), *aliases.get(fold(user), ())} if user else {"user"}
    found = {subject, *aliases.get(subject, ())}
    return found if found.isdisjoint(own) else found | own


def _is_comparable(memory: Memory, old: StoredStatement, aliases: Aliases) -> bool:
    return (
        old.id != memory.id
        and (memory.category is None or old.category == memory.category)
        and (memory.key is None or old.key is None)
        and may_be_same(memory, old, aliases)
        and (old.expires_at is None or old.expires_at > memory.updated_at)
    )
