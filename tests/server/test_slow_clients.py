"""Clients that send slowly, or nothing, do not use up the server."""

import socket
import time

import httpx
import pytest

from hippocampe import Hippocampe
from hippocampe.server.http import limits, slow_clients
from served import served

HEAD = b"POST /api/recall HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def connected(url: str) -> socket.socket:
    address = httpx.URL(url)
    return socket.create_connection((address.host, address.port or 0), timeout=10)


def answered(connection: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    found = b""
    while piece := connection.recv(65_536):
        found += piece
    return found


def test_a_head_after_an_answer_is_given_up_too(
    memory: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(memory, loopback=True) as url, connected(url) as slow:
        whole = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        slow.sendall(whole)
        assert slow.recv(65_536).startswith(b"HTTP/1.1 200")
        monkeypatch.setattr(slow_clients, "HEADER_SECONDS", 0.3)
        slow.sendall(whole[:10])
        began = time.monotonic()
        answered(slow)
        assert time.monotonic() - began < 4


def test_a_request_that_takes_long_is_not_given_up(
    memory: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats = Hippocampe.stats

    def slow(self: Hippocampe, **given: object) -> object:
        time.sleep(0.3)
        return stats(self, **given)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(memory, "stats", slow.__get__(memory))
    with served(memory, loopback=True) as url, httpx.Client(base_url=url, timeout=30) as client:
        assert client.get("/healthz").status_code == 200
        # On an open connection a head comes at once.
        monkeypatch.setattr(slow_clients, "HEADER_SECONDS", 0.1)
        assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("path", [b"/api/recall", b"/v1/chat/completions"])
def test_a_body_that_comes_too_slowly_is_refused(
    memory: Hippocampe, monkeypatch: pytest.MonkeyPatch, path: bytes
) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.3)
    with served(memory, loopback=True) as url, connected(url) as slow:
        head = HEAD.replace(b"/api/recall", path)
        slow.sendall(head + b"Content-Length: 100\r\n\r\n{")
        answer = answered(slow)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"too slowly" in answer
