"""What every step works with, and the one way to change anything.

A change is one transaction of the store that also writes outbox rows; the index is brought up to
date right after the commit, while other writers of this process still wait, so that a reader sees
its own write and the order of the index is the order of the store. When the index fails, the
outbox rows stay and are replayed later.
"""

import subprocess
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from hippocampe.admission import Admission
from hippocampe.config import Config
from hippocampe.embed import is_remote
from hippocampe.errors import IndexUnavailable
from hippocampe.given import Given
from hippocampe.health import Outages
from hippocampe.lexicon import Lexicon, NewWords, Prepared, spoken, text_words
from hippocampe.protocols import Embedder, Filter, Index, Point, Vector
from hippocampe.standing import Standing
from hippocampe.store import derived, memories
from hippocampe.store.derived import Embedded, Words
from hippocampe.store.retrievals import Noted
from hippocampe.store.store import Store
from hippocampe.text import traits
from hippocampe.tracing import Tracer
from hippocampe.types import Settings

MOST_NOTED = 500
"""Injections that may wait to be logged: a few seconds of the most turns a machine can serve."""


MOST_SPACES = 1_000
"""Spaces of which the aliases are kept in memory."""
Aliases = Mapping[str, frozenset[str]]
TURN_THREADS = 8
"""Threads in which turns search, and as many in which they read the store."""
TURNS_AT_ONCE = 2
"""Turns that run at once with an embedder in this process: they share its one interpreter lock."""


