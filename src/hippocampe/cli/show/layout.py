"""Building blocks of every answer: text, tables, entries, counts and times.

Text from users is escaped and never parsed as markup. Rich is imported on first use: `--help` and
`--json` do without it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar, cast
from zoneinfo import ZoneInfo

from hippocampe.cli.terminal import Shown, language, sign
from hippocampe.language.invisible import escaped
from hippocampe.types import Memory, Recollection

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table
    from rich.text import Text

    from hippocampe.presentation.reader import Reader


T = TypeVar("T")
_ID_ROOM, _LEAST_WIDTH = 37, 6
"""Characters of an id with the comma of a list, and the fewest of another column."""
_MAX_REASONS = 3
"""Reasons for an item that are shown; those against it are all shown."""


def reader(timezone: str = "UTC") -> "Reader":
    """The reader at the terminal, in the language of the locale."""
    from hippocampe.presentation.reader import Reader

    return Reader(language=language(), timezone=timezone, now=datetime.now(UTC))


def say(text: str, **values: object) -> str:
    """Translate a text to the language of the terminal and fill its placeholders."""
    return reader().say(text, **values)


def named(name: str, value: str) -> str:
    """A value after its name: `forgotten: …`."""
    return say("{key}: {value}", key=name, value=value)


def label(kind: str, value: str) -> str:
    """The name of a value."""
    return reader().label(kind, value)


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 memory`, `1,200 memories`."""
    return reader().amount(number, noun)


def counted(counts: Mapping[str, int]) -> str:
    """Several counts: `3 memories, 1 turn`. Zeros are dropped."""
    return reader().counted(counts)


def text(content: str, style: str = "") -> "Text":
    """Escaped text in one style."""
    from rich.text import Text

    return Text(escaped(content), style=style)


def _safe(part: Shown) -> Shown:
    return text(part) if isinstance(part, str) else part


def lines(*parts: Shown) -> Shown:
    """Parts below one another; texts are escaped."""
    from rich.console import Group

    return Group(*map(_safe, parts))


def table(*columns: str, wrapped: tuple[str, ...] = ()) -> "Table":
    """A table whose last column takes the remaining width, which has room for an id: a broken one cannot be copied.

    Where the words of the other columns do not fit beside an id or a text, that is printed below them.

    Args:
        columns: Their headers, as labels of the kind `column`.
        wrapped: Columns that may break their text over lines; the last one always may.
    """
    from rich import box
    from rich.console import Group
    from rich.measure import Measurement
    from rich.padding import Padding
    from rich.styled import Styled
    from rich.table import Table
    from rich.text import Text

    class Fitted(Table):
        """Breaks the widest of the other columns over lines where the last one has no room for an id."""

        def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
            *others, _ = self.columns
            measured = [
                [Measurement.get(console, options, each) for each in (of.header, *of.cells)]
                for of in self.columns
            ]
            *widths, last = (max(each.maximum for each in column) for column in measured)
            words = [max(each.minimum for each in column) for column in measured[:-1]]
            # Each has two spaces after it.
            room = options.max_width - min(last, _ID_ROOM) - 2 * len(others)
            if sum(words) > room and last >= min(_ID_ROOM - 1, options.max_width):
                rows = zip(*((each.header, *each.cells) for each in self.columns), strict=True)
                header, *cells = map(_stacked, rows)
                return iter([Styled(header, "table.header"), *cells])
            while sum(widths) > room and max(widths) > _LEAST_WIDTH:
                # Lines are broken between words first.
                slack = [
                    w if w > max(word, _LEAST_WIDTH) else 0
                    for w, word in zip(widths, words, strict=True)
                ]
                widest = max(range(len(widths)), key=lambda at: (slack[at], widths[at]))
                widths[widest] -= 1
                others[widest].width = widths[widest]
                others[widest].no_wrap, others[widest].overflow = False, "fold"
            return super().__rich_console__(console, options)

    def _stacked(cells: Sequence[Shown]) -> Shown:
        *others, last = cells
        above = Text("  ").join(cell for each in others if (cell := cast("Text", _safe(each))))
        return Group(above, Padding(_safe(last), (0, 0, 0, 2)))

    made = Fitted(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1), expand=False
    )
    for name in columns[:-1]:
        made.add_column(label("column", name), no_wrap=name not in wrapped)
    made.add_column(label("column", columns[-1]), overflow="fold")
    return made


def listing(found: Iterable[T], none: str, **columns: Callable[[T], Shown] | None) -> Shown:
    """A table of items, whose texts are escaped, or a sentence if there is none.

    Args:
        columns: By the header, the cell of an item; None for a column that is left out.
    """
    cells = {name: cell for name, cell in columns.items() if cell is not None}
    made = table(*cells)
    for each in found:
        made.add_row(*(_safe(cell(each)) for cell in cells.values()))
    return made if made.row_count else none


def grid(rows: Iterable[tuple[Shown, Shown]], indent: int = 0) -> "Table":
    """Two columns without headers or rules; texts are escaped."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2, 0, 0))
    if indent:
        made.add_column(width=indent - 2)
    for left, right in rows:
        made.add_row(*([""] if indent else []), _safe(left), _safe(right))
    return made


def pairs(rows: Iterable[tuple[str, object]]) -> "Table":
    """Names of fields in bold, each with its value."""
    return grid((text(label("column", name), "bold"), str(value)) for name, value in rows)


def spelled(value: object, separator: str = " ") -> str:
    """A value as typed: the parts of a list are joined."""
    if isinstance(value, list | tuple):
        return separator.join(map(str, cast("Sequence[object]", value)))
    return str(value).lower() if isinstance(value, bool) else str(value)


def entry(content: str, id: str, *more: "Text") -> "Text":
    """A cell: the content, further lines, and the id last."""
    from rich.text import Text

    return Text("\n").join([text(content), *more, text(id, "dim")])


def reasons(item: Recollection, by: "Reader") -> str:
    """The strongest reasons for an item, each with its contribution to the log-odds.

    Returns:
        `why: the same words (+1.2); states a date (+0.4)`, or an empty text.
    """
    found = by.reasons(item.why)
    shown = [f"{each.text} (+{each.amount:.1f})" for each in found if each.amount > 0][
        :_MAX_REASONS
    ]
    why, but = by.say("why:"), by.say("but")
    shown += [f"{but} {each.text} ({each.amount:.1f})" for each in found if each.objection]
    return f"{why} {'; '.join(shown)}" if shown else ""


def stated(memory: Memory, by: "Reader | None" = None) -> str:
    """The content of a memory, after its key if it has one."""
    if memory.key is None:
        return memory.content
    return (by or reader()).say("{key}: {value}", key=memory.key, value=memory.content)


def spoken(item: Recollection, by: "Reader | None" = None) -> str:
    """The content of an item, after its key, or the name of its author if that is known."""
    if item.memory is not None:
        return stated(replace(item.memory, content=item.content), by)
    if item.author and not item.content.startswith(item.author):
        return f"{item.author}: {item.content}"
    return item.content


def beginning(content: str, limit: int = 200) -> str:
    """The first words of a text, up to `limit` characters."""
    return content if len(content) <= limit else content[:limit].rsplit(maxsplit=1)[0] + sign("…")


def when(at: datetime | None, timezone: str) -> str:
    """A time relative to now; empty without one."""
    return "" if at is None else reader(timezone).ago(at)


def local_time(at: datetime, timezone: str) -> str:
    """A date and time of day in a timezone: `2026-01-06 12:48`."""
    return f"{at.astimezone(ZoneInfo(timezone)):%Y-%m-%d %H:%M}"
