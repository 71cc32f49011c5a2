"""A turn begins with what its speaker told, what is about them, and what nobody told; the rest is found by asking."""

import pytest

from conftest import FakeClock
from hippocampe import Hippocampe, Scope

MICKAEL = Scope(user="dev", channel="lobby")
DAVID = Scope(user="David", channel="lobby")
ELODIE = Scope(user="Élodie", channel="lobby")


@pytest.fixture
def room(hippo: Hippocampe) -> Hippocampe:
    """A room of two people, who are known by two names each, with memories in both languages."""
    hippo.update_settings(scope=MICKAEL, hook_timeout_ms=10_000)
    for scope, content, more in (
        (MICKAEL, "dev = Mickael", {}),
        (MICKAEL, "Je suis allergique aux noix", {"importance": 0.9}),
        (MICKAEL, "The gate of my garage sticks", {}),
        (DAVID, "J'ai rendez-vous chez le notaire mardi", {"importance": 0.9}),
        (DAVID, "My salary review went badly", {}),
        (DAVID, "Je suis David, j'ai 34 ans", {"type": "identity"}),
        (DAVID, "Mickael lent me his drill", {}),
        (DAVID, "Je prépare une fête surprise pour Mickael", {"importance": 0.9}),
        (DAVID, "My brother wants to borrow money from Mickael", {"importance": 0.9}),
        (Scope(), "Le club ferme le 2 août", {"importance": 0.9}),
    ):
        hippo.remember(content, scope=scope, **more)
    return hippo


def begun(hippo: Hippocampe, scope: Scope, message: str = "bonjour") -> set[str]:
    given = hippo.before_turn(message, scope=scope).trace.considered
    return {
        each.recollection.content
        for each in given
        if each.path in ("identity", "important", "recent") and each.outcome == "injected"
    }


OF_MICKAEL = {
    "dev = Mickael",
    "Je suis allergique aux noix",
    "The gate of my garage sticks",
    "Mickael lent me his drill",
    "Le club ferme le 2 août",
}
OF_DAVID = {
    "J'ai rendez-vous chez le notaire mardi",
    "My salary review went badly",
    "Je suis David, j'ai 34 ans",
    "Mickael lent me his drill",
    "Je prépare une fête surprise pour Mickael",
    "My brother wants to borrow money from Mickael",
    "Le club ferme le 2 août",
}


@pytest.mark.parametrize("message", ["bonjour", "good morning"])
def test_who_told_it_and_whom_it_is_about_decide(room: Hippocampe, message: str) -> None:
    assert begun(room, MICKAEL, message) == OF_MICKAEL
    assert begun(room, DAVID, message) == OF_DAVID
    assert begun(room, ELODIE, message) == {"Le club ferme le 2 août"}


def test_two_users_of_a_room_do_not_share_a_cache(room: Hippocampe, clock: FakeClock) -> None:
    for _ in range(2):
        for scope, ours in ((MICKAEL, OF_MICKAEL), (DAVID, OF_DAVID)):
            clock.advance(minutes=20)
            assert begun(room, scope) == ours


@pytest.mark.parametrize("user", ["dev", "Mickael", "mickael"])
def test_a_person_has_all_their_names(room: Hippocampe, user: str) -> None:
    assert begun(room, Scope(user=user)) == OF_MICKAEL


def test_a_name_with_accents_is_one_person(hippo: Hippocampe) -> None:
    hippo.remember("J'apprends le violon", scope=ELODIE)
    hippo.remember("Élodie habite rue des Lilas", scope=DAVID)
    assert begun(hippo, ELODIE) == {"J'apprends le violon", "Élodie habite rue des Lilas"}


def test_shared_memories_are_given_to_everybody(room: Hippocampe) -> None:
    room.update_settings(scope=MICKAEL, shared_memories=True, max_injection_count=100)
    assert begun(room, ELODIE) | OF_MICKAEL >= OF_DAVID
    assert "My salary review went badly" in begun(room, MICKAEL)


def test_a_turn_of_nobody_in_particular_is_given_all(room: Hippocampe) -> None:
    assert "My salary review went badly" in begun(room, Scope(channel="lobby"))


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("Il va quand chez le notaire, David ?", "J'ai rendez-vous chez le notaire mardi"),
        ("How was David's salary review?", "My salary review went badly"),
        ("Que sais-tu de David ?", "Je suis David, j'ai 34 ans"),
        ("tell me all about David", "My salary review went badly"),
    ],
)
def test_what_others_told_is_found_when_asked_for(
    room: Hippocampe, message: str, content: str
) -> None:
    given = room.before_turn(message, scope=MICKAEL).items
    assert content in [item.content for item in given]


