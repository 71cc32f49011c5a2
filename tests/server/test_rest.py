"""Every endpoint against a real server, and its errors."""

import json
import time
from collections.abc import Iterator
from threading import Event
from typing import Any

import httpx
import pytest

from answers import ok, problem
from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.cli import reach
from hippocampe.injection import warmup
from served import served
from verb_arguments import MISSING

TEA = {"content": "Paul aime le thé vert", "subjects": ["paul"], "metadata": {"from": "crm"}}


def test_a_memory_from_birth_to_restoration(client: httpx.Client) -> None:
    done = ok(client.post("/api/memories?user=dev&channel=lobby", json=TEA), 201)
    assert done["action"] == "inserted"
    memory = done["memory"]
    assert (memory["user"], memory["channel"], memory["metadata"]) == (
        "dev",
        "lobby",
        {"from": "crm"},
    )
    path = f"/api/memories/{memory['id']}"
    assert ok(client.get(path)) == memory
    assert ok(client.post("/api/memories", json=TEA))["action"] == "reinforced"
    edited = ok(client.patch(path, json={"importance": 0.9, "ttl": "7d"}))
    assert (edited["importance"], edited["content"]) == (0.9, TEA["content"])
    assert edited["expires_at"] is not None
    assert ok(client.patch(path, json={"ttl": None}))["expires_at"] is None
    assert ok(client.delete(path, params={"reason": "faux"}))["forgotten_reason"] == "faux"
    problem(client.delete(path), 404, "NotFound")
    assert ok(client.post(f"{path}/restore"))["forgotten_at"] is None
    history = ok(client.get(f"{path}/history"))
    assert [each["id"] for each in history["versions"]] == [memory["id"]]


def test_recall_explains_and_filters(client: httpx.Client) -> None:
    client.post("/api/memories", json=TEA)
    [found] = ok(client.post("/api/recall", json={"query": "thé vert", "explain": True}))
    assert found["content"] == TEA["content"]
    assert found["why"]
    assert ok(client.post("/api/recall", json={"query": "thé", "subjects": ["owen"]})) == []


