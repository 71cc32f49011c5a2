"""One process owns a data folder: a lock that ends with the process, and a file that names the owner."""

from pathlib import Path

from filelock import FileLock, Timeout

from hippocampe.errors import FolderInUse, StoreError, StoreFull, StoreReadOnly
from hippocampe.system import free_space, private
from hippocampe.system.owner import publish, read_owner, withdraw


class FolderLock:
    """The exclusive lock on a data folder.

    Args:
        folder: The data folder; created if missing.

    Raises:
        FolderInUse: Another process, or another `Hippocampe` of this one, holds it.
        StoreReadOnly: The folder cannot be created or written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            private.make_folder(folder)
            # Not thread-local: another thread may close.
            self._lock = FileLock(folder / "owner.lock", mode=0o600, thread_local=False)
            self._lock.acquire(timeout=0)
            publish(folder)
        except Timeout as exc:
            raise FolderInUse(self._refusal(folder)) from exc
        except OSError as exc:
            refusal = free_space.refusal(exc, f"cannot use the data folder {folder}")
            if isinstance(refusal, StoreFull):
                raise refusal from exc
            raise StoreReadOnly(
                f"cannot use the data folder {folder}: {exc.strerror}. Choose a folder you can write, or change "
                "its permissions."
            ) from exc

    def announce(self, address: str, token: str | None, *, on_demand: bool) -> None:
        """Publish the address at which the owner serves other processes.

        Raises:
            StoreError: The files that name the owner cannot be written.
        """
        try:
            publish(self._folder, address=address, token=token, on_demand=on_demand)
        except OSError as exc:
            raise StoreError(
                f"cannot announce the address in {self._folder}: {exc.strerror}. Free some space, or "
                "check the permissions of the data folder."
            ) from exc

    def _refusal(self, folder: Path) -> str:
        owner = read_owner(folder)
        who = f"process {owner.pid} since {owner.since}" if owner else "another process"
        address = owner.address if owner else None
        way_out = f"Write through it at {address}" if address else "Close it first"
        return (
            f"cannot open {folder} to write: {who} holds it. {way_out}, or open the folder with read_only=True "
            "to read beside it."
        )

    def release(self) -> None:
        """Release the folder."""
        withdraw(self._folder)
        self._lock.release()
