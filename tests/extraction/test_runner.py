"""A run ends done, failed with a next attempt, or parked; an outage only delays it."""

import logging
import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from ledgers import HERE, Handler, context_of, handle, queue, run_of

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, JobRun
from hippocampe.engine import model_calls
from hippocampe.engine.context import Context
from hippocampe.errors import (
    BudgetSpent,
    EmbedderUnavailable,
    HippocampeError,
    InvalidAnswer,
    ModelUnavailable,
    NotFound,
    StoreFull,
    StoreReadOnly,
)
from hippocampe.extraction.jobs import runner
from hippocampe.extraction.jobs.runner import BACK_OFF, KEPT, MAX_ATTEMPTS
from hippocampe.store import job_runs
from model_server import Answer, Call, ModelServer

pytestmark = pytest.mark.usefixtures("hashed")
SECRET = "Zoé joue du tuba"
DAY = timedelta(days=1)


@pytest.fixture
def hippo(open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:32")


def test_a_run_is_done(hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Handler()
    handle(monkeypatch, "extract", work)
    id = queue(hippo, "extract", turn="a")
    assert hippo.stats(scope=HERE).jobs == {"waiting": 1}
    [run] = hippo.run_jobs(scope=HERE)
    assert (run.id, run.state, run.outcome, run.error) == (id, "done", "3 counted", None)
    assert run.attempts == 1
    assert run.payload == {"turn": "a"}
    assert run.started_at is not None
    assert run.ended_at is not None
    assert run.started_at < run.ended_at
    assert hippo.run_jobs(scope=HERE) == []
    assert work.ran == [id]
    assert hippo.jobs(scope=HERE) == [run]
    assert hippo.stats(scope=HERE).jobs == {"done": 1}


def test_runs_of_a_space_in_order(hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Handler()
    handle(monkeypatch, "extract", work)
    other = queue(hippo, "extract", space="other")
    ids = [queue(hippo, "extract") for _ in range(3)]
    assert [run.id for run in hippo.run_jobs(scope=HERE)] == ids == work.ran
    assert other not in work.ran
    assert [run.id for run in hippo.jobs(scope=HERE, limit=2)] == ids[:0:-1]


def test_a_job_that_nobody_handles_waits(hippo: Hippocampe) -> None:
    queue(hippo, "of a later version")
    assert hippo.run_jobs(scope=HERE) == []
    assert hippo.stats(scope=HERE).jobs == {"waiting": 1}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InvalidAnswer("no answer."), "InvalidAnswer: no answer."),
        (KeyError(SECRET), "KeyError"),
    ],
    ids=["ours", "unexpected"],
)
def test_backed_off_then_parked(
    hippo: Hippocampe,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    said: str,
) -> None:
    caplog.set_level(logging.INFO, logger="hippocampe")
    work = Handler(*[error] * MAX_ATTEMPTS)
    handle(monkeypatch, "extract", work)
    id = queue(hippo, "extract")
    for number, delay in enumerate(BACK_OFF, 1):
        [run] = hippo.run_jobs(scope=HERE)
        assert (run.state, run.attempts, run.error) == ("failed", number, said)
        assert abs(run.due_at - clock.now - delay) < timedelta(seconds=1)
        clock.advance(seconds=delay.total_seconds() - 1)
        assert hippo.run_jobs(scope=HERE) == []
        clock.advance(seconds=1)
    [run] = hippo.run_jobs(scope=HERE)
    assert (run.state, run.attempts, run.error) == ("parked", MAX_ATTEMPTS, said)
    assert run.ended_at is not None
    assert hippo.stats(scope=HERE).jobs == {"parked": 1}
    clock.advance(days=300)
    assert hippo.run_jobs(scope=HERE) == []
    assert SECRET not in caplog.text
    assert [record.getMessage() for record in caplog.records].count(
        f"job extract failed, continuing without it until it recovers: {said.removeprefix('InvalidAnswer: ')}"
    ) == 1

    again = hippo.retry_job(id, scope=HERE)
    assert (again.state, again.attempts, again.ended_at) == ("waiting", 0, None)
    [run] = hippo.run_jobs(scope=HERE)
    assert (run.state, run.error, len(work.ran)) == ("done", None, MAX_ATTEMPTS + 1)
    with pytest.raises(NotFound, match="no failed or parked run"):
        hippo.retry_job(id, scope=HERE)


