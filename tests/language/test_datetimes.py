"""Reading durations and instants, and saying times, in both languages."""

import resource
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hippocampe.errors import InvalidInput, StoreError
from hippocampe.language.datetimes import as_utc, as_zone, parse_ttl
from hippocampe.language.humanize import clock_label, relative_time

PARIS = ZoneInfo("Europe/Paris")
NOW = datetime(2026, 11, 21, 15, 30, tzinfo=PARIS)  # a Saturday


def local(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=PARIS)


@pytest.mark.parametrize(
    ("ttl", "expected"),
    [
        ("30m", timedelta(minutes=30)), ("1h", timedelta(hours=1)), ("7d", timedelta(days=7)),
        ("30d", timedelta(days=30)), ("2w", timedelta(days=14)), (None, None),
        (timedelta(seconds=1), timedelta(seconds=1)),
    ],
)  # fmt: skip
def test_time_to_live(ttl: str | timedelta | None, expected: timedelta | None) -> None:
    assert parse_ttl(ttl) == expected


@pytest.mark.parametrize(
    "ttl",
    ["", "7", "d", "7 d", "7D", "7days", "1.5h", "-1d", "0d", "0m", "7d\n", "٧d", "99999999999w",
     "999999999w", "40000d", timedelta(0), timedelta(days=-1), timedelta.max, "for ever"],
)  # fmt: skip
def test_time_to_live_refused(ttl: str | timedelta) -> None:
    with pytest.raises(InvalidInput, match='"30m", "1h", "7d" or "2w" .*, or none for no expiry'):
        parse_ttl(ttl)


@pytest.mark.parametrize(
    ("at", "french", "english"),
    [
        ("2026-11-21T15:29:40", "à l'instant", "just now"),
        ("2026-11-21T15:25", "il y a 5 minutes", "5 minutes ago"),
        ("2026-11-21T14:30", "il y a 1 heure", "1 hour ago"),
        ("2026-11-21T00:10", "il y a 15 heures", "15 hours ago"),
        ("2026-11-20T23:59", "hier", "yesterday"),
        ("2026-11-20T00:00", "hier", "yesterday"),
        ("2026-11-18T23:00", "il y a 3 jours", "3 days ago"),
        ("2026-11-03T10:00", "il y a 18 jours", "18 days ago"),
        ("2026-10-31T10:00", "il y a 21 jours", "21 days ago"),
        ("2026-10-30T10:00", "le 30 octobre", "on October 30"),
        ("2026-02-28T10:00", "le 28 février", "on February 28"),
        ("2026-03-01T10:00", "le 1er mars", "on March 1"),
        ("2026-01-31T10:00", "le 31 janvier", "on January 31"),
        ("2025-12-31T10:00", "le 31 décembre 2025", "on December 31, 2025"),
        ("2025-01-01T10:00", "le 1er janvier 2025", "on January 1, 2025"),
        ("2026-11-21T17:30", "dans 2 heures", "in 2 hours"),
        ("2026-11-22T10:00", "demain", "tomorrow"),
        ("2026-11-25T10:00", "dans 4 jours", "in 4 days"),
        ("2027-02-01T10:00", "le 1er février 2027", "on February 1, 2027"),
    ],
)
def test_relative_time(at: str, french: str, english: str) -> None:
    moment = local(at)
    assert relative_time(moment, now=NOW, timezone=PARIS, language="fr") == french
    assert relative_time(moment, now=NOW, timezone="Europe/Paris", language="en") == english


def test_just_after_midnight_is_not_yet_yesterday() -> None:
    now = local("2026-11-21T00:10")
    said = relative_time(local("2026-11-20T23:50"), now=now, timezone=PARIS, language="fr")
    assert said == "il y a 20 minutes"


def test_yesterday_depends_on_the_zone() -> None:
    at, now = datetime(2026, 11, 20, 22, tzinfo=UTC), datetime(2026, 11, 21, 3, tzinfo=UTC)
    assert relative_time(at, now=now, timezone="Europe/Paris", language="en") == "yesterday"
    assert relative_time(at, now=now, timezone="UTC", language="en") == "yesterday"
    assert relative_time(at, now=now, timezone="Asia/Tokyo", language="en") == "5 hours ago"


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_any_two_moments_can_be_told(at: datetime, now: datetime) -> None:
    inside = datetime(2, 1, 1, tzinfo=UTC), datetime(9998, 1, 1, tzinfo=UTC)
    at, now = (min(max(moment, inside[0]), inside[1]) for moment in (at, now))
    assert relative_time(at, now=now, timezone=PARIS, language="fr")


@pytest.mark.parametrize(
    ("at", "french", "english"),
    [
        (datetime(2026, 1, 17, 9, 23, tzinfo=UTC), "17/01 10:23", "Jan 17, 10:23"),
        (datetime(2026, 7, 17, 22, 5, tzinfo=UTC), "18/07 00:05", "Jul 18, 00:05"),
        (datetime(2025, 1, 17, 9, 23, tzinfo=UTC), "17/01/2025 10:23", "Jan 17, 2025, 10:23"),
        # Where it is read, this is the first hour of the year.
        (datetime(2025, 12, 31, 23, 5, tzinfo=UTC), "01/01 00:05", "Jan 1, 00:05"),
        (datetime(2027, 1, 2, 12, 0, tzinfo=UTC), "02/01/2027 13:00", "Jan 2, 2027, 13:00"),
    ],
)
def test_clock_label(at: datetime, french: str, english: str) -> None:
    assert clock_label(at, "Europe/Paris", now=NOW) == french
    assert clock_label(at, PARIS, "en", now=NOW) == english


@pytest.mark.parametrize(
    "value",
    ["2026-01-17T10:23:00+01:00", "2026-01-17T09:23:00Z", datetime(2026, 1, 17, 10, 23, tzinfo=PARIS)],
)  # fmt: skip
def test_as_utc(value: datetime | str) -> None:
    instant = as_utc(value, name="since")
    assert instant == datetime(2026, 1, 17, 9, 23, tzinfo=UTC)
    assert instant.tzinfo is UTC


def test_as_utc_of_nothing() -> None:
    assert as_utc(None, name="since") is None


@pytest.mark.parametrize("value", [datetime(2026, 1, 17), "2026-01-17", "2026-01-17T10:00"])
def test_naive_instants_are_refused(value: datetime | str) -> None:
    with pytest.raises(InvalidInput, match="since .*give a timezone"):
        as_utc(value, name="since")


@pytest.mark.parametrize("value", ["", "yesterday", "2026-13-01", "0001-01-01T00:00:00+14:00"])
def test_what_is_not_an_instant_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput, match="until"):
        as_utc(value, name="until")


def test_a_zone_that_cannot_be_opened_is_not_called_unknown() -> None:
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(StoreError, match="Pacific/Chatham.*Too many open files"):
            as_zone("Pacific/Chatham")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
    assert as_zone("Pacific/Chatham").key == "Pacific/Chatham"
