"""When what a statement tells happens, after its text was edited."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from conftest import FakeClock
from hippocampe import Hippocampe, Scope

HOME = Scope("home", user="lou")
PARIS = ZoneInfo("Europe/Paris")


def noon(clock: FakeClock, days: int) -> datetime:
    day = clock.now.astimezone(PARIS) + timedelta(days=days)
    return day.replace(hour=12, minute=0, second=0, microsecond=0)


@pytest.mark.parametrize(
    ("told", "edited"),
    [
        ("Je vois le notaire demain", "Je vois le notaire après-demain"),
        ("I see the notary tomorrow", "I see the notary the day after tomorrow"),
        ("Je vois le notaire", "Je vois le notaire après-demain"),
    ],
)
def test_another_time_in_the_text_is_that_of_the_event(
    hippo: Hippocampe, clock: FakeClock, told: str, edited: str
) -> None:
    memory = hippo.remember(told, scope=HOME).memory
    clock.advance(days=3)
    assert hippo.edit(memory.id, content=edited, scope=HOME).occurred_at == noon(clock, 2)


def test_a_text_without_its_time_has_none(hippo: Hippocampe) -> None:
    memory = hippo.remember("Je vois le notaire demain", scope=HOME).memory
    assert hippo.edit(memory.id, content="Je vois le notaire", scope=HOME).occurred_at is None


@pytest.mark.parametrize(
    ("told", "edited"),
    [
        ("Je vois le notaire demain", "Je vois Maître Roux demain"),
        ("I see the notary tomorrow", "I see Mr Roux tomorrow"),
    ],
)
def test_the_same_time_in_the_text_stays(
    hippo: Hippocampe, clock: FakeClock, told: str, edited: str
) -> None:
    memory = hippo.remember(told, scope=HOME).memory
    clock.advance(days=3)
    assert hippo.edit(memory.id, content=edited, scope=HOME).occurred_at == memory.occurred_at


def test_a_time_that_the_caller_gave_stays(hippo: Hippocampe, clock: FakeClock) -> None:
    given = noon(clock, -40)
    memory = hippo.remember("J'ai vu le notaire", scope=HOME, occurred_at=given).memory
    edited = hippo.edit(memory.id, content="J'ai vu le notaire hier", scope=HOME)
    assert edited.occurred_at == given
