"""Every route of every page: its token, its role, its space."""

import re
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from hippocampe import Hippocampe, Scope
from hippocampe.server.dashboard.site import PAGES
from hippocampe.server.http.access import LOGIN
from hippocampe.server.http.sessions import COOKIE, SAFE_METHODS

HOME, WORK = Scope(space="home", user="nina"), Scope(space="work")
ROUTES = [
    (method, route.path)
    for page in PAGES
    for route in page.router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods or ())
]
CHANGES = [(method, path) for method, path in ROUTES if method not in SAFE_METHODS]
FOR_ALL = {LOGIN, "/docs", "/logout", "/preferences"}
READING = {"/playground", "/settings/effect"}
"""Paths of a POST that changes nothing that is kept."""
STREAMS = {"/logs/stream"}
FORM = {
    "key": "dessert",
    "value": "b",
    "content": "c",
    "type": "fact",
    "importance": "0.5",
    "path": "p",
}


def filled(path: str, id: str) -> str:
    return re.sub(r"{\w+(:path)?}", id, path)


@pytest.fixture
def secret(memory: Hippocampe) -> str:
    """The id of a memory of the space `home`, with a turn, a retrieval and a review beside it."""
    id = memory.set_fact("dessert", "la tarte à la rhubarbe", scope=HOME).memory.id
    memory.after_turn("La rhubarbe pousse", "Oui", scope=HOME)
    memory.observe("La rhubarbe est mûre", scope=Scope(space="home", user="nina", channel="lobby"))
    memory.remember("Nina paints her rhubarbe wooden boat", scope=HOME)
    memory.remember("Nina sells her rhubarbe wooden boat", scope=HOME)
    memory.before_turn("rhubarbe", scope=HOME)
    return id


@pytest.fixture
def log_in(connect: Any, memory: Hippocampe) -> Any:
    """A client that is logged in, and the token of its pages."""

    def login(role: Any, space: str) -> tuple[httpx.Client, dict[str, str]]:
        client = connect("read", space)
        del client.headers["Authorization"]
        client.headers["Cookie"] = f"{COOKIE}={'x' * 43}"
        token = re.search(r'name="token" value="(\w+)"', client.get(LOGIN).text)
        assert token is not None
        key = memory.create_key(scope=Scope(space=space), role=role).secret
        done = client.post(LOGIN, data={"key": key, "token": token[1]})
        cookie = re.search(rf"{COOKIE}=([\w-]+)", done.headers["set-cookie"])
        assert cookie is not None
        client.cookies.clear()
        client.headers["Cookie"] = f"{COOKIE}={cookie[1]}"
        carried = re.search(r'"X-CSRF-Token":"(\w+)"', client.get("/playground").text)
        assert carried is not None
        return client, {"X-CSRF-Token": carried[1], "HX-Request": "true"}

    return login


def test_every_change_needs_its_token(log_in: Any, client: httpx.Client, secret: str) -> None:
    keyed, right = log_in("admin", "home")
    for method, path in CHANGES:
        for each in (keyed, client):
            for token in ({}, {"X-CSRF-Token": right["X-CSRF-Token"][::-1]}):
                status = each.request(method, filled(path, secret), data=FORM, headers=token)
                assert status.status_code == 403, (method, path)


def test_a_reader_changes_nothing(log_in: Any, memory: Hippocampe, secret: str) -> None:
    reader, token = log_in("read", "home")
    before = memory.stats(scope=HOME), memory.settings(scope=HOME)
    for method, path in CHANGES:
        if path not in FOR_ALL | READING:
            refused = reader.request(method, filled(path, secret), data=FORM, headers=token)
            assert refused.status_code == 403, (method, path, refused.text)
    assert (memory.stats(scope=HOME), memory.settings(scope=HOME)) == before


def test_no_page_shows_another_space(log_in: Any, memory: Hippocampe, secret: str) -> None:
    memory.remember("Owen a un voilier", scope=WORK)
    stranger, token = log_in("admin", "work")
    stranger.headers["Cookie"] += "; hippocampe_space=home"
    retrieval = memory.retrievals(scope=HOME)[0].id
    facts = memory.facts(scope=HOME)
    for method, path in ROUTES:
        if path in STREAMS | FOR_ALL:
            continue
        for id in (secret, retrieval):
            shown = stranger.request(
                method,
                filled(path, id),
                headers=token,
                params={"space": "home", "q": "rhubarbe"} if method == "GET" else None,
                data=None if method == "GET" else FORM | {"message": "rhubarbe", "id": id},
            )
            text = shown.text.replace("rhubarbe</q>", "").replace('value="rhubarbe"', "")
            assert shown.status_code < 500, (method, path, shown.text)
            assert "tarte" not in text, (method, path)
            assert "pousse" not in text, (method, path)
            assert "wooden boat" not in text, (method, path)
    assert memory.facts(scope=HOME) == facts
