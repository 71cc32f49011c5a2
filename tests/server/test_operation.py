"""What those who run the server see and set: numbers, log lines, limits, refusals under load."""

import asyncio
import json
import logging
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import hippocampe
from conftest import Connect
from hippocampe import Hippocampe, Overloaded, Scope, StoreError
from hippocampe.server.http import logs
from hippocampe.server.http.limits import GUESSES, Buckets
from hippocampe.server.http.metrics import PARTS, Metrics
from hippocampe.server.http.served import ServedMemory
from hippocampe.system.workers import Lane, Workers

SECRET = "rhubarbe"


@pytest.fixture
def memory(request: pytest.FixtureRequest, hashed: None) -> Hippocampe:
    """As usual, with the options of the test."""
    return request.getfixturevalue("open_hippo")(
        embedder="hashed:64", **getattr(request, "param", {})
    )


class Lines(logging.Handler):
    """Keeps the log lines of both formats."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.json: list[dict[str, object]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.text.append(logs.WithoutMessages("%(levelname)s %(message)s").format(record))
        self.json.append(json.loads(logs.JsonLines().format(record)))


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler = Lines()
    logs.requests.addHandler(handler)
    before = logs.requests.level
    logs.requests.setLevel(logging.INFO)
    yield handler
    logs.requests.removeHandler(handler)
    logs.requests.setLevel(before)


def noted(lines: Lines, count: int) -> None:
    """Wait for lines: one is written after its answer was sent."""
    ends = time.monotonic() + 10
    while len(lines.json) < count and time.monotonic() < ends:
        time.sleep(0.01)
    assert len(lines.json) == count


class TestLogs:
    def test_a_request_is_one_line_without_its_words(
        self, client: httpx.Client, connect: Connect, memory: Hippocampe, lines: Lines
    ) -> None:
        stored = client.post("/api/memories", json={"content": f"Owen aime la {SECRET}"})
        id = stored.json()["memory"]["id"]
        client.get(f"/api/memories/{id}", params={"user": SECRET}, headers={"X-Mine": SECRET})
        client.get("/api/memory/search", params={"q": SECRET})
        client.get(f"/{SECRET}")
        assert client.request(SECRET.upper(), "/healthz").status_code == 400
        client.request("PURGE", "/healthz")
        connect("read").delete(f"/api/memories/{SECRET}")
        noted(lines, 6)
        said = [(each["method"], each["route"], each["status"]) for each in lines.json]
        assert said == [
            ("POST", "/api/memories", 201),
            ("GET", "/api/memories/{id}", 200),
            ("GET", "/api/memory/search", 200),
            ("GET", "none", 404),
            ("other", "/healthz", 405),
            ("DELETE", "/api/memories/{id}", 403),
        ]
        assert [each["actor"] for each in lines.json[-2:]] == [
            "no key",
            f"key {memory.keys()[0].id}",
        ]
        assert SECRET not in json.dumps(lines.json).lower()
        assert SECRET not in "".join(lines.text).lower()
        assert all(isinstance(each["ms"], float) for each in lines.json)

    def test_the_id_of_a_client_is_kept_if_it_is_plain(
        self, client: httpx.Client, lines: Lines
    ) -> None:
        for given, kept in (("abc-1.2_Z", True), ("a b", False), ("é", False), ("a" * 65, False)):
            answer = client.get("/healthz", headers={"X-Request-Id": given.encode()})
            assert (answer.headers["x-request-id"] == given) == kept
        refused = client.get("/healthz", headers={"Host": "evil.example", "X-Request-Id": "mine"})
        assert (refused.status_code, refused.headers["x-request-id"]) == (403, "mine")
        noted(lines, 5)
        assert lines.json[0]["id"] == "abc-1.2_Z"
        assert lines.text[0].startswith("INFO abc-1.2_Z GET /healthz 200 ")

    def test_control_characters_are_escaped(self) -> None:
        record = logging.LogRecord(
            "a", logging.INFO, "", 0, "id\r\nERROR forged\x1b[2J\u2028é", (), None
        )
        told = logs.WithoutMessages("%(message)s").format(record)
        assert told == "id\\r\\nERROR forged\\x1b[2J\\u2028é"
        assert "\n" not in logs.JsonLines().format(record)


class TestMetrics:
    def test_they_count_requests_turns_and_the_data(
        self, client: httpx.Client, memory: Hippocampe
    ) -> None:
        memory.remember(f"Owen aime la {SECRET}", scope=Scope(user="nina"), importance=1.0)
        client.post("/api/before_turn?channel=nina", json={"message": f"Qui aime la {SECRET} ?"})
        client.post("/api/before_turn", json={"message": SECRET, "role": "system"})
        client.get(f"/api/memories/{SECRET}")
        told = client.get("/metrics")
        assert told.headers["content-type"].startswith("text/plain")
        found = dict(
            line.rsplit(" ", 1) for line in told.text.splitlines() if not line.startswith("#")
        )
        turns = (
            'hippocampe_request_seconds_count{method="POST",route="/api/before_turn",status="200"}'
        )
        assert found[turns] == "2.0"
        unknown = 'method="GET",route="/api/memories/{id}",status="404"'
        assert found[f"hippocampe_request_seconds_count{{{unknown}}}"] == "1.0"
        assert found['hippocampe_turns_total{outcome="injected"}'] == "1.0"
        assert found['hippocampe_turns_total{outcome="skipped"}'] == "1.0"
        assert float(found["hippocampe_injected_tokens_total"]) > 0
        assert 'hippocampe_turn_stage_milliseconds_count{stage="render"}' in found
        assert found['hippocampe_indexed{kind="memory"}'] == "1.0"
        assert float(found['hippocampe_bytes{part="database"}']) > 10_000
        assert float(found["hippocampe_index_pending"]) >= 0
        assert 'hippocampe_pending_calls{kind="turn"}' in found
        assert "process_resident_memory_bytes" in found
        assert not any(word in told.text for word in (SECRET, "nina"))

    def test_other_machines_need_a_key(self, connect: Connect) -> None:
        client = connect("read")
        assert client.get("/metrics").status_code == 200
        assert client.get("/metrics", headers={"Authorization": ""}).status_code == 401

    def test_a_store_that_is_down_is_said(
        self, memory: Hippocampe, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def down() -> None:
            raise StoreError("down.")

        served = ServedMemory(memory)
        monkeypatch.setattr(memory, "vitals", down)
        assert b'hippocampe_up{part="store"} 0.0' in Metrics(served).text()

    def test_names_of_spaces_are_no_labels(
        self, memory: Hippocampe, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        outages = memory._context.corpus.outages
        outages.failed(f"budget of space {SECRET}", "spent")
        outages.failed("job digest", "late")
        outages.failed("indexing", "down")
        told = Metrics(ServedMemory(memory)).text().decode()
        assert 'hippocampe_outages{part="other"} 1.0' in told
        assert 'hippocampe_outages{part="job"} 1.0' in told
        assert 'hippocampe_outages{part="indexing"} 1.0' in told
        assert SECRET not in told

    def test_every_part_that_fails_has_a_label(self) -> None:
        source = Path(hippocampe.__file__).parent
        texts = [each.read_text() for each in source.rglob("*.py") if each.name != "metrics.py"]
        calls = r'outages\.(?:failed|late|works|attempt)[(,]\s*"([a-z_ ]+)"'
        assert {name for each in texts for name in re.findall(calls, each)} <= PARTS
        strings = {name for each in texts for name in re.findall(r'"([a-z_ ]+)"', each)}
        assert strings >= PARTS


class TestLimits:
    def test_a_bucket_empties_and_fills(self) -> None:
        now = 0.0
        buckets = Buckets(2.0, 3, clock=lambda: now)
        assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
        assert buckets.take("b") == 0
        now = 0.5
        assert [buckets.take("a"), buckets.take("a")] == [0, 0.5]
        now = 100.0
        assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]

    @pytest.mark.parametrize("memory", [{"request_rate": 0.1, "request_burst": 5}], indirect=True)
    def test_a_key_may_not_send_too_many(self, connect: Connect) -> None:
        client, other = connect("read"), connect("read")
        answers = [client.get("/api/memory/settings") for _ in range(6)]
        assert [each.status_code for each in answers] == [200] * 5 + [429]
        assert answers[-1].json()["status"] == 429
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert other.get("/api/memory/settings").status_code == 200
        assert {connect().get("/healthz").status_code for _ in range(10)} == {200}

    def test_guessing_keys_is_refused(self, connect: Connect) -> None:
        known, fresh = connect("read"), connect("read")
        assert known.get("/api/memory/settings").status_code == 200
        for number in range(GUESSES):
            wrong = {"Authorization": f"Bearer hippo_{number}"}
            assert known.get("/api/memories", headers=wrong).status_code == 401
        refused = known.get("/api/memories", headers={"Authorization": "Bearer hippo_x"})
        assert refused.status_code == 429
        assert refused.headers["content-type"] == "application/problem+json"
        assert 1 <= int(refused.headers["retry-after"]) <= 5
        # Nothing tells a right guess from a wrong one any more.
        assert fresh.get("/api/memories").status_code == 429
        assert known.get("/api/memory/settings").status_code == 200
        assert known.get("/healthz", headers={"Authorization": ""}).status_code == 200
        unknown = {"Authorization": "Bearer hippo_x"}
        assert known.get("/healthz", headers=unknown).status_code == 200

    @pytest.mark.parametrize("path", ["/healthz", "/login", "/openapi.json"])
    def test_a_public_path_makes_no_key_right(self, connect: Connect, path: str) -> None:
        client = connect("read")
        guesses = [{"Authorization": f"Bearer hippo_{number}"} for number in range(GUESSES + 5)]
        for wrong in guesses:
            assert client.get(path, headers=wrong).status_code == 200
        answers = [client.get("/api/memories", headers=wrong).status_code for wrong in guesses]
        assert answers == [401] * GUESSES + [429] * 5

    def test_a_browser_that_guesses_is_not_redirected(self, connect: Connect) -> None:
        client, page = connect("read"), {"Accept": "text/html"}
        guesses = [{"Authorization": f"Bearer hippo_{number}"} for number in range(GUESSES + 1)]
        answers = [client.get("/overview", headers=page | wrong).status_code for wrong in guesses]
        assert answers == [401] * GUESSES + [429]


def pending(client: httpx.Client) -> float:
    """The calls that run or wait in the server."""
    told = client.get("/metrics").text.splitlines()
    found = [line for line in told if line.startswith("hippocampe_pending_calls{")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in found)


class TestOverload:
    def test_calls_beyond_the_bounds_are_refused_at_once(self) -> None:
        workers = Workers({"read": Lane(1, 1), "long": Lane(1, 0)})
        free = threading.Event()

        async def load() -> None:
            calls = [asyncio.create_task(workers.run("read", free.wait)) for _ in range(2)]
            await asyncio.sleep(0)
            with pytest.raises(Overloaded, match="try again"):
                await workers.run("read", free.wait)
            assert workers.pending == {"read": 2, "long": 0}
            # Another kind has threads of its own.
            assert await workers.run("long", lambda: 3) == 3
            # A call that is given up while it waits leaves its place.
            calls[1].cancel()
            with pytest.raises(asyncio.CancelledError):
                await calls[1]
            assert workers.pending["read"] == 1
            free.set()
            assert await calls[0]
            assert await workers.run("read", lambda: 4) == 4

        asyncio.run(load())
        workers.close()

    def test_long_calls_and_writes_do_not_hold_up_turns(
        self, client: httpx.Client, memory: Hippocampe, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        free, started = threading.Event(), threading.Semaphore(0)

        def blocked(*_: object, **__: object) -> None:
            started.release()
            assert free.wait(30)
            raise StoreError("ended.")

        monkeypatch.setattr("hippocampe.extraction.digest.run", blocked)
        monkeypatch.setattr("hippocampe.ingest.conversation.after_turn", blocked)
        exchange = {"user_message": "Bonjour"}
        statuses: list[int] = []

        def send(path: str, body: object) -> None:
            with httpx.Client(base_url=client.base_url, timeout=30) as own:
                statuses.append(own.post(path, json=body).status_code)

        sending = [("/admin/digest", None)] * 16 + [("/api/after_turn", exchange)] * 64
        threads = [threading.Thread(target=send, args=each) for each in sending]
        for each in threads:
            each.start()
        for _ in range(4 + 2):
            assert started.acquire(timeout=30)
        ends = time.monotonic() + 30
        while pending(client) < 80 and time.monotonic() < ends:
            time.sleep(0.05)
        try:
            for path, body in (sending[0], sending[-1]):
                refused = client.post(path, json=body)
                assert refused.status_code == 503
                assert refused.headers["retry-after"] == "1"
                assert refused.json()["type"] == "urn:hippocampe:Overloaded"
            turn = client.post("/api/before_turn", json={"message": "Bonjour"})
            assert (turn.status_code, turn.json()["trace"]["skipped"]) == (200, None)
            assert client.get("/api/memory/settings").status_code == 200
        finally:
            free.set()
            for each in threads:
                each.join()
        assert statuses == [503] * 80
