"""Clean texts for embedders."""

import re

MAX_CHARACTERS = 8_000
"""Texts are truncated for embedding: most models refuse more than 8,000 tokens, and time and memory
grow with the length. Full-text search indexes the whole text."""

# Control characters (some servers refuse NUL) and lone surrogates, which UTF-8 cannot encode.
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def clean(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Make any string embeddable: truncated, valid UTF-8, not empty.

    Blank text becomes a full stop, which every embedder accepts.
    """
    return _UNREADABLE.sub(" ", text[:limit]).strip() or "."
