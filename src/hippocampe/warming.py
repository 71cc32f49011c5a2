"""What takes up to a second the first time, loaded ahead, so that no turn waits for it."""

from datetime import UTC, datetime
from functools import cache

from hippocampe import asking, tokens
from hippocampe.embed.local import LocalEmbedder
from hippocampe.protocols import Embedder
from hippocampe.times import relative_time
from hippocampe.translation import LANGUAGES, translate
from hippocampe.windows import read_window


def warm(embedder: Embedder) -> None:
    """Load what a turn needs, once per process: the bundled model, and rules kept as data."""
    if isinstance(embedder, LocalEmbedder):
        _model()
    _rules()


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
    read_window("", now=now, timezone="UTC")
