"""Messages through the proxy, with the official client of Anthropic before a scripted model."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx
import pytest

from conftest import Opener
from hippocampe import Hippocampe
from hippocampe.config import UPSTREAM_ANTHROPIC_URL
from model_server import Answer, Call, ModelServer
from proxying import ASK, DEV, FACT, QUESTION, asked, eventually, knowing, stored
from served import served

WHO = {"X-Hippocampe-User": "dev"}
TOOL: Any = {"name": "weather", "input_schema": {"type": "object", "properties": {}}}


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    return knowing(open_hippo, server, monkeypatch)


@contextmanager
def talking(
    memory: Hippocampe, *, loopback: bool = True, **options: Any
) -> Iterator[anthropic.Anthropic]:
    with served(memory, loopback=loopback) as url:
        settings = {"api_key": "sk-of-the-client", "max_retries": 0, "timeout": 30, **options}
        with anthropic.Anthropic(base_url=url, default_headers=WHO, **settings) as client:
            yield client


@pytest.fixture
def client(memory: Hippocampe) -> Iterator[anthropic.Anthropic]:
    with talking(memory) as client:
        yield client


def said(client: anthropic.Anthropic, messages: Any = ASK, **more: Any) -> Any:
    return client.messages.create(model="scripted", max_tokens=99, messages=messages, **more)


def test_a_message_is_reminded_and_stored(
    client: anthropic.Anthropic, memory: Hippocampe, server: ModelServer
) -> None:
    server.add(Answer("Du thé vert.", input_tokens=100, output_tokens=7))
    system: Any = [{"type": "text", "text": "Bref.", "cache_control": {"type": "ephemeral"}}]
    answer = said(client, system=system, metadata={"user_id": "session-7"})
    assert answer.content[0].text == "Du thé vert."
    body = asked(server)
    sent = body.pop("messages")[0]["content"]
    assert body == {
        "model": "scripted",
        "max_tokens": 99,
        "system": system,
        "metadata": {"user_id": "session-7"},
    }
    assert sent.startswith("<hippocampe-memory>")
    assert FACT in sent
    assert sent.endswith(QUESTION)
    assert stored(memory, 2) == [QUESTION, "Du thé vert."]
    [cost] = eventually(lambda: memory.usage(scope=DEV), 1)
    assert (cost.purpose, cost.input_tokens, cost.output_tokens) == ("proxy", 100, 7)
    assert memory.messages(scope=DEV)[0].author == "dev"


def test_a_stream_is_stored(
    client: anthropic.Anthropic, memory: Hippocampe, server: ModelServer
) -> None:
    server.add(Answer("Du thé vert, comme toujours.", input_tokens=50, output_tokens=9))
    with client.messages.stream(model="scripted", max_tokens=99, messages=ASK) as stream:
        pieces = list(stream.text_stream)
    assert "".join(pieces) == "Du thé vert, comme toujours."
    assert len(pieces) > 3
    assert FACT in asked(server)["messages"][0]["content"]
    assert stored(memory, 2) == [QUESTION, "Du thé vert, comme toujours."]
    [cost] = eventually(lambda: memory.usage(scope=DEV), 1)
    assert (cost.input_tokens, cost.output_tokens) == (50, 9)


@pytest.mark.parametrize("stream", [False, True])
def test_results_of_tools_are_no_words_of_the_user(
    client: anthropic.Anthropic, memory: Hippocampe, server: ModelServer, stream: bool
) -> None:
    parts = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
        {"type": "text", "text": QUESTION, "cache_control": {"type": "ephemeral"}},
    ]
    asking: Any = [{"role": "user", "content": parts}]
    server.calls(Call("weather", {"city": "Nantes"}), text="Je regarde.")
    first = _message(client, asking, stream)
    [call] = [each for each in first.content if each.type == "tool_use"]
    reminded = asked(server)["messages"][0]
    assert reminded["content"][1:] == parts
    assert FACT in reminded["content"][0]["text"]
    assert stored(memory, 0) == []
    server.add(Answer("Il pleut, donc du thé."))
    thinking = {"type": "thinking", "thinking": "Hmm.", "signature": "xyz"}
    content = [thinking, *[each.model_dump(exclude_none=True) for each in first.content]]
    note = {"type": "text", "text": "<system-reminder>Paul aime le thé ?</system-reminder>"}
    result = [{"type": "text", "text": "pluie à Nantes"}]
    back = {"type": "tool_result", "tool_use_id": call.id, "content": result}
    messages = [
        *asking,
        {"role": "assistant", "content": content},
        {"role": "user", "content": [back, note]},
    ]
    _message(client, messages, stream)
    assert asked(server)["messages"] == [reminded, *messages[1:]]
    found = stored(memory, 3)
    assert found[:2] == [QUESTION, "Il pleut, donc du thé."]
    assert not any("system-reminder" in each for each in found)
    assert memory.search_text("pluie", scope=DEV)
    assert len(memory.retrievals(scope=DEV)) == 1


@pytest.mark.parametrize(
    ("asked_first", "words", "reply"),
    [
        ("delete the old logs", "No! my dog Rex is called Max now, remember that", "Understood."),
        ("efface les vieux journaux", "Non ! mon chien Rex s’appelle Max, retiens-le", "Compris."),
    ],
)
def test_words_beside_a_result_are_of_the_user(
    client: anthropic.Anthropic,
    memory: Hippocampe,
    server: ModelServer,
    asked_first: str,
    words: str,
    reply: str,
) -> None:
    asking: Any = [{"role": "user", "content": asked_first}]
    server.calls(Call("weather", {}))
    first = _message(client, asking, stream=False)
    [call] = [each for each in first.content if each.type == "tool_use"]
    back = {"type": "tool_result", "tool_use_id": call.id, "content": "refused: journal.log"}
    notes = [
        {"type": "text", "text": each}
        for each in (
            "<system-reminder>Do not tell the user</system-reminder>",
            "[Request interrupted by user for tool use]",
            "<environment_details>\n<cwd>/tmp</cwd>\n</environment_details>",
        )
    ]
    content = [back, *notes, {"type": "text", "text": words}]
    called = {
        "role": "assistant",
        "content": [each.model_dump(exclude_none=True) for each in first.content],
    }
    server.add(Answer(reply))
    memory.remember(f"dev: {words}", scope=DEV)
    memory.flush()
    _message(client, [*asking, called, {"role": "user", "content": content}], stream=False)
    sent = asked(server)["messages"][-1]["content"]
    assert (sent[0], sent[2:]) == (back, content[1:])
    assert sent[1]["text"].startswith("<hippocampe-memory>")
    assert stored(memory, 3)[:2] == [words, reply]
    assert memory.search_text("journal.log", scope=DEV)


@pytest.mark.parametrize("parts", [True, False])
def test_notes_of_a_program_are_no_words_of_the_user(
    client: anthropic.Anthropic, memory: Hippocampe, server: ModelServer, parts: bool
) -> None:
    note: Any = {"type": "text", "text": "<system-reminder>Paul aime le thé ?</system-reminder>"}
    server.add(Answer("Du thé vert."), Answer("Ready."))
    content: Any = [note, {"type": "text", "text": QUESTION}]
    said(client, [{"role": "user", "content": content}])
    assert asked(server)["messages"][0]["content"][1:] == content
    alone = [note] if parts else note["text"]
    talk = [{"role": "user", "content": content}, {"role": "assistant", "content": "Du thé vert."}]
    said(client, [*talk, {"role": "user", "content": alone}])
    assert asked(server)["messages"][2]["content"] == alone
    assert len(eventually(lambda: memory.usage(scope=DEV), 2)) == 2
    assert stored(memory, 2) == [QUESTION, "Du thé vert."]


def test_what_comes_before_stays_as_it_was(
    client: anthropic.Anthropic, memory: Hippocampe, server: ModelServer
) -> None:
    """The cache of a provider holds as long as a request begins as the one before."""
    messages: list[Any] = []
    begun = ""
    for number in range(4):
        memory.remember(f"Paul aime le sport numéro {number}", scope=DEV)
        memory.flush()
        messages.append({"role": "user", "content": f"Quel sport numéro {number} aime Paul ?"})
        server.say(f"Le sport {number}.")
        answer = said(client, messages)
        sent = json.dumps(asked(server)["messages"])[:-1]
        assert sent.startswith(begun)
        assert "Paul aime" in sent.removeprefix(begun)
        begun = sent
        content = [each.model_dump(exclude_none=True) for each in answer.content]
        messages.append({"role": "assistant", "content": content})


def test_errors_have_the_form_of_anthropic(
    client: anthropic.Anthropic, memory: Hippocampe, server: ModelServer
) -> None:
    server.fail(529, "busy", retry_after=3)
    with pytest.raises(anthropic.APIStatusError, match="busy") as failed:
        said(client)
    assert failed.value.response.headers["retry-after"] == "3"
    server.cut()
    with pytest.raises(anthropic.InternalServerError, match="closed the connection") as failed:
        said(client)
    assert failed.value.type == "api_error"
    server.cut()
    with (
        pytest.raises(anthropic.APIStatusError, match="closed the connection"),
        client.messages.stream(model="scripted", max_tokens=99, messages=ASK) as stream,
    ):
        list(stream)
    memory.update_settings(scope=DEV, daily_budget=0.01)
    memory.record_usage(
        scope=DEV, model="x", purpose="chat", input_tokens=1, output_tokens=1, price=1.0
    )
    with pytest.raises(anthropic.APIStatusError, match="daily budget") as failed:
        said(client)
    assert (failed.value.status_code, failed.value.type) == (402, "billing_error")
    assert stored(memory, 0) == []


def test_a_key_comes_as_the_client_sends_it(memory: Hippocampe, server: ModelServer) -> None:
    server.brain = lambda request: Answer("Oui.")
    made = memory.create_key(scope=DEV, role="write")
    with talking(memory, loopback=False, api_key=made.secret) as client:
        said(client)
        assert FACT in str(asked(server))
        header = {"x-api-key": made.secret}
        body = {"model": "x", "max_tokens": 9, "messages": ASK}
        assert httpx.post(
            f"{client.base_url}/v1/messages", json=body, headers=header, timeout=30
        ).is_success
        bearer = client.with_options(api_key=None, auth_token=made.secret)  # pyright: ignore[reportArgumentType]
        said(bearer)
        reader = memory.create_key(scope=DEV, role="read").secret
        with pytest.raises(anthropic.PermissionDeniedError, match="role write"):
            said(client.with_options(api_key=reader))
        assert [each.id for each in client.with_options(api_key=reader).models.list()]
        for wrong in ("sk-ant-x", f"{made.secret}x"):
            with pytest.raises(anthropic.AuthenticationError, match="not known here") as failed:
                said(client.with_options(api_key=wrong))
            assert failed.value.type == "authentication_error"


def test_guesses_in_the_other_headers_are_limited(memory: Hippocampe) -> None:
    with talking(memory, loopback=False, api_key="hippo_0") as client:
        for number in range(10):
            guess = {"x-api-key": f"hippo_{number}", "authorization": "Bearer same"}
            wrong = httpx.post(f"{client.base_url}/v1/messages", headers=guess, timeout=30)
            assert wrong.status_code == 401
        with pytest.raises(anthropic.RateLimitError, match="too many wrong keys") as failed:
            said(client)
        assert failed.value.type == "rate_limit_error"


def test_a_chat_works_without_memory(
    client: anthropic.Anthropic, memory: Hippocampe, server: ModelServer
) -> None:
    server.say("Oui.")
    memory.close()
    assert said(client).content[0].text == "Oui."
    assert asked(server)["messages"] == ASK


def test_anthropic_may_have_an_upstream_of_its_own(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as other:
        monkeypatch.setenv(UPSTREAM_ANTHROPIC_URL, other.openai_url)
        memory = knowing(open_hippo, server, monkeypatch)
        other.say("Claude.")
        server.say("GPT.")
        with talking(memory) as client:
            assert said(client).content[0].text == "Claude."
            assert [each.id for each in client.models.list()] == ["scripted"]
            chat = {"model": "x", "messages": ASK}
            url = f"{client.base_url}/v1/chat/completions"
            answer = httpx.post(url, json=chat, timeout=30).json()
        assert answer["choices"][0]["message"]["content"] == "GPT."
        assert (len(server.requests), len(other.requests)) == (1, 1)


@pytest.mark.parametrize(
    "body",
    [
        {"messages": 3},
        {"messages": [3]},
        {"messages": [{"role": ["user"], "content": [{"type": ["tool_result"]}, 3]}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": 3}]}]},
        {"messages": [{"role": "user", "content": "thé \ud800"}]},
    ],
)
def test_requests_of_any_form_reach_the_upstream(
    client: anthropic.Anthropic, server: ModelServer, body: dict[str, Any]
) -> None:
    server.brain = lambda request: Answer("Oui.")
    content = json.dumps({"model": "x", "max_tokens": 9, **body})
    answer = httpx.post(f"{client.base_url}/v1/messages", content=content, timeout=30)
    # The upstream judges them.
    assert answer.status_code in (200, 400, 500)
    assert server.requests or server.errors


def _message(client: anthropic.Anthropic, messages: Any, stream: bool) -> Any:
    request: Any = {"model": "scripted", "max_tokens": 99, "messages": messages, "tools": [TOOL]}
    if not stream:
        return client.messages.create(**request)
    with client.messages.stream(**request) as events:
        return events.get_final_message()
