"""A pair to review moves on to the successor of a superseded memory, and an update leaves no twin behind."""

import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.types import Memory

HERE = Scope(user="dev")
PAIRS = {
    "fr": (
        "Camille adore son très vieux vélo rouge",
        "Camille répare son très vieux vélo rouge",
        "Camille a donné son vélo à Inès",
    ),
    "en": (
        "Nina paints her small wooden boat",
        "Nina sells her small wooden boat",
        "Nina gave the boat to her cousin Tom",
    ),
}


@pytest.fixture
def hippo(hashed: None, open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:64")


@pytest.fixture(params=sorted(PAIRS))
def texts(request: pytest.FixtureRequest) -> tuple[str, str, str]:
    return PAIRS[request.param]


def add(hippo: Hippocampe, content: str, *replaces: Memory) -> Memory:
    ids = [each.id for each in replaces]
    return hippo.remember(content, scope=HERE, replaces=ids).memory


def listed(hippo: Hippocampe) -> list[set[str]]:
    return [{each.memory.content, each.other.content} for each in hippo.reviews(scope=HERE)]


def current(hippo: Hippocampe) -> set[str]:
    return {memory.content for memory in hippo.recent(100, scope=HERE)}


@pytest.mark.parametrize("lost", [0, 1])
def test_a_pair_moves_on_to_the_successor_of_either_side(
    hippo: Hippocampe, texts: tuple[str, str, str], lost: int
) -> None:
    both = [add(hippo, text) for text in texts[:2]]
    (reason,) = [review.reason for review in hippo.reviews(scope=HERE)]
    successor = add(hippo, texts[2], both[lost])
    (review,) = hippo.reviews(scope=HERE)
    assert {review.memory.id, review.other.id} == {successor.id, both[1 - lost].id}
    assert review.reason == reason
    assert hippo.stats(scope=HERE).reviews == 1
    # And to the successor of the successor.
    last = add(hippo, f"{texts[2]} ?", successor)
    assert listed(hippo) == [{last.content, both[1 - lost].content}]


def test_the_other_side_as_successor_resolves_the_pair(
    hippo: Hippocampe, texts: tuple[str, str, str]
) -> None:
    old, new = (add(hippo, text) for text in texts[:2])
    hippo.settle(old.id, new.id, scope=HERE, keep=new.id)
    assert listed(hippo) == []


def test_a_successor_that_says_what_the_other_side_says_resolves_the_pair(
    hippo: Hippocampe, texts: tuple[str, str, str]
) -> None:
    old, _ = (add(hippo, text) for text in texts[:2])
    add(hippo, texts[1].upper(), old)
    assert listed(hippo) == []


def test_a_successor_of_both_sides_resolves_the_pair(
    hippo: Hippocampe, texts: tuple[str, str, str]
) -> None:
    both = [add(hippo, text) for text in texts[:2]]
    successor = add(hippo, texts[2], *both)
    assert listed(hippo) == []
    # Nothing is left to list with the successor of the successor either.
    add(hippo, f"{texts[2]} ?", successor)
    assert listed(hippo) == []


def test_a_settled_pair_stays_settled(hippo: Hippocampe, texts: tuple[str, str, str]) -> None:
    old, new = (add(hippo, text) for text in texts[:2])
    successor = add(hippo, texts[2], old)
    hippo.settle(successor.id, new.id, scope=HERE)
    assert listed(hippo) == []
    add(hippo, f"{texts[2]} ?", successor)
    assert listed(hippo) == []


def test_a_restored_side_waits_again(hippo: Hippocampe, texts: tuple[str, str, str]) -> None:
    old, new = (add(hippo, text) for text in texts[:2])
    successor = add(hippo, texts[2], old)
    hippo.restore(old.id, scope=HERE)
    assert {old.content, new.content} in listed(hippo)
    assert hippo.get(successor.id, scope=HERE).current
    assert hippo.verify().ok


def test_keeping_one_of_a_pair_takes_over_the_other_pairs_of_the_lost_one(
    hippo: Hippocampe, texts: tuple[str, str, str]
) -> None:
    old, new = (add(hippo, text) for text in texts[:2])
    kept = add(hippo, texts[2])
    hippo.settle(old.id, kept.id, scope=HERE, keep=kept.id)
    assert listed(hippo) == [{kept.content, new.content}]


TWINS = [
    ("Mon chien s'appelle Rex", "My dog is called Rex", "My dog is called Max now"),
    ("My dog is called Rex", "Mon chien s'appelle Rex", "Mon chien s'appelle Max maintenant"),
    ("Le casier de Nina est le 4512", "Nina's locker is 4512", "Nina's locker is now 7788"),
    ("Nina's locker is 4512", "Le casier de Nina est le 4512", "Nina's locker is now 7788"),
    (
        "Nous utilisons PostgreSQL pour la base de données",
        "We use PostgreSQL for the database",
        "We switched to MySQL for the database",
    ),
    ("David habite à Ordizan", "David lives in Ordizan", "David moved to Toulouse"),
    (
        "Margaux travaille à mi-temps à la pharmacie.",
        "Margaux has a half-time job at the pharmacy.",
        "Margaux works full time at the pharmacy now.",
    ),
]


@pytest.mark.parametrize(("old", "twin", "update"), TWINS)
def test_an_update_replaces_the_same_fact_in_the_other_language(
    open_hippo: Opener, old: str, twin: str, update: str
) -> None:
    hippo = open_hippo()
    for text in (old, twin, update):
        add(hippo, text)
    assert current(hippo) == {update}
    assert listed(hippo) == []


NEIGHBOURS = [
    ("Mon chien s'appelle Rex", "My cat is called Felix", "Mon chien s'appelle Max maintenant"),
    (
        "Le casier de Nina est le 4512",
        "Nina's flat is 9931",
        "Le casier de Nina est maintenant le 7788",
    ),
    (
        "We use PostgreSQL for the database",
        "Nous utilisons Redis pour le cache",
        "We switched to MySQL for the database",
    ),
]


@pytest.mark.parametrize(("old", "other", "update"), NEIGHBOURS)
def test_an_update_leaves_another_fact_in_the_other_language(
    open_hippo: Opener, old: str, other: str, update: str
) -> None:
    hippo = open_hippo()
    for text in (old, other, update):
        add(hippo, text)
    assert current(hippo) == {other, update}


def test_the_twin_of_another_person_stays(open_hippo: Opener) -> None:
    hippo, david = open_hippo(), Scope(user="david")
    add(hippo, "Mon chien s'appelle Rex")
    hippo.remember("My dog is called Rex", scope=david)
    add(hippo, "Mon chien s'appelle Max maintenant")
    assert current(hippo) == {"My dog is called Rex", "Mon chien s'appelle Max maintenant"}
