"""One folder, many programs: they join the process that serves it, and start one when none does."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from hippocampe import Config, FolderInUse, Hippocampe, Scope, ServerUnavailable
from hippocampe.remote import join, join_or_start, joining
from hippocampe.system.owner import Owner, read_owner, read_token

ME = Scope(user="dev", channel="lobby")
PATIENCE = 60.0


@pytest.fixture
def config(folder: Path) -> Config:
    return Config(folder, embedder="local")


@pytest.fixture(autouse=True)
def stopped(folder: Path) -> Iterator[None]:
    """Leave no server behind."""
    yield
    owner = read_owner(folder)
    if owner is not None and owner.pid != os.getpid():
        os.kill(owner.pid, signal.SIGKILL)


def started(config: Config) -> Hippocampe:
    return cast("Hippocampe", join_or_start(config))


def owner_of(folder: Path) -> Owner:
    owner = read_owner(folder)
    assert owner is not None
    return owner


def until(reached: Callable[[], object]) -> None:
    ends = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < ends
        time.sleep(0.02)


def command(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hippocampe", *words, "--folder", str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=PATIENCE,
    )


def test_programs_share_a_server_that_starts_by_itself(config: Config, folder: Path) -> None:
    doors: list[Hippocampe] = []
    threads = [threading.Thread(target=lambda: doors.append(started(config))) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(doors) == 3
    assert len({cast("Any", door).address for door in doors}) == 1
    owner = owner_of(folder)
    assert (owner.on_demand, owner.pid == os.getpid()) == (True, False)
    assert stat.S_IMODE((folder / "owner.token").stat().st_mode) == 0o600

    doors[0].remember("Nina aime le thé vert", scope=ME)
    assert doors[1].recent(scope=ME)[0].content == "Nina aime le thé vert"
    # A terminal beside them reads and writes.
    assert command(folder, "remember", "Le code est 1234").returncode == 0
    shown = command(folder, "recall", "Que boit Nina ?", "--json")
    assert json.loads(shown.stdout)[0]["content"] == "Nina aime le thé vert"
    assert {each.content for each in doors[2].recent(scope=ME)} == {
        "Nina aime le thé vert",
        "Le code est 1234",
    }
    exported = folder.parent / "all.jsonl"
    assert doors[0].export_to(exported, scope=ME) == 2
    # It opens to the token only, which other users cannot read.
    assert cast("Any", doors[0])._connection.get("/healthz") == {"status": "ok"}
    with pytest.raises(ServerUnavailable, match="needs a key"):
        joining.connect(str(owner.address), None, config)

    # Killed in the middle of their use, it is started again, and nothing acknowledged is lost.
    os.kill(owner.pid, signal.SIGKILL)
    doors[1].remember("Paul joue du tuba", scope=ME)
    assert owner_of(folder).pid != owner.pid
    assert len(doors[0].recent(scope=ME)) == 3

    # A server started by hand takes its place, and the programs go over to it.
    with pytest.raises(FolderInUse):
        Hippocampe.open(config)
    serve = [sys.executable, "-m", "hippocampe", "serve", "--port", "0", "--folder", str(folder)]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "serves at" in process.stdout.readline()
        assert owner_of(folder).pid == process.pid
        assert len(doors[0].recent(scope=ME)) == 3
        assert command(folder, "serve").returncode == joining.IN_USE
        process.terminate()
    for door in doors:
        door.close()
    assert read_token(folder) is None
    with Hippocampe.open(config) as hippo:
        assert hippo.verify().ok


def test_it_stops_when_nobody_needs_it(
    config: Config, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "IDLE_SECONDS", 1)
    door = started(config)
    assert door.recent(scope=ME) == []
    until(lambda: read_owner(folder) is None)
    # And starts again when somebody does.
    assert door.recent(scope=ME) == []
    assert (folder / "server.log").read_text() == ""
    assert (folder / "server.log").stat().st_mode & 0o077 == 0
    door.close()


def test_a_process_that_does_not_serve_is_not_disturbed(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "HELD_SECONDS", 0.5)
    with Hippocampe.open(config) as hippo:
        assert join(config) is None
        with pytest.raises(FolderInUse, match="does not serve it"):
            join_or_start(config)
        hippo.remember("Nina aime le thé vert", scope=ME)


def test_a_command_that_holds_the_folder_is_waited_for(config: Config) -> None:
    hippo = Hippocampe.open(config)
    closing = threading.Timer(1.0, hippo.close)
    closing.start()
    with started(config) as door:
        assert door.recent(scope=ME) == []
    closing.join()


def test_why_it_does_not_start(folder: Path) -> None:
    with Hippocampe.open(Config(folder, embedder="local", background=False)):
        pass
    with pytest.raises(ServerUnavailable, match="did not start: .*reindex"):
        join_or_start(Config(folder, embedder="openai:text-embedding-3-small"))


def test_what_a_killed_server_announced_is_not_believed(config: Config, folder: Path) -> None:
    folder.mkdir()
    card = {"pid": 1, "since": "2026-01-17", "address": "http://127.0.0.1:9", "on_demand": False}
    (folder / "owner.json").write_text(json.dumps(card))
    assert join(config) is None
    with Hippocampe.open(config):
        assert owner_of(folder).address is None


def test_a_folder_and_a_server_are_not_both_used(folder: Path) -> None:
    done = command(folder, "recent", HIPPOCAMPE_URL="http://127.0.0.1:9")
    assert done.returncode == 1
    assert "leave one out" in done.stderr


def test_the_command_line_is_a_client_of_a_server(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from typer.testing import CliRunner

    from hippocampe.cli.app import app
    from served import served

    secret = hippo.create_key(scope=Scope(space="home"), role="write").secret
    monkeypatch.delenv("HIPPOCAMPE_FOLDER", raising=False)
    monkeypatch.setenv("HIPPOCAMPE_KEY", secret)
    with served(hippo, loopback=False) as url:
        monkeypatch.setenv("HIPPOCAMPE_URL", url)
        told = CliRunner().invoke(app, ["remember", "Nina aime le thé vert"])
        assert told.exit_code == 0, told.output
        shown = CliRunner().invoke(app, ["recall", "que boit Nina ?", "--json"])
        refused = CliRunner().invoke(app, ["erase", "--whole-space", "--yes"])
    assert json.loads(shown.stdout)[0]["content"] == "Nina aime le thé vert"
    assert refused.exit_code == 1
    assert [each.content for each in hippo.recent(scope=Scope(space="home"))] == [
        "Nina aime le thé vert"
    ]
