"""When something happened is answered by what was told on its day, though the text names no time."""

import pytest

from conftest import FakeClock
from hippocampe import Hippocampe, Scope

TOLD = (
    ("rob", "I quit badminton, my wrist is gone"),
    ("rob", "I play badminton in the old hall"),
    ("rob", "J'ai arrêté la poterie"),
    ("rob", "La poterie est dans la salle du fond"),
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("when did rob stop badminton", "I quit badminton"),
        ("when did rob quit badminton", "I quit badminton"),
        ("quand est-ce que Rob a arrêté la poterie ?", "J'ai arrêté la poterie"),
        ("quand est-ce que rob a arreté la poterie", "J'ai arrêté la poterie"),
    ],
)
def test_the_day_on_which_it_was_told_answers_when(
    hippo: Hippocampe, clock: FakeClock, reading: None, question: str, answer: str
) -> None:
    for user, said in TOLD:
        scope = Scope("home", user=user, channel="den")
        hippo.update_settings(scope=scope, hook_timeout_ms=10_000)
        hippo.after_turn(said, "Noted.", scope=scope)
        clock.advance(days=3)
    given = hippo.before_turn(question, scope=Scope("home", user="mia", channel="den")).items
    assert given[0].content.startswith(answer)
