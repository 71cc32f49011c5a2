"""The scripted model server, through agents of Pydantic AI."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, AgentRunResultEvent, PartDeltaEvent, TextPartDelta, UsageLimits
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.models import infer_model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

from model_server import Answer, Call, CallResult, ModelServer

PROTOCOLS = {
    "openai:gpt-5": "openai-responses",
    "openai-chat:gpt-5": "openai-chat",
    "anthropic:claude-scripted": "anthropic",
}
EACH = pytest.mark.parametrize("model", PROTOCOLS)


class Town(BaseModel):
    """Where someone lives."""

    name: str
    people: int


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        yield server


def run(agent: Agent[None, Any], prompt: str = "Où habite Zoé ?", **more: Any) -> Any:
    async def inside() -> Any:
        async with agent:
            return await agent.run(prompt, **more)

    return asyncio.run(inside())


def stream(agent: Agent[None, Any], prompt: str = "Où habite Zoé ?") -> list[Any]:
    async def inside() -> list[Any]:
        async with agent, agent.run_stream_events(prompt) as events:
            return [event async for event in events]

    return asyncio.run(inside())


def searcher(model: str) -> Agent[None, str]:
    agent = Agent(model, instructions="Tu es bref.")

    @agent.tool_plain
    def search_memories(query: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Search what is remembered.

        Args:
            query: What to look for.
        """
        return f"rien sur {query}"

    return agent


def test_what_the_names_infer_to(server: ModelServer) -> None:
    assert isinstance(infer_model("openai:gpt-5"), OpenAIResponsesModel)
    assert isinstance(infer_model("openai-chat:gpt-5"), OpenAIChatModel)


@EACH
def test_tools_then_text(server: ModelServer, model: str) -> None:
    server.calls(
        Call("search_memories", {"query": "Zoé"}), Call("search_memories", {"query": "Lyon"})
    )
    server.add(Answer("Je ne sais pas.", input_tokens=30, output_tokens=6))
    result = run(searcher(model))
    assert result.output == "Je ne sais pas."
    first, second = server.requests
    assert first.protocol == PROTOCOLS[model]
    assert first.model == model.split(":")[1]
    assert first.system == "Tu es bref."
    assert first.asked == "Où habite Zoé ?"
    [tool] = first.tools
    assert (tool.name, tool.description) == ("search_memories", "Search what is remembered.")
    assert tool.schema["required"] == ["query"]
    assert [call.arguments for call in second.messages[1].calls] == [
        {"query": "Zoé"},
        {"query": "Lyon"},
    ]
    assert [each.text for each in second.results] == ["rien sur Zoé", "rien sur Lyon"]
    assert result.usage.requests == 2
    assert result.usage.output_tokens > 6
    assert server.errors == []


@EACH
def test_structured_output(server: ModelServer, model: str) -> None:
    server.brain = lambda request: Answer(
        calls=(Call(request.tools[0].name, {"name": "Lyon", "people": 500_000}),)
    )
    assert run(Agent(model, output_type=Town)).output == Town(name="Lyon", people=500_000)
    assert server.requests[0].tool_choice == "required"


@EACH
def test_events_of_a_stream(server: ModelServer, model: str) -> None:
    server.call("search_memories", query="l'été de Zoé")
    server.say("Zoé habite à Lyon, près de la Saône.")
    *events, last = stream(searcher(model))
    assert isinstance(last, AgentRunResultEvent)
    assert last.result.output == "Zoé habite à Lyon, près de la Saône."
    deltas = [
        event.delta.content_delta
        for event in events
        if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta)
    ]
    assert len(deltas) > 2
    assert all(request.stream for request in server.requests)
    assert [each.text for each in server.requests[1].results] == ["rien sur l'été de Zoé"]
    assert last.result.usage.output_tokens > 0


@EACH
def test_broken_arguments_are_sent_back_for_another_try(server: ModelServer, model: str) -> None:
    server.garble("search_memories")
    server.call("search_memories", query="Zoé")
    server.say("Bien.")
    assert run(searcher(model)).output == "Bien."
    assert len(server.requests) == 3
    assert "rien sur" not in server.requests[1].results[0].text


@EACH
def test_broken_streamed_arguments_are_sent_back(server: ModelServer, model: str) -> None:
    server.garble("search_memories")
    server.say("Bien.")
    assert stream(searcher(model))[-1].result.output == "Bien."
    assert "rien sur" not in server.requests[1].results[0].text


@EACH
def test_unknown_tool_is_sent_back(server: ModelServer, model: str) -> None:
    server.call("fly", where="Lyon")
    server.say("Pardon.")
    assert run(searcher(model)).output == "Pardon."
    assert "fly" in server.requests[1].results[0].text


@EACH
def test_calls_without_end_meet_a_limit(server: ModelServer, model: str) -> None:
    server.brain = lambda request: Answer(calls=(Call("search_memories", {"query": "encore"}),))
    with pytest.raises(Exception, match="request_limit of 3"):
        run(searcher(model), usage_limits=UsageLimits(request_limit=3))
    assert len(server.requests) == 3


@EACH
def test_rate_limit_is_retried(server: ModelServer, model: str) -> None:
    server.fail(429, retry_after=0.01)
    server.say("Lyon.")
    assert run(Agent(model)).output == "Lyon."
    assert len(server.requests) == 2


@EACH
@pytest.mark.parametrize("status", [401, 500])
def test_errors_carry_their_status(server: ModelServer, model: str, status: int) -> None:
    for _ in range(3):
        server.fail(status, retry_after=0.01)
    with pytest.raises(ModelHTTPError) as caught:
        run(Agent(model))
    assert caught.value.status_code == status


@EACH
def test_late_answer_times_out(server: ModelServer, model: str) -> None:
    server.brain = lambda request: Answer(delay=60)
    with pytest.raises(ModelAPIError):
        run(Agent(model, model_settings={"timeout": 0.1}))


@EACH
def test_cut_stream_is_an_error(server: ModelServer, model: str) -> None:
    server.cut()
    with pytest.raises(ModelAPIError):
        stream(Agent(model))


@EACH
def test_garbled_answer_is_an_error(server: ModelServer, model: str) -> None:
    server.garble()
    with pytest.raises((UnexpectedModelBehavior, ModelAPIError, json.JSONDecodeError)):
        run(Agent(model))


@EACH
def test_history_goes_on(server: ModelServer, model: str) -> None:
    agent = searcher(model)
    server.call("search_memories", query="Zoé")
    server.say("Je ne sais pas.")
    server.say("Bonsoir.")
    history = run(agent).all_messages()
    assert run(agent, "Bonsoir.", message_history=history).output == "Bonsoir."
    roles = [message.role for message in server.requests[-1].messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert server.requests[-1].messages[2].results[0] == CallResult(
        server.requests[-1].messages[1].calls[0].id, "rien sur Zoé"
    )
