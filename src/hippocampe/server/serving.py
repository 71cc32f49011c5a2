"""Run the server: listen, announce the address, serve until a signal."""

import asyncio
import ipaddress
import signal
import socket
import sys
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.errors import InvalidInput
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.app import create_app
from hippocampe.server.dashboard import rendering
from hippocampe.server.http import problems
from hippocampe.server.http.middleware import Middleware
from hippocampe.server.http.served import ServedMemory
from hippocampe.server.http.slow_clients import MAX_CONNECTIONS, HeadTimeoutProtocol
from hippocampe.server.proxy.providers import ProviderErrors
from hippocampe.system.command_line import command_line

if sys.platform != "win32":
    import resource

STOP_SECONDS = 10
"""Grace period of requests under way."""
STOPPED = "the server stopped before its answer: send the request again."
WAITING_CONNECTIONS = 2_048
ACCEPTED_AT_ONCE = 1
"""Connections that the event loop accepts in a row. When no file can be opened, it logs a failure for each of them and
tries each again a second later: with more than one they multiply, and the log grew by ten megabytes a second."""
OPEN_FILES = 4_096
"""Files that a server may open: each request needs a connection of its client, and with cells one to a cell. Many
systems allow 256 or 1,024 files to a program that does not ask for more."""
SMALL_CALLS = 32
"""Threads of the event loop itself, for short calls. Verbs have thread pools of their own."""


class Interruptions(Middleware):
    """Turns the cancellation of a request into an answer, or into the end of one that has begun.

    Only for a server that runs each request in a task of its own, which nothing but its stop cancels.
    """

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(connection, receive, noted)
        except asyncio.CancelledError:
            if not begun:
                stopped = problems.response(problems.of_status(503, STOPPED))
                await ProviderErrors(stopped)(connection, receive, send)


def begin_to_stop(app: FastAPI, hippo: Hippocampe) -> None:
    """End the streams of logs, which do not end by themselves, and long calls between their transactions."""
    app.state.log_tail.ended.set()
    hippo.leaving.set()


class Server(uvicorn.Server):
    """A server that reports when it can be reached.

    Args:
        started: Called once it can be reached.
        stopping: Called when it begins to stop.
    """

    def __init__(
        self,
        app: ASGIApp,
        started: Callable[[], None],
        stopping: Callable[[], None],
        **options: Any,
    ) -> None:
        given: dict[str, Any] = {
            "ws": "none",
            "log_config": None,
            "access_log": False,
            "proxy_headers": False,
            "server_header": False,
            "timeout_graceful_shutdown": STOP_SECONDS,
            "http": HeadTimeoutProtocol,
            "limit_concurrency": MAX_CONNECTIONS,
            "backlog": ACCEPTED_AT_ONCE,
        }
        super().__init__(uvicorn.Config(Interruptions(app), **given | options))
        self._stopping = stopping
        self._on_start = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        threads = ThreadPoolExecutor(SMALL_CALLS, thread_name_prefix="hippocampe-small")
        asyncio.get_running_loop().set_default_executor(threads)
        await super().startup(sockets)
        for each in sockets or ():
            # The number of waiting connections too was that of accepted ones.
            each.listen(WAITING_CONNECTIONS)
        if self.started:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Log streams do not end by themselves: stopping would wait for them.
        self._stopping()
        await super().shutdown(sockets)


def serve(
    hippo: Hippocampe,
    listener: socket.socket,
    *,
    started: Callable[[str], None],
    require_key: bool = False,
    temporary: bool = False,
) -> None:
    """Serve a memory over HTTP until SIGINT or SIGTERM; requests under way are finished.

    Args:
        hippo: The open memory; who opened it closes it.
        listener: The socket of `bound`. Any address except loopback needs a key in the memory.
        started: Called with the base URL once it can be reached.
        require_key: Programs of this machine need a key too, and any host name is served, for a reverse proxy
            on this machine.
        temporary: Whether the data folder is removed when the server stops; the pages say so.

    Raises:
        InvalidInput: A key is needed and none exists, or another program listens at the address meanwhile.
    """
    loopback = listen(
        listener,
        folder=hippo.config.folder,
        keyless=lambda: _no_key(hippo),
        require_key=require_key,
    )
    allow_files()
    address = url_of(listener)
    served = ServedMemory(hippo)
    app = create_app(served, loopback=loopback, keyless=not require_key, temporary=temporary)

    def announce() -> None:
        hippo.announce(address)
        started(address)
        Thread(target=rendering.prepare, name="hippocampe-pages", daemon=True).start()

    try:
        with signals_taken():
            Server(app, announce, partial(begin_to_stop, app, hippo)).run(sockets=[listener])
    finally:
        served.release()


@contextmanager
def bound(host: str, port: int) -> Generator[socket.socket]:
    """A socket at an address, which no client reaches before the server listens at it.

    It is taken before the memory is opened: opening creates a folder, and may upgrade its tables.

    Args:
        host: The address or name.
        port: The port; 0 chooses a free one.

    Raises:
        InvalidInput: The address cannot be used.
    """
    with ExitStack() as opened:
        with _refused(host, port):
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, _, _, _, at = found[0]
            listener = opened.enter_context(socket.socket(family, socket.SOCK_STREAM))
            if sys.platform != "win32":
                # Connections of a server that stopped do not block its port. On Windows they never do.
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                # Everywhere `::` is without the addresses of IPv4.
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # asyncio sets it only on sockets that name their protocol; without it, each response waits 40 ms
            # for the client to acknowledge its headers. Accepted connections inherit it.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            listener.bind(at)
        yield listener


def listen(
    listener: socket.socket, *, folder: Path, keyless: Callable[[], bool], require_key: bool
) -> bool:
    """Let clients connect to a socket of `bound`; return whether it is on loopback.

    Args:
        folder: The folder of the keys, for messages.
        keyless: Returns true if there is no valid key.
        require_key: Whether programs of this machine need a key too.

    Raises:
        InvalidInput: A key is needed and none exists, or another program listens there meanwhile.
    """
    name, port = listener.getsockname()[:2]
    host = str(name).partition("%")[0]
    loopback = ipaddress.ip_address(host).is_loopback
    if (require_key or not loopback) and keyless():
        line = command_line("keys", "create", "--role", "admin", "--folder", str(folder.absolute()))
        why = "--require-key needs one" if loopback else "other machines can reach it"
        raise InvalidInput(
            f"cannot serve at {host} without a key, because {why}: make a key with: {line}"
        )
    with _refused(host, port):
        listener.listen(WAITING_CONNECTIONS)
    return loopback


@contextmanager
def _refused(host: str, port: int) -> Generator[None]:
    """Raise `InvalidInput` if the system refuses an address."""
    try:
        yield
    except (OSError, OverflowError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise InvalidInput(
            f"cannot listen at {host} port {port}: {reason}. Choose another --host or --port."
        ) from exc


def allow_files() -> None:
    """Ask for `OPEN_FILES`, or for as many as the system allows."""
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _no_key(hippo: Hippocampe) -> bool:
    made = hippo.keys()
    return all(key.revoked_at is not None for key in made)


def url_of(listener: socket.socket) -> str:
    """The URL for programs of this machine."""
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def signals_taken() -> Generator[None]:
    """Swallow the signals that Uvicorn raises again after stopping, which would end the process at once."""
    stopping = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, lambda number, frame: None) for each in stopping}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
