"""How many tokens a text takes, counted with the tokenizer of the bundled embedder.

It is SentencePiece with 128,000 pieces for 16 languages, and is what can be counted without knowing
the model of the host: other tokenizers cut French and English into about as many pieces. The
tokenizer is the one that the embedder holds; the first count reads it, in half a second, unless the
embedder has.
"""

from hippocampe.embed.local import tokenizer


def count(text: str) -> int:
    """The number of tokens of a text; words that came before take no time.

    Raises:
        EmbedderUnavailable: The embedder's package is missing or its files are not its own.
    """
    return len(tokenizer().pieces(text))
