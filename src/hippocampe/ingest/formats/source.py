"""Files and archives as streams, and streams as numbered lines."""

import codecs
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hippocampe.errors import UnreadableFile

MAX_LINE_BYTES = 1_000_000
"""A longer line is reported, never held whole."""


@dataclass(frozen=True, slots=True)
class Source:
    """One stream of bytes that can be opened again: a file, or a member of an archive."""

    path: Path
    member: str | None
    open: Callable[[], IO[bytes]]

    @property
    def name(self) -> str:
        """How an error message names it."""
        return f"{self.path} ({self.member})" if self.member else str(self.path)

    def head(self, size: int) -> bytes:
        """Read the first `size` bytes."""
        with self.open() as stream:
            return stream.read(size)


@dataclass(frozen=True, slots=True)
class Line:
    """One line, numbered from 1. With a `problem`, `text` is only good for telling what began."""

    number: int
    text: str
    problem: str | None


def open_sources(path: Path, wanted: Callable[[str], bool]) -> list[Source]:
    """List the streams of a file: itself, or the wanted members of a zip in the order of names.

    Raises:
        UnreadableFile: The archive is damaged, encrypted, or holds nothing wanted.
    """
    with path.open("rb") as stream:
        if stream.read(4) != b"PK\x03\x04":
            return [Source(path, None, lambda: path.open("rb"))]
    with zipfile.ZipFile(path) as archive:
        members = [
            member
            for member in sorted(archive.infolist(), key=lambda member: member.filename)
            if not member.filename.endswith("/")
            and not member.filename.startswith("__MACOSX/")
            and wanted(member.filename.rsplit("/", 1)[-1].lower())
        ]
    if not members:
        raise UnreadableFile(f"cannot import {path}: this archive holds no export of talk.")
    plain = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if any(member.flag_bits & 1 or member.compress_type not in plain for member in members):
        raise UnreadableFile(
            f"cannot import {path}: it is encrypted or compressed in an unusual way. Extract it "
            "first."
        )
    return [_member(path, member.filename) for member in members]


def _member(path: Path, name: str) -> Source:
    def open_member() -> IO[bytes]:
        # ZipFile keeps its file open for as long as a member of it is.
        with zipfile.ZipFile(path) as archive:
            return archive.open(name)

    return Source(path, name, open_member)


def refuse_utf16(source: Source) -> None:
    """Say so when a file is UTF-16, which every later message would only call broken.

    Raises:
        UnreadableFile: It starts with a UTF-16 mark.
    """
    if source.head(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise UnreadableFile(f"cannot import {source.name}: it is UTF-16. Save it as UTF-8.")


def lines(source: Source) -> Iterator[Line]:
    """Yield the lines of a UTF-8 text without their ends; only one is in memory at a time."""
    with source.open() as stream:
        number = 0
        while raw := stream.readline(MAX_LINE_BYTES + 2):
            number += 1
            problem = None
            body = raw.rstrip(b"\r\n")
            if len(body) > MAX_LINE_BYTES:
                problem = f"the line is longer than {MAX_LINE_BYTES:,} bytes"
                _skip_rest(stream, raw)
            if number == 1:
                body = body.removeprefix(codecs.BOM_UTF8)
            try:
                text = body.decode()
            except UnicodeDecodeError:
                problem = problem or "the line is not valid UTF-8"
                text = body.decode(errors="replace")
            yield Line(number, text, problem)


def _skip_rest(stream: IO[bytes], raw: bytes) -> None:
    while raw and not raw.endswith(b"\n"):
        raw = stream.readline(MAX_LINE_BYTES)
