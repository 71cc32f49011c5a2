"""The writer: makes every change to the store, and keeps the index in step with it.

A unit of work is one store transaction that also writes outbox rows. The index is updated right after the
commit, before the next writer of this process starts, so readers see their own writes and the index applies
changes in the order of the store. If the index fails, the outbox rows stay and are replayed later.
"""

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.index_state import Deliveries, GraphBuilder, PendingRows
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.errors import IndexUnavailable, StoreFull


@dataclass(slots=True)
class Writer:
    """The part of an open memory that writes: the corpus, and how far its index is behind the store."""

    corpus: Corpus
    pending: PendingRows = field(default_factory=PendingRows)
    builder: GraphBuilder = field(default_factory=GraphBuilder)
    deliveries: Deliveries = field(default_factory=Deliveries)

    @contextmanager
    def change(self, *, from_reserve: bool = False) -> Generator[UnitOfWork]:
        """Run one unit of work, as `Store.write`; its changes reach the index before the next writer starts."""
        corpus = self.corpus
        store, vocabulary = corpus.store, corpus.vocabulary
        with store.exclusive():
            corpus.check_serving()
            with ExitStack() as committing:
                with store.write(from_reserve=from_reserve) as connection:
                    if store.shared:
                        vocabulary.forget_erased(connection)
                    change = UnitOfWork(connection, vocabulary)
                    yield change
                    change.finish()
                    committing.enter_context(vocabulary.counting)
                vocabulary.take(change.learnt)
                for space, words, by in change.counted:
                    vocabulary.count(space, words, by)
            self.pending.rows.update(change.pending)
            if change.may_touch_memories():
                store.memory_changes += 1
            self._apply(change)

    def _apply(self, change: UnitOfWork) -> None:
        try:
            for kind in sorted(change.kinds()):
                points = [point for (of, _), point in change.points.items() if of == kind]
                removed = [id for of, id in change.removed if of == kind]
                self.corpus.index.apply(kind, points, removed)
        except (IndexUnavailable, StoreFull) as exc:
            self.corpus.outages.failed("indexing", exc)
            self.deliveries.behind = True
        except BaseException:
            # Ctrl-C: the index may have applied a part of it.
            self.deliveries.behind = True
            raise
        else:
            at = time.monotonic()
            self.deliveries.delivered.update(dict.fromkeys(change.queued, at))
