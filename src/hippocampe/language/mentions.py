"""Find mentions of names in a message."""

import re
from collections.abc import Iterable
from typing import Final

from hippocampe.language.text import fold
from hippocampe.language.text_cache import text_cache

# Search for a scheme from its first character only: otherwise "a.a.a.a" takes quadratic time.
ADDRESS: Final = re.compile(r"(?<![a-z0-9+.-])[a-z0-9+.-]+://\S+|\bwww\.\S+")
"""A web address in a folded text."""

_JOINT: Final = re.compile(r"[\s-]+")
"""Characters between the words of a name."""


def mentions(text: str, names: Iterable[str]) -> bool:
    """Return whether a text contains one of these names as a word, in any case, with or without accents.

    A name in a web address is not a mention: "eko" is in "@eko" and "Ékö,", not in "https://eko.fr". "Jean-Luc" is in
    "Jean Luc".
    """
    searched = ADDRESS.sub(" ", fold(text))
    return any(_word(fold(name)).search(searched) is not None for name in names)


@text_cache(256)
def _word(name: str) -> re.Pattern[str]:
    parts = map(re.escape, _JOINT.split(name))
    return re.compile(rf"(?<!\w){_JOINT.pattern.join(parts)}(?!\w)")
