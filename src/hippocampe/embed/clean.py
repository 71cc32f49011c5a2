"""What is done to a text before any embedder sees it."""

import re

MAX_CHARACTERS = 8_000
"""A text is embedded from its first characters only: most models refuse more than 8,000 tokens,
and time and memory grow with the length. Full-text search sees the whole text."""

# C0 and C1 controls say nothing to a model and some servers refuse NUL; a lone surrogate cannot
# be written as UTF-8 at all.
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def clean(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Make any string embeddable: bounded, encodable as UTF-8, and never empty.

    Blank text becomes one full stop, which every embedder accepts and gives one fixed vector.
    """
    return _UNREADABLE.sub(" ", text[:limit]).strip() or "."
