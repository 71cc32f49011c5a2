"""Client of the socket of a data folder."""

import json
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from hippocampe.client.caller import Caller, result_of
from hippocampe.client.reaching import Unreached
from hippocampe.client.wire import MAX_REQUEST_BYTES
from hippocampe.errors import FolderInUse, HippocampeError, InvalidInput
from hippocampe.system.local_socket import SILENCE_SECONDS, Untrusted, connect, send
from hippocampe.types import Progress


class _Open(NamedTuple):
    socket: socket.socket
    answers: BinaryIO


class LocalConnection(Caller[_Open]):
    """The process that owns a data folder, over the folder's socket."""

    def __init__(self, folder: Path) -> None:
        super().__init__(os.fspath(folder))

    def greet(self) -> dict[str, Any]:
        """Also return its process id, its HTTP address if any, and whether it leaves when asked."""
        return self.call("greet")

    def call(
        self,
        verb: str,
        arguments: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Any:
        request = {
            "verb": verb,
            "arguments": arguments,
            "named": named or {},
            "progress": progress is not None,
        }
        content = json.dumps(request).encode() + b"\n"
        if len(content) > MAX_REQUEST_BYTES:
            raise InvalidInput(
                f"the arguments of {verb!r} are too large for a call to the process that owns the folder, which reads "
                "64 MiB: nothing was done. Give them in several calls."
            )
        own = self._connected()
        try:
            send(own.socket, content)
            return result_of(own.answers, progress)
        except HippocampeError:
            raise
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

    def _connect(self) -> _Open:
        try:
            connection = connect(self.address)
        except TimeoutError as exc:
            raise self._frozen() from exc
        except Untrusted as exc:
            raise FolderInUse(f"cannot use {self.address}: {exc}") from exc
        except (OSError, ValueError) as exc:
            raise Unreached(f"{self.address}: {type(exc).__name__}") from exc
        return _Open(connection, connection.makefile("rb"))

    def _shut(self, connection: _Open) -> None:
        # A thread may be waiting for an answer: shutting down wakes it up, closing does not.
        with suppress(OSError):
            connection.socket.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            connection.answers.close()
            connection.socket.close()

    def _frozen(self) -> FolderInUse:
        return FolderInUse(
            f"cannot use {self.address}: the process that owns it has not answered for {SILENCE_SECONDS:g} s. "
            "Resume it if it is suspended, or stop it."
        )
