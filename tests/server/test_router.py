"""The router of cells, in front of sockets that end, or are silent, instead of answering."""

import asyncio
import json
import math
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

import children
from hippocampe.server.cells import router as routing
from hippocampe.server.cells import sending, supervisor
from hippocampe.server.cells.cell import KEEP_ALIVE_SECONDS
from hippocampe.server.cells.router import Router
from hippocampe.server.cells.supervisor import Cell
from hippocampe.server.http.sessions import Sessions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Unix sockets")
DOCS = Path(__file__).parents[2] / "docs"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class FakeCell:
    """A socket in the place of a cell, and the router in front of it.

    Args:
        path: Its address.
        serve: Answers a connection.
    """

    def __init__(self, path: Path, serve: Serve) -> None:
        self._serve = serve
        self.requests = 0
        self.cell = Cell(0, path)
        self.cell.running.set()
        division: Any = SimpleNamespace(cell_of={"default": 0}.__getitem__, moving={})
        folder: Any = SimpleNamespace(read=lambda: division)
        cells: Any = SimpleNamespace(cells=[self.cell])
        keys: Any = SimpleNamespace()
        self._router = Router(folder, cells, keys, Sessions(), None)
        self.left = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.requests += 1
        await self._serve(reader, writer)
        writer.close()

    async def send(self, method: str, path: str) -> tuple[int, dict[str, str], dict[str, Any]]:
        """Send a request through the router; return status, headers and content."""
        sent = list[dict[str, Any]]()
        body = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            if body:
                return body.pop()
            await self.left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        connection: dict[str, Any] = {
            "type": "http",
            "path": path,
            "method": method,
            "headers": [],
            "query_string": b"",
            "http_version": "1.1",
        }
        await self._router(connection, receive, send)
        if not sent:
            return 0, {}, {}
        headers = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        content = b"".join(each["body"] for each in sent[1:])
        return sent[0]["status"], headers, json.loads(content or b"{}")


@asynccontextmanager
async def in_front_of(serve: Serve) -> AsyncGenerator[FakeCell]:
    # The address of a Unix socket has 100 bytes at most.
    with tempfile.TemporaryDirectory() as folder:
        fake = FakeCell(Path(folder) / "0.sock", serve)
        async with await asyncio.start_unix_server(fake.answer, fake.cell.socket):
            try:
                yield fake
            finally:
                fake.left.set()
                await fake.cell.transport.aclose()


async def ending(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """End before an answer, as a process that its request kills."""


async def ending_in_the_middle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """End in the middle of an answer."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}")
    await writer.drain()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer nothing, as a frozen process, until the other side leaves."""
    await reader.read()


@pytest.mark.parametrize(
    ("method", "path", "sends"),
    [
        ("POST", "/api/recall", 2),
        ("GET", "/api/memories", 2),
        ("POST", "/api/memories", 1),
        ("DELETE", "/api/memories/1", 1),
    ],
)
@pytest.mark.parametrize("serve", [ending, ending_in_the_middle])
def test_a_request_that_ends_its_cell_is_not_sent_without_end(
    method: str, path: str, sends: int, serve: Serve
) -> None:
    async def main() -> None:
        async with in_front_of(serve) as fake, asyncio.timeout(30):
            status, headers, content = await fake.send(method, path)
            assert (status, headers["retry-after"]) == (503, "1")
            assert ("not sent again" in content["detail"]) == (sends > 1)
            assert fake.requests == sends

    asyncio.run(main())


def test_a_read_is_answered_by_the_cell_that_was_started_again() -> None:
    async def main() -> None:
        async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if fake.requests == 1:
                fake.cell.running.clear()
                asyncio.get_running_loop().call_later(0.3, fake.cell.running.set)
            else:
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                await writer.drain()

        async with in_front_of(once) as fake, asyncio.timeout(30):
            assert (await fake.send("GET", "/api/memories"))[0] == 200
            assert fake.requests == 2

    asyncio.run(main())


def test_a_cell_that_cannot_be_reached_is_not_tried_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sending, "MOVE_SECONDS", 0.3)

    async def main() -> None:
        async with in_front_of(silent) as fake, asyncio.timeout(30):
            fake.cell.socket.unlink()
            status, headers, content = await fake.send("POST", "/api/memories")
            assert (status, headers["retry-after"]) == (503, "1")
            assert "cannot be reached" in content["detail"]
            fake.cell.running.clear()
            assert "cannot be started" in (await fake.send("GET", "/api/memories"))[2]["detail"]

    asyncio.run(main())


