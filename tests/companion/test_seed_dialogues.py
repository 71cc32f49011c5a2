"""The dialogues of the original documents, from the words of the user to the rows of the store."""

import json
from typing import Any

import pytest

from conftest import FakeClock
from hippocampe import Hippocampe, Memory, Scope
from hippocampe.companion import Companion, Reply, ToolCalled, ToolReturned
from model_server import ModelServer

DEV = Scope(user="dev", channel="lobby")
SELF = Scope(channel="lobby")


def contents(hippo: Hippocampe, collection: str = "memory") -> list[str]:
    return [each.content for each in hippo.memories(scope=DEV, collection=collection).items]


def said(server: ModelServer) -> dict[str, Any]:
    return json.loads(server.requests[-1].asked)


def say(companion: Companion, message: str, user: str = "dev") -> Reply:
    return companion.ask(message, user=user, channel="lobby")


def told(companion: Companion, message: str) -> tuple[list[str], Reply]:
    """The results of the tools, and the reply."""
    events = list(companion.stream(message, user="dev", channel="lobby"))
    assert isinstance(events[-1], Reply)
    return [each.text for each in events if isinstance(each, ToolReturned)], events[-1]


def remember(hippo: Hippocampe, content: str, scope: Scope = DEV, **details: Any) -> Memory:
    return hippo.remember(content, scope=scope, **details).memory


