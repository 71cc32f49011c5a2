"""A full disk: new writes are refused, reading goes on, no process dies, and it heals by itself."""

import errno
import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import small_disk
from conftest import Opener
from hippocampe import Scope, StoreFull
from hippocampe.cli.app import app
from hippocampe.cli.call import Call
from hippocampe.cli.doctor import examine
from hippocampe.presentation import decisions
from hippocampe.system import free_space

if TYPE_CHECKING:
    import httpx

PROGRAM = """
hippo = Hippocampe.open(config)
stored = [hippo.remember(f"le numéro {n} est rouge", scope=me).memory.id for n in range(20)]
hippo.after_turn("où est le jardin ?", "Derrière la maison.", scope=me)
# A busy machine needs more than the deadline of a turn.
hippo.update_settings(scope=me, hook_timeout_ms=10_000)

def talk():
    return hippo.recall("jardin", scope=me, collections=["turn"])

def found(item):
    return {each.id for each in hippo.recall("numéro rouge", scope=me, limit=100)} >= set(item)

def overwritten():
    try:
        return not hippo.verify(absent=["le numéro 6 est"]).present
    except errors.StoreError:
        # A file that was searched has just been replaced.
        return False

assert talk() and found(stored)
fill()
assert refused(lambda: hippo.remember("le chat est noir", scope=me))
assert refused(lambda: hippo.after_turn("et le chat ?", "Noir.", scope=me))
assert refused(lambda: hippo.set_fact("chat", "noir", scope=me))
assert refused(lambda: hippo.backup())
assert refused(lambda: hippo.reindex())
assert refused(lambda: hippo.forget("numéro 3", scope=me))
try:
    hippo.export_to(disk / "space.jsonl", scope=me)
except errors.StoreFull:
    pass
assert sorted(each.name for each in disk.iterdir() if each.is_file()) == ["ballast"]
# Recalls are counted and turns are logged once there is space.
assert found(stored) and talk()
assert hippo.before_turn("le numéro 7 ?", scope=me).items
assert hippo.retrievals(scope=me) == []
assert hippo.stats(scope=me).disk_full
until(lambda: "storing" in hippo.stats(scope=me).outages)
drain()
until(lambda: len(hippo.retrievals(scope=me)) == 1)
# Between the reserve and its half, what frees space goes on.
fill(leave=48 << 20)
assert refused(lambda: hippo.remember("le chat est noir", scope=me))
assert hippo.delete(stored.pop(), scope=me, reason="test").forgotten_at
try:
    hippo.erase(scope=me, id=stored.pop(6))
except errors.StoreFull as exc:
    # A second copy of the index takes more on tmpfs.
    assert "not found any more (1 in all)" in str(exc)
assert not any("numéro 6 " in each.content for each in hippo.memories(scope=me, limit=100).items)
drain()
until(overwritten)
stored.append(hippo.remember("le numéro 99 est rouge", scope=me).memory.id)
assert found(stored)
"""

CLOSED = """
fill()
hippo.close()
drain()
with Hippocampe.open(config) as hippo:
    assert hippo.verify().ok
    assert talk() and found(stored)
"""


WITHOUT_BACKGROUND = """
config = Config(folder=config.folder, embedder=config.embedder, background=False)
hippo = Hippocampe.open(config)
hippo.remember("le chat est noir", scope=me)
fill()
print("end")
"""

SERVER = """
import httpx
from served import served
from hippocampe.server.api import operation
# Counts that took long are kept for a while as well.
operation.FRESH_SECONDS = 0
hippo = Hippocampe.open(config)

def write(client, content):
    return client.post("/api/memories", json={"content": content})

def states(client):
    answer = client.get("/readyz")
    return answer.status_code, answer.json()["disk"], answer.json()["store"]

with served(hippo, loopback=True) as url, httpx.Client(base_url=url, timeout=60) as client:
    assert write(client, "le chat est noir").status_code < 300
    until(lambda: states(client) == (200, "ok", "ok"))
    fill()
    answer = write(client, "le chien est blanc")
    assert (answer.status_code, answer.json()["title"]) == (507, "Store full")
    until(lambda: states(client) == (503, "down", "ok"))
    answer = client.post("/api/recall", json={"query": "le chat"})
    assert answer.json(), answer.text
    drain()
    until(lambda: states(client) == (200, "ok", "ok"))
    assert write(client, "le chien est blanc").status_code < 300
    fill()
hippo.close()
print("closed")
"""


NOTHING_FREE = """
with Hippocampe.open(config) as hippo:
    hippo.remember("le chat est noir", scope=me)
fill()
for _ in range(2):
    try:
        Hippocampe.open(config).close()
    except errors.StoreFull as exc:
        print(str(exc).partition("hippocampe.db: ")[2])
drain()
with Hippocampe.open(config) as hippo:
    assert [each.content for each in hippo.recent(scope=me)] == ["le chat est noir"]
"""


