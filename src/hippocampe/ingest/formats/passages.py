"""Split a text that a person or a model wrote about someone into statements: items, lines and paragraphs."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hippocampe.language.relations import relation_of
from hippocampe.language.text import fold
from hippocampe.notes.markdown import FIELD_NAME

_HEADING = re.compile(r"#{1,6}\s+(\S.*?)[\s#]*|\*\*([^*]+?)\*\*:?\s*")
_ITEM = re.compile(r"(\s*)(?:[-*+•]|\d{1,3}[.)])\s+(\S.*)")
_DATED = re.compile(r"\[(\d{4}-\d{2}-\d{2})\]\s*(?:[-–—:]\s*)?(\S.*)", re.S)
"""A date before an entry, as assistants write out their memories."""
_MAX_ABOVE = 200
"""Longest item that those below it come in with."""
_PAIR = re.compile(r"[^\s:][^:\n]{0,39}:\s")
_FIELD = re.compile(rf"{FIELD_NAME}::(?:\s|$)")
"""A field of Dataview, which a line says by itself."""
_FENCE = re.compile(r"\s*(?:```|~~~)")
_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*")
"""The line between the head and the rows of a table."""


class Passage(NamedTuple):
    """A part of a text that says one thing.

    Attributes:
        line: Number of its first line, from 1.
        headings: The headings above it, outermost first.
        item: Whether it is an item of a list.
        date: An ISO date that it begins with.
        above: The short items that it is below in a list, outermost first.
    """

    text: str
    line: int
    headings: tuple[str, ...]
    item: bool
    date: str | None
    above: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        """The text after the items that it is below, without which it may say nothing."""
        return below(self.above, self.text)


def passages(text: str) -> Iterator[Passage]:
    """Split Markdown or plain text. Each item of a list and each paragraph is one passage.

    A line that is a field, `name:: value`, is one passage. So is each line of a paragraph of `name: value` pairs, and each
    row of a table, as pairs with the heads of its columns. Fences of code blocks are left out.
    """
    splitter = _Splitter()
    for number, line in enumerate(text.splitlines(), start=1):
        yield from splitter.add(number, line)
    yield from splitter.close()


class _Splitter:
    """Splits a text line by line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        """The lines of the passage that is open."""
        self._first = 1
        """The number of its first line."""
        self._item = False
        self._quoted = False
        self._headings: list[tuple[int, str]] = []
        """The headings above, each with its level."""
        self._columns: list[str] = []
        """The heads of the columns of a table."""
        self._outline: list[tuple[int, str]] = []
        """The last item at each depth of a list."""
        self._above: tuple[str, ...] = ()

    def add(self, number: int, line: str) -> Iterator[Passage]:
        """Add a line, and yield the passages that end before it."""
        if line.lstrip().startswith(">") != self._quoted:
            yield from self.close()
            self._quoted, self._item = not self._quoted, False
        if self._quoted:
            line = line.lstrip("> \t")
        if self._columns and "|" in line:
            row = zip(self._columns, _cells(line), strict=False)
            self._lines = [", ".join(f"{name}: {cell}" for name, cell in row if cell)]
            self._first = number
            yield from self.close()
            return
        self._columns = []
        if _TABLE_RULE.fullmatch(line) and len(self._lines) == 1:
            self._columns, self._item = _cells(self._lines.pop()), False
            return
        heading, begins = _HEADING.fullmatch(line), _ITEM.fullmatch(line)
        parts = not line.strip() or _FENCE.match(line) or _RULE.fullmatch(line)
        field = not self._item and _FIELD.match(line)
        if heading or begins or parts or field:
            yield from self.close()
            self._item = False
        if heading:
            level = len(line) - len(line.lstrip("#")) or 7
            self._outline.clear()
            self._headings = [each for each in self._headings if each[0] < level]
            self._headings.append((level, (heading[1] or heading[2]).strip()))
        elif not parts:
            if not self._lines:
                self._open(number, line, begins)
            self._lines.append(begins[2] if begins else line)
        if field:
            yield from self.close()

    def _open(self, number: int, line: str, begins: re.Match[str] | None) -> None:
        """Open a passage at a line, which begins an item or not."""
        self._first = number
        depth = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        self._outline = [each for each in self._outline if each[0] < depth]
        self._above = tuple(text for _, text in self._outline if len(text) <= _MAX_ABOVE)
        if begins:
            self._item = True
            self._outline.append((depth, begins[2]))

    def close(self) -> Iterator[Passage]:
        """Yield the passages of the lines that were added last."""
        if not self._lines:
            return
        headings = tuple(name for _, name in self._headings)
        parts = [(self._first, " ".join(line.strip() for line in self._lines))]
        if len(self._lines) > 1 and not self._item and all(map(_PAIR.match, self._lines)):
            parts = [(self._first + at, line.strip()) for at, line in enumerate(self._lines)]
        self._lines = []
        for number, part in parts:
            dated = _DATED.fullmatch(part)
            date, text = (dated[1], dated[2]) if dated else (None, part)
            yield Passage(text, number, headings, self._item, date, self._above)
            if self._item:
                self._outline[-1] = (self._outline[-1][0], text)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def below(items: Iterable[str], text: str) -> str:
    """A statement with the items that it is below in a list, outermost first."""
    for item in reversed(list(items)):
        text = about(item.rstrip(" .:;,"), text)
    return text


def about(name: str | None, text: str) -> str:
    """A statement with the name of what it is about, unless it has the name already.

    Where both read as one sentence, as "Camille" and "lives in Lille", they are one.
    """
    if name is None or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
        return text
    sentence = f"{name} {text}"
    stated = relation_of(sentence) if text[:1].islower() else None
    return sentence if stated and fold(stated.subject) == fold(name) else f"{name}: {text}"
