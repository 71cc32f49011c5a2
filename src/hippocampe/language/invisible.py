"""Characters that cannot be seen, although a terminal obeys them or a model reads them."""

import re
from typing import Final

IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Default_Ignorable_Code_Point of Unicode (DerivedCoreProperties.txt), as the inside of a class of `re`."""

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\ud800-\udfff"
# Not Latin, where a joiner changes nothing that can be seen.
_JOINED = "[\u0300-\u1fff\u2070-\U000dffff]"
_SHAPING = rf"(?<={_JOINED})[\u200c\u200d](?={_JOINED})|(?<=[^\s{IGNORABLE}])[\ufe0e\ufe0f]"
_INVISIBLE = re.compile(f"[{_CONTROLS}{IGNORABLE}]")
_VISIBLE = re.compile(rf"[^\s{_CONTROLS}{IGNORABLE}]")
_HIDDEN = re.compile(rf"\r(?=\n)|{_SHAPING}|({_INVISIBLE.pattern})")


def can_be_seen(text: str) -> bool:
    """Return whether a text has a character that can be seen."""
    return _VISIBLE.search(text) is not None


def escaped(text: str) -> str:
    """Write each invisible character as in JSON: `\\u200b`. Ends of lines and tabs stay, and so do joiners and variants
    that shape the characters beside them: those of emoji, of Persian, of Hindi."""
    if not _INVISIBLE.search(text):  # many times faster, and nearly always so
        return text
    return _HIDDEN.sub(lambda found: _units(found[1]) if found[1] else found[0], text)


def _units(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
