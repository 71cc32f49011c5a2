"""Import and export through a server on another machine: upload or download the file."""

import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from hippocampe.client.connection import Connection
from hippocampe.client.wire import decode
from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.system.atomic_file import whole_file
from hippocampe.types import Imported, Scope


def import_from(
    connection: Connection,
    space: str | None,
    *,
    path: str | os.PathLike[str],
    scope: Scope,
    format: str | None = None,
    timezone: str = "Europe/Paris",
    one_space: bool = False,
    dry_run: bool = False,
    progress: Any = None,
) -> Imported:
    """Call `Hippocampe.import_from` on a file of this machine; the server's progress is not shown."""
    file = _path(path)
    if file.is_dir():
        raise InvalidInput(f"{path} is a folder, and a server takes a file: pack it as a zip.")
    # The name tells the channel of some formats.
    flags = {"one_space": one_space, "dry_run": dry_run}
    chosen = {name: "true" for name, flag in flags.items() if flag}
    query = _query(scope, space, format=format, timezone=timezone, name=file.name, **chosen)
    try:
        return decode(Imported, connection.upload(f"/api/import?{query}", file))
    except OSError as exc:
        reason = exc.strerror
        raise UnreadableFile(f"cannot import {path}: {reason}.") from exc


def export_to(
    connection: Connection,
    space: str | None,
    *,
    path: str | os.PathLike[str],
    scope: Scope,
    format: str = "hippocampe",
    user: str | None = None,
    overwrite: bool = False,
    progress: Any = None,
) -> int:
    """Call `Hippocampe.export_to` to a file of this machine."""
    target = _path(path)
    # There is no data folder here whose files it could overwrite.
    with whole_file(target, folder=target.parent / ".hippocampe", overwrite=overwrite) as part:
        connection.download(
            f"/api/export?{_query(scope, space, format=format, of_user=user)}", part
        )
        if zipfile.is_zipfile(part):
            with zipfile.ZipFile(part) as archive:
                return len(archive.namelist())
        with part.open("rb") as lines:
            # Without the first line, the header of the file.
            return sum(1 for _ in lines) - 1


VERBS: Mapping[str, Callable[..., Any]] = {"import_from": import_from, "export_to": export_to}


def _path(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(path)
    except TypeError as exc:
        raise InvalidInput("path is not a path: give the path of a file.") from exc


def _query(scope: Scope, space: str | None, **more: str | None) -> str:
    named = {"space": space or scope.space, "user": scope.user, "channel": scope.channel, **more}
    given = {name: value for name, value in named.items() if value is not None}
    # The name of a file may have bytes that are no UTF-8.
    return urlencode(given, errors="replace")
