"""What the proxy passes on untouched, with the official clients before an upstream that records."""

import base64
import gzip
import io
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx
import openai
import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.config import UPSTREAM_URL
from hippocampe.server.proxy import endpoints as proxy
from hippocampe.server.proxy import remembered_chat
from model_server import ModelServer
from proxying import ASK, DEV, eventually, knowing, stored
from recording import Got, Say, recording
from served import served

SOUND = bytes(range(256)) * 999
DATA = (("content-type", "application/octet-stream"), ("x-request-id", "req_7"))
FILE = {
    "id": "file-1",
    "object": "file",
    "bytes": 3,
    "created_at": 0,
    "filename": "a.jsonl",
    "purpose": "batch",
    "status": "processed",
}


def provider(got: Got) -> Say:
    """A provider that answers in the form of each endpoint."""
    path = got.path.partition("?")[0].removeprefix("/base")
    found: Any = {
        "/embeddings": {
            "object": "list",
            "model": "e",
            "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        },
        "/completions": {"id": "c", "object": "text_completion", "choices": [], "model": "m"},
        "/moderations": {"id": "m", "model": "m", "results": []},
        "/images/generations": {"created": 0, "data": [{"b64_json": "AA=="}]},
        "/audio/transcriptions": {"text": "bonjour"},
        "/files": FILE if got.method == "POST" else {"data": [FILE], "has_more": False},
        "/files/file-1": {"id": "file-1", "object": "file", "deleted": True},
        "/models/ft:gpt": {"id": "ft:gpt", "object": "model", "created": 0, "owned_by": "me"},
        "/messages/count_tokens": {"input_tokens": 12},
        "/responses/resp_1": {"id": "resp_1", "object": "response", "output": []},
        "/responses/resp_1/input_items": {"object": "list", "data": [], "has_more": False},
        "/responses/resp_1/cancel": {"id": "resp_1", "object": "response", "output": []},
    }.get(path)
    if path in ("/audio/speech", "/files/file-1/content"):
        return Say(
            [SOUND[start : start + 5_000] for start in range(0, len(SOUND), 5_000)], 200, DATA
        )
    if found is None:
        return Say(b'{"error": {"message": "no such path", "type": "not_found"}}', 404)
    return Say(json.dumps(found).encode())


@contextmanager
def passing(
    memory_of: Opener, answer: Any = provider, *, key: str | None = "upstream-key"
) -> Iterator[tuple[str, list[Got], Hippocampe]]:
    """The proxy before a recording upstream: its URL, what the upstream got, the memory."""
    seen: list[Got] = []
    with recording(seen, answer) as upstream:
        memory = memory_of(embedder="hashed:32", upstream_url=upstream, upstream_key=key)
        with served(memory, loopback=True) as url:
            yield url, seen, memory


def test_the_other_endpoints_of_openai(hashed: None, open_hippo: Opener) -> None:
    with (
        passing(open_hippo) as (url, seen, _),
        openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0, timeout=30) as client,
    ):
        assert client.embeddings.create(model="e", input="é").data[0].embedding == [0.5, 0.25]
        assert client.completions.create(model="m", prompt="Il").id == "c"
        assert client.moderations.create(input="é").results == []
        images = client.images.generate(prompt="un chat").data or []
        assert images[0].b64_json == "AA=="
        voice: Any = {"model": "tts", "voice": "alloy"}
        with client.audio.speech.with_streaming_response.create(input="é", **voice) as speech:
            assert b"".join(speech.iter_bytes()) == SOUND
        heard = client.audio.transcriptions.create(model="w", file=("a.wav", io.BytesIO(SOUND)))
        assert heard.text == "bonjour"
        assert SOUND in seen[-1].body
        assert "multipart/form-data" in seen[-1].headers["content-type"]
        assert client.files.create(file=("a.jsonl", b"{}\n"), purpose="batch").id == "file-1"
        assert [each.id for each in client.files.list(limit=3)] == ["file-1"]
        content = client.files.content("file-1")
        assert content.content == SOUND
        assert content.response.headers["x-request-id"] == "req_7"
        assert client.files.delete("file-1").deleted
        assert client.models.retrieve("ft:gpt").id == "ft:gpt"
        assert client.responses.retrieve("resp_1").id == "resp_1"
        assert list(client.responses.input_items.list("resp_1", order="asc")) == []
        client.responses.cancel("resp_1")
        with pytest.raises(openai.NotFoundError, match="no such path"):
            client.batches.retrieve("batch_1")
    asked = [(each.method, each.path.removeprefix("/base")) for each in seen]
    assert ("GET", "/files?limit=3") in asked
    assert ("DELETE", "/files/file-1") in asked
    assert ("GET", "/responses/resp_1/input_items?order=asc") in asked
    assert {each.headers["authorization"] for each in seen} == {"Bearer upstream-key"}
    assert {each.headers["user-agent"].split("/")[0] for each in seen} == {"OpenAI"}


