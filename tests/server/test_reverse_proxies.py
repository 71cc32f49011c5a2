"""Real reverse proxies in front of a real server on loopback, configured as the documentation says.

nginx and Caddy are programs of the system: where one is missing, its tests are skipped.
"""

import asyncio
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest
import trustme
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

import hippocampe
from hippocampe import Hippocampe, Scope
from hippocampe.config import UPSTREAM_KEY, UPSTREAM_URL
from served import served

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"
NAME = "memory.example.com"
HOME = Scope(space="home")
START_SECONDS = 60
ASK: list[Any] = [{"role": "user", "content": "Que boit Paul le matin ?"}]
EVENT = (
    b'data: {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "x", "choices": \
[{"index": 0, "delta": {"content": "%s"}, "finish_reason": null}]}\n\n'
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes")


class Upstream(ThreadingHTTPServer):
    """A provider of a model that says one word, and the next when it is allowed to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Streaming)
        self.go_on = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class Streaming(BaseHTTPRequestHandler):
    server: Upstream

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(EVENT % b"Du ")
        self.wfile.flush()
        assert self.server.go_on.wait(START_SECONDS)
        self.wfile.write(EVENT % b"caf\\u00e9." + b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@contextmanager
def running(port: int, *command: str, **options: Any) -> Iterator[None]:
    """A process, once it accepts connections at a port."""
    with subprocess.Popen(command, **options) as process:
        try:
            ends = time.monotonic() + START_SECONDS
            while True:
                assert process.poll() is None, f"{command[0]} ended"
                assert time.monotonic() < ends, f"{command[0]} does not listen"
                try:
                    socket.create_connection(("127.0.0.1", port), 5).close()
                    break
                except OSError:
                    time.sleep(0.02)
            yield
        finally:
            # Not asked to end: it would wait for the connections that clients keep.
            process.kill()


def nginx(site: str, port: int, folder: Path) -> Any:
    """nginx with one site, as this user and in a folder of its own."""
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "\n".join(f"{each}_temp_path {folder}/{each};" for each in places)
    main = f"""
        daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
        events {{ }}
        http {{ access_log off; {temporary}
        {site} }}
    """
    (folder / "nginx.conf").write_text(main)
    return running(port, "nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"))


@contextmanager
def caddy(site: str, port: int, folder: Path) -> Iterator[None]:
    """Caddy with one site, in a folder of its own."""
    (folder / "Caddyfile").write_text(site)
    command = ("caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile")
    env = os.environ | {"HOME": str(folder)}
    with (folder / "log").open("wb") as log, running(port, *command, env=env, stderr=log):
        yield


def replaced(text: str, **values: str) -> str:
    """Replace what has to differ in a test; each must be there."""
    for old, new in values.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def documented(program: str, port: int, backend: int, certificate: Path) -> str:
    """The site of the documentation, at other ports and with a certificate of the test."""
    if program == "nginx":
        text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
        names = re.findall(r"/etc/letsencrypt\S+(?=;)", text)
        changes = {"443": f"127.0.0.1:{port}", "8765": str(backend)}
        return replaced(text, **changes, **dict.fromkeys(names, str(certificate)))
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    site = f"https://{NAME}:{port} {{\n\ttls {certificate} {certificate}"
    options = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
    return options + replaced(text, **{f"{NAME} {{": site, "8765": str(backend)})


@dataclass(frozen=True)
class Site:
    """A server behind a proxy, as the world knows it."""

    url: str
    secret: str
    trust: ssl.SSLContext
    upstream: Upstream

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}

    def client(self, **headers: str) -> httpx.Client:
        return httpx.Client(
            base_url=self.url, verify=self.trust, headers=headers, timeout=30, trust_env=False
        )


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def program(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed: apt-get install {request.param}")
    return request.param


@pytest.fixture(scope="module")
def running_site(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp(program)
    authority = trustme.CA()
    authority.issue_cert(NAME).private_key_and_cert_chain_pem.write_to_path(folder / "site.pem")
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    with Hippocampe.open(folder / "data") as hippo:
        hippo.remember("Paul boit du thé vert le matin", scope=HOME)
        secret = hippo.create_key(scope=HOME, role="admin").secret
    backend, port = free_port(), free_port()
    site = documented(program, port, backend, folder / "site.pem")
    (folder / "proxy").mkdir()
    command = (sys.executable, "-c", "from hippocampe.cli import main; main()", "serve")
    command += ("--folder", str(folder / "data"), "--port", str(backend), "--require-key")
    with Upstream() as upstream:
        answering = threading.Thread(target=upstream.serve_forever)
        answering.start()
        env = {name: value for name, value in os.environ.items() if "HIPPOCAMPE" not in name}
        env |= {
            UPSTREAM_URL: upstream.url,
            UPSTREAM_KEY: "upstream-key",
            "PYTHONPATH": str(Path(hippocampe.__file__).parents[1]),
        }
        start = nginx if program == "nginx" else caddy
        try:
            with running(backend, *command, env=env), start(site, port, folder / "proxy"):
                yield Site(f"https://{NAME}:{port}", secret, trust, upstream)
        finally:
            upstream.go_on.set()
            upstream.shutdown()
            answering.join()


@pytest.fixture
def site(running_site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The site, whose name leads to this machine."""
    found = socket.getaddrinfo

    def here(host: Any, *args: Any, **options: Any) -> Any:
        named = host in (NAME, NAME.encode())
        return found("127.0.0.1" if named else host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    running_site.upstream.go_on.clear()
    return running_site


def test_only_a_key_opens(site: Site) -> None:
    with site.client() as anyone:
        assert anyone.get("/healthz").status_code == 200
        for path in ("/api/memories", "/overview", "/metrics", "/v1/models"):
            assert anyone.get(path).status_code == 401, path
        provider = {"Authorization": "Bearer sk-of-a-provider"}
        assert anyone.get("/v1/models", headers=provider).status_code == 401
    with site.client(**site.bearer) as client:
        [found] = client.get("/api/memories").json()["items"]
        assert found["content"] == "Paul boit du thé vert le matin"
        assert client.get("/api/memories?space=default").status_code == 403


def test_a_browser_logs_in(site: Site) -> None:
    with site.client() as browser:
        token = re.search(r'name="token" value="(\w+)"', browser.get("/login").text)
        assert token is not None
        form = {"key": site.secret, "token": token[1], "next": "/memory"}
        foreign = browser.post("/login", data=form, headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403
        done = browser.post("/login", data=form, headers={"Origin": site.url})
        assert (done.status_code, done.headers["location"]) == (303, "/memory")
        assert "Secure" in done.headers["set-cookie"]
        assert browser.get("/memory").status_code == 200
        with browser.stream("GET", "/logs/stream") as log:
            assert next(log.iter_lines()).startswith("data:")


def test_a_word_arrives_before_the_next_is_there(site: Site) -> None:
    with (
        httpx.Client(verify=site.trust, trust_env=False, timeout=30) as http,
        openai.OpenAI(base_url=f"{site.url}/v1", api_key=site.secret, http_client=http) as client,
    ):
        said = list[str]()
        chunks = client.chat.completions.create(model="x", messages=ASK, stream=True)
        for chunk in chunks:
            said.append(chunk.choices[0].delta.content or "")
            site.upstream.go_on.set()
    assert said == ["Du ", "café."]


def test_an_mcp_client_calls_a_tool(site: Site) -> None:
    async def search() -> Any:
        async with httpx2.AsyncClient(headers=site.bearer, verify=site.trust, timeout=30) as http:
            transport = streamable_http_client(f"{site.url}/mcp", http_client=http)
            async with Client(transport) as mcp:
                return await mcp.call_tool("search_memories", {"query": "thé"})

    done = asyncio.run(search())
    assert not done.is_error
    assert "Paul boit du thé vert" in str(done.content)


BARE = """server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://127.0.0.1:{backend}; {more} }}
}}"""


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
@pytest.mark.parametrize(
    "more",
    [
        "",
        "proxy_http_version 1.1; proxy_set_header X-Real-IP $remote_addr;",
        "proxy_http_version 1.1; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
        'proxy_http_version 1.1; proxy_set_header Forwarded "for=$remote_addr";',
        "proxy_set_header Host $host;",
    ],
)
def test_a_server_without_keys_is_not_open_through_a_proxy(
    memory: Hippocampe, tmp_path: Path, more: str
) -> None:
    memory.remember("Paul boit du thé vert le matin", scope=Scope())
    port = free_port()
    with served(memory, loopback=True) as url:
        assert httpx.get(f"{url}/api/memories", timeout=30).status_code == 200
        bare = BARE.format(port=port, backend=httpx.URL(url).port, more=more)
        with nginx(bare, port, tmp_path):
            for path in ("/api/memories", "/v1/models"):
                refused = httpx.get(
                    f"http://127.0.0.1:{port}{path}",
                    headers={"Authorization": "Bearer sk-x"},
                    timeout=30,
                )
                assert refused.status_code == 401
            anyone = httpx.get(f"http://127.0.0.1:{port}/api/memories", timeout=30)
            assert (anyone.status_code, "thé" in anyone.text) == (401, False)
