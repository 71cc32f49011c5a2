"""Listen, announce the address, serve until told to stop."""

import ipaddress
import logging
import signal
import socket
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType, TracebackType

import uvicorn

from hippocampe.errors import InvalidInput
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.app import create_app

STOP_SECONDS = 10
"""Time that requests under way have to finish."""
WAITING_CONNECTIONS = 2_048


class WithoutMessages(logging.Formatter):
    """Formats an error as its class and its place: its message may quote what a user wrote."""

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        return "".join([*traceback.format_tb(ei[2]), ei[0].__name__ if ei[0] else ""])


class _Server(uvicorn.Server):
    """A server that says when it can be reached."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # The streams of the log have no end of their own: stopping would wait for them.
        self.config.app.state.log_tail.ended.set()  # pyright: ignore[reportFunctionMemberAccess, reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        await super().shutdown(sockets)


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

        config = uvicorn.Config(
            create_app(hippo, loopback=loopback),
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        with _signals_taken():
            _Server(config, announce).run(sockets=[listener])


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
