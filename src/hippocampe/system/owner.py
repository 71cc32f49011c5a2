"""The file that identifies the owner of a data folder, for people and for `doctor`.

No request goes to the address in it: a killed owner leaves the file behind, and another program may have the port.
"""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from hippocampe.system import private

CARD = "owner.json"


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that owns a data folder.

    Attributes:
        pid: Its process id.
        since: The time of taking the folder, in ISO 8601.
        address: The base URL at which it serves HTTP; None if it does not, or not yet.
        shared: Whether other programs of the user may use the folder through it.
    """

    pid: int
    since: str
    address: str | None = None
    shared: bool = True


def publish(folder: Path, *, address: str | None = None, shared: bool = True) -> None:
    """Write this process as the owner of the folder.

    Raises:
        OSError: The file cannot be written.
    """
    since = datetime.now(UTC).isoformat(timespec="seconds")
    private.replace_text(
        folder / CARD, json.dumps(asdict(Owner(os.getpid(), since, address, shared)))
    )


def withdraw(folder: Path) -> None:
    """Remove the file of `publish`."""
    (folder / CARD).unlink(missing_ok=True)


def read_owner(folder: Path) -> Owner | None:
    """Read the owner of a folder; it may have been killed since. None if unknown."""
    with suppress(OSError, ValueError, TypeError):
        return Owner(**json.loads((folder / CARD).read_text()))
    return None


def is_private(folder: Path) -> bool:
    """Return whether the owner of a folder that is held said that it does not share it."""
    owner = read_owner(folder)
    return owner is not None and not owner.shared
