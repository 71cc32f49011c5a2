"""A JSON document of any size, read one record at a time."""

import codecs
import json
from collections.abc import Iterator
from typing import IO, cast

from hippocampe.errors import UnreadableFile
from hippocampe.ingest.formats.source import Source

_CHUNK_BYTES = 1 << 20
_SPACES = " \t\r\n"

# Above any real conversation; under what would exhaust a small machine.
MAX_RECORD_CHARACTERS = 1 << 28

# The longest token that can be cut by the end of the buffer and be taken for a mistake:
# a surrogate pair written as two escapes.
_LONGEST_CUT = 16


class Document:
    """A cursor over JSON text that holds no more than the record it stands on.

    Walk it with `members` (of an object), `elements` (of an array) and `value` (everything at
    the cursor); each thing that is announced must be read before the next.

    Raises:
        UnreadableFile: From every method, when the text is not JSON or ends too early.
    """

    def __init__(self, source: Source, stream: IO[bytes]) -> None:
        self._name = source.name
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace").decode
        self._scan = json.JSONDecoder().raw_decode
        self._buffer = ""
        self._position = 0
        self._dropped = 0
        self._ended = False

    def peek(self) -> str:
        """Return the next character that is not a space, empty at the end of the text."""
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
            try:
                value, end = cast("tuple[object, int]", self._scan(self._buffer, self._position))
            except json.JSONDecodeError as exc:
                cut = exc.msg.startswith("Unterminated string")
                cut = cut or exc.pos > len(self._buffer) - _LONGEST_CUT
                if not (cut and self._fill()):
                    raise self._broken(exc.pos, cut=cut) from exc
            except (ValueError, RecursionError) as exc:
                raise self._broken(self._position, cut=False) from exc
            else:
                # A number that touches the end of the buffer may go on after it.
                if end < len(self._buffer) or not self._fill():
                    self._position = end
                    return value

    def elements(self) -> Iterator[None]:
        """Stand on each element of the array at the cursor, in turn."""
        self._take("[")
        if self.peek() == "]":
            self._take("]")
            return
        while True:
            yield
            if self.peek() == "]":
                break
            self._take(",")
        self._take("]")

    def members(self) -> Iterator[str]:
        """Stand on each value of the object at the cursor, in turn, and say its key."""
        self._take("{")
        if self.peek() == "}":
            self._take("}")
            return
        while True:
            if self.peek() != '"':
                raise self._broken(self._position, cut=not self.peek())
            key = cast("str", self.value())
            self._take(":")
            yield key
            if self.peek() == "}":
                break
            self._take(",")
        self._take("}")

    def end(self) -> None:
        """Check that nothing follows."""
        if self.peek():
            raise self._broken(self._position, cut=not self.peek())

    def _take(self, expected: str) -> None:
        if self.peek() != expected:
            raise self._broken(self._position, cut=not self.peek())
        self._position += 1

    def _fill(self) -> bool:
        """Read on, doubling what is held so that a long record is not scanned too often."""
        if self._ended:
            return False
        held = self._buffer[self._position :]
        if len(held) > MAX_RECORD_CHARACTERS:
            raise UnreadableFile(f"cannot import {self._name}: one of its records is too large.")
        raw = self._stream.read(max(_CHUNK_BYTES, len(held)))
        self._ended = not raw
        self._dropped += self._position
        self._position = 0
        self._buffer = held + self._decode(raw, final=self._ended)
        return True

    def _broken(self, position: int, *, cut: bool) -> UnreadableFile:
        if cut:
            return UnreadableFile(
                f"cannot import {self._name}: the JSON stops before its end. The file is cut; "
                "export or copy it again."
            )
        return UnreadableFile(
            f"cannot import {self._name}: not valid JSON near character "
            f"{self._dropped + position + 1:,}."
        )
