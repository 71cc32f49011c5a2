"""The prompt cache: what comes before the last message of the user stays byte for byte the same."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from conftest import Opener
from hippocampe import Hippocampe, StoreBusy
from hosting import check_prefix
from model_server import Answer, ModelServer
from proxying import DEV, knowing
from served import served

SAID = (
    "Que boit Paul le matin ?",
    "Que boit Paul le soir ?",
    "Où habite Inès ?",
    "Et que boit Inès à midi ?",
)
FACTS = (
    "Paul boit du cidre le soir",
    "Inès habite à Quimper",
    "Inès boit de la tisane à midi",
)
Json = dict[str, Any]


def chat_completions(history: list[Json]) -> Json:
    system = {"role": "system", "content": "Sois bref."}
    return {"model": "scripted", "messages": [system, *history]}


def responses(history: list[Json]) -> Json:
    return {"model": "scripted", "instructions": "Sois bref.", "input": history}


def messages(history: list[Json]) -> Json:
    cached = {"type": "ephemeral"}
    system = [{"type": "text", "text": "Sois bref.", "cache_control": cached}]
    return {"model": "scripted", "max_tokens": 99, "system": system, "messages": history}


FORMATS = [
    pytest.param(chat_completions, "chat/completions", "messages", id="chat_completions"),
    pytest.param(responses, "responses", "input", id="responses"),
    pytest.param(messages, "messages", "messages", id="messages"),
]
Make = Callable[[list[Json]], Json]


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    server.brain = lambda request: Answer(f"Réponse {len(request.messages)}.")
    memory = knowing(open_hippo, server, monkeypatch)
    memory.remember_many([{"content": each} for each in FACTS], scope=DEV)
    return memory


@pytest.fixture
def url(memory: Hippocampe) -> Iterator[str]:
    with served(memory, loopback=True) as url:
        yield url


def conversation(url: str, server: ModelServer, make: Make, path: str) -> list[tuple[Json, Json]]:
    """Have a conversation; each request as the client sent it, and as the provider got it."""
    history = list[Json]()
    pairs: list[tuple[Json, Json]] = []
    for said in SAID:
        history.append({"role": "user", "content": said})
        sent = make(list(history))
        headers = {"X-Hippocampe-User": "dev"}
        httpx.post(f"{url}/v1/{path}", json=sent, headers=headers, timeout=30).raise_for_status()
        pairs.append((sent, dict(server.requests[-1].body)))
        history.append({"role": "assistant", "content": f"Réponse {len(history)}."})
    return pairs


@pytest.mark.parametrize(("make", "path", "field"), FORMATS)
def test_each_request_begins_with_the_one_before(
    url: str, memory: Hippocampe, server: ModelServer, make: Make, path: str, field: str
) -> None:
    got = [got for _, got in conversation(url, server, make, path)]
    check_prefix(got)
    given = json.dumps(got[-1], ensure_ascii=False)
    assert all(fact in given for fact in FACTS), "injections stay"


@pytest.mark.parametrize(("make", "path", "field"), FORMATS)
def test_without_earlier_injections_the_history_is_that_of_the_client(
    url: str, memory: Hippocampe, server: ModelServer, make: Make, path: str, field: str
) -> None:
    memory.update_settings(scope=DEV, keep_injections=False)
    pairs = conversation(url, server, make, path)
    for sent, got in pairs:
        assert json.dumps(got[field][:-1]) == json.dumps(sent[field][:-1])
        assert json.dumps({**got, field: None}) == json.dumps({**sent, field: None})
    assert "hippocampe-memory" in json.dumps([got[field][-1] for _, got in pairs])


def test_earlier_injections_survive_a_pause(
    url: str, memory: Hippocampe, server: ModelServer, clock: Any
) -> None:
    history: list[Json] = [{"role": "user", "content": SAID[0]}]
    sent: list[Any] = []
    for said in SAID[1:]:
        body = chat_completions(history)
        httpx.post(f"{url}/v1/chat/completions", json=body, timeout=30).raise_for_status()
        sent.append(server.requests[-1].body)
        history += [
            {"role": "assistant", "content": f"Réponse {len(history)}."},
            {"role": "user", "content": said},
        ]
        clock.advance(hours=3)
    check_prefix(sent)


def test_earlier_injections_stay_while_memory_fails(
    url: str, memory: Hippocampe, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any, **__: Any) -> Any:
        raise StoreBusy("the store is busy: try again.")

    history: list[Json] = [{"role": "user", "content": SAID[0]}]
    sent: list[Any] = []
    for said in SAID[1:]:
        body = {**chat_completions(history), "user": "dev"}
        httpx.post(f"{url}/v1/chat/completions", json=body, timeout=30).raise_for_status()
        sent.append(server.requests[-1].body)
        history += [
            {"role": "assistant", "content": f"Réponse {len(history)}."},
            {"role": "user", "content": said},
        ]
        monkeypatch.setattr(memory, "before_turn", down)
        monkeypatch.setattr(memory, "_begin_turn", down)
    assert "hippocampe-memory" in sent[0]["messages"][1]["content"]
    assert sent[-1]["messages"][-1]["content"] == SAID[2]
    check_prefix(sent)
