"""The files by which the owner of a data folder makes itself known to other processes."""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from hippocampe.system import private

_CARD = "owner.json"
_TOKEN = "owner.token"
_to_serve: ContextVar[bool] = ContextVar("to_serve", default=False)


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that owns a data folder.

    Attributes:
        pid: Its process id.
        since: When it took the folder, in ISO 8601.
        address: The base URL at which it serves other processes; None if it does not serve, or not yet.
        on_demand: Whether another program started it, and it stops when it is not used.
        serves: Whether it is a server, which has its address once it has opened the folder.
    """

    pid: int
    since: str
    address: str | None = None
    on_demand: bool = False
    serves: bool = False


@contextmanager
def to_serve() -> Generator[None]:
    """Publish this process as a server while it still opens the folder, so that clients wait for it."""
    before = _to_serve.set(True)
    try:
        yield
    finally:
        _to_serve.reset(before)


def publish(
    folder: Path, *, address: str | None = None, token: str | None = None, on_demand: bool = False
) -> None:
    """Write who owns the folder, and the token that only this user can read.

    Raises:
        OSError: The files cannot be written.
    """
    withdraw(folder)
    if token is not None:
        with open(folder / _TOKEN, "x", opener=private.opener) as file:
            file.write(token)
    since = datetime.now(UTC).isoformat(timespec="seconds")
    # A reader sees the whole file, and the token before the address.
    serves = address is not None or _to_serve.get()
    owner = Owner(os.getpid(), since, address, on_demand, serves)
    private.replace_text(folder / _CARD, json.dumps(asdict(owner)))


def withdraw(folder: Path) -> None:
    """Remove what `publish` wrote."""
    for name in (_CARD, _TOKEN):
        (folder / name).unlink(missing_ok=True)


def read_owner(folder: Path) -> Owner | None:
    """The owner of a folder, as it last published itself; it may have been killed since. None if unknown."""
    with suppress(OSError, ValueError, TypeError):
        return Owner(**json.loads((folder / _CARD).read_text()))
    return None


def held_by_server(folder: Path) -> bool:
    """Whether the owner of a folder is a server, or unknown because it is just taking the folder."""
    owner = read_owner(folder)
    return owner is None or owner.serves


def read_token(folder: Path) -> str | None:
    """The token of the server that owns a folder; None if there is none that this user can read."""
    with suppress(OSError, UnicodeDecodeError):
        return (folder / _TOKEN).read_text()
    return None
