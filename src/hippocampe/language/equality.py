"""Equality of statements up to case, accents, punctuation and spaces. Pure."""

import hashlib

from hippocampe.language.sentence import spelling


def equality_digest(content: str) -> str:
    """A digest of the spelling of a statement; equal digests mean equal statements."""
    return hashlib.blake2b((spelling(content) or content).encode(), digest_size=16).hexdigest()
