"""Start the processes of the cells, restart one that ends, stop all."""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx

from hippocampe import errors
from hippocampe.cells import Divided
from hippocampe.config import Config
from hippocampe.errors import HippocampeError, ServerUnavailable
from hippocampe.server.cells.cell import sent

log = logging.getLogger("hippocampe.cells")
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
"""Seconds before a cell that ended is started again: doubled each time, up to the longest."""
STEADY_SECONDS = 60.0
"""A cell that has run for so long is restarted after the first pause again."""
STOP_SECONDS = 30.0
"""Time for a cell to finish its requests and to close; then it is killed, which loses nothing."""
IDLE_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class Orders:
    """The orders that all cells get.

    Attributes:
        config: The configuration of the whole folder.
        loopback: Whether only programs of this machine can connect to the router.
        keyless: Whether they need no key.
        address: The base URL of the router.
        signing: The secret of CSRF tokens.
        log_format: The format of the log.
        log_level: Its level.
    """

    config: Config
    loopback: bool
    keyless: bool
    address: str
    signing: bytes
    log_format: str
    log_level: str


@dataclass(slots=True)
class Cell:
    """One cell.

    Attributes:
        number: Its number.
        socket: The address of its Unix socket.
        running: Set while it can be reached.
    """

    number: int
    socket: Path
    running: asyncio.Event = field(default_factory=asyncio.Event)
    process: "asyncio.subprocess.Process | None" = None
    transport: httpx.AsyncHTTPTransport = field(init=False)

    def __post_init__(self) -> None:
        self.connect()

    def connect(self) -> None:
        """Use new connections: those to a process that ended are of no use."""
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS)
        self.transport = httpx.AsyncHTTPTransport(uds=str(self.socket), limits=limits)


class Supervisor:
    """The processes of the cells.

    Args:
        divided: The folder.
        orders: What all cells are told.
        sockets: A private folder for their sockets.
    """

    def __init__(self, divided: Divided, orders: Orders, sockets: Path) -> None:
        self._divided = divided
        self._orders = orders
        count = divided.read().count
        self.cells = [Cell(number, sockets / f"{number}.sock") for number in range(count)]
        self._tending: list[asyncio.Task[None]] = []
        self._stopping = False

    async def start(self) -> None:
        """Start all cells, and wait until they can be reached.

        Raises:
            HippocampeError: A cell cannot be started.
        """
        # The first one may create or upgrade the tables that all read.
        for cell in self.cells[:1]:
            await self._launch(cell)
        await asyncio.gather(*(self._launch(cell) for cell in self.cells[1:]))
        self._tending = [asyncio.create_task(self._tend(cell)) for cell in self.cells]

    async def stop(self) -> None:
        """Let the cells finish their requests and close."""
        self._stopping = True
        await asyncio.gather(*(self._end(cell) for cell in self.cells))
        for each in self._tending:
            each.cancel()
        await asyncio.gather(*self._tending, return_exceptions=True)

    async def _launch(self, cell: Cell) -> None:
        """Start a cell once.

        Raises:
            HippocampeError: It cannot be started.
        """
        cell.process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hippocampe.server.cells.cell"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # Ctrl-C reaches the router alone, which stops the cells in order.
            start_new_session=True,
        )
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(self._order(cell)).encode() + b"\n")
        with suppress(ConnectionError):
            await process.stdin.drain()
        line = await process.stdout.readline()
        told: Mapping[str, Any] = json.loads(line) if line.strip() else {}
        if not told.get("ready"):
            await process.wait()
            raise _error(cell.number, told)
        cell.connect()
        cell.running.set()

    def _order(self, cell: Cell) -> dict[str, Any]:
        orders = self._orders
        return {
            "cell": cell.number,
            "config": sent(orders.config),
            "division": asdict(self._divided.read()),
            "socket": str(cell.socket),
            "others": [str(each.socket) for each in self.cells if each is not cell],
            "loopback": orders.loopback,
            "keyless": orders.keyless,
            "address": orders.address,
            "signing": orders.signing.hex(),
            "log_format": orders.log_format,
            "log_level": orders.log_level,
        }

    async def _tend(self, cell: Cell) -> None:
        """Restart a cell whenever it ends, until all are stopped."""
        pause = FIRST_PAUSE
        while True:
            started = time.monotonic()
            assert cell.process is not None
            code = await cell.process.wait()
            cell.running.clear()
            if self._stopping:
                return
            if time.monotonic() - started > STEADY_SECONDS:
                pause = FIRST_PAUSE
            log.error("cell %d ended (%d): it is started again in %.1f s", cell.number, code, pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            try:
                await self._launch(cell)
            except (HippocampeError, OSError) as exc:
                log.error("cell %d cannot be started: %s", cell.number, exc)

    async def _end(self, cell: Cell) -> None:
        process = cell.process
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            log.error("cell %d did not end: it is killed", cell.number)
            process.kill()
            await process.wait()


def _error(number: int, told: Mapping[str, Any]) -> HippocampeError:
    kind = getattr(errors, str(told.get("kind")), ServerUnavailable)
    reason = told.get("error", "it ended without a reason: see its log.")
    return kind(f"cell {number} cannot be started: {reason}")
