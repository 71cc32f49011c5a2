"""Call the verbs of a memory in another process: the interface of its two transports, and what they share."""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Generic, TypeVar, cast

from hippocampe.client.wire import error_of
from hippocampe.types import Progress

C = TypeVar("C")


class Caller(ABC, Generic[C]):
    """The process that executes the verbs, over one keep-alive connection per thread.

    Args:
        address: Its base URL, or its data folder.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._own = threading.local()
        self._open: set[C] = set()
        self._opening = threading.Lock()

    @abstractmethod
    def greet(self) -> dict[str, Any]:
        """Return its version, and the space that the key opens. Raises as `call`."""

    @abstractmethod
    def call(
        self,
        verb: str,
        arguments: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Any:
        """Execute a verb and return its result as JSON.

        Args:
            arguments: Positional arguments as JSON.
            named: Named arguments as JSON.

        Raises:
            Unreached: The process was not reached, or the connection broke; the call may have been executed.
            FolderInUse: The owner of the folder is frozen, or is another user's process.
            HippocampeError: The one that the verb raised.
        """

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._opening:
            for each in self._open:
                self._shut(each)
            self._open.clear()

    @abstractmethod
    def _connect(self) -> C:
        """Open a connection."""

    @abstractmethod
    def _shut(self, connection: C) -> None:
        """Close a connection."""

    def _connected(self) -> C:
        """The connection of this thread."""
        own = cast("C | None", getattr(self._own, "connection", None))
        if own is None or own not in self._open:
            own = self._own.connection = self._connect()
            with self._opening:
                self._open.add(own)
        return own

    def _drop(self, connection: C) -> None:
        """Close a connection whose next bytes are not those of the next answer."""
        with self._opening:
            self._open.discard(connection)
        self._shut(connection)


def result_of(answer: BinaryIO, progress: Progress | None) -> Any:
    """Read an answer of JSON lines: progress and empty lines as heartbeats, then a result or a problem.

    Raises:
        HippocampeError: The one of the problem.
        EOFError: The answer is not complete.
        ValueError: It is not JSON.
    """
    while (line := answer.readline()).endswith(b"\n"):
        message: dict[str, Any] = json.loads(line) if line.strip() else {}
        if "result" in message:
            return message["result"]
        if "problem" in message:
            raise error_of(message["problem"])
        if progress is not None and "progress" in message:
            progress(*message["progress"])
    raise EOFError