@pytest.mark.parametrize("kind", ["ext4", "tmpfs"])
def test_a_disk_without_a_free_byte_is_no_damage(kind: str, tmp_path: Path) -> None:
    [done] = small_disk.run(kind, tmp_path / "disk", NOTHING_FREE)
    said = "the disk has no free space, which SQLite needs to read it. Free some space and try again.\n"
    assert (done.returncode, done.stdout) == (0, 2 * said), done.stderr


MOVE = """
import asyncio, httpx
from hippocampe.cells import Divided, Division
from hippocampe.server.cells.moves import Mover
(config.folder / "cells").mkdir(parents=True)
divided = Divided(config.folder)
divided.write(Division(2, pinned={"a": 0}))

async def ask(cell, step, arguments):
    if step == "copy-out":
        fill()
        return httpx.Response(507, json={"detail": "the disk is full"})
    return httpx.Response(200, json={})

async def moved():
    mover = Mover(divided, ask, None)
    try:
        await mover.move("a", 1)
    except errors.HippocampeError as exc:
        assert "the disk is full" in str(exc)
    assert refused(lambda: divided.write(Division(2)))
    drain()
    await mover.tidy()
    assert divided.read() == Division(2, pinned={"a": 0})

asyncio.run(moved())
"""


@pytest.mark.parametrize("kind", ["ext4", "tmpfs"])
def test_a_space_that_could_not_be_moved_is_written_again(kind: str, tmp_path: Path) -> None:
    [done] = small_disk.run(kind, tmp_path / "disk", MOVE)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["ext4", "tmpfs"])
def test_programs_read_on_and_lose_nothing(kind: str, tmp_path: Path) -> None:
    """One that is told what is refused, one that does not close its memory, and a server that answers 507."""
    scripts = (PROGRAM + CLOSED, WITHOUT_BACKGROUND, SERVER)
    for done, printed in zip(
        small_disk.run(kind, tmp_path / "disk", *scripts), ("", "end\n", "closed\n"), strict=True
    ):
        assert (done.returncode, done.stdout) == (0, printed), done.stderr


@pytest.mark.usefixtures("hashed")
def test_an_index_that_cannot_be_built_yet_is_built_later(
    folder: Path, open_hippo: Opener, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    id = hippo.remember("le chat est noir", scope=scope).memory.id
    hippo.close()
    shutil.rmtree(folder / "index")
    monkeypatch.setattr(free_space, "free", lambda _: free_space.RESERVE - 1)
    hippo = open_hippo(embedder="hashed:32", background=True, flush_seconds=0.02)
    assert hippo.get(id, scope=scope).content == "le chat est noir"
    assert hippo.stats(scope=scope).disk_full
    with pytest.raises(StoreFull, match="Reading goes on"):
        hippo.remember("le chien est blanc", scope=scope)
    monkeypatch.setattr(free_space, "free", lambda _: None)
    ends = time.monotonic() + 60
    while not hippo.recall("chat noir", scope=scope) and time.monotonic() < ends:
        time.sleep(0.02)
    assert [each.id for each in hippo.recall("chat noir", scope=scope)] == [id]
    assert not hippo.stats(scope=scope).disk_full


@pytest.mark.usefixtures("hashed")
def test_commands_read_a_folder_whose_disk_has_no_room_to_open_it(
    folder: Path, open_hippo: Opener, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = open_hippo(embedder="hashed:32", share=False)
    hippo.remember("le chat est noir", scope=scope)
    hippo.close()
    monkeypatch.setattr(free_space, "free", lambda _: 0)
    with pytest.raises(StoreFull, match="read_only=True"):
        open_hippo(embedder="hashed:32")
    asked = CliRunner().invoke(app, ["list", "--folder", str(folder), "--json"])
    assert asked.exit_code == 0, asked.output
    assert [each["content"] for each in json.loads(asked.stdout)["items"]] == ["le chat est noir"]


def test_doctor_names_the_reserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_space, "free", lambda _: free_space.RESERVE - 1)
    checks = examine(Call(folder=tmp_path), lambda _: None)
    (disk,) = (check for check in checks if check.name == "disk")
    assert not disk.ok
    assert "new writes are refused" in disk.seen


@pytest.mark.usefixtures("hashed")
def test_an_upload_that_finds_no_room_is_refused(
    client: "httpx.Client", monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as uploading:
        uploading.setattr("anyio.open_file", full)
        answer = client.post("/api/import", content=b"{}")
    assert (answer.status_code, answer.json()["title"]) == (507, "Store full")


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "en",
            "cannot write copy.db: Permission denied. Change its permissions, or choose another place.",
        ),
        (
            "fr",
            "impossible d’écrire copy.db : permission refusée. Changez ses permissions, ou choisissez un autre endroit.",
        ),
    ],
)
def test_a_forbidden_write_says_what_to_do(language: str, told: str) -> None:
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    refused = free_space.refusal(denied, "cannot write copy.db")
    assert not isinstance(refused, StoreFull)
    assert decisions.error(str(refused), language) == told