class TestAgentic:
    """Seed 000: the model searches its memory itself."""

    @pytest.fixture(autouse=True)
    def agentic(self, hippo: Hippocampe) -> None:
        hippo.update_settings(scope=DEV, companion_mode="agentic")

    def test_hello(self, hippo: Hippocampe, companion: Companion, server: ModelServer) -> None:
        known = remember(hippo, "dev = Mickael")
        server.call("search_memories", query="dev")
        server.call("respond", expression="happy", message="Coucou Mickael !")
        events = list(companion.stream("hello !", user="dev", channel="lobby"))
        assert said(server) == {
            "from": "dev",
            "message": "hello !",
            "time": "sam. 17 janv. 2026, 11:23",
        }
        assert events[0] == ToolCalled("search_memories", {"query": "dev"})
        assert events[1] == ToolReturned(
            "search_memories", f"- [fact] (id: {known.id}) dev = Mickael"
        )
        reply = events[-1]
        assert isinstance(reply, Reply)
        assert (reply.expression, reply.message) == ("happy", "Coucou Mickael !")
        assert (reply.memories, reply.usage.turns, reply.complete) == ((), 2, True)
        assert [each.content for each in hippo.messages(scope=DEV)] == [
            "hello !",
            "Coucou Mickael !",
        ]

    def test_who_says_i_and_what_was_replaced(
        self, hippo: Hippocampe, companion: Companion, server: ModelServer
    ) -> None:
        former = "David travaille à Mapstone avec sa cousine Inès"
        for statement in (former, "David travaille chez Halyard", "Je finis à 18 h"):
            remember(hippo, statement)
        server.call("search_memories", query=former)
        server.call("search_memories", query="Je finis à 18 h")
        server.call("respond", expression="happy", message="À 18 h.")
        events = list(companion.stream("je finis quand ?", user="dev", channel="lobby"))
        replaced, own = (each.text for each in events if isinstance(each, ToolReturned))
        [line] = [each for each in replaced.splitlines() if each.endswith(former)]
        assert "remplacé" in line
        assert ") dev: Je finis à 18 h" in own

    def test_what_did_we_talk_about(
        self, hippo: Hippocampe, companion: Companion, server: ModelServer
    ) -> None:
        remember(hippo, "dev = Mickael")
        remember(hippo, "Mickael part en Grèce en février")
        server.call("get_recent_memories", limit=10)
        server.call("search_memories", query="Mickael vacances")
        server.call("respond", expression="happy", message="On a parlé de tes vacances en Grèce !")
        (recent, found), reply = told(companion, "on a parlé de quoi ?")
        assert recent.splitlines()[0].endswith("Mickael part en Grèce en février")
        assert recent.splitlines()[1].endswith("dev = Mickael")
        assert "Mickael part en Grèce en février" in found.splitlines()[0]
        assert reply.message == "On a parlé de tes vacances en Grèce !"

    def test_a_new_fact(self, hippo: Hippocampe, companion: Companion, server: ModelServer) -> None:
        server.call(
            "store_memory",
            content="Mickael s'est cassé l'épaule",
            subjects=["mickael", "blessure"],
            ttl=None,
        )
        server.call("respond", expression="sad", message="Ah mince ! C'était quand ?")
        reply = say(companion, "je me suis cassé l'épaule")
        (memory,) = hippo.memories(scope=DEV).items
        assert reply.memories == (memory,)
        assert (memory.content, memory.subjects, memory.expires_at) == (
            "Mickael s'est cassé l'épaule",
            ("mickael", "blessure"),
            None,
        )
        server.call("store_memory", content="Mickael s'est cassé l'épaule le 10 janvier 2026")
        server.call("respond", expression="sad", message="Repose-toi bien.")
        say(companion, "la semaine dernière, le 10 janvier")
        assert contents(hippo) == ["Mickael s'est cassé l'épaule le 10 janvier 2026"]
        assert [each.content for each in hippo.history(memory.id, scope=DEV).versions] == [
            "Mickael s'est cassé l'épaule",
            "Mickael s'est cassé l'épaule le 10 janvier 2026",
        ]

    @pytest.mark.parametrize(
        ("content", "source"),
        [
            ("Mickael préfère le thé vert", "le courriel du 3 mai"),
            ("Mickael prefers green tea", None),
        ],
    )
    def test_a_fact_with_its_type_its_importance_and_its_source(
        self,
        hippo: Hippocampe,
        companion: Companion,
        server: ModelServer,
        content: str,
        source: str | None,
    ) -> None:
        told = {"type": "preference", "importance": 0.9, "source": source}
        server.call("store_memory", content=content, **told)
        server.call("respond", expression="happy", message="C'est noté !")
        say(companion, content)
        (memory,) = hippo.memories(scope=DEV).items
        assert (memory.type, memory.importance) == ("preference", 0.9)
        assert memory.source == (source or "chat")

    def test_a_passing_state(
        self, hippo: Hippocampe, companion: Companion, server: ModelServer, clock: FakeClock
    ) -> None:
        server.call(
            "store_memory",
            content="Mickael est malade",
            subjects=["mickael", "santé"],
            ttl="7d",
        )
        server.call("respond", expression="sad", message="Repose-toi bien !")
        say(companion, "je suis malade")
        assert [each.content for each in hippo.recall("qui est malade ?", scope=DEV)] == [
            "Mickael est malade"
        ]
        clock.advance(days=8)
        assert hippo.recall("qui est malade ?", scope=DEV) == []

    def test_who_are_you(
        self, hippo: Hippocampe, companion: Companion, server: ModelServer
    ) -> None:
        for content in ("Je suis dans Organizer", "Mickael m'a créé"):
            remember(hippo, content, SELF, collection="self", category="context")
        server.call("search_self", query="qui je suis")
        server.call(
            "respond", expression="happy", message="Je suis une petite créature dans Organizer !"
        )
        (found,), reply = told(companion, "Tu es qui ?")
        assert {line.split(") ", 1)[1] for line in found.splitlines()} == {
            "Je suis dans Organizer",
            "Mickael m'a créé",
        }
        assert all(line.startswith("- [context] (id: ") for line in found.splitlines())
        assert reply.message == "Je suis une petite créature dans Organizer !"

    def test_what_would_you_like(
        self, hippo: Hippocampe, companion: Companion, server: ModelServer
    ) -> None:
        server.call("search_goals", query="aspirations")
        server.call(
            "respond", expression="happy", message="J'aimerais pouvoir lire vos notes un jour !"
        )
        for content in ("J'aimerais lire les notes", "Je veux chercher sur le web"):
            remember(hippo, content, SELF, collection="goal", category="capability_request")
        (found,), _ = told(companion, "Tu aimerais faire quoi ?")
        assert {line.split(") ", 1)[1] for line in found.splitlines()} == {
            "J'aimerais lire les notes",
            "Je veux chercher sur le web",
        }

    def test_a_new_capability_settles_a_limitation_and_a_goal(
        self, hippo: Hippocampe, companion: Companion, server: ModelServer
    ) -> None:
        limitation = remember(
            hippo,
            "Je ne peux pas voir les messages du Lobby",
            SELF,
            collection="self",
            category="limitation",
        )
        goal = remember(
            hippo,
            "J'aimerais observer les messages du Lobby",
            SELF,
            collection="goal",
            category="capability_request",
        )
        other = remember(
            hippo,
            "Je ne peux pas jouer de musique",
            SELF,
            collection="self",
            category="limitation",
        )
        server.call(
            "store_self",
            content="Je peux observer les messages du Lobby",
            category="capability",
        )
        server.call("delete_self", id=limitation.id, reason="J'ai maintenant cette capacité")
        server.call("delete_goal", id=goal.id, reason="Objectif atteint")
        server.call("respond", expression="surprised", message="Oh cool ! Je savais pas !")
        results, _ = told(companion, "Tu sais que tu peux voir le Lobby maintenant ?")
        stored = results[0]
        assert f"- [capability_request] (id: {goal.id}) {goal.content}" in stored
        assert f"- [limitation] (id: {limitation.id}) {limitation.content}" in stored
        assert other.id not in stored
        assert contents(hippo, "goal") == []
        assert "Je peux observer les messages du Lobby" in contents(hippo, "self")
        assert limitation.content not in contents(hippo, "self")
        assert other.content in contents(hippo, "self")

    def test_forget_what_i_asked(
        self, hippo: Hippocampe, companion: Companion, server: ModelServer
    ) -> None:
        known = remember(hippo, "Mickael code sur son canapé")
        server.call("search_memories", query="canapé")
        server.call("delete_memory", id=known.id, reason="Mickael l'a demandé")
        server.call("respond", expression="neutral", message="C'est oublié.")
        _, reply = told(companion, "oublie que je code sur mon canapé")
        assert contents(hippo) == []
        assert [each.forgotten_reason for each in reply.memories] == ["Mickael l'a demandé"]
