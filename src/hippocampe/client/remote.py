"""Client of a memory: sends each verb to the process that owns the memory."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar, cast
from uuid import uuid4

from hippocampe import __version__
from hippocampe.client import transfer
from hippocampe.client.arguments import result_type
from hippocampe.client.caller import Caller
from hippocampe.client.connection import Connection
from hippocampe.client.local import LocalConnection
from hippocampe.client.reaching import Unreached
from hippocampe.client.wire import decode, encode
from hippocampe.config import Config
from hippocampe.errors import InvalidInput, NotFound, ServerUnavailable, StoreError
from hippocampe.language.fence import fenced
from hippocampe.types import Considered, Injection, LazyConsidered, Scope, Unset
from hippocampe.verbs import SENT, Verb

T = TypeVar("T")
RECONNECT_SECONDS = 30.0
PAUSE_SECONDS = 0.1


class RemoteHippocampe:
    """The verbs of `Hippocampe`, with the same arguments, results and errors, executed by a server.

    A call whose connection broke is retried, which stores nothing twice; over HTTP, if the connection had been idle.

    Args:
        connected: Connects to the server, or to the process that owns a folder of this machine; called again
            when the connection to the latter is lost, to find its successor.

    Raises:
        ServerUnavailable: The server cannot be reached, or has another version.
    """

    owns = False
    read_only = False

    def __init__(self, connected: Callable[[], Caller[Any]], config: Config) -> None:
        self._connect = connected
        self.config = config
        self._closed = False
        self._connection = connected()
        try:
            self._space = self._reached(lambda _: self._greeted())
        except BaseException:
            self._connection.close()
            raise

    @property
    def address(self) -> str:
        """The base URL of the server."""
        return self._connection.address

    def _greeted(self) -> str | None:
        """The space that the key opens, None if it opens all."""
        greeting = self._connection.greet()
        if "version" not in greeting or "space" not in greeting:
            raise ServerUnavailable(
                f"{self.address} is not the address of a Hippocampe server: check HIPPOCAMPE_URL."
            )
        if greeting["version"] != __version__:
            raise ServerUnavailable(
                f"the server has version {greeting['version']} and this program {__version__}: install the "
                "same version on both sides."
            )
        return greeting["space"]

    def __getattr__(self, name: str) -> Any:
        if name not in SENT:
            raise AttributeError(f"{type(self).__name__} has no verb {name!r}")
        return partial(self._send, SENT[name])

    def _send(self, verb: Verb, /, *arguments: Any, progress: Any = None, **named: Any) -> Any:
        if verb.file and arguments:
            named, arguments = {verb.file: arguments[0], **named}, arguments[1:]
        transferred = transfer.VERBS.get(verb.name)
        if transferred is not None and isinstance(self._connection, Connection):
            return self._reached(
                partial(transferred, space=self._space, progress=progress, **named)
            )
        if verb.idempotent_by and named.get(verb.idempotent_by) is None:
            named[verb.idempotent_by] = uuid4().hex
        positional, prepared = _sendable(arguments), self._prepared(verb, named)
        result = self._reached(
            lambda owner: owner.call(verb.name, positional, prepared, progress=progress),
            writes=verb.writes,
        )
        return self._received(decode(result_type(verb.name), result), named)

    def _reached(self, call: Callable[[Caller[Any]], T], *, writes: bool = False) -> T:
        """Call the server, or the process that owns a folder: if it ended meanwhile, its successor.

        Args:
            writes: Whether a process that ended may have done what its successor then refuses, as done already.
        """
        ends, ended = time.monotonic() + RECONNECT_SECONDS, False
        while True:
            if self._closed:
                # A call would start a process that owns the folder.
                raise StoreError("this Hippocampe was closed: open the data folder again.")
            connection = self._connection
            try:
                return call(connection)
            except (InvalidInput, NotFound) as exc:
                if not (ended and writes):
                    raise
                raise type(exc)(
                    f"the process that owned the folder ended during the call, which it may have done; its successor says: {exc}"
                ) from exc
            except Unreached as exc:
                ended = True
                if isinstance(connection, Connection) or time.monotonic() > ends:
                    raise ServerUnavailable(
                        f"cannot reach the server ({exc}): check that it runs, and its address (HIPPOCAMPE_URL)."
                    ) from exc
            time.sleep(PAUSE_SECONDS)
            before, self._connection = self._connection, self._connect()
            before.close()

    def _received(self, result: Any, named: Mapping[str, Any]) -> Any:
        """Fence the text of an injection, even from a hostile server, and let its candidates follow when used."""
        if not isinstance(result, Injection):
            return result
        trace = result.trace
        if cast("object", trace.considered) is None:
            late = LazyConsidered(partial(self._considered, result.id, named["scope"]))
            trace = replace(trace, considered=late)
        return replace(result, text=fenced(result.text), trace=trace)

    def _considered(self, id: str, scope: Scope) -> Sequence[Considered]:
        """The candidates of an injection, from its owner, or rebuilt from the retrieval log."""
        with suppress(Unreached), closing(LocalConnection(Path(self.address))) as owner:
            if (retained := owner.call("considered", [id])) is not None:
                return decode(tuple[Considered, ...], retained)
        with suppress(NotFound, StoreError):
            return self._send(SENT["replay"], id, scope=scope).trace.considered
        return ()

    def _prepared(self, verb: Verb, named: dict[str, Any]) -> dict[str, Any]:
        scope = named.get("scope")
        if isinstance(scope, Scope) and self._space is not None and scope.space == Scope().space:
            # A key opens one space: it is the default.
            named = {**named, "scope": replace(scope, space=self._space)}
        path = named.get(verb.file) if verb.file else None
        if verb.file and isinstance(path, str | os.PathLike):
            # The server may have another working directory.
            named = {**named, verb.file: str(Path(os.fspath(path)).absolute())}
        return {
            name: _sendable(value) for name, value in named.items() if not isinstance(value, Unset)
        }

    def close(self) -> None:
        """Close the connection; the server goes on, and further calls are refused. Idempotent."""
        self._closed = True
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sendable(value: Any) -> Any:
    try:
        return encode(value)
    except TypeError as exc:
        raise InvalidInput(f"an argument cannot be sent to the server: {exc}.") from exc
