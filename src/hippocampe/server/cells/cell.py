"""The process of one cell: `python -m hippocampe.server.cells.cell`, with its order as JSON on standard input.

It serves until its standard input ends, which also happens when the router is killed.
"""

import asyncio
import json
import os
import socket
import sys
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

from hippocampe.cells import ORPHAN_SECONDS, Division, folder_of
from hippocampe.client import joining
from hippocampe.client.wire import decode
from hippocampe.config import Config
from hippocampe.errors import HippocampeError
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.api.operation import PROBE, Probe
from hippocampe.server.app import create_app
from hippocampe.server.cells.door import Door, internal
from hippocampe.server.cells.passing import INTERNAL
from hippocampe.server.dashboard import rendering
from hippocampe.server.http import logs
from hippocampe.server.http.served import ServedMemory
from hippocampe.server.http.sessions import Sessions
from hippocampe.server.serving import WAITING_CONNECTIONS, Server, begin_to_stop, signals_taken
from hippocampe.system import garbage
from hippocampe.types import Counts, Scope, most_first
from hippocampe.verbs import Verb

FRESH_SECONDS = 2.0
"""Time to live of the spaces of other cells."""
ASK_SECONDS = 2.0
KEEP_ALIVE_SECONDS = 60
"""Idle time after which a cell closes a connection. The router closes it sooner: a write that it sent just then would be
refused, since it may have been done."""


def _of_cell(whole: Config, cell: int, division: Division) -> Config:
    """The configuration of a cell, of that of the whole folder; one cell reads the notes."""
    config = replace(whole, folder=folder_of(whole.folder, cell))
    if division.cell_of(config.notes_space) != cell:
        config = replace(config, notes_folder=None, obsidian_url=None, obsidian_certificate=None)
    return config


class CellMemory(ServedMemory):
    """The memory of a cell, which also knows the spaces of the other cells, from their sockets."""

    def __init__(self, hippo: Hippocampe, others: list[str]) -> None:
        super().__init__(hippo)
        self._others = {
            path: httpx.AsyncClient(
                transport=httpx.AsyncHTTPTransport(uds=path), timeout=ASK_SECONDS
            )
            for path in others
        }
        self._known: dict[str, tuple[float, dict[str, Counts]]] = {}

    async def _awaited(self, verb: Verb, /, *arguments: Any, **named: Any) -> Any:
        if verb.name == "import_from":
            # A file may name spaces of other cells.
            named["one_space"] = True
        found = await super()._awaited(verb, *arguments, **named)
        if verb.name != "spaces":
            return found
        for others in await asyncio.gather(*map(self._spaces_of, self._others)):
            found = {**others, **found}
        return most_first(found)

    async def _spaces_of(self, path: str) -> dict[str, Counts]:
        """The spaces of another cell; those known before while it does not answer."""
        at, known = self._known.get(path, (0.0, dict[str, Counts]()))
        now = time.monotonic()
        if path in self._known and now - at < FRESH_SECONDS:
            return known
        try:
            answer = await self._others[path].get(f"http://cell{INTERNAL}spaces")
            answer.raise_for_status()
            known = {space: Counts(**counts) for space, counts in answer.json().items()}
        except (httpx.HTTPError, ValueError):
            pass
        self._known[path] = now, known
        return known


def _tell(**what: Any) -> None:
    """Send a line to the router, unless it ended: then the cell ends too."""
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), f"{json.dumps(what)}\n".encode())


def main() -> int:
    """Serve a cell; return the exit code."""
    garbage.collect_rarely()
    os.umask(0o077)
    if not (line := sys.stdin.readline()):
        # The router ended meanwhile.
        return 1
    order: dict[str, Any] = json.loads(line)
    logs.install(order["log_format"], order["log_level"])
    cell: int = order["cell"]
    try:
        config = _of_cell(decode(Config, order["config"]), cell, Division(**order["division"]))
        hippo = joining.take_over(
            config.folder,
            lambda: Hippocampe.open(config, join=False),
            patience=ORPHAN_SECONDS,
        )
    except HippocampeError as exc:
        _tell(error=str(exc), kind=type(exc).__name__)
        return 1
    with hippo:
        _serve(hippo, order)
    return 0


def _serve(hippo: Hippocampe, order: dict[str, Any]) -> None:
    fence = hippo.fence
    assert fence is not None
    served = CellMemory(hippo, order["others"])
    sessions = Sessions(signing=bytes.fromhex(order["signing"]))
    app = create_app(
        served, loopback=order["loopback"], keyless=order["keyless"], sessions=sessions
    )
    probe = Probe(served, _own_scope(fence.cell, fence.divided.read()))
    stopping = partial(begin_to_stop, app, hippo)
    door = Door(app, sessions, internal(hippo, fence, probe, stopping))
    path = Path(order["socket"])
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(WAITING_CONNECTIONS)

        def announce() -> None:
            hippo.announce(order["address"])
            _tell(ready=True)
            Thread(target=rendering.prepare, name="hippocampe-pages", daemon=True).start()

        server = Server(door, announce, stopping, timeout_keep_alive=KEEP_ALIVE_SECONDS)

        def leave() -> None:
            sys.stdin.read()
            server.should_exit = True

        Thread(target=leave, name="hippocampe-leave", daemon=True).start()
        try:
            with signals_taken():
                server.run(sockets=[listener])
        finally:
            served.release()


def _own_scope(cell: int, division: Division) -> Scope:
    """A space without data whose name hashes to a cell, to probe it."""
    number = 0
    while division.cell_of(name := f"{PROBE.space}-{number}") != cell:
        number += 1
    return Scope(space=name)


if __name__ == "__main__":
    sys.exit(main())
