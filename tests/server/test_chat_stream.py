"""The companion over HTTP, with a scripted model."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from answers import problem
from conftest import MODEL, Opener
from hippocampe import Hippocampe, Scope
from model_server import ModelServer
from served import served


@pytest.fixture
def memory(hashed: None, open_hippo: Opener, server: ModelServer) -> Hippocampe:
    return open_hippo(embedder="hashed:64", model=MODEL, model_timeout=5.0)


@pytest.fixture
def client(memory: Hippocampe) -> Iterator[httpx.Client]:
    with served(memory, loopback=True) as url, httpx.Client(base_url=url, timeout=30) as client:
        yield client


def events(text: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for block in text.split("\n\n")[:-1]:
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_an_answer_is_streamed(
    client: httpx.Client, memory: Hippocampe, server: ModelServer
) -> None:
    server.call("search_memories", query="thé")
    server.call("respond", expression="happy", message="Du thé vert, bien sûr.")
    answer = client.post(
        "/api/chat", params={"user": "dev", "channel": "lobby"}, json={"message": "Je bois quoi ?"}
    )
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = events(answer.text)
    assert told[0] == ("tool_called", {"name": "search_memories", "arguments": {"query": "thé"}})
    assert told[1][0] == "tool_returned"
    assert (
        "".join(data["text"] for name, data in told if name == "text") == "Du thé vert, bien sûr."
    )
    name, reply = told[-1]
    assert (name, reply["expression"], reply["message"]) == (
        "reply",
        "happy",
        "Du thé vert, bien sûr.",
    )
    assert reply["usage"]["turns"] == 2
    said = memory.messages(scope=Scope(channel="lobby"))
    assert [each.content for each in said[:2]] == ["Je bois quoi ?", "Du thé vert, bien sûr."]


def test_a_model_that_fails_is_an_error(client: httpx.Client, server: ModelServer) -> None:
    server.call("search_memories", query="thé")
    for _ in range(4):
        server.fail(401, "no")
    answer = client.post("/api/chat", json={"message": "Je bois quoi ?"})
    name, error = events(answer.text)[-1]
    assert name == "error"
    assert error["type"] == "urn:hippocampe:ModelUnavailable"
    for _ in range(4):
        server.fail(401, "no")
    problem(client.post("/api/chat", json={"message": "Encore"}), 503, "ModelUnavailable")
    problem(client.post("/api/chat", json={"message": " "}), 422, "InvalidInput")


def test_without_a_model_it_is_said(hashed: None, open_hippo: Opener) -> None:
    with served(open_hippo(embedder="hashed:32"), loopback=True) as url:
        answer = httpx.post(f"{url}/api/chat", json={"message": "Bonjour"}, timeout=30)
    assert "HIPPOCAMPE_MODEL" in problem(answer, 503, "ModelUnavailable")
