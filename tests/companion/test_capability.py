"""Any Pydantic AI agent with memory: reminder, tools, exchange stored."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage

from conftest import MODEL
from hippocampe import AsyncHippocampe, Hippocampe, Scope
from hippocampe.companion import LongTermMemory
from model_server import ModelServer

DEV = Scope(user="dev", channel="lobby")


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


def shown(server: ModelServer, number: int = -1) -> str:
    return "\n".join(each.text for each in server.requests[number].messages if each.role == "user")


@pytest.fixture(autouse=True)
def known(hippo: Hippocampe) -> None:
    hippo.remember("Mickael part en Grèce en février", scope=DEV)


def test_an_agent_gains_a_memory(hippo: Hippocampe, server: ModelServer) -> None:
    async def work() -> None:
        agent = Agent(
            MODEL, instructions="Sois bref.", capabilities=[LongTermMemory(hippo, scope=DEV)]
        )
        async with agent:
            server.call("store_memory", content="Mickael emmène sa fille Léa", subjects=["léa"])
            server.say("En Grèce !")
            result = await agent.run("Mickael part où en février ? J'emmène ma fille Léa.")
            assert result.output == "En Grèce !"
            assert "• Mickael part en Grèce en février" in shown(server)
            assert "Sois bref." in server.requests[-1].system
            assert "search_memories" in server.requests[-1].system
            assert len(server.requests[-1].tools) == 10
            # What the host gets back holds no reminder.
            assert "hippocampe-memory" not in str(result.new_messages()[0].parts)

    run(work)
    assert [each.content for each in hippo.messages(scope=DEV)] == [
        "Mickael part où en février ? J'emmène ma fille Léa.",
        "En Grèce !",
    ]
    (stored, _) = hippo.memories(scope=DEV).items
    assert (stored.content, stored.user) == ("Mickael emmène sa fille Léa", "dev")
    (usage,) = hippo.usage(scope=DEV)
    assert usage.purpose == "agent"
    assert 0 < usage.injected_tokens < usage.input_tokens


def test_the_model_still_sees_earlier_reminders(hippo: Hippocampe, server: ModelServer) -> None:
    async def work() -> None:
        agent = Agent(MODEL, capabilities=[LongTermMemory(hippo, scope=DEV)])
        async with agent:
            server.say("En Grèce !")
            first = await agent.run("Mickael part où en février ?")
            server.say("Une semaine.")
            history: list[ModelMessage] = first.all_messages()
            await agent.run("Pour combien de temps ?", message_history=history)
            assert shown(server).count("Mickael part en Grèce en février") == 1

    run(work)


@pytest.mark.parametrize("removed", ["delete", "erase"])
def test_no_reminder_quotes_what_was_removed_meanwhile(
    hippo: Hippocampe, server: ModelServer, removed: str
) -> None:
    async def work() -> None:
        agent = Agent(MODEL, capabilities=[LongTermMemory(hippo, scope=DEV)])
        async with agent:
            server.say("En Grèce !")
            first = await agent.run("Mickael part où en février ?")
            assert "Mickael part en Grèce en février" in shown(server)
            [memory] = [each for each in hippo.recent(scope=DEV) if "Grèce" in each.content]
            if removed == "erase":
                hippo.erase(id=memory.id, scope=DEV)
            else:
                hippo.delete(memory.id, scope=DEV, reason="faux")
            server.say("Je ne sais pas.")
            history: list[ModelMessage] = first.all_messages()
            await agent.run("Pour combien de temps ?", message_history=history)
            assert "Mickael part en Grèce en février" not in shown(server)

    run(work)


def test_the_scope_may_depend_on_the_run(hippo: Hippocampe, server: ModelServer) -> None:
    def scope(context: RunContext[str]) -> Scope:
        return Scope(user=context.deps, channel="lobby")

    async def work() -> None:
        memory = LongTermMemory(AsyncHippocampe(hippo), scope=scope)
        agent = Agent(MODEL, deps_type=str, capabilities=[memory])
        async with agent:
            server.brain = None
            for _ in range(2):
                server.say("Bonjour.")
            await asyncio.gather(
                agent.run("bonjour de ana", deps="ana"), agent.run("bonjour de bob", deps="bob")
            )

    run(work)
    said = {(each.author, each.content) for each in hippo.messages(scope=DEV)}
    assert {("ana", "bonjour de ana"), ("bob", "bonjour de bob")} <= said


def test_results_of_the_hosts_tools_are_kept(hippo: Hippocampe, server: ModelServer) -> None:
    async def work() -> None:
        agent = Agent(MODEL, capabilities=[LongTermMemory(hippo, scope=DEV)])

        @agent.tool_plain
        def read_mail() -> str:  # pyright: ignore[reportUnusedFunction]
            return "Rendez-vous chez le dentiste le 12 mars"

        async with agent:
            server.call("read_mail")
            server.call("search_memories", query="dentiste")
            server.say("Le 12 mars.")
            await agent.run("j'ai reçu quoi ?")

    run(work)
    kept = [each.content for each in hippo.messages(scope=DEV) if each.role == "tool"]
    assert kept == ["Rendez-vous chez le dentiste le 12 mars"]


def test_an_agent_goes_on_when_memory_fails(
    hippo: Hippocampe, server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with Agent(MODEL, capabilities=[LongTermMemory(hippo, scope=DEV)]) as agent:
            # It has no visible character, and cannot be stored.
            server.say("Oui ?")
            assert (await agent.run("\u2063")).output == "Oui ?"
            assert hippo.messages(scope=DEV) == []
            hippo.close()
            server.say("En Grèce !")
            assert (await agent.run("Mickael part où ?")).output == "En Grèce !"

    run(work)
    assert "could not be stored: message is empty" in caplog.text
    assert "without new memory" in caplog.text


def test_without_tools_and_without_storing(hippo: Hippocampe, server: ModelServer) -> None:
    async def work() -> None:
        memory = LongTermMemory(hippo, scope=DEV, tools=False, store=False)
        async with Agent(MODEL, capabilities=[memory]) as agent:
            server.say("En Grèce !")
            await agent.run("Mickael part où en février ?")

    run(work)
    assert server.requests[-1].tools == ()
    assert "• Mickael part en Grèce en février" in shown(server)
    assert hippo.messages(scope=DEV) == []
