"""Of two memories that may be one fact, recall prefers the one that is likely current."""

import pytest

from conftest import FakeClock
from hippocampe import Hippocampe, Scope

HOME = Scope(space="home", user="ana")
OLD, NEW = "Le vélo d'Ana est à la cave", "Camille fait du vélo le mardi"
QUESTION = "Où est le vélo d'Ana ?"


@pytest.fixture
def pair(hippo: Hippocampe) -> tuple[str, str]:
    old, new = (hippo.remember(each, scope=HOME).memory for each in (OLD, NEW))
    return old.id, new.id


def scores(hippo: Hippocampe) -> dict[str, float]:
    return {each.content: each.score for each in hippo.recall(QUESTION, scope=HOME)}


@pytest.mark.parametrize(
    ("reason", "probability"),
    [
        ("perhaps update, 70%: à → à", 0.7),
        ("left to a person by model small: perhaps update, 30%: a → b", 0.3),
        ("perhaps place: cave → salon", 0.5),
        ("perhaps shoe size: 38 → 39", 0.5),
        ("perhaps from before the end: a → b", 0.0),
        ("perhaps same, 70%: a → b", 0.0),
        ("perhaps detail, 70%: a → b", 0.0),
        ("a doubt: a → b", 0.0),
        (None, 0.0),
    ],
)
def test_the_newer_counts_as_much_as_it_may_replace_the_older(
    hippo: Hippocampe, pair: tuple[str, str], reason: str | None, probability: float
) -> None:
    old, new = pair
    alone = scores(hippo)
    hippo.associate(new, old, "related_to", scope=HOME, reason=reason, review=True)
    after = scores(hippo)
    found = 0.75 * alone[NEW] if probability else 0.0
    likely = probability + (1 - probability) * found
    assert after[OLD] == pytest.approx(alone[OLD] * (1 - likely))
    assert after[NEW] == pytest.approx(max(alone[NEW], likely * alone[OLD]))
    assert alone[OLD] > max(alone[NEW], 0.2)
    assert next(iter(after)) == (NEW if likely > 0.5 else OLD)


def test_it_counts_within_the_space_only(hippo: Hippocampe, pair: tuple[str, str]) -> None:
    old, new = pair
    hippo.associate(new, old, "related_to", scope=HOME, reason="perhaps update, 70%: a → b", review=True)  # fmt: skip
    there = Scope(space="work", user="ana")
    hippo.remember(OLD, scope=there)
    assert hippo.recall(QUESTION, scope=there)[0].score > scores(hippo)[OLD]


def test_an_older_statement_told_again_counts_as_the_newer(
    hippo: Hippocampe, pair: tuple[str, str], clock: FakeClock
) -> None:
    old, new = pair
    alone = scores(hippo)
    hippo.associate(new, old, "related_to", scope=HOME, reason="perhaps update, 70%: a → b", review=True)  # fmt: skip
    clock.advance(days=2)
    assert hippo.remember(OLD, scope=HOME).action == "reinforced"
    after = scores(hippo)
    assert after[NEW] == pytest.approx(alone[NEW] * 0.3, abs=0.02)
    assert after[OLD] > alone[OLD] * 0.9


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        ("The meeting is in room 4", "We meet at the café", "Where is the meeting?"),
        ("La réunion du lundi est en salle 4", "On se réunit au café", "Où est la réunion ?"),
    ],
)
def test_the_newer_comes_first_if_the_question_finds_it_by_itself(
    hippo: Hippocampe, old: str, new: str, question: str
) -> None:
    first, second = (hippo.remember(each, scope=HOME).memory.id for each in (old, new))
    before = hippo.recall(question, scope=HOME)
    hippo.associate(second, first, "related_to", scope=HOME, reason="perhaps update, 30%: a → b", review=True)  # fmt: skip
    after = hippo.recall(question, scope=HOME)
    assert [[each.content for each in found] for found in (before, after)] == [
        [old, new],
        [new, old],
    ]