def test_the_other_endpoints_of_anthropic(hashed: None, open_hippo: Opener) -> None:
    with (
        passing(open_hippo) as (url, seen, _),
        anthropic.Anthropic(base_url=url, api_key="any", max_retries=0, timeout=30) as client,
    ):
        counted = client.beta.messages.count_tokens(model="c", messages=ASK, betas=["files-1"])
        assert counted.input_tokens == 12
        with pytest.raises(anthropic.NotFoundError):
            client.messages.batches.retrieve("batch_1")
    first, second = seen
    assert first.path == "/base/messages/count_tokens"
    assert json.loads(first.body)["messages"] == ASK
    assert first.headers["anthropic-beta"].startswith("files-1")
    assert first.headers["anthropic-version"]
    assert second.path == "/base/messages/batches/batch_1"


def test_a_client_of_azure(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Azure's client has a query, a header and a path of its own."""
    seen: list[Got] = []
    whole = {"role": "assistant", "content": "Du thé."}
    chat = {"id": "c", "object": "chat.completion", "created": 0, "model": "gpt"}
    chat["choices"] = [{"index": 0, "message": whole, "finish_reason": "stop"}]
    with recording(seen, lambda got: Say(json.dumps(chat).encode())) as upstream:
        memory = knowing(open_hippo, server, monkeypatch)
        memory.close()
        monkeypatch.setenv(UPSTREAM_URL, upstream)
        memory = open_hippo(embedder="hashed:64")
        with (
            served(memory, loopback=True) as url,
            openai.AzureOpenAI(
                base_url=f"{url}/v1", api_key="any", api_version="2024-10-21", max_retries=0
            ) as client,
        ):
            client.chat.completions.create(model="gpt", messages=ASK, user="dev")
        [got] = seen
        assert got.path == "/base/deployments/gpt/chat/completions?api-version=2024-10-21"
        assert "thé vert" in json.loads(got.body)["messages"][0]["content"]
        assert got.headers["api-key"] == "upstream-key"
        assert "authorization" not in got.headers
        assert stored(memory, 2)[1] == "Du thé."


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "POST"])
def test_a_request_and_its_answer_come_as_they_are(
    hashed: None, open_hippo: Opener, method: str
) -> None:
    body = gzip.compress(b"une page")
    said = (
        *(("content-type", "text/html"), ("content-encoding", "gzip"), ("x-several", "1")),
        *(("x-several", "2"), ("etag", '"7"'), ("set-cookie", "a=b"), ("connection", "x-hop")),
        *(("x-hop", "1"), ("access-control-allow-origin", "*"), ("location", "http://elsewhere")),
        ("strict-transport-security", "max-age=1"),
    )
    with (
        passing(open_hippo, lambda got: Say(body, 203, said)) as (url, seen, memory),
        httpx.Client(timeout=30) as client,
    ):
        # A request through a proxy needs a key.
        secret = memory.create_key(scope=Scope(), role="write").secret
        asked = client.build_request(
            method,
            f"{url}/v1/odd//a%2Fb%20%C3%A9;x=1/?q=%20&q=a+b&api-version=2&empty=",
            headers=[
                *(("x-several", "1"), ("x-several", "2"), ("accept-encoding", "gzip")),
                *(("cookie", "a=b"), ("connection", "x-gone"), ("x-gone", "1")),
                *(("x-forwarded-for", "10.0.0.1"), ("x-hippocampe-user", "dev")),
                ("authorization", f"Bearer {secret}"),
                ("content-type", "x/y"),
            ],
            content=None if method in ("GET", "HEAD") else b"\x00\xff" * 9,
        )
        answer = client.send(asked, stream=True)
        raw = b"".join(answer.iter_raw())
    [got] = seen
    assert got.method == method
    assert got.path == "/base/odd//a%2Fb%20%C3%A9;x=1/?q=%20&q=a+b&api-version=2&empty="
    assert got.body == (b"" if method in ("GET", "HEAD") else b"\x00\xff" * 9)
    assert got.headers.get_list("x-several") == ["1", "2"]
    assert (got.headers["accept-encoding"], got.headers["content-type"]) == ("gzip", "x/y")
    ours = {"cookie", "x-gone", "x-forwarded-for", "x-hippocampe-user"}
    assert not ours & {*got.headers}
    assert answer.status_code == 203
    assert raw == (b"" if method == "HEAD" else body)
    assert answer.headers.get_list("x-several") == ["1", "2"]
    assert (answer.headers["etag"], answer.headers["content-encoding"]) == ('"7"', "gzip")
    theirs = {"set-cookie", "x-hop", "access-control-allow-origin", "location"}
    assert not {*theirs, "strict-transport-security"} & {*answer.headers}
    # A page of the provider runs nothing as a page of this server.
    assert answer.headers["content-security-policy"].startswith("sandbox")


