"""The state of `before_turn` between turns. In memory only."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from weakref import WeakMethod

from hippocampe.config import Config
from hippocampe.embed import is_remote
from hippocampe.injection.admission import Admission
from hippocampe.injection.channel_history import ChannelHistories
from hippocampe.injection.context_cache import MAX_AGE, MAX_SHARED_AGE, ContextCache
from hippocampe.notes.sync import NoteSync
from hippocampe.retrieval.log import RetrievalBuffer

TURN_THREADS = 8
"""Threads of the search pool, and of the read pool."""
MAX_LOCAL_TURNS = 2
"""Concurrent turns with an embedder in this process: they share one interpreter lock."""


class Erasures:
    """Tells hosts of erasures, so that none retains erased text."""

    def __init__(self) -> None:
        self._methods: list[WeakMethod[Callable[[str], None]]] = []

    def add(self, drop: Callable[[str], None]) -> None:
        """Call a method with the space after each erasure, as long as its object lives."""
        self._methods.append(WeakMethod(drop))

    def tell(self, space: str) -> None:
        """Call the methods."""
        for method in list(self._methods):
            if drop := method():
                drop(space)
            else:
                self._methods.remove(method)


class TurnState:
    """State of the turns of one open data folder. It outlives a change of embedder.

    Attributes:
        notes: The notes of the user; None if none are configured, and in a view of the past.
        admission: Limits how many turns run at once.
        channels: The items injected for each person in each channel.
        context_cache: The always-on context of each space.
        retrievals: Retrievals not logged in the store yet.
        search_pool: Runs searches, so that a turn can abandon a late one.
        read_pool: Reads the store; a pool of its own, so that stuck searches do not delay reads.
        load_pool: Loads the data for the first turn of a space.
        loads: By space, the load in progress and its start on `time.perf_counter`.
        warm: Whether the embedder and the rules are loaded.
        on_forget: Called with a space when something in it was forgotten or erased.
        erasures: Tells hosts that something in a space was erased.
        tell: Tells the other processes that something in a space was forgotten.
    """

    def __init__(
        self, config: Config, notes: NoteSync | None = None, *, shared: bool = False
    ) -> None:
        self.notes = notes
        self.admission = Admission(_max_turns(config))
        self.channels = ChannelHistories()
        self.context_cache = ContextCache(MAX_SHARED_AGE if shared else MAX_AGE)
        self.retrievals = RetrievalBuffer()
        self.search_pool = ThreadPoolExecutor(TURN_THREADS, thread_name_prefix="hippocampe-search")
        self.read_pool = ThreadPoolExecutor(TURN_THREADS, thread_name_prefix="hippocampe-read")
        self.load_pool = ThreadPoolExecutor(1, thread_name_prefix="hippocampe-load")
        self.loads: dict[str, tuple[Future[None], float]] = {}
        self.warm = False
        self.on_forget: list[Callable[[str], None]] = []
        self.erasures = Erasures()
        self.tell: Callable[[str], None] = _tell_nobody

    def embedder_changed(self, config: Config) -> None:
        """Adapt the limit of concurrent turns to another embedder."""
        self.admission.limit = _max_turns(config)

    def forget(self, space: str, *, told: bool = False) -> None:
        """Clear what turns retain of a space: what was injected, and what their traces name.

        Args:
            told: Whether the other processes know it.
        """
        self.channels.forget(space)
        self.context_cache.clear()
        for drop in self.on_forget:
            drop(space)
        if not told:
            self.tell(space)

    def erased(self, space: str) -> None:
        """Clear what turns and hosts retain of a space with erased text; the store tells the other processes."""
        self.forget(space, told=True)
        self.erasures.tell(space)

    def close(self) -> None:
        """Cancel queued work; running searches and reads end by themselves."""
        for pool in (self.search_pool, self.read_pool, self.load_pool):
            pool.shutdown(wait=False, cancel_futures=True)


def _tell_nobody(space: str) -> None:
    """One process has the data folder."""


def _max_turns(config: Config) -> int:
    """The limit of concurrent turns: higher when each waits for an embedding service."""
    return TURN_THREADS if is_remote(config.embedder or "local") else MAX_LOCAL_TURNS
