"""Divide a data folder among cells, in place, copy all cells, and read what they share."""

import hashlib
import shutil
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hippocampe.cells import (
    FOLDER,
    MAX_CELLS,
    ORPHAN_SECONDS,
    Divided,
    Division,
    check_cell,
    folder_of,
    hashed,
)
from hippocampe.client import joining
from hippocampe.config import DATABASE, Config
from hippocampe.engine import api_keys
from hippocampe.errors import InvalidInput, StoreBusy
from hippocampe.folder.lock import FolderLock
from hippocampe.folder.relocation import spaces_of
from hippocampe.store import meta
from hippocampe.store.store import BACKUPS, Store
from hippocampe.store.translation import translated
from hippocampe.system import atomic_file, free_space, private
from hippocampe.system.exclusive import exclusive
from hippocampe.system.local_socket import DIVISION, is_held
from hippocampe.system.recent import Recent
from hippocampe.types import Scope

MAX_KNOWN = 10_000
"""Most keys whose space is kept in memory."""
BACKUP_LOCK = "backup.lock"
"""The file, in the folder of the cells, that a backup of all cells locks."""
TRIES = 8
"""Most copies for one backup of all cells: a space that moves meanwhile may be in two cells of a copy, or in none.

A move changes the division three times: when it begins, when it ends, and once the former cell is cleared.
"""


def divide(config: Config, count: int, before: Callable[[], object] = lambda: None) -> Config:
    """Divide a data folder among cells. Nothing is moved: each space stays in the cell that has it.

    A crash before the division is in force leaves the folder as it was, one after it a divided folder.

    Args:
        config: The folder; it is created if it does not exist.
        count: The number of cells; 1 makes it the folder of a single process again.
        before: Called once nothing else is in the way; if it raises, the folder stays as it was.

    Returns:
        The configuration of the cells: all use the embedder of the first one.

    Raises:
        InvalidInput: The count cannot be used, or a cell that would be dropped has spaces.
        StoreMissing: The database of a cell is missing.
        FolderInUse: Another process uses the folder, or a cell.
    """
    if not 1 <= count <= MAX_CELLS:
        raise InvalidInput(f"a folder has 1 to {MAX_CELLS} cells, not {count}.")
    if config.database_url is not None:
        raise InvalidInput(
            "cells divide a data folder, not a PostgreSQL database: start several servers on the database instead."
        )
    root = config.folder
    divided = Divided(root)
    with ExitStack() as held:
        held.enter_context(_held(root))
        former = divided.settled() if divided.exists else Division(1)
        found, embedder = _taken(root, former, held)
        copies = (*found.items(), *former.stale.items())
        lost = sorted(space for space, cell in copies if cell >= count)
        if lost:
            raise InvalidInput(
                f"the folder has {former.count} cells, and {len(lost)} spaces are in those beyond {count}, such "
                f"as {lost[0]!r}: move them first, with hippocampe move-space."
            )
        before()
        if count == 1:
            divided.remove()
        elif count != former.count or not divided.exists:
            # Also spaces without a row: their keys may be in use. Hooks use the default space of the folder itself.
            known = {s: cell for s, cell in former.pinned.items() if cell < count}
            placed = {Scope().space: 0} | known | found
            pinned = {s: cell for s, cell in placed.items() if hashed(s, count) != cell}
            for cell in range(former.count, count):
                # Now, so that a missing one is a loss.
                folder = folder_of(root, cell)
                private.make_folder(folder)
                Store.open(folder / DATABASE, folder).close()
            divided.write(Division(count, pinned, stale=former.stale))
    return replace(config, embedder=config.embedder or embedder)


def _taken(root: Path, division: Division, held: ExitStack) -> tuple[dict[str, int], str | None]:
    """Hold all cells; return the cell of each space that has rows, and the embedder."""
    found = dict[str, int]()
    embedder: str | None = None
    for cell in range(division.count):
        folder = folder_of(root, cell)
        check_cell(folder / DATABASE)
        if cell:
            held.enter_context(_held(folder))
        with closing(Store.open(folder / DATABASE, folder)) as store, store.read() as connection:
            here = spaces_of(connection)
            found |= {space: cell for space in here if division.stale.get(space) != cell}
            embedder = embedder or meta.get(connection, "embedder")
    return found, embedder


