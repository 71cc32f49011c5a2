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

from hippocampe.config import Config
from hippocampe.embed import is_remote
from hippocampe.engine.outages import Outages
from hippocampe.engine.tracing import Tracer
from hippocampe.engine.unit_of_work import WAITING, Change
from hippocampe.engine.vocabulary import Lexicon, NewWords, Prepared, spoken, text_words
from hippocampe.errors import IndexUnavailable
from hippocampe.injection.admission import Admission
from hippocampe.injection.channel_history import Given
from hippocampe.injection.context_cache import Standing
from hippocampe.language.traits import traits
from hippocampe.protocols import Embedder, Index
from hippocampe.store import meta, statements
from hippocampe.store.retrievals import Noted
from hippocampe.store.store import Store
from hippocampe.types import Settings

MAX_UNLOGGED = 500
"""Injections that may wait to be logged: a few seconds of the most turns a machine can serve."""


MAX_CACHED_SPACES = 1_000
"""Spaces of which the aliases are kept in memory."""
Aliases = Mapping[str, frozenset[str]]
TURN_THREADS = 8
"""Threads in which turns search, and as many in which they read the store."""
TURNS_AT_ONCE = 2
"""Turns that run at once with an embedder in this process: they share its one interpreter lock."""


class Retired(Exception):
    """These parts were replaced while a step was using them: do the step again with the new ones."""


@dataclass(slots=True)
class Context:
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
    noted: deque[Noted] = field(default_factory=lambda: deque[Noted](maxlen=MAX_UNLOGGED))
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
                        meta.put(connection, WAITING, "1")
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
        """The other names of each name of a space, as `statements.aliases` gives them.

        Read again only once this process, which owns the database, has changed memories.
        """
        # As it was before reading: a change that comes in between makes them old.
        changes = self.changes
        known = self.known_aliases.get(space)
        if known is not None and known[0] == changes:
            return known[1]
        with self.store.read() as connection:
            found = statements.aliases(connection, space)
        if len(self.known_aliases) >= MAX_CACHED_SPACES:
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