@pytest.mark.parametrize("message", ["on a parlé de quoi ?", "what did we talk about?"])
def test_the_talk_of_another_channel_is_told_to_those_who_took_part(
    hippo: Hippocampe, message: str
) -> None:
    hippo.update_settings(
        scope=MICKAEL, recent_hours=0, hook_timeout_ms=10_000, live_rooms=["hall"]
    )
    hippo.after_turn(
        "My landlord raised the rent", "Oh no.", scope=Scope(user="David", channel="dm")
    )
    hippo.after_turn(
        "The hall needs new lamps", "Noted.", scope=Scope(user="David", channel="hall")
    )
    hippo.after_turn("La pompe du puits fuit", "Noté.", scope=DAVID)
    hippo.after_turn("J'ai vendu la remorque", "Bien.", scope=Scope(user="dev", channel="dm"))

    def told(scope: Scope) -> set[str]:
        items = hippo.before_turn(message, scope=scope).items
        return {item.content.splitlines()[0] for item in items if item.kind == "turn"}

    room = {"La pompe du puits fuit", "The hall needs new lamps"}
    assert told(MICKAEL) == {*room, "J'ai vendu la remorque"}
    assert told(Scope(user="David", channel="lobby 2")) == {*room, "My landlord raised the rent"}
    hippo.update_settings(scope=MICKAEL, shared_memories=True)
    assert "My landlord raised the rent" in told(Scope(user="dev", channel="garden"))


@pytest.mark.parametrize("message", ["on a parlé de quoi ?", "what did we talk about?"])
def test_talk_without_a_channel_is_of_one_room(hippo: Hippocampe, message: str) -> None:
    hippo.update_settings(scope=MICKAEL, recent_hours=0, hook_timeout_ms=10_000)
    hippo.after_turn("La pompe du puits fuit", "Noté.", scope=Scope(user="David"))
    assert "La pompe" in str(talked_of(hippo, message, Scope(user="dev")))
    assert talked_of(hippo, message, MICKAEL) == []


@pytest.mark.parametrize("message", ["quoi de neuf cette semaine ?", "what's new this week?"])
def test_what_others_told_in_the_room_is_news(
    hippo: Hippocampe, clock: FakeClock, message: str
) -> None:
    hippo.update_settings(scope=MICKAEL, hook_timeout_ms=10_000)
    hippo.remember("Le plombier vient jeudi", scope=DAVID)
    hippo.remember("My salary review went badly", scope=DAVID)
    hippo.remember("La cave est louée", scope=Scope(user="David", channel="dm"))
    clock.advance(hours=20)
    assert begun(hippo, MICKAEL) == set()
    assert begun(hippo, MICKAEL, message) == {"Le plombier vient jeudi"}
    assert begun(hippo, Scope(user="dev", channel="garden"), message) == set()


def talked_of(hippo: Hippocampe, message: str, scope: Scope) -> list[str]:
    """The turns of the always-on context."""
    given = hippo.before_turn(message, scope=scope).trace.considered
    found = [each.recollection for each in given if each.path == "recent"]
    return [item.content for item in found if item.kind == "turn"]


@pytest.mark.parametrize(("told_by", "asked_by"), [("Élodie", "élodie"), ("ÉRIC", "éric")])
def test_accents_have_a_case_too(hippo: Hippocampe, told_by: str, asked_by: str) -> None:
    hippo.remember("Le portail grince", scope=Scope(user=told_by), importance=0.9)
    assert begun(hippo, Scope(user=asked_by)) == {"Le portail grince"}


@pytest.mark.parametrize("message", ["tell me about my brother", "parle-moi de mon frère"])
def test_my_brother_is_no_brother_of_somebody_else(hippo: Hippocampe, message: str) -> None:
    for name in ("Al", "Ben", "Cal", "Dan", "Ed", "Flo", "Gus", "Hal"):
        told = f"My brother {name} is a pilot"
        hippo.remember(told, scope=DAVID, subjects=["brother", "frère"], importance=0.9)
    own = "Mon frère Théo est allergique aux arachides"
    hippo.remember(own, scope=MICKAEL, subjects=["brother", "frère"])
    given = hippo.before_turn(message, scope=MICKAEL).trace.considered
    assert {each.recollection.content for each in given if each.path == "identity"} == {own}
