"""Statements that only equate two names: "cam = Camille", "JB aka Jean-Baptiste"."""

from __future__ import annotations

import re
from typing import Final

from hippocampe.language.lexicon import load_all
from hippocampe.language.text import APOSTROPHE, fold

_NAME: Final = r"(?=[.@_-]*[^\W_])[\w.@'-]+(?: [\w.'-]+){0,2}?"
_EQUATED: Final = re.compile(
    rf"^\s*(?P<name>{_NAME})\s*(?:=|{'|'.join(load_all('words')['alias'])})\s*(?P<other>{_NAME})\s*[.!]?\s*$",
    re.IGNORECASE,
)


def equated_names(text: str) -> tuple[str, str] | None:
    """The two names, folded, that a statement equates; None if it states more."""
    found = _EQUATED.match(APOSTROPHE.sub("'", text))
    if found is None:
        return None
    name, other = fold(found["name"]).strip(), fold(found["other"]).strip()
    return (name, other) if name != other else None