def test_a_failed_run_is_retried_by_hand(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "extract", Handler(ValueError()))
    id = queue(hippo, "extract")
    [failed] = hippo.run_jobs(scope=HERE)
    assert failed.state == "failed"
    hippo.retry_job(id, scope=HERE)
    assert [run.state for run in hippo.run_jobs(scope=HERE)] == ["done"]


@pytest.mark.parametrize(
    "error", [ModelUnavailable("no server."), EmbedderUnavailable("no server."), StoreFull("full.")]
)
def test_an_outage_of_a_day_loses_nothing(
    hippo: Hippocampe,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: HippocampeError,
) -> None:
    caplog.set_level(logging.INFO, logger="hippocampe")
    down = True
    tried: list[JobRun] = []

    def work(context: Context, run: JobRun) -> str:
        tried.append(run)
        if down:
            raise error
        return "1 read"

    handle(monkeypatch, "extract", work)
    ids = [queue(hippo, "extract") for _ in range(5)]
    until = clock.now + DAY
    delays: list[timedelta] = []
    while clock.now < until:
        ended = hippo.run_jobs(scope=HERE)
        assert [run.state for run in ended] in ([], ["failed"])
        delays += [run.due_at - clock.now for run in ended]
        clock.advance(minutes=10)
    # One run of the five tries; the others wait with it.
    assert len(tried) < DAY / timedelta(minutes=10) + 10
    assert delays[0] < timedelta(seconds=31)
    assert delays[-1] > timedelta(minutes=9)
    assert max(delays) <= timedelta(minutes=10)
    assert hippo.stats(scope=HERE).jobs.get("parked") is None
    down = False
    clock.advance(minutes=10)
    assert {run.id for run in hippo.run_jobs(scope=HERE)} == set(ids)
    assert hippo.stats(scope=HERE).jobs == {"done": 5}
    said = [record.getMessage() for record in caplog.records if record.name == "hippocampe"]
    name = "language model" if isinstance(error, ModelUnavailable) else "job extract"
    assert said == [
        f"{name} failed, continuing without it until it recovers: {error}",
        f"{name} works again",
    ]


