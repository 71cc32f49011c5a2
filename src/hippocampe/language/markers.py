"""The markers around injected text, and its removal from a text."""

import re
from collections.abc import Iterator
from itertools import zip_longest

from hippocampe.language.fence import MARKER

# Hosts may escape the markers for HTML or JSON, or insert spaces.
_LESS, _GREATER = r"(?:<|&lt;|\\u003c)", r"(?:>|&gt;|\\u003e)"
MARK = re.compile(
    rf"{_LESS}\s{{0,3}}(?P<ends>/)?\s{{0,3}}{MARKER}\s{{0,3}}{_GREATER}", re.IGNORECASE
)
# An injection contains no empty line, so an unpaired marker extends to the nearest one.
_EMPTY_LINE = re.compile(r"\n[ \t\r]*\n")
_AFTER = re.compile(r"(?:\r?\n){0,2}")
_MENTION = MARKER.replace("-", " ")
"""Replaces a marker that a removal would leave. It cannot form another marker."""
_LONGEST_CUT = 40
_CUT_MARK = re.compile(rf"{_LESS}/?hippocampe(?:-[memory]{{0,6}})?\Z", re.IGNORECASE)


def without_injection(text: str) -> str:
    """Remove injected text; return `text` unchanged when it contains no marker.

    Truncated injections and escaped markers are recognised. An unpaired marker inside a sentence
    only loses its brackets, because it mentions the marker. No marker is left, not even one formed by the text
    around an injection.
    """
    if "hippocampe" not in text.lower():
        return text
    parts, end = list[str](), 0
    for start, stop, instead in _marks(text):
        parts += [text[end:start], instead]
        end = stop
    left = MARK.sub(_MENTION, "".join((*parts, text[end:])))
    while cut := _CUT_MARK.search(left, max(0, len(left) - _LONGEST_CUT)):
        left = left[: cut.start()]
    return left


def _marks(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield each range to replace, as (start, end, replacement)."""
    marks = list(MARK.finditer(text))
    done = 0
    for mark, after in zip_longest(marks, marks[1:]):
        start, stop = mark.span()
        if start < done:
            continue
        if after and after["ends"] and not mark["ends"]:
            stop = after.end()
        elif not _alone_on_its_line(text, start, stop):
            yield start, (done := stop), MARKER
            continue
        elif mark["ends"]:
            start = max(
                (line.end() for line in _EMPTY_LINE.finditer(text, done, start)), default=done
            )
        else:
            limit = after.start() if after else len(text)
            line = _EMPTY_LINE.search(text, stop, limit)
            stop = line.start() if line else limit
        trailing = _AFTER.match(text, stop)
        done = trailing.end() if trailing else stop
        yield start, done, ""


def _alone_on_its_line(text: str, start: int, stop: int) -> bool:
    before = text[max(0, start - 10) : start].rstrip(" \t>")
    return before[-1:] in ("", "\n") and text[stop : stop + 1] in ("", "\n", "\r")
