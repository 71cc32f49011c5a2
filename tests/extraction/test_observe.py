"""Observed rooms: what is overheard, what is not, and how much of it a turn is given."""

import pytest

from conftest import FakeClock
from hippocampe import Hippocampe, InvalidInput, Scope

LOBBY = Scope(user="david", channel="lobby")


def test_only_observed_rooms_are_kept(hippo: Hippocampe) -> None:
    kept = hippo.observe("je pars en Grèce demain", scope=LOBBY)
    assert kept is not None
    assert kept.live
    for channel in ("garden", "Lobby", None):
        assert hippo.observe("je pars", scope=Scope(user="david", channel=channel)) is None
    assert hippo.messages(scope=Scope()) == [kept]
    hippo.update_settings(scope=LOBBY, live_rooms=["garden"])
    assert hippo.observe("je reste", scope=Scope(user="david", channel="garden")) is not None
    assert hippo.observe("je reste", scope=LOBBY) is None
    assert hippo.stats(scope=LOBBY).live == 2


@pytest.mark.parametrize(
    "said",
    [
        "eko tu es là ?",
        "Ékö !",
        "dis @eko",
        "EKO, viens",
        "c'est l'avis d'eko",
        "(eko)",
        "Eko's here",
    ],
)
def test_a_message_that_names_the_companion_is_not_kept(hippo: Hippocampe, said: str) -> None:
    assert hippo.observe(said, scope=LOBBY) is None
    assert hippo.messages(scope=LOBBY) == []


@pytest.mark.parametrize(
    "said",
    [
        "l'ekologie avance",
        "le decko est cassé",
        "@eko_bot répond mal",
        "voir https://eko.example/faq",
        "www.eko.org",
        "l'écho de la vallée",
    ],
)
def test_a_part_of_a_word_or_an_address_names_nobody(hippo: Hippocampe, said: str) -> None:
    kept = hippo.observe(said, scope=LOBBY)
    assert kept is not None
    assert kept.content == said


def test_names_of_several_words_and_symbols_are_found(hippo: Hippocampe) -> None:
    hippo.update_settings(scope=LOBBY, companion_names=["Petit Écho", "c-3po"])
    assert hippo.observe("merci petit echo.", scope=LOBBY) is None
    assert hippo.observe("C-3PO arrive", scope=LOBBY) is None
    assert hippo.observe("le petit a un écho", scope=LOBBY) is not None
    assert hippo.observe("eko est un mot comme un autre", scope=LOBBY) is not None


def test_the_companion_does_not_overhear_itself(hippo: Hippocampe) -> None:
    assert hippo.observe("Coucou Mickael !", scope=Scope(user="Eko", channel="lobby")) is None


def test_a_bad_message_is_refused_wherever_it_is_said(hippo: Hippocampe) -> None:
    with pytest.raises(InvalidInput):
        hippo.observe(" ", scope=Scope(channel="garden"))


def test_a_repeat_is_stored_once(hippo: Hippocampe) -> None:
    first = hippo.observe("je pars", scope=LOBBY, external_id="w1")
    assert hippo.observe("je pars", scope=LOBBY, external_id="w1") == first
    assert len(hippo.messages(scope=LOBBY)) == 1


def test_a_turn_gets_relevant_live_messages_and_no_chatter(
    hippo: Hippocampe, clock: FakeClock
) -> None:
    for said in ("je pars en Grèce demain", "ok", "lol", "le four est réparé", "à ce soir", "mdr"):
        hippo.observe(said, scope=LOBBY)
        clock.advance(minutes=3)
    given = hippo.before_turn("quand est-ce que David part en Grèce ?", scope=Scope(user="ana"))
    assert [item.content for item in given.items] == ["je pars en Grèce demain"]
    assert given.items[0].kind == "live"


def test_at_most_ten_live_messages_answer_an_open_question(
    hippo: Hippocampe, clock: FakeClock
) -> None:
    cities = "Rome Lyon Nice Brest Nantes Dijon Pau Metz Lille Tours Caen Reims Sète Albi".split()
    for city in cities:
        hippo.observe(f"une photo de {city}", scope=LOBBY)
        clock.advance(minutes=3)
    hippo.update_settings(scope=LOBBY, injection_token_budget=4_000)
    for channel, limit in (("a", 10), ("b", 3), ("c", 0)):
        hippo.update_settings(scope=LOBBY, live_limit=limit)
        asking = Scope(user="mickael", channel=channel)
        given = hippo.before_turn("qu'est-ce que j'ai raté ?", scope=asking)
        assert [item.kind for item in given.items] == ["live"] * limit
        assert {item.content.split()[-1] for item in given.items} == set(cities[14 - limit :])
