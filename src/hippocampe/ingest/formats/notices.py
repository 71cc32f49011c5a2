"""What WhatsApp itself writes into an export: notices and stand-ins (`language/*/notices.toml`)."""

import re
from typing import Final

from hippocampe.language.lexicon import load_all

LEFT_TO_RIGHT = "\u200e"
"""The mark with which iOS starts what WhatsApp wrote, not a person."""

_BIDI_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

_SAID: Final = load_all("notices")


def _any(role: str) -> str:
    return f"(?:{'|'.join(dict.fromkeys(_SAID[role]))})"


# A notice has no author, but the name of a group that it quotes may hold a colon.
_QUOTING_NOTICE = re.compile(rf"{_any('quoting')}.*[\"«“‘']", re.IGNORECASE)
_ENCRYPTION = re.compile(_any("encryption"), re.IGNORECASE)
_NOTICE = re.compile(_any("notices"), re.IGNORECASE)
_OMITTED = rf"{_any('files')} {_any('omitted')}"
# The whole first line is one of these, perhaps after the name of a document.
_STAND_IN = re.compile(
    rf"<{_OMITTED}>|(?:\S.*\.\w{{2,5}} (?:• .* )?)?{_OMITTED}|{_any('deleted')}\.?|{_any('waiting')}"
    rf"|\S.*\.\w{{2,5}}(?: • .*)? \({_any('file_after')}\)",
    re.IGNORECASE,
)
# At the end of any line, after a caption.
_ATTACHED = re.compile(rf"\s*<{_any('attached')}\s?: ?[^<>]*>$", re.IGNORECASE)
_EDITED = re.compile(rf"\s*<{_any('edited')}\.?>$", re.IGNORECASE)


def without_marks(text: str) -> str:
    """Drop the invisible marks of writing direction."""
    return _BIDI_MARKS.sub("", text)


def quotes_a_name(author: str) -> bool:
    """Whether what stands before a colon is the start of a notice, not the name of someone."""
    return _QUOTING_NOTICE.search(author) is not None


def is_notice(body: str) -> bool:
    """Whether a message that has an author was written by WhatsApp all the same."""
    said = without_marks(body)
    if _ENCRYPTION.match(said):
        return True
    return body.startswith(LEFT_TO_RIGHT) and _NOTICE.search(said) is not None


def spoken(body: list[str]) -> str:
    """Return what was said: no stand-in for a file or a deleted message, no mark of an edit."""
    texts = [without_marks(line) for line in body]
    if _STAND_IN.fullmatch(_EDITED.sub("", texts[0]).strip()):
        del texts[0]
    return _EDITED.sub("", "\n".join(_ATTACHED.sub("", text) for text in texts).strip()).strip()