def back_up(
    root: Path,
    copy: Callable[[Path, Path], object],
    target: Path | None = None,
    *,
    overwrite: bool = False,
) -> Path:
    """Copy all cells of a divided folder while they are in use, to a folder that is a divided data folder itself.

    It has each space as it was at one instant.

    Args:
        copy: Copies the database of a cell, from the folder of the cell to a file.
        target: The folder to write; default: a dated one in the data folder's `backups`.
        overwrite: Replace an earlier copy; a failure leaves it as it was.

    Returns:
        The folder with the copy.

    Raises:
        InvalidInput: The target exists, or is one of the data folder's own.
        FolderInUse: Another backup of all cells is being made, or a cell does not answer.
        StoreBusy: Spaces were moved meanwhile, each time.
        StoreError: The copy cannot be written.
    """
    divided = Divided(root.absolute())
    backups = divided.root / BACKUPS
    target = (target or backups / datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")).absolute()
    parts = (DATABASE, DIVISION, FOLDER)
    with ExitStack() as held:
        with translated():
            private.make_folder(target.parent)
            if target.parent == backups:
                held.enter_context(_only_backup(divided.root))
        partial = held.enter_context(
            atomic_file.whole_folder(target, folder=divided.root, overwrite=overwrite, parts=parts)
        )
        _copy_cells(divided, copy, Divided(partial))
    return target


@contextmanager
def _only_backup(root: Path) -> Generator[None]:
    """Be the only one that fills a backup of all cells in the data folder, and remove what killed ones left there."""
    refusal = f"cannot back up {root}: another backup of all its cells is being made. Wait until it has ended."
    with exclusive(root / FOLDER / BACKUP_LOCK, refusal):
        for killed in (root / BACKUPS).glob(f"*{atomic_file.PARTIAL}*/"):
            shutil.rmtree(killed, ignore_errors=True)
        yield


def _copy_cells(divided: Divided, copy: Callable[[Path, Path], object], target: Divided) -> None:
    for _ in range(TRIES):
        division = divided.read()
        cells = range(division.count)
        sources = [folder_of(divided.root, cell) for cell in cells]
        databases = [each for source in sources if (each := source / DATABASE).exists()]
        free_space.check(target.root, sum(each.stat().st_size for each in databases))
        # Before the databases, so that erasures meanwhile find them.
        target.write(division)
        for cell, source in zip(cells, sources, strict=True):
            copy(source, folder_of(target.root, cell) / DATABASE)
        for left in target.root.rglob(f"*{atomic_file.PARTIAL}*"):
            # Of a cell that was killed, and whose copy was made again.
            left.unlink()
        target.settled()
        # The same object: not even there and back again.
        if divided.read() is division:
            return
        shutil.rmtree(target.root / FOLDER)
        (target.root / DATABASE).unlink()
    raise StoreBusy(
        f"cannot back up {divided.root}: its spaces are being moved. Try again once that has ended."
    )


@contextmanager
def _held(folder: Path) -> Generator[None]:
    """Hold a folder; the cells of a killed server are given time to leave it."""
    divided = Divided(folder).exists or folder.parent.name == FOLDER
    # Its router holds the folder of the cells.
    orphaned = divided and not is_held(str(folder / FOLDER))
    lock = joining.take_over(
        folder,
        lambda: FolderLock(folder, share=False),
        patience=ORPHAN_SECONDS if orphaned else 0.0,
    )
    try:
        yield
    finally:
        lock.release()


class KeyRegister:
    """The keys of a divided folder, as its router reads them: which space each opens.

    Whether a key is still valid is decided by its cell, at each request.
    """

    def __init__(self, root: Path) -> None:
        self._store = Store.open(root / DATABASE, root, read_only=True)
        self._known = Recent[bytes, str](MAX_KNOWN)

    def space_of(self, secret: str) -> str | None:
        """The space that a key opens; None if there is no such key."""
        digest = hashlib.sha256(secret.encode("utf-8", "replace")).digest()
        if (space := self._known.get(digest)) is not None:
            return space
        try:
            key = api_keys.find_key(self._store, secret)
        except InvalidInput:
            return None
        if key is None:
            return None
        self._known[digest] = key.space
        return key.space

    @property
    def is_empty(self) -> bool:
        """Return whether no key is valid."""
        return all(key.revoked_at is not None for key in api_keys.keys(self._store))

    def close(self) -> None:
        """Close the database."""
        self._store.close()
