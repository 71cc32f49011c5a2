"""What a question asks for: a date, a number, a place."""

from __future__ import annotations

import re
from typing import Final

from hippocampe.language.lexicon import together
from hippocampe.language.text import fold, is_first_person

_ASKS: Final = {
    asked: re.compile(rf"\b(?:{'|'.join(patterns)})\b")
    for asked, patterns in together("questions")["asks"].items()
}


def asks(question: str) -> frozenset[str]:
    """What a question asks for: any of `when`, `number` and `where`; and whether in `first_person`."""
    folded = fold(question)
    found = {name for name, pattern in _ASKS.items() if pattern.search(folded)}
    return frozenset(found | {"first_person"} if is_first_person(question) else found)
