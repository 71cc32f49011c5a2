"""Restoring, editing and settling by hand leave no two current memories at odds."""

from datetime import timedelta

import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.types import Memory


@pytest.fixture
def hippo(hashed: None, open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:64")


def contents(hippo: Hippocampe, scope: Scope) -> list[str]:
    return sorted(memory.content for memory in hippo.recent(100, scope=scope))


def add(hippo: Hippocampe, scope: Scope, content: str, **more: object) -> Memory:
    return hippo.remember(content, scope=scope, **more).memory  # type: ignore[arg-type]


@pytest.mark.parametrize("state", ["superseded", "deleted"])
def test_restoring_supersedes_what_contradicts(hippo: Hippocampe, scope: Scope, state: str) -> None:
    old = add(hippo, scope, "David habite à Ordizan")
    if state == "deleted":
        hippo.delete(old.id, scope=scope, reason="faux")
    new = add(hippo, scope, "David habite à Toulouse")
    hippo.restore(old.id, scope=scope)
    assert contents(hippo, scope) == ["David habite à Ordizan"]
    lost = hippo.get(new.id, scope=scope)
    assert lost.superseded_by == old.id
    history = hippo.history(old.id, scope=scope)
    assert {version.id for version in history.versions} == {old.id, new.id}
    (edge,) = [edge for edge in history.associations if edge.source_id == old.id]
    assert (edge.target_id, edge.kind) == (new.id, "updates")
    assert edge.reason == "home: toulouse → ordizan"
    assert hippo.verify().ok


def test_an_unknown_id_says_where_the_ids_of_forgotten_items_are(
    hippo: Hippocampe, scope: Scope
) -> None:
    with pytest.raises(NotFound, match="nothing with id 'nope' to restore: list --state forgotten"):
        hippo.restore("nope", scope=scope)


def test_two_memories_can_take_turns(hippo: Hippocampe, scope: Scope) -> None:
    old = add(hippo, scope, "David habite à Ordizan")
    new = add(hippo, scope, "David habite à Toulouse")
    for back in (old, new, old, new):
        hippo.restore(back.id, scope=scope)
        assert contents(hippo, scope) == [back.content]
    assert hippo.verify().ok


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("David habite à Ordizan", "David a déménagé à Toulouse"),
        ("David lives in Lyon", "David moved to Toulouse"),
    ],
)
def test_what_a_person_restored_stays_when_its_former_successor_is_erased(
    hippo: Hippocampe, scope: Scope, first: str, then: str
) -> None:
    old, wrong = add(hippo, scope, first), add(hippo, scope, then)
    assert wrong.id == hippo.get(old.id, scope=scope).superseded_by
    hippo.restore(old.id, scope=scope)
    assert hippo.erase(id=wrong.id, scope=scope).ids == (wrong.id,)
    assert contents(hippo, scope) == [first]
    assert hippo.verify().ok


def test_what_replaced_a_memory_is_erased_with_it(hippo: Hippocampe, scope: Scope) -> None:
    towns = ("Ordizan", "Toulouse", "Tarbes")
    first, second, third = (add(hippo, scope, f"David habite à {town}").id for town in towns)
    assert set(hippo.erase(id=first, dry_run=True, scope=scope).ids) == {first, second, third}
    hippo.restore(second, scope=scope)
    assert set(hippo.erase(id=first, dry_run=True, scope=scope).ids) == {first, second, third}
    assert hippo.erase(id=third, dry_run=True, scope=scope).ids == (third,)


@pytest.mark.parametrize(
    ("language", "content", "told"),
    [
        ("fr", "Paul joue du tuba", "(il y a 10 jours)"),
        ("en", "Paul plays the tuba", "(10 days ago)"),
    ],
)
def test_a_deletion_that_is_undone_confirms_nothing(
    hippo: Hippocampe, clock: FakeClock, language: str, content: str, told: str
) -> None:
    here = Scope(user="ann", channel="lobby")
    hippo.update_settings(scope=here, language=language, hook_timeout_ms=10_000)
    kept = add(hippo, here, content, type="identity")
    clock.advance(days=9)
    hippo.delete(kept.id, scope=here, reason="faux")
    written = hippo.stats(scope=here).last_written
    assert written is not None
    assert hippo.now() - written < timedelta(minutes=1)
    clock.advance(days=1)
    restored = hippo.restore(kept.id, scope=here)
    assert isinstance(restored, Memory)
    assert restored.updated_at == kept.updated_at
    assert f"{content} {told}" in hippo.before_turn("tuba", scope=here).text


def test_an_exact_double_of_a_current_memory_is_not_restored(
    hippo: Hippocampe, scope: Scope
) -> None:
    old = add(hippo, scope, "Camille élève des abeilles")
    hippo.delete(old.id, scope=scope, reason="faux")
    new = add(hippo, scope, "camille eleve des abeilles !")
    with pytest.raises(InvalidInput, match=new.id):
        hippo.restore(old.id, scope=scope)
    assert contents(hippo, scope) == [new.content]
    assert not hippo.get(old.id, scope=scope).current
    hippo.delete(new.id, scope=scope, reason="faux")
    hippo.restore(old.id, scope=scope)
    assert contents(hippo, scope) == [old.content]


