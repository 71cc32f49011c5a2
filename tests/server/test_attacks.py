"""What somebody who wants harm sends: it is refused, or stays data, and the server goes on."""

import io
import json
import logging
import re
import socket
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import problem
from attacks import ATTACKS
from conftest import Connect, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.language.sanitize import quote
from hippocampe.server.http import logs, slow_clients
from hippocampe.server.http.json_limit import JsonStructure
from model_server import ModelServer

HOME = Scope(user="dev", channel="lobby")
JSON = {"Content-Type": "application/json"}


def raw(client: httpx.Client, *pieces: bytes) -> bytes:
    """Send bytes as they are; everything that comes back until the server closes."""
    address = urlsplit(str(client.base_url))
    with socket.create_connection((address.hostname or "", address.port or 0), 30) as sender:
        answer = b""
        # It may close while there is more to read.
        with suppress(ConnectionResetError, BrokenPipeError):
            for piece in pieces:
                sender.sendall(piece)
            while piece := sender.recv(65_536):
                answer += piece
        return answer


def head(*lines: str) -> bytes:
    """The head of a request that is the last of its connection."""
    return "\r\n".join([*lines, "Host: 127.0.0.1", "Connection: close", "", ""]).encode("latin-1")


def is_alive(client: httpx.Client) -> bool:
    return client.get("/healthz").status_code == 200


