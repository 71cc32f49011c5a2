"""The services of an open memory as of an earlier time."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime

from hippocampe.engine.context import Context
from hippocampe.index import open_read_only_index
from hippocampe.store import past


@contextmanager
def known_at(context: Context, at: datetime) -> Generator[Context]:
    """Open a context that reads what was known at a time; the vectors known then are searched exactly.

    Args:
        context: The context that serves now.
        at: The time, which is that of the clock too.
    """
    embedder = context.embedder
    with past.known_at(context.store, at) as store:
        index = open_read_only_index(store, dimensions=embedder.dimensions, model=embedder.model)
        try:
            yield Context(context.config, store, index, embedder, context.vocabulary, lambda: at)
        finally:
            index.close()
