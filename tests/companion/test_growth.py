"""A systematic answer grows what the companion knows of itself; faces are a listed set and outlive a restart."""

import json
from typing import Any

import pytest

from conftest import Meet, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.companion import Companion, Reply
from hippocampe.companion.expressions import EXPRESSIONS, listed
from model_server import ModelServer

DEV = Scope(user="dev", channel="lobby")
SELF = Scope(channel="lobby")


@pytest.fixture(autouse=True)
def systematic(hippo: Hippocampe) -> None:
    hippo.update_settings(scope=DEV, companion_mode="systematic")


def ask(
    companion: Companion,
    server: ModelServer,
    message: str,
    *about_me: Any,
    user: str = "dev",
    **more: Any,
) -> Reply:
    answer = {"message": "D'accord !", "memories": [], "about_me": list(about_me), **more}
    server.call("respond", **answer)
    return companion.ask(message, user=user, channel="lobby")


def own(hippo: Hippocampe, collection: str = "self") -> dict[str, str | None]:
    items = hippo.memories(scope=SELF, collection=collection).items
    return {item.content: item.category for item in items}


@pytest.mark.parametrize(
    ("message", "category", "content"),
    [
        ("Tu es dans Organizer, avec nous", "context", "Je suis dans Organizer"),
        ("You can read the lobby now", "capability", "I can read the lobby"),
        ("Tu ne peux pas aller sur le web", "limitation", "Je ne peux pas aller sur le web"),
        ("You seem to like technical talk", "preference", "I like technical conversations"),
        ("On est amis maintenant", "relation", "Je suis l'ami de dev"),
    ],
)
def test_what_it_learns_about_itself_is_kept(
    hippo: Hippocampe,
    companion: Companion,
    server: ModelServer,
    message: str,
    category: str,
    content: str,
) -> None:
    reply = ask(companion, server, message, {"category": category, "content": content})
    assert own(hippo) == {content: category}
    [memory] = reply.memories
    # It is not a statement of the user.
    assert (memory.content, memory.user, memory.source) == (content, None, "chat")


@pytest.mark.parametrize(
    ("category", "content"),
    [
        ("capability_request", "J'aimerais pouvoir lire vos notes"),
        ("understanding", "I want to understand how ski lifts work"),
        ("connection", "J'aimerais mieux connaître Camille"),
    ],
)
def test_what_it_wants_is_a_goal(
    hippo: Hippocampe, companion: Companion, server: ModelServer, category: str, content: str
) -> None:
    ask(companion, server, "Que voudrais-tu ?", {"category": category, "content": content})
    assert own(hippo, "goal") == {content: category}
    [goal] = hippo.memories(scope=SELF, collection="goal").items
    assert goal.type == "goal"


@pytest.mark.parametrize(
    ("before", "message", "now"),
    [
        (
            "Je ne peux pas lire le Lobby",
            "Tu peux lire le Lobby maintenant",
            "Je peux lire le Lobby",
        ),
        ("I cannot browse the web", "You can browse the web now!", "I can browse the web now"),
    ],
)
def test_a_capability_ends_the_limitation_that_it_negates(
    hippo: Hippocampe,
    companion: Companion,
    server: ModelServer,
    before: str,
    message: str,
    now: str,
) -> None:
    other = "Je ne peux pas jouer de musique"
    for content in (before, other):
        hippo.remember(content, scope=SELF, collection="self", category="limitation")
    reply = ask(companion, server, message, {"category": "capability", "content": now})
    assert own(hippo) == {now: "capability", other: "limitation"}
    assert [each.content for each in reply.memories] == [now, before]


def test_what_it_learnt_is_recalled_later(
    hippo: Hippocampe, companion: Companion, server: ModelServer
) -> None:
    ask(
        companion,
        server,
        "Tu es dans Organizer",
        {"category": "context", "content": "Je suis dans Organizer"},
    )
    ask(companion, server, "tu es qui ?", user="camille")
    assert "Je suis dans Organizer" in str([each.text for each in server.requests[-1].messages])


@pytest.mark.parametrize(
    "wrong",
    [
        {"category": "preference", "content": "Mickael aime le ski"},
        {"category": "mood", "content": "Je suis content"},
        {"category": "context", "content": " "},
    ],
)
def test_what_is_no_statement_of_its_own_is_left_out(
    hippo: Hippocampe, companion: Companion, server: ModelServer, wrong: dict[str, str]
) -> None:
    reply = ask(companion, server, "j'aime le ski, et toi ?", wrong)
    assert reply.message == "D'accord !"
    assert own(hippo) == {}


def test_small_talk_teaches_nothing(
    hippo: Hippocampe, companion: Companion, server: ModelServer
) -> None:
    ask(companion, server, "salut, ça va ?", {"category": "context", "content": "Je suis en forme"})
    assert own(hippo) == {}


def test_an_answer_of_the_shortest_form_is_enough(
    companion: Companion, server: ModelServer
) -> None:
    server.call("respond", message="Oui.", memories=[])
    assert companion.ask("tu dors ?", user="dev", channel="lobby").expression == "neutral"


@pytest.mark.parametrize("mode", ["systematic", "hybrid"])
def test_the_schema_lists_the_expressions(
    hippo: Hippocampe, companion: Companion, server: ModelServer, mode: str
) -> None:
    hippo.update_settings(scope=DEV, companion_mode=mode)
    more = {"expression": "joyeux !"}
    server.call(
        "respond", message="Oui.", **more, **({"memories": []} if mode == "systematic" else {})
    )
    reply = companion.ask("tu aimes le ski ?", user="dev", channel="lobby")
    assert reply.expression == "happy"
    [schema] = [each for each in server.requests[-1].body["tools"] if "respond" in str(each)[:120]]
    assert all(f'"{name}"' in json.dumps(schema) for name in EXPRESSIONS)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("happy", "happy"), ("Happy!", "happy"), ("a bit sad", "sad"), ("étonnée", "surprised"),
        ("désolé", "worried"), ("excited", "excited"), ("thinking", "thoughtful"), ("gênée", "embarrassed"),
        ("", "neutral"), ("banana", "neutral"), (None, "neutral"), (3, "neutral"), ("😊", "neutral"),
    ],
)  # fmt: skip
def test_another_word_is_one_of_the_list(said: object, meant: str) -> None:
    assert listed(said) == meant


@pytest.mark.parametrize("mode", ["systematic", "hybrid"])
def test_the_expression_outlives_a_restart(
    hippo: Hippocampe, meet: Meet, open_hippo: Opener, server: ModelServer, mode: str
) -> None:
    hippo.update_settings(scope=DEV, companion_mode=mode)
    more: dict[str, Any] = {"memories": []} if mode == "systematic" else {}
    companion = meet()
    server.call("respond", message="Ah mince !", expression="sad", **more)
    companion.ask("je me suis cassé l'épaule", user="dev", channel="lobby")
    assert [each.expression for each in hippo.messages(scope=DEV)] == [None, "sad"]
    companion.close()
    hippo.close()
    server.call("respond", message="Oui.", expression="happy", **more)
    meet(open_hippo()).ask("tu te souviens ?", user="dev", channel="lobby")
    [call] = [
        each["tool_calls"] for each in server.requests[-1].body["messages"] if "tool_calls" in each
    ]
    assert json.loads(call[0]["function"]["arguments"])["expression"] == "sad"
