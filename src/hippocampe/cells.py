"""Divide the spaces of a data folder among cells: processes that each own whole spaces and a folder.

The first cell is the data folder itself, so a folder is divided without moving anything. The others are in its folder
`cells`. A space belongs to the cell that its name hashes to, unless the division pins it to another one.

The division is one small file, replaced atomically. It is the truth on which cell has a space: a process that
crashes at any instant leaves each space with exactly one copy that is in force, and complete. Others are listed in it
as `moving` or `stale` until they are removed.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from hippocampe.errors import InvalidInput, SpaceElsewhere, StoreBusy, StoreError, StoreMissing
from hippocampe.system import free_space, private
from hippocampe.system.local_socket import DIVISION

FOLDER = "cells"
MAX_CELLS = 64
ORPHAN_SECONDS = 20.0
"""Time for the cells of a server that was killed to notice it, and to leave their folders."""
SETTLE_SECONDS = 0.01
"""Poll interval of writes under way."""

MISPLACED: ContextVar[list[str] | None] = ContextVar("hippocampe_misplaced", default=None)
"""Collects the spaces that a request needed and that its cell refused."""


@dataclass(frozen=True, slots=True)
class Division:
    """The assignment of spaces to cells.

    Attributes:
        pinned: The cells of spaces that are not where their name hashes to.
        moving: The target of each space that is being copied; it accepts no writes meanwhile.
        stale: The cell of each space that also has a copy that is not in force, still to be removed.
    """

    count: int
    pinned: Mapping[str, int] = field(default_factory=dict[str, int])
    moving: Mapping[str, int] = field(default_factory=dict[str, int])
    stale: Mapping[str, int] = field(default_factory=dict[str, int])

    def cell_of(self, space: str) -> int:
        """The number of the cell that has a space."""
        pinned = self.pinned.get(space)
        return hashed(space, self.count) if pinned is None else pinned

    def having(self, space: str, cell: int) -> "Division":
        """The division with a space in another cell."""
        pinned = {name: at for name, at in self.pinned.items() if name != space}
        if hashed(space, self.count) != cell:
            pinned[space] = cell
        return replace(self, pinned=pinned)

    def settled(self, space: str, *, stale: int) -> "Division":
        """The division after the end of a move: the copy of the space in the cell `stale` is not in force."""
        moving = {name: at for name, at in self.moving.items() if name != space}
        return replace(self, moving=moving, stale={**self.stale, space: stale})


def hashed(space: str, count: int) -> int:
    """The cell that a name hashes to, by highest random weight: with one cell more, the fewest names change cell
    (Thaler and Ravishankar, 1998)."""

    def weight(cell: int) -> bytes:
        return hashlib.blake2b(f"{cell}/{space}".encode(), digest_size=8).digest()

    return max(range(count), key=weight)


def folder_of(root: Path, cell: int) -> Path:
    """The folder of a cell."""
    return root if cell == 0 else root / FOLDER / str(cell)


def home_of(folder: Path, space: str) -> Path:
    """The folder of the cell that has a space; the folder itself if it is not divided.

    Raises:
        StoreError: The folder or its division cannot be read.
    """
    divided = Divided(folder)
    return folder_of(folder, divided.read().cell_of(space)) if divided.exists else folder


def located(folder: Path) -> tuple[Path, int] | None:
    """The divided data folder, and the number of the cell, whose folder this is; None if it is not a cell.

    Raises:
        StoreError: The folder cannot be read.
    """
    folder = folder.absolute()
    if Divided(folder).exists:
        return folder, 0
    root = folder.parent.parent
    if folder.parent.name == FOLDER and folder.name.isdecimal() and Divided(root).exists:
        return root, int(folder.name)
    return None


def check_cell(database: Path) -> None:
    """Refuse a cell without its database: a new, empty one would hide that its spaces are lost.

    Raises:
        StoreMissing: The database is that of a cell, and is missing or empty.
    """
    folder = database.parent
    if (found := located(folder)) is None or (database.is_file() and database.stat().st_size):
        return
    raise StoreMissing(
        f"cannot open cell {found[1]}: there is no database in {folder}. Nothing was created. Restore all cells from "
        "a backup."
    )


class Divided:
    """A divided data folder. Thread-safe; changes of other processes are seen at the next call."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._file = root / DIVISION
        self._seen: tuple[tuple[int, int, int], Division] | None = None

    @property
    def exists(self) -> bool:
        """Return whether the folder is divided.

        Raises:
            StoreError: The folder cannot be read: it is another user's, or its disk is gone.
        """
        try:
            self._file.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as exc:
            raise StoreError(
                f"cannot use the data folder {self.root}: {exc.strerror}. Choose a folder you can write, or change "
                "its permissions."
            ) from exc
        return True

    def read(self) -> Division:
        """The division in force.

        Raises:
            StoreError: The file cannot be read.
        """
        try:
            found = os.stat(self._file)  # noqa: PTH116 - each call of a verb does this
            state = (found.st_ino, found.st_mtime_ns, found.st_size)
            seen = self._seen
            if seen is None or seen[0] != state:
                division = Division(**json.loads(self._file.read_bytes()))
                self._seen = seen = state, division
        except (OSError, ValueError, TypeError) as exc:
            raise StoreError(
                f"cannot read {self._file}, which says which cell has which space ({exc}): restore it from a "
                "backup of the folder."
            ) from exc
        return seen[1]

    def write(self, division: Division) -> None:
        """Put a division in force.

        Raises:
            StoreError: The file cannot be written; the former division stays in force.
        """
        try:
            private.replace_text(self._file, json.dumps(asdict(division)), durable=True)
        except OSError as exc:
            raise free_space.refusal(exc, f"cannot write {self._file}") from exc

    def settled(self) -> Division:
        """The division while nothing moves: of moves that were interrupted, the target has a stale copy.

        Raises:
            StoreError: The file cannot be read or written.
        """
        found = self.read()
        if found.moving:
            found = replace(found, moving={}, stale={**found.stale, **found.moving})
            self.write(found)
        return found

    def remove(self) -> None:
        """Make the folder that of a single process again."""
        self._file.unlink(missing_ok=True)


