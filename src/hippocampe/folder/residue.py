"""Find the files of a data folder that contain a text, in a child process.

Closing a database file drops all SQLite locks of the process on it (see `Store.read_ahead`), so the
serving process must never open it directly.
"""

import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from hippocampe.errors import StoreError
from hippocampe.language.text import fold
from hippocampe.store.schema import LONGEST_MADE, MADE
from hippocampe.system import worker

_EMPTY: Final = bytes(1 << 20)
"""An empty block, of the size that is read at once."""
_MADE: Final = re.compile(f"(?=({MADE}))".encode())
"""As a lookahead, it finds those that overlap: a file holds its fields without separators."""
_LOG: Final = struct.Struct(">4sII20x")
"""The header of a write-ahead log of SQLite: magic number, version, bytes of a page (https://sqlite.org/walformat)."""
_LOG_MAGIC: Final = frozenset({b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"})
_FRAME_HEADER: Final = bytes(24)
"""As many bytes as precede each page of the log; a checksum in them may spell a short name."""


def found_in_files(
    folder: Path, texts: Sequence[str], names: Sequence[str]
) -> Mapping[str, tuple[str, ...]]:
    """Search texts in the files below a folder; return each text found, with the relative paths of these files.

    Each text is searched in all its `spellings`, other than as a part of what the program wrote: "table" and "alias"
    after each other are no Léa, and "ada" in an id is no Ada.

    Raises:
        StoreError: The files could not be read.
    """
    if not texts:
        return {}
    try:
        found = worker.run(("-m", "hippocampe.folder.residue"), [str(folder), names, texts])
    except worker.ChildFailed as exc:
        raise StoreError(f"the files in {folder} could not be searched: {exc}.") from exc
    return {text: tuple(paths) for text, paths in json.loads(found).items() if paths}


def spellings(text: str) -> set[str]:
    """A text as given, in lower case, in upper case, capitalised and folded."""
    return {text, text.lower(), text.upper(), text.title(), fold(text)} - {""}


def _needles(text: str) -> set[bytes]:
    # Earlier versions stored JSON with escaped non-ASCII characters.
    forms = spellings(text)
    return {form.encode() for form in forms | {json.dumps(form)[1:-1] for form in forms}}


def _search(folder: Path, names: Sequence[str], texts: Sequence[str]) -> dict[str, list[str]]:
    needles = {text: _needles(text) for text in texts}
    of_program = [name.encode() for name in names]
    found: dict[str, list[str]] = {text: [] for text in texts}
    for path in sorted(folder.rglob("*")):
        # The configuration of the index is JSON, and holds no content.
        if path.is_file() and not (
            path.suffix == ".json" and path.is_relative_to(folder / "index")
        ):
            for text in held(path, needles, of_program):
                found[text].append(str(path.relative_to(folder)))
    return found


def held(path: Path, needles: Mapping[str, set[bytes]], names: Sequence[bytes]) -> set[str]:
    """The texts that a file contains, other than as a part of an id, a digest or a name of the program.

    Args:
        needles: The texts, each with the bytes to find.
    """
    longest = max(len(needle) for of_text in needles.values() for needle in of_text)
    around = max(LONGEST_MADE, max(map(len, names), default=0))
    overlap = longest - 1 + around
    found: set[str] = set()
    # Hits are judged once, when what is around them has been read.
    window, judged, more = b"", 0, True
    with path.open("rb") as file:
        blocks = _blocks(file)
        while more and len(found) < len(needles):
            block = next(blocks, b"")
            more = bool(block)
            if block == _EMPTY and not window.strip(b"\0"):
                # The index preallocates its files: most of a small folder is empty.
                window, judged = bytes(around), around
                continue
            window += block
            end = len(window) - overlap if more else len(window)
            for text in needles.keys() - found:
                hits = (hit for each in needles[text] for hit in _hits(each, window, judged, end))
                if any(not _is_within(hit, window, names, around) for hit in hits):
                    found.add(text)
            judged = max(end, judged)
            window, judged = window[max(0, judged - around) :], min(judged, around)
    return found


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """The content of a file, with the checksums of a write-ahead log cleared."""
    header = file.read(_LOG.size)
    frame = 0
    if len(header) == _LOG.size and header[:4] in _LOG_MAGIC:
        frame = len(_FRAME_HEADER) + _LOG.unpack(header)[2]
    # A page has 64 KiB at most.
    frames = len(_EMPTY) // frame if frame else 0
    yield bytes(_LOG.size) if frames else header
    while block := file.read(frames * frame or len(_EMPTY)):
        cleared = bytearray(block)
        for number in range(frames):
            at = number * frame
            cleared[at : at + len(_FRAME_HEADER)] = _FRAME_HEADER
        yield bytes(cleared[: len(block)])


def _hits(needle: bytes, window: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The places of a text that begin within some bytes."""
    at = window.find(needle, start)
    while 0 <= at < end:
        yield at, at + len(needle)
        at = window.find(needle, at + 1)


def _is_within(hit: tuple[int, int], window: bytes, names: Sequence[bytes], around: int) -> bool:
    """Return whether a hit is a part of an id, a digest or one of the names, and not all of it."""
    start, end = hit
    # First the ids, which are many and short, in few bytes.
    near = _MADE.finditer(window, max(0, end - LONGEST_MADE), start + LONGEST_MADE)
    if any(_holds(found.span(1), hit) for found in near):
        return True
    first = max(0, end - around)
    beside = window[first : start + around]
    inside = (start - first, end - first)
    return any(
        _holds(place, inside) for name in names for place in _hits(name, beside, 0, len(beside))
    )


def _holds(place: tuple[int, int], hit: tuple[int, int]) -> bool:
    return place[0] <= hit[0] and hit[1] <= place[1] and place != hit


if __name__ == "__main__":
    folder, names, texts = worker.taken_order()
    print(json.dumps(_search(Path(folder), names, texts)))
