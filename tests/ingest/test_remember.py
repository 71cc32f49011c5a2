"""Writing: the decision table, row by row, and what else a statement carries."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.types import CATEGORIES, DEFAULT_IMPORTANCE, MAX_METADATA_KEYS, Memory


def contents(hippo: Hippocampe, scope: Scope) -> set[str]:
    return {memory.content for memory in hippo.recent(100, scope=scope)}


def found(hippo: Hippocampe, query: str, scope: Scope) -> set[str]:
    return {item.content for item in hippo.recall(query, scope=scope, limit=50)}


# The table


def test_a_first_statement_is_inserted_and_found(hippo: Hippocampe, scope: Scope) -> None:
    done = hippo.remember("Camille élève des abeilles", scope=scope)
    assert (done.action, done.replaced, done.similarity) == ("inserted", (), None)
    assert done.memory == hippo.get(done.memory.id, scope=scope)
    assert found(hippo, "qui a des ruches ?", scope) == {"Camille élève des abeilles"}


def test_a_key_written_again_replaces_its_value(hippo: Hippocampe, scope: Scope) -> None:
    old = hippo.remember("Mickael", scope=scope, key="user_name")
    new = hippo.remember("Michel", scope=scope, key="user_name")
    assert (new.action, new.replaced, new.reason) == ("updated", (old.memory.id,), "same key")
    assert {key: memory.content for key, memory in hippo.facts(scope=scope).items()} == {
        "user_name": "Michel"
    }
    history = hippo.history(new.memory.id, scope=scope)
    assert [memory.content for memory in history.versions] == ["Mickael", "Michel"]
    assert history.versions[0].superseded_at == new.memory.created_at


@pytest.mark.parametrize("by", ["key", "id", "rule"])
def test_a_correction_replaces_what_a_clock_ahead_stored(
    hippo: Hippocampe, scope: Scope, clock: FakeClock, by: str
) -> None:
    old = hippo.set_fact("city", "I live in Paris", scope=scope).memory
    clock.advance(seconds=-2)
    key = "city" if by == "key" else None
    replaces = [old.id] if by == "id" else []
    done = hippo.remember("I moved to Toulouse", scope=scope, key=key, replaces=replaces)
    assert (done.action, done.replaced) == ("updated", (old.id,))
    assert hippo.facts(scope=scope)["city"].id == done.memory.id
    first, last = hippo.history(done.memory.id, scope=scope).versions
    assert (first.id, first.superseded_at) == (old.id, last.created_at)
    assert last.created_at >= old.created_at


def test_named_memories_are_replaced(hippo: Hippocampe, scope: Scope) -> None:
    first = hippo.remember("Camille joue du violon", scope=scope).memory
    second = hippo.remember("Owen a un voilier bleu", scope=scope).memory
    both = hippo.remember("Ils ont tout vendu", scope=scope, replaces=[first.id, second.id])
    assert both.action == "updated"
    assert set(both.replaced) == {first.id, second.id}
    assert contents(hippo, scope) == {"Ils ont tout vendu"}
    assert found(hippo, "violon ou voilier", scope) == {"Ils ont tout vendu"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Camille joue du violon", "Camille a vendu tous ses instruments"),
        ("Owen keeps a boat in Brest", "Owen gave up on sailing"),
    ],
)
def test_a_replacement_that_is_repeated_is_made_once(
    hippo: Hippocampe, scope: Scope, old: str, new: str
) -> None:
    first = hippo.remember(old, scope=scope).memory
    second = hippo.remember(new, scope=scope, replaces=[first.id]).memory
    # The process was killed before it could answer.
    again = hippo.remember(new, scope=scope, replaces=[first.id])
    assert (again.action, again.memory.id) == ("reinforced", second.id)
    assert contents(hippo, scope) == {new}
    with pytest.raises(NotFound, match="cannot replace"):
        hippo.remember("Nina a une guitare", scope=scope, replaces=[first.id])
    with pytest.raises(NotFound, match="cannot replace"):
        hippo.remember(new, scope=scope, replaces=[first.id, second.id])


@pytest.mark.parametrize("state", ["unknown", "deleted", "of another space"])
def test_only_current_memories_of_the_space_can_be_replaced(
    hippo: Hippocampe, scope: Scope, state: str
) -> None:
    old = hippo.remember("Camille joue du violon", scope=scope).memory
    here = Scope(space="ailleurs") if state == "of another space" else scope
    if state == "deleted":
        hippo.delete(old.id, scope=scope, reason="faux")
    id = "0198a000-0000-7000-8000-000000000000" if state == "unknown" else old.id
    with pytest.raises(NotFound, match="cannot replace"):
        hippo.remember("Camille joue de l'alto", scope=here, replaces=[id])
    assert "Camille joue de l'alto" not in contents(hippo, here)


@pytest.mark.parametrize(
    "again",
    ["camille eleve des abeilles", "Camille  élève des abeilles !", "CAMILLE ÉLÈVE DES ABEILLES."],
)
def test_the_same_words_reinforce(
    hippo: Hippocampe, scope: Scope, clock: FakeClock, again: str
) -> None:
    old = hippo.remember("Camille élève des abeilles", scope=scope, subjects=["camille"]).memory
    clock.advance(days=3)
    done = hippo.remember(again, scope=scope, subjects=["ruches"], evidence=["m1"])
    assert done.action == "reinforced"
    assert done.memory.id == old.id
    assert done.memory.content == old.content
    assert old.importance < done.memory.importance < 1
    assert done.memory.access_count == old.access_count + 1
    assert done.memory.updated_at > old.updated_at
    assert done.memory.subjects == ("camille", "ruches")
    assert done.memory.evidence == ("m1",)
    assert contents(hippo, scope) == {old.content}
    assert hippo.recall("abeilles", scope=scope, subjects=["ruches"])[0].id == old.id


def test_reinforcing_takes_the_higher_importance(hippo: Hippocampe, scope: Scope) -> None:
    hippo.remember("Camille élève des abeilles", scope=scope, importance=0.2)
    done = hippo.remember("Camille élève des abeilles", scope=scope, importance=0.9)
    assert 0.9 < done.memory.importance <= 1


@pytest.mark.parametrize("said", ["Je m'appelle Camille", "My name is Camille"])
def test_reinforcing_takes_the_type_that_is_given(
    hippo: Hippocampe, scope: Scope, said: str
) -> None:
    hippo.remember(said, scope=scope)
    done = hippo.remember(said, scope=scope, type="identity")
    assert (done.action, done.memory.type, done.memory.importance) == (
        "reinforced",
        "identity",
        1.0,
    )
    assert hippo.remember(said, scope=scope).memory.type == "identity"


@pytest.mark.parametrize("said", ["J'ai vu le dentiste", "I saw the dentist"])
def test_reinforcing_fills_in_when_it_happened(
    hippo: Hippocampe, scope: Scope, clock: FakeClock, said: str
) -> None:
    happened = clock() - timedelta(days=9)
    hippo.remember(said, scope=scope)
    clock.advance(days=3)
    # It happened before it was told the first time.
    later = hippo.remember(said, scope=scope, occurred_at=clock() - timedelta(days=1))
    assert (later.action, later.memory.occurred_at) == ("reinforced", None)
    done = hippo.remember(said, scope=scope, occurred_at=happened)
    assert (done.action, done.memory.occurred_at) == ("reinforced", happened)
    assert hippo.recall(said, scope=scope)[0].at == happened
    kept = hippo.remember(said, scope=scope, occurred_at=happened - timedelta(days=1))
    assert kept.memory.occurred_at == happened


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        ("Camille habite à Lourdes", "Camille habite à Lourdes", "reinforced"),
        ("Camille habite à Lourdes", "Camille a déménagé à Pau", "updated"),
        ("Camille lives in Leeds", "Camille moved to York", "updated"),
    ],
)
def test_metadata_that_is_inherited_never_refuses_what_is_given(
    hippo: Hippocampe, scope: Scope, old: str, new: str, action: str
) -> None:
    hippo.remember(old, scope=scope, metadata={f"old {n}": n for n in range(20)})
    given = {f"new {n}": n for n in range(20)} | {"old 19": "given"}
    done = hippo.remember(new, scope=scope, metadata=given)
    assert done.action == action
    merged = done.memory.metadata
    assert given.items() <= merged.items()
    assert len(merged) == MAX_METADATA_KEYS
    assert hippo.get(done.memory.id, scope=scope).metadata == merged
    large = {"large": "x" * 4_000}
    assert "large" in hippo.remember(new, scope=scope, metadata=large).memory.metadata


@pytest.mark.parametrize(
    ("first", "second", "days"),
    [("1d", "7d", 7), ("7d", "1d", 7), ("1d", None, None), (None, "1d", None)],
)
def test_reinforcing_keeps_the_later_expiry(
    hippo: Hippocampe, scope: Scope, clock: FakeClock, first: str, second: str, days: int | None
) -> None:
    start = clock.now
    hippo.remember("Owen dort chez Camille", scope=scope, ttl=first)
    done = hippo.remember("Owen dort chez Camille", scope=scope, ttl=second)
    expires = done.memory.expires_at
    if days is None:
        assert expires is None
    else:
        assert expires is not None
        assert abs(expires - start - timedelta(days=days)) < timedelta(minutes=1)


def test_what_has_expired_is_not_reinforced(
    hippo: Hippocampe, scope: Scope, clock: FakeClock
) -> None:
    old = hippo.remember("Owen dort chez Camille", scope=scope, ttl="1h").memory
    clock.advance(hours=2)
    new = hippo.remember("Owen dort chez Camille", scope=scope)
    assert new.action == "inserted"
    assert new.memory.id != old.id


def test_detail_updates(hippo: Hippocampe, scope: Scope) -> None:
    old = hippo.remember("Mickael s'est cassé l'épaule", scope=scope, subjects=["mickael"])
    new = hippo.remember("Mickael s'est cassé l'épaule le 10 janvier 2026", scope=scope)
    assert new.action == "updated"
    assert new.replaced == (old.memory.id,)
    assert new.memory.subjects == ("mickael",)
    assert contents(hippo, scope) == {"Mickael s'est cassé l'épaule le 10 janvier 2026"}


def test_other_people_and_other_facts_stay(hippo: Hippocampe, scope: Scope) -> None:
    three = ["David habite à Paris", "David a un fils", "Mickael habite à Paris"]
    assert [hippo.remember(each, scope=scope).action for each in three] == ["inserted"] * 3
    assert contents(hippo, scope) == set(three)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("David habite à Ordizan", "David a déménagé à Toulouse"),
        ("David lives in Ordizan", "David has moved to Toulouse"),
        ("Nora works at Google", "Nora just joined Microsoft"),
        ("Nora travaille chez Airbus", "Nora travaille chez Thales"),
        ("Owen is married to Iris", "Owen is not married to Iris"),
        ("Camille aime le fromage", "Camille n'aime pas le fromage"),
        ("La réunion est à 14 h dans la salle bleue", "La réunion est à 16 h dans la salle bleue"),
        ("Léa habite à Ordizan", "LÉA A DÉMÉNAGÉ À TOULOUSE !"),
        ("Owen's next shift starts at 9 on Monday", "OWEN'S NEXT SHIFT STARTS AT 11 ON MONDAY"),
    ],
)
def test_another_value_updates(hippo: Hippocampe, scope: Scope, old: str, new: str) -> None:
    before = hippo.remember(old, scope=scope).memory
    done = hippo.remember(new, scope=scope)
    assert done.action == "updated"
    assert contents(hippo, scope) == {new}
    history = hippo.history(before.id, scope=scope)
    assert [memory.content for memory in history.versions] == [old, new]
    (edge,) = history.associations
    assert (edge.kind, edge.source_id, edge.target_id) == ("updates", done.memory.id, before.id)
    assert edge.reason == done.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("David prête sa voiture à Mickael", "Mickael prête sa voiture à David"),
        ("Alice lends her bike to Bob", "Bob lends her bike to Alice"),
    ],
)
def test_what_differs_in_a_role_is_kept_and_linked(
    hippo: Hippocampe, scope: Scope, old: str, new: str
) -> None:
    first = hippo.remember(old, scope=scope).memory
    done = hippo.remember(new, scope=scope)
    assert done.action == "inserted"
    assert contents(hippo, scope) == {old, new}
    edges = hippo.history(done.memory.id, scope=scope).associations
    assert [(edge.kind, edge.target_id) for edge in edges] == [("related_to", first.id)]


def unsure_pair(hippo: Hippocampe, scope: Scope) -> tuple[Memory, Memory]:
    first = hippo.remember("Camille adore son vieux vélo rouge", scope=scope).memory
    second = hippo.remember("Camille répare son vieux vélo rouge", scope=scope)
    assert second.action == "inserted"
    return first, second.memory


def test_what_no_rule_is_sure_of_is_listed_for_review(hippo: Hippocampe, scope: Scope) -> None:
    first, second = unsure_pair(hippo, scope)
    (review,) = hippo.reviews(scope=scope)
    assert {review.memory.id, review.other.id} == {first.id, second.id}
    assert review.reason
    assert hippo.stats(scope=scope).reviews == 1
    assert hippo.reviews(scope=Scope(space="ailleurs")) == []
    hippo.delete(first.id, scope=scope, reason="it was sold")
    assert hippo.reviews(scope=scope) == []
    assert hippo.stats(scope=scope).reviews == 0


def test_settling_a_review_keeps_both(hippo: Hippocampe, scope: Scope) -> None:
    first, second = unsure_pair(hippo, scope)
    hippo.settle(first.id, second.id, scope=scope)
    assert hippo.reviews(scope=scope) == []
    assert contents(hippo, scope) == {first.content, second.content}


def test_settling_a_review_for_one_supersedes_the_other(hippo: Hippocampe, scope: Scope) -> None:
    first, second = unsure_pair(hippo, scope)
    hippo.settle(first.id, second.id, scope=scope, keep=first.id)
    assert contents(hippo, scope) == {first.content}
    assert hippo.get(second.id, scope=scope).superseded_by == first.id
    assert found(hippo, "vélo", scope) == {first.content}
    with pytest.raises(NotFound, match="no longer current"):
        hippo.settle(first.id, second.id, scope=scope, keep=second.id)
    assert hippo.verify().ok


@pytest.mark.parametrize("keep", ["other", "itself"])
def test_a_review_cannot_be_settled_for_nonsense(
    hippo: Hippocampe, scope: Scope, keep: str
) -> None:
    first, second = unsure_pair(hippo, scope)
    pair = (first.id, first.id) if keep == "itself" else (first.id, second.id)
    with pytest.raises(InvalidInput):
        hippo.settle(*pair, scope=scope, keep=first.id if keep == "itself" else "x")
    assert contents(hippo, scope) == {first.content, second.content}


# Where like is compared with like


def test_nothing_crosses_spaces(hippo: Hippocampe, scope: Scope) -> None:
    there = Scope(space="ailleurs")
    for where in (scope, there):
        assert hippo.remember("David habite à Ordizan", scope=where).action == "inserted"
        assert hippo.remember("thé", scope=where, key="boisson").action == "inserted"
    hippo.remember("David a déménagé à Toulouse", scope=there)
    assert contents(hippo, scope) == {"David habite à Ordizan", "thé"}
    assert contents(hippo, there) == {"David a déménagé à Toulouse", "thé"}


def test_nothing_crosses_collections_nor_categories(hippo: Hippocampe, scope: Scope) -> None:
    said = "Eko sait lire les cartes marines"
    places = [
        {"collection": "memory"},
        {"collection": "self", "category": "capability"},
        {"collection": "self", "category": "limitation"},
        {"collection": "goal", "category": "capability_request"},
    ]
    for place in places:
        assert hippo.remember(said, scope=scope, **place).action == "inserted"
    for place in places:
        assert hippo.remember(said, scope=scope, **place).action == "reinforced"
    counted = hippo.stats(scope=scope)
    assert counted.memories == {"memory": 1, "self": 2, "goal": 1}
    assert counted.categories == {
        "self/capability": 1,
        "self/limitation": 1,
        "goal/capability_request": 1,
    }


def test_the_same_value_under_two_keys_is_two_facts(hippo: Hippocampe, scope: Scope) -> None:
    hippo.set_fact("aime_le_ski", "oui", scope=scope)
    hippo.set_fact("aime_la_mer", "oui", scope=scope)
    assert set(hippo.facts(scope=scope)) == {"aime_le_ski", "aime_la_mer"}


@pytest.mark.parametrize("same", [" prénom ", "pre\u0301nom", "prénom\x07"])
def test_a_key_has_one_form(hippo: Hippocampe, scope: Scope, same: str) -> None:
    hippo.set_fact("prénom", "Camille", scope=scope)
    assert hippo.set_fact(same, "Claude", scope=scope).reason == "same key"
    assert {key: memory.content for key, memory in hippo.facts(scope=scope).items()} == {
        "prénom": "Claude"
    }
    assert hippo.delete_fact(same, scope=scope).content == "Claude"
    assert hippo.facts(scope=scope) == {}


def test_a_known_statement_can_be_given_a_key(hippo: Hippocampe, scope: Scope) -> None:
    old = hippo.remember("Camille habite à Lourdes", scope=scope).memory
    done = hippo.remember("Camille habite à Lourdes", scope=scope, key="ville_de_camille")
    assert done.action == "reinforced"
    assert hippo.facts(scope=scope)["ville_de_camille"].id == old.id
    assert hippo.verify().ok


# What a statement carries


def test_every_field_is_kept(hippo: Hippocampe, scope: Scope, clock: FakeClock) -> None:
    happened = datetime(2025, 12, 24, 20, tzinfo=UTC)
    done = hippo.remember(
        "  Owen a promis un voilier à Iris\x07 ",
        scope=scope,
        type="decision",
        key="promesse",
        subjects=["Owen", "iris", "owen"],
        importance=0.25,
        ttl="2w",
        occurred_at=happened,
        source="digest",
        evidence=["m1", "m2"],
    )
    memory = hippo.get(done.memory.id, scope=scope)
    assert memory == done.memory
    assert memory.content == "Owen a promis un voilier à Iris"
    assert (memory.type, memory.key, memory.source) == ("decision", "promesse", "digest")
    assert memory.subjects == ("owen", "iris")
    assert (memory.importance, memory.evidence) == (0.25, ("m1", "m2"))
    assert (memory.user, memory.channel, memory.space) == ("dev", "lobby", "default")
    assert memory.occurred_at == happened
    assert memory.created_at == memory.updated_at <= clock.now
    assert memory.expires_at == memory.created_at + timedelta(weeks=2)
    assert memory.current


@pytest.mark.parametrize(("type", "importance"), DEFAULT_IMPORTANCE.items())
def test_each_type_has_its_importance(
    hippo: Hippocampe, scope: Scope, type: str, importance: float
) -> None:
    done = hippo.remember("Camille élève des abeilles", scope=scope, type=type)
    assert (done.memory.type, done.memory.importance) == (type, importance)


@pytest.mark.parametrize(
    ("ttl", "duration"),
    [
        ("1h", timedelta(hours=1)),
        ("7d", timedelta(days=7)),
        ("30d", timedelta(days=30)),
        ("2w", timedelta(weeks=2)),
        (timedelta(minutes=5), timedelta(minutes=5)),
    ],
)
def test_a_memory_lives_for_its_time(
    hippo: Hippocampe,
    scope: Scope,
    clock: FakeClock,
    ttl: str | timedelta,
    duration: timedelta,
) -> None:
    hippo.remember("Owen dort chez Camille", scope=scope, ttl=ttl)
    clock.now += duration - timedelta(seconds=10)
    assert found(hippo, "où dort Owen ?", scope) == {"Owen dort chez Camille"}
    clock.advance(seconds=11)
    assert found(hippo, "où dort Owen ?", scope) == set()
    assert contents(hippo, scope) == set()


@pytest.mark.parametrize(
    ("collection", "category"),
    [(name, category) for name, all in CATEGORIES.items() for category in (*sorted(all), None)],
)
def test_each_drawer_takes_its_categories(
    hippo: Hippocampe, scope: Scope, collection: str, category: str | None
) -> None:
    needs = bool(CATEGORIES[collection])
    if needs and category is None:
        with pytest.raises(InvalidInput, match="needs a category"):
            hippo.remember("Eko chante", scope=scope, collection=collection)
        return
    done = hippo.remember("Eko chante", scope=scope, collection=collection, category=category)
    assert (done.memory.collection, done.memory.category) == (collection, category)
    found = hippo.recall("chanter", scope=scope, collections=[collection], category=category)
    assert [item.kind for item in found] == [collection]


@pytest.mark.parametrize(
    "said",
    [
        "dev = Mickael",
        "dev s'appelle en fait Mickael",
        "dev is also known as Mickael",
        "dev aka Mickael",
    ],
)
def test_two_names_of_one_subject(hippo: Hippocampe, scope: Scope, said: str) -> None:
    """Told apart by their names alone, the two would be two people."""
    hippo.remember("Mickael habite à Paris", scope=scope)
    hippo.remember(said, scope=scope)
    done = hippo.remember("dev habite à Ordizan", scope=scope)
    assert done.action == "updated"
    assert contents(hippo, scope) == {said, "dev habite à Ordizan"}


@pytest.mark.parametrize("said", ["obi = Mary O'Neil", "obi aka Mary O’Neil", "dart = Jo d'Arc"])
def test_a_name_with_an_apostrophe_has_aliases(hippo: Hippocampe, scope: Scope, said: str) -> None:
    nickname, _, *name = said.split()
    hippo.remember(f"{' '.join(name)} habite à Paris", scope=scope)
    hippo.remember(said, scope=scope)
    done = hippo.remember(f"{nickname} habite à Ordizan", scope=scope)
    assert done.action == "updated"


@pytest.mark.parametrize("said", ["... = Camille", "Camille = ---", "@ = Camille"])
def test_punctuation_is_no_name(hippo: Hippocampe, scope: Scope, said: str) -> None:
    hippo.remember(said, scope=scope)
    aliases = hippo._context.corpus.aliases  # pyright: ignore[reportPrivateUsage]
    assert aliases.of(scope.space) == {}


def test_a_forgotten_alias_no_longer_counts(hippo: Hippocampe, scope: Scope) -> None:
    alias = hippo.remember("dev = Mickael", scope=scope).memory
    hippo.delete(alias.id, scope=scope, reason="faux")
    hippo.remember("Mickael habite à Paris", scope=scope)
    assert hippo.remember("dev habite à Ordizan", scope=scope).action == "inserted"


# Secrets

SECRET = "Le mot de passe du wifi est Zx9!kLp2#vQ"


def test_secrets_are_masked(hippo: Hippocampe, scope: Scope) -> None:
    done = hippo.remember(SECRET, scope=scope)
    assert "Zx9!kLp2#vQ" not in done.memory.content
    assert "wifi" in done.memory.content
    assert hippo.verify(absent=["Zx9!kLp2#vQ"]).ok


def test_secrets_are_masked_in_edits_and_talk(hippo: Hippocampe, scope: Scope) -> None:
    memory = hippo.remember("Le wifi marche bien", scope=scope).memory
    hippo.edit(memory.id, scope=scope, content=SECRET)
    hippo.after_turn(SECRET, "Noté !", scope=scope)
    hippo.observe(SECRET, scope=scope)
    assert hippo.verify(absent=["Zx9!kLp2#vQ"]).ok


@pytest.mark.parametrize("by", ["remember", "edit"])
@pytest.mark.parametrize("told", [SECRET, "The gate code is Zx9!kLp2#vQ"])
def test_secrets_are_masked_beside_the_content(
    hippo: Hippocampe, scope: Scope, told: str, by: str
) -> None:
    labels: dict[str, Any] = {
        "subjects": ["wifi", "Zx9!kLp2#vQ", "AKIA" + "IOSFODNN7EXAMPLE"],
        "metadata": {"value": "Zx9!kLp2#vQ", "pin": 4829, "order": 4829},
    }
    if by == "remember":
        memory = hippo.remember(told, scope=scope, **labels).memory
    else:
        old = hippo.remember("Le wifi marche bien", scope=scope).memory
        memory = hippo.edit(old.id, scope=scope, content=told, **labels)
    masked = "[secret: password]"
    assert memory.metadata == {"value": masked, "pin": masked, "order": 4829}
    assert set(memory.subjects) >= {"wifi", masked, "[secret: api key]"}
    assert hippo.verify(absent=["Zx9!kLp2#vQ"]).ok


def test_secrets_are_masked_in_a_source(hippo: Hippocampe, scope: Scope) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA" + "a1b2"
    done = hippo.remember("Le wifi marche bien", scope=scope, source=f"bot {token}")
    assert done.memory.source == "bot [secret: API key]"
    assert hippo.verify(absent=[token]).ok


def test_secrets_are_refused_on_demand(open_hippo: Opener, scope: Scope) -> None:
    hippo = open_hippo(refuse_secrets=True)
    for write in (
        lambda: hippo.remember(SECRET, scope=scope),
        lambda: hippo.after_turn("bonjour", SECRET, scope=scope),
        lambda: hippo.observe(SECRET, scope=scope),
    ):
        with pytest.raises(InvalidInput, match="contains a secret"):
            write()
    counted = hippo.stats(scope=scope)
    assert (counted.memories, counted.messages, counted.turns) == ({}, 0, 0)


@pytest.mark.parametrize("key", ["wifi_password", "motdepasse", "code_porte", "door_code"])
@pytest.mark.parametrize("by", ["edit", "replaces"])
def test_a_key_tells_the_secrets_of_later_values(
    hippo: Hippocampe, scope: Scope, key: str, by: str
) -> None:
    fact = hippo.set_fact(key, "4821hunter", scope=scope).memory
    if by == "edit":
        hippo.edit(fact.id, scope=scope, content="4822hunter")
    else:
        hippo.remember("4822hunter", scope=scope, replaces=[fact.id])
    assert hippo.facts(scope=scope)[key].content == "[secret: password]"
    assert hippo.verify(absent=["4821hunter", "4822hunter"]).ok


def test_a_key_tells_the_secrets_to_refuse(open_hippo: Opener, scope: Scope) -> None:
    hippo = open_hippo(refuse_secrets=True)
    fact = hippo.set_fact("wifi_password", "is on the fridge", scope=scope).memory
    with pytest.raises(InvalidInput, match="contains a secret"):
        hippo.edit(fact.id, scope=scope, content="hunter3abc")
    with pytest.raises(InvalidInput, match="contains a secret"):
        hippo.remember("hunter3abc", scope=scope, replaces=[fact.id])
    assert hippo.facts(scope=scope)["wifi_password"] == fact


# By hand


def test_a_superseded_memory_comes_back(hippo: Hippocampe, scope: Scope) -> None:
    old = hippo.remember("David habite à Ordizan", scope=scope, subjects=["famille"]).memory
    new = hippo.remember("David a déménagé à Toulouse", scope=scope).memory
    back = hippo.restore(old.id, scope=scope)
    assert isinstance(back, Memory)
    assert back.current
    assert contents(hippo, scope) == {"David habite à Ordizan"}
    assert hippo.get(new.id, scope=scope).superseded_by == old.id
    assert "David habite à Ordizan" in found(hippo, "où habite David ?", scope)
    tagged = hippo.recall("habiter", scope=scope, subjects=["david"])
    assert old.id in {item.id for item in tagged}
    assert hippo.verify().ok


def test_a_deleted_memory_comes_back(hippo: Hippocampe, scope: Scope) -> None:
    memory = hippo.remember("Camille élève des abeilles", scope=scope).memory
    gone = hippo.delete(memory.id, scope=scope, reason="faux")
    assert (gone.forgotten_reason, gone.current) == ("faux", False)
    assert contents(hippo, scope) == found(hippo, "abeilles", scope) == set()
    assert hippo.history(memory.id, scope=scope).versions == (gone,)
    with pytest.raises(NotFound):
        hippo.delete(memory.id, scope=scope, reason="encore")
    hippo.restore(memory.id, scope=scope)
    assert found(hippo, "abeilles", scope) == {memory.content}
    with pytest.raises(InvalidInput, match="is current"):
        hippo.restore(memory.id, scope=scope)


def test_an_expired_memory_comes_back_for_good(
    hippo: Hippocampe, scope: Scope, clock: FakeClock
) -> None:
    memory = hippo.remember("Owen dort chez Camille", scope=scope, ttl="1h").memory
    clock.advance(hours=2)
    assert hippo.restore(memory.id, scope=scope).expires_at is None
    clock.advance(days=400)
    assert found(hippo, "où dort Owen ?", scope) == {memory.content}


def test_restoring_takes_the_key_back(hippo: Hippocampe, scope: Scope) -> None:
    old = hippo.set_fact("user_name", "Mickael", scope=scope).memory
    new = hippo.set_fact("user_name", "Michel", scope=scope).memory
    hippo.restore(old.id, scope=scope)
    assert hippo.facts(scope=scope)["user_name"].id == old.id
    assert hippo.get(new.id, scope=scope).superseded_by == old.id
    assert found(hippo, "user name", scope) == {"Mickael"}
    assert hippo.verify().ok


def test_facts(hippo: Hippocampe, scope: Scope) -> None:
    assert hippo.set_fact("user_name", "Mickael", scope=scope).action == "inserted"
    hippo.set_fact("boisson", "thé", scope=scope)
    assert list(hippo.facts(scope=scope)) == ["boisson", "user_name"]
    gone = hippo.delete_fact("boisson", scope=scope)
    assert gone.forgotten_reason == "deleted"
    assert list(hippo.facts(scope=scope)) == ["user_name"]
    with pytest.raises(NotFound, match="no fact"):
        hippo.delete_fact("boisson", scope=scope)


def test_an_edit_changes_what_it_names(hippo: Hippocampe, scope: Scope, clock: FakeClock) -> None:
    memory = hippo.remember("Camille élève des abeilles", scope=scope, ttl="1h").memory
    clock.advance(minutes=1)
    new = hippo.edit(
        memory.id, scope=scope, content="Camille élève des lapins", ttl=None, subjects=["lapins"]
    )
    assert new == hippo.get(memory.id, scope=scope)
    assert (new.content, new.expires_at, new.subjects) == (
        "Camille élève des lapins",
        None,
        ("lapins",),
    )
    assert (new.type, new.importance, new.created_at) == ("fact", 0.6, memory.created_at)
    assert new.updated_at > memory.updated_at
    clock.advance(days=1)
    assert hippo.recall("rongeurs", scope=scope, subjects=["lapins"])[0].content == new.content
    assert hippo.remember("Camille élève des abeilles", scope=scope).action == "inserted"
    assert hippo.verify().ok


EXPIRED = [
    ("Marie habite à Lyon", "Marie habite à Paris", "Marie a déménagé à Toulouse"),
    ("Marie lives in Lyon", "Marie lives in Paris", "Marie moved to Toulouse"),
]


@pytest.mark.parametrize(("first", "live", "edited"), EXPIRED)
def test_an_expired_memory_is_only_edited_for_a_new_time(
    hippo: Hippocampe, scope: Scope, clock: FakeClock, first: str, live: str, edited: str
) -> None:
    old = hippo.remember(first, scope=scope, ttl="1h").memory
    clock.advance(hours=2)
    now = hippo.remember(live, scope=scope).memory
    with pytest.raises(NotFound, match="has expired: restore it first"):
        hippo.edit(old.id, scope=scope, content=edited)
    assert contents(hippo, scope) == {live}
    hippo.edit(old.id, scope=scope, ttl="1d")
    assert contents(hippo, scope) == {first}
    assert hippo.get(now.id, scope=scope).superseded_by == old.id


def test_a_review_is_not_settled_for_an_expired_memory(
    hippo: Hippocampe, scope: Scope, clock: FakeClock
) -> None:
    first, second = unsure_pair(hippo, scope)
    hippo.edit(first.id, scope=scope, ttl="1h")
    clock.advance(hours=2)
    with pytest.raises(NotFound, match="has expired: restore it first"):
        hippo.settle(first.id, second.id, scope=scope, keep=first.id)
    assert contents(hippo, scope) == {second.content}
    hippo.settle(first.id, second.id, scope=scope, keep=second.id)
    assert contents(hippo, scope) == {second.content}


def test_only_a_current_memory_is_edited(hippo: Hippocampe, scope: Scope) -> None:
    memory = hippo.remember("Camille élève des abeilles", scope=scope).memory
    with pytest.raises(NotFound):
        hippo.edit(memory.id, scope=Scope(space="ailleurs"), importance=1.0)
    hippo.delete(memory.id, scope=scope, reason="faux")
    with pytest.raises(NotFound, match="restore it first"):
        hippo.edit(memory.id, scope=scope, importance=1.0)


def test_associations_are_walked_both_ways(hippo: Hippocampe, scope: Scope) -> None:
    said = ["Owen a pris froid en mer", "Iris a annulé le dîner", "Le gâteau reste au four"]
    a, b, c = (hippo.remember(each, scope=scope).memory for each in said)
    edge = hippo.associate(b.id, a.id, "caused_by", scope=scope, reason="il était malade")
    hippo.associate(c.id, b.id, "caused_by", scope=scope)
    near, _ = hippo.neighbours(a.id, scope=scope, depth=1)
    assert [memory.id for memory in near] == [a.id, b.id]
    far, edges = hippo.neighbours(a.id, scope=scope)
    assert [memory.id for memory in far] == [a.id, b.id, c.id]
    assert edge in edges
    assert len(edges) == 2


def test_associations_are_checked(hippo: Hippocampe, scope: Scope) -> None:
    a = hippo.remember("Owen a pris froid en mer", scope=scope).memory
    b = hippo.remember("Iris a annulé le dîner", scope=scope).memory
    there = hippo.remember("Iris chante", scope=Scope(space="ailleurs")).memory
    with pytest.raises(InvalidInput, match="unknown association"):
        hippo.associate(a.id, b.id, "likes", scope=scope)
    with pytest.raises(InvalidInput, match="itself"):
        hippo.associate(a.id, a.id, "part_of", scope=scope)
    with pytest.raises(NotFound):
        hippo.associate(a.id, there.id, "part_of", scope=scope)
    with pytest.raises(InvalidInput, match="depth"):
        hippo.neighbours(a.id, scope=scope, depth=6)
    assert hippo.neighbours(a.id, scope=scope) == ((a,), ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Alex habite à Nantes", "j'ai déménagé à Lyon"),
        ("j'habite à Nantes", "Alex a déménagé à Lyon"),
        ("Lex lives in Leeds", "I moved to York"),
    ],
)
def test_a_user_is_who_they_are_called(hippo: Hippocampe, old: str, new: str) -> None:
    alex = Scope(user="alex")
    hippo.remember("Alex = Lex", scope=alex)
    first = hippo.remember(old, scope=alex).memory
    assert hippo.remember(new, scope=alex).replaced == (first.id,)
    assert hippo.remember("j'habite à Brest", scope=Scope(user="bob")).replaced == ()


def test_the_time_of_an_event_is_resolved_when_it_is_told(
    hippo: Hippocampe, scope: Scope, clock: FakeClock
) -> None:
    told = hippo.remember("hier j'ai vu le dentiste", scope=scope).memory
    assert told.occurred_at is not None
    assert timedelta(hours=11) < clock() - told.occurred_at < timedelta(hours=37)
    given = datetime(2026, 1, 2, tzinfo=UTC)
    kept = hippo.remember("hier j'ai vendu mon vélo", scope=scope, occurred_at=given).memory
    assert kept.occurred_at == given
    clock.advance(days=3)
    found = hippo.recall("qu'est-ce que j'ai fait il y a quatre jours ?", scope=scope)
    assert found[0].content == "hier j'ai vu le dentiste"


@pytest.mark.parametrize(
    ("record", "ended"),
    [
        ("Le record de Camille est 1h58", "Camille a renoncé au semi-marathon"),
        ("Le record de Camille au semi-marathon est 1h58", "Camille a renoncé au semi-marathon"),
        (
            "Camille's record in the half-marathon is 1h58",
            "Camille has given up on the half-marathon",
        ),
    ],
)
def test_a_record_outlives_the_plan(
    hippo: Hippocampe, scope: Scope, record: str, ended: str
) -> None:
    hippo.remember(record, scope=scope)
    done = hippo.remember(ended, scope=scope)
    assert (done.action, done.replaced) == ("inserted", ())
    assert contents(hippo, scope) == {record, ended}
    assert hippo.reviews(scope=scope) == []


# Of which day, and of whom


@pytest.mark.parametrize(
    ("statement", "days"),
    [
        ("demain j'ai escrime", 7),
        ("je passe chez le kiné mardi", 14),
        ("I'm fencing tomorrow", 7),
        ("I'm seeing the physio next Tuesday", 14),
    ],
)
def test_a_plan_told_again_of_another_day_replaces_the_one_that_is_over(
    hippo: Hippocampe, scope: Scope, clock: FakeClock, statement: str, days: int
) -> None:
    old = hippo.remember(statement, scope=scope).memory
    clock.advance(minutes=5)
    assert hippo.remember(statement, scope=scope).action == "reinforced"
    clock.advance(days=days)
    done = hippo.remember(statement, scope=scope)
    assert (done.action, done.replaced, done.reason) == ("updated", (old.id,), "another day")
    found = hippo.get(old.id, scope=scope)
    assert found is not None
    assert found.former


@pytest.mark.parametrize(
    ("statement", "again"),
    [
        ("j'ai croisé Nora hier", "hier j'ai croisé Nora"),
        ("I met Nora yesterday", "yesterday I met Nora"),
        ("I swam this morning", "I swam this morning"),
        ("je suis crevé aujourd'hui", "je suis crevé aujourd'hui"),
    ],
)
def test_what_happens_again_on_another_day_is_stored_beside_the_first(
    hippo: Hippocampe, scope: Scope, clock: FakeClock, statement: str, again: str
) -> None:
    hippo.remember(statement, scope=scope)
    clock.advance(days=10)
    done = hippo.remember(again, scope=scope)
    assert (done.action, done.replaced) == ("inserted", ())
    assert hippo.remember(again, scope=scope).action == "reinforced"
    assert contents(hippo, scope) == {statement, again}


@pytest.mark.parametrize(
    "statement",
    [
        "je nage tous les lundis",
        "mon anniversaire est le 9 mars",
        "je vis à Dax depuis trois ans",
        "I swim every Monday",
        "my birthday is on March 9",
    ],
)
def test_what_holds_on_any_day_is_a_repetition(
    hippo: Hippocampe, scope: Scope, clock: FakeClock, statement: str
) -> None:
    hippo.remember(statement, scope=scope)
    clock.advance(days=10)
    assert hippo.remember(statement, scope=scope).action == "reinforced"


@pytest.mark.parametrize(
    ("one", "other", "new"),
    [
        ("ma voisine Inès habite à Pau", "ma cheffe Inès habite à Dax", "Inès habite à Albi"),
        ("my cousin Ruth works at Ikea", "my boss Ruth works at Bosch", "Ruth works at Ford"),
    ],
)
def test_a_bare_name_replaces_none_of_two_people(
    hippo: Hippocampe, scope: Scope, one: str, other: str, new: str
) -> None:
    hippo.remember(one, scope=scope)
    hippo.remember(other, scope=scope)
    done = hippo.remember(new, scope=scope)
    assert (done.action, done.replaced) == ("inserted", ())
    assert {each.other.content for each in hippo.reviews(scope=scope)} == {one, other}