def test_pages_follow_one_another(client: httpx.Client) -> None:
    for number in range(5):
        ok(client.post("/api/memories", json={"content": f"Fait numéro {number}"}), 201)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = ok(client.get("/api/memories", params={"limit": "2", "order": "oldest", **cursor}))
        seen += [each["content"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [f"Fait numéro {number}" for number in range(5)]
    problem(client.get("/api/memories", params={"cursor": "x"}), 422, "InvalidInput")


def test_an_unknown_argument_is_told_what_there_is(client: httpx.Client) -> None:
    refused = client.post("/api/recall", json={"q": "le thé", "limit": 2})
    assert "q: unknown. It takes query, limit, " in refused.json()["detail"]
    refused = client.patch("/api/memory/settings", json={"recent": 2})
    assert "recent: unknown." in refused.json()["detail"]
    assert "recent_hours" in refused.json()["detail"]


def test_listing_filters(client: httpx.Client) -> None:
    client.post("/api/memories?user=dev", json=TEA)
    client.post("/api/memories?user=nina", json={"content": "Owen a un voilier", "type": "event"})

    def listed(**filters: Any) -> list[str]:
        return [
            each["content"] for each in ok(client.get("/api/memories", params=filters))["items"]
        ]

    assert listed(of_user="dev") == listed(subject=["paul", "x"]) == [TEA["content"]]
    assert listed(type=["event", "todo"]) == ["Owen a un voilier"]
    assert len(listed()) == 2


def test_a_conversation(client: httpx.Client, memory: Hippocampe) -> None:
    memory.update_settings(scope=Scope(), hook_timeout_ms=10_000)
    ok(client.post("/api/memories", json=TEA | {"type": "identity"}), 201)
    here = {"user": "dev", "channel": "lobby"}
    injection = ok(client.post("/api/before_turn", params=here, json={"message": "thé vert ?"}))
    assert TEA["content"] in injection["text"], injection
    assert injection["trace"]["considered"] == []
    there = here | {"channel": "kitchen"}
    burst = {"message": ["Alors", {"role": "user", "content": "thé vert ?"}], "explain": True}
    explained = ok(client.post("/api/before_turn", params=there, json=burst))
    assert explained["trace"]["considered"][0]["outcome"] == "injected"
    exchange = {"user_message": "Bonjour", "reply": "Salut", "at": "2026-01-17T10:00:00+00:00"}
    turn = ok(client.post("/api/after_turn", params=here, json=exchange), 201)["turn_id"]
    assert turn
    assert [each.content for each in memory.messages(scope=Scope())] == ["Bonjour", "Salut"]
    live = {"content": "On se voit au port", "external_id": "7"}
    assert ok(client.post("/api/live", params=here, json=live))["message"]["live"] is True
    assert ok(client.post("/api/live", params=there, json=live))["message"] is None
    assert ok(client.post("/admin/digest"))["turns"] == 1
    retrievals = ok(client.get("/api/memory/retrievals", params={"limit": 1}))
    assert retrievals[0]["channel"] == "kitchen"
    assert retrievals[0]["items"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [("Bonne soirée \\ud83d", "Bonne soirée �"), ("Good night \\udc4b!", "Good night �!")],
)
def test_half_an_emoji_does_not_lose_an_exchange(
    client: httpx.Client, memory: Hippocampe, said: str, kept: str
) -> None:
    exchange = f'{{"user_message": "{said}", "reply": "{said}", "tool_results": ["{said}"]}}'
    headers = {"Content-Type": "application/json"}
    ok(client.post("/api/after_turn", content=exchange.encode(), headers=headers), 201)
    assert [each.content for each in memory.messages(scope=Scope())] == [kept] * 3


def test_forgetting(client: httpx.Client) -> None:
    ok(client.post("/api/memories", json=TEA), 201)
    tried = ok(client.post("/api/forget", json={"topic": "thé vert", "dry_run": True}))
    assert (tried["dry_run"], len(tried["ids"])) == (True, 1)
    assert ok(client.post("/api/forget", json={"topic": "thé vert"}))["ids"] == tried["ids"]
    assert ok(client.get("/api/memories"))["items"] == []


def test_the_page_of_memory(client: httpx.Client) -> None:
    fact = ok(client.post("/api/memory/facts", json={"key": "goût/boisson", "value": "thé"}), 201)
    assert (fact["key"], fact["value"]) == ("goût/boisson", "thé")
    changed = client.post("/api/memory/facts", json={"key": "goût/boisson", "value": "café noir"})
    assert ok(changed, 201)["value"] == "café noir"
    assert [each["value"] for each in ok(client.get("/api/memory/facts"))] == ["café noir"]
    ok(client.post("/api/memories", json={"content": "Le café noir " + "est fort " * 50}), 201)
    for mode in ("semantic", "text", "hybrid"):
        found = ok(client.get("/api/memory/search", params={"q": "café noir", "mode": mode}))
        assert {each["kind"] for each in found} == {"memory"}
        assert found[0].keys() == {"id", "kind", "score", "channel", "at", "excerpt"}
        assert max(len(each["excerpt"]) for each in found) <= 200
    problem(
        client.get("/api/memory/search", params={"q": "a", "mode": "magic"}), 422, "InvalidInput"
    )
    assert ok(client.get("/api/memory/stats"))["facts"] == 1
    assert ok(client.delete("/api/memory/facts/goût/boisson"))["key"] == "goût/boisson"
    problem(client.delete("/api/memory/facts/goût/boisson"), 404, "NotFound")
    settings = ok(client.get("/api/memory/settings"))
    wanted = {"auto_retrieve_max_results": 7, "category_ttl": {"self/preference": "90d"}}
    assert ok(client.patch("/api/memory/settings", json=wanted)) == settings | wanted
    reset = ok(client.patch("/api/memory/settings", json=dict.fromkeys(wanted)))
    assert reset == settings
    refused = client.patch("/api/memory/settings", json={"recent_hours": -1})
    assert "0 to 168" in problem(refused, 422, "InvalidInput")


WORKING = {"ready": True, "store": "ok", "embedder": "ok", "index": "ok", "disk": "ok"}


def test_health(client: httpx.Client, memory: Hippocampe) -> None:
    assert ok(client.get("/healthz")) == {"status": "ok"}
    assert ok(client.get("/readyz")) == WORKING


def test_it_is_ready_once_the_first_turn_has_nothing_to_load(
    hashed: None, open_hippo: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, load = Event(), warmup.warm_spaces

    def loading(*given: Any) -> None:
        loaded.wait()
        load(*given)

    monkeypatch.setattr(warmup, "warm_spaces", loading)
    memory = open_hippo(embedder="hashed:64", background=True)
    with served(memory, loopback=True) as url, httpx.Client(base_url=url, timeout=30) as client:
        for _ in range(2):
            state = ok(client.get("/readyz"), 503)
            assert state == WORKING | {"ready": False, "embedder": "loading"}
            assert (
                reach._ready(url).seen == f"{url} answers, and loads its models: wait some seconds"
            )
        assert ok(client.get("/healthz")) == {"status": "ok"}
        loaded.set()
        memory._opened.wait()
        assert ok(client.get("/readyz")) == WORKING


def test_a_closed_memory_is_not_ready(client: httpx.Client, memory: Hippocampe) -> None:
    memory.close()
    assert ok(client.get("/healthz")) == {"status": "ok"}
    assert ok(client.get("/readyz"), 503)["store"] == "down"
    refused = client.get(f"/api/memories/{MISSING}")
    problem(refused, 503, "StoreError")
    assert refused.headers["retry-after"] == "1"


SECRET_WORD = "rhubarbe"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/memories", {"content": SECRET_WORD, "rhubarb": SECRET_WORD}),
        ("POST", "/api/memories", {"content": [SECRET_WORD]}),
        ("POST", "/api/memories", {}),
        ("POST", "/api/memories", [SECRET_WORD]),
        ("PATCH", "/api/memory/settings", {"colour": SECRET_WORD}),
        ("POST", "/api/recall", {"query": SECRET_WORD, "limit": 0}),
        ("POST", "/api/recall", {"query": "\ud800"}),
        ("POST", "/api/memories?space=", {"content": SECRET_WORD}),
    ],
)
def test_what_cannot_be_used_is_refused(
    shared_client: httpx.Client, shared_memory: Hippocampe, method: str, path: str, body: Any
) -> None:
    headers = {"content-type": "application/json"}
    refused = shared_client.request(method, path, content=json.dumps(body), headers=headers)
    assert SECRET_WORD not in problem(refused, 422, "InvalidInput")
    assert shared_memory.recent(scope=Scope()) == []


def test_errors_of_http_are_problems(client: httpx.Client) -> None:
    headers = {"content-type": "application/json"}
    assert "/openapi.json" in problem(client.get("/nowhere"), 404)
    problem(client.get("/redoc"), 404)
    problem(client.put("/api/recall"), 405)
    problem(client.get("/api/memories", params={"subjects": "paul"}), 422)
    problem(client.post("/api/memories", content=b"[" * 100_000, headers=headers), 422)
    # A page of another site can send text without asking first, but not JSON.
    sent = client.post("/api/memories", content=b'{"content": "a"}')
    assert "Content-Type: application/json" in problem(sent, 422, "InvalidInput")
    broken = client.post("/api/memories", content=b'{"content": tea}', headers=headers)
    assert "no JSON at character 12" in problem(broken, 422, "InvalidInput")
    listed = client.post("/api/memories", content=b"[]", headers=headers)
    assert "JSON object" in problem(listed, 422, "InvalidInput")
    for content in ("Zoé rame à l’aube", "Zoë rows a bateau à voile"):
        latin = json.dumps({"content": content}, ensure_ascii=False).encode("cp1252")
        refused = client.post("/api/memories", content=latin, headers=headers)
        assert "UTF-8" in problem(refused, 400)
    endless = client.post("/api/memories", json={"content": "Nina rame", "ttl": "soon"})
    assert problem(endless, 422, "InvalidInput").endswith("or none for no expiry.")


def test_an_upload_that_breaks_off_is_no_failure_of_the_server(client: httpx.Client) -> None:
    def sent() -> Iterator[bytes]:
        yield b'{"author": "nina", "content": "La rame est cas'
        raise OSError

    with pytest.raises(OSError):
        client.post("/api/import", content=sent())
    counted = 'route="/api/import",status="400"'
    ends = time.monotonic() + 10
    while counted not in client.get("/metrics").text and time.monotonic() < ends:
        time.sleep(0.02)
    assert counted in client.get("/metrics").text


def test_large_bodies_are_refused(client: httpx.Client) -> None:
    large = b"x" * (16 * 2**20 + 1)
    headers = {"content-type": "application/json"}
    assert "split" in problem(client.post("/api/recall", content=large, headers=headers), 413)
    pieces = (large[start : start + 2**20] for start in range(0, len(large), 2**20))
    problem(client.post("/api/recall", content=pieces, headers=headers), 413)


def test_the_description_names_every_endpoint(client: httpx.Client) -> None:
    described = ok(client.get("/openapi.json"))
    operations = [operation for path in described["paths"].values() for operation in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names))
    for path, methods in described["paths"].items():
        # The proxy answers with errors as its clients know them.
        media_type = "application/json" if path.startswith("/v1/") else "application/problem+json"
        for operation in methods.values():
            assert len(operation["description"]) > 10
            assert media_type in operation["responses"]["default"]["content"]
    assert "HTTPValidationError" not in described["components"]["schemas"]
