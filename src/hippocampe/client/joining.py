"""Use a data folder through the process that owns it, and start such a process for a free folder."""

import atexit
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from hippocampe import __version__
from hippocampe.cells import check_cell
from hippocampe.client.connection import Connection
from hippocampe.client.local import LocalConnection
from hippocampe.client.reaching import POLL_SECONDS, Held, NotStarted, Unreached, reach
from hippocampe.client.remote import RemoteHippocampe
from hippocampe.config import Config
from hippocampe.errors import FolderInUse, ServerUnavailable
from hippocampe.system import private
from hippocampe.system.local_socket import HELD_SECONDS
from hippocampe.system.owner import is_private

IDLE_SECONDS = 900.0
"""Idle timeout of an owner that was started automatically: turns of one session share it."""
START_SECONDS = 60.0
"""Time limit for opening a large folder on a slow disk, as long as the process sends heartbeats."""
DETACHED = getattr(subprocess, "DETACHED_PROCESS", 0)
"""For Windows, where there are no sessions."""
LEAVING_SECONDS = 0.1
"""Poll interval of a folder that another process is to leave."""
LOG = "server.log"
T = TypeVar("T")
_children: list[subprocess.Popen[bytes]] = []
"""Processes that this one started and that may still run."""
_starting = threading.Lock()


def connect(address: str, key: str | None, config: Config) -> RemoteHippocampe:
    """Connect to the memory of a server at an address.

    Raises:
        InvalidInput: The address cannot be used.
        ServerUnavailable: The server cannot be reached, or has another version.
        HippocampeError: It refuses the key.
    """
    connection = Connection(address, key)
    return RemoteHippocampe(lambda: connection, config)


def join(config: Config) -> RemoteHippocampe | None:
    """The memory of a folder, through the process that owns it; None if no process shares it.

    When that process ends, another one is started for the next call.

    Raises:
        FolderInUse: The owner is frozen, or is another user's process.
        ServerUnavailable: The owner has another version.
    """
    try:
        first = [_joined(config.folder)]
    except Unreached:
        return None
    return RemoteHippocampe(lambda: first.pop() if first else ensure(config), config)


def join_or_start(config: Config) -> RemoteHippocampe:
    """The memory of a folder, through the process that owns it, which is started if there is none.

    The started process serves programs of this user only, and stops after `IDLE_SECONDS` without use.

    Raises:
        FolderInUse: A process owns the folder, and does not share it or does not answer.
        ServerUnavailable: The process does not start; its log in the data folder has the reason.
    """
    return RemoteHippocampe(lambda: ensure(config), config)


def own_or_join(config: Config, own: Callable[[], T], joined: Callable[[RemoteHippocampe], T]) -> T:
    """Open a folder in this process, or use it through the process that owns it.

    Raises:
        FolderInUse: Another process owns the folder, and does not share it or does not answer.
        ServerUnavailable: The owner has another version.
    """
    ends = time.monotonic() + HELD_SECONDS
    while True:
        try:
            return own()
        except FolderInUse:
            if (remote := join(config)) is not None:
                return joined(remote)
            if time.monotonic() > ends or is_private(config.folder):
                raise
        time.sleep(POLL_SECONDS)


def take_over(folder: Path, own: Callable[[], T], *, patience: float = 0.0) -> T:
    """Open a folder in this process; a process that was started automatically releases it first.

    Args:
        patience: Seconds for another process to leave the folder by itself.

    Raises:
        FolderInUse: Another process holds the folder for good.
    """
    ends = time.monotonic() + patience
    while True:
        try:
            return _taken_over(folder, own)
        except FolderInUse:
            if time.monotonic() >= ends:
                raise
        time.sleep(LEAVING_SECONDS)


def _taken_over(folder: Path, own: Callable[[], T]) -> T:
    held_since: float | None = None
    while True:
        try:
            return own()
        except FolderInUse as exc:
            try:
                with closing(LocalConnection(folder)) as owner:
                    leaves, address = owner.call("leave"), owner.greet()["address"]
                if not leaves:
                    way = f"use it at {address}" if address else "close it first"
                    raise FolderInUse(f"cannot open {folder}: a process serves it; {way}.") from exc
                held_since = None
            except Unreached:
                held_since = held_since or time.monotonic()
                if time.monotonic() > held_since + HELD_SECONDS:
                    raise exc from None
        time.sleep(POLL_SECONDS)


def ensure(config: Config) -> LocalConnection:
    """A connection to the process that owns a folder, started if there is none; errors as `join_or_start`."""
    folder = config.folder
    try:
        return reach(
            os.fspath(folder), lambda: _joined(folder), lambda: start(config), START_SECONDS
        )
    except Held as exc:
        raise FolderInUse(
            f"cannot use {folder}: another process holds it and does not share it. Close it, or "
            "serve the folder with hippocampe serve."
        ) from exc
    except NotStarted as exc:
        raise ServerUnavailable(
            f"the server of {folder} did not start: {_last_words(folder)} Run hippocampe serve to see why."
        ) from exc


def start(config: Config) -> subprocess.Popen[bytes]:
    """Start a process that owns a folder and outlives this one, with its configuration; do not wait for it.

    Raises:
        StoreMissing: The folder is that of a cell, and its database is missing.
        ServerUnavailable: The process or its log cannot be created.
    """
    check_cell(config.database)
    command = [sys.executable, "-m", "hippocampe.resident", str(config.folder.absolute())]
    command.append(str(IDLE_SECONDS))
    try:
        private.make_folder(config.folder)
        with open(config.folder / LOG, "wb", opener=private.opener) as log:
            child = subprocess.Popen(
                command,
                env=os.environ | config.as_variables(),
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
    # Reap ended ones, so that a long-running program keeps no zombies.
    with _starting:
        _children[:] = [child, *(each for each in _children if each.poll() is None)]
    return child


@atexit.register
def _release_children() -> None:
    """Keep `Popen` from warning of processes that outlive this one: they are meant to."""
    for child in _children:
        if child.poll() is None:
            child.returncode = 0


def _joined(folder: Path) -> LocalConnection:
    """A connection to the process that owns a folder.

    A process that was started automatically by another version releases the folder.

    Raises:
        Unreached: No process shares the folder.
    """
    connection = LocalConnection(folder)
    try:
        owner = connection.greet()
        if owner["version"] != __version__ and owner["leaves"]:
            connection.call("leave")
            raise Unreached("another version")
    except BaseException:
        connection.close()
        raise
    return connection


def _last_words(folder: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        lines = (folder / LOG).read_text().strip().splitlines()
        return lines[-1].removeprefix("error: ") if lines else "it said nothing."
    return "its log cannot be read."
