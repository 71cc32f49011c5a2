"""The server behind the proxy: its settings, its key, and what it may not send."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import openai
import pytest

from conftest import Opener
from hippocampe import Config
from hippocampe.config import UPSTREAM_ANTHROPIC_KEY, UPSTREAM_KEY, UPSTREAM_URL
from hippocampe.errors import InvalidInput
from hippocampe.server.proxy.remembered_chat import MAX_COUNTED, count_tokens
from proxying import ASK, DEV, talking
from served import served


def test_an_upstream_that_is_not_there(hashed: None, open_hippo: Opener) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    memory = open_hippo(embedder="hashed:32", upstream_url=f"http://127.0.0.1:{port}/v1")
    with talking(memory) as client:
        with pytest.raises(openai.InternalServerError, match="cannot be reached") as failed:
            client.chat.completions.create(model="x", messages=ASK)
        assert failed.value.status_code == 502
        assert failed.value.type == "server_error"
        with pytest.raises(openai.InternalServerError, match="cannot be reached"):
            client.models.list()


def test_without_an_upstream_there_is_no_proxy(hashed: None, open_hippo: Opener) -> None:
    with (
        talking(open_hippo(embedder="hashed:32")) as client,
        pytest.raises(openai.NotFoundError, match="HIPPOCAMPE_UPSTREAM_URL"),
    ):
        client.models.list()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"upstream_url": "ftp://host/v1"}, "http:// or https://"),
        ({"upstream_url": "http://"}, "with a host"),
        ({"upstream_url": "https://user:secret@host/v1"}, "without a user"),
        ({"upstream_url": "https://host/v1?key=secret"}, "a query"),
        ({"upstream_url": "https://host:99999/v1"}, "with a host"),
        ({"upstream_key": "two secrets"}, "without spaces"),
        ({"upstream_anthropic_url": "https://host/v1?key=secret"}, "upstream_anthropic_url must"),
        ({"upstream_anthropic_key": "two secrets"}, "UPSTREAM_ANTHROPIC_KEY"),
    ],
)
def test_settings_that_no_upstream_has(settings: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as failed:
        Config("data", **settings)  # pyright: ignore[reportArgumentType]
    assert "secret" not in str(failed.value)


def test_the_key_of_the_upstream_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UPSTREAM_KEY, "sk-secret")
    config = Config("data", upstream_url="http://[::1]:8080/v1/")  # pyright: ignore[reportArgumentType]
    assert (config.upstream_url, config.upstream_key) == ("http://[::1]:8080/v1", "sk-secret")
    assert "sk-secret" not in repr(config)
    monkeypatch.setenv(UPSTREAM_ANTHROPIC_KEY, "sk-ant-secret")
    config = Config("data")  # pyright: ignore[reportArgumentType]
    assert config.upstream_anthropic_key == "sk-ant-secret"
    assert "sk-ant-secret" not in repr(config)


@pytest.mark.parametrize("upstream_key", ["upstream-key", None])
@pytest.mark.parametrize("own", [True, False])
def test_whose_key_the_upstream_gets(
    hashed: None,
    open_hippo: Opener,
    monkeypatch: pytest.MonkeyPatch,
    upstream_key: str | None,
    own: bool,
) -> None:
    seen: list[httpx.Headers] = []
    with _recording(seen) as url:
        monkeypatch.setenv(UPSTREAM_URL, url)
        monkeypatch.setenv(UPSTREAM_KEY, upstream_key or "")
        other = open_hippo(embedder="hashed:64")
        key = other.create_key(scope=DEV, role="write").secret if own else "sk-of-the-client"
        headers = {"Cookie": "a=b", "Connection": "x-gone", "X-Gone": "1", "X-Hippocampe-User": "d"}
        with talking(other, api_key=key, default_headers=headers) as client:
            client.models.list()
    [found] = seen
    forwarded = None if own else "Bearer sk-of-the-client"
    assert found.get("authorization") == (f"Bearer {upstream_key}" if upstream_key else forwarded)
    assert not {"cookie", "x-gone", "x-hippocampe-user"} & {*found}


def test_a_client_without_a_key_is_forwarded(hashed: None, open_hippo: Opener) -> None:
    seen: list[httpx.Headers] = []
    with _recording(seen) as url:
        memory = open_hippo(embedder="hashed:32", upstream_url=url)
        with served(memory, loopback=True) as base:
            asked = HTTPConnection(base.removeprefix("http://"))
            # As SillyTavern sends it: with the space, which httpx refuses to send.
            asked.request("GET", "/v1/models", headers={"Authorization": "Bearer "})
            assert asked.getresponse().status == 200
            asked.close()
    assert seen[0]["authorization"] == "Bearer"


@contextmanager
def _recording(seen: list[httpx.Headers]) -> Iterator[str]:
    """An upstream that keeps the headers it gets, and sets some that must not be passed on."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(httpx.Headers(dict(self.headers.items())))
            statuses = {"moved": 302, "odd": 999}
            self.send_response(statuses.get(self.path.split("/")[1], 200))
            self.send_header("content-type", "application/json")
            self.send_header("location", "http://127.0.0.1:9/v1/models")
            self.send_header("set-cookie", "a=b")
            self.send_header("openai-version", "7")
            self.end_headers()
            self.wfile.write(b'{"object": "list", "data": []}')

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as upstream:
        thread = threading.Thread(target=upstream.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{upstream.server_port}"
        finally:
            upstream.shutdown()
            thread.join()


def test_redirects_and_cookies_of_the_upstream_stop_here(hashed: None, open_hippo: Opener) -> None:
    with _recording([]) as url:
        memory = open_hippo(embedder="hashed:32", upstream_url=url)
        with served(memory, loopback=True) as address:
            answer = httpx.get(f"{address}/v1/models", timeout=30)
        assert answer.headers["openai-version"] == "7"
        assert not {"set-cookie", "location"} & {*answer.headers}
    with _recording([]) as url:
        memory.close()
        memory = open_hippo(embedder="hashed:32", upstream_url=f"{url}/moved")
        with served(memory, loopback=True) as address:
            answer = httpx.get(f"{address}/v1/models", timeout=30)
        assert answer.status_code == 502
        assert "redirects" in answer.json()["error"]["message"]


def test_a_status_that_http_does_not_have_is_a_bad_gateway(
    hashed: None, open_hippo: Opener
) -> None:
    with _recording([]) as url:
        memory = open_hippo(embedder="hashed:32", upstream_url=f"{url}/odd")
        with served(memory, loopback=True) as address:
            answer = httpx.get(f"{address}/v1/models", timeout=30)
    assert answer.status_code == 502
    assert "unknown status 999" in answer.json()["error"]["message"]


def test_the_tokens_of_a_very_long_text_are_estimated_from_its_beginning() -> None:
    beginning = "un thé vert " * (MAX_COUNTED // 12)
    beginning += "z" * (MAX_COUNTED - len(beginning))
    assert count_tokens(beginning + "z" * MAX_COUNTED) == 2 * count_tokens(beginning)
