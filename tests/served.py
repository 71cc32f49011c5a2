"""A real server in a thread, on a free port of loopback."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

import once
from hippocampe import Hippocampe
from hippocampe.server.app import create_app
from hippocampe.server.http.served import ServedMemory
from hippocampe.server.http.slow_clients import HeadTimeoutProtocol

once.share_routes()


_ports: dict[bool, int] = {}
"""The last port of each kind of server: at the same address, a browser has read the files of the pages already."""


def _listener(loopback: bool) -> socket.socket:
    with suppress(OSError):
        return socket.create_server(("127.0.0.1", _ports.pop(loopback, 0)))
    return socket.create_server(("127.0.0.1", 0))


@contextmanager
def served(hippo: Hippocampe | ServedMemory, *, loopback: bool, **options: Any) -> Iterator[str]:
    """Serve a memory; the base URL. Without `loopback`, as if other machines could connect."""
    config = uvicorn.Config(
        create_app(hippo, loopback=loopback, **options),
        log_config=None,
        access_log=False,
        http=HeadTimeoutProtocol,
    )
    started = threading.Event()

    class Server(uvicorn.Server):
        """Ends when it is told to, where the original looks every tenth of a second."""

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            self.loop, self.ending = asyncio.get_running_loop(), asyncio.Event()
            started.set()

        async def main_loop(self) -> None:
            await self.on_tick(0)
            await self.ending.wait()

    server = Server(config)
    with _listener(loopback) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        port = listener.getsockname()[1]
        try:
            assert started.wait(30)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.loop.call_soon_threadsafe(server.ending.set)
            thread.join()
            _ports[loopback] = port
