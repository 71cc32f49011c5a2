"""Extraction stores what an exchange tells, once, and nothing else, whatever the model answers."""

from collections.abc import Iterator
from typing import Any

import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.store import job_runs
from hippocampe.testing import ModelServer
from hippocampe.types import JobRun

HERE = Scope(user="dev", channel="lobby")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        yield server


@pytest.fixture
def hippo(server: ModelServer, open_hippo: Opener) -> Hippocampe:
    return open_hippo(model="openai-chat:test", model_timeout=5.0)


def statement(content: str, *evidence: str, **more: Any) -> dict[str, Any]:
    return {"content": content, "evidence": list(evidence or ("m1",)), **more}


def propose(server: ModelServer, *statements: dict[str, Any]) -> None:
    server.call("answer", statements=list(statements))


def contents(hippo: Hippocampe, scope: Scope = HERE) -> set[str]:
    return {memory.content for memory in hippo.recent(100, scope=scope)}


def runs(hippo: Hippocampe, space: str = "default") -> list[JobRun]:
    with hippo._context.store.read() as connection:
        return job_runs.find(connection, space, limit=100)


def test_what_an_exchange_tells_is_stored(server: ModelServer, hippo: Hippocampe) -> None:
    turn = hippo.after_turn("Je me suis cassé l'épaule au ski", "Aïe, repose-toi.", scope=HERE)
    propose(
        server,
        statement("dev s'est cassé l'épaule au ski", type="event", subjects=["dev", "blessure"]),
    )
    done = hippo.extract(turn, scope=HERE)
    [stored] = done.remembered
    said = hippo.messages(scope=HERE)
    assert done.messages == 2
    assert stored.action == "inserted"
    memory = stored.memory
    assert (memory.type, memory.subjects) == ("event", ("dev", "blessure"))
    assert (memory.source, memory.user, memory.channel) == ("extraction", "dev", "lobby")
    assert memory.evidence == (said[0].id,)
    assert memory.expires_at is None
