"""Token counts, estimated with the tokenizer of the bundled embedder.

SentencePiece with 128,000 pieces for 16 languages. The model of the host is unknown, and other
tokenizers split French and English into about as many pieces. The first count loads the tokenizer,
in half a second, unless the embedder has loaded it.
"""

from hippocampe.embed.local import clear_cache, tokenizer

__all__ = ["clear_cache", "count", "measure"]


def count(text: str) -> int:
    """The number of tokens of a text; words are cached.

    Raises:
        EmbedderUnavailable: The embedder's package is missing or its files were changed.
    """
    return tokenizer().count(text)


def measure(word: str) -> tuple[float, int]:
    """The log-probability of a word, and the number of its tokens.

    Raises:
        EmbedderUnavailable: The embedder's package is missing or its files were changed.
    """
    return tokenizer().measure(word)
