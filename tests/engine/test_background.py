"""Background jobs go on whatever happens in one round of them."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.engine.context import Context
from hippocampe.engine.outages import Outages
from hippocampe.errors import EmbedderMismatch
from hippocampe.folder.maintenance import Maintenance
from hippocampe.notes.sync import NoteSync
from hippocampe.protocols import Vectors
from hippocampe.retrieval.log import RetrievalBuffer
from hippocampe.types import Note

pytestmark = pytest.mark.usefixtures("hashed")
SECRET = "Zoé joue du tuba"


@pytest.fixture
def hippo(open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:32")


def parts_of(hippo: Hippocampe) -> Context:
    return hippo._context  # pyright: ignore[reportPrivateUsage]


class Twice:
    """Fails as nobody expects the first time, then works."""

    def __init__(self) -> None:
        self.calls = 0
        self.worked = threading.Event()

    def __call__(self, *_: object) -> None:
        self.calls += 1
        if self.calls == 1:
            raise KeyError(SECRET)
        self.worked.set()


def test_an_unexpected_error_is_an_outage_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="hippocampe")
    outages, work = Outages(), Twice()
    outages.attempt("a job", work)
    assert outages.is_down("a job")
    outages.attempt("a job", work)
    assert not outages.is_down("a job")
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "a job failed, continuing without it until it recovers: KeyError",
        "a job works again",
    ]


def test_maintenance_goes_on(hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch) -> None:
    expire = Twice()
    monkeypatch.setattr("hippocampe.retrieval.log.expire", expire)
    maintenance = Maintenance(lambda: parts_of(hippo), RetrievalBuffer(), 0.01)
    assert expire.worked.wait(30)
    maintenance.stop()
    assert parts_of(hippo).corpus.outages.counts == {"maintenance": 1}


class Source:
    """Notes that cannot be listed the first time."""

    name = "test"

    def __init__(self) -> None:
        self.listed = Twice()

    def listing(self) -> Mapping[str, str]:
        self.listed()
        return {}

    def read(self, path: str) -> Note:
        raise AssertionError(path)

    def close(self) -> None: ...


def test_reading_notes_goes_on(hippo: Hippocampe) -> None:
    source, context = Source(), parts_of(hippo)
    note_sync = NoteSync(source, "default")

    def serve(step: Callable[[Context], None]) -> None:
        step(context.writer)

    note_sync.start(serve, context.corpus.outages, 0.01, thread=True)
    assert source.listed.worked.wait(30)
    note_sync.stop()
    assert context.corpus.outages.counts == {"notes": 1}


def test_an_embedder_that_changed_its_dimensions_is_an_outage(
    hippo: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    def embed(*_: object) -> None:
        raise EmbedderMismatch("other dimensions")

    context = parts_of(hippo)
    with monkeypatch.context() as patch:
        patch.setattr(context.corpus.vocabulary.embedder, "embed", embed)
        hippo.after_turn("bonjour le tuba", "salut", scope=scope)
        hippo.flush()
        assert context.corpus.outages.counts == {"embedder": 1}
    hippo.flush()
    assert len(hippo.recall("tuba", scope=scope, collections=["turn"])) == 1


def test_an_unexpected_error_while_embedding_is_noted(
    open_hippo: Opener, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = open_hippo(embedder="hashed:32", background=True)
    context = parts_of(hippo)
    with monkeypatch.context() as patch:
        patch.setattr(context.corpus.vocabulary.embedder, "embed", Twice())
        hippo.after_turn("bonjour le tuba", "salut", scope=scope)
        context.writer.pending.worker.submit(int).result()
    assert context.corpus.outages.counts == {"embedding": 1}


def test_a_turn_stored_while_closing_is_indexed_at_the_next_open(
    open_hippo: Opener, scope: Scope
) -> None:
    hippo = open_hippo(embedder="hashed:32", background=True)
    parts_of(hippo).writer.pending.worker.shutdown()
    id = hippo.after_turn("bonjour le tuba", "salut", scope=scope)
    hippo.close()
    again = open_hippo(embedder="hashed:32")
    assert [each.id for each in again.recall("tuba", scope=scope, collections=["turn"])] == [id]


def test_a_turn_erased_while_it_is_embedded_leaves_no_word(
    open_hippo: Opener, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = open_hippo(embedder="hashed:32", background=True)
    context = parts_of(hippo)
    embed, embedding = context.corpus.vocabulary.embedder.embed, threading.Event()

    def until_erased(texts: Sequence[str]) -> Vectors:
        if any("tuba" in text for text in texts):
            embedding.set()
            end = time.monotonic() + 30
            while hippo.search_text("tuba", scope=scope) and time.monotonic() < end:
                time.sleep(0.01)
        return embed(texts)

    monkeypatch.setattr(context.corpus.vocabulary.embedder, "embed", until_erased)
    hippo.after_turn("Zoé joue du tuba", "bravo", scope=scope)
    kept = hippo.after_turn("il pleut", "encore", scope=scope)
    assert embedding.wait(30)
    hippo.erase(subject="Zoé", scope=scope)
    assert hippo.verify(absent=["tuba", "Zoé", "bravo"]).present == {}
    assert [each.id for each in hippo.recall("il pleut", scope=scope, collections=["turn"])] == [
        kept
    ]
