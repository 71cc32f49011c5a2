import base64
import hashlib
import json
import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from conftest import Opener
from hippocampe import Scope
from hippocampe.embed import connection, open_embedder
from hippocampe.embed.connection import ATTEMPTS
from hippocampe.embed.remote import CHARACTERS_PER_REQUEST, RemoteEmbedder
from hippocampe.embed.vectors import UNKNOWN_MODEL_THRESHOLD, dedup_threshold
from hippocampe.errors import EmbedderMismatch, EmbedderUnavailable, InvalidInput
from hippocampe.protocols import Embedder
from hippocampe.testing import EmbedderContract

KEY = "sk-loopback-9b1f"
DIMENSIONS = 24

Reply = Callable[["Handler", dict[str, Any]], None]


def vector_of(text: str, dimensions: int = DIMENSIONS) -> np.ndarray:
    """A vector of its own for each text, far from unit length."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return np.random.default_rng(seed).normal(0.0, 7.0, dimensions).astype("<f4")


class Handler(BaseHTTPRequestHandler):
    """POST /v1/embeddings as OpenAI and Voyage speak it, or the next scripted reply."""

    server: "EmbeddingServer"
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.server.connections.add(self.client_address)
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        request["key"] = self.headers["authorization"]
        with self.server.turn:
            self.server.requests.append(request)
            reply = self.server.script.pop(0) if self.server.script else vectors()
        reply(self, request)

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


class EmbeddingServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.connections: set[Any] = set()
        self.turn = threading.Lock()
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


def vectors(dimensions: int = DIMENSIONS, drop: int = 0, scale: float = 1.0) -> Reply:
    def reply(handler: Handler, request: dict[str, Any]) -> None:
        texts: list[str] = request["input"]
        rows = [vector_of(text, dimensions) * np.float32(scale) for text in texts]
        packed = request.get("encoding_format") == "base64"
        data = [
            {
                "object": "embedding",
                "index": index,
                "embedding": base64.b64encode(row.tobytes()).decode() if packed else row.tolist(),
            }
            for index, row in enumerate(rows[: len(rows) - drop])
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        body = {"object": "list", "data": data, "model": request["model"], "usage": usage}
        handler.answer(200, json.dumps(body).encode())

    return reply


def status(code: int, message: str = "scripted", **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message}, "detail": message}).encode()
    return lambda handler, _: handler.answer(code, body, **headers)


def body(text: str, content_type: str) -> Reply:
    return lambda handler, _: handler.answer(200, text.encode(), Content_Type=content_type)


def plain(handler: Handler, request: dict[str, Any]) -> None:
    vectors()(handler, {**request, "encoding_format": "float"})


def drip(handler: Handler, _: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(30):
        if handler.server.released.wait(0.1):
            break
        handler.wfile.write(b" ")
        handler.wfile.flush()
    handler.close_connection = True


def hang(handler: Handler, _: dict[str, Any]) -> None:
    handler.server.released.wait(30)
    handler.close_connection = True


def hang_up(handler: Handler, _: dict[str, Any]) -> None:
    handler.close_connection = True
    handler.connection.close()


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "FIRST_PAUSE_SECONDS", 0.02)


@pytest.fixture(params=["openai", "voyageai"])
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


def remote(server: EmbeddingServer, provider: str, timeout: float = 10.0) -> RemoteEmbedder:
    opened = open_embedder(f"{provider}:some-model", url=server.url, timeout=timeout)
    assert isinstance(opened, RemoteEmbedder)
    return opened


@pytest.fixture
def embedder(server: EmbeddingServer, provider: str) -> Iterator[Embedder]:
    with closing(remote(server, provider)) as opened:
        yield opened


class TestRemoteEmbedder(EmbedderContract):
    pass


def test_opening_contacts_nothing(server: EmbeddingServer, embedder: Embedder) -> None:
    assert embedder.model.endswith(":some-model")
    assert embedder.dedup_threshold == UNKNOWN_MODEL_THRESHOLD
    assert server.requests == []


def test_the_key_is_sent(server: EmbeddingServer, embedder: Embedder) -> None:
    embedder.embed(["bonjour"])
    assert [request["key"] for request in server.requests] == [f"Bearer {KEY}"]


def test_dimensions_are_learnt_once(server: EmbeddingServer, embedder: Embedder) -> None:
    assert (embedder.dimensions, embedder.dimensions) == (DIMENSIONS, DIMENSIONS)
    assert len(server.requests) == 1


def test_vectors_are_the_servers_at_unit_length(embedder: Embedder) -> None:
    expected = vector_of("le phare")
    found = embedder.embed(["le phare"])[0]
    assert np.allclose(found, expected / np.linalg.norm(expected), atol=1e-6)


def test_many_texts_go_in_batches(server: EmbeddingServer, embedder: Embedder) -> None:
    embedder.embed([f"texte {number}" for number in range(300)])
    assert [len(request["input"]) for request in server.requests] == [128, 128, 44]


def test_long_texts_go_in_smaller_batches(server: EmbeddingServer, embedder: Embedder) -> None:
    embedder.embed([f"{number} " + "mot " * 5_000 for number in range(60)])
    assert len(server.requests) == 3
    for request in server.requests:
        assert sum(map(len, request["input"])) <= CHARACTERS_PER_REQUEST


def test_a_query_and_its_words_are_one_openai_request(server: EmbeddingServer) -> None:
    with closing(remote(server, "openai")) as embedder:
        embedder.embed_query("où est le phare ?", ["phare"])
    assert [request["input"] for request in server.requests] == [["où est le phare ?", "phare"]]


def test_voyage_is_told_queries_from_documents(server: EmbeddingServer) -> None:
    with closing(remote(server, "voyageai")) as embedder:
        embedder.embed_query("où est le phare ?", ["phare"])
    kinds = {request["input"][0]: request["input_type"] for request in server.requests}
    assert kinds == {"où est le phare ?": "query", "phare": "document"}


@pytest.mark.parametrize("code", [429, 500, 502, 503])
def test_a_passing_failure_is_retried(
    server: EmbeddingServer, embedder: Embedder, code: int
) -> None:
    server.script = [status(code)]
    assert embedder.embed(["bonjour"]).shape == (1, DIMENSIONS)
    assert len(server.requests) == 2


def test_a_lost_connection_is_retried(server: EmbeddingServer, embedder: Embedder) -> None:
    server.script = [hang_up]
    assert embedder.embed(["bonjour"]).shape == (1, DIMENSIONS)
    assert len(server.requests) == 2


def test_a_lasting_failure_is_given_up(server: EmbeddingServer, embedder: Embedder) -> None:
    server.script = [status(500, "en panne")] * 10
    with pytest.raises(EmbedderUnavailable, match=r"some-model failed at 127.*HTTP 500.*en panne"):
        embedder.embed(["bonjour"])
    assert len(server.requests) == ATTEMPTS


def test_a_pause_beyond_the_timeout_is_not_waited_for(
    server: EmbeddingServer, embedder: Embedder
) -> None:
    server.script = [status(429, Retry_After="60")]
    with pytest.raises(EmbedderUnavailable, match=r"quota or rate \(HTTP 429\): wait"):
        embedder.embed(["bonjour"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "words"),
    [(401, "was refused its key"), (403, "was refused its key"), (404, "was not found")],
)
def test_a_refusal_is_not_retried(
    server: EmbeddingServer, embedder: Embedder, code: int, words: str
) -> None:
    server.script = [status(code)] * 2
    with pytest.raises(EmbedderUnavailable, match=rf"{words}.*HTTP {code}.*check"):
        embedder.embed(["bonjour"])
    assert len(server.requests) == 1


def test_no_answer_is_given_up_after_the_timeout(server: EmbeddingServer, provider: str) -> None:
    server.script = [hang]
    with closing(remote(server, provider, timeout=0.6)) as embedder:
        with pytest.raises(EmbedderUnavailable, match=r"no answer within 0\.6 seconds"):
            embedder.embed(["bonjour"])
        server.released.set()
        assert embedder.embed(["bonjour"]).shape == (1, DIMENSIONS)


def test_nobody_listening_is_explained(server: EmbeddingServer, provider: str) -> None:
    server.shutdown()
    server.server_close()
    expected = pytest.raises(EmbedderUnavailable, match=r"cannot be reached at 127.*the network")
    with closing(remote(server, provider)) as embedder, expected:
        embedder.embed(["bonjour"])


def test_a_changed_dimension_is_a_mismatch(server: EmbeddingServer, embedder: Embedder) -> None:
    server.script = [vectors(), vectors(dimensions=7)]
    embedder.embed(["bonjour"])
    with pytest.raises(EmbedderMismatch, match=r"7 dimensions where it gave 24.*reindex"):
        embedder.embed(["bonsoir"])
    assert embedder.dimensions == DIMENSIONS


def test_missing_vectors_are_an_error(server: EmbeddingServer, embedder: Embedder) -> None:
    server.script = [vectors(drop=1)]
    with pytest.raises(EmbedderUnavailable, match="2 vectors for 3 texts"):
        embedder.embed(["un", "deux", "trois"])


@pytest.mark.parametrize("scale", [0.0, float("nan"), float("inf")])
def test_unusable_vectors_are_an_error(
    server: EmbeddingServer, embedder: Embedder, scale: float
) -> None:
    server.script = [vectors(scale=scale)]
    with pytest.raises(EmbedderUnavailable, match="zero or not a number"):
        embedder.embed(["bonjour"])


def data(rows: str) -> str:
    usage = '{"prompt_tokens": 1, "total_tokens": 1}'
    return f'{{"model": "some-model", "usage": {usage}, "data": {rows}}}'


@pytest.mark.parametrize(
    ("text", "content_type"),
    [
        ("not json", "application/json"),
        ("{}", "application/json"),
        ("[]", "application/json"),
        (data("null"), "application/json"),
        (data('[{"vector": [1.0]}]'), "application/json"),
        (data('[{"embedding": null}]'), "application/json"),
        (data('[{"embedding": []}]'), "application/json"),
        (data('[{"embedding": ["a"]}]'), "application/json"),
        (data('[{"embedding": [[1.0]]}]'), "application/json"),
        ("<html>Welcome</html>", "text/html"),
        ("<html>Welcome</html>", "text/plain"),
    ],
)
def test_an_answer_that_is_no_embedding_is_an_error(
    server: EmbeddingServer, embedder: Embedder, text: str, content_type: str
) -> None:
    server.script = [body(text, content_type)]
    with pytest.raises(EmbedderUnavailable, match=r"some-model (gave|failed)"):
        embedder.embed(["bonjour"])
    assert embedder.embed(["bonjour"]).shape == (1, DIMENSIONS)


def test_the_key_is_never_shown(
    server: EmbeddingServer, embedder: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for code in (400, 401, 418):
        server.script = [status(code, f"bad key {KEY} given")]
        with pytest.raises(EmbedderUnavailable) as caught:
            embedder.embed(["bonjour"])
        logging.getLogger("host").error("embedding failed", exc_info=caught.value)
        assert KEY not in str(caught.value)
        assert KEY not in "".join(traceback.format_exception(caught.value))
    host = [record for record in caplog.records if record.name == "host"]
    assert len(host) == 3
    assert not any(KEY in caplog.handler.format(record) for record in host)


def test_nothing_is_logged_of_the_key_when_all_goes_well(
    embedder: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedder.embed(["bonjour"])
    assert KEY not in caplog.text


def test_credentials_in_the_url_are_not_shown(server: EmbeddingServer) -> None:
    url = server.url.replace("http://", "http://dev:hunter2@")
    server.script = [status(404)]
    embedder = RemoteEmbedder("openai", "some-model", url=url, timeout=10.0)
    expected = pytest.raises(EmbedderUnavailable, match="not found at 127")
    with closing(embedder), expected as caught:
        embedder.embed(["bonjour"])
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("provider", "variable"), [("openai", "OPENAI_API_KEY"), ("voyageai", "VOYAGE_API_KEY")]
)
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_is_explained(
    monkeypatch: pytest.MonkeyPatch, provider: str, variable: str, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv(variable)
    else:
        monkeypatch.setenv(variable, value)
    embedder = open_embedder(f"{provider}:some-model")
    with pytest.raises(EmbedderUnavailable, match=f"set the environment variable {variable}"):
        embedder.embed(["bonjour"])


def test_another_server_needs_no_key(
    server: EmbeddingServer, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("VOYAGE_API_KEY")
    assert embedder.embed(["bonjour"]).shape == (1, DIMENSIONS)
    assert KEY not in server.requests[0]["key"]


@pytest.mark.parametrize("url", ["", "localhost:11434", "ftp://host/v1", "http://", "http:///v1"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="http://"):
        open_embedder("openai:some-model", url=url)


def test_a_closed_embedder_opens_again(server: EmbeddingServer, provider: str) -> None:
    embedder = remote(server, provider)
    embedder.embed(["bonjour"])
    embedder.close()
    embedder.close()
    assert embedder.embed(["bonjour"]).shape == (1, DIMENSIONS)
    embedder.close()


def test_an_embedder_leaves_no_thread(server: EmbeddingServer, embedder: Embedder) -> None:
    embedder.embed_query("bonjour", ["bonjour"])
    assert not [t.name for t in threading.enumerate() if "ThreadPoolExecutor" in t.name]


def test_the_connection_is_reused(server: EmbeddingServer, embedder: Embedder) -> None:
    for _ in range(3):
        embedder.embed(["bonjour"])
    assert len(server.connections) == 1


@pytest.mark.parametrize("header", ["1", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_the_pause_that_the_server_asks_for_is_obeyed(
    server: EmbeddingServer, provider: str, header: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(connection.time, "sleep", pauses.append)
    server.script = [status(503, Retry_After=header)]
    with closing(remote(server, provider, timeout=3.0)) as embedder:
        if header == "1":
            embedder.embed(["bonjour"])
            assert len(pauses) == 1 and pauses[0] >= 1
        else:
            with pytest.raises(EmbedderUnavailable, match="HTTP 503"):
                embedder.embed(["bonjour"])
            assert pauses == []


def test_an_answer_in_drops_is_given_up_after_the_timeout(
    server: EmbeddingServer, provider: str
) -> None:
    server.script = [drip]
    with closing(remote(server, provider, timeout=0.6)) as embedder:
        start = time.monotonic()
        with pytest.raises(EmbedderUnavailable, match=r"no answer within 0\.6 seconds"):
            embedder.embed(["bonjour"])
        assert time.monotonic() - start < 2


def test_a_server_without_base64_is_understood(server: EmbeddingServer, embedder: Embedder) -> None:
    server.script = [plain]
    expected = vector_of("le phare")
    assert np.allclose(
        embedder.embed(["le phare"])[0], expected / np.linalg.norm(expected), atol=1e-6
    )


def test_callers_do_not_wait_for_one_another(server: EmbeddingServer, embedder: Embedder) -> None:
    together = threading.Barrier(8, timeout=30)

    def meet(handler: Handler, request: dict[str, Any]) -> None:
        together.wait()
        vectors()(handler, request)

    embedder.embed(["premier"])
    server.script = [meet] * 8
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: embedder.embed([f"{number}"]).shape, range(8)))
    assert found == [(1, DIMENSIONS)] * 8


@pytest.mark.parametrize(
    ("model", "threshold"),
    [
        ("text-embedding-3-small", 0.60),
        ("text-embedding-ada-002", 0.88),
        ("intfloat/Multilingual-E5-large", 0.90),
        ("voyage-3", UNKNOWN_MODEL_THRESHOLD),
    ],
)
def test_thresholds_follow_the_model(model: str, threshold: float) -> None:
    assert dedup_threshold(model) == threshold


class TestWithoutKey:
    """A folder whose configured embedder lacks its key is opened, with one line about it."""

    NAME = "openai:some-model"
    HERE = Scope(user="dev")

    @pytest.fixture(autouse=True)
    def service(self, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    @pytest.fixture
    def without_key(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> Callable[[], list[str]]:
        """Removes the key; the result gives the lines logged about it since."""

        def lines() -> list[str]:
            return [each.getMessage() for each in caplog.records if "skipped" in each.message]

        monkeypatch.delenv("OPENAI_API_KEY")
        return lines

    def test_a_new_folder_uses_the_bundled_embedder(
        self, open_hippo: Opener, without_key: Callable[[], list[str]], server: EmbeddingServer
    ) -> None:
        hippo = open_hippo(embedder=self.NAME)
        hippo.remember("David habite à Ordizan", scope=self.HERE)
        assert hippo.recall("Where does David live?", scope=self.HERE)
        (line,) = without_key()
        assert "OPENAI_API_KEY" in line
        assert "reindex --embedder openai:some-model" in line
        assert hippo.config.embedder == "local"
        assert server.requests == []

    def test_a_folder_of_another_embedder_keeps_it(
        self, open_hippo: Opener, without_key: Callable[[], list[str]]
    ) -> None:
        hippo = open_hippo()
        hippo.remember("David habite à Ordizan", scope=self.HERE)
        hippo.close()
        again = open_hippo(embedder=self.NAME)
        assert again.recall("où habite David ?", scope=self.HERE)
        assert len(without_key()) == 1

    def test_a_folder_of_this_embedder_is_searched_by_words(
        self,
        open_hippo: Opener,
        server: EmbeddingServer,
        monkeypatch: pytest.MonkeyPatch,
        request: pytest.FixtureRequest,
    ) -> None:
        hippo = open_hippo(embedder=self.NAME)
        hippo.update_settings(scope=self.HERE, hook_timeout_ms=10_000, recent_hours=0)
        hippo.remember("David habite à Ordizan", scope=self.HERE)
        hippo.close()
        lines = request.getfixturevalue("without_key")
        asked = len(server.requests)
        again = open_hippo(embedder=self.NAME)
        assert [each.content for each in again.recent(scope=self.HERE)] == [
            "David habite à Ordizan"
        ]
        (found,) = again.recall("habite Ordizan", scope=self.HERE)
        assert found.content == "David habite à Ordizan"
        assert again.before_turn("habite Ordizan", scope=self.HERE).trace.missing == (
            "embedder down",
        )
        with pytest.raises(EmbedderUnavailable, match="OPENAI_API_KEY"):
            again.remember("Zoé joue du tuba", scope=self.HERE)
        again.after_turn("Le tuba est réparé", "Bien.", scope=self.HERE)
        again.close()
        assert len(lines()) == 1
        third = open_hippo(embedder=self.NAME)
        assert len(third.messages(scope=self.HERE)) == 2
        third.close()
        assert len(server.requests) == asked

        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        last = open_hippo(embedder=self.NAME)
        last.flush()
        assert last.recall("tuba réparé", scope=self.HERE, collections=["turn"], mode="semantic")
        assert last.verify().ok

    def test_once_the_key_is_set_the_folder_can_change_to_it(
        self,
        open_hippo: Opener,
        without_key: Callable[[], list[str]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        hippo = open_hippo(embedder=self.NAME)
        hippo.remember("David habite à Ordizan", scope=self.HERE)
        hippo.close()
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with pytest.raises(EmbedderMismatch, match="reindex --embedder openai:some-model"):
            open_hippo(embedder=self.NAME)
        again = open_hippo(embedder="local")
        again.reindex(embedder=self.NAME)
        assert again.config.embedder == self.NAME
