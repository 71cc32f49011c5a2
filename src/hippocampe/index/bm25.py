"""Sparse vectors of texts: BM25 with the stems of all languages at once.

Each word is folded, then stemmed in every language that names a stemmer (`language/*/language.toml`). If the stemmers
agree, the word is one term; if they differ, it is several terms that share its weight. So queries match the
inflections of all languages without language detection. The index supplies the inverse document frequency: its sparse
field needs the IDF modifier.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Final

from hippocampe.errors import UnreadableFile
from hippocampe.language.lexicon import stemmers
from hippocampe.language.text import content_words, keywords
from hippocampe.language.text_cache import LONGEST_WORD, text_cache

if TYPE_CHECKING:
    from qdrant_edge import Bm25

SATURATION: Final = 1.2
LENGTH_SHARE: Final = 0.75
AVERAGE_LENGTH: Final = 20.0
"""Words in a typical text. Fixed, because stored vectors cannot follow a changing average; 20 was
best overall on short talk, long messages and paragraphs."""

Sparse = tuple[list[int], list[float]]
"""Term ids and their weights, the arguments of `qdrant_edge.SparseVector`."""


def sparse_document(text: str) -> Sparse:
    """The sparse vector of a text to index."""
    found = keywords(text)
    counts = Counter(term for word in found for term in terms_of(word))
    relative = 1 - LENGTH_SHARE + LENGTH_SHARE * len(found) / AVERAGE_LENGTH
    norm = SATURATION * relative
    weights = [count * (SATURATION + 1) / (count + norm) for count in counts.values()]
    return list(counts), weights


# Recall searches several kinds of points with the same query.
@text_cache(64)
def sparse_query(text: str) -> Sparse:
    """The sparse vector of a query. Cached: do not modify it."""
    weights: dict[int, float] = {}
    for word in content_words(text):
        terms = terms_of(word)
        for term in terms:
            weights[term] = max(weights.get(term, 0.0), 1.0 / len(terms))
    return list(weights), list(weights.values())


@text_cache(100_000, longest=LONGEST_WORD)
def terms_of(word: str) -> tuple[int, ...]:
    """The terms of a folded word: its distinct stems."""
    terms: list[int] = []
    for encoder in _encoders():
        terms += encoder.embed_query(word).indices
    return tuple(dict.fromkeys(terms))


@functools.cache
def _encoders() -> tuple[Bm25, ...]:
    from qdrant_edge import Bm25, Bm25Config, StopwordsSet

    # No stop words: `content_words` has removed them already.
    nothing = StopwordsSet(languages=set(), custom=set())
    try:
        return tuple(
            Bm25(Bm25Config(language=stemmer, ascii_folding=True, stopwords=nothing))
            for stemmer in stemmers()
        )
    except ValueError as exc:
        raise UnreadableFile(
            f"language.toml of a language names no Snowball stemmer: {exc}"
        ) from exc
