"""The clock that is moved by hand."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hippocampe import Config, Hippocampe, Scope
from hippocampe.errors import InvalidInput
from hippocampe.testing import FakeClock

START = datetime(2026, 3, 28, 12, tzinfo=UTC)


def test_it_only_moves_when_told() -> None:
    clock = FakeClock(START)
    assert clock() == clock() == START
    clock.advance(timedelta(minutes=1), hours=2)
    assert clock() == START + timedelta(hours=2, minutes=1)
    clock.advance(days=-1)
    clock.set(START)
    assert clock() == START
    assert FakeClock()().utcoffset() == timedelta()


def test_it_ticks_if_asked() -> None:
    clock = FakeClock(START, tick=timedelta(milliseconds=1))
    assert clock() < clock()


def test_a_moment_needs_a_timezone() -> None:
    with pytest.raises(InvalidInput, match="timezone"):
        FakeClock(datetime(2026, 1, 1))
    with pytest.raises(InvalidInput, match="timezone"):
        FakeClock().set(datetime(2026, 1, 1))


def test_daylight_saving_moves_the_wall_time() -> None:
    clock = FakeClock(datetime(2026, 3, 29, 1, 30, tzinfo=ZoneInfo("Europe/Paris")))
    clock.advance(hours=1)
    assert (clock().hour, clock().minute) == (3, 30)


def test_threads_lose_no_move() -> None:
    clock = FakeClock(START)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(500):
            pool.submit(clock.advance, seconds=1)
    assert clock() == START + timedelta(seconds=500)


def test_a_folder_follows_it(tmp_path: Path) -> None:
    clock = FakeClock(START)
    scope = Scope(user="nina")
    with Hippocampe.open(Config(folder=tmp_path, background=False), clock=clock) as hippo:
        clock.advance(days=3)
        remembered = hippo.remember("Nina aime le ski.", scope=scope)
        assert remembered.memory.created_at == START + timedelta(days=3)
