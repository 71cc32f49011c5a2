"""`hippocampe serve --workers 2`: a router and two processes, over real HTTP."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from test_mcp import call, talk
from typer.testing import CliRunner

import children
from hippocampe import Config, Hippocampe, Scope
from hippocampe.cells import Divided, folder_of
from hippocampe.cli import reach
from hippocampe.cli.app import app
from hippocampe.client.joining import connect
from hippocampe.server.cells.cell import _tell  # pyright: ignore[reportPrivateUsage]
from hippocampe.server.cells.passing import PASSED
from hippocampe.server.cells.serving import router_socket
from hippocampe.server.http import problems
from hippocampe.system.owner import read_owner
from sparse import copy_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Unix sockets")
OLD = "old"
"""A space of the folder before it was divided."""
STARTS = 90.0


def interpreter(*arguments: str, **options: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, *arguments], **options)


@contextmanager
def serving(
    folder: Path, *options: str, start: Callable[..., "subprocess.Popen[str]"] = children.start
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server with two cells, and its address."""
    command = ("-m", "hippocampe", "serve", "--folder", str(folder), "--port", "0")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(*command, *options, text=True, **pipes) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            said = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+", said)
            assert found, said + process.stderr.read()
            yield process, found[0]
            if process.poll() is None:
                process.terminate()
                _, errors = process.communicate(timeout=60)
                assert process.returncode == 0, errors
        finally:
            process.kill()


