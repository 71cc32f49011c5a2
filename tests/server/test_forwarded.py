"""A reverse proxy in front of a server on loopback: who comes through it comes from anywhere."""

import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from test_attacks import raw
from test_scope import CHAT, LISTED, MCP

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.config import UPSTREAM_URL
from hippocampe.errors import InvalidInput
from hippocampe.server import serving
from hippocampe.server.http.sessions import COOKIE
from model_server import Answer, ModelServer
from served import served

HOME = Scope(space="home")
PUBLIC_NAME = "memory.example.com"
FORWARDED = [
    {"Forwarded": "for=192.0.2.60;proto=https"},
    {"X-Forwarded-For": "192.0.2.60"},
    {"X-Forwarded-Proto": "https"},
    {"X-Forwarded-Host": PUBLIC_NAME},
    {"X-Forwarded-Whatever": ""},
    {"X-Real-IP": "192.0.2.60"},
    {"via": "1.1 proxy"},
]


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    monkeypatch.setenv(UPSTREAM_URL, server.openai_url)
    server.brain = lambda request: Answer("Oui.")
    return open_hippo(embedder="hashed:64")


def statuses(client: httpx.Client, headers: dict[str, str]) -> list[int]:
    """What each way into the server answers."""
    provider = {"Authorization": "Bearer sk-of-a-provider"} | headers
    stats = {"arguments": [], "named": {"scope": {"space": "default"}}}
    return [
        client.get("/api/memories", headers=headers).status_code,
        client.post("/api/memories", headers=headers, json={"content": "intrus"}).status_code,
        client.post("/api/verbs/stats", headers=headers, json=stats).status_code,
        client.post("/mcp", headers=MCP | headers, json=LISTED).status_code,
        client.get("/v1/models", headers=provider).status_code,
        client.post("/v1/chat/completions", headers=provider, json=CHAT).status_code,
        client.get("/overview", headers=headers).status_code,
        client.get("/metrics", headers=headers).status_code,
        client.get("/api/keys", headers=headers).status_code,
    ]


@pytest.mark.parametrize("headers", FORWARDED, ids=lambda headers: next(iter(headers)))
def test_a_forwarded_request_is_never_keyless(
    client: httpx.Client, memory: Hippocampe, server: ModelServer, headers: dict[str, str]
) -> None:
    for more in ({}, {"Host": PUBLIC_NAME}):
        assert set(statuses(client, headers | more)) == {401}
    assert server.requests == []
    assert memory.recent(scope=Scope()) == []
    assert client.get("/api/memories").status_code == 200


def test_a_proxy_that_adds_no_header_speaks_an_older_version(client: httpx.Client) -> None:
    asked = b"GET /api/memories HTTP/%s\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    assert raw(client, asked % b"1.0").startswith(b"HTTP/1.1 401")
    assert raw(client, asked % b"1.1").startswith(b"HTTP/1.1 200")


def test_a_forwarded_request_is_served_by_its_key_under_any_name(
    client: httpx.Client, memory: Hippocampe
) -> None:
    memory.remember("Paul aime le thé", scope=HOME)
    headers = {
        "Authorization": f"Bearer {memory.create_key(scope=HOME, role='write').secret}",
        "Host": PUBLIC_NAME,
        "X-Forwarded-For": "192.0.2.60",
    }
    found = client.get("/api/memories", headers=headers)
    assert [each["content"] for each in found.json()["items"]] == ["Paul aime le thé"]
    assert client.get("/api/memories?space=work", headers=headers).status_code == 403
    # Without a sign of a proxy it may be a page that has the browser of this machine send it.
    direct = {name: value for name, value in headers.items() if name != "X-Forwarded-For"}
    assert client.get("/api/memories", headers=direct).status_code == 403


# With --require-key


@pytest.fixture
def keyed(memory: Hippocampe) -> Iterator[httpx.Client]:
    """A client of a server on loopback that requires a key."""
    with (
        served(memory, loopback=True, keyless=False) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        yield client


def test_a_required_key_serves_any_name(
    keyed: httpx.Client, memory: Hippocampe, server: ModelServer
) -> None:
    assert set(statuses(keyed, {})) == {401}
    assert server.requests == []
    secret = memory.create_key(scope=HOME, role="write").secret
    for host in ("127.0.0.1", PUBLIC_NAME):
        headers = {"Authorization": f"Bearer {secret}", "Host": host}
        assert keyed.get("/api/memories", headers=headers).status_code == 200
        assert keyed.get("/api/memories", headers={"Host": host}).status_code == 401


Login = Callable[..., httpx.Response]


@pytest.fixture
def log_in(keyed: httpx.Client, memory: Hippocampe) -> Login:
    """Log in as a browser that knows the server by its public name."""
    secret = memory.create_key(scope=HOME, role="write").secret

    def login(**headers: str) -> httpx.Response:
        sent = {"Host": PUBLIC_NAME, "Cookie": f"{COOKIE}={'x' * 43}"}
        page = keyed.get("/login", headers=sent)
        token = re.search(r'name="token" value="(\w+)"', page.text)
        assert token is not None
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        form = {"key": secret, "token": token[1]}
        return keyed.post("/login", data=form, headers=sent | more)

    return login


def test_a_login_belongs_to_the_page_of_the_proxy(log_in: Login) -> None:
    done = log_in(Origin=f"https://{PUBLIC_NAME}", X_Forwarded_Proto="https")
    assert done.status_code == 303
    cookie = done.headers["set-cookie"]
    assert "Secure" in cookie
    assert "SameSite=strict" in cookie
    plain = log_in(Origin=f"http://{PUBLIC_NAME}")
    assert plain.status_code == 303
    assert "Secure" not in plain.headers["set-cookie"]
    renamed = {"Host": "127.0.0.1:8765", "X_Forwarded_Host": PUBLIC_NAME}
    inside = log_in(Origin=f"https://{PUBLIC_NAME}", X_Forwarded_Proto="https", **renamed)
    assert inside.status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example", "X_Forwarded_Proto": "https"},
        {"Origin": f"http://{PUBLIC_NAME}", "X_Forwarded_Proto": "https"},
        {"Origin": f"https://{PUBLIC_NAME}"},
        {"Origin": f"https://{PUBLIC_NAME}:8443", "X_Forwarded_Proto": "https"},
        {"Origin": "null"},
    ],
)
def test_pages_of_other_sites_neither_log_in_nor_use_a_login(
    log_in: Login, keyed: httpx.Client, headers: dict[str, str]
) -> None:
    refused = log_in(**headers)
    assert refused.status_code == 403
    assert "set-cookie" not in refused.headers
    done = log_in(Origin=f"https://{PUBLIC_NAME}", X_Forwarded_Proto="https")
    session = re.search(rf"{COOKIE}=([\w-]+)", done.headers["set-cookie"])
    assert session is not None
    sent = {"Host": PUBLIC_NAME, "Cookie": f"{COOKIE}={session[1]}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    assert keyed.get("/api/memories", headers=sent).status_code == 403
    assert "another site" in keyed.post("/playground", headers=sent).json()["detail"]


def test_a_key_is_required_only_where_there_is_one(memory: Hippocampe) -> None:
    with (
        pytest.raises(InvalidInput, match="hippocampe keys create"),
        serving.bound("127.0.0.1", 0) as listener,
    ):
        serving.serve(memory, listener, started=lambda address: None, require_key=True)