def test_an_outage_does_not_count_towards_parking(
    hippo: Hippocampe, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault, outage = InvalidAnswer("odd."), ModelUnavailable("gone.")
    handle(monkeypatch, "extract", Handler(fault, *[outage] * 20, fault, *[outage] * 20))
    queue(hippo, "extract")
    while hippo.stats(scope=HERE).jobs != {"done": 1}:
        for run in hippo.run_jobs(scope=HERE):
            assert run.attempts <= 3
        clock.advance(minutes=10)


def test_a_spent_budget_stops_one_space(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def work(context: Context, run: JobRun) -> str:
        if run.space == "default":
            raise BudgetSpent("spent.")
        return "1 read"

    handle(monkeypatch, "extract", work)
    for space in ("default", "default", "other"):
        queue(hippo, "extract", space=space)
    other = HERE.__class__(space="other")
    assert [run.state for run in hippo.run_jobs(scope=HERE)] == ["failed"]
    assert [run.state for run in hippo.run_jobs(scope=other)] == ["done"]
    assert caplog.text.count("budget of space default failed") == 1


def test_another_job_goes_on_without_the_model(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "extract", Handler(ModelUnavailable("gone.")))
    handle(monkeypatch, "digest", Handler())
    queue(hippo, "extract")
    queue(hippo, "digest")
    assert [run.state for run in hippo.run_jobs(scope=HERE)] == ["failed", "done"]


def test_a_clock_that_was_set_back_delays_nothing(
    hippo: Hippocampe, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "extract", Handler(ValueError()))
    clock.advance(days=365)
    queue(hippo, "extract")
    assert [run.state for run in hippo.run_jobs(scope=HERE)] == ["failed"]
    clock.advance(days=-365)
    assert [run.state for run in hippo.run_jobs(scope=HERE)] == ["done"]


def test_two_threads_run_nothing_twice(hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, at_once = 0, 0

    def work(context: Context, run: JobRun) -> str:
        nonlocal under_way, at_once
        under_way += 1
        at_once = max(at_once, under_way)
        time.sleep(0.002)
        under_way -= 1
        ran.append(run.id)
        return "1 read"

    ran: list[str] = []
    handle(monkeypatch, "extract", work)
    ids = [queue(hippo, "extract") for _ in range(30)]
    returned: list[list[JobRun]] = []
    threads = [
        threading.Thread(target=lambda: returned.append(hippo.run_jobs(scope=HERE)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ran) == sorted(ids)
    assert sorted(run.id for each in returned for run in each) == sorted(ids)
    assert at_once == 1


def test_a_run_is_claimed_once(hippo: Hippocampe) -> None:
    id, context = queue(hippo, "extract"), context_of(hippo)
    for first in (True, False):
        with context.corpus.store.write() as connection:
            assert job_runs.claim(connection, id, context.corpus.store.now()) is first


def test_interrupted_by_hand_it_waits(hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch) -> None:
    handle(monkeypatch, "extract", Handler(KeyboardInterrupt()))
    id = queue(hippo, "extract")
    with pytest.raises(KeyboardInterrupt):
        hippo.run_jobs(scope=HERE)
    assert (run_of(hippo, id).state, run_of(hippo, id).attempts) == ("waiting", 0)
    assert [run.state for run in hippo.run_jobs(scope=HERE)] == ["done"]


def test_an_embedder_that_changes_meanwhile_costs_no_attempt(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def work(context: Context, run: JobRun) -> str:
        seen.append(context.corpus.vocabulary.embedder.model)
        if len(seen) == 1:
            hippo.reindex(embedder="hashed:64")
        with context.writer.change():
            return "1 read"

    handle(monkeypatch, "extract", work)
    queue(hippo, "extract")
    [run] = hippo.run_jobs(scope=HERE)
    assert (run.state, run.attempts) == ("done", 1)
    assert len(set(seen)) == 2


def test_done_runs_are_removed_but_the_last(
    hippo: Hippocampe, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "extract", Handler())
    handle(monkeypatch, "digest", Handler(*[ValueError()] * MAX_ATTEMPTS))
    parked = queue(hippo, "digest")
    for _ in range(MAX_ATTEMPTS):
        hippo.run_jobs(scope=HERE)
        clock.advance(hours=1)
    assert run_of(hippo, parked).state == "parked"
    for _ in range(3):
        queue(hippo, "extract")
        hippo.run_jobs(scope=HERE)
    last = hippo.jobs(scope=HERE)[0]
    clock.advance(days=KEPT.days - 1)
    hippo.run_jobs(scope=HERE)
    assert hippo.stats(scope=HERE).jobs == {"done": 3, "parked": 1}
    clock.advance(days=2)
    hippo.run_jobs(scope=HERE)
    assert {run.id for run in hippo.jobs(scope=HERE)} == {last.id, parked}


def test_an_error_after_the_end_changes_nothing(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(context: Context, run: JobRun) -> str:
        with context.corpus.store.write() as connection:
            job_runs.finish(connection, run.id, "1 read", context.corpus.store.now())
        raise KeyError(SECRET)

    handle(monkeypatch, "extract", work)
    queue(hippo, "extract")
    [run] = hippo.run_jobs(scope=HERE)
    assert (run.state, run.outcome, run.error) == ("done", "1 read", None)


def test_an_erased_space_has_no_runs(hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(context: Context, run: JobRun) -> str:
        hippo.erase(scope=HERE, whole_space=True)
        return "1 read"

    handle(monkeypatch, "extract", work)
    queue(hippo, "extract")
    assert len(hippo.run_jobs(scope=HERE)) == 1
    assert hippo.jobs(scope=HERE) == []


def test_read_only_runs_nothing(folder: Path, hippo: Hippocampe) -> None:
    id = queue(hippo, "expire")
    with Hippocampe.open(folder, read_only=True) as beside:
        assert [run.id for run in beside.jobs(scope=HERE)] == [id]
        for act in (
            lambda: beside.run_jobs(scope=HERE),
            lambda: beside.retry_job(id, scope=HERE),
        ):
            with pytest.raises(StoreReadOnly):
                act()


def until(met: threading.Event) -> None:
    assert met.wait(30)


def test_the_thread_runs_what_is_queued_and_survives_it(
    open_hippo: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = [threading.Event(), threading.Event()]
    waiting = iter(ran)

    def work(context: Context, run: JobRun) -> str:
        here = next(waiting)
        here.set()
        if here is ran[0]:
            raise KeyError(SECRET)
        return "1 read"

    handle(monkeypatch, "extract", work)
    # Only a wake-up makes it look again.
    monkeypatch.setattr(runner, "BEAT_SECONDS", 300)
    hippo = open_hippo(embedder="hashed:32", background=True, model="openai-chat:unused")
    for each in ran:
        hippo.after_turn("Bonjour", "Salut", scope=HERE)
        until(each)
    assert hippo.jobs(scope=HERE)[-1].state == "failed"
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("hippocampe-jobs") == 1
    hippo.close()
    assert "hippocampe-jobs" not in [thread.name for thread in threading.enumerate()]


def test_the_thread_goes_on_after_the_ledger_failed(
    open_hippo: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, worked = threading.Event(), threading.Event()
    real = job_runs.due

    def due(*args: object, **named: object) -> object:
        if not broken.is_set():
            broken.set()
            raise KeyError(SECRET)
        worked.set()
        return real(*args, **named)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(job_runs, "due", due)
    monkeypatch.setattr(runner, "BEAT_SECONDS", 0.01)
    hippo = open_hippo(embedder="hashed:32", background=True)
    until(worked)
    assert hippo.stats(scope=HERE).outages == {"jobs": 1}


@dataclass
class Counted:
    number: int


def asking(context: Context, run: JobRun) -> str:
    answer = model_calls.ask(context, "extract", "Count.", "a b", Counted, space=run.space)
    return f"{answer.number} counted"


def test_closing_ends_a_call_of_the_model(
    open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "extract", asking)
    server.hang(120)
    named = {"embedder": "hashed:32", "model": "openai-chat:test"}
    hippo = open_hippo(**named, background=True)
    id = queue(hippo, "extract")
    ready = time.monotonic() + 30
    while not server.requests and time.monotonic() < ready:
        time.sleep(0.01)
    assert server.requests
    before = time.monotonic()
    hippo.close()
    assert time.monotonic() - before < 10
    server.call("answer", number=2)
    hippo = open_hippo(**named)
    run = run_of(hippo, id)
    assert (run.state, run.attempts, run.error) == ("waiting", 0, None)
    [run] = hippo.run_jobs(scope=HERE)
    assert (run.state, run.outcome) == ("done", "2 counted")
    assert [call.purpose for call in hippo.usage(scope=HERE)] == ["extract"]


def test_a_server_that_is_down_and_comes_back(
    open_hippo: Opener, clock: FakeClock, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "extract", asking)
    hippo = open_hippo(embedder="hashed:32", model="openai-chat:test")
    queue(hippo, "extract")
    server.fail(401)
    [run] = hippo.run_jobs(scope=HERE)
    assert (run.state, run.attempts) == ("failed", 0)
    assert (run.error or "").startswith("ModelUnavailable: ")
    clock.advance(minutes=1)
    server.call("answer", number=2)
    assert [run.state for run in hippo.run_jobs(scope=HERE)] == ["done"]


def test_the_thread_extracts_after_an_exchange(open_hippo: Opener, server: ModelServer) -> None:
    server.brain = lambda request: Answer(calls=(Call("answer", {"statements": []}),))
    hippo = open_hippo(embedder="hashed:32", model="openai-chat:test", background=True)
    hippo.after_turn("Ma sœur Nina habite à Lyon", "C'est noté.", scope=HERE)
    ready = time.monotonic() + 30
    while hippo.stats(scope=HERE).jobs != {"done": 1} and time.monotonic() < ready:
        time.sleep(0.02)
    [run] = hippo.jobs(scope=HERE)
    assert (run.job, run.state, run.outcome) == ("extract", "done", "0 stored")


def test_the_thread_catches_up_on_a_digest_at_start(open_hippo: Opener, clock: FakeClock) -> None:
    hippo = open_hippo(embedder="hashed:32")
    hippo.observe("Nina a réparé le four", scope=HERE)
    hippo.close()
    clock.advance(hours=5)
    hippo = open_hippo(embedder="hashed:32", background=True)
    ready = time.monotonic() + 30
    while hippo.stats(scope=HERE).live and time.monotonic() < ready:
        time.sleep(0.02)
    counts = hippo.stats(scope=HERE)
    assert (counts.live, counts.turns) == (0, 1)
