"""A message that asks for several things gets less likely results beside a likely one."""

from datetime import UTC, datetime, timedelta

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.injection.channel_history import Channel
from hippocampe.injection.selection import Candidate, select
from hippocampe.types import Recollection, Settings

NOW = datetime(2026, 1, 20, 11, tzinfo=UTC)


def candidate(score: float, *, several: bool = True) -> Candidate:
    item = Recollection(f"scored {score}", "memory", "a memory", score)
    return Candidate("search", item, None, several=several)


def outcomes(candidates: list[Candidate]) -> list[str]:
    channel = Channel()
    with channel.lock:
        channel.begin(NOW, depth=5, session=timedelta(minutes=30))
        select(candidates, channel, Settings())
    return [each.outcome for each in candidates]


def test_a_likely_one_lets_less_likely_ones_through() -> None:
    found = [candidate(0.7), candidate(0.04), candidate(0.02)]
    assert outcomes(found) == ["injected", "injected", "below_threshold"]


def test_nothing_likely_lets_nothing_through() -> None:
    assert outcomes([candidate(0.19), candidate(0.04)]) == ["below_threshold", "below_threshold"]


def test_a_message_that_asks_for_one_thing_keeps_its_limits() -> None:
    found = [candidate(score, several=False) for score in (0.9, 0.8, 0.7, 0.6, 0.5, 0.1)]
    assert outcomes(found) == ["injected"] * 4 + ["too_many", "below_threshold"]
    found = [candidate(score) for score in (0.9, 0.8, 0.7, 0.6, 0.5, 0.1)]
    assert outcomes(found) == ["injected"] * 6


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("told", "question"),
    [
        (
            {
                "maud": "Je suis allergique aux noix",
                "theo": "Théo ne mange pas de porc",
                "lina": "Le lait me rend malade",
            },
            "qui ne peut pas manger quoi dans la bande ?",
        ),
        (
            {
                "maud": "I'm off to Norway from the 3rd to the 9th of August",
                "theo": "Theo works all through August",
                "lina": "Lina spends the second week of August at her aunt's",
            },
            "what are everyone's plans for august",
        ),
    ],
)
def test_all_answers_of_a_list_are_given(
    hippo: Hippocampe, told: dict[str, str], question: str
) -> None:
    for user, text in told.items():
        hippo.remember(text, scope=Scope(user=user, channel="room"))
    hippo.remember("Le vélo de Maud est rouge", scope=Scope(user="maud", channel="room"))
    hippo.update_settings(scope=Scope(), hook_timeout_ms=10_000, recent_hours=0, always_on_limit=0)
    given = hippo.before_turn(question, scope=Scope(user="sam", channel="room"))
    assert {each.content for each in given.items} >= set(told.values())


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("told", "question"),
    [
        (
            ("J'ai lu La Peste de Camus, un choc", "J'ai lu L'Étranger en deux soirs"),
            "combien de livres j'ai lus ?",
        ),
        (
            ("I've read Beloved by Toni Morrison", "I finished reading Dune last night"),
            "how many books have I read?",
        ),
    ],
)
def test_all_that_is_counted_is_given(
    hippo: Hippocampe, told: tuple[str, ...], question: str
) -> None:
    ana, bob = (Scope(user=user, channel="room") for user in ("ana", "bob"))
    for text in told:
        hippo.remember(text, scope=ana)
    hippo.remember("Je joue au tennis le jeudi", scope=bob)
    hippo.update_settings(
        scope=Scope(),
        auto_retrieve_min_score=Settings().auto_retrieve_min_score,
        recent_hours=0,
        always_on_limit=0,
    )
    given = hippo.before_turn(question, scope=ana)
    assert {each.content for each in given.items} == set(told)
