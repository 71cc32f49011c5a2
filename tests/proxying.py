"""The proxy between an official client and a scripted model."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.config import UPSTREAM_KEY, UPSTREAM_URL
from model_server import ModelServer
from served import served

DEV = Scope(user="dev")
QUESTION = "Que boit Paul le matin ?"
FACT = "Paul boit du thé vert le matin"
ASK: list[Any] = [{"role": "user", "content": QUESTION}]


def knowing(
    open_hippo: Opener,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    embedder: str = "hashed:64",
) -> Hippocampe:
    """A memory with an upstream that knows a fact."""
    monkeypatch.setenv(UPSTREAM_URL, server.openai_url)
    monkeypatch.setenv(UPSTREAM_KEY, "upstream-key")
    memory = open_hippo(embedder=embedder)
    memory.update_settings(scope=DEV, hook_timeout_ms=10_000)
    memory.remember(FACT, type="identity", scope=DEV)
    return memory


@contextmanager
def talking(memory: Hippocampe, *, loopback: bool = True, **options: Any) -> Iterator[Any]:
    """A client of the proxy before a memory."""
    with served(memory, loopback=loopback) as url:
        settings = {"api_key": "sk-of-the-client", "max_retries": 0, "timeout": 30, **options}
        with openai.OpenAI(base_url=f"{url}/v1", **settings) as client:
            yield client


def asked(server: ModelServer) -> dict[str, Any]:
    """The last body that reached the upstream."""
    return dict(server.requests[-1].body)


def stored(memory: Hippocampe, wanted: int, scope: Scope = DEV) -> list[str]:
    """The messages of a space, once there are as many; a stream is stored after its last event."""
    return eventually(
        lambda: [each.content for each in memory.messages(scope=Scope(space=scope.space))], wanted
    )


def eventually(look: Callable[[], list[Any]], wanted: int) -> list[Any]:
    """What there is, once it is as much."""
    until = time.monotonic() + 5
    while len(found := look()) < wanted and time.monotonic() < until:
        time.sleep(0.01)
    return found
