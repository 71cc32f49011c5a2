"""Responses through the proxy, with the official client of OpenAI before a scripted model."""

import asyncio
import gc
import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.server.proxy.remembered_chat import Thread
from model_server import Answer, Call, ModelServer
from proxying import ASK, DEV, FACT, QUESTION, asked, eventually, knowing, stored, talking

TOOL: Any = {"type": "function", "name": "weather", "parameters": {"type": "object"}}


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    return knowing(open_hippo, server, monkeypatch)


@pytest.fixture
def client(memory: Hippocampe) -> Iterator[openai.OpenAI]:
    with talking(memory) as client:
        yield client


def test_a_text_is_reminded_and_stored(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    server.add(Answer("Du thé vert.", input_tokens=100, output_tokens=7))
    answer = client.responses.create(
        model="scripted",
        instructions="Sois bref.",
        input=QUESTION,
        user="dev",
        store=False,
        extra_body={"unknown": {"é": [1.0]}},
    )
    assert answer.output_text == "Du thé vert."
    body = asked(server)
    said = body.pop("input")
    assert body == {
        "model": "scripted",
        "instructions": "Sois bref.",
        "user": "dev",
        "store": False,
        "unknown": {"é": [1.0]},
    }
    assert said.startswith("<hippocampe-memory>")
    assert FACT in said
    assert said.endswith(QUESTION)
    assert stored(memory, 2) == [QUESTION, "Du thé vert."]
    [cost] = eventually(lambda: memory.usage(scope=DEV), 1)
    assert (cost.purpose, cost.model) == ("proxy", "scripted")
    assert (cost.input_tokens, cost.output_tokens) == (100, 7)
    assert cost.injected_tokens > 10


def test_items_keep_their_form(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    server.add(Answer("Un chat."))
    parts = [
        {"type": "input_text", "text": "Que boit Paul sur cette image ?"},
        {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"},
    ]
    items: Any = [
        {"role": "developer", "content": "Sois bref."},
        {"role": "user", "content": "Bonjour"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Salut"}],
        },
        {"type": "message", "role": "user", "content": parts},
    ]
    client.responses.create(model="scripted", input=items, user="dev")
    sent = asked(server)["input"]
    assert sent[:4] == items[:4]
    assert sent[4]["content"][1:] == parts
    assert sent[4]["content"][0]["type"] == "input_text"
    assert FACT in sent[4]["content"][0]["text"]
    assert stored(memory, 2)[0] == "Que boit Paul sur cette image ?"


def test_a_stream_is_stored(client: openai.OpenAI, memory: Hippocampe, server: ModelServer) -> None:
    server.add(Answer("Du thé vert, comme toujours.", input_tokens=50, output_tokens=9))
    pieces = list[str]()
    with client.responses.stream(model="scripted", input=QUESTION, user="dev") as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                pieces.append(event.delta)
        assert stream.get_final_response().output_text == "Du thé vert, comme toujours."
    assert len(pieces) > 3
    assert FACT in asked(server)["input"]
    assert stored(memory, 2) == [QUESTION, "Du thé vert, comme toujours."]
    [cost] = eventually(lambda: memory.usage(scope=DEV), 1)
    assert (cost.input_tokens, cost.output_tokens) == (50, 9)


def test_an_awaited_client_streams(memory: Hippocampe, server: ModelServer) -> None:
    server.say("Du thé vert.")

    async def ask(url: str) -> str:
        async with openai.AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as client:
            events = await client.responses.create(
                model="scripted", input=ASK, user="dev", stream=True
            )
            return "".join(
                [each.delta async for each in events if each.type == "response.output_text.delta"]
            )

    with talking(memory) as client:
        assert asyncio.run(ask(str(client.base_url))) == "Du thé vert."
        assert stored(memory, 2) == [QUESTION, "Du thé vert."]


@pytest.mark.parametrize("stream", [False, True])
def test_tools_are_of_one_turn(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer, stream: bool
) -> None:
    server.calls(Call("weather", {"city": "Nantes"}))
    first = _response(client, ASK, stream)
    [call] = [each for each in first.output if each.type == "function_call"]
    reminded = asked(server)["input"][0]
    assert FACT in reminded["content"]
    assert stored(memory, 0) == []
    server.add(Answer("Il pleut, donc du thé."))
    items = [
        *ASK,
        *[each.model_dump(exclude_none=True) for each in first.output],
        {"type": "function_call_output", "call_id": call.call_id, "output": "pluie à Nantes"},
    ]
    _response(client, items, stream)
    assert asked(server)["input"] == [reminded, *items[1:]]
    assert stored(memory, 3)[:2] == [QUESTION, "Il pleut, donc du thé."]
    assert memory.search_text("pluie", scope=DEV)
    assert len(memory.retrievals(scope=DEV)) == 1


def threads() -> list[Thread]:
    """The threads of this process with a message."""
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, Thread) and each.message]


def test_an_erased_message_leaves_the_open_turn_of_its_tools(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    elsewhere = Scope(space="elsewhere")
    memory.remember("Le thé est vert", scope=elsewhere)
    server.calls(Call("weather", {"city": "Nantes"}))
    first = _response(client, QUESTION, False)
    assert [each.message for each in eventually(threads, 1)] == [QUESTION]
    memory.erase(whole_space=True, scope=elsewhere)
    assert threads()
    memory.erase(whole_space=True, scope=DEV)
    assert not threads()
    [call] = [each for each in first.output if each.type == "function_call"]
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "pluie"}
    server.say("Il pleut.")
    _response(client, [output], False, previous_response_id=first.id)
    server.say("Bonjour.")
    _response(client, "Bonjour toi", False)
    assert stored(memory, 2) == ["Bonjour toi", "Bonjour."]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("conversation", [None, {"id": "conv_1"}])
def test_a_history_that_the_provider_keeps_is_continued(
    client: openai.OpenAI,
    memory: Hippocampe,
    server: ModelServer,
    stream: bool,
    conversation: Any,
) -> None:
    named: Any = {} if conversation is None else {"conversation": conversation}

    def after(response: Any) -> Any:
        return named or {"previous_response_id": response.id}

    server.calls(Call("weather", {"city": "Nantes"}))
    first = _response(client, QUESTION, stream, **named)
    [call] = [each for each in first.output if each.type == "function_call"]
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "pluie à Nantes"}
    server.calls(Call("weather", {"city": "Tarbes"}))
    second = _response(client, [output], stream, **after(first))
    # No word of the user is in the request: it stays as it is, and its turn goes on.
    assert asked(server)["input"] == [output]
    [call] = [each for each in second.output if each.type == "function_call"]
    server.add(Answer("Il pleut, donc du thé."), Answer("Avec du miel."))
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "soleil à Tarbes"}
    third = _response(client, [output], stream, **after(second))
    assert stored(memory, 4)[:2] == [QUESTION, "Il pleut, donc du thé."]
    assert memory.search_text("pluie", scope=DEV)
    assert memory.search_text("soleil", scope=DEV)
    # The provider has what the model was reminded of: it is not said again.
    _response(client, "Et le thé de Paul, avec quoi ?", stream, **after(third))
    assert FACT not in asked(server)["input"]
    said = [each.text for each in server.requests[-1].messages]
    assert sum(FACT in each for each in said) == 1
    assert stored(memory, 6)[-2:] == ["Et le thé de Paul, avec quoi ?", "Avec du miel."]
    messages = memory.messages(scope=Scope())
    assert len({each.channel for each in messages}) == 1
    # The same words later in a conversation are no retry.
    server.say("Oui.")
    _response(client, QUESTION, stream, **after(third))
    assert FACT not in asked(server)["input"]