@pytest.mark.parametrize("path", ["../admin", "files/../../admin", "%2e%2e/admin", "files/%2E%2e"])
def test_a_path_stays_below_the_upstream(hashed: None, open_hippo: Opener, path: str) -> None:
    with passing(open_hippo) as (url, seen, _):
        host, port = httpx.URL(url).host, httpx.URL(url).port
        with socket.create_connection((host, port or 80)) as raw:
            head = f"GET /v1/{path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
            raw.sendall(head.encode())
            answer = raw.makefile("rb").readline()
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert seen == []


def test_a_body_is_passed_on_while_it_comes(hashed: None, open_hippo: Opener) -> None:
    piece = bytes(1024) * 64

    def pieces() -> Iterator[bytes]:
        for _ in range(320):
            yield piece

    with passing(open_hippo) as (url, seen, _):
        httpx.post(f"{url}/v1/files", content=pieces(), timeout=60)
        known = {"content-length": str(320 * len(piece))}
        httpx.post(f"{url}/v1/files", content=pieces(), headers=known, timeout=60)
    # 20 MiB: more than any other endpoint takes.
    assert [each.body for each in seen] == [piece * 320] * 2
    assert seen[0].headers["transfer-encoding"] == "chunked"
    assert seen[1].headers["content-length"] == known["content-length"]
    assert "transfer-encoding" not in seen[1].headers


def test_a_chat_that_is_too_large_to_read_is_passed_on(
    hashed: None, open_hippo: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "MAX_READ_BYTES", 1_000)
    chat = {"model": "m", "messages": [{"role": "user", "content": "é" * 9_000}]}
    with passing(open_hippo, lambda got: Say(b'{"ok": 1}')) as (url, seen, memory):
        answer = httpx.post(f"{url}/v1/chat/completions", json=chat, timeout=30)
        assert answer.json() == {"ok": 1}
        assert json.loads(seen[0].body) == chat
        assert memory.messages(scope=DEV) == []


