"""Stream a JSON document of any size, one record at a time.

A parser of our own rather than ijson, which is 1.7 times slower (35 times without its C backend), refuses
a document for one invalid byte, and does not distinguish a truncated file from a damaged one.
"""

import codecs
import json
from collections.abc import Callable, Collection, Iterator
from typing import IO, cast

from hippocampe.errors import UnreadableFile
from hippocampe.ingest.formats.record import as_object
from hippocampe.ingest.formats.source import Source

_CHUNK_BYTES = 1 << 20
_SPACES = " \t\r\n"

MAX_RECORD_CHARACTERS = 1 << 26
"""Limit of one record: above any real conversation, below the memory of a small machine."""
MAX_RECORD_VALUES = 4_000_000
"""Limit of the commas and brackets of one record: each may begin a value of 64 bytes or more."""
_MAX_CUT_TOKEN = 16
"""Longest token that looks invalid when the buffer ends inside it: an escaped surrogate pair."""


def has_too_many_values(text: str, start: int = 0) -> bool:
    """Return whether JSON text may hold more values than a record of an export can have."""
    if len(text) - start <= MAX_RECORD_VALUES:
        return False
    return sum(text.count(mark, start) for mark in ",[{") > MAX_RECORD_VALUES


Place = tuple[str | int, ...]
"""The place of a value in a document: the keys of objects and the positions in arrays that lead to it."""


def walk(
    source: Source, opened: Callable[[Place], str] = lambda path: ""
) -> Iterator[tuple[Place, object]]:
    """Stream the values of a document, each with its place.

    Args:
        opened: What to walk into at a place, by its mark: `[`, `{`, both or none. All else is read whole, and so is
            what is empty.

    Raises:
        UnreadableFile: The text is not JSON or is truncated. Values before the damage were yielded.
    """
    with source.open() as stream:
        cursor = _Cursor(source, stream)
        yield from _values(cursor, (), opened)
        cursor.end()


def records(
    source: Source, lists: Collection[str] = (), beside: dict[str, object] | None = None
) -> Iterator[dict[str, object]]:
    """The objects of an array, of the arrays with one of some keys in an object, or else that object.

    Args:
        lists: The keys.
        beside: Gets the other members of the object.

    Raises:
        UnreadableFile: As from `walk`.
    """
    members: dict[str, object] = {} if beside is None else beside
    alone = True

    def opened(path: Place) -> str:
        if not path:
            return "[{"
        return "[" if len(path) == 1 and path[0] in lists else ""

    for path, value in walk(source, opened):
        key = path[-1] if path else None
        if isinstance(key, int):
            alone = False
            yield as_object(value)
        elif value == [] and (key is None or key in lists):
            alone = False
        elif key is not None:
            members[key] = value
    if alone:
        yield members


def _values(
    cursor: "_Cursor", path: Place, opened: Callable[[Place], str]
) -> Iterator[tuple[Place, object]]:
    mark = cursor.peek()
    if not mark or mark not in opened(path):
        yield path, cursor.value()
        return
    empty = True
    for key in cursor.items():
        empty = False
        yield from _values(cursor, (*path, key), opened)
    if empty:
        yield path, [] if mark == "[" else {}


class _Cursor:
    """A place in JSON text. It buffers one record at most.

    Raises:
        UnreadableFile: From every method, if the text is not JSON or is truncated.
    """

    def __init__(self, source: Source, stream: IO[bytes]) -> None:
        self._name = source.name
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace").decode
        self._scan = json.JSONDecoder().raw_decode
        self._buffer = ""
        self._position = 0
        self._lines = 0
        self._ended = False

    def peek(self) -> str:
        """The next character after white space; empty at the end of the text."""
        while True:
            while self._position < len(self._buffer):
                if self._buffer[self._position] not in _SPACES:
                    return self._buffer[self._position]
                self._position += 1
            if not self._fill():
                return ""

    def value(self) -> object:
        """Read the whole value at the cursor."""
        self.peek()
        while True:
            self._check_values()
            try:
                value, end = cast("tuple[object, int]", self._scan(self._buffer, self._position))
            except json.JSONDecodeError as exc:
                cut = exc.msg.startswith("Unterminated string")
                cut = cut or exc.pos > len(self._buffer) - _MAX_CUT_TOKEN
                if not (cut and self._fill()):
                    raise self._broken(exc.pos, cut=cut) from exc
            except (ValueError, RecursionError) as exc:
                raise self._broken(self._position, cut=False) from exc
            else:
                # A number at the end of the buffer may go on after it.
                if end < len(self._buffer) or not self._fill():
                    self._position = end
                    return value

    def items(self) -> Iterator[str | int]:
        """Move to each value of the array or object here, and yield its position or its key; read it before the next."""
        array = self._take("[{") == "["
        closing = "]" if array else "}"
        number = 0
        while self.peek() != closing:
            if number:
                self._take(",")
            yield number if array else self._key()
            number += 1
        self._take(closing)

    def _key(self) -> str:
        self._expect('"')
        key = cast("str", self.value())
        self._take(":")
        return key

    def end(self) -> None:
        """Check that the document ends here."""
        if self.peek():
            raise self._broken(self._position, cut=False)

    def _take(self, marks: str) -> str:
        mark = self._expect(marks)
        self._position += 1
        return mark

    def _expect(self, marks: str) -> str:
        mark = self.peek()
        if not mark or mark not in marks:
            raise self._broken(self._position, cut=not mark)
        return mark

    def _fill(self) -> bool:
        """Extend the buffer, doubling it so that rescanning a long record stays linear."""
        if self._ended:
            return False
        held = self._buffer[self._position :]
        if len(held) > MAX_RECORD_CHARACTERS:
            raise UnreadableFile(f"cannot import {self._name}: one of its records is too large.")
        raw = self._stream.read(max(_CHUNK_BYTES, len(held)))
        self._ended = not raw
        self._lines += self._buffer.count("\n", 0, self._position)
        self._position = 0
        self._buffer = held + self._decode(raw, final=self._ended)
        return True

    def _check_values(self) -> None:
        if has_too_many_values(self._buffer, self._position):
            raise UnreadableFile(
                f"cannot import {self._name}: one of its records has too many values."
            )

    def _broken(self, position: int, *, cut: bool) -> UnreadableFile:
        if cut:
            return UnreadableFile(
                f"cannot import {self._name}: the JSON stops before its end. The file is cut; "
                "export or copy it again."
            )
        line = self._lines + self._buffer.count("\n", 0, position) + 1
        return UnreadableFile(
            f"cannot import {self._name}: line {line:,} is not valid JSON. Correct it, or export the file again."
        )
