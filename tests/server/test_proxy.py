"""The proxy with the official client of OpenAI, before a scripted model."""

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from model_server import Answer, Call, ModelServer
from proxying import ASK, DEV, FACT, asked, eventually, knowing, stored, talking

TOOL: Any = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    return knowing(open_hippo, server, monkeypatch)


@pytest.fixture
def client(memory: Hippocampe) -> Iterator[openai.OpenAI]:
    with talking(memory) as client:
        yield client


def test_a_chat_is_reminded_and_stored(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    server.add(Answer("Du thé vert.", input_tokens=100, output_tokens=7))
    answer = client.chat.completions.create(
        model="scripted", messages=ASK, user="dev", extra_body={"top_k": 3, "unknown": {"é": [1.0]}}
    )
    assert answer.choices[0].message.content == "Du thé vert."
    body = asked(server)
    said = body.pop("messages")[0]["content"]
    assert body == {"model": "scripted", "user": "dev", "top_k": 3, "unknown": {"é": [1.0]}}
    assert said.startswith("<hippocampe-memory>")
    assert "thé vert" in said
    assert said.endswith("Que boit Paul le matin ?")
    assert stored(memory, 2) == ["Que boit Paul le matin ?", "Du thé vert."]
    [message, _] = memory.messages(scope=DEV)
    assert message.author == "dev"
    [cost] = memory.usage(scope=DEV)
    assert (cost.purpose, cost.input_tokens, cost.output_tokens) == ("proxy", 100, 7)
    assert cost.injected_tokens > 10


def test_a_stream_comes_byte_for_byte(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    server.add(Answer("Du thé vert, comme toujours."))
    server.add(Answer("Du thé vert, comme toujours."))
    pieces = [
        chunk.choices[0].delta.content or ""
        for chunk in client.chat.completions.create(
            model="scripted", messages=ASK, user="dev", stream=True
        )
        if chunk.choices
    ]
    assert "".join(pieces) == "Du thé vert, comme toujours."
    assert len(pieces) > 3
    assert stored(memory, 2) == ["Que boit Paul le matin ?", "Du thé vert, comme toujours."]
    until = time.monotonic() + 5
    while not memory.usage(scope=DEV) and time.monotonic() < until:
        time.sleep(0.01)
    [cost] = memory.usage(scope=DEV)
    assert cost.input_tokens > cost.injected_tokens > 10
    assert cost.output_tokens > 3
    body = {"model": "scripted", "messages": ASK, "stream": True}
    through = httpx.post(f"{client.base_url}chat/completions", json=body, timeout=30)
    assert through.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = [line for line in through.text.splitlines() if line]
    assert events[-1] == "data: [DONE]"
    assert all(line.startswith("data: ") for line in events)


def test_tools_pass_and_their_results_are_stored(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    server.calls(Call("weather", {"city": "Nantes"}))
    first = client.chat.completions.create(model="scripted", messages=ASK, user="dev", tools=[TOOL])
    [call] = first.choices[0].message.tool_calls or []
    assert asked(server)["tools"] == [TOOL]
    reminded = asked(server)["messages"][0]
    assert stored(memory, 0) == []
    server.add(Answer("Il pleut, donc du thé."))
    messages = [
        *ASK,
        first.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "pluie à Nantes"},
    ]
    client.chat.completions.create(model="scripted", messages=messages, user="dev", tools=[TOOL])
    sent = asked(server)["messages"]
    # The same turn: what was put before the message is still there, and was selected once.
    assert sent[0] == reminded
    assert sent[1:] == messages[1:]
    assert len(memory.retrievals(scope=DEV)) == 1
    assert stored(memory, 3)[:2] == ["Que boit Paul le matin ?", "Il pleut, donc du thé."]
    assert memory.search_text("pluie", scope=DEV)


def test_the_model_keeps_what_it_was_reminded_of(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    server.add(Answer("Du thé vert."), Answer("Oui."), Answer("Du thé."))
    client.chat.completions.create(model="scripted", messages=ASK, user="dev")
    first = asked(server)["messages"][0]
    later = [*ASK, {"role": "assistant", "content": "Du thé vert."}]
    later += [{"role": "user", "content": "Et Paul aime le thé ?"}]
    client.chat.completions.create(model="scripted", messages=later, user="dev")
    assert asked(server)["messages"][:2] == [first, later[1]]
    assert "Paul boit" not in asked(server)["messages"][2]["content"]
    # Another conversation starts without what this one has shown.
    other: list[Any] = [{"role": "user", "content": "Paul, le matin ?"}]
    client.chat.completions.create(model="scripted", messages=other, user="dev")
    assert "Paul boit du thé" in asked(server)["messages"][0]["content"]
    # What was erased is not shown again.
    [tea] = memory.recent(scope=DEV)
    memory.erase(scope=DEV, id=tea.id)
    server.add(Answer("Non."))
    client.chat.completions.create(model="scripted", messages=later, user="dev")
    assert "Paul boit" not in str(asked(server))


def test_a_retry_gets_what_the_first_try_got(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    server.fail(500, "busy")
    server.add(Answer("Du thé vert."))
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(model="scripted", messages=ASK, user="dev")
    assert stored(memory, 0) == []
    client.chat.completions.create(model="scripted", messages=ASK, user="dev")
    assert "thé vert" in asked(server)["messages"][0]["content"]


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_generated_again_replaces_the_one_before(
    client: openai.OpenAI,
    memory: Hippocampe,
    server: ModelServer,
    clock: FakeClock,
    stream: bool,
    later: bool,
) -> None:
    talk: list[Any] = [*ASK, {"role": "assistant", "content": "Bonjour."}, *ASK]
    for answer in ("Du café.", "Du thé vert."):
        server.add(Answer(answer))
        create = client.chat.completions.create
        given: Any = create(model="scripted", messages=talk, user="dev", stream=stream)
        assert len([*given]) > 1
        stored(memory, 2)
        if later:
            clock.advance(minutes=16)
    # A stream is stored after its last event.
    eventually(lambda: [each for each in stored(memory, 0) if each == "Du thé vert."], 1)
    said = ["Que boit Paul le matin ?", "Du thé vert."]
    before = ["Que boit Paul le matin ?", "Du café."] if later else []
    assert stored(memory, 0) == [*before, *said]


@pytest.mark.parametrize("stream", [False, True])
def test_an_edited_message_replaces_what_followed_it(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer, stream: bool
) -> None:
    talk: list[Any] = []
    for said in ("Salut", "J'habite à Lyon", "Il pleut ici"):
        talk += [{"role": "user", "content": said}]
        server.add(Answer(f"Noté : {said}"))
        given: Any = client.chat.completions.create(
            model="scripted", messages=talk, user="dev", stream=stream
        )
        assert [*given]
        talk += [{"role": "assistant", "content": f"Noté : {said}"}]
        stored(memory, len(talk))
    server.add(Answer("Noté : Nice"))
    edited: list[Any] = [*talk[:2], {"role": "user", "content": "J'habite à Nice"}]
    given = client.chat.completions.create(
        model="scripted", messages=edited, user="dev", stream=stream
    )
    assert [*given]

    def lives() -> list[str]:
        found = memory.recall("Où est-ce que j'habite ?", scope=DEV, collections=["turn"])
        said = [each.content.splitlines()[0] for each in found]
        return said if "J'habite à Nice" in said else []

    assert set(eventually(lives, 1)) <= {"Salut", "J'habite à Nice"}


def test_parts_and_other_roles_pass(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    server.add(Answer("Un chat."))
    parts = [
        {"type": "text", "text": "Que boit Paul sur cette image ?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
    messages: Any = [
        {"role": "system", "content": "Sois bref."},
        {"role": "user", "content": parts},
    ]
    client.chat.completions.create(model="scripted", messages=messages, user="dev")
    [system, user] = asked(server)["messages"]
    assert system == messages[0]
    assert user["content"][1:] == parts
    assert "thé vert" in user["content"][0]["text"]
    assert stored(memory, 2)[0] == "Que boit Paul sur cette image ?"


IMAGES = [
    ("chat/completions", "messages", {"type": "image_url", "image_url": {"url": "data:,"}}),
    ("responses", "input", {"type": "input_image", "image_url": "data:,"}),
    ("messages", "messages", {"type": "image", "source": {"type": "url", "url": "https://a/b"}}),
]


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(("path", "field", "image"), IMAGES)
def test_an_image_alone_does_not_ask_again(
    client: openai.OpenAI,
    memory: Hippocampe,
    server: ModelServer,
    path: str,
    field: str,
    image: Any,
    keep: bool,
) -> None:
    memory.update_settings(scope=DEV, keep_injections=keep)
    server.add(Answer("Du thé vert."), Answer("Un chat."), Answer("Oui."))
    talk, sent = [*ASK], list[Any]()
    for answer, content in (
        ("Du thé vert.", [image]),
        ("Un chat.", "Do you like green tea?"),
        ("Oui.", None),
    ):
        body = {"model": "scripted", "max_tokens": 9, field: [*talk]}
        headers = {"X-Hippocampe-User": "dev"}
        httpx.post(
            f"{client.base_url}{path}", json=body, headers=headers, timeout=30
        ).raise_for_status()
        sent.append(asked(server)[field])
        talk.append({"role": "assistant", "content": answer})
        talk.append({"role": "user", "content": content})
    assert FACT in sent[0][0]["content"]
    # What was injected stays where it was, and nothing is injected for the question again.
    assert sent[1] == [sent[0][0] if keep else ASK[0], *talk[1:3]]
    assert len(memory.retrievals(scope=DEV)) == 2
    assert stored(memory, 4) == [
        ASK[0]["content"],
        "Du thé vert.",
        "Do you like green tea?",
        "Oui.",
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_errors_of_the_upstream_come_as_they_are(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer, stream: bool
) -> None:
    server.add(Answer("slow down", status=429, retry_after=3))
    with pytest.raises(openai.RateLimitError) as failed:
        client.chat.completions.create(model="scripted", messages=ASK, stream=stream)
    assert failed.value.response.headers["retry-after"] == "3"
    assert failed.value.response.headers["content-type"] == "application/json"
    assert "slow down" in failed.value.message
    assert stored(memory, 0) == []
    assert memory.usage(scope=Scope()) == []


def test_a_stream_that_breaks_off_is_an_error(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    server.cut()
    with pytest.raises(openai.APIError, match="closed the connection"):
        list(client.chat.completions.create(model="scripted", messages=ASK, stream=True))
    server.cut()
    with pytest.raises(openai.InternalServerError, match="closed the connection"):
        client.chat.completions.create(model="scripted", messages=ASK)
    assert stored(memory, 0) == []


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("<think>\nPaul ?\n</think>\n\nDu thé vert.", ["Du thé vert."]),
        ("<think>\nL’utilisateur veut savoir", []),
        ("<thinking>The user wants to know", []),
        ("Okay, the user asks.\n</think>\n\nGreen tea.", ["Green tea."]),
        ("D’accord, il demande.</think>Du thé vert.", ["Du thé vert."]),
        ("</think>\nGreen tea.", ["Green tea."]),
        ("La balise `</think>` finit la pensée.", ["La balise `</think>` finit la pensée."]),
        ("Write <think>a</think> first.", ["Write <think>a</think> first."]),
    ],
)
def test_thoughts_are_not_stored(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer, text: str, reply: list[str]
) -> None:
    server.add(Answer(text))
    client.chat.completions.create(model="scripted", messages=ASK, user="dev")
    assert len(eventually(lambda: memory.usage(scope=DEV), 1)) == 1
    assert [each.content for each in memory.messages(scope=DEV)][1:] == reply


@pytest.mark.parametrize("message", ["Je ris \ud83d", "I laugh \ud83d"])
def test_half_an_emoji_does_not_lose_a_chat(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer, message: str
) -> None:
    server.say("Haha")
    talk: list[Any] = [{"role": "user", "content": message}]
    body = {"model": "scripted", "messages": talk, "user": "dev"}
    url = f"{client.base_url}chat/completions"
    httpx.post(
        url, content=json.dumps(body), headers={"content-type": "application/json"}, timeout=30
    )
    assert stored(memory, 2) == [message.replace("\ud83d", "\ufffd"), "Haha"]


@pytest.mark.parametrize("said", ["Range le port. ", "Tidy up the harbour. "])
def test_a_turn_of_many_tools_and_a_very_long_message_are_stored(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer, said: str
) -> None:
    called = {"type": "function", "function": {"name": "weather", "arguments": "{}"}}
    talk: list[Any] = [{"role": "user", "content": said * 70_000 + "Et Paul ?"}]
    for n in range(120):
        talk.append({"role": "assistant", "tool_calls": [{**called, "id": f"c{n}"}]})
        talk.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"quai {n}"})
    server.add(Answer("C'est fait."))
    client.chat.completions.create(model="scripted", messages=talk, user="dev", tools=[TOOL])
    message, reply, *results = eventually(
        lambda: [each.content for each in memory.messages(scope=Scope(), limit=200)], 102
    )
    assert message.startswith(said)
    assert message.endswith("Et Paul ?")
    assert reply == "C'est fait."
    assert results == [f"quai {n}" for n in range(20, 120)]


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [each.id for each in client.models.list()] == ["scripted"]


def test_headers_and_user_choose_the_scope(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    server.add(Answer("Oui."), Answer("Non."))
    headers = {
        "X-Hippocampe-Space": "work",
        "X-Hippocampe-User": "Zo%C3%A9",
        "X-Hippocampe-Channel": "lobby",
    }
    client.chat.completions.create(model="x", messages=ASK, user="dev", extra_headers=headers)
    [message, _] = memory.messages(scope=Scope(space="work"))
    assert (message.author, message.channel) == ("Zoé", "lobby")
    assert asked(server)["messages"] == ASK
    client.chat.completions.create(model="x", messages=ASK, user="no\nlabel")
    assert memory.messages(scope=Scope())[0].author is None
    for said, more, author in (
        ("Et le soir ?", {}, "5f3a"),
        ("Et à midi ?", {"user": "dev"}, "dev"),
    ):
        server.add(Answer("Oui."))
        create, talk = client.chat.completions.create, {"role": "user", "content": said}
        create(model="x", messages=[talk], safety_identifier="5f3a", **more)
        assert [each.author for each in memory.messages(scope=Scope())][-2] == author


def test_the_address_names_the_speaker(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    base = str(client.base_url).removesuffix("/v1/")
    server.add(Answer("Oui."), Answer("Non."), Answer("Si."))
    named = client.with_options(base_url=f"{base}/as/Zo%C3%A9%20B/v1")
    assert [each.id for each in named.models.list()] == ["scripted"]
    named.chat.completions.create(model="scripted", messages=ASK, user="a conversation")
    other = {"X-Hippocampe-User": "dev"}
    named.chat.completions.create(model="scripted", messages=ASK, extra_headers=other)
    more: list[Any] = [{"role": "user", "content": "Et le soir ?"}]
    with named.chat.completions.create(model="scripted", messages=more, stream=True) as stream:
        assert any(stream)
    stored(memory, 6)
    told = [each.author for each in memory.messages(scope=Scope()) if each.role == "user"]
    assert told == ["Zoé B", "dev", "Zoé B"]
    for path in ("/as/paul/api/memories", "/as//v1/models", "/as/v1/models"):
        assert httpx.get(base + path, timeout=30).status_code == 404


def test_a_key_opens_its_space_with_its_role(memory: Hippocampe, server: ModelServer) -> None:
    server.add(Answer("Oui."))
    made = memory.create_key(scope=Scope(space="home"), role="write")
    with talking(memory, loopback=False, api_key=made.secret) as client:
        other = {"X-Hippocampe-Space": "default"}
        with pytest.raises(openai.PermissionDeniedError, match="does not open this space"):
            client.chat.completions.create(model="x", messages=ASK, extra_headers=other)
        with pytest.raises(openai.PermissionDeniedError, match="does not open this space"):
            client.models.list(extra_headers=other)
        assert server.requests == []
        own = {"X-Hippocampe-Space": "home"}
        client.chat.completions.create(model="x", messages=ASK, extra_headers=own)
        assert "thé vert" not in str(asked(server))
        assert stored(memory, 2, Scope(space="home")) == ["Que boit Paul le matin ?", "Oui."]
        assert stored(memory, 0) == []
        reader = memory.create_key(scope=Scope(space="home"), role="read").secret
        with pytest.raises(openai.PermissionDeniedError, match="role write"):
            client.with_options(api_key=reader).chat.completions.create(model="x", messages=ASK)
        with pytest.raises(openai.AuthenticationError, match="not known here"):
            client.with_options(api_key="sk-x").chat.completions.create(model="x", messages=ASK)


def test_a_client_that_goes_away_stops_the_upstream(
    memory: Hippocampe, server: ModelServer
) -> None:
    server.add(Answer("mot " * 2_000))
    with talking(memory) as client:
        stream = client.chat.completions.create(model="x", messages=ASK, user="dev", stream=True)
        for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                break
        stream.close()
        [_, reply] = stored(memory, 2)
    assert reply.startswith("mot")


def test_a_chat_works_without_memory(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    server.add(Answer("Oui."))
    memory.close()
    answer = client.chat.completions.create(model="x", messages=ASK)
    assert answer.choices[0].message.content == "Oui."
    assert asked(server)["messages"] == ASK


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": ["user"], "content": "a"}, {"role": "user", "content": "b"}],
        [{"role": "user", "content": "\ud800 et le thé"}],
        [{"role": "user", "content": [3, {"type": "text", "text": 3}, {"text": "thé"}]}],
        [{"role": "user", "content": None}, {"role": "assistant"}],
        [{}, {"role": "user"}],
    ],
)
def test_messages_of_any_form_reach_the_upstream(
    client: openai.OpenAI, server: ModelServer, messages: list[Any]
) -> None:
    server.brain = lambda request: Answer("Oui.")
    body = json.dumps({"model": "x", "messages": messages})
    answer = httpx.post(f"{client.base_url}chat/completions", content=body, timeout=30)
    # The upstream judges them.
    assert answer.status_code in (200, 400, 500)
    assert server.requests or server.errors


def test_a_spent_budget_is_said(
    client: openai.OpenAI, memory: Hippocampe, server: ModelServer
) -> None:
    memory.update_settings(scope=DEV, daily_budget=0.01)
    memory.record_usage(
        scope=DEV, model="x", purpose="chat", input_tokens=1, output_tokens=1, price=1.0
    )
    with pytest.raises(openai.APIStatusError, match="daily budget") as failed:
        client.chat.completions.create(model="x", messages=ASK)
    assert failed.value.status_code == 402
    assert server.requests == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"messages": 3}', b'{"messages": [3]}'])
def test_requests_without_a_conversation(
    client: openai.OpenAI, server: ModelServer, body: bytes
) -> None:
    answer = httpx.post(f"{client.base_url}chat/completions", content=body, timeout=30)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
    lost = httpx.get(f"{client.base_url}nowhere", timeout=30)
    assert lost.json()["error"]["type"] == "not_found_error"


@pytest.mark.parametrize(
    "message", ["oublie que je joue du tuba", "Forget that I play the tuba, please"]
)
def test_a_request_to_forget_hides_what_was_said(
    open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    memory = knowing(open_hippo, server, monkeypatch, embedder="local")
    memory.remember("dev joue du tuba", scope=DEV)
    with talking(memory) as client:
        for said in ("Je joue du tuba depuis mes douze ans", message, "Quoi de neuf ?"):
            server.add(Answer("D'accord."))
            talk: Any = [{"role": "user", "content": said}]
            client.chat.completions.create(model="scripted", messages=talk, user="dev")
            stored(memory, 2 * len(server.requests))
            if said == message:
                assert "une demande d’oubli" in asked(server)["messages"][0]["content"]
    found = memory.recall("tuba", scope=DEV, collections=("memory", "turn"))
    assert not any("tuba" in item.content for item in found)
    assert memory.search_text("tuba", scope=Scope()) == []
    assert "tuba" not in str(asked(server)["messages"])
