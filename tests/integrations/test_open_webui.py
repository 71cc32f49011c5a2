"""Open WebUI and LibreChat: their headers in the proxy, and the filter, called as Open WebUI calls it."""

import asyncio
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.integrations.open_webui_filter import Filter
from hosting import ROOT, check_prefix
from model_server import Answer, ModelServer
from proxying import FACT, QUESTION, asked, knowing, stored
from served import served

ALL = Scope()
Json = dict[str, Any]


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    server.brain = lambda request: Answer("Du thé vert.")
    # The first turn loads the embedder, which takes longer on a busy machine.
    monkeypatch.setattr("hippocampe.integrations.open_webui_filter.SECONDS", 30.0)
    return knowing(open_hippo, server, monkeypatch)


@pytest.fixture
def url(memory: Hippocampe) -> Iterator[str]:
    with served(memory, loopback=True) as url:
        yield url


def ask(url: str, headers: Json, said: str = QUESTION) -> None:
    body = {"model": "scripted", "messages": [{"role": "user", "content": said}]}
    url = f"{url}/v1/chat/completions"
    httpx.post(url, json=body, headers=headers, timeout=30).raise_for_status()


FORWARDED = {
    "X-OpenWebUI-User-Name": "Zo%C3%A9 Martin",
    "X-OpenWebUI-User-Id": "5f3a-11",
    "X-OpenWebUI-User-Email": "zoe@example.org",
    "X-OpenWebUI-User-Role": "user",
    "X-OpenWebUI-Chat-Id": "chat-17",
}


def test_forwarded_headers_name_user_and_chat(url: str, memory: Hippocampe) -> None:
    ask(url, FORWARDED)
    [message, _] = memory.messages(scope=ALL)
    assert (message.author, message.channel) == ("Zoé Martin", "chat-17")
    ask(url, {**FORWARDED, "X-OpenWebUI-User-Name": "%0A", "X-Hippocampe-Channel": "salon"})
    [*_, message, _] = memory.messages(scope=ALL)
    assert (message.author, message.channel) == ("zoe@example.org", "salon")
    ask(url, {"X-OpenWebUI-User-Id": "{{USER_ID}}", "X-OpenWebUI-Chat-Id": ""})
    [*_, message, _] = memory.messages(scope=ALL)
    assert message.author is None


@pytest.mark.parametrize(
    ("headers", "said", "remembered"),
    [
        ({"X-OpenWebUI-Task": "title_generation"}, QUESTION, False),
        ({"X-OpenWebUI-Task": "{{TASK}}"}, QUESTION, True),
        ({"X-OpenWebUI-Task": ""}, QUESTION, True),
        ({"X-OpenWebUI-Chat-Id": "c"}, "### Task:\nGenerate a title.", False),
        ({"X-OpenWebUI-Chat-Id": "temporary:Sx7"}, QUESTION, False),
        ({"X-OpenWebUI-Task": "", "X-Hippocampe-Channel": "local:Sx7"}, QUESTION, False),
        ({"X-Hippocampe-Channel": "local:Sx7"}, QUESTION, True),
        ({}, "### Task:\nGenerate a title.", True),
    ],
)
def test_tasks_and_temporary_chats_of_open_webui_are_not_remembered(
    url: str, memory: Hippocampe, server: ModelServer, headers: Json, said: str, remembered: bool
) -> None:
    ask(url, headers, said)
    assert len(stored(memory, 2 if remembered else 0, ALL)) == (2 if remembered else 0)
    if not remembered:
        assert asked(server)["messages"] == [{"role": "user", "content": said}]


