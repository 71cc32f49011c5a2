"""Open files and members of archives as streams, and streams as numbered lines."""

import codecs
import io
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING

from hippocampe.errors import UnreadableFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_LINE_BYTES = 1_000_000
"""Longest line; longer ones are reported and never loaded whole."""
MAX_EMPTY_LINES = 100_000
"""Most empty lines in a row. No program exports as many, and a file of them would be read for minutes."""
MAX_EXPANDED_BYTES = 2**30
"""Most bytes read from an archive: the size limit of an uncompressed file."""
MAX_RATIO = 100
"""Highest compression ratio (zip bomb). Exports of talk are compressed 5 to 30 times."""
FREE_BYTES = 4 * 2**20
"""Bytes that any archive may expand to, because short and repetitive talk compresses further."""
MAX_DIRECTORY_BYTES = 8 * 2**20
"""Largest directory of an archive, which is read whole: that of 80,000 photos."""
DAMAGED = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)
"""The errors of a file or an archive that cannot be read."""
_MAX_NAME = 255
_ARCHIVE = ".zip"
_CHUNK_BYTES = 1 << 16
_HEAD_BYTES = 1 << 18
"""Bytes that tell the encoding of a text."""
_HIDDEN = re.compile(r"(?:^|/)\.")


@dataclass(frozen=True, slots=True)
class Source:
    """A stream of bytes that can be reopened: a file, or a member of a folder or an archive.

    `modified` is when its file was written last, if that is known; `size` the bytes that a member of an archive
    expands to.
    """

    path: Path
    member: str | None
    reopen: Callable[[], IO[bytes]]
    modified: datetime | None = None
    size: int = 0

    @property
    def name(self) -> str:
        """The name in error messages."""
        return f"{self.path} ({self.member})" if self.member else str(self.path)

    @property
    def is_archive(self) -> bool:
        """True for a member with the name of a zip."""
        return self.member is not None and self.member.lower().endswith(_ARCHIVE)

    def open(self) -> IO[bytes]:
        """Open the stream; the encodings of Windows become UTF-8."""
        with ExitStack() as stack:
            stream = stack.enter_context(self.reopen())
            encoding = _encoding(stream.read(_HEAD_BYTES))
            stream.seek(0)
            stack.pop_all()
        if encoding is None:
            return stream
        return io.BufferedReader(_AsUtf8(stream, encoding))

    def head(self, size: int) -> bytes:
        """Read the first `size` bytes, and the rest of the first line if it is longer, up to the longest line."""
        with self.open() as stream:
            head = stream.read(size)
            return head if b"\n" in head else head + stream.readline(MAX_LINE_BYTES - len(head))


