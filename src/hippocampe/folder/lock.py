"""Ownership of a data folder by one process: a lock that ends with the process, a file with the owner's
address, and a socket."""

from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from hippocampe.client.host import Host
from hippocampe.engine.outages import log
from hippocampe.errors import FolderInUse, StoreFull, StoreReadOnly
from hippocampe.system import free_space, private
from hippocampe.system.local_socket import LOCK
from hippocampe.system.owner import publish, read_owner, withdraw


class FolderLock:
    """The exclusive lock on a data folder.

    Args:
        folder: The data folder; created if missing.
        share: Whether other programs of this user are served. Their calls wait until the host gets the
            memory.

    Attributes:
        host: The server of the socket; None without `share`, or where no socket can be opened.

    Raises:
        FolderInUse: Another process, or another `Hippocampe` of this one, holds it.
        StoreReadOnly: The folder cannot be created or written.
    """

    def __init__(self, folder: Path, *, share: bool) -> None:
        self._folder = folder
        try:
            private.make_folder(folder)
            # Not thread-local: another thread may close.
            self._lock = FileLock(folder / LOCK, mode=0o600, thread_local=False)
            self._lock.acquire(timeout=0)
        except Timeout as exc:
            raise _refusal(folder) from exc
        except OSError as exc:
            if folder.is_symlink() and not folder.exists():
                raise StoreReadOnly(
                    f"cannot use {folder} as the data folder: it is a link to {folder.resolve()}, which does not"
                    " exist. Create that folder, or choose another path."
                ) from exc
            if folder.exists() and not folder.is_dir():
                raise StoreReadOnly(
                    f"cannot use {folder} as the data folder: it is a file. Choose another path."
                ) from exc
            refusal = free_space.refusal(exc, f"cannot use the data folder {folder}")
            if isinstance(refusal, StoreFull):
                raise refusal from exc
            raise StoreReadOnly(
                f"cannot use the data folder {folder}: {exc.strerror}. Choose a folder you can write, or change "
                "its permissions."
            ) from exc
        self._share = share
        self._publish(None)
        self.host = _host(folder) if share else None

    def announce(self, address: str) -> None:
        """Publish the address at which the owner also serves HTTP."""
        self._publish(address)
        if self.host is not None:
            self.host.announce(address)

    def _publish(self, address: str | None) -> None:
        # The file only informs people: on a full disk, memory can still be read.
        with suppress(OSError):
            publish(self._folder, address=address, shared=self._share)

    def release(self) -> None:
        """Stop serving other programs, and release the folder."""
        if self.host is not None:
            self.host.close()
        withdraw(self._folder)
        self._lock.release()


def _host(folder: Path) -> Host | None:
    try:
        return Host(folder)
    except OSError as exc:
        log.warning(
            "other programs cannot use this folder while it is open here, because no socket can be opened: %s",
            exc.strerror,
        )
        return None


def _refusal(folder: Path) -> FolderInUse:
    owner = read_owner(folder)
    who = f"process {owner.pid} since {owner.since}" if owner else "another process"
    address = owner.address if owner else None
    way_out = f"Write through it at {address}" if address else "Close it first"
    return FolderInUse(
        f"cannot open {folder} to write: {who} holds it and does not share it. {way_out}, or open the folder "
        "with read_only=True to read beside it."
    )
