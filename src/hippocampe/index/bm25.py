"""The sparse vectors of texts: BM25 with French and English stems at once.

Each word is folded, then stemmed by both languages. Where the stemmers agree the word is one term;
where they differ it is two, each worth half, so that no word counts twice. A French question finds
French inflections, an English one English inflections, and a sentence that mixes both finds both,
with no language to guess. The inverse document frequency is the index's own: the sparse field needs
the IDF modifier.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Final

from hippocampe.text import content_words, keywords

if TYPE_CHECKING:
    from qdrant_edge import Bm25

SATURATION: Final = 1.2
LENGTH_SHARE: Final = 0.75
AVERAGE_LENGTH: Final = 20.0
"""Words in a typical text. Fixed, since stored vectors cannot follow a changing average; measured
on short talk, long messages and paragraphs, 20 serves all three."""

Sparse = tuple[list[int], list[float]]
"""Term ids and their weights, as `qdrant_edge.SparseVector(*sparse)` takes them."""


def sparse_document(text: str) -> Sparse:
    """The sparse vector of a text to index."""
    found = keywords(text)
    counts = Counter(term for word in found for term in terms_of(word))
    relative = 1 - LENGTH_SHARE + LENGTH_SHARE * len(found) / AVERAGE_LENGTH
    norm = SATURATION * relative
    weights = [count * (SATURATION + 1) / (count + norm) for count in counts.values()]
    return list(counts), weights


# One question is asked of several kinds of points.
@functools.lru_cache(maxsize=64)
def sparse_query(text: str) -> Sparse:
    """The sparse vector of a question; not to be changed."""
    weights: dict[int, float] = {}
    for word in content_words(text):
        terms = terms_of(word)
        for term in terms:
            weights[term] = max(weights.get(term, 0.0), 1.0 / len(terms))
    return list(weights), list(weights.values())


@functools.lru_cache(maxsize=100_000)
def terms_of(word: str) -> tuple[int, ...]:
    """The one or two terms of a folded word."""
    terms: list[int] = []
    for encoder in _encoders():
        terms += encoder.embed_query(word).indices
    return tuple(dict.fromkeys(terms))


@functools.cache
def _encoders() -> tuple[Bm25, ...]:
    from qdrant_edge import Bm25, Bm25Config, StopwordsSet

    # Stop words are ours, the same for both languages and for word matching.
    nothing = StopwordsSet(languages=set(), custom=set())
    return tuple(
        Bm25(Bm25Config(language=language, ascii_folding=True, stopwords=nothing))
        for language in ("english", "french")
    )


def clear_caches() -> None:
    """Drop the cached texts and words of the process: erased ones must not stay."""
    for cached in (sparse_query, terms_of):
        cached.cache_clear()