def _encoding(head: bytes) -> str | None:
    """The encoding of a text by its beginning; None for UTF-8.

    A text whose letters with accents are all invalid in UTF-8 is in the older encoding of Windows.
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.isascii() or not head.decode(errors="ignore").isascii():
        return None
    return "cp1252"


def file_source(path: Path) -> Source:
    """A file as a source."""
    return Source(path, None, lambda: path.open("rb"))


class _AsUtf8(io.RawIOBase):
    """A stream of text in another encoding, as UTF-8; bytes that are invalid in that encoding are replaced."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        super().__init__()
        self._stream = stream
        self._decode = codecs.getincrementaldecoder(encoding)(errors="replace").decode
        self._waiting = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        whole = False
        while not self._waiting and not whole:
            raw = self._stream.read(_CHUNK_BYTES)
            whole = not raw
            self._waiting = self._decode(raw, final=whole).encode(errors="replace")
        room = memoryview(buffer)
        part, self._waiting = self._waiting[: len(room)], self._waiting[len(room) :]
        room[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._stream.close()
        super().close()


@dataclass(frozen=True, slots=True)
class Line:
    """One line, numbered from 1. With a `problem`, `text` is only the start of the line."""

    number: int
    text: str
    problem: str | None


def open_sources(path: Path, wanted: Callable[[str], bool]) -> list[Source]:
    """List the streams of a file: itself, or the wanted members of a folder or a zip, by name.

    Args:
        wanted: Selects members by lower-case file name. Hidden ones are never read.

    Raises:
        UnreadableFile: The archive is damaged or encrypted.
    """
    if path.is_dir():
        return _folder(path, wanted)
    with path.open("rb") as stream:
        if stream.read(4) != b"PK\x03\x04":
            return [file_source(path)]
    with checked_archive(path, wanted) as archive:
        members = _wanted(archive, wanted)
    # One directory for all members: each of thousands of notes would read it again. The last of them closes the file.
    archive = zipfile.ZipFile(path)
    return [_member(archive, path, member) for member in members]


@dataclass(slots=True)
class Room:
    """The bytes that the archives in an archive may still expand to."""

    left: int = MAX_EXPANDED_BYTES


def room_in(path: Path) -> Room:
    """The room of the archives in an archive."""
    return Room(_most(path))


def open_archive(archive: Source, wanted: Callable[[str], bool], room: Room) -> list[Source]:
    """List the wanted members of a zip that is in a folder or in another zip, by name.

    Args:
        archive: The zip.
        wanted: As in `open_sources`.
        room: Decreases by what the zip takes.

    Raises:
        UnreadableFile: The zip is encrypted, or there is no room for it.
    """
    with ExitStack() as stack:
        path = archive.path / str(archive.member)
        if not path.is_file():
            path = stack.enter_context(_copy(archive, room))
        most = min(room.left, _most(path))
        with _checked(path, archive.name, wanted, MAX_DIRECTORY_BYTES, most) as checked:
            members = _wanted(checked, wanted)
        # It holds a copy whose name is removed.
        whole = zipfile.ZipFile(path)
    sources = [_member(whole, archive.path, each, f"{archive.member}/") for each in members]
    room.left -= sum(each.size for each in sources if not each.is_archive)
    return sources


@contextmanager
def _copy(archive: Source, room: Room) -> Generator[Path]:
    """Copy a zip in a zip to a file: each of its members would expand it again from its beginning."""
    if archive.size > room.left:
        raise _too_large(archive.name, archive.size, room.left)
    room.left -= archive.size
    with NamedTemporaryFile() as file:
        try:
            with archive.reopen() as stream:
                shutil.copyfileobj(stream, file)
        except RuntimeError as exc:
            raise _locked(archive.name) from exc
        file.flush()
        yield Path(file.name)


def checked_archive(
    path: Path,
    wanted: Callable[[str], bool] = lambda name: True,
    *,
    directory: int = MAX_DIRECTORY_BYTES,
) -> AbstractContextManager[zipfile.ZipFile]:
    """Open a zip whose wanted members can be read without harm, unless they are archives.

    Args:
        wanted: Selects members by lower-case file name.
        directory: Most bytes of its directory.

    Raises:
        UnreadableFile: It is encrypted, compressed in an unusual way, or would expand to too much.
    """
    return _checked(path, str(path), wanted, directory, _most(path))


@contextmanager
def _checked(
    path: Path, name: str, wanted: Callable[[str], bool], directory: int, most: int
) -> Generator[zipfile.ZipFile]:
    with _Directory(path, directory) as stream, zipfile.ZipFile(stream) as archive:
        members = [
            each
            for each in _wanted(archive, wanted)
            if not each.filename.lower().endswith(_ARCHIVE)
        ]
        plain = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if any(member.flag_bits & 1 or member.compress_type not in plain for member in members):
            raise _locked(name)
        # Reading a member stops at the size that the archive declares.
        expanded = sum(member.file_size for member in members)
        if expanded > most:
            raise _too_large(name, expanded, most)
        yield archive


def _most(path: Path) -> int:
    """Most bytes that an archive may expand to."""
    return min(MAX_EXPANDED_BYTES, max(FREE_BYTES, MAX_RATIO * path.stat().st_size))


def _locked(name: str) -> UnreadableFile:
    return UnreadableFile(
        f"cannot import {name}: it is encrypted or compressed in an unusual way. Extract it first."
    )


def _too_large(name: str, size: int, most: int) -> UnreadableFile:
    return UnreadableFile(
        f"cannot import {name}: it would expand to {size:,} bytes, more than {most:,}. If that is "
        "right, extract it and import its files."
    )


def _wanted(archive: zipfile.ZipFile, wanted: Callable[[str], bool]) -> list[zipfile.ZipInfo]:
    return [
        member
        for member in sorted(archive.infolist(), key=lambda member: member.filename)
        if not member.filename.endswith("/")
        and not member.filename.startswith("__MACOSX/")
        and not _HIDDEN.search(member.filename)
        and len(name := member.filename.rsplit("/", 1)[-1]) <= _MAX_NAME
        and wanted(name.lower())
    ]


def _folder(folder: Path, wanted: Callable[[str], bool]) -> list[Source]:
    """The wanted files below a folder. Symbolic links are not followed, so that nothing outside is read."""
    found: list[Source] = []
    for above, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            file = Path(above, name)
            if wanted(name.lower()) and not name.startswith(".") and not file.is_symlink():
                modified = datetime.fromtimestamp(file.stat().st_mtime, UTC)
                member = file.relative_to(folder).as_posix()
                found.append(Source(folder, member, partial(file.open, "rb"), modified))
    return found


class _Directory(io.FileIO):
    """A zip archive whose directory and members are never read at once."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(path)
        self._most = most

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self._most:
            raise zipfile.BadZipFile(f"the list of its members takes {size:,} bytes")
        return super().read(-1 if size is None else size)


def source_of(path: Path, name: str) -> Source:
    """A file of a folder or of a zip, by its name there."""
    if path.is_dir():
        return Source(path, name, partial((path / name).open, "rb"))
    archive = zipfile.ZipFile(path)
    return _member(archive, path, archive.getinfo(name))


def _member(
    archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo, inside: str = ""
) -> Source:
    return Source(
        path,
        inside + member.filename,
        partial(archive.open, member),
        _written_at(member),
        member.file_size,
    )


def _written_at(member: zipfile.ZipInfo) -> datetime | None:
    try:
        return datetime(*member.date_time, tzinfo=UTC)
    except ValueError:
        return None


def read_lines(source: Source, *, longest: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Stream the lines of a UTF-8 text, without their line ends.

    Raises:
        UnreadableFile: More than `MAX_EMPTY_LINES` lines in a row are empty.
    """
    with source.open() as stream:
        number = empty = 0
        while raw := stream.readline(longest + 2):
            number += 1
            problem = None
            body = raw.rstrip(b"\r\n")
            empty = 0 if body.strip() else empty + 1
            if empty > MAX_EMPTY_LINES:
                raise UnreadableFile(
                    f"cannot import {source.name}: more than {MAX_EMPTY_LINES:,} lines in a row are empty, "
                    f"up to line {number:,}."
                )
            if len(body) > longest:
                problem = f"the line is longer than {longest:,} bytes"
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
