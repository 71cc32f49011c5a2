"""Remove discourse markers around a statement or a question: "oh, by the way, I moved!!" → "I moved".

They say how it fits into the talk (Schiffrin, "Discourse Markers", 1987), not what is the case or asked.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from hippocampe.language.lexicon import any_of, languages, load, load_all, words_of
from hippocampe.language.text import words
from hippocampe.language.text_cache import text_cache
from hippocampe.language.word_classes import word_classes

_DATA: Final = load_all("words")["discourse"]
_EMPTY: Final = (
    r"(?:[!…\u2639\u263a\ufe0f\U0001F600-\U0001F64F\U0001F910-\U0001F92F\U0001F970-\U0001F97A]"
    r"|\.{2,}|(?<=\s)[:;]-?[()DP])"
)
"""A mark that states nothing: of an exclamation, an ellipsis, a face."""
_TRAILING: Final = rf"{any_of(_DATA['trailing'])}\b"
_CLOSING: Final = re.compile(
    rf"(?:[\s,]++{_TRAILING})*+(?P<space>\s*+)(?:{_EMPTY}\s*+)*+(?P<asked>\??)(?:{_EMPTY}|[?\s])*+"
    rf"(?:,?\s*+{_TRAILING}(?:{_EMPTY}|[?\s])*+)*+\Z",
    re.IGNORECASE,
)
_MARK: Final = re.compile(
    r"\A\s*+(?:[>•*+-]\s+|(?:[\u2600-\u27bf\U0001F300-\U0001FAFF]\ufe0f?\s*)+)+"
)
_STAMP: Final = re.compile(
    r"\s*+(?:[>•*+-]\s+)?\[?(?P<day>\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{2,4})?)"
    r"(?:[T ,]+\d{1,2}[:h]\d{2}(?::\d{2})?)?(?:\]:?|\s*:|\s+[-–—])\s+"
)
_WRAPPED: Final = re.compile(
    r"\s*(?P<mark>\*{1,3}|_{1,3}|[\"“«(])\s*+(?P<inside>[^*_\"“”«»()]{3,}+)(?:(?P=mark)|[”»)])[.!]?\s*"
)
"""A text within Markdown, quotation marks or brackets."""
_LONGEST_CLOSING: Final = 80
_PREAMBLE: Final = re.compile(r"\s*+(?P<said>[^,:!.?…\n–—]{1,40}?)(?:\s*[,:!.…]++\s+|\s+[-–—]\s+)")
_ANNOUNCEMENT: Final = re.compile(
    rf"(?:,?\s+(?P<contrast>{any_of(words_of('contrast'))})\s+|\s+{any_of(_DATA['joining'])})",
    re.IGNORECASE,
)
_LONGEST_ANNOUNCEMENT: Final = 90
_TALK: Final = words_of("discourse.talk")
_ANNOUNCING: Final = words_of("discourse.announcing")
_ANNOUNCING_WITH: Final = words_of("discourse.announcing_with")
_BINDING: Final = words_of("discourse.binding").union(
    *(words_of(f"grammar.{role}") for role in ("third_person", "others_own"))
)
"""Words that tell when or where a statement holds, or who claims it."""
_CLAIMING: Final = _BINDING - words_of("grammar.expletive")
"""The same in a clause: "it" of "it turns out" is nobody."""
_FEWEST_WORDS: Final = 2
"""Words of a statement: a text with less beside its markers is left as it is."""


def without_stamp(text: str) -> tuple[str, str]:
    """Return a text without the date in front of it, and the date: "[02/03 10:31] Moved to Nice." gives "02/03"; "" without any."""
    found = _STAMP.match(text)
    return (text[found.end() :], found["day"]) if found else (text, "")


@text_cache(1024)
def without_markers(text: str) -> str:
    """Return a text without the discourse markers around it, and with one mark at its end; one of hardly more as it is."""
    text = _unwrapped(text)
    start, request = _begin(text)
    closing = _CLOSING.search(text, max(start, len(text) - _LONGEST_CLOSING))
    assert closing is not None  # the end of the text matches always
    mark = closing["space"] + closing["asked"] if closing["asked"] and not request else ""
    rest = text[start : closing.start()] + mark
    if len(rest.split()) < _FEWEST_WORDS:
        return text
    return rest[0].upper() + rest[1:] if start and text.lstrip()[0].isupper() else rest


def _unwrapped(text: str) -> str:
    """A text without the mark of a list or a quotation, or the emoji, in front of it, and without marks around all of it."""
    text = _MARK.sub("", text)
    found = _WRAPPED.fullmatch(text)
    return found["inside"] if found else text


def _begin(text: str) -> tuple[int, bool]:
    """The place where a statement begins behind its markers, and whether they ask to remember it."""
    start, request = 0, False
    while True:
        matches = (match for each in _OPENINGS if (match := each.match(text, start)))
        opening = max(matches, key=lambda match: match.end())
        request = request or opening["request"] is not None
        preamble = _PREAMBLE.match(text, opening.end())
        begins = opening.end()
        if preamble and _is_about_talk(preamble["said"]):
            begins = preamble.end()
        else:
            begins = _behind_announcement(text, begins)
        if begins == start:
            return start, request
        start = begins


def _is_about_talk(preamble: str) -> bool:
    """Return whether words before a pause are about the talk itself: "great news", "as you know", "for your notes"."""
    said = set(words(preamble))
    return not said.isdisjoint(_TALK) and said <= (_TALK | word_classes().function_words) - _BINDING


def _behind_announcement(text: str, start: int) -> int:
    """The place behind a clause that only announces what follows: "it turns out that", "I don't know if I told you, but"."""
    for found in _ANNOUNCEMENT.finditer(text, start, start + _LONGEST_ANNOUNCEMENT):
        said = words(text[start : found.start()])
        if _words_of_announcements().issuperset(said) and _announces(
            said, contrast=found["contrast"] is not None
        ):
            return found.end()
    return start


@cache
def _words_of_announcements() -> frozenset[str]:
    return _TALK | _ANNOUNCING | _ANNOUNCING_WITH | word_classes().function_words


def _announces(said: Sequence[str], *, contrast: bool) -> bool:
    """Return whether words tell that something is told: before "but" also with a doubt whether it was."""
    if contrast:
        return not _ANNOUNCING.isdisjoint(said)
    certain = _CLAIMING.isdisjoint(said) and not word_classes().occurs("hedges", said)
    return certain and _ANNOUNCING.issuperset(said[-1:])


def _opening(language: str) -> re.Pattern[str]:
    """The expression of all markers that may stand in front of a statement."""
    markers = {name: any_of(each) for name, each in load(language, "words")["discourse"].items()}
    leading, paused = rf"{markers['leading']}\b", rf"{markers['paused']}\b"
    pause = r"(?:\s*+[,:!.…]+\s*|\s+[-–—]\s+)"
    return re.compile(
        # "Salut tout le monde, …", "hi Sam, …"
        rf"(?:\s*+(?:{markers['greetings']}(?:\s+[^\s,!.?:]+){{1,3}}\s*[,!.]+\s*"
        rf"|{leading}(?:{pause}|\s+)"
        rf"|{paused}{pause}|(?:{paused}\s+)+(?={leading}|{markers['subjects']})"
        # "so Nora left", but not "No Country for Old Men".
        rf"|(?-i:{paused}\s+(?=[A-ZÀ-Þ]))"
        rf"|{markers['labels']}\b{pause}"
        rf"|(?P<request>{markers['requests']})\s*|{markers['telling']}\s*))*",
        re.IGNORECASE,
    )


_OPENINGS: Final = [_opening(each) for each in languages()]