def test_a_stream_that_breaks_off_ends_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n")
        await writer.drain()

    async def ask() -> tuple[int, dict[str, str], dict[str, Any]]:
        async with in_front_of(cut) as fake:
            return await fake.send("GET", "/api/stats")

    status, _, content = asyncio.run(ask())
    assert (status, content) == (200, {})
    assert caplog.messages == ["a cell ended during an answer"]


def test_a_cell_closes_no_connection_that_the_router_may_use() -> None:
    assert 2 * (httpx.Limits().keepalive_expiry or math.inf) < KEEP_ALIVE_SECONDS


def test_a_request_ends_when_its_client_leaves() -> None:
    async def main() -> None:
        async with in_front_of(silent) as fake, asyncio.timeout(30):
            asked = [asyncio.create_task(fake.send("GET", "/api/memories")) for _ in range(3)]
            while fake.requests < 3:
                await asyncio.sleep(0.01)
            assert fake.cell.under_way == 3
            fake.left.set()
            assert {(await each)[0] for each in asked} == {0}
            assert fake.cell.under_way == 0
            # Nor does one go on that waits for a cell.
            fake.cell.running.clear()
            await fake.send("GET", "/api/memories")
            assert fake.requests == 3

    asyncio.run(main())


def test_a_cell_has_a_bounded_number_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "MOST_UNDER_WAY", 2)

    async def main() -> None:
        async with in_front_of(silent) as fake, asyncio.timeout(30):
            asked = [asyncio.create_task(fake.send("GET", "/api/memories")) for _ in range(2)]
            while fake.cell.under_way < 2:
                await asyncio.sleep(0.01)
            status, headers, content = await fake.send("GET", "/api/memories")
            assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
            assert "2 requests" in content["detail"]
            fake.left.set()
            await asyncio.gather(*asked)

    asyncio.run(main())


def test_operators_get_an_answer_although_no_cell_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in ("READY_SECONDS", "METRICS_SECONDS"):
        monkeypatch.setattr(routing, each, 0.3)

    async def main() -> None:
        async with in_front_of(silent) as fake, asyncio.timeout(30):
            status, _, content = await fake.send("GET", "/readyz")
            assert (status, content["silent_cells"], content["store"]) == (503, [0], "down")
            status, _, content = await fake.send("GET", "/metrics")
            assert (status, content["type"]) == (503, "urn:hippocampe:ServerUnavailable")

    asyncio.run(main())


_LIMITED = """
import resource
from hippocampe.server import serving
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
serving.allow_files()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(hard, serving.OPEN_FILES), hard)
"""


def test_a_server_may_open_a_file_for_each_of_its_connections() -> None:
    done = children.run("-c", _LIMITED, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_documentation_has_the_limits_of_cells() -> None:
    silence = supervisor.PROBE_SECONDS * supervisor.MISSED_PROBES
    how_to, deploy = ((DOCS / name).read_text() for name in ("how-to.md", "deploy.md"))
    assert f"answers nothing for {silence:.0f} seconds" in how_to
    assert sending.SENDS == 2
    assert "is sent a second time" in how_to
    assert sending.MOVE_SECONDS == 60
    assert "wait for it up to a minute" in how_to
    assert f"at most {supervisor.MOST_UNDER_WAY} requests at once" in how_to
    assert f"beyond {supervisor.MOST_UNDER_WAY} requests of one cell" in deploy
    assert (routing.READY_SECONDS, routing.METRICS_SECONDS) == (2, 5)
    assert "those that do not answer within two seconds" in deploy
    assert "of a cell that does not answer within five seconds" in deploy
