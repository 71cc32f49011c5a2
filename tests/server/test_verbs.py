"""The endpoints beside those of memories and turns: relations, talk, work, transfer, keys."""

import json
from email.message import Message
from typing import Any

import httpx
import pytest

from answers import ok, problem
from hippocampe import Hippocampe, Scope
from verb_arguments import MISSING

Connect = Any


def remembered(client: httpx.Client, content: str) -> str:
    return ok(client.post("/api/memories", json={"content": content}), 201)["memory"]["id"]


def test_associations(client: httpx.Client) -> None:
    boat, port = remembered(client, "Owen a un voilier"), remembered(client, "Le port est à Sète")
    body = {"target_id": port, "kind": "related_to", "reason": "il y est"}
    made = ok(client.post(f"/api/memories/{boat}/associations", json=body), 201)
    assert (made["source_id"], made["target_id"], made["reason"]) == (boat, port, "il y est")
    near = ok(client.get(f"/api/memories/{boat}/neighbours", params={"depth": 1}))
    assert [each["id"] for each in near["memories"]] == [boat, port]
    assert near["associations"] == [made]
    problem(client.get(f"/api/memories/{MISSING}/neighbours"), 404, "NotFound")
    problem(client.get(f"/api/memories/{boat}/neighbours?depth=9"), 422, "InvalidInput")


def test_reviews(client: httpx.Client, memory: Hippocampe) -> None:
    one = memory.remember("Nina habite à Lyon", scope=Scope()).memory
    other = memory.remember("Nina habite à Paris", scope=Scope(), key="x").memory
    assert isinstance(ok(client.get("/api/reviews")), list)
    body = {"id": one.id, "other_id": other.id, "keep": other.id}
    assert client.post("/api/reviews/settle", json=body).status_code in (204, 404)
    problem(client.post("/api/reviews/settle", json=body | {"keep": MISSING}), 422, "InvalidInput")


def test_talk(client: httpx.Client, memory: Hippocampe) -> None:
    dev = Scope(user="dev", channel="lobby")
    for number in range(3):
        memory.after_turn(f"Question {number} sur le thé", f"Réponse {number}", scope=dev)
    memory.after_turn("Ailleurs", "Oui", scope=Scope(user="nina", channel="kitchen"))
    latest = ok(client.get("/api/messages", params={"limit": 2, "channel": "lobby"}))
    assert [each["content"] for each in latest] == ["Question 2 sur le thé", "Réponse 2"]
    before = {"limit": 2, "channel": "lobby", "until": latest[0]["at"]}
    assert ok(client.get("/api/messages", params=before))[-1]["content"] == "Réponse 1"
    told = {"user_message": "J'ai adopté un furet", "reply": "Bravo !", "external_id": "chat-7"}
    pets = {"space": "pets", "user": "dev", "channel": "lobby"}
    assert client.post("/api/after_turn", params=pets, json=told).is_success
    wanted = {"space": "pets", "external_id": ["chat-7", "chat-8"]}
    named = ok(client.get("/api/messages", params=wanted))
    assert [each["content"] for each in named] == ["J'ai adopté un furet"]
    found = ok(client.get("/api/messages", params={"q": "thé", "of_user": "dev", "limit": 2}))
    assert [each["content"] for each in found] == ["Question 2 sur le thé", "Question 1 sur le thé"]
    assert ok(client.get("/api/users"))["dev"]["messages"] == 3
    assert ok(client.get("/api/spaces"))["default"]["messages"] == 8
    remembered(client, "Paul aime le thé")
    assert isinstance(ok(client.get("/api/subjects")), dict)
    assert ok(client.post("/admin/compact?channel=lobby"))["messages"] == 0
    problem(client.post("/admin/compact"), 422, "InvalidInput")


def test_work(client: httpx.Client, memory: Hippocampe) -> None:
    memory.record_usage(scope=Scope(), model="m", purpose="chat", input_tokens=3, output_tokens=1)
    [used] = ok(client.get("/api/usage"))
    assert (used["model"], used["input_tokens"]) == ("m", 3)
    ran = ok(client.post("/api/jobs/run"))
    assert [each["id"] for each in ok(client.get("/api/jobs", params={"state": "done"}))] == [
        each["id"] for each in reversed(ran)
    ]
    problem(client.post(f"/api/jobs/{MISSING}/retry"), 404, "NotFound")
    assert ok(client.get("/api/notes")) == ok(client.post("/api/notes/refresh")) == []


def test_erasing(client: httpx.Client, memory: Hippocampe) -> None:
    remembered(client, "Owen a un voilier")
    tried = ok(client.post("/api/erase", json={"subject": "owen", "dry_run": True}))
    assert len(tried["ids"]) == 1
    assert ok(client.post("/api/erase", json={"subject": "owen"}))["counts"]["memory"] == 1
    assert memory.verify(absent=["voilier"]).present == {}
    problem(client.post("/api/erase", json={}), 422, "InvalidInput")


