"""Client of the socket of a data folder: one keep-alive connection per thread."""

import json
import os
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from hippocampe.client.problems import error_of
from hippocampe.client.reaching import Unreached
from hippocampe.errors import FolderInUse
from hippocampe.system.local_socket import SILENCE_SECONDS, Untrusted, connect
from hippocampe.types import Progress


class _Open(NamedTuple):
    socket: socket.socket
    answers: BinaryIO


class LocalConnection:
    """The process that owns a data folder, over the folder's socket.

    Args:
        folder: The data folder.
    """

    def __init__(self, folder: Path) -> None:
        self.address = os.fspath(folder)
        self._own = threading.local()
        self._open: set[_Open] = set()
        self._opening = threading.Lock()

    def greet(self) -> dict[str, Any]:
        """Return the owner's version, process id, HTTP address if any, and whether it leaves when asked.

        Raises: as `call`.
        """
        return self.call("greet")

    def call(
        self,
        verb: str,
        arguments: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Any:
        """Execute a verb in the owner and return its result as JSON.

        Args:
            verb: Its name.
            arguments: Positional arguments as JSON.
            named: Named arguments as JSON.
            progress: Called while the verb works.

        Raises:
            Unreached: No process serves the folder, or the connection broke; the call may have been executed.
            FolderInUse: The owner is frozen, or is another user's process.
            HippocampeError: The one that the verb raised.
        """
        request = {
            "verb": verb,
            "arguments": arguments,
            "named": named or {},
            "progress": progress is not None,
        }
        own = self._connected()
        try:
            own.socket.sendall(json.dumps(request).encode() + b"\n")
            last = _last(own.answers, progress)
        except TimeoutError as exc:
            self._drop(own)
            raise self._frozen() from exc
        except (OSError, EOFError, ValueError) as exc:
            self._drop(own)
            raise Unreached(f"{self.address}: {type(exc).__name__}") from exc
        except BaseException:
            # The rest of the answer would be taken for the next one.
            self._drop(own)
            raise
        if "problem" in last:
            raise error_of(last["problem"])
        return last["result"]

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._opening:
            for each in self._open:
                _shut(each)
            self._open.clear()

    def _connected(self) -> _Open:
        """The connection of this thread, open."""
        own = cast("_Open | None", getattr(self._own, "connection", None))
        if own is not None and own in self._open:
            return own
        try:
            connection = connect(self.address)
        except TimeoutError as exc:
            raise self._frozen() from exc
        except Untrusted as exc:
            raise FolderInUse(f"cannot use {self.address}: {exc}") from exc
        except (OSError, ValueError) as exc:
            raise Unreached(f"{self.address}: {type(exc).__name__}") from exc
        own = _Open(connection, connection.makefile("rb"))
        self._own.connection = own
        with self._opening:
            self._open.add(own)
        return own

    def _drop(self, connection: _Open) -> None:
        with self._opening:
            self._open.discard(connection)
        _shut(connection)

    def _frozen(self) -> FolderInUse:
        return FolderInUse(
            f"cannot use {self.address}: the process that owns it has not answered for {SILENCE_SECONDS:g} s. "
            "Resume it if it is suspended, or stop it."
        )


def _last(answers: BinaryIO, progress: Progress | None) -> dict[str, Any]:
    """The last line of an answer, with its result or its problem."""
    while line := answers.readline():
        if not line.endswith(b"\n"):
            break
        if line == b"\n":
            continue
        message = json.loads(line)
        if "progress" not in message:
            return message
        if progress is not None:
            progress(*message["progress"])
    raise EOFError


def _shut(connection: _Open) -> None:
    # A thread may be waiting for an answer: shutting down wakes it up, closing does not.
    with suppress(OSError):
        connection.socket.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        connection.answers.close()
        connection.socket.close()
