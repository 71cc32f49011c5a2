"""Digests at fixed hours of the wall clock, once each, whatever clocks do."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from ledgers import HERE, Handler, clear_live, context_of, handle

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, JobRun, Scope, Settings
from hippocampe.engine.context import Context
from hippocampe.errors import InvalidInput
from hippocampe.extraction.jobs import schedule
from hippocampe.extraction.jobs.schedule import is_digest_due
from hippocampe.language.datetimes import next_hour
from hippocampe.retrieval import log
from hippocampe.store import associations, spaces
from hippocampe.types import Association
from model_server import ModelServer

pytestmark = pytest.mark.usefixtures("hashed")
PARIS = "Europe/Paris"
HOUR = timedelta(hours=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "hours", "after", "expected"),
    [
        (PARIS, (2, 14), "2026-01-17T12:59:59", "2026-01-17T13:00:00"),
        (PARIS, (2, 14), "2026-01-17T13:00:00", "2026-01-18T01:00:00"),
        (PARIS, (0,), "2026-12-31T12:00:00", "2026-12-31T23:00:00"),
        ("Asia/Kolkata", (6,), "2026-01-17T01:00:00", "2026-01-18T00:30:00"),
        # 29 March, Paris: 02:00 does not exist, clocks go from 01:59 to 03:00.
        (PARIS, (2,), "2026-03-28T12:00:00", "2026-03-29T01:00:00"),
        (PARIS, (2,), "2026-03-29T01:00:00", "2026-03-30T00:00:00"),
        (PARIS, (2, 3), "2026-03-29T01:00:00", "2026-03-30T00:00:00"),
        # 25 October, Paris: 02:00 to 03:00 comes twice, at 00:00 and 01:00 UTC.
        (PARIS, (2,), "2026-10-24T12:00:00", "2026-10-25T00:00:00"),
        (PARIS, (2,), "2026-10-25T00:00:00", "2026-10-26T01:00:00"),
        (PARIS, (2, 3), "2026-10-25T00:30:00", "2026-10-25T02:00:00"),
        (PARIS, (2, 3), "2026-10-25T01:30:00", "2026-10-25T02:00:00"),
        # 24 April, Cairo: midnight does not exist.
        ("Africa/Cairo", (0,), "2026-04-23T12:00:00", "2026-04-23T22:00:00"),
        ("Africa/Cairo", (0,), "2026-04-23T22:00:00", "2026-04-24T21:00:00"),
        # 5 April, Lord Howe: half an hour comes twice.
        ("Australia/Lord_Howe", (2,), "2026-04-04T12:00:00", "2026-04-04T15:30:00"),
    ],
)
def test_the_next_hour(zone: str, hours: tuple[int, ...], after: str, expected: str) -> None:
    assert next_hour(hours, zone, after=utc(after)) == utc(expected)


@pytest.mark.parametrize("zone", [PARIS, "America/New_York", "Africa/Cairo", "Australia/Lord_Howe"])
def test_each_hour_of_a_year_once(zone: str) -> None:
    hours = (0, 1, 2, 3, 14)
    at, end, found = utc("2025-12-31T12:00:00"), utc("2027-01-02T12:00:00"), list[datetime]()
    while at < end:
        at = next_hour(hours, zone, after=at)
        found.append(at)
    seen: dict[object, list[int]] = {}
    for moment in found:
        local = moment.astimezone(ZoneInfo(zone))
        assert local.fold == 0
        seen.setdefault(local.date(), []).append(local.hour)
    year = {day: hours for day, hours in seen.items() if getattr(day, "year", 0) == 2026}
    assert len(year) == 365
    # A skipped hour begins at the change, as the hour after it does.
    skipped = [hours for hours in year.values() if hours != [0, 1, 2, 3, 14]]
    assert len(skipped) <= 1
    assert all(len(hours) == 4 for hours in skipped)


def test_the_rule_of_a_digest() -> None:
    chosen, last = Settings(), utc("2026-01-17T09:00:05")  # 10:00:05 in Paris

    def due(now: str, *, starting: bool) -> bool:
        return is_digest_due(chosen, since=last, now=utc(now), starting=starting)

    assert not due("2026-01-17T12:59:59", starting=False)
    assert due("2026-01-17T13:00:00", starting=False)
    assert not due("2026-01-17T12:59:59", starting=True)
    once = Settings(digest_hours=(2,))
    for starting in (True, False):
        now = utc("2026-01-17T13:01:00")
        assert is_digest_due(once, since=last, now=now, starting=starting) is starting
    never = Settings(digest_hours=())
    assert not is_digest_due(never, since=last, now=utc("2027-01-01T00:00:00"), starting=True)


@pytest.fixture
def hippo(open_hippo: Opener, monkeypatch: pytest.MonkeyPatch) -> Hippocampe:
    handle(monkeypatch, "digest", clear_live)
    return open_hippo(embedder="hashed:32")


def digests(hippo: Hippocampe) -> list[JobRun]:
    return hippo.jobs(scope=HERE, job="digest", limit=1_000)[::-1]


def talk(hippo: Hippocampe, clock: FakeClock, *, hours: float, every: timedelta) -> list[datetime]:
    """Let time pass in a room where someone always talks; return when digests ended, in UTC."""
    before = len(digests(hippo))
    for _ in range(int(timedelta(hours=hours) / every)):
        hippo.observe("le four chauffe", scope=HERE)
        clock.advance(seconds=every.total_seconds())
        hippo.run_jobs(scope=HERE)
    ended = [run.ended_at for run in digests(hippo)[before:]]
    return [at.replace(second=0, microsecond=0) for at in ended if at is not None]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("2026-01-16T23:00", ["01:00", "05:00", "09:00", "13:00", "17:00", "21:00"]),
        ("2026-03-28T23:00", ["01:00", "04:00", "08:00", "12:00", "16:00", "20:00"]),
        ("2026-10-24T22:00", ["00:00", "05:00", "09:00", "13:00", "17:00", "21:00"]),
    ],
    ids=["winter", "clocks go forward", "clocks go back"],
)
def test_a_day_of_digests(
    hippo: Hippocampe, clock: FakeClock, start: str, expected: list[str]
) -> None:
    clock.now = utc(start)
    length = 23 if "03-28" in start else 25 if "10-24" in start else 24
    ended = talk(hippo, clock, hours=length, every=timedelta(minutes=30))
    assert [f"{at:%H:%M}" for at in ended] == expected


def test_nothing_to_digest(hippo: Hippocampe, clock: FakeClock) -> None:
    for _ in range(10):
        clock.advance(hours=3)
        assert hippo.run_jobs(scope=HERE) == []
    assert digests(hippo) == []


def test_the_first_digest_counts_from_the_oldest_message(
    hippo: Hippocampe, clock: FakeClock
) -> None:
    clock.now = utc("2026-01-17T09:10:00")
    hippo.observe("le four chauffe", scope=HERE)
    hippo.run_jobs(scope=HERE)
    clock.advance(hours=3.8)
    assert hippo.run_jobs(scope=HERE) == []
    clock.advance(minutes=3)
    assert [run.outcome for run in hippo.run_jobs(scope=HERE)] == ["1 read"]


def test_at_start_a_digest_older_than_four_hours_is_made_up_for(
    open_hippo: Opener, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "digest", clear_live)
    clock.now = utc("2026-01-17T09:00:30")
    hippo = open_hippo(embedder="hashed:32")
    hippo.update_settings(scope=HERE, digest_hours=[2])
    hippo.observe("le four chauffe", scope=HERE)
    hippo.run_jobs(scope=HERE)
    clock.advance(hours=3.9)
    hippo.close()
    hippo = open_hippo(embedder="hashed:32")
    assert hippo.run_jobs(scope=HERE) == []
    clock.advance(hours=0.2)
    # Not at start any more: it waits for its hour.
    assert hippo.run_jobs(scope=HERE) == []
    hippo.close()
    hippo = open_hippo(embedder="hashed:32")
    assert [run.job for run in hippo.run_jobs(scope=HERE)] == ["digest"]


def test_a_long_sleep_is_one_digest(hippo: Hippocampe, clock: FakeClock) -> None:
    talk(hippo, clock, hours=1, every=timedelta(minutes=10))
    before = len(digests(hippo))
    hippo.observe("le four chauffe", scope=HERE)
    clock.advance(hours=40)
    assert [run.job for run in hippo.run_jobs(scope=HERE)] == ["digest"]
    hippo.observe("le four chauffe", scope=HERE)
    assert hippo.run_jobs(scope=HERE) == []
    assert len(digests(hippo)) == before + 1


@pytest.mark.parametrize("back", [timedelta(minutes=5), timedelta(hours=3), timedelta(days=400)])
def test_a_clock_that_jumps_back(hippo: Hippocampe, clock: FakeClock, back: timedelta) -> None:
    clock.now = utc("2026-06-10T08:00:00")
    talk(hippo, clock, hours=24, every=timedelta(minutes=30))
    clock.advance(seconds=-back.total_seconds())
    jumped = clock.now
    ended = talk(hippo, clock, hours=48, every=timedelta(minutes=30))
    # None twice, and none is missed for longer than the jump or a day.
    assert all(later - earlier >= 3.9 * HOUR for earlier, later in pairwise(ended))
    assert ended[0] - jumped <= min(back, timedelta(days=1)) + 4.6 * HOUR
    assert len(ended) >= 6


def test_a_clock_that_jumps_forward_and_back_again(hippo: Hippocampe, clock: FakeClock) -> None:
    clock.now = utc("2026-06-10T08:00:00")
    talk(hippo, clock, hours=24, every=timedelta(minutes=30))
    clock.advance(days=1_000)
    hippo.observe("le four chauffe", scope=HERE)
    assert len(hippo.run_jobs(scope=HERE)) == 1
    clock.advance(days=-1_000)
    assert len(talk(hippo, clock, hours=24, every=timedelta(minutes=30))) == 6


def test_one_at_a_time_in_a_space(
    hippo: Hippocampe, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "digest", Handler(*[ValueError()] * 5))
    hippo.observe("le four chauffe", scope=HERE)
    hippo.observe("le four chauffe", scope=Scope(space="other", channel="lobby"))
    clock.advance(hours=4)
    assert [run.state for run in hippo.run_jobs(scope=HERE)] == ["failed"]
    waiting = schedule.due(context_of(hippo), jobs=["digest"], starting=False)
    assert waiting == [("digest", "other")]
    # Retries go on; no second run is queued beside them.
    for _ in range(20):
        clock.advance(minutes=8)
        hippo.run_jobs(scope=HERE)
    states = [run.state for run in digests(hippo)]
    assert states[0] == "parked"
    assert len(states) <= 2


def test_a_parked_digest_is_tried_again_at_the_next_hour(
    hippo: Hippocampe, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "digest", Handler(*[ValueError()] * 5))
    clock.now = utc("2026-06-10T11:55:00")
    hippo.observe("le four chauffe", scope=HERE)
    for _ in range(24):
        clock.advance(minutes=10)
        hippo.run_jobs(scope=HERE)
    assert [run.state for run in digests(hippo)] == ["parked"]
    clock.advance(minutes=10)
    hippo.run_jobs(scope=HERE)
    assert [run.state for run in digests(hippo)] == ["parked", "done"]


def test_settling_needs_reviews_and_a_model(
    open_hippo: Opener, clock: FakeClock, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "settle", Handler())
    hippo = open_hippo(embedder="hashed:32")
    ids = [hippo.remember(text, scope=HERE).memory.id for text in ("Léa skie", "Nino nage")]
    mark_for_review(context_of(hippo), *ids)
    assert hippo.run_jobs(scope=HERE) == []
    hippo.close()
    hippo = open_hippo(embedder="hashed:32", model="openai-chat:test")
    for _ in range(3):
        assert [run.job for run in hippo.run_jobs(scope=HERE)] == ["settle"]
        clock.advance(minutes=9)
        assert hippo.run_jobs(scope=HERE) == []
        clock.advance(minutes=1)
    mark_for_review(context_of(hippo), *ids, reason=associations.LEFT_BY_MODEL)
    assert hippo.run_jobs(scope=HERE) == []


def test_pairs_that_wait_for_a_person_are_not_due(
    open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "settle", Handler())
    hippo = open_hippo(embedder="hashed:32", model="openai-chat:test")
    ids = [hippo.remember(text, scope=HERE).memory.id for text in ("Léa skie", "Nino nage")]
    mark_for_review(context_of(hippo), *ids)
    store = context_of(hippo).corpus.store
    for beginning in associations.FOR_A_PERSON:
        for judged in (ids, ids[::-1]):
            edge = Association(*judged, "updates", f"{beginning}…", store.now())
            with store.write() as connection:
                assert spaces.to_review(connection) == [HERE.space]
                associations.associate(connection, HERE.space, edge, review=False)
                assert spaces.to_review(connection) == []
                associations.remove(connection, edge)
    with store.write() as connection:
        associations.associate(connection, HERE.space, edge, review=False)
    assert hippo.run_jobs(scope=HERE) == []


def mark_for_review(context: Context, id: str, other: str, *, reason: str = "similar") -> None:
    edge = Association(id, other, "related_to", reason, context.corpus.store.now())
    with context.corpus.store.write() as connection:
        associations.associate(connection, HERE.space, edge, review=True)


def test_a_message_of_another_time_is_digested_at_the_next_hour(
    hippo: Hippocampe, clock: FakeClock
) -> None:
    clock.now = utc("2026-01-17T09:10:00")
    hippo.observe("le four chauffe", scope=HERE, at="2031-01-17T09:00:00+00:00")
    assert hippo.run_jobs(scope=HERE) == []
    clock.advance(hours=4)
    assert [run.outcome for run in hippo.run_jobs(scope=HERE)] == ["1 read"]


def test_daily_jobs_of_spaces_that_want_them(hippo: Hippocampe, clock: FakeClock) -> None:
    assert hippo.run_jobs(scope=HERE) == []
    hippo.update_settings(scope=HERE, decay_half_life_days=30, prune_below=0.1)
    for _ in range(3):
        assert [run.job for run in hippo.run_jobs(scope=HERE)] == ["decay", "prune"]
        clock.advance(hours=23)
        assert hippo.run_jobs(scope=HERE) == []
        clock.advance(hours=1)
    hippo.update_settings(scope=HERE, decay_half_life_days=None, prune_below=0)
    assert hippo.run_jobs(scope=HERE) == []


def test_expiry_every_hour(hippo: Hippocampe, clock: FakeClock) -> None:
    first = hippo.remember("le four chauffe", scope=HERE, ttl="30m").memory.id
    second = hippo.remember("la barque est verte", scope=HERE, ttl="50m").memory.id
    assert hippo.run_jobs(scope=HERE) == []
    clock.advance(minutes=40)
    assert [(run.job, run.outcome) for run in hippo.run_jobs(scope=HERE)] == [
        ("expire", "1 hidden")
    ]
    clock.advance(minutes=20)
    assert hippo.run_jobs(scope=HERE) == []
    clock.advance(minutes=40)
    assert [run.outcome for run in hippo.run_jobs(scope=HERE)] == ["1 hidden"]
    for id in (first, second):
        assert hippo.get(id, scope=HERE).forgotten_reason == "expired"


def test_a_job_that_is_asked_for_runs_alone_and_now(
    hippo: Hippocampe, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, "digest", Handler(ValueError()))
    hippo.update_settings(scope=HERE, digest_hours=[])
    hippo.observe("le four chauffe", scope=HERE)
    hippo.remember("Il pleut", scope=HERE, ttl="1h")
    clock.advance(hours=2)
    [failed] = hippo.run_jobs(scope=HERE, job="digest")
    assert (failed.job, failed.state) == ("digest", "failed")
    # It would be tried again later; asked for again, it is the same run.
    [done] = hippo.run_jobs(scope=HERE, job="digest")
    assert (done.id, done.state, done.attempts) == (failed.id, "done", 2)
    [again] = hippo.run_jobs(scope=HERE, job="digest")
    assert again.id != done.id
    assert [run.job for run in hippo.run_jobs(scope=HERE)] == ["expire"]
    # Without input there is nothing to do for it.
    assert hippo.run_jobs(scope=HERE, job="extract") == []
    with pytest.raises(InvalidInput, match="extract, digest"):
        hippo.run_jobs(scope=HERE, job="lost")


def test_many_spaces_are_read_at_once(
    open_hippo: Opener, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = open_hippo(background=False)
    context = context_of(hippo)
    store, reads = context.corpus.store, list[object]()
    read = type(store).read

    def counted(self: object, **options: bool) -> object:
        reads.append(self)
        return read(store, **options)

    def look(spaces: int) -> tuple[int, int]:
        for number in range(spaces):
            there = Scope(space=f"space {number}", user="dev", channel="lobby")
            hippo.observe("Il pleut sur Pau", scope=there)
            hippo.update_settings(scope=there, decay_half_life_days=30)
            hippo.before_turn("Is it raining?", scope=there)
        hippo.update_settings(scope=Scope(space="space 0"), digest_hours=[])
        hippo.flush()
        clock.advance(days=2)
        with monkeypatch.context() as patch:
            patch.setattr(type(store), "read", counted)
            reads.clear()
            due = schedule.due(context, jobs=("digest", "decay"), starting=False)
            log.expire(context.corpus)
        return len(due), len(reads)

    few, many = look(2), look(9)
    assert (few[0], many[0]) == (1 + 2, 8 + 9)
    assert few[1] == many[1]
