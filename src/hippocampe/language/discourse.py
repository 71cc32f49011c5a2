"""Remove discourse markers around a statement or a question: "oh, by the way, I moved!!" → "I moved".

They say how it fits into the talk (Schiffrin, "Discourse Markers", 1987), not what is the case or asked.
"""

import re
from typing import Final

from hippocampe.language.lexicon import any_of, languages, load, load_all

_EMPTY: Final = (
    r"(?:[!…\u2639\u263a\ufe0f\U0001F600-\U0001F64F\U0001F910-\U0001F92F\U0001F970-\U0001F97A]"
    r"|\.{2,}|(?<=\s)[:;]-?[()DP])"
)
"""A mark that states nothing: of an exclamation, an ellipsis, a face."""
_TRAILING: Final = rf"{any_of(load_all('words')['discourse']['trailing'])}\b"
_CLOSING: Final = re.compile(
    rf"(?:[\s,]++{_TRAILING})*+(?P<space>\s*+)(?:{_EMPTY}\s*+)*+(?P<asked>\??)(?:{_EMPTY}|[?\s])*+"
    rf"(?:,?\s*+{_TRAILING}(?:{_EMPTY}|[?\s])*+)*+\Z",
    re.IGNORECASE,
)
_LONGEST_CLOSING: Final = 80
_FEWEST_WORDS: Final = 2
"""Words of a statement: a text with less beside its markers is left as it is."""


def without_markers(text: str) -> str:
    """Return a text without the discourse markers around it, and with one mark at its end; one of hardly more as it is."""
    start = max(found.end() for each in _OPENINGS if (found := each.match(text)))
    closing = _CLOSING.search(text, max(start, len(text) - _LONGEST_CLOSING))
    assert closing is not None  # it matches nothing, too
    mark = closing["space"] + closing["asked"] if closing["asked"] else ""
    rest = text[start : closing.start()] + mark
    if len(rest.split()) < _FEWEST_WORDS:
        return text
    return rest[0].upper() + rest[1:] if start and text.lstrip()[0].isupper() else rest


def _opening(language: str) -> re.Pattern[str]:
    """The expression of all markers that may stand in front of a statement."""
    markers = {name: any_of(each) for name, each in load(language, "words")["discourse"].items()}
    leading, paused = rf"{markers['leading']}\b", rf"{markers['paused']}\b"
    pause = r"(?:\s*+[,:!.…]+\s*|\s+[-–—]\s+)"
    return re.compile(
        rf"(?:\s*+(?:{leading}(?:{pause}|\s+)"
        rf"|{paused}{pause}|(?:{paused}\s+)+(?={leading}|{markers['subjects']})"
        # "so Nora left", but not "No Country for Old Men".
        rf"|(?-i:{paused}\s+(?=[A-ZÀ-Þ]))"
        rf"|{markers['labels']}\b{pause}"
        rf"|{markers['telling']}\s*))*",
        re.IGNORECASE,
    )


_OPENINGS: Final = [_opening(each) for each in languages()]
