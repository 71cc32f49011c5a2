"""Sanitise quoted text against prompt injection.

A quoted text is one line of visible characters. Text that could end the quotation, open a section or
name another speaker is rewritten so that it stays readable but loses its effect: `<|im_start|>`
becomes `‹|im_start|›`, `[INST]` becomes `(INST)`, `system:` becomes `(system)`. Look-alike characters
are matched as the characters they imitate.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from hippocampe.language.invisible import IGNORABLE
from hippocampe.language.lexicon import any_of, load_all

LINE_BREAK: Final = " / "
MAX_LABEL: Final = 80
"""Longest displayed name."""

# Controls, formats (zero width, direction, tags), surrogates, private and unassigned characters.
_INVISIBLE: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))
# Invisible although their category is visible: fillers, variation selectors, an empty cell of Braille.
_BLANK: Final = re.compile(f"[{IGNORABLE}\u2800]")
_LOOK_ALIKES: Final = {
    "<": "﹤〈〈⟨《⟪❮❰❬˂ᐸ≺⧼⦑⋖",
    ">": "﹥〉〉⟩》⟫❯❱❭˃ᐳ≻⧽⦒⋗",
    "[": "﹝⟦【〔〖〚❲⁅⦋⟬",
    "]": "﹞⟧】〕〗〛❳⁆⦌⟭",
    "|": "￨ǀ∣│❘❙⏐",
    "/": "⁄∕⧸╱",
    ":": "∶ː˸։፡׃ꓽ꞉",
    "`": "ˋ‵ˎ",
    "~": "∼˜",
    "_": "▁",
    "-": "‐‑‒–—―−",
    "a": "аαɑ", "c": "сϲ", "d": "ԁ", "e": "еεҽ", "h": "һ", "i": "іιıӏ", "j": "ј", "k": "кκ",
    "m": "м", "n": "ոη", "o": "оοօ", "p": "рρ", "r": "г", "s": "ѕ", "t": "тτ", "u": "υս",
    "v": "ѵν", "w": "ԝω", "x": "хχ", "y": "уγү", "z": "ᴢ",
}  # fmt: skip


class _Visible(dict[int, int | None]):
    """Maps each character to itself, or to None if it is invisible."""

    def __missing__(self, code: int) -> int | None:
        character = chr(code)
        unseen = _BLANK.match(character) or unicodedata.category(character) in _INVISIBLE
        self[code] = found = None if unseen and not character.isspace() else code
        return found


class _Shapes(dict[int, str]):
    """Maps each character to the plain lowercase one that it resembles."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = unicodedata.normalize("NFKD", character)
        if len(plain) > 1:
            plain = "".join(each for each in plain if not unicodedata.combining(each))
        plain = plain.lower()
        # One for one, so that offsets in the shape are offsets in the text.
        shape = _SHAPE_OF.get(plain, plain) if len(plain) == 1 else character
        self[code] = shape
        return shape


_SHAPE_OF: Final = {alike: shape for shape, alikes in _LOOK_ALIKES.items() for alike in alikes}
_SHAPES: Final = _Shapes()
_VISIBLE: Final = _Visible()

_WORDS: Final = load_all("words")
_ROLE: Final = any_of(_WORDS["speakers"])
_COLON: Final = r"""\s?[*_"']{0,2}\s?:\s?"""
_LABEL: Final = rf"(?:{_ROLE}|inst|sys|{'|'.join(_WORDS['speaker_sections'].split())}|[a-z]{{1,40}}_[a-z_]{{1,40}})"


def _brackets(matched: str) -> str:
    return f"({matched[1:-1]})"


def _close(matched: str) -> str:
    return "".join("›" if each.translate(_SHAPES) == ">" else each for each in matched)