def test_a_space_moves_to_another(client: httpx.Client, connect: Connect) -> None:
    remembered(client, "Owen a un voilier")
    exported = client.get("/api/export")
    assert exported.headers["content-type"] == "application/jsonl"
    assert 'filename="hippocampe-default.jsonl"' in exported.headers["content-disposition"]
    lines = [json.loads(line) for line in exported.text.splitlines()]
    assert "hippocampe" in lines[0]
    stranger = connect("admin", "work")
    done = ok(stranger.post("/api/import", content=exported.content))
    assert done["added"] > 0
    assert [each["content"] for each in ok(stranger.get("/api/memories"))["items"]] == [
        "Owen a un voilier"
    ]
    assert (
        ok(stranger.post("/api/import?format=hippocampe", content=exported.content))["added"] == 0
    )


@pytest.mark.parametrize(
    ("space", "name"),
    [
        ("../../x", "hippocampe-x.jsonl"),
        ("a/b", "hippocampe-a-b.jsonl"),
        ("..\\..\\x", "hippocampe-x.jsonl"),
        ("/etc/passwd", "hippocampe-etc-passwd.jsonl"),
        ("..", "hippocampe.jsonl"),
        ("con", "hippocampe-con.jsonl"),
        ('a"; filename="x', "hippocampe-a-filename-x.jsonl"),
        ("À la maison", "hippocampe-À-la-maison.jsonl"),
        ("é" * 200, f"hippocampe-{'é' * 50}.jsonl"),
    ],
)
def test_the_name_of_an_export_is_no_path(
    shared_client: httpx.Client, space: str, name: str
) -> None:
    exported = shared_client.get(
        "/api/export", params={"space": space, "user": "a/b", "channel": "../x"}
    )
    assert exported.status_code == 200
    message = Message()
    message["content-disposition"] = exported.headers["content-disposition"]
    assert message.get_filename() == name


def test_a_key_imports_into_its_space_only(connect: Connect, memory: Hippocampe) -> None:
    talk = [
        {"author": "dev", "content": "Chez moi", "space": "work"},
        {"author": "dev", "content": "Chez les autres", "space": "home"},
        {"author": "dev", "content": "Sans nom"},
    ]
    body = "\n".join(json.dumps(each) for each in talk).encode()
    stranger = connect("admin", "work")
    done = ok(stranger.post("/api/import", params={"format": "jsonl"}, content=body))
    assert (done["added"], len(done["problems"])) == (2, 1)
    assert memory.messages(scope=Scope(space="home")) == []


@pytest.mark.parametrize("body", [b"", b"\x00\x01", b"PK\x03\x04broken"])
def test_files_that_cannot_be_read(client: httpx.Client, body: bytes) -> None:
    refused = client.post("/api/import", content=body)
    assert refused.status_code == 422
    assert "/tmp" not in refused.text
    assert "hippocampe-" not in refused.text


def test_keys_of_a_space(client: httpx.Client, connect: Connect, memory: Hippocampe) -> None:
    made = ok(client.post("/api/keys?space=home", json={"role": "read", "label": "phone"}), 201)
    assert memory.find_key(made["secret"]) is not None
    stranger = connect("admin", "work")
    own = ok(stranger.get("/api/keys"))
    assert [each["space"] for each in own] == ["work"]
    problem(stranger.delete(f"/api/keys/{made['key']['id']}"), 404, "NotFound")
    assert {each["space"] for each in ok(client.get("/api/keys"))} == {"home", "work"}
    assert {each["space"] for each in ok(client.get("/api/keys?space=home"))} == {"home"}
    second = ok(stranger.post("/api/keys", json={"role": "write"}), 201)
    assert second["key"]["space"] == "work"
    assert ok(stranger.delete(f"/api/keys/{second['key']['id']}"))["revoked_at"]
    ok(client.delete(f"/api/keys/{made['key']['id']}"))
    assert memory.find_key(made["secret"]) is None


def test_the_version_is_in_paths_and_headers(client: httpx.Client) -> None:
    id = ok(client.post("/api/v1/memories", json={"content": "Paul aime le thé"}), 201)["memory"][
        "id"
    ]
    answer = client.get(f"/api/v1/memories/{id}")
    assert answer.json() == ok(client.get(f"/api/memories/{id}"))
    for path in ("/api/v1/stats", "/healthz", "/api/v2/memories", "/nowhere"):
        assert client.get(path).headers["hippocampe-version"]
    assert client.get("/api/v2/memories").status_code == 404
    refused = client.get("/healthz", headers={"Host": "evil.example"})
    assert refused.headers["hippocampe-version"]


def test_every_body_and_every_answer_has_an_example(client: httpx.Client) -> None:
    for path, methods in ok(client.get("/openapi.json"))["paths"].items():
        for operation in methods.values():
            bodies = [operation.get("requestBody", {})]
            bodies += [
                answer for status, answer in operation["responses"].items() if status[0] == "2"
            ]
            for body in bodies:
                for kind, content in body.get("content", {}).items():
                    if kind == "application/json" and not path.startswith("/v1/models"):
                        assert content.get("example") or content["schema"] == {}, path
