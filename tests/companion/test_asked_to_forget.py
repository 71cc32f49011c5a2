"""Asking the companion to forget: what it is told, what it forgets, and what stays of the conversation."""

import time
from typing import Any

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.companion import Companion, Reply
from hippocampe.companion.alone import serve_alone
from hippocampe.errors import IndexUnavailable
from hippocampe.retrieval import requested
from model_server import ModelServer

ANA = Scope(user="ana", channel="lobby")
DAVID = Scope(user="david", channel="lobby")
MODES = ("hybrid", "agentic", "systematic")


def ask(
    companion: Companion, server: ModelServer, message: str, user: str = "ana", **more: Any
) -> Reply:
    server.call("respond", message="D'accord.", **{"expression": "happy", **more})
    return companion.ask(message, user=user, channel="lobby")


def shown(server: ModelServer) -> str:
    return "\n".join(each.text for each in server.requests[-1].messages)


def known(hippo: Hippocampe, query: str) -> set[str]:
    places = ("memory", "turn", "live")
    found = hippo.recall(query, scope=ANA, collections=places, mode="text", limit=50)
    return {item.content.split("\n")[0] for item in found}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("told", "request_", "word"),
    [
        ("Je joue du tuba depuis mes douze ans", "oublie que je joue du tuba", "tuba"),
        ("I have been playing the tuba for years", "Forget that I play the tuba", "tuba"),
        ("Mon numéro de carte est 4111 1111 1111 1111", "oublie mon numéro de carte stp", "carte"),
        ("my card number is 4111 1111 1111 1111", "please forget my card number", "card"),
    ],
)
def test_it_is_forgotten_in_every_mode(
    hippo: Hippocampe,
    companion: Companion,
    server: ModelServer,
    mode: str,
    told: str,
    request_: str,
    word: str,
) -> None:
    hippo.update_settings(scope=ANA, companion_mode=mode)
    answer: dict[str, Any] = {"memories": []} if mode == "systematic" else {}
    ask(companion, server, told, **answer)
    ask(companion, server, f"I like the {word} of David", "david", **answer)
    if mode == "systematic":
        answer = {"memories": [{"content": f"Ana : {told}", "subjects": []}]}
    ask(companion, server, request_, **answer)
    assert "une demande d’oubli" in shown(server)
    assert known(hippo, word) == {f"I like the {word} of David"}
    ask(companion, server, "Et sinon, quoi de neuf ?", **({"memories": []} if answer else {}))
    assert told not in shown(server)
    assert request_ not in shown(server)


def test_much_waits_for_the_person(
    hippo: Hippocampe, companion: Companion, server: ModelServer
) -> None:
    told = (
        "Ana répète au tuba le lundi",
        "Le tuba de Ana est rangé à la cave",
        "Ana a offert un tuba à sa nièce",
        "Ana joue du tuba depuis 2015",
        "Le professeur de tuba de Ana s'appelle Yann",
        "Ana rêve d'un tuba en mi bémol",
    )
    for each in told:
        assert hippo.remember(each, scope=ANA).action == "inserted"
    ask(companion, server, "Oublie tout ce que je t'ai dit sur le tuba")
    assert "Pas encore oublié : le tuba" in shown(server)
    assert len(known(hippo, "tuba")) >= len(told)
    ask(companion, server, "oui, vas-y")
    assert "Oublié juste après cette réponse" in shown(server)
    assert known(hippo, "tuba") == set()


def test_what_others_forget_leaves_the_session(
    hippo: Hippocampe, companion: Companion, server: ModelServer
) -> None:
    ask(companion, server, "Le canapé est vert")
    ask(companion, server, "Il pleut à Brest")
    hippo.forget("le canapé", scope=Scope())
    ask(companion, server, "Quel temps fait-il à Brest ?")
    assert "canapé" not in shown(server)
    assert "Il pleut à Brest" in shown(server)


def test_the_model_hides_what_was_said_for_words_that_no_rule_reads(
    hippo: Hippocampe, companion: Companion, server: ModelServer
) -> None:
    memory = hippo.remember("Ana joue du tuba", scope=ANA).memory
    hippo.after_turn("Je joue du tuba depuis mes douze ans", "Bel instrument !", scope=ANA)
    hippo.after_turn("Moi aussi je joue du tuba", "Vraiment ?", scope=DAVID)
    server.call("delete_memory", id=memory.id, reason="Ana l'a demandé", said=True)
    reply = ask(companion, server, "Mon instrument, ça reste entre nous, plus un mot là-dessus")
    assert [each.content for each in reply.memories] == ["Ana joue du tuba"]
    assert known(hippo, "tuba") == {"Moi aussi je joue du tuba"}


def test_the_model_asks_before_much_is_hidden(
    hippo: Hippocampe, companion: Companion, server: ModelServer
) -> None:
    memory = hippo.remember("Ana joue du tuba", scope=ANA).memory
    for day in ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"):
        hippo.after_turn(f"Je joue du tuba le {day}", "D'accord.", scope=ANA)
    wanted: dict[str, Any] = {"id": memory.id, "reason": "demandé", "said": True}
    server.call("delete_memory", **wanted)
    ask(companion, server, "Mon instrument, plus un mot là-dessus")
    assert "7 memories and exchanges" in str(server.requests[-1].body)
    assert len(known(hippo, "tuba")) == 7
    server.call("delete_memory", **wanted, confirmed=True)
    ask(companion, server, "Certain, cache tout ça")
    assert known(hippo, "tuba") == set()


def test_the_fact_of_another_is_hidden_with_their_words(
    hippo: Hippocampe, companion: Companion, server: ModelServer
) -> None:
    memory = hippo.remember("I play the tuba", scope=DAVID).memory
    hippo.after_turn("I play the tuba in the town band", "Nice!", scope=DAVID)
    hippo.remember("Je joue du tuba", scope=ANA)
    hippo.after_turn("Hier j'ai joué du tuba", "Bravo !", scope=ANA)
    server.call("delete_memory", id=memory.id, reason="asked", said=True)
    ask(companion, server, "David's instrument, not a word about it any more")
    assert known(hippo, "tuba") == {"Je joue du tuba", "Hier j'ai joué du tuba"}


@pytest.mark.parametrize("message", ["oublie que je vends des vélos", "forget that I sell bikes"])
@pytest.mark.parametrize("fails", [False, True])
def test_without_a_model_a_request_is_no_memory(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch, message: str, fails: bool
) -> None:
    told = hippo.remember(
        message.split(" ", 1)[1].removeprefix("que ").removeprefix("that "), scope=ANA
    )
    plan = requested.plan

    def without(*given: Any, replies: bool = True) -> Any:
        if fails and not replies:
            raise IndexUnavailable("the disk was taken out")
        time.sleep(0 if replies else 1)
        return plan(*given, replies=replies)

    monkeypatch.setattr(requested, "plan", without)
    hippo.update_settings(scope=ANA, hook_timeout_ms=50)
    assert serve_alone(hippo, message, scope=ANA).stored is None
    assert hippo.recent(scope=ANA) == []
    assert hippo.get(told.memory.id, scope=ANA).superseded_by is None
