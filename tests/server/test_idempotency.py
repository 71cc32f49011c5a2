"""A write that is sent again is made once."""

import threading
from datetime import timedelta
from typing import Any

import httpx
import pytest

from answers import ok, problem
from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.engine.replies import Replies

SPACE = Scope()
TURN = {"user_message": "Bonjour", "reply": "Salut"}


def named(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def test_the_same_write_is_made_once(client: httpx.Client, memory: Hippocampe) -> None:
    first = client.post("/api/after_turn", json=TURN, headers=named("a"))
    again = client.post("/api/after_turn", json=TURN, headers=named("a"))
    assert ok(first, 201) == ok(again, 201)
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert len(memory.messages(scope=SPACE)) == 2
    ok(client.post("/api/after_turn", json=TURN, headers=named("b")), 201)
    ok(client.post("/api/after_turn", json=TURN), 201)
    assert len(memory.messages(scope=SPACE)) == 6


def test_a_delete_is_replied_to_as_the_first_time(client: httpx.Client) -> None:
    made = ok(client.post("/api/memories", json={"content": "Owen a un voilier"}), 201)
    path = f"/api/memories/{made['memory']['id']}"
    gone = ok(client.delete(path, headers=named("a")))
    assert ok(client.delete(path, headers=named("a"))) == gone
    problem(client.delete(path, headers=named("b")), 404, "NotFound")
    # Nothing was written: the key is free.
    assert ok(client.post(f"{path}/restore", headers=named("b")))["forgotten_at"] is None


def test_another_request_with_the_same_key_is_refused(
    client: httpx.Client, memory: Hippocampe
) -> None:
    ok(client.post("/api/after_turn", json=TURN, headers=named("a")), 201)
    for path, body in (
        ("/api/after_turn", TURN | {"reply": "Bonsoir"}),
        ("/api/after_turn?user=dev", TURN),
        ("/api/memories", TURN),
    ):
        refused = client.post(path, json=body, headers=named("a"))
        assert "another request" in problem(refused, 422)
    # Keys are of a space.
    ok(client.post("/api/after_turn?space=work", json=TURN, headers=named("a")), 201)


@pytest.mark.parametrize("key", ["", "x" * 201, "é", "a\tb"])
def test_keys_that_cannot_be_used(client: httpx.Client, key: str) -> None:
    headers = {"Idempotency-Key": key.encode()}
    problem(client.post("/api/after_turn", json=TURN, headers=headers), 422)


@pytest.mark.parametrize("path", ["/api/erase", "/api/keys", "/api/chat", "/api/import"])
def test_replies_that_are_not_kept(client: httpx.Client, path: str) -> None:
    assert "leave it out" in problem(client.post(path, json={}, headers=named("a")), 422)


def test_a_write_under_way_is_not_made_again(
    client: httpx.Client, memory: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    find = Replies.find

    def slow(self: Replies, space: str, key: str) -> Any:
        begun.set()
        assert go_on.wait(10)
        return find(self, space, key)

    monkeypatch.setattr(Replies, "find", slow)
    statuses: list[int] = []

    def send() -> None:
        with httpx.Client(base_url=client.base_url, timeout=30) as other:
            answer = other.post("/api/after_turn", json=TURN, headers=named("a"))
            statuses.append(answer.status_code)

    thread = threading.Thread(target=send)
    thread.start()
    assert begun.wait(10)
    refused = client.post("/api/after_turn", json=TURN, headers=named("a"))
    assert "under way" in problem(refused, 409)
    assert refused.headers["retry-after"] == "1"
    go_on.set()
    thread.join()
    assert statuses == [201]
    assert len(memory.messages(scope=SPACE)) == 2


def test_a_crash_after_the_write_is_said(
    client: httpx.Client, memory: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends between the commit and the reply."""
    with monkeypatch.context() as patched:
        patched.setattr(Replies, "keep", lambda *given: None)
        ok(client.post("/api/after_turn", json=TURN, headers=named("a")), 201)
    again = client.post("/api/after_turn", json=TURN, headers=named("a"))
    assert "check what is stored" in problem(again, 409)
    assert len(memory.messages(scope=SPACE)) == 2


def test_a_refused_write_leaves_its_key_free(client: httpx.Client, memory: Hippocampe) -> None:
    problem(client.post("/api/memories", json={}, headers=named("a")), 422, "InvalidInput")
    ok(client.post("/api/memories", json={"content": "Paul"}, headers=named("a")), 201)


def test_each_key_of_the_server_has_its_own_replies(connect: Any) -> None:
    one, other = connect("write", "home"), connect("write", "home")
    ok(one.post("/api/after_turn", json=TURN, headers=named("a")), 201)
    problem(other.post("/api/after_turn", json=TURN, headers=named("a")), 422)


def test_an_erasure_removes_replies(client: httpx.Client, memory: Hippocampe) -> None:
    body = {"content": "Owen a un voilier"}
    ok(client.post("/api/memories", json=body, headers=named("a")), 201)
    assert memory.verify(absent=["voilier"]).present
    memory.erase(scope=SPACE, subject="owen")
    assert memory.verify(absent=["voilier"]).present == {}
    ok(client.post("/api/memories", json=body, headers=named("a")), 201)


def test_replies_are_kept_for_a_day(hashed: None, open_hippo: Opener, clock: FakeClock) -> None:
    memory = open_hippo(embedder="hashed:32")
    with memory.replies.claiming("default", "a", "digest") as claim:
        memory.remember("Owen a un voilier", scope=SPACE)
        memory.remember("Nina skie", scope=SPACE)
    memory.replies.keep(claim, 201, b"{}")
    clock.now += timedelta(hours=23)
    memory.close()
    memory = open_hippo(embedder="hashed:32")
    known = memory.replies.find("default", "a")
    assert known is not None
    assert (known.request, known.status, known.body) == ("digest", 201, b"{}")
    clock.now += timedelta(hours=2)
    memory.close()
    assert open_hippo(embedder="hashed:32").replies.find("default", "a") is None
