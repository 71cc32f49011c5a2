"""Two spaces with two keys: whatever one sends, it neither sees, changes nor guesses what the other has."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_access import endpoints

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.config import UPSTREAM_URL
from model_server import Answer, ModelServer
from verb_arguments import MISSING

HOME, WORK = Scope(space="home", user="dev"), Scope(space="work", user="dev")
SOUGHT, SECRET = "rhubarbe", "myrtille"
"""What the requests of the table look for, and a word beside it that only one space has."""
CHAT: dict[str, Any] = {
    "model": "x",
    "messages": [{"role": "user", "content": f"Que sais-tu de la {SOUGHT} ?"}],
}
RESPONSE: dict[str, Any] = {"model": "x", "input": f"Que sais-tu de la {SOUGHT} ?"}
PROXIED = [
    ("GET", "/v1/models", None, "read"),
    ("POST", "/v1/chat/completions", CHAT, "write"),
    ("POST", "/v1/responses", RESPONSE, "write"),
    ("POST", "/v1/messages", {**CHAT, "max_tokens": 9}, "write"),
]


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    monkeypatch.setenv(UPSTREAM_URL, server.openai_url)
    server.brain = lambda request: Answer("Oui.")
    return open_hippo(embedder="hashed:64")


def furnished(memory: Hippocampe) -> list[str]:
    """Ids of all kinds of things that a space has."""
    dessert = memory.set_fact("dessert", f"la tarte {SOUGHT} {SECRET}", scope=HOME).memory
    garden = memory.remember(f"{SOUGHT} et {SECRET} poussent au jardin", scope=HOME).memory
    memory.associate(dessert.id, garden.id, "related_to", scope=HOME, reason=SECRET)
    turn = memory.after_turn(f"La {SOUGHT} {SECRET} est mûre", "Oui", scope=HOME)
    memory.update_settings(scope=HOME, companion_names=[SECRET], live_rooms=["lobby"])
    memory.observe(f"Du {SOUGHT} {SECRET}", scope=Scope(space="home", channel="lobby"))
    memory.record_usage(scope=HOME, model=SECRET, purpose="chat", input_tokens=1, output_tokens=1)
    memory.before_turn(f"{SOUGHT} {SECRET}", scope=HOME)
    key = memory.create_key(scope=HOME, role="admin", label=SECRET).key
    memory.flush()
    return [dessert.id, garden.id, turn, key.id]


def everything(memory: Hippocampe, folder: Path) -> tuple[Any, ...]:
    """All that a space has, but for the time of the export."""
    memory.export_to(folder / "home.jsonl", scope=HOME, overwrite=True)
    lines = (folder / "home.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    keys = memory.keys()
    return (
        lines,
        [key for key in keys if key.space == "home"],
        memory.usage(scope=HOME),
        memory.jobs(scope=HOME),
        memory.retrievals(scope=HOME),
    )


def test_nothing_crosses_between_two_spaces(
    connect: Any, memory: Hippocampe, server: ModelServer, tmp_path: Path
) -> None:
    ids = furnished(memory)
    before = everything(memory, tmp_path)
    stranger: httpx.Client = connect("admin", "work")
    own = [memory.remember("Le bureau ferme tôt", scope=WORK).memory.id]
    count = len(endpoints("", "")) + len(PROXIED)
    steps = st.tuples(
        st.integers(0, count - 1),
        st.sampled_from([*ids, *own, MISSING, "x", "../home", "%2e%2e"]),
        st.sampled_from([None, "home", "work", "HOME", "home ", "%"]),
        st.sampled_from([{}, {"X-Hippocampe-Space": "home"}, {"Idempotency-Key": "replaced"}]),
    )

    def sent(
        step: int, id: str, space: str | None, headers: dict[str, str], key: str = "dessert"
    ) -> httpx.Response:
        method, path, body, _ = [*endpoints(id, key), *PROXIED][step]
        if space is not None:
            path += ("&" if "?" in path else "?") + httpx.QueryParams({"space": space}).__str__()
        if "Idempotency-Key" in headers:
            headers = {"Idempotency-Key": str(uuid4())}
        return stranger.request(method, path, json=body, headers=headers)

    @settings(
        max_examples=80,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(steps)
    def check(step: tuple[int, str, str | None, dict[str, str]]) -> None:
        answer = sent(*step)
        assert answer.status_code < 500 or answer.status_code == 503, answer.text
        assert SECRET not in answer.text
        number, id, space, headers = step
        assert id in own or not any(each in answer.text for each in ids if each != id)
        if id in ids:
            # What is not its own looks like what is not there.
            nothing = sent(number, MISSING, space, headers)
            if answer.status_code >= 400:
                assert answer.text.replace(id, MISSING) == nothing.text

    check()
    for number in range(count):
        for id in (ids[0], own[0]):
            assert SECRET not in sent(number, id, None, {}).text
    assert all(SECRET not in json.dumps(request.body) for request in server.requests)
    assert everything(memory, tmp_path) == before


def test_every_endpoint_is_tried(client: httpx.Client) -> None:
    """A new endpoint needs a row in the table of `test_access`."""
    tried = {
        (method, path.partition("?")[0])
        for method, path, _, _ in [*endpoints("{id}", "{key}"), *PROXIED]
    }
    paths = client.get("/openapi.json").json()["paths"]
    described = {
        (method.upper(), path.replace("{source_id}", "{id}"))
        for path, methods in paths.items()
        for method in methods
        if not path.endswith("z")
    }
    assert tried == described
