"""Warm up: load in advance what takes up to a second at first use, so that no turn waits for it."""

import time
from concurrent.futures import wait
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from threading import Event

import numpy as np

from hippocampe.embed import tokens
from hippocampe.embed.local import LocalEmbedder
from hippocampe.engine.corpus import Corpus, Retired
from hippocampe.errors import HippocampeError, ModelUnavailable
from hippocampe.injection.turn_state import TurnState
from hippocampe.language import open_questions
from hippocampe.language.humanize import relative_time
from hippocampe.language.i18n import languages, translate
from hippocampe.language.relations import relations_of
from hippocampe.language.temporal.window import parse_window
from hippocampe.protocols import Embedder
from hippocampe.reader.network import load_reader
from hippocampe.retrieval import recall, request, scoring
from hippocampe.store import memories, retrievals, schema
from hippocampe.store.store import Store
from hippocampe.system import allocator
from hippocampe.types import Scope

EVERYWHERE = ("memory", "turn", "live", "note")
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
    preload(corpus.vocabulary.embedder)
    corpus.vocabulary.frequencies(space, np.zeros(0, np.int32))
    state.warm = True


def warm_spaces(corpus: Corpus, ending: Event, *, spaces: int = SPACES) -> None:
    """Run `preload`, then search the `spaces` served last; results are discarded.

    The search counts the words of a space (50 ms for 10,000 items) and, in a read-only process, loads
    its vectors: otherwise the first turn of the space would wait for both. Stops when `ending` is
    set. A remote embedder is not called.
    """
    preload(corpus.vocabulary.embedder)
    if not isinstance(corpus.vocabulary.embedder, LocalEmbedder):
        return
    with suppress(HippocampeError, Retired):
        with corpus.store.read() as connection:
            latest = retrievals.latest_spaces(connection, spaces)
        for space in latest or [Scope().space]:
            if ending.is_set():
                return
            searched = request.RecallRequest(Scope(space=space), collections=EVERYWHERE)
            recall.search(corpus, _question(corpus.store, space), searched)
    allocator.give_back()


def _question(store: Store, space: str) -> str:
    """Words to search for in a space: those of a statement there, so that something is found and read."""
    here = schema.memory.c.space == space
    with store.read() as connection:
        found = memories.find(connection, here, memories.CURRENT, limit=1)
    return found[0].content[:MAX_SEARCHED] if found else "?"


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
    scoring.load_model()
    parse_window("", now=now, timezone="UTC")