@pytest.mark.parametrize(
    ("path", "events"),
    [
        (
            "chat/completions",
            [
                {"choices": [{"index": 0, "delta": {"content": "Du thé"}}]},
                {"error": {"message": "overloaded", "code": 502}},
            ],
        ),
        (
            "responses",
            [
                {"type": "response.output_text.delta", "delta": "Green tea"},
                {"type": "response.failed", "response": {"id": "resp_1", "status": "failed"}},
            ],
        ),
        (
            "messages",
            [
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Du thé"}},
                {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
            ],
        ),
    ],
)
def test_an_answer_that_ends_with_an_error_is_not_stored(
    hashed: None, open_hippo: Opener, path: str, events: list[Any]
) -> None:
    sent = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in events)
    said = Say([sent], 200, (("content-type", "text/event-stream"),))
    with passing(open_hippo, lambda got: said) as (url, _, memory):
        body = {"model": "m", "messages": ASK, "input": ASK, "user": "dev", "stream": True}
        assert httpx.post(f"{url}/v1/{path}", json=body, timeout=30).content == sent
        assert len(eventually(lambda: memory.usage(scope=DEV), 1)) == 1
        assert memory.messages(scope=DEV) == []


@pytest.mark.parametrize("pieces", [True, False])
def test_an_answer_that_breaks_off_is_seen(hashed: None, open_hippo: Opener, pieces: bool) -> None:
    said = Say([SOUND] if pieces else SOUND, 200, DATA, cut=True)
    with passing(open_hippo, lambda got: said) as (url, _, _):
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"{url}/v1/files/file-1/content", timeout=30)
        # Other requests are served.
        assert httpx.get(f"{url}/healthz", timeout=30).status_code == 200


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ({"authorization": "Bearer any"}, "authorization"),
        ({"x-api-key": "any"}, "x-api-key"),
        ({"api-key": "any"}, "api-key"),
        ({"x-api-key": "any", "authorization": "Bearer any"}, "authorization"),
        ({"anthropic-version": "1", "x-api-key": "any", "api-key": "any"}, "x-api-key"),
        ({"anthropic-version": "1"}, "x-api-key"),
        ({}, "authorization"),
    ],
)
def test_the_key_of_the_upstream_goes_where_the_client_sent_its_own(
    hashed: None, open_hippo: Opener, sent: dict[str, str], name: str
) -> None:
    with passing(open_hippo) as (url, seen, _):
        httpx.get(f"{url}/v1/files", headers=sent, timeout=30)
    key = "Bearer upstream-key" if name == "authorization" else "upstream-key"
    assert keys_of(seen) == [{name: key}]


def test_a_client_sends_two_keys(hashed: None, open_hippo: Opener) -> None:
    """One of this server and one of the provider, in two headers."""
    with passing(open_hippo, key=None) as (url, seen, memory):
        mine = memory.create_key(scope=DEV, role="write").secret
        for headers in (
            {"authorization": "Bearer sk-1", "x-api-key": mine},
            {"authorization": f"Bearer {mine}", "x-api-key": "sk-1"},
            {"authorization": f"Bearer {mine}", "api-key": "sk-1"},
            {"authorization": f"Bearer {mine}"},
            {"authorization": "Bearer sk-1"},
        ):
            assert httpx.get(f"{url}/v1/files", headers=headers, timeout=30).status_code == 200
    assert keys_of(seen) == [
        {"authorization": "Bearer sk-1"},
        {"x-api-key": "sk-1"},
        {"api-key": "sk-1"},
        {},
        {"authorization": "Bearer sk-1"},
    ]


@pytest.mark.parametrize(
    "form", ["{key}", "bearer  {key}", "Token {key}", "Basic {basic}", "basic  {bare}", "k={key}"]
)
@pytest.mark.parametrize("name", ["authorization", "x-api-key", "api-key"])
def test_a_key_in_another_form_stays_here(
    hashed: None, open_hippo: Opener, name: str, form: str
) -> None:
    with passing(open_hippo, key=None) as (url, seen, memory):
        mine = memory.create_key(scope=DEV, role="write").secret
        basic = base64.b64encode(f"dev:{mine}".encode()).decode()
        value = form.format(key=mine, basic=basic, bare=basic.rstrip("="))
        theirs = "x-api-key" if name == "authorization" else "authorization"
        httpx.get(f"{url}/v1/files", headers={name: value, theirs: "Basic c2stMQ"}, timeout=30)
    assert keys_of(seen) == [{theirs: "Basic c2stMQ"}]


