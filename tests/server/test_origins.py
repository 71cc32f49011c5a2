"""Pages of other sites: refused, unless the owner lists their origin; then with a key, and never with a cookie."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from conftest import Opener
from hippocampe import Config, Hippocampe, InvalidInput, Scope
from hippocampe.config import UPSTREAM_URL
from model_server import Answer, ModelServer
from served import served
from site_of_files import site

PAGE = "https://chat.example"
STATS = "/api/memories"


@pytest.fixture
def memory(hashed: None, open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:64", allowed_origins=(PAGE, "http://127.0.0.1:8000"))


@pytest.fixture
def url(memory: Hippocampe) -> Iterator[str]:
    with served(memory, loopback=True) as url:
        yield url


def key(memory: Hippocampe) -> dict[str, str]:
    return {"Authorization": f"Bearer {memory.create_key(scope=Scope(), role='read').secret}"}


def test_a_listed_origin_needs_a_key(url: str, memory: Hippocampe) -> None:
    # A program of this machine needs none.
    assert httpx.get(f"{url}{STATS}", timeout=30).status_code == 200
    refused = httpx.get(f"{url}{STATS}", headers={"Origin": PAGE}, timeout=30)
    assert refused.status_code == 401
    # The page reads why.
    assert refused.headers["access-control-allow-origin"] == PAGE
    answer = httpx.get(f"{url}{STATS}", headers={"Origin": PAGE, **key(memory)}, timeout=30)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert "Origin" in answer.headers["vary"]
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://chat.example",
        "https://chat.example:444",
        "https://chat.example.evil",
        "https://sub.chat.example",
        "null",
        "http://127.0.0.1:8001",
    ],
)
def test_other_origins_are_refused(url: str, origin: str) -> None:
    answer = httpx.get(f"{url}{STATS}", headers={"Origin": origin}, timeout=30)
    assert answer.status_code == 403
    preflight = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    asked = httpx.options(f"{url}/api/recall", headers=preflight)
    assert asked.status_code == 403
    for each in (answer, asked):
        assert "access-control-allow-origin" not in each.headers


def test_a_preflight_is_answered_without_a_key(url: str) -> None:
    asked = {
        "Origin": PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
        "Access-Control-Request-Private-Network": "true",
    }
    answer = httpx.options(f"{url}/api/recall", headers=asked)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert answer.headers["access-control-allow-headers"] == "authorization,content-type"
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-private-network"] == "true"


def test_pages_and_cookies_are_out_of_reach(memory: Hippocampe, url: str) -> None:
    secret = memory.create_key(scope=Scope(), role="admin").secret
    with httpx.Client(base_url=url, timeout=30) as browser:
        form = browser.get("/login").text
        assert "key" in form
        own = {"Origin": url}
        browser.post("/login", data={"key": secret, "next": "/"}, headers=own)
        assert browser.get(STATS, headers={"Origin": PAGE}).status_code == 401
        assert browser.get("/overview", headers={"Origin": PAGE}).status_code == 403
    assert httpx.get(f"{url}/healthz", headers={"Origin": PAGE}, timeout=30).status_code in (
        200,
        403,
    )


def test_without_a_list_nothing_changes(hashed: None, open_hippo: Opener) -> None:
    memory = open_hippo(embedder="hashed:64")
    with served(memory, loopback=True) as url:
        answer = httpx.get(f"{url}{STATS}", headers={"Origin": PAGE, **key(memory)}, timeout=30)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "origins",
    [
        "https://chat.example",
        ("*",),
        ("https://*.example",),
        ("chat.example",),
        ("https://a/b",),
        ("null",),
    ],
)
def test_what_is_no_origin_is_refused(origins: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="allowed_origins"):
        Config(tmp_path, allowed_origins=origins)


ASK = """async ([url, key]) => {
    const headers = {"Content-Type": "application/json", ...(key && {Authorization: `Bearer ${key}`})};
    const body = JSON.stringify({model: "x", messages: [{role: "user", content: "Que boit Paul ?"}]});
    try {
        const answer = await fetch(`${url}/v1/chat/completions`, {method: "POST", headers, body});
        return [answer.status, await answer.json()];
    } catch (error) {
        return [0, String(error)];
    }
}"""


def test_a_page_talks_with_the_proxy(
    hashed: None,
    open_hippo: Opener,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    chromium: Any,
) -> None:
    monkeypatch.setenv(UPSTREAM_URL, server.openai_url)
    server.brain = lambda request: Answer("Du thé vert.")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<!doctype html><title>Chat</title>")
    with site(tmp_path / "site") as origin:
        memory = open_hippo(embedder="hashed:64", allowed_origins=(origin,))
        memory.remember("Paul boit du thé vert", type="identity", scope=Scope())
        secret = memory.create_key(scope=Scope(), role="write").secret
        with served(memory, loopback=True) as url:
            page = chromium.new_page()
            page.goto(origin)
            status, answer = page.evaluate(ASK, [url, secret])
            assert (status, answer["choices"][0]["message"]["content"]) == (200, "Du thé vert.")
            assert page.evaluate(ASK, [url, ""])[0] == 401
            page.close()
    assert "Paul boit du thé vert" in json.dumps(
        server.requests[0].body["messages"], ensure_ascii=False
    )
    assert len(server.requests) == 1
