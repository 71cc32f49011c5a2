"""Keys, roles, spaces, and the web pages that may not use a server on loopback."""

import hashlib
import json
from typing import Any

import httpx
import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.errors import InvalidInput
from hippocampe.server import serving
from hippocampe.verbs import VERBS
from verb_arguments import MISSING, right_call
from verb_doors import REST

HOME, WORK = Scope(space="home"), Scope(space="work")
MORE = [
    ("GET", "/api/memory/search?q=rhubarbe&mode=text", None, "read"),
    ("GET", "/api/notes", None, "read"),
    ("POST", "/api/chat", {"message": "rhubarbe"}, "write"),
    ("POST", "/api/import", {"author": "dev", "content": "Salut", "space": "home"}, "admin"),
]
"""Endpoints that are no verb, or whose body is a file."""
ROLES = {"spaces": "read"}
"""Roles of verbs whose endpoint shows a key less."""


def endpoints(id: str, key: str) -> list[tuple[str, str, Any, str]]:
    """Every endpoint that has a space: method, path, body, and the role it needs."""
    rows = [*MORE]
    for verb, endpoint in REST.items():
        if endpoint.file is not None:
            continue
        arguments = {
            name: key if name == "key" else id if value == MISSING else value
            for name, value in right_call(verb).items()
        }
        path, query, body = endpoint.split(arguments)
        if verb == "compact":
            query["channel"] = "lobby"
        if verb == "about":
            query["name"] = "paul"
        if query:
            path += f"?{httpx.QueryParams(query)}"
        role = ROLES.get(verb, VERBS[verb].role)
        if VERBS[verb].writes_with in endpoint.lacks:
            role = "write"
        rows.append((endpoint.request.split()[0], path, body or None, role))
    return rows


def test_two_spaces_with_two_keys_never_meet(connect: Any, memory: Hippocampe) -> None:
    dessert = memory.set_fact("dessert", "la tarte à la rhubarbe", scope=HOME).memory
    memory.after_turn("La rhubarbe pousse", "Oui", scope=HOME)
    memory.flush()
    before = memory.recent(scope=HOME), memory.settings(scope=HOME), memory.messages(scope=HOME)
    stranger = connect("admin", "work")
    for method, path, body, _ in endpoints(dessert.id, "dessert"):
        own = stranger.request(method, path, json=body)
        # 503: the companion has no model.
        expected = (503,) if path == "/api/chat" else (200, 201, 404)
        assert own.status_code in expected, (path, own.text)
        assert "tarte" not in own.text, path
        assert "pousse" not in own.text, path
        other = stranger.request(method, path, json=body, params={"space": "home"})
        # Parameters replace those in the path: a search without its words is refused later.
        assert other.status_code == 403, (path, other.text)
        # An id of another space and an id of none are refused alike.
        missing = json.loads(json.dumps(body).replace(dessert.id, MISSING))
        unknown = stranger.request(method, path.replace(dessert.id, MISSING), json=missing)
        if own.status_code == 404:
            assert unknown.text == own.text.replace(dessert.id, MISSING)
    assert (
        memory.recent(scope=HOME),
        memory.settings(scope=HOME),
        memory.messages(scope=HOME),
    ) == before
    stats = stranger.get("/api/memory/stats").json()
    assert stats["indexed"] == {}
    assert stats["messages"] == 6  # its own: four of after_turn, two of the chat


@pytest.mark.parametrize(("role", "allowed"), [("read", {"read"}), ("write", {"read", "write"})])
def test_a_role_has_its_bounds(
    connect: Any, memory: Hippocampe, role: str, allowed: set[str]
) -> None:
    client = connect(role, "home")
    for method, path, body, needed in endpoints(MISSING, "dessert"):
        status = client.request(method, path, json=body).status_code
        assert (status == 403) == (needed not in allowed), path


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer hippo_wrong", "Basic {}", "{}", "Bearer {}x", "Bearer é"]
)
def test_wrong_keys_open_nothing(connect: Any, memory: Hippocampe, header: str) -> None:
    client = connect("admin")
    secret = memory.create_key(scope=HOME, role="admin").secret
    for path in ("/api/memories", "/nowhere", "/admin/digest"):
        refused = client.get(path, headers={"Authorization": header.format(secret).encode()})
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.headers["content-type"] == "application/problem+json"
    assert client.get("/healthz", headers={"Authorization": ""}).status_code == 200


def test_a_revoked_key_opens_nothing(connect: Any, memory: Hippocampe) -> None:
    client = connect("read")
    assert client.get("/api/memories").status_code == 200
    revoked = memory.revoke_key(memory.keys()[0].id)
    assert revoked.revoked_at is not None
    assert client.get("/api/memories").status_code == 401


def test_a_key_is_not_stored(memory: Hippocampe) -> None:
    made = memory.create_key(scope=HOME, role="read", label="phone")
    assert made.secret.startswith("hippo_")
    assert made.secret not in repr(made)
    assert memory.find_key(made.secret) == made.key
    found = memory.verify(absent=[made.secret, "phone"]).present
    assert found.keys() == {"phone"}
    digest = hashlib.sha256(made.secret.encode()).hexdigest()
    assert memory.verify(absent=[digest]).present


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "[::ffff:8.8.8.8]"},
        {"Host": "["},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_foreign_pages_are_refused_on_loopback(
    shared_client: httpx.Client, shared_memory: Hippocampe, headers: dict[str, str]
) -> None:
    for path in ("/api/memories", "/healthz"):
        assert shared_client.get(path, headers=headers).status_code == 403
    stored = shared_client.post("/api/memories", json={"content": "intrus"}, headers=headers)
    assert stored.status_code == 403
    assert shared_memory.recent(scope=Scope()) == []


def test_own_pages_and_programs_are_served_on_loopback(client: httpx.Client) -> None:
    own = {"Origin": str(client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert client.get("/api/memories", headers=own).status_code == 200
    assert client.get("/api/memories", headers={"Host": "localhost"}).status_code == 200


def test_a_key_binds_also_on_loopback(client: httpx.Client, memory: Hippocampe) -> None:
    secret = memory.create_key(scope=HOME, role="read").secret
    bound = {"Authorization": f"Bearer {secret}"}
    assert client.get("/api/memories", headers=bound).status_code == 200
    assert client.get("/api/memories?space=work", headers=bound).status_code == 403
    wrong = {"Authorization": "Bearer x"}
    assert client.get("/api/memories", headers=wrong).status_code == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_without_a_key_only_loopback_is_served(hashed: None, open_hippo: Opener, host: str) -> None:
    memory = open_hippo(embedder="hashed:32")
    revoked = memory.create_key(scope=HOME, role="read")
    memory.revoke_key(revoked.key.id)
    with (
        pytest.raises(InvalidInput, match="without a key|cannot listen"),
        serving.bound(host, 0) as listener,
    ):
        serving.serve(memory, listener, started=lambda address: None)


def test_an_address_in_use_is_said(client: httpx.Client) -> None:
    with (
        pytest.raises(InvalidInput, match="Choose another"),
        serving.bound("127.0.0.1", client.base_url.port or 0),
    ):
        pass


def test_erasing_a_space_removes_its_keys(memory: Hippocampe) -> None:
    kept = memory.create_key(scope=Scope(space="kept"), role="read")
    gone = memory.create_key(scope=Scope(space="gone"), role="read")
    memory.erase(scope=Scope(space="gone"), whole_space=True)
    assert memory.find_key(kept.secret) is not None
    assert memory.find_key(gone.secret) is None
