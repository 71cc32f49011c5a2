"""One line in the log per outage and one per recovery, and a counter."""

import logging
import threading
from typing import Any

import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.engine.outages import Outages
from hippocampe.errors import BudgetSpent, IndexUnavailable, StoreFull


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="hippocampe")
    return caplog


def lines(logged: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage()) for record in logged.records]


def test_an_outage_is_one_line_and_so_is_its_end(logged: pytest.LogCaptureFixture) -> None:
    outages = Outages()
    outages.works("notes")
    for _ in range(3):
        outages.failed("notes", "no answer in 2 s")
    for _ in range(3):
        outages.works("notes")
    outages.failed("index", IndexUnavailable("closed"))
    assert lines(logged) == [
        ("WARNING", "notes failed, continuing without it until it recovers: no answer in 2 s"),
        ("INFO", "notes works again"),
        ("WARNING", "index failed, continuing without it until it recovers: closed"),
    ]
    outages.failed("notes", "refused")
    assert outages.counts == {"notes": 2, "index": 1}


def test_parts_that_fail_by_one_cause_are_one_line_and_one_of_recovery(
    logged: pytest.LogCaptureFixture,
) -> None:
    outages = Outages()
    away = [IndexUnavailable(f"{what}: refused") for what in ("cannot be opened", "searched")]
    assert not outages.is_logged(away[0])
    for name, error in zip(("indexing", "index"), away, strict=True):
        outages.failed(name, error)
        assert outages.is_down(name)
        assert outages.is_logged(error)
    outages.failed("storing", StoreFull("no space"))
    outages.works("index")
    outages.failed("index", away[1])
    outages.works("indexing")
    # It is down for another reason than the one that was mended.
    outages.failed("index", away[1])
    said = "failed, continuing without it until it recovers"
    assert lines(logged) == [
        ("WARNING", f"indexing {said}: cannot be opened: refused"),
        ("WARNING", f"storing {said}: no space"),
        ("INFO", "indexing works again"),
        ("WARNING", f"index {said}: searched: refused"),
    ]
    assert outages.counts == {"indexing": 1, "index": 3, "storing": 1}


def test_two_budgets_or_models_are_two_causes(logged: pytest.LogCaptureFixture) -> None:
    outages = Outages()
    for space in ("home", "work"):
        outages.failed(f"budget of space {space}", BudgetSpent("spent"))
    assert len(logged.records) == 2


def test_threads_count_one_outage_once(logged: pytest.LogCaptureFixture) -> None:
    outages = Outages()
    start = threading.Barrier(8)

    def fail() -> None:
        start.wait()
        outages.failed("index", "down")

    threads = [threading.Thread(target=fail) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outages.counts == {"index": 1}
    assert len(logged.records) == 1


def test_late_is_not_down_until_nothing_is_heard(logged: pytest.LogCaptureFixture) -> None:
    now = 0.0
    outages = Outages(clock=lambda: now)
    for _ in range(100):
        outages.late("search", "no answer within 100 ms")
        now += 0.9
        outages.works("search")
    assert lines(logged) == []
    for _ in range(100):
        outages.late("search", "no answer within 100 ms")
        now += 0.1
    outages.works("search")
    assert lines(logged) == [
        (
            "WARNING",
            "search failed, continuing without it until it recovers: no answer within 100 ms",
        ),
        ("INFO", "search works again"),
    ]
    assert outages.counts == {"search": 1}


def test_an_overload_is_logged_at_both_ends(logged: pytest.LogCaptureFixture) -> None:
    now = 0.0
    outages = Outages(clock=lambda: now)
    outages.served()
    for _ in range(50):
        now += 1
        outages.refused()
        outages.served()
    now += 9
    outages.served()
    assert len(logged.records) == 1
    now += 1
    outages.served()
    outages.served()
    assert lines(logged) == [
        ("WARNING", "overload: too many turns at once, some are answered without memory"),
        ("INFO", "overload has ended: 50 of 102 turns were answered without memory"),
    ]
    assert outages.counts == {"overload": 1}


@pytest.fixture
def hippo(open_hippo: Opener, hashed: None) -> Hippocampe:
    return open_hippo(embedder="hashed:32")


def test_writing_goes_on_without_the_index_and_says_so_once(
    hippo: Hippocampe,
    scope: Scope,
    logged: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = hippo._context.corpus.index  # pyright: ignore[reportPrivateUsage]
    assert hippo.stats(scope=scope).outages == {}

    def down(*_: Any, **__: Any) -> Any:
        raise IndexUnavailable("the disk was taken out")

    with monkeypatch.context() as broken:
        broken.setattr(index, "apply", down)
        broken.setattr(index, "nearest", down)
        for name in ("Rose", "Ana", "Paul"):
            hippo.remember(f"{name} joue du cor", scope=scope)
    assert [level for level, _ in lines(logged)] == ["WARNING"]
    assert hippo.stats(scope=scope).outages == {"index": 1, "indexing": 1}
    hippo.flush()
    hippo.remember("Owen joue du cor", scope=scope)
    assert lines(logged)[1:] == [("INFO", "index works again")]
    assert len(hippo.recall("joue du cor", scope=scope, mode="text")) == 4
    assert hippo.stats(scope=scope).outages == {"index": 1, "indexing": 1}


def test_what_fails_after_the_end_is_no_outage(
    hippo: Hippocampe, scope: Scope, logged: pytest.LogCaptureFixture
) -> None:
    corpus = hippo._context.corpus  # pyright: ignore[reportPrivateUsage]
    hippo.remember("Lena habite à Brest", scope=scope)
    hippo.close()
    # As a search does that was too late for its turn.
    with pytest.raises(IndexUnavailable) as closed:
        corpus.index.count("memory")
    corpus.outages.failed("index", closed.value)
    assert lines(logged) == []
