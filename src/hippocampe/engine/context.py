"""The context that every step shares, with the unit of work, which makes every change.

A unit of work is one store transaction that also writes outbox rows. The index is updated right after the
commit, before the next writer of this process starts, so readers see their own writes and the index applies
changes in the order of the store. If the index fails, the outbox rows stay and are replayed later.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

from sqlalchemy import Connection

from hippocampe.config import Config
from hippocampe.engine.caches import AccessCounts, AliasCache, Aliases, Revision, SettingsCache
from hippocampe.engine.index_state import GraphBuilder, IndexPosition
from hippocampe.engine.outages import Outages
from hippocampe.engine.pending import PendingRows
from hippocampe.engine.tracing import Tracer
from hippocampe.engine.unit_of_work import WAITING, UnitOfWork
from hippocampe.engine.vocabulary import NewWords, Prepared, Vocabulary, spoken, text_words
from hippocampe.errors import IndexUnavailable, StoreFull
from hippocampe.language.traits import traits
from hippocampe.protocols import Embedder, Index, LanguageModel
from hippocampe.store import meta, statements
from hippocampe.store.store import Store
from hippocampe.system.turnstile import Turnstile


class Retired(Exception):
    """Another context took over during a call (embedder change): retry with the new one."""


@dataclass(slots=True)
class Context:
    """The store, the index, the embedder and the clock that the steps share."""

    config: Config
    store: Store
    index: Index
    embedder: Embedder
    vocabulary: Vocabulary
    clock: Callable[[], datetime]
    position: IndexPosition = field(default_factory=IndexPosition)
    builder: GraphBuilder = field(default_factory=GraphBuilder)
    pending: PendingRows = field(default_factory=PendingRows)
    revision: Revision = field(default_factory=Revision)
    accesses: AccessCounts = field(default_factory=AccessCounts)
    settings: SettingsCache = field(default_factory=SettingsCache)
    alias_cache: AliasCache = field(init=False)
    retired: bool = False
    """True if another context has taken over, because the embedder was changed."""
    outages: Outages = field(default_factory=Outages)
    tracer: Tracer = field(default_factory=lambda: Tracer(on=False))
    language_model: LanguageModel | None = None
    """The language model of background work; None if none is configured."""
    searching: Turnstile = field(default_factory=Turnstile)
    digesting: Lock = field(default_factory=Lock)
    compacting: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.alias_cache = AliasCache(self.revision)

    def now(self) -> datetime:
        return self.clock()

    def check_serving(self) -> None:
        """Raise `Retired` if another context has taken over."""
        if self.retired:
            raise Retired

    @contextmanager
    def change(self, *, from_reserve: bool = False) -> Generator[UnitOfWork]:
        """Run one unit of work; its changes reach the index before the next writer starts.

        Args:
            from_reserve: Whether it may use the reserve of the disk; see `Store.write`.
        """
        with self.store.exclusive():
            self.check_serving()
            with ExitStack() as committing:
                with self.store.write(from_reserve=from_reserve) as connection:
                    change = UnitOfWork(connection, self.vocabulary)
                    yield change
                    position = change.finish()
                    if change.later:
                        # If this process dies before it indexes them, the next open indexes them.
                        meta.put(connection, WAITING, "1")
                    committing.enter_context(self.vocabulary.counting)
                self.vocabulary.take(change.learnt)
                for space, words, by in change.counted:
                    self.vocabulary.count(space, words, by)
            self.pending.rows.update(change.later)
            if change.may_touch_memories():
                self.revision.advance()
            if position:
                self._apply(change, position)

    def _apply(self, change: UnitOfWork, position: int) -> None:
        try:
            for kind in sorted(change.kinds()):
                points = [point for (of, _), point in change.points.items() if of == kind]
                removed = [id for of, id in change.removed if of == kind]
                self.index.apply(kind, points, removed)
        except (IndexUnavailable, StoreFull) as exc:
            self.outages.failed("indexing", exc)
            self.position.behind = True
        except BaseException:
            # Ctrl-C: the index may have applied a part of it.
            self.position.behind = True
            raise
        if not self.position.behind:
            self.position.applied = max(self.position.applied, position)

    def prepare(
        self, texts: Sequence[str], contents: Sequence[str] | None = None
    ) -> list[Prepared]:
        """Embed texts and the new words of their contents, outside any transaction.

        Args:
            texts: The texts to embed.
            contents: The texts from which the words are taken; default: `texts`.
        """
        contents = contents or texts
        word_lists = [text_words(content) for content in contents]
        known = self.vocabulary.known()
        unknown = self.vocabulary.unknown((word for words in word_lists for word in words), known)
        vectors = self.embedder.embed([*texts, *spoken(unknown)])
        new = NewWords(unknown, self.vocabulary.place(unknown, vectors[len(texts) :]))
        return [
            Prepared(vectors[number], words, traits(contents[number]), new, known)
            for number, words in enumerate(word_lists)
        ]

    def aliases(self, space: str, connection: Connection | None = None) -> Aliases:
        """The other names of each name of a space, as `statements.aliases` gives them.

        Reloaded only after this process, which owns the database, has changed memories.

        Args:
            space: The space.
            connection: A transaction that has written no memory, to read them in.
        """

        def load() -> Aliases:
            if connection is not None:
                return statements.aliases(connection, space)
            with self.store.read() as own:
                return statements.aliases(own, space)

        return self.alias_cache.get(space, load)

    def note_access(self, ids: Iterable[str]) -> None:
        """Count recalls; they reach the store with the next flush. A read-only process counts none."""
        if self.store.read_only:
            return
        self.accesses.add(ids)
