"""Headers with bytes that are no text: each way into the server refuses or ignores them, and none breaks."""

import json
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from test_scope import CHAT, LISTED, MCP

from conftest import Connect, Opener
from hippocampe import Hippocampe
from hippocampe.config import UPSTREAM_URL
from model_server import Answer, ModelServer
from served import served

JSON = {"Content-Type": "application/json"}
STATS = {"arguments": [], "named": {"scope": {"space": "default"}}}
WAYS: dict[str, tuple[str, str, Any, dict[str, str]]] = {
    "rest": ("GET", "/api/memories", None, {}),
    "write": ("POST", "/api/memories", {"content": "Owen a un voilier"}, JSON),
    "verbs": ("POST", "/api/verbs/stats", STATS, JSON),
    "proxy": ("POST", "/v1/chat/completions", CHAT, JSON),
    "models": ("GET", "/v1/models", None, {}),
    "mcp": ("POST", "/mcp", LISTED, JSON | MCP),
    "page": ("GET", "/overview", None, {"Accept": "text/html"}),
    "login": ("POST", "/login", None, {"Content-Type": "application/x-www-form-urlencoded"}),
    "file": ("GET", "/static/app.js", None, {}),
}
NAMES = [
    *("Authorization", "Cookie", "Host", "Origin", "Idempotency-Key", "X-Request-Id"),
    *("X-Hippocampe-Space", "X-Hippocampe-User", "X-Hippocampe-Channel", "X-CSRF-Token"),
    *("Content-Type", "Accept", "Accept-Language", "User-Agent", "HX-Request", "Last-Event-ID"),
    *("OpenAI-Organization", "Api-Key", "X-Forwarded-Proto", "X-Forwarded-Host"),
    *("Mcp-Session-Id", "Mcp-Protocol-Version", "If-None-Match", "If-Modified-Since", "Range"),
]
BYTES = [b"\xff\xfe", "é".encode(), b"a\x01b"]


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    monkeypatch.setenv(UPSTREAM_URL, server.openai_url)
    server.brain = lambda request: Answer("Oui.")
    return open_hippo(embedder="hashed:64")


def status(client: httpx.Client, way: str, changed: dict[str, bytes]) -> int:
    """Send a request with headers of bytes; its status."""
    method, path, content, more = WAYS[way]
    body = b"" if content is None else json.dumps(content).encode()
    headers = {
        "Host": client.base_url.netloc,
        "Connection": b"close",
        "Content-Length": str(len(body)).encode(),
        **{name: value.encode() for name, value in more.items()},
        **changed,
    }
    lines = [f"{method} {path} HTTP/1.1".encode()]
    lines += [name.encode() + b": " + value for name, value in headers.items()]
    address = urlsplit(str(client.base_url))
    with socket.create_connection((address.hostname or "", address.port or 0), 60) as sender:
        sender.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        answer = b""
        with suppress(ConnectionResetError):
            while piece := sender.recv(65_536):
                answer += piece
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize("way", WAYS)
def test_no_bytes_of_a_header_break_the_server(client: httpx.Client, way: str) -> None:
    for name in NAMES:
        for value in BYTES:
            # A control character is no part of a header: the parser refuses it.
            expected = {400} if b"\x01" in value else range(200, 500)
            assert status(client, way, {name: value}) in expected, (name, value)
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("way", ["rest", "verbs", "proxy", "mcp"])
def test_a_key_of_bytes_opens_nothing(connect: Connect, way: str) -> None:
    keyed = connect("read")
    for value in BYTES[:2]:
        for form in (b"%s", b"Bearer %s", b"Bearer hippo_%s"):
            assert status(keyed, way, {"Authorization": form % value}) == 401


def test_bytes_pass_between_a_client_and_its_provider(hashed: None, open_hippo: Opener) -> None:
    seen = list[bytes]()

    class Provider(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["User-Agent"].encode("latin-1"))
            self.send_response(200)
            self.send_header("openai-version", "\u20ac".encode().decode("latin-1"))
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Provider) as upstream:
        answering = threading.Thread(target=upstream.handle_request)
        answering.start()
        url = f"http://127.0.0.1:{upstream.server_port}"
        memory = open_hippo(embedder="hashed:64", upstream_url=url)
        with (
            served(memory, loopback=True) as address,
            httpx.Client(base_url=address, timeout=30) as client,
        ):
            answer = client.get("/v1/models", headers={"User-Agent": b"\xff\xe9"})
        answering.join()
    assert answer.status_code == 200
    assert seen == [b"\xff\xe9"]
    assert dict(answer.headers.raw)[b"openai-version"] == "\u20ac".encode()


def test_a_label_of_bytes_that_cannot_be_is_refused(client: httpx.Client) -> None:
    for value in (b"\x80", b"%00", b"%0a", b"%20"):
        for name in ("X-Hippocampe-Space", "X-Hippocampe-User", "X-Hippocampe-Channel"):
            assert status(client, "proxy", {name: value}) == 422, (name, value)
