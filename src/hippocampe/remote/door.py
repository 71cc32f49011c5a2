"""Client of a memory: sends each verb to the process that owns the memory."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from hippocampe import __version__
from hippocampe.config import Config
from hippocampe.errors import InvalidInput, ServerUnavailable
from hippocampe.language.fence import fenced
from hippocampe.remote import transfer
from hippocampe.remote.connection import Connection, Unreached
from hippocampe.remote.local import LocalConnection
from hippocampe.types import (
    ApiKey,
    Association,
    AuditEntry,
    Compacted,
    Cost,
    Counts,
    Day,
    Distilled,
    Graph,
    History,
    Imported,
    Injection,
    JobRun,
    Memory,
    Message,
    ModelUsage,
    NewKey,
    Note,
    Page,
    Receipt,
    Recollection,
    Reindexed,
    Remembered,
    Retrieval,
    Review,
    Scope,
    Settings,
    Stats,
    Unset,
    Verification,
    Vitals,
)
from hippocampe.wire import decode, encode

RESULTS: Mapping[str, Any] = {
    "remember": Remembered,
    "remember_many": list[Remembered],
    "recall": list[Recollection],
    "recent": list[Memory],
    "memories": Page,
    "spaces": dict[str, Counts],
    "users": dict[str, Counts],
    "subjects": dict[str, int],
    "get": Memory,
    "history": History,
    "edit": Memory,
    "delete": Memory,
    "restore": Memory | Recollection,
    "associate": Association,
    "neighbours": tuple[tuple[Memory, ...], tuple[Association, ...]],
    "reviews": list[Review],
    "settle": None,
    "facts": dict[str, Memory],
    "set_fact": Remembered,
    "delete_fact": Memory,
    "observe": Message | None,
    "before_turn": Injection,
    "preview": Injection,
    "replay": Injection,
    "after_turn": str,
    "digest": Distilled,
    "compact": Compacted,
    "extract": Distilled,
    "messages": list[Message],
    "search_text": list[Message],
    "notes": list[Note],
    "forget": Receipt,
    "erase": Receipt,
    "expire": Receipt,
    "settings": Settings,
    "update_settings": Settings,
    "retrievals": list[Retrieval],
    "retrieval": Retrieval,
    "activity": list[Day],
    "graph": Graph,
    "costs": list[Cost],
    "jobs": list[JobRun],
    "run_jobs": list[JobRun],
    "retry_job": JobRun,
    "names": tuple[str, ...],
    "check_budget": None,
    "usage": list[ModelUsage],
    "record_usage": ModelUsage,
    "create_key": NewKey,
    "keys": list[ApiKey],
    "revoke_key": ApiKey,
    "now": datetime,
    "stats": Stats,
    "vitals": Vitals,
    "audit": list[AuditEntry],
    "verify": Verification,
    "reindex": Reindexed,
    "backup": Path,
    "export_to": int,
    "import_from": Imported,
    "flush": None,
}
"""The verbs that can be sent, each with the type of its result."""

NAMED = ("after_turn", "observe")
"""Verbs made idempotent by `external_id`; all others are idempotent by themselves."""
FILES = {"backup": "target", "export_to": "path", "import_from": "path"}
"""Verbs on a file of this machine, with the argument that names it."""
RECONNECT_SECONDS = 30.0
PAUSE_SECONDS = 0.1


class RemoteHippocampe:
    """The verbs of `Hippocampe`, with the same arguments, results and errors, executed by a server.

    A call whose connection broke is retried, which stores nothing twice.

    Args:
        connected: Connects to the server, or to the process that owns a folder of this machine; called again
            when the connection to the latter is lost, to find its successor.
        config: The configuration of this process.

    Raises:
        ServerUnavailable: The server cannot be reached, or has another version.
    """

    owns = False
    read_only = False

    def __init__(
        self, connected: Callable[[], Connection | LocalConnection], config: Config
    ) -> None:
        self._connect = connected
        self.config = config
        self._connection = connected()
        try:
            self._space = self._greeted()
        except BaseException:
            self._connection.close()
            raise

    @property
    def address(self) -> str:
        """The base URL of the server."""
        return self._connection.address

    def _greeted(self) -> str | None:
        """The space of the key; None if it opens all."""
        told = self._connection.greet()
        if told["version"] != __version__:
            raise ServerUnavailable(
                f"the server has version {told['version']} and this program {__version__}: install the "
                "same version on both sides."
            )
        return told["space"]

    def __getattr__(self, name: str) -> Any:
        if name not in RESULTS:
            raise AttributeError(f"{type(self).__name__} has no verb {name!r}")
        return partial(self._send, name)

    def _send(self, verb: str, *arguments: Any, progress: Any = None, **named: Any) -> Any:
        if verb in FILES and arguments:
            named, arguments = {FILES[verb]: arguments[0], **named}, arguments[1:]
        connection = self._connection
        if verb in transfer.VERBS and isinstance(connection, Connection):
            return transfer.VERBS[verb](connection, self._space, progress=progress, **named)
        if verb in NAMED and named.get("external_id") is None:
            named["external_id"] = uuid4().hex
        sent, prepared = _sendable(arguments), self._prepared(verb, named)
        ends = time.monotonic() + RECONNECT_SECONDS
        while True:
            try:
                result = connection.call(verb, sent, prepared, progress=progress)
                return _fenced(decode(RESULTS[verb], result))
            except Unreached as exc:
                if isinstance(connection, Connection) or time.monotonic() > ends:
                    raise ServerUnavailable(
                        f"the server cannot be reached ({exc}): check that it runs and that its "
                        "address is right."
                    ) from exc
            time.sleep(PAUSE_SECONDS)
            connection = self._reconnected()

    def _reconnected(self) -> Connection | LocalConnection:
        before, self._connection = self._connection, self._connect()
        before.close()
        return self._connection

    def _prepared(self, verb: str, named: dict[str, Any]) -> dict[str, Any]:
        scope = named.get("scope")
        if isinstance(scope, Scope) and self._space is not None and scope.space == Scope().space:
            # A key opens one space: it is the default.
            named = {**named, "scope": replace(scope, space=self._space)}
        path = named.get(FILES.get(verb, ""))
        if isinstance(path, str | os.PathLike):
            # The server may have another working directory.
            named = {**named, FILES[verb]: str(Path(os.fspath(path)).absolute())}
        return {
            name: _sendable(value) for name, value in named.items() if not isinstance(value, Unset)
        }

    def leave(self) -> bool:
        """Ask the owner to release the folder; only a process that was started automatically does.

        Returns:
            Whether it does; a server at an address never does.
        """
        connection = self._connection
        return isinstance(connection, LocalConnection) and connection.call("leave")

    def close(self) -> None:
        """Close the connection; the server goes on."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _fenced(result: Any) -> Any:
    """Fence the result of a verb: text for a model stays data, even from a hostile server."""
    if isinstance(result, Injection):
        return replace(result, text=fenced(result.text))
    return result


def _sendable(value: Any) -> Any:
    try:
        return encode(value)
    except TypeError as exc:
        raise InvalidInput(f"an argument cannot be sent to the server: {exc}.") from exc
