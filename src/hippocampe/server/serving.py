"""Listen, announce the address, serve until told to stop."""

import ipaddress
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from hippocampe.errors import InvalidInput
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.app import create_app
from hippocampe.server.connection import Connection
from hippocampe.server.served import ServedMemory

STOP_SECONDS = 10
"""Time that requests under way have to finish."""
WAITING_CONNECTIONS = 2_048
MAX_CONNECTIONS = 800
"""Fewer than a process may have files open; more are answered 503."""


class _Server(uvicorn.Server):
    """A server that says when it can be reached."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()


def serve(hippo: Hippocampe, *, host: str, port: int, started: Callable[[str], None]) -> None:
    """Serve a memory over HTTP until SIGINT or SIGTERM; requests under way are finished.

    Args:
        hippo: The open memory; who opened it closes it.
        host: The address or name to listen at. Any but loopback needs a key in the memory.
        port: The port; 0 chooses a free one.
        started: Called with the base URL once it can be reached.

    Raises:
        InvalidInput: The address cannot be used, or is not loopback while no key exists.
        StoreError: The address cannot be announced in the data folder.
    """
    with _listening(hippo, host, port) as (listener, loopback):
        address = _url(listener)

        def announce() -> None:
            hippo.announce(address)
            started(address)

        served = ServedMemory(hippo)
        config = uvicorn.Config(
            create_app(served, loopback=loopback),
            http=Connection,
            ws="none",
            limit_concurrency=MAX_CONNECTIONS,
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        try:
            with _signals_taken():
                _Server(config, announce).run(sockets=[listener])
        finally:
            served.release()


@contextmanager
def _listening(
    hippo: Hippocampe, host: str, port: int
) -> Generator[tuple[socket.socket, bool], None, None]:
    """A bound socket, and whether it is on loopback."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, at = found[0]
        loopback = ipaddress.ip_address(str(at[0]).partition("%")[0]).is_loopback
        if not loopback and _no_key(hippo):
            raise InvalidInput(
                f"cannot serve at {host} without a key, because other machines can reach it: make one "
                "with hippocampe keys create, or serve at 127.0.0.1."
            )
        listener = socket.create_server(at[:2], family=family, backlog=WAITING_CONNECTIONS)
        # The event loop does so for connections of its own sockets only; without, an answer in two packets
        # waits 40 ms for the acknowledgement of the first.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, OverflowError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise InvalidInput(
            f"cannot listen at {host} port {port}: {reason}. Choose another --host or --port."
        ) from exc
    with listener:
        yield listener, loopback


def _no_key(hippo: Hippocampe) -> bool:
    made = hippo.keys()
    return all(key.revoked_at is not None for key in made)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _signals_taken() -> Generator[None]:
    """Keep the signals that Uvicorn raises again after stopping from ending the process at once."""
    stopping = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, _nothing_more) for each in stopping}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _nothing_more(signum: int, frame: FrameType | None) -> None:
    """The server has stopped already."""
