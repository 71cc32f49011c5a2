"""Find the server of a data folder, and start one that stops by itself when none runs."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from hippocampe import __version__
from hippocampe.config import Config
from hippocampe.errors import FolderInUse, HippocampeError, ServerUnavailable
from hippocampe.remote.connection import Connection, Unreached
from hippocampe.remote.door import RemoteHippocampe
from hippocampe.system import private
from hippocampe.system.owner import Owner, held_by_server, read_owner, read_token

IDLE_SECONDS = 900
"""After the last request, a server that was started by itself stops: turns of one sitting share it."""
START_SECONDS = 60.0
"""For opening a large folder on a slow disk."""
HELD_SECONDS = 5.0
"""How long a process that does not serve may hold the folder: one command of the command line."""
POLL_SECONDS = 0.02
TAKE_OVER_POLL_SECONDS = 0.1
DETACHED = getattr(subprocess, "DETACHED_PROCESS", 0)
"""For Windows, where there are no sessions."""
T = TypeVar("T")
_children: list[subprocess.Popen[bytes]] = []
"""Servers that this process started and that may still run."""
_starting = threading.Lock()
LOG = "server.log"
IN_USE = 5
"""The exit code of `hippocampe serve` when another process holds the folder."""


def connect(address: str, key: str | None, config: Config) -> RemoteHippocampe:
    """The memory that a server at an address has.

    Raises:
        InvalidInput: The address cannot be used.
        ServerUnavailable: The server cannot be reached, or has another version.
        HippocampeError: It refuses the key.
    """
    connection = Connection(address, key)
    try:
        return RemoteHippocampe(lambda: connection, config, local=False)
    except Unreached as exc:
        raise ServerUnavailable(
            f"cannot reach the server ({exc}): check that it runs, and the address in HIPPOCAMPE_URL."
        ) from exc


def join(config: Config) -> RemoteHippocampe | None:
    """The memory that the owner of a folder serves; None if no process serves the folder.

    Raises:
        ServerUnavailable: The owner has another version.
    """
    if _served(config.folder) is None:
        return None
    try:
        return RemoteHippocampe(lambda: _joined(config.folder), config, local=True)
    except Unreached:
        # It was killed, or is stopping: what it announced is no longer true.
        return None


def join_or_start(config: Config) -> RemoteHippocampe:
    """The memory of a folder, through the process that serves it, which is started if there is none.

    The started server listens on loopback, opens only to a token that this user alone can read, and
    stops when it was not used for `IDLE_SECONDS`.

    Raises:
        FolderInUse: A process owns the folder and does not serve it.
        ServerUnavailable: The server does not start; its log in the data folder has the reason.
    """
    return RemoteHippocampe(lambda: ensure(config), config, local=True)


def ensure(config: Config) -> Connection:
    """A connection to the server of a folder, started if there is none; errors as `join_or_start`."""
    folder = config.folder
    started = time.monotonic()
    child: subprocess.Popen[bytes] | None = None
    while time.monotonic() - started < START_SECONDS:
        with suppress(Unreached):
            return _joined(folder)
        if child is None:
            child = start(config)
        elif child.poll() is not None:
            # A negative code: it was killed.
            if child.returncode > 0 and child.returncode != IN_USE:
                raise ServerUnavailable(
                    f"the server of {folder} did not start: {_last_words(folder)} Run hippocampe serve "
                    "to see why."
                )
            if time.monotonic() - started > HELD_SECONDS and not held_by_server(folder):
                raise FolderInUse(
                    f"cannot use {folder}: another process holds it and does not serve it. Close it, or "
                    "serve the folder with hippocampe serve."
                )
            # A command of the command line holds the folder, or another server was faster.
            child = None
        time.sleep(POLL_SECONDS)
    raise ServerUnavailable(
        f"the server of {folder} did not answer within {START_SECONDS:.0f} s: see {folder / LOG}."
    )


def start(config: Config) -> subprocess.Popen[bytes]:
    """Start a server of a folder as a process of its own, which outlives this one; does not wait for it.

    Raises:
        ServerUnavailable: The process or its log cannot be created.
    """
    command = [
        sys.executable,
        "-m",
        "hippocampe",
        "serve",
        "--folder",
        str(config.folder.absolute()),
    ]
    command += ["--port", "0", "--stop-when-idle", str(IDLE_SECONDS)]
    if config.embedder is not None:
        command += ["--embedder", config.embedder]
    try:
        private.make_folder(config.folder)
        with open(config.folder / LOG, "wb", opener=private.opener) as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
                creationflags=DETACHED,
            )
    except OSError as exc:
        raise ServerUnavailable(
            f"cannot start a server for {config.folder}: {exc.strerror}. Check the permissions of the folder."
        ) from exc
    # Those that ended are reaped, so that a program that stays keeps no zombies.
    with _starting:
        _children[:] = [child, *(each for each in _children if each.poll() is None)]
    return child


def take_over(folder: Path, own: Callable[[], T]) -> T:
    """Open a folder in this process; a server that was started by itself stops for it.

    Args:
        folder: The data folder.
        own: Opens it.

    Raises:
        FolderInUse: Another process holds the folder, and serves it for good or not at all.
    """
    ends = time.monotonic() + START_SECONDS
    while True:
        try:
            return own()
        except FolderInUse:
            owner = _served(folder)
            if owner is None or not owner.on_demand or time.monotonic() > ends:
                raise
            with suppress(OSError):
                os.kill(owner.pid, signal.SIGTERM)
            time.sleep(TAKE_OVER_POLL_SECONDS)


def _joined(folder: Path) -> Connection:
    """A connection to the server of a folder.

    Raises:
        Unreached: None runs, or it was killed and another program has its port now.
    """
    owner = _served(folder)
    if owner is None:
        raise Unreached("no server")
    connection = Connection(str(owner.address), read_token(folder))
    try:
        told = connection.get("/api/verbs")
    except HippocampeError as exc:
        connection.close()
        raise Unreached("another server") from exc
    if told["version"] != __version__ and owner.on_demand:
        with suppress(OSError):
            os.kill(owner.pid, signal.SIGTERM)
        connection.close()
        raise Unreached("another version")
    return connection


def _served(folder: Path) -> Owner | None:
    owner = read_owner(folder)
    return None if owner is None or owner.address is None else owner


def _last_words(folder: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        lines = (folder / LOG).read_text().strip().splitlines()
        return lines[-1].removeprefix("error: ") if lines else "it said nothing."
    return "its log cannot be read."