def test_restoring_takes_a_detail_back(hippo: Hippocampe, scope: Scope) -> None:
    old = add(hippo, scope, "Mickael habite à Pau")
    new = add(hippo, scope, "Mickael habite à Pau depuis le 10 janvier 2026")
    hippo.restore(old.id, scope=scope)
    assert contents(hippo, scope) == [old.content]
    assert hippo.get(new.id, scope=scope).superseded_by == old.id


def test_what_another_memory_says_with_more_detail_is_not_restored(
    hippo: Hippocampe, scope: Scope
) -> None:
    old = add(hippo, scope, "Mickael habite à Pau")
    hippo.delete(old.id, scope=scope, reason="faux")
    new = add(hippo, scope, "Mickael habite à Pau depuis le 10 janvier 2026")
    with pytest.raises(InvalidInput, match=new.id):
        hippo.restore(old.id, scope=scope)


def test_what_no_rule_is_sure_of_goes_to_review(hippo: Hippocampe, scope: Scope) -> None:
    old = add(hippo, scope, "Camille adore son très vieux vélo rouge")
    hippo.delete(old.id, scope=scope, reason="faux")
    new = add(hippo, scope, "Camille répare son très vieux vélo rouge")
    assert hippo.reviews(scope=scope) == []
    hippo.restore(old.id, scope=scope)
    (review,) = hippo.reviews(scope=scope)
    assert (review.memory.id, review.other.id) == (old.id, new.id)


def test_a_replacement_by_order_goes_to_review(hippo: Hippocampe, scope: Scope) -> None:
    old = add(hippo, scope, "On part le samedi matin")
    between = add(hippo, scope, "Le départ est reporté", replaces=[old.id])
    new = add(hippo, scope, "Camille garde les enfants", replaces=[between.id])
    hippo.restore(old.id, scope=scope)
    (review,) = hippo.reviews(scope=scope)
    assert (review.memory.id, review.other.id) == (old.id, new.id)
    assert review.reason == "had superseded it"


def test_a_settled_pair_is_not_listed_again(hippo: Hippocampe, scope: Scope) -> None:
    old = add(hippo, scope, "On part le samedi matin")
    new = add(hippo, scope, "Le départ est reporté", replaces=[old.id])
    hippo.restore(old.id, scope=scope)
    hippo.settle(old.id, new.id, scope=scope)
    hippo.delete(old.id, scope=scope, reason="faux")
    hippo.restore(old.id, scope=scope)
    assert hippo.reviews(scope=scope) == []


def test_a_decision_by_hand_that_is_undone_is_listed_again(hippo: Hippocampe, scope: Scope) -> None:
    old = add(hippo, scope, "On part le samedi matin")
    new = add(hippo, scope, "Le départ est reporté", replaces=[old.id])
    hippo.restore(old.id, scope=scope)
    hippo.settle(old.id, new.id, scope=scope, keep=new.id)
    assert hippo.reviews(scope=scope) == []
    hippo.restore(old.id, scope=scope)
    (review,) = hippo.reviews(scope=scope)
    assert {review.memory.id, review.other.id} == {old.id, new.id}
    assert review.memory.current and review.other.current


@pytest.mark.parametrize(
    ("collection", "category"), [("self", "context"), ("goal", "understanding")]
)
def test_self_and_goals_are_restored_by_the_same_rule(
    hippo: Hippocampe, scope: Scope, collection: str, category: str
) -> None:
    where = {"collection": collection, "category": category}
    first = add(hippo, scope, "David habite à Ordizan", **where)
    second = add(hippo, scope, "David habite à Toulouse", **where)
    assert hippo.restore(first.id, scope=scope)
    assert hippo.get(second.id, scope=scope).superseded_by == first.id
    hippo.delete(first.id, scope=scope, reason="faux")
    double = add(hippo, scope, "David habite à Ordizan", **where)
    with pytest.raises(InvalidInput, match=double.id):
        hippo.restore(first.id, scope=scope)


def test_the_holder_of_the_key_is_superseded(hippo: Hippocampe, scope: Scope) -> None:
    old = add(hippo, scope, "thé", key="boisson")
    hippo.delete(old.id, scope=scope, reason="faux")
    new = add(hippo, scope, "café", key="boisson")
    hippo.restore(old.id, scope=scope)
    assert hippo.facts(scope=scope)["boisson"].id == old.id
    assert hippo.get(new.id, scope=scope).superseded_by == old.id


# Edits


@pytest.mark.parametrize("content", ["David habite à Pau", "david habite a pau."])
def test_an_edit_to_an_exact_double_is_refused(
    hippo: Hippocampe, scope: Scope, content: str
) -> None:
    one = add(hippo, scope, "David habite à Pau")
    other = add(hippo, scope, "Camille élève des abeilles")
    with pytest.raises(InvalidInput, match=one.id):
        hippo.edit(other.id, scope=scope, content=content)
    assert hippo.get(other.id, scope=scope) == other
    again = hippo.edit(one.id, scope=scope, content=content)
    assert again.content == content


