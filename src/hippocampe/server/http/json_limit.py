"""Limit the structure of JSON bodies while they arrive, before any parser runs.

A body of 16 MiB can contain millions of values: a parser would block all other requests for a second, take
hundreds of megabytes, and pass each value to validators that report it.
"""

import re
from itertools import accumulate

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.server.http.middleware import Middleware

MAX_VALUES = 250_000
"""Most values of one body: a full `remember_many` has half as many."""
MAX_DEPTH = 100
"""Most nested arrays and objects: more than any request needs, and safe for recursive code."""
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
"""Content types of other bodies, whose parser limits the number of their fields."""
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_MARKS = b"[]{},"
_PLAIN = bytes(each for each in range(256) if each not in _MARKS)
_STEPS = {mark: (mark in b"[{") - (mark in b"]}") for mark in _MARKS}


class JsonStructure:
    """Counts the values and the depth of JSON text in UTF-8, piece by piece."""

    def __init__(self) -> None:
        self.values = 0
        self.depth = 0
        self._open = 0
        self._in_string = False
        self._rest = b""

    def read(self, piece: bytes) -> None:
        """Count a piece."""
        piece = self._rest + piece
        # An escape may be split between two pieces.
        cut = (len(piece) - len(piece.rstrip(b"\\"))) % 2
        self._rest, piece = piece[len(piece) - cut :], piece[: len(piece) - cut]
        if b"\\" in piece:
            piece = _ESCAPE.sub(b"", piece)
        parts = piece.split(b'"')
        marks = b"".join(parts[self._in_string :: 2]).translate(None, _PLAIN)
        self._in_string ^= len(parts) % 2 == 0
        self.values += len(marks) - marks.count(b"]") - marks.count(b"}")
        depths = list(accumulate(map(_STEPS.__getitem__, marks), initial=self._open))
        self.depth, self._open = max(self.depth, *depths), depths[-1]


def has_too_many_values(body: bytes) -> bool:
    """Return whether JSON text has more than `MAX_VALUES` values, without parsing it."""
    # Each value takes two bytes at least.
    if len(body) <= 2 * MAX_VALUES:
        return False
    structure = JsonStructure()
    structure.read(body)
    return structure.values > MAX_VALUES


class JsonLimit(Middleware):
    """Refuses JSON bodies as soon as they have too many values or are nested too deeply.

    Args:
        free: Prefixes of paths whose bodies are files, or belong to a provider.
    """

    def __init__(self, app: ASGIApp, *, free: tuple[str, ...]) -> None:
        super().__init__(app)
        self._free = free

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        form = Headers(scope=connection).get("content-type", "").lower().startswith(_FORMS)
        if form or connection["path"].startswith(self._free):
            await self.app(connection, receive, send)
            return
        structure = JsonStructure()

        async def counted() -> Message:
            message = await receive()
            if body := message.get("body", b""):
                _check(structure, body)
            return message

        await self.app(connection, counted, send)


def _check(structure: JsonStructure, piece: bytes) -> None:
    # Parsers detect UTF-16 and UTF-32 by their NUL bytes, which never occur in UTF-8 JSON.
    if b"\0" in piece:
        raise HTTPException(422, "the body is not JSON in UTF-8: encode it so.")
    structure.read(piece)
    if structure.values > MAX_VALUES:
        raise HTTPException(
            413, f"the body has more than {MAX_VALUES:,} values: split what it holds."
        )
    if structure.depth > MAX_DEPTH:
        raise HTTPException(422, f"the body is nested more than {MAX_DEPTH} deep: flatten it.")