# Patterns match the shape of the text; the text they span is rewritten.
_RULES: Final[tuple[tuple[re.Pattern[str], Callable[[str], str]], ...]] = (
    (re.compile(r"`{3,}|~{3,}"), lambda _: "'''"),
    (re.compile(r"#{2,}"), lambda _: "#"),
    (re.compile("[•‣⁃∙●▪◦・]"), lambda _: "·"),
    (re.compile(r"hippocampe[\s_.-]*memory(?<!e memory)"), lambda _: "hippocampe memory"),
    (re.compile(r"(?<!<)<++(?=\s?[/|!?\\]|[a-z_])"), lambda matched: "‹" * len(matched)),
    (re.compile(r"(?<=‹)[^<>‹›]{0,200}>+"), _close),
    (re.compile(r"\|\s?>"), lambda matched: matched[:-1] + "›"),
    # A subscript such as a[i] is harmless, unless it is unclosed or reads as a header: x[INST].
    (re.compile(r"(?<![a-z0-9_)\]])\[\s?[/#!]?\s?[a-z][^\[\]]{0,200}\]"), _brackets),
    (
        re.compile(rf"\[\s?/?\s?(?:{_LABEL}\b|[a-z][^\[\]]{{0,100}}:\s)[^\[\]]{{0,200}}\]"),
        _brackets,
    ),
    (re.compile(r"\[(?=\s?[/#!]?\s?[a-z](?![^\[\]]{0,200}\]))"), lambda _: "("),
    # A speaker at the beginning of a line or of a sentence.
    (
        re.compile(rf"(?:^|(?<=[^\w\s',])|(?<=[^\w\s',]\s))({_ROLE}){_COLON}"),
        lambda speaker: f"({speaker}) ",
    ),
)
# Fast path: none of the rules can match without one of these characters.
_ARMED: Final = re.compile(r"[`~#•‣⁃∙●▪◦・<‹|\[:]|hippocampe")
_NAMES: Final[list[str]] = _WORDS["speakers_inside"].split()
# Inside a sentence a speaker has a capital: "le système : on redémarre" is ordinary talk.
_SPEAKS_INSIDE: Final = re.compile(
    rf"(?<![\w'’])({'|'.join((*_NAMES, *map(str.upper, _NAMES)))}){_COLON}"
)


_ENDS_NAME: Final = re.compile(r"[()=\[\]:/]")


def quote(text: str) -> str:
    """Sanitise a text into one line; empty if it has no visible character."""
    lines = LINE_BREAK.join(filter(None, map(_visible, text.splitlines())))
    # A removed character may have separated a letter from its accent.
    text = unicodedata.normalize("NFC", lines)
    while (quoted := unicodedata.normalize("NFC", _disarm(text))) != text:
        text = quoted
    return text


def quote_label(text: str) -> str:
    """Sanitise a name, and remove the characters that end a name in the lines of an injection."""
    while True:
        plain = _ENDS_NAME.sub(" ", quote(text))
        plain = " ".join(plain[:MAX_LABEL].split())
        # Without a character in between, the rest may read as a token of its own: "[:INST".
        if plain == text:
            return plain
        text = plain


def _visible(line: str) -> str:
    """The visible characters of a line, with single spaces."""
    return " ".join(line.translate(_VISIBLE).split())


def _disarm(text: str) -> str:
    shape = text.translate(_SHAPES)
    if not _ARMED.search(shape):
        return text.strip()
    for pattern, change in _RULES:
        changed = _rewrite(text, shape, pattern, change)
        if changed is not None:
            text, shape = changed, changed.translate(_SHAPES)
    return _SPEAKS_INSIDE.sub(r"(\1) ", text).strip()


def _rewrite(
    text: str, shape: str, pattern: re.Pattern[str], change: Callable[[str], str]
) -> str | None:
    """Rewrite the parts of a text whose shape matches a pattern; None if there is no match."""
    done, end = list[str](), 0
    for found in pattern.finditer(shape):
        # A pattern with a group passes only the group to the change.
        start, stop = found.span(pattern.groups)
        done += [text[end : found.start()], change(text[start:stop])]
        end = found.end()
    return "".join((*done, text[end:])) if done else None
