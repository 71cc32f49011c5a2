"""Equality of statements up to case, accents, punctuation and spaces. Pure."""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from hippocampe.language.text import APOSTROPHE, fold
from hippocampe.language.text_cache import text_cache
from hippocampe.language.tokenizer import TOKEN, is_meaningful

_NO_LETTERS: Final = bytes(set(range(128)) - set(b"abcdefghijklmnopqrstuvwxyz"))
_NOT_BETWEEN_DIGITS: Final = re.compile(r"(?<!\d) | (?!\d)")


def equality_digest(content: str) -> str:
    """A digest of the spelling of a statement; equal digests mean equal statements."""
    return hashlib.blake2b((spelling(content) or content).encode(), digest_size=16).hexdigest()


@text_cache(1024)
def spelling(text: str) -> str:
    """Normalise `text`: equal for texts that differ in case, accents, punctuation or spaces.

    A space between two digits is kept, so that "1 23" and "12 3" differ.
    """
    found = TOKEN.findall(fold(APOSTROPHE.sub("'", text)))
    words = (t.replace("'", "") for t in found if len(t) > 1 or t.isalnum() or is_meaningful(t))
    return _NOT_BETWEEN_DIGITS.sub("", " ".join(words))


def same_spelling(one: str, other: str) -> bool:
    """Return whether two texts have one spelling. Comparing letters is cheap and rules out most pairs."""
    return _letters(one) == _letters(other) and spelling(one) == spelling(other)


def repeated(texts: Sequence[str]) -> list[list[int]]:
    """The places of texts that have one spelling, for each spelling that several have."""
    by_letters: dict[bytes, list[int]] = {}
    for place, text in enumerate(texts):
        by_letters.setdefault(_letters(text), []).append(place)
    by_spelling: dict[str, list[int]] = {}
    for place in (place for places in by_letters.values() if len(places) > 1 for place in places):
        by_spelling.setdefault(spelling(texts[place]), []).append(place)
    return [places for places in by_spelling.values() if len(places) > 1]


@text_cache(1024)
def _letters(text: str) -> bytes:
    """The ASCII letters of the folded text, in order."""
    return fold(text).encode("ascii", "ignore").translate(None, _NO_LETTERS)
