"""The fence around quoted text in an injection: markers, and lines that declare it as data.

Clients of a server fence its answer again, so that any answer stays data. Hooks of
coding agents load this module, so it imports nothing heavy.
"""

import os

from hippocampe.errors import InvalidInput

MARKER = "hippocampe-memory"
OPENING = f"<{MARKER}>"
CLOSING = f"</{MARKER}>"
BULLET = "• "
HEADER = "["
DEFAULT_LANGUAGE = "en"
_FILE = "fence.txt"
_HERE = os.path.dirname(__file__)


def fence(language: str) -> "tuple[str, str]":
    """The first and the last line inside the markers, which declare everything between them as data.

    Raises:
        InvalidInput: There is no fence in this language.
    """
    try:
        with open(os.path.join(_HERE, language, _FILE), encoding="utf-8") as file:
            first, last = file.read().splitlines()
    except FileNotFoundError as exc:
        raise InvalidInput(f"language {language!r} is unknown: it has no {_FILE}.") from exc
    return first, last


def fenced(text: str) -> str:
    """Return an injection of a server unchanged, or quote its lines inside a fence of our own.

    Args:
        text: The injection from a server; may be empty.
    """
    if not text.strip():
        return ""
    lines = text.splitlines()
    if len(lines) >= 4 and (lines[0], lines[-1]) == (OPENING, CLOSING):
        quoted = lines[2:-2]
        if (lines[1], lines[-2]) in _fences() and all(map(_is_quoted, quoted)):
            return text
    first, last = fence(DEFAULT_LANGUAGE)
    quoted = [line for line in lines if line.strip() and MARKER not in line.lower()]
    quoted = [line if _is_quoted(line) else BULLET + line for line in quoted]
    return "\n".join((OPENING, first, *quoted, last, CLOSING))


def _is_quoted(line: str) -> bool:
    """Return whether a line belongs to an item or a header."""
    return line.startswith((BULLET, HEADER)) and MARKER not in line.lower()


def _fences() -> "list[tuple[str, str]]":
    """The fences of all languages."""
    with os.scandir(_HERE) as found:
        return [
            fence(each.name) for each in found if os.path.exists(os.path.join(each.path, _FILE))
        ]
