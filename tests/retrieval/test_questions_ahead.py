"""A weekday in a question about what is to come is the coming one."""

from datetime import UTC, datetime

import pytest

from conftest import FakeClock
from hippocampe import Hippocampe, Scope


@pytest.mark.parametrize(
    ("past", "coming", "asked"),
    [
        (
            "Omar is at our table for dinner this evening",
            "Nina is at our table for dinner the day after tomorrow",
            "who is at our table for dinner on Thursday?",
        ),
        (
            "Omar est à notre table ce soir pour dîner",
            "Nina est à notre table après-demain pour dîner",
            "qui est à notre table pour dîner jeudi ?",
        ),
    ],
)
def test_a_weekday_of_a_question_in_the_present_is_the_coming_one(
    hippo: Hippocampe, clock: FakeClock, past: str, coming: str, asked: str
) -> None:
    scope = Scope("home", user="mia")
    hippo.update_settings(scope=scope, timezone="Europe/Paris")
    clock.now = datetime(2026, 11, 19, 18, tzinfo=UTC)  # a Thursday
    hippo.remember(past, scope=scope)
    clock.now = datetime(2026, 11, 24, 18, tzinfo=UTC)
    hippo.remember(coming, scope=scope)
    for number in range(12):
        hippo.remember(f"Room {number} is painted in white", scope=scope)
    assert hippo.recall(asked, scope=scope)[0].content == coming