def test_an_edit_supersedes_what_it_contradicts(hippo: Hippocampe, scope: Scope) -> None:
    wrong = add(hippo, scope, "David habite à Pau")
    other = add(hippo, scope, "Davide habite à Lyon")
    hippo.edit(other.id, scope=scope, content="David habite à Lyon")
    assert contents(hippo, scope) == ["David habite à Lyon"]
    assert hippo.get(wrong.id, scope=scope).superseded_by == other.id
    assert hippo.verify().ok


def test_an_edit_of_a_type_brings_its_importance(hippo: Hippocampe, scope: Scope) -> None:
    usual = add(hippo, scope, "Camille élève des abeilles")
    chosen = add(hippo, scope, "Owen a un voilier bleu", importance=0.1)
    assert hippo.edit(usual.id, scope=scope, type="identity").importance == 1.0
    assert hippo.edit(chosen.id, scope=scope, type="identity").importance == 0.1
    assert hippo.edit(chosen.id, scope=scope, type="event", importance=0.0).importance == 0.0


def test_settling_for_one_keeps_the_key(hippo: Hippocampe, scope: Scope) -> None:
    lost = add(hippo, scope, "thé", key="boisson")
    kept = add(hippo, scope, "Camille boit du café")
    hippo.settle(lost.id, kept.id, scope=scope, keep=kept.id)
    assert hippo.facts(scope=scope)["boisson"].id == kept.id
    assert contents(hippo, scope) == [kept.content]
    assert hippo.verify().ok


# Updates


def test_an_update_keeps_what_was_not_given(hippo: Hippocampe, scope: Scope) -> None:
    old = add(
        *(hippo, scope, "David habite à Pau"),
        type="identity",
        importance=0.35,
        subjects=["david", "famille"],
    )
    new = hippo.remember("David habite à Lyon", scope=scope)
    assert new.replaced == (old.id,)
    kept = new.memory
    assert (kept.type, kept.importance, kept.subjects) == ("identity", 0.35, ("david", "famille"))
    assert hippo.get(kept.id, scope=scope) == kept


def test_an_update_takes_what_was_given(hippo: Hippocampe, scope: Scope) -> None:
    add(hippo, scope, "David habite à Pau", type="identity", subjects=["famille"])
    given = add(
        *(hippo, scope, "David habite à Lyon"),
        type="event",
        importance=0.9,
        subjects=["lyon"],
    )
    assert (given.type, given.importance, given.subjects) == ("event", 0.9, ("lyon",))


@pytest.mark.parametrize(("importance", "expected"), [(None, 0.7), (0.2, 0.2)])
def test_a_new_type_brings_its_importance_unless_one_was_chosen(
    hippo: Hippocampe, scope: Scope, importance: float | None, expected: float
) -> None:
    add(hippo, scope, "David habite à Pau", importance=importance)
    assert add(hippo, scope, "David habite à Lyon", type="preference").importance == expected


def test_an_update_keeps_the_category(hippo: Hippocampe, scope: Scope) -> None:
    where = {"collection": "self", "category": "context", "key": "home"}
    add(hippo, scope, "Je vis dans un salon", **where)
    new = hippo.set_fact("home", "Je vis dans un jardin", scope=scope).memory
    assert (new.collection, new.category) == ("self", "context")
    said = hippo.remember("Je vis sur un toit", scope=scope, collection="self", key="home").memory
    assert said.category == "context"
    with pytest.raises(InvalidInput, match="needs a category"):
        hippo.remember("Je sais compter", scope=scope, collection="self")


def test_of_several_the_most_important_counts(hippo: Hippocampe, scope: Scope) -> None:
    first = add(hippo, scope, "Camille joue du violon", type="event", subjects=["violon"])
    second = add(hippo, scope, "Owen a un voilier bleu", type="identity", subjects=["voilier"])
    both = add(hippo, scope, "Ils ont tout vendu", replaces=[first.id, second.id])
    assert (both.type, both.importance) == ("identity", 1.0)
    assert set(both.subjects) == {"violon", "voilier"}


def test_repeating_does_not_raise_a_low_importance_to_the_default(
    hippo: Hippocampe, scope: Scope
) -> None:
    add(hippo, scope, "Camille élève des abeilles", importance=0.1)
    again = add(hippo, scope, "Camille élève des abeilles")
    assert again.importance == pytest.approx(0.19)


def test_what_was_known_beside_a_forgotten_memory_stays(
    open_hippo: Opener, clock: FakeClock
) -> None:
    hippo, ana = open_hippo(), Scope(user="ana", channel="lobby")
    better = hippo.remember("Luc va mieux, son plâtre est enlevé", scope=ana).memory
    clock.advance(minutes=1)
    forty = hippo.remember("Luc fête ses 40 ans en mai", scope=ana).memory
    clock.advance(days=8)
    hippo.delete(better.id, scope=ana, reason="essai")
    hippo.restore(better.id, scope=ana)
    assert {each.id for each in hippo.memories(scope=ana).items} == {better.id, forty.id}
