"""Split a text that a person or a model wrote about someone into statements: items, lines and paragraphs."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hippocampe.language.relations import relation_of
from hippocampe.language.text import fold

_HEADING = re.compile(r"#{1,6}\s+(\S.*?)[\s#]*|\*\*([^*]+?)\*\*:?\s*")
_ITEM = re.compile(r"(\s*)(?:[-*+•]|\d{1,3}[.)])\s+(\S.*)")
_DATED = re.compile(r"\[(\d{4}-\d{2}-\d{2})\]\s*(?:[-–—:]\s*)?(\S.*)", re.S)
"""A date before an entry, as assistants write out their memories."""
_MAX_ABOVE = 200
"""Longest item that those below it come in with."""
_PAIR = re.compile(r"[^\s:][^:\n]{0,39}:\s")
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

    A paragraph whose lines are all `name: value` pairs is one passage for each; so is each row of a table, as pairs with
    the heads of its columns. Fences of code blocks are left out.
    """
    above: list[tuple[int, str]] = []
    lines: list[str] = []
    columns: list[str] = []
    outline: list[tuple[int, str]] = []
    over: tuple[str, ...] = ()
    first, item, quoted = 1, False, False

    def close() -> Iterator[Passage]:
        if not lines:
            return
        headings = tuple(name for _, name in above)
        parts = [(first, " ".join(line.strip() for line in lines))]
        if len(lines) > 1 and not item and all(_PAIR.match(line) for line in lines):
            parts = [(first + number, line.strip()) for number, line in enumerate(lines)]
        for number, part in parts:
            dated = _DATED.fullmatch(part)
            text = dated[2] if dated else part
            yield Passage(text, number, headings, item, dated[1] if dated else None, over)
            if item:
                outline[-1] = (outline[-1][0], text)
        lines.clear()

    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(">") != quoted:
            yield from close()
            quoted, item = not quoted, False
        if quoted:
            line = line.lstrip("> \t")
        if columns and "|" in line:
            row = zip(columns, _cells(line), strict=False)
            lines, first = [", ".join(f"{name}: {cell}" for name, cell in row if cell)], number
            yield from close()
            continue
        columns = []
        if _TABLE_RULE.fullmatch(line) and len(lines) == 1:
            columns = _cells(lines.pop())
            continue
        heading = _HEADING.fullmatch(line)
        begins = _ITEM.fullmatch(line)
        if heading or begins or not line.strip() or _FENCE.match(line) or _RULE.fullmatch(line):
            yield from close()
            item = False
        if heading:
            level = len(line) - len(line.lstrip("#")) or 7
            outline.clear()
            above = [each for each in above if each[0] < level]
            above.append((level, (heading[1] or heading[2]).strip()))
        elif _RULE.fullmatch(line) or _FENCE.match(line) or not line.strip():
            continue
        else:
            if not lines:
                first = number
                depth = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
                outline = [each for each in outline if each[0] < depth]
                over = tuple(text for _, text in outline if len(text) <= _MAX_ABOVE)
                if begins:
                    item = True
                    outline.append((depth, begins[2]))
            lines.append(begins[2] if begins else line)
    yield from close()


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