class TestSize:
    def test_a_body_that_is_too_large(self, client: httpx.Client) -> None:
        announced = raw(client, head("POST /api/memories HTTP/1.1", f"Content-Length: {2**40}"))
        assert announced.startswith(b"HTTP/1.1 413")
        chunk = b"100000\r\n" + b"a" * 2**20 + b"\r\n"
        with httpx.Client(base_url=client.base_url, timeout=30) as own:
            sent = own.post(
                "/api/memories",
                content=(chunk for _ in range(17)),
                headers={"Content-Type": "application/json"},
            )
        assert sent.status_code == 413
        assert is_alive(client)

    @pytest.mark.parametrize(
        "body",
        [
            b"[" * 200_000,
            b'{"content":' * 50_000,
            b'{"content": 1e999999}',
            b'{"content": "a", "importance": NaN}',
            b'{"content": "\\ud800"}',
            b"\xff\xfe\x00",
            b'{"content": "a", "metadata": {"' + b"k" * 100_000 + b'": 1}}',
            b'{"content": ' + b"9" * 10_000 + b"}",
        ],
    )
    def test_bodies_that_break_readers(self, shared_client: httpx.Client, body: bytes) -> None:
        for path in ("/api/memories", "/api/before_turn", "/api/recall"):
            answer = shared_client.post(
                path, content=body, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code in (400, 422), (path, answer.text[:200])
        assert is_alive(shared_client)

    def test_a_head_that_is_too_large(self, client: httpx.Client) -> None:
        for line in (f"GET /{'a' * 200_000} HTTP/1.1", f"GET / HTTP/1.1\r\nX: {'a' * 200_000}"):
            answer = raw(client, head(line))
            assert not answer or answer.startswith(b"HTTP/1.1 4")
        parameters = "&".join(f"p{number}=1" for number in range(5_000))
        refused = client.get(f"/api/memories?{parameters}")
        assert "32,768 bytes: shorten them" in problem(refused, 400)
        assert refused.headers["connection"] == "close"
        assert is_alive(client)


class TestStructure:
    """Bodies within the size limit whose structure would cost seconds and hundreds of megabytes."""

    @pytest.mark.parametrize(
        ("path", "body", "value"),
        [
            ("/api/memories", '{"content": "a", "subjects": [MANY]}', '"s"'),
            ("/api/memories", '{"content": "a", "subjects": [MANY]}', "[]"),
            ("/api/recall", '{"query": "a", "types": [MANY]}', "1"),
            ("/api/before_turn", '{"message": [MANY]}', "{}"),
            ("/mcp", '{"jsonrpc": "2.0", "id": 1, "method": "x", "params": [MANY]}', "1"),
            ("/api/verbs/remember_many", '{"arguments": [[MANY]], "named": {}}', "{}"),
        ],
        ids=["subjects", "arrays", "types", "burst", "mcp", "verbs"],
    )
    def test_too_many_values_are_refused(
        self, shared_client: httpx.Client, path: str, body: str, value: str
    ) -> None:
        many = body.replace("MANY", ",".join([value] * 600_000))
        answer = shared_client.post(path, content=many, headers=JSON)
        assert answer.status_code == 413, answer.text[:300]
        assert len(answer.content) < 1_000

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("/api/memories", {"content": "a", **{f"k{number}": 1 for number in range(20_000)}}),
            ("/api/memories", {"content": "a", "metadata": {f"k{n}": [] for n in range(20_000)}}),
            ("/api/memories", {"content": "a", "k" * 100_000: 1}),
            ("/api/memories", {"content": "a", "subjects": [1] * 20_000}),
            ("/api/memories", {"content": "a", "evidence": [1] * 9_000}),
            ("/api/before_turn", {"message": [1] * 20_000}),
            ("/api/verbs/recall", {"arguments": [["a"] * 20_000], "named": {"k" * 20_000: 1}}),
            ("/api/verbs/remember_many", {"arguments": [[{"k" * 9_000: 1}]], "named": {}}),
        ],
        ids=["fields", "pairs", "name", "items", "ids", "burst", "verbs", "item"],
    )
    def test_an_error_stays_short(
        self, shared_client: httpx.Client, path: str, body: dict[str, Any]
    ) -> None:
        answer = shared_client.post(path, json=body)
        assert answer.status_code == 422, answer.text[:300]
        assert len(answer.content) < 5_000

    def test_errors_of_settings_and_tools_stay_short(self, client: httpx.Client) -> None:
        rooms = {"live_rooms": [1] * 20_000, "category_ttl": {f"k{n}": 1 for n in range(20_000)}}
        changed = client.patch("/api/memory/settings", json=rooms)
        assert changed.status_code == 422
        assert len(changed.content) < 5_000
        tool = {"name": "store_memory", "arguments": {"content": [1] * 20_000, "k" * 20_000: 1}}
        for arguments in (tool["arguments"], {f"k{n}": 1 for n in range(20_000)}):
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
            call |= {"params": {**tool, "arguments": arguments}}
            answer = client.post(
                "/mcp", json=call, headers={"Accept": "application/json, text/event-stream"}
            )
            assert answer.json()["result"]["isError"], answer.text[:300]
            assert len(answer.content) < 5_000

    @pytest.mark.parametrize("path", ["/api/memories", "/mcp", "/api/verbs/recall"])
    def test_a_body_that_is_nested_deeply(self, shared_client: httpx.Client, path: str) -> None:
        for opened in (b"[", b'{"a":', b'[{"\\"":'):
            answer = shared_client.post(path, content=opened * 200, headers=JSON)
            assert answer.status_code == 422, answer.text[:300]

    def test_other_encodings_of_json_hide_nothing(self, client: httpx.Client) -> None:
        body = json.dumps({"content": "a", "subjects": []})
        for encoding in ("utf-16", "utf-16-le", "utf-32"):
            answer = client.post("/api/memories", content=body.encode(encoding), headers=JSON)
            assert answer.status_code == 422, answer.text[:300]

    def test_forms_with_many_fields(self, client: httpx.Client) -> None:
        fields = "&".join(f"k{number}=1" for number in range(200_000))
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = client.post("/login", content=fields, headers=form)
        assert 400 <= answer.status_code < 500
        assert len(answer.content) < 10_000
        assert is_alive(client)


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.integers(1, 7),
    st.booleans(),
)
def test_the_structure_of_json_is_counted_in_any_pieces(value: Any, size: int, ascii: bool) -> None:
    def depth(value: Any) -> int:
        inner = [*value.values()] if isinstance(value, dict) else value
        return 1 + max(map(depth, inner), default=0) if isinstance(inner, list) else 0

    def marks(value: Any) -> int:
        inner = [*value.values()] if isinstance(value, dict) else value
        return max(1, len(inner)) + sum(map(marks, inner)) if isinstance(inner, list) else 0

    text = json.dumps(value, ensure_ascii=ascii).encode(errors="surrogatepass")
    structure = JsonStructure()
    for start in range(0, len(text), size):
        structure.read(text[start : start + size])
    assert (structure.depth, structure.values) == (depth(value), marks(value))


