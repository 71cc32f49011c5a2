"""Move a memory between a data folder and a database in PostgreSQL, either way."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from hippocampe.config import Config, is_database_url
from hippocampe.errors import InvalidInput, StoreError
from hippocampe.folder import copying, maintenance, opening
from hippocampe.folder.copying import Copied
from hippocampe.folder.lock import FolderLock
from hippocampe.hippocampe import Hippocampe
from hippocampe.retrieval.log import RetrievalBuffer
from hippocampe.store.postgres import PostgresStore
from hippocampe.store.store import Store
from hippocampe.types import Progress, Scope

SAMPLE = 20
"""Memories whose own words must find the same in the target as in the source."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """A finished move: the rows and checksum of each table, equal on both sides, and the queries compared."""

    tables: Mapping[str, Copied]
    queries: int


def target_of(config: Config, to: str, index: str | None) -> Config:
    """The configuration of the place that data is moved to.

    Args:
        to: A folder, or the URL of a database in PostgreSQL.
        index: The URL of the Qdrant server, for a database.

    Raises:
        InvalidInput: It cannot be used.
    """
    if is_database_url(to):
        return replace(config, database_url=to, qdrant_url=index or config.qdrant_url)
    if index is not None:
        raise InvalidInput(
            f"--index names the Qdrant server of a database, and {to} is a folder, which needs none: nothing was "
            "copied. Leave it out, or name the server of the source with --set qdrant_url=URL."
        )
    return replace(config, folder=Path(to), database_url=None, qdrant_url=None)


def migrate(source: Config, target: Config, progress: Progress | None = None) -> Migrated:
    """Copy all data of one place into another, empty one, and compare them. The source stays as it is.

    Readers of the source go on meanwhile; its writers wait, or find the folder in use. If it is interrupted, the
    same call goes on.

    Raises:
        FolderInUse: Another process has one of the folders open.
        InvalidInput: The target has data of its own.
        StoreError: The target differs from the source.
    """
    locks = [
        FolderLock(each.folder, share=False)
        for each in (source, target)
        if each.database_url is None
    ]
    try:
        with closing(_open(source)) as old, closing(_open(target)) as new:
            tables = copying.copy(old, new, progress)
    finally:
        for each in locks:
            each.release()
    return Migrated(tables, _compare(source, target, progress))


def _open(config: Config) -> Store:
    if config.database_url is not None:
        url, prepared = config.database_url, config.prepares_statements
        return PostgresStore(url, config.folder, prepared=prepared).opened()
    return Store.open(config.database, config.folder)


def _compare(source: Config, target: Config, progress: Progress | None) -> int:
    """Compare what both find for the words of some memories; return the number of queries."""
    silent = {"background": False, "notes_folder": None, "obsidian_url": None}
    asked = 0
    with (
        Hippocampe.open(replace(target, **silent), join=False, progress=progress) as new,
        Hippocampe.open(replace(source, **silent), join=False) as old,
    ):
        for space in list(new.spaces())[:SAMPLE]:
            scope = Scope(space=space)
            for memory in new.memories(scope=scope, limit=max(1, SAMPLE // 4)).items:
                found = [
                    {
                        item.id
                        for item in each.recall(memory.content, scope=scope, limit=3, peek=True)
                    }
                    for each in (old, new)
                ]
                asked += 1
                if memory.id in found[0] and memory.id not in found[1]:
                    raise StoreError(
                        f"memory {memory.id} is found in the source by its own words, not in the target: run "
                        "`hippocampe verify` and `hippocampe reindex` there."
                    )
    return asked


def scrub(config: Config, progress: Progress | None = None) -> tuple[str, ...]:
    """Write the tables of a shared database and its index again, without the bytes of erased rows.

    Tables and searches wait meanwhile, minutes for millions of rows.

    Returns:
        Where erased bytes are left even so, and until when.

    Raises:
        InvalidInput: The data is in a folder, where an erasure leaves nothing.
    """
    if config.database_url is None:
        raise InvalidInput(
            "nothing is left to remove: an erasure in a folder overwrites its files at once."
        )
    alone = replace(config, background=False)
    opened = opening.open_folder(alone, None, lambda corpus, ending: None, progress)
    try:
        return maintenance.scrub(opened.context.writer, progress)
    finally:
        opened.close(RetrievalBuffer(), lambda: None)
