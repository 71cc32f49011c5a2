"""How many tokens a text takes, counted with the tokenizer of the bundled embedder.

It is SentencePiece with 128,000 pieces for 16 languages, and is what can be counted without knowing
the model of the host: other tokenizers cut French and English into about as many pieces. The
tokenizer is the one that the embedder holds; the first count reads it, in half a second, unless the
embedder has.
"""

from functools import lru_cache

from hippocampe.embed.local import tokenizer

MAX_PIECE_CHARACTERS = 16
"""The longest piece: a text has at least one token for so many characters."""

_CACHED_CHARACTERS = 1_000
"""Longer texts are not kept: the cache holds a few megabytes at most."""


def count(text: str) -> int:
    """The number of tokens of a text. A line of 50 words takes about 0.3 ms, once.

    Raises:
        EmbedderUnavailable: The embedder's package is missing or its files are not its own.
    """
    return _cached(text) if len(text) <= _CACHED_CHARACTERS else _count(text)


def _count(text: str) -> int:
    return len(tokenizer().encode(text, add_bos=False, add_eos=False)) if text.strip() else 0


_cached = lru_cache(maxsize=4_096)(_count)