@dataclass(slots=True)
class Change:
    """What one transaction changes, in the store and then in the index."""

    connection: Connection
    lexicon: Lexicon
    points: dict[tuple[str, str], Point] = field(default_factory=dict[tuple[str, str], Point])
    removed: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    counted: list[tuple[str, NDArray[np.int32], int]] = field(
        default_factory=list[tuple[str, NDArray[np.int32], int]]
    )
    later: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    learnt: list[Words] = field(default_factory=list[Words])
    """The words that the transaction adds."""
    _fresh: dict[str, int] = field(default_factory=dict[str, int])
    _written: NewWords | None = None
    _rows: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Embeddings to store, by the id of their row."""

    @property
    def model(self) -> str:
        """The embedder that vectors are stored for."""
        return self.lexicon.embedder.model

    def embedded(self, prepared: Prepared) -> Embedded:
        """A text with the ids of its words, which are stored if they are new."""
        if prepared.new is not self._written:
            self._written = prepared.new
            self._add(prepared.new)
        words = self.lexicon.ids(prepared.words, self._fresh)
        if len(words) < len(prepared.words):
            self._add(self.lexicon.erased_since(prepared, self._fresh))
            words = self.lexicon.ids(prepared.words, self._fresh)
        return Embedded(prepared.dense, words, prepared.traits)

    def _add(self, new: NewWords) -> None:
        if added := self.lexicon.add(self.connection, new, self._fresh):
            self.learnt = added
            pairs = (zip(words.texts, words.ids, strict=True) for words in added)
            self._fresh = dict(chain.from_iterable(pairs))

    def index(self, kind: str, point: Point, prepared: Prepared | None = None) -> None:
        """Put a point in the index; with `prepared`, its embedding is new and is stored too."""
        self.removed.pop((kind, point.id), None)
        self.points[kind, point.id] = point
        if prepared is not None:
            embedded = self.embedded(prepared)
            row = derived.vector_row(point.id, self.model, kind, point.space, embedded)
            self._rows[point.id] = row
            self.counted.append((point.space, embedded.words, 1))

    def dense(self, kind: str, id: str) -> Vector | None:
        """The vector of a row: that of this transaction, else the stored one."""
        point = self.points.get((kind, id))
        if point is not None:
            return point.dense
        stored = derived.vectors(self.connection, self.model, [id]).get(id)
        return None if stored is None else stored.dense

    def near(self, kind: str, dense: Vector, where: Filter) -> dict[str, float]:
        """The cosines of the points of this transaction that `where` lets through, by id."""
        found = [
            point
            for (of, _), point in self.points.items()
            if of == kind
            and point.space == where.space
            and point.collection in where.collections
            and where.category in (None, point.category)
            and (point.expires_at is None or point.expires_at > where.now)
        ]
        if not found:
            return {}
        cosines = np.stack([point.dense for point in found]) @ dense
        return dict(zip((point.id for point in found), cosines.tolist(), strict=True))

    def unindex(self, kind: str, id: str, space: str) -> None:
        """Take a point out of the index; its stored embedding stays."""
        self.points.pop((kind, id), None)
        self.removed[kind, id] = space

    def index_later(self, kind: str, id: str, space: str) -> None:
        """Leave a new row to be embedded and indexed after the commit, by `rebuild.embed_or_wait`."""
        self.later[kind, id] = space

    def finish(self) -> int:
        """Write the embeddings and the outbox rows; return the last outbox position."""
        derived.put_vectors(self.connection, list(self._rows.values()))
        queued = [(kind, point.id, point.space) for (kind, _), point in self.points.items()]
        gone_or_late = [*self.removed.items(), *self.later.items()]
        queued += [(kind, id, space) for (kind, id), space in gone_or_late]
        derived.queue(self.connection, queued)
        return derived.position(self.connection) if queued else 0

    def may_touch_memories(self) -> bool:
        """Whether memories were changed, as far as can be told: an import only indexes them later."""
        return "memory" in self.kinds() or not (self.kinds() or self.later)

    def kinds(self) -> set[str]:
        return {kind for kind, _ in (*self.points, *self.removed)}


WAITING = "waiting"
"""The `meta` that says that stored rows wait to be embedded and indexed."""


class Retired(Exception):
    """These parts were replaced while a step was using them: do the step again with the new ones."""


@dataclass(slots=True)
class Parts:
    """The store, the index, the embedder and the clock that the steps share."""

    config: Config
    store: Store
    index: Index
    embedder: Embedder
    lexicon: Lexicon
    clock: Callable[[], datetime]
    applied: int = 0
    """Outbox position up to which the index has everything, durable or not."""
    flushed: int = 0
    """Outbox position up to which the index has everything durably."""
    retired: bool = False
    """Whether other parts have taken over, because the embedder was changed."""
    keep_outbox: bool = False
    """Whether outbox rows are still needed by an index in the making."""
    behind: bool = False
    """Whether the index missed a change, so that the outbox must be replayed."""
    rebuilding: threading.RLock = field(default_factory=threading.RLock)
    """Held around what makes new generations of the index; taken before the store's own lock."""
    builder: "subprocess.Popen[str] | None" = None
    """The process that builds a graph, while there is one."""
    closing: bool = False
    """Whether nothing that takes long may be begun any more."""
    accesses: dict[str, int] = field(default_factory=dict[str, int])
    """Recalls not yet counted in the store, by memory id."""
    accesses_lock: threading.Lock = field(default_factory=threading.Lock)
    changes: int = 0
    """How often this process has changed memories: what was read before may be old after."""
    standing: Standing = field(default_factory=Standing)
    """What stands whatever is asked."""
    known_aliases: dict[str, tuple[int, Aliases]] = field(
        default_factory=dict[str, tuple[int, Aliases]]
    )
    """By space: `changes` when they were read, and what the aliases are."""
    settings: dict[str, tuple[float, Settings]] = field(
        default_factory=dict[str, tuple[float, Settings]]
    )
    """By space: when they were read, on the monotonic clock, and what they are."""
    settings_lock: threading.Lock = field(default_factory=threading.Lock)
    noted: deque[Noted] = field(default_factory=lambda: deque[Noted](maxlen=MOST_NOTED))
    """Injections not yet logged in the store, oldest first."""
    noted_lock: threading.Lock = field(default_factory=threading.Lock)
    dropped: int = 0
    """Injections that were never logged, because too many waited."""
    given: Given = field(default_factory=Given)
    """What each channel was already given."""
    searching: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(
            TURN_THREADS, thread_name_prefix="hippocampe-search"
        )
    )
    """Where turns search, so that a search that is late can be left behind."""
    reading: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(
            TURN_THREADS, thread_name_prefix="hippocampe-read"
        )
    )
    """Where turns read the store: apart, so that searches that hang do not hold this up."""
    loading: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="hippocampe-load")
    )
    """Where what the first turn of a space needs is loaded."""
    loads: dict[str, tuple[Future[None], float]] = field(
        default_factory=dict[str, tuple[Future[None], float]]
    )
    """By space, what is being loaded for it, and since when on `time.perf_counter`."""
    warm: bool = False
    """Whether the embedder and the rules are loaded."""
    turns: Admission = field(init=False)
    """Which turns run at once: more when each waits for an embedding service."""
    waiting: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Stored rows that wait to be embedded and indexed: kind and id, and their space. Changed
    while the store is held."""
    embedding: threading.Lock = field(default_factory=threading.Lock)
    """Held by whoever embeds what waits; taken before the store's own lock."""
    embedded: threading.Condition = field(default_factory=threading.Condition)
    """Notified when less waits to be embedded, or it was tried in vain."""
    embedder_thread: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="hippocampe-waiting")
    )
    """Where what waits is embedded."""
    outages: Outages = field(default_factory=Outages)
    tracer: Tracer = field(default_factory=lambda: Tracer(on=False))

    def __post_init__(self) -> None:
        waits = is_remote(self.config.embedder or "local")
        self.turns = Admission(TURN_THREADS if waits else TURNS_AT_ONCE)

    def now(self) -> datetime:
        return self.clock()

    def check_serving(self) -> None:
        """Raise `Retired` if other parts have taken over."""
        if self.retired:
            raise Retired

    @contextmanager
    def change(self) -> Generator[Change]:
        """A transaction whose effects reach the index before the next writer starts."""
        with self.store.exclusive():
            self.check_serving()
            with ExitStack() as committing:
                with self.store.write() as connection:
                    change = Change(connection, self.lexicon)
                    yield change
                    position = change.finish()
                    if change.later:
                        # Read at the next open, should this process not live to index them.
                        derived.set_meta(connection, WAITING, "1")
                    committing.enter_context(self.lexicon.counting)
                self.lexicon.take(change.learnt)
                for space, words, by in change.counted:
                    self.lexicon.count(space, words, by)
            self.waiting.update(change.later)
            if change.may_touch_memories():
                self.changes += 1
            if position:
                self._apply(change, position)

    def _apply(self, change: Change, position: int) -> None:
        try:
            for kind in sorted(change.kinds()):
                points = [point for (of, _), point in change.points.items() if of == kind]
                removed = [id for of, id in change.removed if of == kind]
                self.index.apply(kind, points, removed)
        except IndexUnavailable as exc:
            self.outages.failed("indexing", exc)
            self.behind = True
        except BaseException:
            # Ctrl-C: the index may have some of it only.
            self.behind = True
            raise
        if not self.behind:
            self.applied = max(self.applied, position)

    def prepare(
        self, texts: Sequence[str], contents: Sequence[str] | None = None
    ) -> list[Prepared]:
        """Embed texts and the new words of their contents, outside any transaction.

        Args:
            texts: What is embedded.
            contents: What the words are taken from; default: `texts`.
        """
        contents = contents or texts
        word_lists = [text_words(content) for content in contents]
        known = self.lexicon.known()
        unknown = self.lexicon.unknown((word for words in word_lists for word in words), known)
        vectors = self.embedder.embed([*texts, *spoken(unknown)])
        new = NewWords(unknown, self.lexicon.place(unknown, vectors[len(texts) :]))
        return [
            Prepared(vectors[number], words, traits(contents[number]), new, known)
            for number, words in enumerate(word_lists)
        ]

    def aliases(self, space: str) -> Aliases:
        """The other names of each name of a space, as `memories.aliases` gives them.

        Read again only once this process, which owns the database, has changed memories.
        """
        # As it was before reading: a change that comes in between makes them old.
        changes = self.changes
        known = self.known_aliases.get(space)
        if known is not None and known[0] == changes:
            return known[1]
        with self.store.read() as connection:
            found = memories.aliases(connection, space)
        if len(self.known_aliases) >= MOST_SPACES:
            self.known_aliases.clear()
        self.known_aliases[space] = changes, found
        return found

    def note_access(self, ids: Iterable[str]) -> None:
        """Count recalls; they reach the store with the next flush. A read-only process counts none."""
        if self.store.read_only:
            return
        with self.accesses_lock:
            for id in ids:
                self.accesses[id] = self.accesses.get(id, 0) + 1