def keys_of(seen: list[Got]) -> list[dict[str, str]]:
    """The keys that an upstream got, by header."""
    names = ("authorization", "x-api-key", "api-key")
    return [{name: each.headers[name] for name in names if name in each.headers} for each in seen]


def test_the_account_of_the_provider_is_not_listed(hashed: None, open_hippo: Opener) -> None:
    """Files and batches of all spaces are in one account: a key of a space names what it made."""
    with passing(open_hippo) as (url, seen, memory):
        key = memory.create_key(scope=DEV, role="admin").secret
        headers = {"authorization": f"Bearer {key}"}
        for path in ("files", "FILES/", "chat/completions", "fine_tuning/jobs", "messages/batches"):
            for method in ("GET", "HEAD"):
                answer = httpx.request(
                    method, f"{url}/v1/{path}?limit=1", headers=headers, timeout=30
                )
                assert answer.status_code == 403
        assert seen == []
        for path in ("files/file-1/content", "models", "models/gpt"):
            assert httpx.get(f"{url}/v1/{path}", headers=headers, timeout=30).status_code != 403
        assert (
            httpx.post(f"{url}/v1/files", headers=headers, content=b"x", timeout=30).status_code
            == 200
        )
        # A program of this machine has no space of its own.
        assert httpx.get(f"{url}/v1/files", timeout=30).status_code == 200


def test_roles_of_what_is_passed_on(hashed: None, open_hippo: Opener) -> None:
    with passing(open_hippo) as (url, _, memory):
        reader = memory.create_key(scope=DEV, role="read").secret
        headers = {"authorization": f"Bearer {reader}"}
        assert httpx.get(f"{url}/v1/models/ft:gpt", headers=headers, timeout=30).status_code == 200
        for method, path in (
            ("POST", "embeddings"),
            ("GET", "files/file-1"),
            ("DELETE", "models/a"),
        ):
            answer = httpx.request(method, f"{url}/v1/{path}", headers=headers, timeout=30)
            assert answer.status_code == 403
            assert "role write" in answer.json()["error"]["message"]


def test_a_key_that_the_upstream_refuses_is_no_guess(hashed: None, open_hippo: Opener) -> None:
    refused = Say(b'{"error": {"message": "bad key", "type": "x"}}', 401)
    with passing(open_hippo, lambda got: refused) as (url, _, memory):
        key = memory.create_key(scope=DEV, role="write").secret
        headers = {"authorization": f"Bearer {key}"}
        for _ in range(15):
            answer = httpx.post(f"{url}/v1/embeddings", headers=headers, timeout=30)
            assert answer.status_code == 401
            assert answer.json()["error"]["message"] == "bad key"


@pytest.mark.parametrize("stuck", ["check_budget", "after_turn"])
def test_a_chat_does_not_wait_for_a_slow_memory(
    hashed: None,
    open_hippo: Opener,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    stuck: str,
) -> None:
    monkeypatch.setattr(remembered_chat, "MEMORY_SECONDS", 0.05)
    monkeypatch.setattr(proxy, "MEMORY_SECONDS", 0.05)
    released = threading.Event()
    memory = knowing(open_hippo, server, monkeypatch)
    memory.update_settings(scope=DEV, hook_timeout_ms=10_000)
    verb = getattr(Hippocampe, stuck)

    def slow(self: Hippocampe, *args: Any, **given: Any) -> Any:
        released.wait(30)
        return verb(self, *args, **given)

    monkeypatch.setattr(memory, stuck, slow.__get__(memory))
    server.say("Du thé.")
    with (
        served(memory, loopback=True) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0, timeout=20) as client,
    ):
        answer = client.chat.completions.create(model="m", messages=ASK, user="dev")
        assert answer.choices[0].message.content == "Du thé."
        assert not released.is_set()
        if stuck == "check_budget":
            assert server.requests[-1].body["messages"] == ASK
        released.set()
        assert stored(memory, 2)[1] == "Du thé."