def test_what_comes_before_stays_as_it_was(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    """The cache of a provider holds as long as a request begins as the one before."""
    items: list[Any] = [{"role": "developer", "content": "Sois bref, s’il te plaît."}]
    begun = ""
    for number in range(4):
        memory.remember(f"Paul aime le sport numéro {number}", scope=DEV)
        memory.flush()
        items.append({"role": "user", "content": f"Quel sport numéro {number} aime Paul ?"})
        server.say(f"Le sport {number}.")
        answer = client.responses.create(model="scripted", input=list(items), user="dev")
        sent = json.dumps(asked(server)["input"])[:-1]
        assert sent.startswith(begun)
        assert "Paul aime" in sent.removeprefix(begun)
        begun = sent
        items += [each.model_dump(exclude_none=True) for each in answer.output]


def test_an_image_alone_continues_a_history(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    """Beside the results of tools it belongs to their turn; after the answer it has no words to store."""
    image = {"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}
    server.calls(Call("weather", {"city": "Nantes"}))
    before = _response(client, QUESTION, stream=False)
    [call] = [each for each in before.output if each.type == "function_call"]
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "pluie"}
    server.add(Answer("Il pleut."), Answer("Un chat."))
    for items in ([output, image], [image]):
        before = _response(client, items, stream=False, previous_response_id=before.id)
        assert asked(server)["input"] == items
    eventually(lambda: memory.usage(scope=DEV), 3)
    assert stored(memory, 3)[:2] == [QUESTION, "Il pleut."]
    assert len(memory.messages(scope=Scope())) == 3


@pytest.mark.parametrize("stream", [False, True])
def test_errors_of_the_upstream_come_as_they_are(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer, stream: bool
) -> None:
    server.fail(429, "slow down", retry_after=3)
    with pytest.raises(openai.RateLimitError, match="slow down") as failed:
        client.responses.create(model="scripted", input=QUESTION, stream=stream)
    assert failed.value.response.headers["retry-after"] == "3"
    server.cut()
    with pytest.raises(openai.APIError, match="closed the connection"):
        answer: Any = client.responses.create(model="scripted", input=QUESTION, stream=stream)
        list(answer)
    assert stored(memory, 0) == []


@pytest.mark.parametrize(
    "body",
    [
        {"input": None},
        {"input": 3},
        {"input": [3]},
        {"input": []},
        {"input": [{"type": ["message"], "role": ["user"], "content": 3}]},
        {"input": [{"role": "user", "content": [3, {"type": "input_text", "text": 3}]}]},
        {"input": "thé \ud800", "previous_response_id": 3, "conversation": [3]},
        {"previous_response_id": "resp_99"},
    ],
)
def test_requests_of_any_form_reach_the_upstream(
    client: openai.OpenAI, server: ModelServer, body: dict[str, Any]
) -> None:
    server.brain = lambda request: Answer("Oui.")
    answer = httpx.post(
        f"{client.base_url}responses", content=json.dumps({"model": "x", **body}), timeout=30
    )
    # The upstream judges them.
    assert answer.status_code in (200, 400, 500)
    assert server.requests or server.errors


def _response(client: openai.OpenAI, input: Any, stream: bool, **more: Any) -> Any:
    request: Any = {"model": "scripted", "input": input, "user": "dev", "tools": [TOOL], **more}
    if not stream:
        return client.responses.create(**request)
    with client.responses.stream(**request) as events:
        return events.get_final_response()