class TestSlowness:
    def test_a_head_that_never_ends_is_cut_off(
        self, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as hurried:
            hurried.setattr(slow_clients, "HEADER_SECONDS", 0.3)
            started = time.monotonic()
            assert raw(client) == b""
            assert raw(client, b"GET /healthz HTTP/1.1\r\nHost: ") == b""
            assert time.monotonic() - started < 4
        assert is_alive(client)

    def test_many_idle_connections_do_not_stop_others(self, client: httpx.Client) -> None:
        address = urlsplit(str(client.base_url))
        held = [
            socket.create_connection((address.hostname or "", address.port or 0), 30)
            for _ in range(200)
        ]
        try:
            for each in held:
                each.sendall(b"POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            assert is_alive(client)
        finally:
            for each in held:
                each.close()


class TestHeaders:
    @pytest.mark.parametrize(
        "lines",
        [
            ("POST /api/memories HTTP/1.1", "Content-Length: 5", "Content-Length: 6"),
            ("POST /api/memories HTTP/1.1", "Content-Length: -1"),
            ("POST /api/memories HTTP/1.1", "Content-Length: 5", "Transfer-Encoding: x, chunked"),
            ("GET /healthz HTTP/1.1", "X-Bad: a\x00b"),
            ("GET /healthz HTTP/1.1", "X Bad: a"),
            ("GET /health z HTTP/1.1",),
            ("\x16\x03\x01\x02",),
        ],
    )
    def test_what_is_no_http_is_refused(
        self, shared_client: httpx.Client, lines: tuple[str, ...]
    ) -> None:
        answer = raw(shared_client, head(*lines))
        assert b" 200 " not in answer.split(b"\r\n")[0]
        assert is_alive(shared_client)

    def test_no_header_of_a_client_comes_back(self, client: httpx.Client) -> None:
        for path in ("/healthz", "/nowhere", "/api/memories/%0d%0aSet-Cookie:%20a=b"):
            answer = client.get(path, headers={"X-Request-Id": "a\tb", "X-Mine": "rhubarbe"})
            assert "set-cookie" not in answer.headers
            assert "rhubarbe" not in str(answer.headers)
            assert answer.headers["x-request-id"].isalnum()

    def test_websockets_are_not_served(self, client: httpx.Client) -> None:
        upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
        lines = (*upgrade, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
        answer = raw(client, head("GET /api/memories HTTP/1.1", *lines))
        assert b" 101 " not in answer.split(b"\r\n")[0]

    def test_other_names_of_loopback_are_foreign(self, client: httpx.Client) -> None:
        for host in ("127.0.0.1.", "127.0.0.1@evil.example", "evil.example#127.0.0.1", "0", ""):
            refused = client.get("/api/memories", headers={"Host": host})
            assert refused.status_code in (400, 403), host
        target = b"GET http://evil.example/api/memories HTTP/1.1\r\nHost: evil.example\r\n"
        assert b" 403 " in raw(client, target + b"Connection: close\r\n\r\n").split(b"\r\n")[0]
        several = b"GET /api/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n"
        for request, reason in (
            (several, b"several hosts"),
            (b"\x16\x03\x01\r\n\r\n", b"no request of HTTP"),
        ):
            answer = raw(client, request)
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert reason in answer


class Everything(logging.Handler):
    """Keeps every line of every logger."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(logs.WithoutMessages("%(name)s %(message)s").format(record))


@pytest.fixture
def logged() -> Iterator[list[str]]:
    handler, root = Everything(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    logs.requests.setLevel(logging.INFO)
    yield handler.lines
    root.removeHandler(handler)
    root.setLevel(level)
    logs.requests.setLevel(logging.NOTSET)


def test_nothing_that_is_sent_gets_into_the_log(client: httpx.Client, logged: list[str]) -> None:
    forged = "rhubarbe%0d%0aERROR hippocampe: forged"
    client.get(f"/{forged}", params={"q": "rhubarbe\r\nERROR forged"})
    client.get(f"/api/memories/{forged}", headers={"User-Agent": "rhubarbe", "Cookie": "rhubarbe"})
    client.post("/api/memories", json={"content": "rhubarbe", "ttl": "rhubarbe"})
    client.post("/api/memories?user=rhubarbe", json={"rhubarbe": 1})
    client.get("/api/memories", headers={"Authorization": "Bearer rhubarbe"})
    raw(client, b"rhubarbe\r\n\r\n")
    ends = time.monotonic() + 10
    while sum("hippocampe.requests" in line for line in logged) < 5 and time.monotonic() < ends:
        time.sleep(0.01)
    told = "\n".join(line for line in logged if not line.startswith(("httpx", "httpcore")))
    assert "hippocampe.requests" in told
    assert "rhubarbe" not in told
    assert "forged" not in told


class TestPlaces:
    @pytest.mark.parametrize(
        "path",
        [
            "/../../../../etc/passwd",
            "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
            "/api/memories/..%2f..%2f..%2fetc%2fpasswd",
            "/api/memory/facts/../../../../etc/passwd",
            "/static/../../../../../../etc/passwd",
            "/static/..%2f..%2f..%2f..%2fetc%2fpasswd",
            "/static//etc/passwd",
            "/static/%5c..%5c..%5cwindows%5cwin.ini",
            "//etc/passwd",
            "/api/memories/%00",
        ],
    )
    def test_no_path_leads_to_a_file(self, shared_client: httpx.Client, path: str) -> None:
        answer = raw(shared_client, head(f"GET {path} HTTP/1.1"))
        assert answer.split(b"\r\n")[0].split()[1] in (b"400", b"404", b"405", b"422"), answer[:300]
        assert b"root:" not in answer

    def test_an_archive_writes_no_file(
        self, client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inner = tmp_path / "outer" / "inner"
        inner.mkdir(parents=True)
        monkeypatch.setattr(tempfile, "tempdir", str(inner))
        said = json.dumps({"content": "bonjour", "role": "user", "channel": "../../escaped"})
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as written:
            for name in ("../escaped.jsonl", "../../../escaped.jsonl", "/tmp/escaped.jsonl"):
                written.writestr(name, said)
        sent = client.post("/api/import", params={"format": "jsonl"}, content=archive.getvalue())
        assert sent.status_code in (200, 422), sent.text
        assert [*(tmp_path / "outer").rglob("*")] == [inner]
        assert not Path("/tmp/escaped.jsonl").exists()

    def test_an_archive_that_expands_is_refused(self, client: httpx.Client) -> None:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
            written.writestr("_chat.txt", b" " * 100_000_000)
        sent = client.post("/api/import", content=archive.getvalue())
        assert sent.status_code == 422
        assert "the file: it would expand to 100,000,000 bytes" in sent.json()["detail"]

    def test_clients_name_no_file_and_no_address(self, client: httpx.Client) -> None:
        """Where the server reads, writes and connects is decided by who starts it."""
        document = client.get("/openapi.json").json()
        operations = [each for path in document["paths"].values() for each in path.values()]
        bodies = re.findall(
            r"#/components/schemas/(\w+)",
            json.dumps([each.get("requestBody") for each in operations]),
        )
        schemas = [document["components"]["schemas"][name] for name in bodies]
        named = {name for schema in schemas for name in schema.get("properties", {})}
        named |= {each["name"] for one in operations for each in one.get("parameters", [])}
        assert {"content", "space"} <= named
        assert not named & {"url", "path", "folder", "target", "embedder", "upstream", "model"}

    @pytest.mark.parametrize(
        "name", ["upstream_url", "obsidian_url", "notes_folder", "embedder_url", "folder", "model"]
    )
    def test_settings_lead_to_no_other_server(self, shared_client: httpx.Client, name: str) -> None:
        changed = shared_client.patch(
            "/api/memory/settings", json={name: "http://169.254.169.254/latest/meta-data"}
        )
        assert changed.status_code == 422

    def test_a_name_of_a_note_is_no_path(self, client: httpx.Client, memory: Hippocampe) -> None:
        named = ["../../../etc/passwd", "http://169.254.169.254/", "/etc/passwd"]
        changed = client.patch("/api/memory/settings", json={"obsidian_context_notes": named})
        assert changed.status_code == 200
        turn = client.post("/api/before_turn", json={"message": "bonjour"})
        assert (turn.status_code, turn.json()["items"]) == (200, [])


def test_a_key_only_counts_in_its_header(connect: Connect, memory: Hippocampe) -> None:
    client = connect("admin")
    secret = memory.create_key(scope=HOME, role="admin").secret
    elsewhere: list[dict[str, Any]] = [
        {"params": {"key": secret}},
        {"params": {"authorization": f"Bearer {secret}"}},
        {"headers": {"X-Api-Key": secret}},
        {"headers": {"Cookie": f"authorization=Bearer {secret}"}},
    ]
    for each in elsewhere:
        headers = {"Authorization": "", **each.get("headers", {})}
        sent = client.get("/api/memories", params=each.get("params"), headers=headers)
        assert sent.status_code == 401


@pytest.fixture
def upstream(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """The server behind the proxy."""
    monkeypatch.setenv("HIPPOCAMPE_UPSTREAM_URL", server.openai_url)
    return server


def test_planted_instructions_stay_quoted_data(
    upstream: ModelServer, hashed: None, open_hippo: Opener
) -> None:
    memory = open_hippo(embedder="hashed:64")
    # `served` needs the memory to be made after its upstream is set.
    from served import served

    memory.update_settings(scope=HOME, hook_timeout_ms=10_000)
    attacks = [f"Owen rhubarbe {attack}" for attack in ATTACKS]
    with served(memory, loopback=True) as url, httpx.Client(base_url=url, timeout=30) as client:
        for attack in attacks:
            client.post("/api/memories", json={"content": attack, "subjects": ["owen"]})
            client.post("/api/after_turn?channel=other", json={"user_message": attack})
        memory.flush()
        injections: list[str] = []
        for number in range(10):
            where = {"user": "dev", "channel": f"room {number}"}
            asked = f"Owen rhubarbe {ATTACKS[number * 5]}"
            turn = client.post("/api/before_turn", params=where, json={"message": asked})
            injections.append(turn.json()["text"])
        upstream.say("Noté.")
        question = {"role": "user", "content": "Owen rhubarbe ?"}
        body = {"model": "m", "messages": [question]}
        sent = client.post("/v1/chat/completions", json=body)
        assert sent.status_code == 200, sent.text
    received = json.loads(json.dumps(upstream.requests[-1].body))["messages"]
    assert [each["role"] for each in received] == ["user"]
    said = received[-1]["content"]
    assert "Owen" in said
    injections.append(said.removesuffix(question["content"]))
    assert all(injections)
    for text in injections:
        # One block, whose lines are each one quote: nothing in it opens, closes or speaks.
        first, *lines, last = text.strip().splitlines()
        assert first.startswith("<hippocampe-memory"), first
        assert last == "</hippocampe-memory>"
        for line in lines:
            if line.startswith("• "):
                assert quote(line[2:]) == line[2:], line
