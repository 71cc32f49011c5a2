"""Open files and members of archives as streams, and streams as numbered lines."""

import codecs
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hippocampe.errors import UnreadableFile

MAX_LINE_BYTES = 1_000_000
"""Longer lines are reported and never loaded whole."""


@dataclass(frozen=True, slots=True)
class Source:
    """A stream of bytes that can be reopened: a file, or a member of an archive."""

    path: Path
    member: str | None
    open: Callable[[], IO[bytes]]

    @property
    def name(self) -> str:
        """The name in error messages."""
        return f"{self.path} ({self.member})" if self.member else str(self.path)

    def head(self, size: int) -> bytes:
        """Read the first `size` bytes."""
        with self.open() as stream:
            return stream.read(size)


@dataclass(frozen=True, slots=True)
class Line:
    """One line, numbered from 1. With a `problem`, `text` is only the start of the line."""

    number: int
    text: str
    problem: str | None


def open_sources(path: Path, wanted: Callable[[str], bool]) -> list[Source]:
    """List the streams of a file: itself, or the wanted members of a zip, by name.

    Args:
        path: The file.
        wanted: Selects members by lower-case file name.

    Raises:
        UnreadableFile: The archive is damaged, encrypted, or has no wanted member.
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
        raise UnreadableFile(
            f"cannot import {path}: this archive contains no export of a conversation."
        )
    plain = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if any(member.flag_bits & 1 or member.compress_type not in plain for member in members):
        raise UnreadableFile(
            f"cannot import {path}: it is encrypted or compressed in an unusual way. Extract it "
            "first."
        )
    return [_member(path, member.filename) for member in members]


def _member(path: Path, name: str) -> Source:
    def open_member() -> IO[bytes]:
        # ZipFile keeps its file open until its members are closed.
        with zipfile.ZipFile(path) as archive:
            return archive.open(name)

    return Source(path, name, open_member)


def refuse_utf16(source: Source) -> None:
    """Refuse UTF-16 with a clear message instead of one problem per line.

    Raises:
        UnreadableFile: The file starts with a UTF-16 byte order mark.
    """
    if source.head(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise UnreadableFile(f"cannot import {source.name}: it is UTF-16. Save it as UTF-8.")


def read_lines(source: Source) -> Iterator[Line]:
    """Stream the lines of a UTF-8 text, without their line ends."""
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
