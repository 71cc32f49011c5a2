"""What takes up to a second the first time, loaded ahead, so that no turn waits for it."""

from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from threading import Event

from hippocampe import allocator, asking, recall, relevance, tokens
from hippocampe.embed.local import LocalEmbedder
from hippocampe.errors import HippocampeError
from hippocampe.parts import Parts, Retired
from hippocampe.protocols import Embedder
from hippocampe.store import retrievals
from hippocampe.times import relative_time
from hippocampe.translation import LANGUAGES, translate
from hippocampe.types import Scope
from hippocampe.windows import read_window

EVERYWHERE = ("memory", "turn", "live", "note")
SPACES = 20
"""How many spaces are rehearsed."""


def warm(embedder: Embedder) -> None:
    """Load what a turn needs, once per process: the bundled model, and rules kept as data."""
    if isinstance(embedder, LocalEmbedder):
        _model()
    _rules()


def rehearse(parts: Parts, ending: Event, *, spaces: int = SPACES) -> None:
    """`warm`, and search the `spaces` that were served last, so that their words are counted.

    What is searched for is seen by nobody, and it stops when `ending` is set. An embedder that is
    reached over a network is left alone.
    """
    warm(parts.embedder)
    if not isinstance(parts.embedder, LocalEmbedder):
        return
    with suppress(HippocampeError, Retired):
        with parts.store.read() as connection:
            latest = retrievals.latest_spaces(connection, spaces)
        for space in latest or [Scope().space]:
            if ending.is_set():
                return
            wanted = recall.Wanted(Scope(space=space), collections=EVERYWHERE)
            recall.search(parts, "?", wanted)
    allocator.give_back()


@cache
def _model() -> None:
    LocalEmbedder().embed(["."])


@cache
def _rules() -> None:
    tokens.count(".")
    now = datetime.now(UTC)
    for language in LANGUAGES:
        translate("", language)
        relative_time(datetime(2000, 1, 1, tzinfo=UTC), now=now, timezone="UTC", language=language)
    asking.introduced("")
    relevance.learnt()
    read_window("", now=now, timezone="UTC")
