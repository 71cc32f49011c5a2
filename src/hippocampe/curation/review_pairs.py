"""The pairs of memories on the review list: select the waiting ones, apply a verdict."""

from dataclasses import dataclass

from hippocampe.curation import associate
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared
from hippocampe.ingest.remember import decide_and_store
from hippocampe.store import associations, memories
from hippocampe.store.store import Store
from hippocampe.types import Association, Memory, Review, Scope
from hippocampe.updates.draft import Draft


@dataclass(frozen=True, slots=True)
class Pair:
    """Two current memories to settle, the older one first.

    Attributes:
        older: The one that was stored first.
        newer: The other one.
        rule: Why they are listed.
    """

    older: Memory
    newer: Memory
    rule: str

    @property
    def ids(self) -> list[str]:
        """Both ids."""
        return [self.older.id, self.newer.id]


@dataclass(frozen=True, slots=True)
class Decided:
    """A checked verdict: `survivor` replaces the other memory, `merged` replaces both, or both stay.

    With `former`, recall still finds the replaced one, for the facts that the survivor lacks.
    """

    pair: Pair
    reason: str
    survivor: Memory | None = None
    merged: Draft | None = None
    former: bool = False


def pairs_waiting(store: Store, space: str) -> list[Pair]:
    """The pairs to settle, each once; not those of a memory that has expired."""
    now = store.now()
    reviews = associate.reviews(store, scope=Scope(space))
    found: dict[frozenset[str], Pair] = {}
    with store.read() as connection:
        for review in reviews:
            pair = _pair(review)
            if pair.older.has_expired(now) or pair.newer.has_expired(now):
                continue
            edges = associations.between(connection, space, *pair.ids)
            if not any(map(associations.is_for_a_person, edges)):
                found.setdefault(frozenset(pair.ids), pair)
    return list(found.values())


def _pair(review: Review) -> Pair:
    both = sorted((review.memory, review.other), key=lambda each: (each.created_at, each.id))
    return Pair(both[0], both[1], review.reason)


def lasting(pair: Pair) -> Memory:
    """Of two equivalent memories, the one that expires later; on a tie the newer one."""
    older, newer = pair.older.expires_at, pair.newer.expires_at
    if newer is not None and (older is None or older > newer):
        return pair.older
    return pair.newer


def still_waiting(change: UnitOfWork, pair: Pair) -> bool:
    """Return whether the pair is unsettled and unchanged since the model was asked."""
    found = memories.get(change.connection, pair.older.space, pair.ids)
    for each in (pair.older, pair.newer):
        now = found.get(each.id)
        if now is None or not now.current or now.content != each.content:
            return False
    # Of one memory: the whole list may have thousands of pairs, and is read here for each of a batch.
    listed = associations.touching(
        change.connection, pair.older.space, [pair.older.id], listed=True
    )
    return any({edge.source_id, edge.target_id} == set(pair.ids) for edge in listed)


def apply(
    corpus: Corpus, change: UnitOfWork, decided: Decided, prepared: Prepared | None = None
) -> None:
    """Apply a verdict, in a transaction, with its reason; a statement that replaces both comes with its embedding."""
    pair, now = decided.pair, corpus.store.now()
    associations.explain(change.connection, pair.ids, decided.reason, review=False)
    if decided.survivor is not None:
        # Read again: an earlier pair may have given one of them a key.
        found = memories.get(change.connection, decided.survivor.space, pair.ids)
        survivor = found.pop(decided.survivor.id)
        (lost,) = found.values()
        associate.replace_by(change, survivor, lost, decided.reason, now, former=decided.former)
    elif decided.merged is not None and prepared is not None:
        memory = decide_and_store(corpus, change, decided.merged, prepared).memory
        for id in pair.ids:
            edge = Association(memory.id, id, "updates", decided.reason, now)
            associations.associate(change.connection, memory.space, edge, review=False)
