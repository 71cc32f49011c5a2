"""Divide a data folder among cells, in place, and read what all cells share."""

import hashlib
from collections import OrderedDict
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from hippocampe.cells import FOLDER, MAX_CELLS, ORPHAN_SECONDS, Divided, Division, folder_of, hashed
from hippocampe.client import joining
from hippocampe.config import DATABASE, Config
from hippocampe.engine import api_keys
from hippocampe.errors import InvalidInput
from hippocampe.folder.lock import FolderLock
from hippocampe.folder.relocation import spaces_of
from hippocampe.store import meta
from hippocampe.store.store import Store
from hippocampe.system import private
from hippocampe.types import Scope

MAX_KNOWN = 10_000
"""Most keys whose space is kept in memory."""


def divide(config: Config, count: int) -> Config:
    """Divide a data folder among cells. Nothing is moved: each space stays in the cell that has it.

    A crash before the division is in force leaves the folder as it was, one after it a divided folder.

    Args:
        config: The folder; it is created if it does not exist.
        count: The number of cells; 1 makes it the folder of a single process again.

    Returns:
        The configuration of the cells: all use the embedder of the first one.

    Raises:
        InvalidInput: The count cannot be used, or a cell that would be dropped has spaces.
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
        before = _settled(divided) if divided.exists else Division(1)
        found = dict[str, int]()
        embedder: str | None = None
        for cell in range(before.count):
            folder = folder_of(root, cell)
            if cell:
                held.enter_context(_held(folder))
            store = Store.open(folder / DATABASE, folder)
            try:
                with store.read() as connection:
                    here = spaces_of(connection)
                    found |= {space: cell for space in here if before.stale.get(space) != cell}
                    embedder = embedder or meta.get(connection, "embedder")
            finally:
                store.close()
        copies = (*found.items(), *before.stale.items())
        lost = sorted(space for space, cell in copies if cell >= count)
        if lost:
            raise InvalidInput(
                f"the folder has {before.count} cells, and {len(lost)} spaces are in those beyond {count}, such "
                f"as {lost[0]!r}: move them first, with hippocampe move-space."
            )
        if count == 1:
            divided.remove()
        elif count != before.count or not divided.exists:
            # Also spaces without a row: their keys may be in use. Hooks use the default space of the folder itself.
            known = {s: cell for s, cell in before.pinned.items() if cell < count}
            placed = {Scope().space: 0} | known | found
            pinned = {s: cell for s, cell in placed.items() if hashed(s, count) != cell}
            private.make_folder(root / FOLDER)
            divided.write(Division(count, pinned, stale=before.stale))
    return replace(config, embedder=config.embedder or embedder)


def _settled(divided: Divided) -> Division:
    """The division; of moves that a crash interrupted, the target has a stale copy."""
    found = divided.read()
    if found.moving:
        found = found.marked(moving={}, stale={**found.stale, **found.moving})
        divided.write(found)
    return found


@contextmanager
def _held(folder: Path) -> Generator[None]:
    """Hold a folder; the cells of a killed server are given time to leave it."""
    orphaned = Divided(folder).exists or folder.parent.name == FOLDER
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

    Args:
        root: The data folder.
    """

    def __init__(self, root: Path) -> None:
        self._store = Store.open(root / DATABASE, root, read_only=True)
        self._known: OrderedDict[bytes, str] = OrderedDict()

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
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return key.space

    @property
    def is_empty(self) -> bool:
        """Return whether no key is valid."""
        return all(key.revoked_at is not None for key in api_keys.keys(self._store))

    def close(self) -> None:
        """Close the database."""
        self._store.close()
