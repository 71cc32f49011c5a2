"""The statements that a language model proposes to keep, and how their fields are read.

Small models write odd values. The types of the fields are wide, so that one of them does not cost the
whole answer, and each is read for what the model meant.
"""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from hippocampe.language.datetimes import parse_ttl
from hippocampe.types import MAX_LABEL_CHARACTERS

_DAYS: Final = {"h": 1 / 24, "d": 1, "j": 1, "w": 7, "sem": 7, "mo": 30, "y": 365, "an": 365}
_LIFETIME: Final = re.compile(rf"(\d{{1,5}})\s*({'|'.join(_DAYS)})[a-zé]*")
_FOR_EVER: Final = frozenset(
    {"", "null", "none", "never", "permanent", "forever", "jamais", "aucun"}
)


@dataclass
class ProposedStatement:
    """A statement that the model proposes to keep."""

    content: str
    type: str | None = "fact"
    subjects: list[str] | str | None = field(default_factory=list[str])
    ttl: str | int | None = None
    importance: float | str | None = None
    evidence: list[str] | str | None = field(default_factory=list[str])
    replaces: list[str] | str | None = field(default_factory=list[str])


@dataclass
class ProposedStatements:
    """What the model proposes to keep; empty if nothing is worth it."""

    statements: list[ProposedStatement] = field(default_factory=list[ProposedStatement])


def read_ids(value: list[str] | str | None) -> list[str]:
    """Short ids as the model wrote them: `["m1"]`, `"m1, m2"`, `"[m1]"`."""
    texts = [value] if isinstance(value, str) else value or []
    return [id for text in texts for id in re.findall(r"[a-z]\d+[a-z]?", text.lower())]


def read_subjects(value: list[str] | str | None) -> list[str]:
    """Subjects that can be stored."""
    texts = value.split(",") if isinstance(value, str) else value or []
    cleaned = (" ".join(text.split()) for text in texts)
    return [
        text for text in cleaned if text.isprintable() and 0 < len(text) <= MAX_LABEL_CHARACTERS
    ]


def read_importance(value: float | str | None) -> float | None:
    """An importance from 0 to 1; None for the default of the type."""
    try:
        found = float(value) if value is not None else None
    except ValueError:
        return None
    return found if found is not None and 0 <= found <= 1 else None


def read_lifetime(value: str | int | None) -> timedelta | None:
    """The time to live that the model meant; None for ever.

    Raises:
        InvalidInput: It cannot be read: a passing state must not be kept for ever.
    """
    text = str(value if value is not None else "").strip().lower()
    if text in _FOR_EVER:
        return None
    if text.isdigit():
        text += "d"
    found = _LIFETIME.fullmatch(text)
    return parse_ttl(timedelta(days=int(found[1]) * _DAYS[found[2]]) if found else text)
