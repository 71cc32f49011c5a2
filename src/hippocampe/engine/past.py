"""The corpus as of an earlier time."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import datetime

from hippocampe.engine.corpus import Corpus
from hippocampe.index import open_read_only_index
from hippocampe.store import past


@contextmanager
def known_at(corpus: Corpus, at: datetime) -> Generator[Corpus]:
    """Open a corpus that reads what was known at a time, which its clock has; the vectors of then are searched exactly."""
    with past.known_at(corpus.store, at) as store:
        index = open_read_only_index(store, corpus.vocabulary.embedder)
        with closing(index):
            yield Corpus.of(corpus.config, store, index, corpus.vocabulary)
