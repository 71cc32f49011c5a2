"""One process owns a data folder: a lock that ends with the process, and a file that names the owner."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from hippocampe.errors import FolderInUse, StoreError, StoreReadOnly


class FolderLock:
    """The exclusive lock on a data folder.

    Args:
        folder: The data folder; created if missing.

    Raises:
        FolderInUse: Another process, or another `Hippocampe` of this one, holds it.
        StoreReadOnly: The folder cannot be created or written.
    """

    def __init__(self, folder: Path) -> None:
        self._card = folder / "owner.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Not thread-local: another thread may close.
            self._lock = FileLock(folder / "owner.lock", thread_local=False)
            self._lock.acquire(timeout=0)
            self._write_card({})
        except Timeout as exc:
            raise FolderInUse(self._refusal(folder)) from exc
        except OSError as exc:
            raise StoreReadOnly(
                f"cannot use the data folder {folder}: {exc.strerror}. Choose a folder you can write, or change "
                "its permissions."
            ) from exc

    def _write_card(self, more: dict[str, str]) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        self._card.write_text(json.dumps({"pid": os.getpid(), "since": since, **more}))

    def announce(self, address: str) -> None:
        """Publish the address at which the owner serves other processes.

        Raises:
            StoreError: The file that names the owner cannot be written.
        """
        try:
            self._write_card({"address": address})
        except OSError as exc:
            raise StoreError(
                f"cannot announce the address in {self._card}: {exc.strerror}. Free some space, or check "
                "the permissions of the data folder."
            ) from exc

    def _refusal(self, folder: Path) -> str:
        card = read_card(folder)
        who = f"process {card['pid']} since {card['since']}" if card else "another process"
        address = card.get("address") if card else None
        way_out = f"Write through it at {address}" if address else "Close it first"
        return (
            f"cannot open {folder} to write: {who} holds it. {way_out}, or open the folder with read_only=True "
            "to read beside it."
        )

    def release(self) -> None:
        """Release the folder."""
        self._card.unlink(missing_ok=True)
        self._lock.release()


def read_card(folder: Path) -> dict[str, str] | None:
    """The owner of a folder: `pid`, `since`, and `address` if it serves; None if unknown."""
    try:
        return {
            str(key): str(value)
            for key, value in json.loads((folder / "owner.json").read_text()).items()
        }
    except (OSError, ValueError):
        return None
