"""OpenAI's agents with memory, before a scripted model."""

import asyncio
from collections.abc import Callable
from typing import Any

import agents
import openai
import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.integrations.openai_agents import LongTermMemory
from hosting import Host, check_prefix
from model_server import Answer, Call, ModelRequest, ModelServer


@pytest.fixture
def memory(hashed: None, open_hippo: Opener) -> Hippocampe:
    agents.set_tracing_disabled(True)
    return open_hippo(embedder="hashed:64")


KEPT = """
items = asyncio.run(session.get_items())
assert len(items) == 6
assert "hippocampe-memory" not in str(items)
hippo.close()
"""


def brain(request: ModelRequest) -> Answer:
    """A model that looks at the weather if it can."""
    if request.tools and not request.results:
        return Answer(calls=(Call("weather", {"city": "Nantes"}),))
    return Answer(f"Answer to {request.asked.splitlines()[-1]}")


def test_an_agent_remembers(host: Callable[[], Host]) -> None:
    found = host()
    found.server.brain = brain
    shown = found.page("openai-agents.md", KEPT, OPENAI_AGENTS_DISABLE_TRACING="1")
    assert shown.splitlines()[0] == "Answer to What do I drink in the morning?"
    assert "Paul drinks green tea" in found.server.requests[0].asked
    check_prefix([each.body for each in found.server.requests])
    said = [each.content for each in found.memory.messages(scope=Scope(user="paul"))]
    assert len(said) == 6
    assert said[:2] == [
        "What do I drink in the morning?",
        "Answer to What do I drink in the morning?",
    ]


def test_tools_streams_and_settings_of_the_run_work(
    memory: Hippocampe, server: ModelServer
) -> None:
    server.brain = brain
    memory.remember("Paul boit du thé vert", scope=Scope(user="paul"))

    @agents.function_tool
    def weather(city: str) -> str:
        """The weather of a city."""
        return f"rain at {city}"

    def shout(data: Any) -> Any:
        data.model_data.instructions = "Shout."
        return data.model_data

    class Ended(agents.RunHooks[Any]):
        output: Any = None

        async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
            self.output = output

    ended = Ended()

    async def ask() -> None:
        client = openai.AsyncOpenAI()
        model = agents.OpenAIResponsesModel("scripted", openai_client=client)
        agent = agents.Agent(name="Eko", tools=[weather], model=model)
        config = agents.RunConfig(call_model_input_filter=shout)
        options = LongTermMemory(memory).of_run(Scope(user="paul"), run_config=config, hooks=ended)
        run = agents.Runner.run_streamed(agent, "Que boit Paul ?", **options)
        async for _ in run.stream_events():
            """Read it to its end."""
        await client.close()

    asyncio.run(ask())
    first, second = server.requests
    assert first.system == second.system == "Shout."
    assert "thé vert" in first.asked
    assert second.body["input"][0] == first.body["input"][0]
    assert ended.output == "Answer to Que boit Paul ?"
    assert memory.search_text("rain at Nantes", scope=Scope())
    assert len(memory.retrievals(scope=Scope())) == 1