class Fence:
    """Keeps one cell from using spaces of other cells."""

    def __init__(self, root: Path, cell: int) -> None:
        self.divided = Divided(root)
        self.cell = cell
        self._lock = threading.Lock()
        self._writing: dict[str, int] = {}

    @classmethod
    def of(cls, folder: Path) -> "Fence | None":
        """The fence of a folder; None if it is not a cell."""
        found = located(folder)
        return None if found is None else cls(*found)

    def check(self, space: str, *, writes: bool, erases: bool = False) -> None:
        """Check that this cell has a space, and that it accepts writes, or an erasure.

        Raises:
            SpaceElsewhere: Another cell has it, or it is being moved.
            StoreBusy: Its former cell still has a copy, which an erasure here would not reach.
        """
        division = self.divided.read()
        cell = division.cell_of(space)
        if cell == self.cell and erases and space in division.stale:
            raise StoreBusy(
                f"nothing was erased: the move of space {space!r} has left a copy in cell {division.stale[space]}, "
                "which the server removes within a minute of the last move, if its disk has room to write the files "
                "of that cell again. Its log says what is in the way. Try again then."
            )
        if cell == self.cell and not (writes and space in division.moving):
            return
        if (misplaced := MISPLACED.get()) is not None:
            misplaced.append(space)
        if cell == self.cell:
            raise SpaceElsewhere(
                f"space {space!r} is being moved to another cell: try again in a moment."
            )
        raise SpaceElsewhere(
            f"space {space!r} is not here but in cell {cell}: use the server, or open "
            f"{folder_of(self.divided.root, cell)}."
        )

    @contextmanager
    def using(self, space: str, *, writes: bool, erases: bool = False) -> Generator[None]:
        """Check as `check` does; a write counts as under way until the block ends.

        A read is checked once more at its end: the copy that it read may have been removed meanwhile.
        """
        if not writes:
            self.check(space, writes=False)
            try:
                yield
            finally:
                self.check(space, writes=False)
            return
        with self._lock:
            self._writing[space] = self._writing.get(space, 0) + 1
        try:
            # After it was counted: a move that is announced later waits for this write.
            self.check(space, writes=True, erases=erases)
            yield
        finally:
            with self._lock:
                self._writing[space] -= 1
                if not self._writing[space]:
                    del self._writing[space]

    def settle(self, space: str, seconds: float) -> None:
        """Wait for the writes under way of a space that is being moved.

        Raises:
            InvalidInput: They do not end in time.
        """
        ends = time.monotonic() + seconds
        while self._writing.get(space):
            if time.monotonic() > ends:
                raise InvalidInput(
                    f"space {space!r} was not moved: a write in it has been under way for {seconds:g} seconds. "
                    "Try again later."
                )
            time.sleep(SETTLE_SECONDS)
