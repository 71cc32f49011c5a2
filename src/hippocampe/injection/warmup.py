"""Warm up: load in advance what takes up to a second at first use, so that no turn waits for it."""

import time
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from threading import Event, Lock

import numpy as np

from hippocampe.embed import tokens
from hippocampe.embed.local import LocalEmbedder
from hippocampe.engine.corpus import Corpus, Retired
from hippocampe.errors import HippocampeError, ModelUnavailable
from hippocampe.injection.channel_history import Channel
from hippocampe.injection.turn import Turn
from hippocampe.injection.turn_state import TurnState
from hippocampe.language import open_questions
from hippocampe.language.forgetting import read_request
from hippocampe.language.humanize import relative_time
from hippocampe.language.i18n import languages, translate
from hippocampe.language.relations import relations_of
from hippocampe.language.temporal.window import parse_window
from hippocampe.protocols import Embedder
from hippocampe.reader.network import load_reader
from hippocampe.retrieval import scoring
from hippocampe.store import memories, retrievals
from hippocampe.store.store import Store
from hippocampe.system import allocator
from hippocampe.types import Scope

REHEARSAL_MS = 1_000
"""Deadline of a turn that warms up; a turn of a user waits for it, also while the index answers nothing."""
_one_at_a_time = Lock()
"""Held while something is loaded: two loads at once would take longer, and both would do the same."""
_rehearsed, _rehearsed_empty = Event(), Event()
"""Set once a turn was served in this process: in a space with something to find, and in an empty one."""
SPACES = 20
"""Spaces warmed when a data folder is opened."""
MAX_SEARCHED = 200
"""Characters of a statement that is searched for."""
LOADING_SECONDS = 5.0
"""Longest wait of a turn for loading; the bundled model takes a second on a slow disk."""


def preload(embedder: Embedder) -> None:
    """Load the bundled model and the rule data, once per process."""
    if isinstance(embedder, LocalEmbedder):
        _model()
    _rules()
    with suppress(ModelUnavailable):
        load_reader()


def wait_until_loaded(corpus: Corpus, state: TurnState, space: str) -> float:
    """Wait until the embedder is loaded and the words of a space are counted.

    Wait at most `LOADING_SECONDS` from the start of the load; then the turn runs anyway.

    Returns:
        The milliseconds waited.
    """
    if state.warm and corpus.vocabulary.is_counted(space):
        return 0.0
    now = time.perf_counter()
    loading, begun = state.loads.get(space) or (
        state.load_pool.submit(_load, corpus, state, space),
        now,
    )
    if begun == now:
        state.loads[space] = loading, begun
        loading.add_done_callback(lambda _: state.loads.pop(space, None))
    wait([loading], timeout=max(0.0, begun + LOADING_SECONDS - now))
    return (time.perf_counter() - now) * 1000


def _load(corpus: Corpus, state: TurnState, space: str) -> None:
    with _one_at_a_time:
        preload(corpus.vocabulary.embedder)
        corpus.vocabulary.frequencies(space, np.zeros(0, np.int32))
        if not _rehearsed.is_set():
            _rehearse(corpus, space)
    state.warm = _rehearsed.is_set() or not isinstance(corpus.vocabulary.embedder, LocalEmbedder)


def _rehearse(corpus: Corpus, space: str) -> None:
    """Serve a turn in a space that nobody gets: the first one of a process compiles statements and reads files, for a
    tenth of a second.

    An empty space is rehearsed once: it has nothing to find and to read. A remote embedder is not called.
    """
    if not isinstance(corpus.vocabulary.embedder, LocalEmbedder):
        return
    _, items = corpus.vocabulary.frequencies(space, np.zeros(0, np.int32))
    if not items and (_rehearsed.is_set() or _rehearsed_empty.is_set()):
        return
    settings = replace(corpus.settings.of(space), hook_timeout_ms=REHEARSAL_MS)
    state = TurnState(corpus.config)
    try:
        question, now = _question(corpus.store, space), corpus.store.now()
        # The context of a speaker on a channel is read with more statements.
        nobody = Scope(space=space, user="?", channel="?")
        Turn(corpus, state, question, nobody, settings, now).serve(Channel())
    finally:
        state.close()
    (_rehearsed if items else _rehearsed_empty).set()


def warm_spaces(corpus: Corpus, ending: Event, *, spaces: int = SPACES) -> None:
    """Run `preload`, then rehearse a turn in the `spaces` served last.

    That counts the words of a space (50 ms for 10,000 items) and, in a read-only process, loads
    its vectors: otherwise the first turn of the space would wait for both. Stops when `ending` is
    set. A remote embedder is not called.
    """
    with _one_at_a_time:
        preload(corpus.vocabulary.embedder)
    if not isinstance(corpus.vocabulary.embedder, LocalEmbedder):
        return
    with suppress(HippocampeError, Retired):
        with corpus.store.read() as connection:
            latest = retrievals.latest_spaces(connection, spaces)
        for space in latest or [Scope().space]:
            with _one_at_a_time:
                if ending.is_set():
                    return
                _rehearse(corpus, space)
    allocator.give_back()


def _question(store: Store, space: str) -> str:
    """A question to ask in a space: of the words of a statement there, so that something is found and read."""
    with store.read() as connection:
        newest = memories.highest(connection, "created_at", space, "memory", store.now(), 1)
        found = memories.get(connection, space, newest)
    return next((each.content[:MAX_SEARCHED] for each in found.values()), "") + "?"


@cache
def _model() -> None:
    LocalEmbedder().embed(["."])


@cache
def _rules() -> None:
    tokens.count(".")
    now = datetime.now(UTC)
    for language in languages():
        translate("", language)
        relative_time(datetime(2000, 1, 1, tzinfo=UTC), now=now, timezone="UTC", language=language)
    open_questions.introduced("")
    relations_of("?")
    read_request("?")
    scoring.load_model()
    parse_window("", now=now, timezone="UTC")
