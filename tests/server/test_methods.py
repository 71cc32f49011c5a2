"""HEAD wherever GET is served, and the methods of a path where another is refused."""

import httpx
import pytest

from conftest import Connect
from hippocampe import Hippocampe, Scope

GETS = [
    *("/api/memories", "/api/v1/memories", "/api/memory/stats", "/api/export", "/api/audit"),
    *("/overview", "/memory", "/login", "/docs", "/openapi.json", "/static/app.js", "/"),
    *("/healthz", "/readyz", "/metrics", "/api/verbs"),
    *("/nowhere", "/api/memories/none", "/v1/models", "/mcp"),
]


@pytest.mark.parametrize("path", GETS)
def test_head_is_get_without_the_body(
    shared_client: httpx.Client, shared_memory: Hippocampe, path: str
) -> None:
    shared_memory.remember("Paul aime le thé", scope=Scope())
    got, head = shared_client.get(path), shared_client.head(path)
    assert head.status_code == got.status_code
    assert head.content == b""
    assert head.headers.get("content-type") == got.headers.get("content-type")
    assert shared_client.get("/healthz").status_code == 200


def test_the_head_of_a_stream_ends(client: httpx.Client) -> None:
    head = client.head("/logs/stream")
    assert head.headers["content-type"].startswith("text/event-stream")
    # On the same connection: the stream is over.
    assert client.get("/healthz").status_code == 200


def test_head_needs_a_key_where_get_does(connect: Connect) -> None:
    keyed = connect("read")
    del keyed.headers["Authorization"]
    assert keyed.head("/api/memories").status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "methods"),
    [
        ("PUT", "/api/memories", "GET, HEAD, POST"),
        ("PUT", "/api/v1/memories", "GET, HEAD, POST"),
        ("POST", "/api/memories/x", "DELETE, GET, HEAD, PATCH"),
        ("DELETE", "/api/memory/settings", "GET, HEAD, PATCH"),
        ("GET", "/api/recall", "POST"),
        ("HEAD", "/api/recall", "POST"),
        ("OPTIONS", "/api/memories", "GET, HEAD, POST"),
        ("GET", "/mcp", "POST"),
        ("POST", "/static/app.js", "GET, HEAD"),
        ("PUT", "/login", "GET, HEAD, POST"),
        ("POST", "/healthz", "GET, HEAD"),
        ("POST", "/openapi.json", "GET, HEAD"),
    ],
)
@pytest.mark.parametrize("accepted", ["*/*", "text/html"])
def test_another_method_is_refused_with_those_of_the_path(
    shared_client: httpx.Client, method: str, path: str, methods: str, accepted: str
) -> None:
    refused = shared_client.request(method, path, headers={"Accept": accepted})
    assert refused.status_code == 405
    assert ", ".join(sorted(refused.headers["allow"].split(", "))) == methods