def test_models_asked_at_once_get_the_same_in_the_proxy(url: str, server: ModelServer) -> None:
    """A chat with two models sends its message to both at the same time."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda _: ask(url, FORWARDED), range(2)))
    [one, two] = [each.body["messages"] for each in server.requests]
    assert FACT in one[0]["content"]
    assert one == two


def test_thoughts_are_not_stored(url: str, memory: Hippocampe, server: ModelServer) -> None:
    server.say("<think>\nIl boit du thé, je crois.\n</think>\n\nDu thé vert.")
    ask(url, FORWARDED)
    assert stored(memory, 2, ALL) == [QUESTION, "Du thé vert."]


def test_the_headers_of_librechat(url: str, memory: Hippocampe) -> None:
    page = (ROOT / "docs" / "integrations" / "open-webui.md").read_text(encoding="utf-8")
    headers = dict(re.findall(r"^ +(X-Hippocampe-\w+): \"(.*)\"$", page, re.M))
    values = {"LIBRECHAT_USER_USERNAME": "zoe", "LIBRECHAT_BODY_CONVERSATIONID": "c-1"}
    filled = {
        name: re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], value)
        for name, value in headers.items()
    }
    ask(url, filled)
    [message, _] = memory.messages(scope=ALL)
    assert (message.author, message.channel) == ("zoe", "c-1")
    # LibreChat leaves a header empty, or its placeholder, where it knows no value.
    ask(url, {"X-Hippocampe-User": "", "X-Hippocampe-Channel": headers["X-Hippocampe-Channel"]})
    [*_, message, _] = memory.messages(scope=ALL)
    assert (message.author, message.channel) == (None, f"chat-{(message.channel or '')[5:]}")


def test_the_filter_reminds_and_stores(url: str, memory: Hippocampe) -> None:
    made = Filter()
    made.valves.url = url
    user, metadata = {"name": "dev", "id": "5f3a"}, {"chat_id": "chat-17"}
    history: list[Json] = [{"role": "system", "content": "Sois bref."}]
    sent: list[Json] = []
    for said in (QUESTION, "Et le soir ?", [{"type": "text", "text": "Merci"}]):
        history.append({"role": "user", "content": said, "id": f"m{len(history)}"})
        body = asyncio.run(made.inlet({"messages": list(history)}, user, metadata))
        # A repeated request of the same message has the same injection.
        again = asyncio.run(made.inlet({"messages": list(history)}, user, metadata))
        assert again == body
        sent.append(body)
        history.append({"role": "assistant", "content": "Du thé vert.", "id": f"m{len(history)}"})
        for _ in range(2):
            asyncio.run(made.outlet({"messages": list(history), "chat_id": "chat-17"}, user))
    history[-1] = {**history[-1], "content": "De rien.", "id": "regenerated"}
    asyncio.run(made.outlet({"messages": history, "chat_id": "chat-17"}, user))
    assert FACT in sent[0]["messages"][1]["content"]
    check_prefix(sent)
    assert "hippocampe-memory" not in json.dumps(history)
    said = [each.content for each in memory.messages(scope=ALL)]
    assert said == [
        QUESTION,
        "Du thé vert.",
        "Et le soir ?",
        "Du thé vert.",
        "Merci",
        "De rien.",
    ]
    assert {each.channel for each in memory.messages(scope=ALL)} == {"chat-17"}


def test_the_filter_works_without_a_server(memory: Hippocampe) -> None:
    made = Filter()
    made.valves.url = "http://127.0.0.1:9"
    body: Json = {"messages": [{"role": "user", "content": QUESTION}]}
    assert asyncio.run(made.inlet(body)) == body
    assert asyncio.run(made.outlet(body)) == body
    assert asyncio.run(made.inlet(body, None, {"task": "title_generation"})) == body


def test_the_filter_is_on_in_every_chat() -> None:
    """Open WebUI runs a filter with `toggle` only where the user has turned its switch on."""
    assert not getattr(Filter(), "toggle", None)


def test_the_filter_leaves_temporary_chats_alone(url: str, memory: Hippocampe) -> None:
    made = Filter()
    made.valves.url = url
    body: Json = {"messages": [{"role": "user", "content": QUESTION}]}
    for chat in ("temporary:Sx7", "local:Sx7"):
        assert asyncio.run(made.inlet(body, None, {"chat_id": chat})) == body
        answered = {**body, "chat_id": chat}
        assert asyncio.run(made.outlet(answered, None, {"chat_id": chat})) == answered
    assert memory.messages(scope=ALL) == []


def test_models_asked_at_once_share_an_injection(url: str) -> None:
    made = Filter()
    made.valves.url = url
    body: Json = {"messages": [{"role": "user", "content": QUESTION}]}

    async def both() -> list[Json]:
        asked = (made.inlet(body, {"name": "dev"}, {"chat_id": "chat-17"}) for _ in range(2))
        return await asyncio.gather(*asked)

    [one, two] = asyncio.run(both())
    assert FACT in one["messages"][0]["content"]
    assert one == two


def test_without_a_chat_the_filter_asks_each_time(url: str, memory: Hippocampe) -> None:
    made = Filter()
    made.valves.url = url
    body: Json = {"messages": [{"role": "user", "content": QUESTION}]}
    assert FACT in json.dumps(asyncio.run(made.inlet(body, {"name": "dev"})), ensure_ascii=False)
    memory.erase(subject="Paul", scope=ALL)
    assert asyncio.run(made.inlet(body, {"name": "dev"})) == body
    assert asyncio.run(made.inlet(body, {"name": "lea"})) == body