@pytest.fixture(scope="module")
def divided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a single process, which the server takes over."""
    folder = tmp_path_factory.mktemp("cells") / "data"
    with Hippocampe.open(Config(folder, background=False)) as hippo:
        hippo.remember("le voilier de David est au port", scope=Scope(space=OLD))
    return folder


@pytest.fixture(scope="module")
def address(divided: Path) -> Iterator[str]:
    with serving(divided, "--workers", "2") as (_, address):
        yield address


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60) as made:
        yield made


@pytest.fixture
def names(divided: Path, address: str, request: pytest.FixtureRequest) -> tuple[str, str]:
    """A new space in each cell."""
    division = Divided(divided).read()
    test = request.node.name[5:40]
    every = [f"{test}-{number}" for number in range(64)]
    return tuple(next(s for s in every if division.cell_of(s) == cell) for cell in (0, 1))


def remember(client: httpx.Client, space: str, content: str) -> httpx.Response:
    return client.post("/api/memories", params={"space": space}, json={"content": content})


def recalled(client: httpx.Client, space: str, query: str) -> list[str]:
    answer = client.post("/api/recall", params={"space": space}, json={"query": query})
    answer.raise_for_status()
    return [each["content"] for each in answer.json()]


def run(folder: Path, *typed: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, [*typed, "--folder", str(folder)])
    assert done.exit_code == code, done.output
    return done.output


def eventually(true: Callable[[], bool], seconds: float = 60) -> None:
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_each_space_is_in_its_cell_and_the_old_one_where_it_was(
    client: httpx.Client, divided: Path, names: tuple[str, str]
) -> None:
    for space in names:
        assert remember(client, space, f"le chat de {space} dort").status_code == 201
        assert recalled(client, space, "chat") == [f"le chat de {space} dort"]
    assert recalled(client, OLD, "voilier") == ["le voilier de David est au port"]
    # The spaces of the other cell are asked for at most every other second.
    eventually(lambda: {OLD, *names} <= client.get("/api/spaces").json().keys())
    with Hippocampe.open(Config(folder_of(divided, 1), background=False)) as second:
        assert names[1] in second.spaces()
        assert not {OLD, names[0]} & second.spaces().keys()
    # The command line finds the cell of its space, also without the server's help.
    [found] = json.loads(run(divided, "recall", "chat", "--space", names[1], "--json"))
    assert found["content"] == f"le chat de {names[1]} dort"


def test_an_address_with_a_speaker_leads_to_the_proxy(
    client: httpx.Client, names: tuple[str, str]
) -> None:
    for space in names:
        headers = {"X-Hippocampe-Space": space}
        plain, named = (
            client.get(path, headers=headers) for path in ("/v1/models", "/as/paul/v1/models")
        )
        assert "UPSTREAM" in plain.text
        assert named.text == plain.text


def test_operators_see_all_cells(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    for path in ("/healthz", "/readyz"):
        refused = client.get(path, headers={"Host": "elsewhere.example"})
        assert (refused.status_code, "Host header" in refused.text) == (403, True)
    # A busy machine may need more than the time that a cell has for its answer.
    eventually(lambda: client.get("/readyz").json()["ready"])
    text = client.get("/metrics").text
    for cell in (0, 1):
        assert re.search(rf'hippocampe_up{{cell="{cell}",part="store"}} 1\.0', text)
    assert text.count("# TYPE hippocampe_up gauge") == 1


def test_keys_hold_in_all_cells_and_open_one_space(
    client: httpx.Client, names: tuple[str, str], divided: Path
) -> None:
    made = [
        client.post("/api/keys", params={"space": space}, json={"role": "admin"}).json()
        for space in names
    ]
    bearers = [{"Authorization": f"Bearer {each['secret']}"} for each in made]
    for space, other, bearer in zip(names, reversed(names), bearers, strict=True):
        written = client.post(
            "/api/memories", headers=bearer, json={"content": f"secret de {space}"}
        )
        assert written.json()["memory"]["space"] == space
        assert client.get("/api/spaces", headers=bearer).json().keys() == {space}
        refused = client.get("/api/memories", params={"space": other}, headers=bearer)
        assert refused.status_code == 403
        assert (
            "secret"
            not in client.post(
                "/api/recall", params={"space": other}, headers=bearer, json={"query": "secret"}
            ).text
        )
        # What only the router may say is not taken from a client.
        claimed = json.dumps({"client": None, "server": None, "http": "1.1", "login": None})
        forged = {**bearer, PASSED.decode(): claimed}
        assert client.get("/api/memories", headers=forged).json()["items"][0]["space"] == space
    assert client.post("/.cell/remove", json={"space": OLD}).status_code == 404
    assert client.post("/.cell/move", json={"space": OLD, "target": 1}).status_code == 404
    wrong = {"Authorization": "Bearer hippo_wrong"}
    assert client.get("/api/memories", headers=wrong).status_code == 401
    # Each cell checks the key of the numbers itself, also one of a space of another cell.
    remote = {"X-Forwarded-For": "203.0.113.7"}
    assert client.get("/metrics", headers=remote).status_code == 401
    for bearer in bearers:
        text = client.get("/metrics", headers={**remote, **bearer}).text
        assert all(f'hippocampe_up{{cell="{cell}"' in text for cell in (0, 1))
    # Revoked at one cell, by the command line, and refused by the other at once.
    run(divided, "keys", "revoke", made[1]["key"]["id"])
    assert client.get("/api/memories", headers=bearers[1]).status_code == 401
    assert client.get("/api/memories", headers=bearers[0]).status_code == 200
    actions = [
        each["action"] for each in client.get("/api/audit", params={"space": names[1]}).json()
    ]
    assert actions == ["revoke_key", "create_key"]


def test_no_path_of_a_client_leads_to_what_cells_answer_the_router(
    client: httpx.Client, address: str, divided: Path
) -> None:
    parts = urlsplit(address)
    for path in ("/x/../.cell/spaces", "/./.cell/spaces", "/x/../api/spaces", "/x/%2e%2E", "/%2E"):
        # httpx would remove the segments before it sends them.
        raw = http.client.HTTPConnection(parts.netloc, timeout=60)
        raw.request("GET", path)
        answer = raw.getresponse()
        assert (answer.status, answer.getheader("content-type")) == (404, problems.MEDIA_TYPE)
        raw.close()
    # A cell itself knows the requests of clients, which carry a header of the router.
    claimed = json.dumps({"client": None, "server": None, "http": "1.1", "login": None})
    transport = httpx.HTTPTransport(uds=str(Path(router_socket(divided)).with_name("0.sock")))
    with httpx.Client(base_url="http://cell", transport=transport, timeout=60) as cell:
        assert OLD in cell.get("/.cell/spaces").json()
        passed = cell.get("/.cell/spaces", headers={PASSED.decode(): claimed})
        assert OLD not in passed.text and passed.status_code >= 400


@pytest.mark.parametrize("headers", [{}, {"anthropic-version": "2023-06-01"}])
@pytest.mark.parametrize("before", ["", "/as/nina"])
def test_errors_of_the_router_have_the_form_of_the_provider(
    address: str, headers: dict[str, str], before: str
) -> None:
    raw = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    raw.request("GET", f"{before}/v1/x/../models", headers=headers)
    answer = raw.getresponse()
    error = json.loads(answer.read())
    raw.close()
    assert (answer.status, answer.getheader("content-type")) == (404, "application/json")
    assert "no endpoint" in error["error"]["message"]
    assert (error.get("type") == "error") == bool(headers)


def test_mcp_clients_reach_their_cell(client: httpx.Client, names: tuple[str, str]) -> None:
    async def steps(mcp: Any) -> str:
        await call(mcp, "memory__index", content="le chat de Nina s'appelle Zig")
        return str((await call(mcp, "memory__search", query="chat de Nina")).content)

    for space in names:
        assert "Zig" in talk(client, steps, space=space)
    assert recalled(client, names[1], "chat") == ["le chat de Nina s'appelle Zig"]


def test_pages_of_a_login_and_of_a_reader_without_key(
    client: httpx.Client, names: tuple[str, str]
) -> None:
    for space in names:
        remember(client, space, f"le chat de {space} dort")
        page = client.get("/memory", headers={"Cookie": f"hippocampe_space={quote(space)}"})
        assert f"le chat de {space} dort" in page.text
        # The choice of spaces has those of both cells.
        assert all(f">{each}</option>" in page.text for each in (OLD, space))
    made = client.post("/api/keys", params={"space": names[1]}, json={"role": "write"}).json()
    with httpx.Client(
        base_url=client.base_url, headers={"X-Forwarded-For": "203.0.113.7"}, timeout=60
    ) as browser:
        form = browser.get("/login")
        token = re.search(r'name="token" value="(\w+)"', form.text)
        assert token
        login = {"key": made["secret"], "token": token[1], "next": "/memory"}
        entered = browser.post("/login", data=login, follow_redirects=True)
        assert f"le chat de {names[1]} dort" in entered.text
        assert f"le chat de {names[0]} dort" not in browser.get("/memory").text
        token = re.search(r'"X-CSRF-Token":"(\w+)"', entered.text)
        assert token
        cookies = dict(browser.cookies)
        assert browser.post("/logout", headers={"X-CSRF-Token": token[1]}).status_code < 400
        browser.cookies.update(cookies)
        assert browser.get("/api/memories").status_code == 401


@pytest.mark.parametrize(
    ("language", "only", "of"),
    [
        ("en", "a copy of cell {} only", "Only for cell {} of the cells 0 to 1."),
        ("fr", "une copie de la cellule {} seulement", "Seulement pour la cellule {} des"),
    ],
)
def test_a_backup_says_which_cell_it_has(
    client: httpx.Client,
    divided: Path,
    names: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    only: str,
    of: str,
) -> None:
    monkeypatch.setenv("LC_ALL", f"{language}_FR.UTF-8")
    for cell, space in enumerate(names):
        answer = remember(client, space, f"le chat de {space} dort")
        assert answer.status_code == 201, answer.text
        headers = {"Cookie": f"hippocampe_space={quote(space)}", "Accept-Language": language}
        page = client.get("/data", headers=headers).text
        assert only.format(cell) in page
        # A server that was killed left it, and it would undo the restoration.
        assert "hippocampe.db-wal" in page
        assert f"<bdi>{names[cell]}</bdi>" in page
        sent = client.get("/data/backup", headers=headers)
        assert f"-cell-{cell}.db" in sent.headers["content-disposition"]
    for command in ("backup", "verify"):
        said = run(folder_of(divided, 1), command)
        assert of.format(1) in said
        assert f"{divided}\n" in said
        assert of.format(0) not in run(divided, command)


def test_all_cells_are_backed_up_while_they_are_written_and_moved(
    client: httpx.Client, divided: Path, names: tuple[str, str], tmp_path: Path
) -> None:
    stored: dict[str, list[int]] = {space: [] for space in names}
    ending = threading.Event()

    def write(space: str) -> None:
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            number = 0
            while not ending.is_set():
                fact = {"key": f"n{number}", "value": f"valeur {number}"}
                answer = own.post("/api/memory/facts", params={"space": space}, json=fact)
                assert answer.status_code == 201, answer.text
                stored[space].append(number)
                number += 1

    with ThreadPoolExecutor(4) as threads:
        writing = [threads.submit(write, space) for space in names]
        try:
            eventually(lambda: all(len(each) > 10 for each in stored.values()))
            before = {space: len(each) for space, each in stored.items()}
            # In a process: the runner of this one has one standard output.
            command = ("-m", "hippocampe", "move-space", names[0], "1", "--folder", divided)
            moving = threads.submit(children.run, *command)
            made = Path(json.loads(run(divided, "backup", "--json"))["path"])
            assert moving.result().returncode == 0
            run(divided, "backup", str(tmp_path / "copy"))
        finally:
            ending.set()
        for each in writing:
            each.result()
    assert made.parent == divided / "backups"
    for copy in (made, tmp_path / "copy"):
        restored = shutil.copytree(copy, tmp_path / f"restored-{copy.name}")
        assert "store and index agree" in run(restored, "verify")
        with (
            serving(restored) as (_, address),
            httpx.Client(base_url=address, timeout=60) as other,
        ):
            assert recalled(other, OLD, "voilier") == ["le voilier de David est au port"]
            for space in names:
                facts = other.get("/api/memory/facts", params={"space": space}).json()
                # What was stored by one instant, once each.
                numbers = sorted(int(each["key"][1:]) for each in facts)
                assert numbers == [*range(len(numbers))]
                assert len(numbers) >= before[space]
            eventually(lambda restored=restored: not Divided(restored).read().stale)
            assert Divided(restored).read().moving == {}


def test_a_reader_chooses_a_space_of_any_name(client: httpx.Client, divided: Path) -> None:
    division = Divided(divided).read()
    for cell in (0, 1):
        space = next(s for s in map("日本 {}".format, range(64)) if division.cell_of(s) == cell)
        remember(client, space, f"le chat de {space} dort")
        token = re.search(r'"X-CSRF-Token":"(\w+)"', client.get("/memory").text)
        assert token
        client.post("/preferences", data={"space": space}, headers={"X-CSRF-Token": token[1]})
        assert f"le chat de {space} dort" in client.get("/memory").text
        # Another tab has chosen another space since: a page stays in its own.
        of_page = {"X-Hippocampe-Space": quote(space), "Cookie": f"hippocampe_space={OLD}"}
        assert f"le chat de {space} dort" in client.get("/memory", headers=of_page).text


def test_odd_requests_are_answered_as_by_one_process(client: httpx.Client, address: str) -> None:
    parts = urlsplit(address)

    def sent(head: bytes) -> bytes:
        with socket.create_connection((parts.hostname or "", parts.port or 0), 30) as raw:
            raw.sendall(head)
            return raw.makefile("rb").readline()

    # Without a Host, and by a version of HTTP in which none is needed: as through a reverse proxy.
    assert b" 401 " in sent(b"GET /api/memories HTTP/1.0\r\n\r\n")
    host = f"Host: {parts.netloc}\r\n".encode()
    assert b" 200 " in sent(b"GET /api/memories HTTP/1.1\r\n" + host + b"Connection: close\r\n\r\n")
    odd = b"X-Odd: \xe9\x01\r\nConnection: close\r\n\r\n"
    assert b" 400 " in sent(b"GET /api/memories HTTP/1.1\r\n" + host + odd)
    assert client.request("HEAD", "/api/memories").status_code == 200
    assert client.put("/api/memories").status_code == 405
    assert client.get("/nothing").status_code == 404
    foreign = client.get("/api/memories", headers={"Host": "evil.example"})
    assert foreign.status_code == 403


def test_streams_pass_as_they_come(client: httpx.Client) -> None:
    with client.stream("GET", "/logs/stream", headers={"accept": "text/event-stream"}) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        client_of_its_own = httpx.get(client.base_url.join("/api/memories"), timeout=30)
        assert client_of_its_own.status_code == 200
        for line in stream.iter_lines():
            if "/api/memories" in line:
                break


def test_a_large_body_is_passed_on(client: httpx.Client, names: tuple[str, str]) -> None:
    # Lines without a message are skipped, and reported.
    lines = [json.dumps({"padding": "x" * 1_000})] * 3_000
    lines[2_000] = json.dumps({"content": "la rhubarbe est mûre", "author": "nina"})
    content = "\n".join(lines).encode()
    assert len(content) > 2 * 2**20
    parameters = {"space": names[1], "name": "talk.jsonl", "format": "jsonl"}
    assert client.post("/api/import", params=parameters, content=content).json()["added"] == 1
    [message] = client.get("/api/messages", params={"space": names[1]}).json()
    assert message["content"] == "la rhubarbe est mûre"


def test_a_large_chat_reaches_the_cell_of_a_space_with_an_encoded_name(
    client: httpx.Client, divided: Path
) -> None:
    division = Divided(divided).read()
    every = map("salon d’été {}".format, range(64))
    # The name as it is sent would lead to the other cell.
    spaces = [s for s in every if division.cell_of(s) != division.cell_of(quote(s))]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 2**21}}
    chat = {"model": "scripted", "messages": [{"role": "user", "content": [picture]}]}
    for space in spaces[:2]:
        headers = {"X-Hippocampe-Space": quote(space)}
        answer = client.post("/v1/chat/completions", json=chat, headers=headers)
        assert (answer.status_code, "UPSTREAM" in answer.text) == (404, True), answer.text


def test_a_remote_program_reaches_the_cell_of_its_space(
    client: httpx.Client, address: str, names: tuple[str, str], divided: Path
) -> None:
    # Few characters of many bytes: each is read again and again.
    items = [{"content": f"{number} " + "𐌰" * 90_000} for number in range(4)]
    seen = list[str]()
    for space in names:
        scope = Scope(space=space)
        with connect(address, None, Config(divided)) as door:
            # Neither a stream of progress nor a body of more than a megabyte can be sent to another cell.
            stored = door.remember_many(
                items[:1], scope=scope, progress=lambda *of: seen.append(of[0])
            )
            assert len(stored) == 1
            assert len(door.remember_many(items[1:], scope=scope)) == 3
            assert door.stats(scope=scope).memories == {"memory": 4}
    assert seen == ["remembering", "remembering"]
    # The space of the address opens nothing: that of the arguments is checked.
    made = client.post("/api/keys", params={"space": names[0]}, json={"role": "admin"}).json()
    for named, status in ((names[0], 200), (names[1], 403)):
        for addressed in names:
            body = {"arguments": [], "named": {"scope": {"space": named}}}
            answer = client.post(
                "/api/verbs/recent",
                params={"space": addressed},
                headers={"Authorization": f"Bearer {made['secret']}"},
                json=body,
            )
            assert answer.status_code == status
            assert client.post(
                "/api/verbs/recent", params={"space": addressed}, json=body
            ).is_success
    run(divided, "keys", "revoke", made["key"]["id"])


def test_a_space_moves_while_it_is_read_and_written(
    client: httpx.Client, divided: Path, names: tuple[str, str]
) -> None:
    space = names[0]
    assert remember(client, space, "la rhubarbe est mûre").status_code == 201
    stored, failures, ending = list[str](), list[str](), threading.Event()

    def read() -> None:
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            while not ending.is_set():
                try:
                    if "la rhubarbe est mûre" not in recalled(own, space, "rhubarbe"):
                        failures.append("not found")
                except httpx.HTTPError as exc:
                    failures.append(repr(exc))

    def write() -> None:
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            while not ending.is_set():
                fact = {"key": f"n{len(stored)}", "value": f"valeur {len(stored)}"}
                answer = own.post("/api/memory/facts", params={"space": space}, json=fact)
                if answer.status_code == 201:
                    stored.append(fact["key"])
                else:
                    failures.append(answer.text)

    threads = [threading.Thread(target=each) for each in (read, read, write)]
    for each in threads:
        each.start()
    try:
        for target in (1, 0, 1):
            before = len(stored)
            moved = json.loads(run(divided, "move-space", space, str(target), "--json"))
            assert moved["target"] == target
            assert moved["rows"] > 1
            eventually(lambda before=before: len(stored) > before + 3)
    finally:
        ending.set()
        for each in threads:
            each.join()
    assert failures == []
    facts = client.get("/api/memory/facts", params={"space": space}).json()
    assert {each["key"] for each in facts} == set(stored)
    division = Divided(divided).read()
    assert (division.cell_of(space), division.moving, division.stale) == (1, {}, {})
    assert run(divided, "move-space", space, "1", "--json")
    spread = json.loads(run(divided, "spread-spaces", "--json"))
    assert space in {each["space"] for each in spread}
    division = Divided(divided).read()
    assert (set(division.pinned) - {"default"}, division.moving, division.stale) == (set(), {}, {})
    assert json.loads(run(divided, "spread-spaces", "--json")) == []
    assert "no cell 9" in run(divided, "move-space", space, "9", code=1)


def test_a_copy_of_a_served_folder_gives_no_orders_to_the_server(
    client: httpx.Client, divided: Path, names: tuple[str, str], tmp_path: Path
) -> None:
    assert remember(client, names[0], "la clef est sous le pot").status_code == 201
    copy = tmp_path / "copy"
    # Sockets cannot be copied by every program.
    copy_folder(divided, copy, ignore=shutil.ignore_patterns("*.sock", "backups"))
    assert "no server with cells serves" in run(copy, "move-space", names[0], "1", code=1)
    assert "no server with cells serves" in run(copy, "spread-spaces", code=1)
    assert Divided(divided).read().cell_of(names[0]) == 0
    assert recalled(client, names[0], "clef") == ["la clef est sous le pot"]


def test_a_hook_asks_the_cell_of_its_space(
    client: httpx.Client, divided: Path, names: tuple[str, str]
) -> None:
    # A busy machine needs more than the deadline of a turn.
    patience = {"hook_timeout_ms": 10_000}
    for space in names:
        put = client.patch("/api/memory/settings", params={"space": space}, json=patience)
        assert put.status_code == 200
        assert remember(client, space, f"le voilier de {space} est à Nantes").status_code == 201
        done = children.run(
            *("-m", "hippocampe", "hook", "prompt-submit", "--folder", divided, "--space", space),
            input=json.dumps({"prompt": "Où est le voilier ?", "cwd": "/home/paul"}),
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert f"voilier de {space}" in done.stdout


def test_a_killed_cell_loses_no_acknowledged_write_and_heals(
    client: httpx.Client, divided: Path, names: tuple[str, str]
) -> None:
    quiet, busy = names
    remember(client, quiet, "le chat dort")
    stored, ending = list[str](), threading.Event()

    def write() -> None:
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            number = 0
            while not ending.is_set():
                number += 1
                fact = {"key": f"n{number}", "value": f"valeur {number}"}
                answer = own.post("/api/memory/facts", params={"space": busy}, json=fact)
                assert answer.status_code in (201, 503), answer.text
                if answer.status_code == 201:
                    stored.append(fact["key"])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        eventually(lambda: len(stored) > 20)
        owner = read_owner(folder_of(divided, 1))
        assert owner is not None
        os.kill(owner.pid, signal.SIGKILL)
        # The other cell goes on meanwhile.
        assert recalled(client, quiet, "chat") == ["le chat dort"]
        before = len(stored)
        eventually(lambda: len(stored) > before + 20)
        again = read_owner(folder_of(divided, 1))
        assert again is not None and again.pid != owner.pid
    finally:
        ending.set()
        writer.join()
    facts = client.get("/api/memory/facts", params={"space": busy}).json()
    assert set(stored) <= {each["key"] for each in facts}
    eventually(lambda: client.get("/readyz").json()["ready"])
    verified = run(folder_of(divided, 1), "verify", "--json")
    assert json.loads(verified[verified.index("{") :])["ok"]


_HASTY = """
from hippocampe.server.cells import supervisor
supervisor.PROBE_SECONDS = 2.0
supervisor.MOST_UNDER_WAY = 4
from hippocampe.cli import main
main()
"""


def hasty(*arguments: object, **options: Any) -> "subprocess.Popen[str]":
    """A server that gives a silent cell less time, and fewer requests."""
    return children.start("-c", _HASTY, *arguments[2:], **options)


def test_a_frozen_cell_leaves_the_others_alone_and_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "TIMEOUT", 30.0)
    folder = tmp_path / "data"
    with (
        serving(folder, "--workers", "2", start=hasty) as (_, address),
        httpx.Client(base_url=address, timeout=60) as client,
        ThreadPoolExecutor(8) as threads,
    ):
        division = Divided(folder).read()
        every = [*map("s{}".format, range(64))]
        frozen, healthy = (next(s for s in every if division.cell_of(s) == n) for n in (0, 1))
        for space in (frozen, healthy):
            assert remember(client, space, f"le chat de {space} dort").status_code == 201
        owner = read_owner(folder)
        assert owner is not None
        # A short pause is none of the supervisor's business.
        children.freeze(owner.pid)
        # A busy machine delays the other one, too.
        assert 0 in client.get("/readyz").json()["silent_cells"]
        ok, said = reach.server(Config(folder))
        assert not ok
        assert re.search(r"these cells do not: 0", said)
        os.kill(owner.pid, signal.SIGCONT)
        eventually(lambda: client.get("/readyz").json()["ready"])
        assert read_owner(folder) == owner
        children.freeze(owner.pid)

        def ask(_: int) -> httpx.Response:
            return httpx.get(f"{address}/api/memories", params={"space": frozen}, timeout=120)

        waiting = [threads.submit(ask, number) for number in range(8)]
        # The numbers of the cell that answers, although the frozen one has the default space.
        text = client.get("/metrics").text
        assert 'cell="1"' in text
        assert 'cell="0"' not in text
        assert recalled(client, healthy, "chat") == [f"le chat de {healthy} dort"]
        answers = [each.result() for each in waiting]
        refused = [each for each in answers if each.status_code == 503]
        assert len(refused) == 4
        assert {each.headers["Retry-After"] for each in refused} == {"1"}
        # The others waited until the cell was started again.
        served = [each.json()["items"] for each in answers if each.status_code == 200]
        assert [each["content"] for [each] in served] == [f"le chat de {frozen} dort"] * 4
        again = read_owner(folder)
        assert again is not None and again.pid != owner.pid


def test_a_cell_whose_router_ended_while_it_started_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as router:
        monkeypatch.setattr(sys, "stdout", router)
        _tell(ready=True)


def test_a_cell_whose_router_ended_before_its_order_says_nothing() -> None:
    done = children.run("-m", "hippocampe.server.cells.cell", input="", text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_cells_end_with_a_killed_router_and_serve_again(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder, "--workers", "2", start=interpreter) as (process, address):
        other = next(s for s in map("s{}".format, range(64)) if Divided(folder).read().cell_of(s))
        with httpx.Client(base_url=address, timeout=60) as client:
            assert remember(client, other, "le chat dort").status_code == 201
        process.kill()
        process.wait()
    # As many cells as the folder has, as soon as the old ones have left.
    with (
        serving(folder) as (process, address),
        httpx.Client(base_url=address, timeout=60) as client,
        client.stream("GET", "/logs/stream") as stream,
    ):
        assert recalled(client, other, "chat") == ["le chat dort"]
        # Pages that follow the log do not keep it from stopping.
        process.terminate()
        assert list(stream.iter_lines()) is not None
        process.wait(60)


def test_nothing_is_left_in_the_folder_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    short = tmp_path / "data"
    with serving(short, "--workers", "2") as (process, _):
        # As many times as a user who forgot the first one.
        command = ("-m", "hippocampe", "serve", "--folder", short, "--port", "0")
        again = children.run(*command, text=True)
        assert again.returncode == 5
        assert "a process serves it; use it at http://127.0.0.1:" in again.stderr
        process.kill()
        process.wait()
    assert [*temporary.iterdir()] == []
    with serving(short):
        assert "moved from cell 0" in run(short, "move-space", "default", "1")
    assert [*(short / "cells").glob("*.sock")] == []


def test_a_folder_with_a_long_path_is_served(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 25)
    with serving(folder, "--workers", "2") as (_, address):
        eventually(lambda: httpx.get(f"{address}/readyz", timeout=60).json()["ready"])
        sockets = Path(router_socket(folder)).parent
        assert sockets != folder / "cells"
    assert not sockets.exists()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_server_whose_cells_still_start_is_stopped(tmp_path: Path, stop: signal.Signals) -> None:
    folder = tmp_path / "data"
    command = ("-m", "hippocampe", "serve", "--folder", str(folder), "--port", "0")
    with children.start(*command, "--workers", "2", stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        # It is written just before the first cell is started.
        eventually((folder / "cells" / "router.json").exists)
        process.send_signal(stop)
        assert process.stdout.read() == b""
        assert process.wait(60) in (130, -stop)
    # The cells leave too.
    with serving(folder):
        pass


def test_a_folder_that_cannot_be_served_is_not_divided(tmp_path: Path) -> None:
    serve = ("serve", "--workers", "2", "--port")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = run(tmp_path / "data", *serve, str(taken.getsockname()[1]), code=1)
    assert "already in use" in said
    said = run(tmp_path / "data", *serve, "0", "--require-key", code=1)
    assert "make a key" in said
    assert not Divided(tmp_path / "data").exists
