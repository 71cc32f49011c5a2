"""The latest turns, served again under changed settings."""

import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Injection, InvalidInput, Scope

HERE = Scope(user="dev", channel="lobby")


@pytest.fixture
def hippo(hashed: None, open_hippo: Opener) -> Hippocampe:
    hippo = open_hippo(embedder="hashed:64")
    hippo.update_settings(scope=HERE, recent_hours=0)
    for number in range(4):
        hippo.remember(f"règle {number} du phare", scope=HERE, type="decision")
    return hippo


def contents(injection: Injection) -> set[str]:
    return {each.content for each in injection.items}


def test_a_change_is_tried_on_the_latest_turns(hippo: Hippocampe, clock: FakeClock) -> None:
    for greeting in ("bonjour", "salut", "coucou"):
        hippo.before_turn(greeting, scope=Scope(user="dev", channel=greeting))
        clock.advance(hours=1)
    tried = hippo.try_settings(scope=HERE, limit=2, always_on_limit=3)
    assert [each.retrieval.message_preview for each in tried] == ["coucou", "salut"]
    for each in tried:
        assert (len(each.before.items), len(each.after.items)) == (4, 1)
        assert contents(each.after) < contents(each.before)
        assert each.after.tokens < each.before.tokens
        assert {one.part for one in each.before.trace.considered} == {"always_on"}


def test_a_turn_does_not_see_what_came_after_it(hippo: Hippocampe, clock: FakeClock) -> None:
    hippo.before_turn("où est la barque ?", scope=HERE)
    clock.advance(hours=1)
    hippo.after_turn("où est la barque ?", "au port", scope=HERE)
    hippo.remember("la barque est vendue", scope=HERE, type="decision")
    (tried,) = hippo.try_settings(scope=HERE, always_on_limit=60)
    assert len(tried.before.items) == 4
    assert not any("barque" in content for content in contents(tried.after))


def test_what_a_person_was_given_before_is_not_given_again(hippo: Hippocampe) -> None:
    for _ in range(3):
        hippo.before_turn("bonjour", scope=HERE)
    latest, middle, first = hippo.try_settings(scope=HERE, context_window_depth=1)
    assert [len(each.before.items) for each in (first, middle, latest)] == [4, 0, 0]
    assert [len(each.after.items) for each in (first, middle, latest)] == [4, 4, 4]


def test_it_changes_nothing(hippo: Hippocampe) -> None:
    hippo.before_turn("bonjour", scope=HERE)
    before = hippo.settings(scope=HERE), hippo.memories(scope=HERE), hippo.retrievals(scope=HERE)
    assert hippo.try_settings(scope=HERE, auto_retrieve_enabled=False)[0].after.items == ()
    unchanged = hippo.try_settings(scope=HERE)[0]
    assert unchanged.before == unchanged.after
    assert before == (
        hippo.settings(scope=HERE),
        hippo.memories(scope=HERE),
        hippo.retrievals(scope=HERE),
    )


def test_turns_that_were_switched_off_show_what_they_would_get(hippo: Hippocampe) -> None:
    hippo.update_settings(scope=HERE, auto_retrieve_enabled=False)
    hippo.before_turn("bonjour", scope=HERE)
    (tried,) = hippo.try_settings(scope=HERE, auto_retrieve_enabled=True)
    assert (len(tried.before.items), len(tried.after.items)) == (0, 4)


def test_a_value_that_cannot_be_is_refused(hippo: Hippocampe) -> None:
    with pytest.raises(InvalidInput, match="always_on_limit"):
        hippo.try_settings(scope=HERE, always_on_limit=1_000)
    with pytest.raises(InvalidInput, match="limit"):
        hippo.try_settings(scope=HERE, limit=0)
