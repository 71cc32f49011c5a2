"""Recognise WhatsApp's own texts in an export: notices and placeholders.

The wordings are data: `language/*/notices.toml`.
"""

import re
from typing import Final

from hippocampe.language.lexicon import load_all

LEFT_TO_RIGHT = "\u200e"
"""Mark at the start of texts that WhatsApp, not a person, wrote; from iOS."""

_BIDI_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

_MAX_NOTICE: Final = 1_000
"""Longest notice or placeholder, with the names that it quotes."""
_MAX_KIND: Final = 60
"""Longest name of a kind of file."""
_WORDINGS: Final = load_all("notices")


def _any(role: str) -> str:
    return f"(?:{'|'.join(dict.fromkeys(_WORDINGS[role]))})"


# A notice has no author, but may quote the name of a group that contains a colon.
_QUOTING_NOTICE = re.compile(rf"{_any('quoting')}.*[\"«“‘']", re.IGNORECASE)
_ENCRYPTION = re.compile(_any("encryption"), re.IGNORECASE)
_NOTICE = re.compile(_any("notices"), re.IGNORECASE)
_OMITTED = rf"{_any('files')} {_any('omitted')}"
# A whole first line, optionally after the name of a document. Android puts any kind of file in angle brackets.
_PLACEHOLDER = re.compile(
    rf"<[^<>]{{1,{_MAX_KIND}}} {_any('omitted')}>|(?:\S.*\.\w{{2,5}} (?:• .* )?)?{_OMITTED}|{_any('deleted')}\.?|{_any('waiting')}"
    rf"|\S.*\.\w{{2,5}}(?: • .*)? \({_any('file_after')}\)",
    re.IGNORECASE,
)
# From the first space of several on only: otherwise a run of spaces takes quadratic time.
_GAP = r"(?<!\s)\s*"
# At the end of any line, after a caption.
_ATTACHED = re.compile(rf"{_GAP}<{_any('attached')}\s?: ?[^<>]*>$", re.IGNORECASE)
_EDITED = re.compile(rf"{_GAP}<{_any('edited')}\.?>$", re.IGNORECASE)


def without_marks(text: str) -> str:
    """Remove invisible direction marks."""
    return _BIDI_MARKS.sub("", text)


def starts_notice(author: str) -> bool:
    """Return whether the text before a colon is the start of a notice instead of an author."""
    return _QUOTING_NOTICE.search(author) is not None


def is_notice(body: str) -> bool:
    """Return whether a message with an author was written by WhatsApp itself."""
    text = without_marks(body[:_MAX_NOTICE])
    if _ENCRYPTION.match(text):
        return True
    return body.startswith(LEFT_TO_RIGHT) and _NOTICE.search(text) is not None


def is_edited(body: list[str]) -> bool:
    """Return whether WhatsApp marked a message as changed by its author."""
    return _EDITED.search(without_marks(body[-1]).rstrip()) is not None


def message_text(body: list[str]) -> str:
    """The text of a message without placeholders of files and deleted messages, and edit marks."""
    texts = [without_marks(line) for line in body]
    first = _EDITED.sub("", texts[0]).strip()
    if len(first) <= _MAX_NOTICE and _PLACEHOLDER.fullmatch(first):
        del texts[0]
    return _EDITED.sub("", "\n".join(_ATTACHED.sub("", text) for text in texts).strip()).strip()
