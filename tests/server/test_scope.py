"""Whose memory a request is for: every way into the server decides it alike."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from conftest import Connect, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.client.wire import encode
from hippocampe.config import UPSTREAM_URL
from model_server import Answer, ModelServer

HOME = Scope(space="home")
CHAT = {"model": "x", "messages": [{"role": "user", "content": "Bonjour"}]}
LISTED = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
MCP = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    monkeypatch.setenv(UPSTREAM_URL, server.openai_url)
    server.brain = lambda request: Answer("Oui.")
    return open_hippo(embedder="hashed:64")


def asked(client: httpx.Client, entry: str, space: str) -> httpx.Response:
    """Ask for a space by one of the ways into the server."""
    named = {"space": space}
    match entry:
        case "rest":
            return client.get("/api/memories", params=named)
        case "versioned":
            return client.get("/api/v1/memories", params=named)
        case "verbs":
            scope = {"space": space}
            return client.post(
                "/api/verbs/stats", json={"arguments": [], "named": {"scope": scope}}
            )
        case "proxy":
            headers = {"X-Hippocampe-Space": space}
            return client.post("/v1/chat/completions", json=CHAT, headers=headers)
        case "models":
            return client.get("/v1/models", headers={"X-Hippocampe-Space": space})
        case "mcp":
            return client.post("/mcp", params=named, json=LISTED, headers=MCP)
        case "chat":
            return client.post("/api/chat", params=named, json={"message": "Bonjour"})
        case _:
            body, headers = {"content": "Owen a un voilier"}, {"Idempotency-Key": uuid4().hex}
            return client.post("/api/memories", params=named, json=body, headers=headers)


ENTRIES = ["rest", "versioned", "verbs", "proxy", "models", "mcp", "chat", "idempotent"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_key_opens_its_space_only(
    connect: Connect, memory: Hippocampe, server: ModelServer, entry: str
) -> None:
    client = connect("write", "home")
    for space in ("work", "default", "HOME", "home2"):
        refused = asked(client, entry, space)
        assert refused.status_code == 403, refused.text
        assert "does not open this space" in refused.text
    assert server.requests == []
    assert memory.spaces().keys() <= {"home"}
    # Without a model, the companion opens and says so.
    assert asked(client, entry, "home").status_code in (200, 201, 503)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("space", ["", " ", "a" * 201, "a\x07b"])
def test_a_space_that_cannot_be_is_refused(
    shared_client: httpx.Client, entry: str, space: str
) -> None:
    if entry in ("proxy", "models"):
        # A header holds no other bytes.
        space = (
            httpx.URL("/", params={"": space}).query.decode().partition("=")[2].replace("+", "%20")
        )
    refused = asked(shared_client, entry, space)
    assert refused.status_code == 422, refused.text


def test_pages_of_a_login_show_the_space_of_its_key(connect: Connect, memory: Hippocampe) -> None:
    memory.remember("Owen a un voilier", scope=Scope(space="work"))
    memory.remember("Paul aime le thé", scope=HOME)
    client = connect("read", "home")
    client.cookies.set("hippocampe_space", "work")
    shown = client.get("/memory/search", params={"q": ""})
    assert "Owen" not in client.get("/overview").text + shown.text


def test_a_reader_does_not_have_notes_read_again(
    hashed: None, open_hippo: Opener, connect: Connect, tmp_path: Path, memory: Hippocampe
) -> None:
    """Reading the vault costs time and embeddings: it takes the role write, by every way in."""
    from served import served

    vault = tmp_path / "vault"
    vault.mkdir()
    with_notes = open_hippo(
        tmp_path / "noted", embedder="hashed:64", notes_folder=vault, notes_space="home"
    )
    (vault / "Jardin.md").write_text("Les tomates mûrissent.")

    def refreshed(client: httpx.Client, refresh: bool = True) -> list[int]:
        named = {"scope": encode(HOME), "refresh": refresh}
        verb = client.post("/api/verbs/notes", json={"arguments": [], "named": named})
        return [verb.status_code, client.post("/api/notes/refresh").status_code]

    def client(role: Any, space: str) -> httpx.Client:
        key = with_notes.create_key(scope=Scope(space=space), role=role).secret
        return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30)

    with served(with_notes, loopback=False) as url:
        with client("read", "home") as reader:
            assert refreshed(reader) == [403, 403]
            assert refreshed(reader, False)[0] == 200
        with client("write", "work") as stranger:
            assert refreshed(stranger)[0] == 403
            assert stranger.post("/api/notes/refresh").json() == []
        assert with_notes.notes(scope=HOME) == []
        with client("write", "home") as writer:
            assert refreshed(writer) == [200, 200]
    assert [note.title for note in with_notes.notes(scope=HOME)] == ["Jardin"]
