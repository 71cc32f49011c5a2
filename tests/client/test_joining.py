"""One folder, many programs: they use the process that owns it, and start one when there is none."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from children import child, freeze, run, running
from conftest import Opener
from hippocampe import (
    Config,
    FolderInUse,
    Hippocampe,
    InvalidInput,
    NotFound,
    Scope,
    ServerUnavailable,
    StoreError,
    StoreReadOnly,
)
from hippocampe.client import host as host_module
from hippocampe.client import joining, local
from hippocampe.client.host import Host
from hippocampe.client.joining import join, join_or_start
from hippocampe.client.local import LocalConnection
from hippocampe.client.reaching import Unreached
from hippocampe.client.remote import RemoteHippocampe
from hippocampe.hippocampe import JoinedHippocampe
from hippocampe.system import local_socket
from hippocampe.system.local_socket import HELD_SECONDS, IN_USE, SILENCE_SECONDS, SOCKET
from hippocampe.system.owner import Owner, read_owner
from hippocampe.verbs import VERBS

ME = Scope(user="dev", channel="lobby")
PATIENCE = 60.0
OWNING = """
hippo = Hippocampe.open(Config(folder, embedder="local", background=False))
hippo.remember("Nina aime le thé vert", scope=scope)
print("ready", flush=True)
sys.stdin.readline()
hippo.close()
"""


@pytest.fixture
def config(folder: Path) -> Config:
    return Config(folder, embedder="local")


@pytest.fixture(autouse=True)
def stopped(folder: Path) -> Iterator[None]:
    """Leave no process behind."""
    yield
    owner = read_owner(folder)
    if owner is not None and owner.pid != os.getpid():
        with suppress(ProcessLookupError):
            os.kill(owner.pid, signal.SIGKILL)


def test_a_mistaken_call_names_the_argument(hashed: None, open_hippo: Opener) -> None:
    owner = open_hippo(embedder="hashed:64")
    joined = Hippocampe.open(owner.config.folder)
    for memory in (owner, joined):
        with pytest.raises(TypeError, match=r"remember\(\): .* 'tags'"):
            memory.remember("Léa likes figs", scope=ME, tags=["food"])  # pyright: ignore[reportCallIssue]
        with pytest.raises(TypeError, match=r"remember\(\): missing .* 'scope'"):
            memory.remember("Léa likes figs")  # pyright: ignore[reportCallIssue]
        with pytest.raises(TypeError, match=r"stats\(\):? missing .* 'scope'"):
            memory.stats()  # pyright: ignore[reportCallIssue]
    joined.close()


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
    typed = ("-m", "hippocampe", *words, "--folder", folder)
    return run(*typed, text=True, env={**os.environ, **environment})


def recalled(folder: Path, query: str) -> str:
    shown = command(folder, "recall", query, "--json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)[0]["content"]


def test_programs_share_a_process_that_starts_by_itself(config: Config, folder: Path) -> None:
    memories: list[Hippocampe] = []
    threads = [threading.Thread(target=lambda: memories.append(started(config))) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(memories) == 3
    owner = owner_of(folder)
    assert owner.pid != os.getpid()
    # It has no port.
    assert (owner.address, not (folder / "owner.token").exists()) == (None, True)

    memories[0].remember("Nina aime le thé vert", scope=ME)
    assert memories[1].recent(scope=ME)[0].content == "Nina aime le thé vert"
    # A terminal and a program with the library beside them read and write.
    assert command(folder, "remember", "Le casier est le 1234").returncode == 0
    assert recalled(folder, "Que boit Nina ?") == "Nina aime le thé vert"
    with Hippocampe.open(config) as library:
        assert isinstance(library, JoinedHippocampe)
        assert {each.content for each in library.recent(scope=ME)} == {
            "Nina aime le thé vert",
            "Le casier est le 1234",
        }
    exported = folder.parent / "all.jsonl"
    assert memories[0].export_to(exported, scope=ME) == 2

    # Killed in the middle of their use, it is started again, and nothing acknowledged is lost.
    os.kill(owner.pid, signal.SIGKILL)
    memories[1].remember("Paul joue du tuba", scope=ME)
    assert owner_of(folder).pid != owner.pid
    assert len(memories[0].recent(scope=ME)) == 3

    # A server started by hand takes its place, and the programs use that one.
    with pytest.raises(FolderInUse):
        Hippocampe.open(config, join=False)
    serve = ("-m", "hippocampe", "serve", "--port", 0, "--folder", folder)
    with running(*serve, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "serves at" in process.stdout.readline()
        assert owner_of(folder).pid == process.pid
        assert len(memories[0].recent(scope=ME)) == 3
        refused = command(folder, "serve")
        assert refused.returncode == IN_USE
        assert str(owner_of(folder).address) in refused.stderr
        process.terminate()
        assert process.wait(PATIENCE) == 0
    for memory in memories:
        memory.close()
    with Hippocampe.open(config) as hippo:
        assert hippo.verify().ok


def test_a_program_that_started_a_process_ends_without_a_warning(folder: Path) -> None:
    script = (
        "import sys; from hippocampe import Config; from hippocampe.client.joining import join_or_start;"
        "join_or_start(Config(sys.argv[1], embedder='local')).close()"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(folder)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert owner_of(folder).address is None, "it goes on"


def test_a_program_that_owns_the_folder_shares_it(
    config: Config, folder: Path, hashed: None
) -> None:
    with child(OWNING, folder) as program:
        assert program.stdin is not None and program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        with Hippocampe.open(config) as hippo, started(config) as other:
            assert (hippo.owns, owner_of(folder).pid) == (False, program.pid)
            assert hippo.recent(scope=ME)[0].content == "Nina aime le thé vert"
            hippo.remember("Paul joue du tuba", scope=ME)
            assert recalled(folder, "Que fait Paul ?") == "Paul joue du tuba"
            assert len(other.recent(scope=ME)) == 2
            with pytest.raises(FolderInUse, match=f"process {program.pid} since 20"):
                Hippocampe.open(config, join=False)
            # It ends; those that used it go on.
            program.stdin.write("\n")
            program.stdin.close()
            assert program.wait(PATIENCE) == 0
            assert len(hippo.recent(scope=ME)) == 2
            assert len(other.recent(scope=ME)) == 2
            assert owner_of(folder).pid != program.pid


def test_opening_twice_in_one_process_is_the_same_memory(config: Config) -> None:
    with Hippocampe.open(config) as first, Hippocampe.open(config) as second:
        first.remember("Nina aime le thé vert", scope=ME)
        assert second.recall("que boit Nina ?", scope=ME) == first.recall(
            "que boit Nina ?", scope=ME
        )
        assert second.before_turn("que boit Nina ?", scope=ME).items
        with pytest.raises(StoreReadOnly, match="only the owner"):
            second.announce("http://127.0.0.1:1")
        with pytest.raises(StoreReadOnly, match="only the owner"):
            second.find_key("hippo_x")


def test_after_its_end_a_joined_memory_starts_no_other_process(
    config: Config, folder: Path
) -> None:
    hippo = Hippocampe.open(config)
    joined = Hippocampe.open(config)
    turn = joined.before_turn("bonjour", scope=ME)
    hippo.close()
    joined.close()
    joined.close()
    with pytest.raises(StoreError, match="was closed"):
        joined.recall("que boit Nina ?", scope=ME)
    assert turn.trace.considered == ()
    assert read_owner(folder) is None


def test_a_folder_that_is_not_shared(folder: Path) -> None:
    private = Config(folder, embedder="local", share=False)
    with Hippocampe.open(private) as hippo:
        assert not (folder / SOCKET).exists()
        assert join(private) is None
        begun = time.monotonic()
        with pytest.raises(FolderInUse, match="does not share it"):
            join_or_start(private)
        with pytest.raises(FolderInUse, match="does not share it"):
            Hippocampe.open(private)
        # What the owner said of itself is believed at once.
        assert time.monotonic() - begun < 2 * HELD_SECONDS
        refused = command(folder, "remember", "Le casier est le 1234")
        assert (refused.returncode, "does not share it" in refused.stderr) == (5, True)
        hippo.remember("Nina aime le thé vert", scope=ME)
        # Reading needs no owner.
        assert recalled(folder, "Que boit Nina ?") == "Nina aime le thé vert"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_frozen_owner_is_not_waited_for(
    config: Config, folder: Path, hashed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with child(OWNING, folder) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        with Hippocampe.open(config) as before:
            freeze(program.pid)
            try:
                with monkeypatch.context() as hurried:
                    hurried.setattr(local_socket, "SILENCE_SECONDS", 0.1)
                    for use in (
                        lambda: before.recent(scope=ME),
                        lambda: Hippocampe.open(config),
                        lambda: started(config),
                        lambda: joining.take_over(
                            folder, lambda: Hippocampe.open(config, join=False)
                        ),
                    ):
                        with pytest.raises(FolderInUse, match="has not answered for 1.5 s"):
                            use()
                refused = command(folder, "remember", "Le casier est le 1234")
                assert (refused.returncode, "has not answered" in refused.stderr) == (5, True)
                assert recalled(folder, "Que boit Nina ?") == "Nina aime le thé vert"
            finally:
                os.kill(program.pid, signal.SIGCONT)
            assert before.recent(scope=ME)[0].content == "Nina aime le thé vert"


def test_an_owner_that_takes_long_is_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    monkeypatch.setattr(local_socket, "SILENCE_SECONDS", SILENCE_SECONDS / 2)
    monkeypatch.setattr(host_module, "BEAT_SECONDS", host_module.BEAT_SECONDS / 4)

    class Slow:
        def now(self) -> None:
            time.sleep(SILENCE_SECONDS / 2 + 0.2)

    host = Host(folder)
    try:
        # It opens the folder, and then works, for longer than a frozen owner would be waited for.
        opening = threading.Timer(
            SILENCE_SECONDS / 2 + 0.2, lambda: host.serve(Slow(), nullcontext)
        )
        opening.start()
        connection = LocalConnection(folder)
        assert connection.greet()["pid"] == os.getpid()
        assert connection.call("now") is None
        connection.close()
    finally:
        host.close()


def test_a_call_that_is_too_large_is_refused_as_such(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "MAX_REQUEST_BYTES", 2_000)
    with closing(LocalConnection(folder)) as connection:
        with pytest.raises(InvalidInput, match=r"'remember_many' are too large .*nothing was done"):
            connection.call("remember_many", [["Nina aime le thé vert"] * 100])
        with pytest.raises(Unreached):
            connection.call("remember_many", [["Nina aime le thé vert"]])


def test_calls_under_way_end_before_the_folder_is_released(config: Config) -> None:
    hippo = Hippocampe.open(config)
    with started(config) as other:
        items = [{"content": f"Le numéro {number} est pris"} for number in range(100)]
        begun = threading.Event()
        stored: list[object] = []

        def write() -> None:
            stored.extend(other.remember_many(items, scope=ME, progress=lambda *each: begun.set()))

        writing = threading.Thread(target=write)
        writing.start()
        assert begun.wait(PATIENCE)
        hippo.close()
        writing.join()
        assert len(stored) == 100
        # The next call finds another owner.
        assert other.stats(scope=ME).memories == {"memory": 100}


def test_it_stops_when_nobody_needs_it(
    config: Config, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "IDLE_SECONDS", 1)
    memory = started(config)
    assert memory.recent(scope=ME) == []
    until(lambda: read_owner(folder) is None)
    # And starts again when somebody does.
    assert memory.recent(scope=ME) == []
    assert (folder / "server.log").read_text() == ""
    assert (folder / "server.log").stat().st_mode & 0o077 == 0
    memory.close()


def test_a_process_of_another_version_leaves(
    config: Config, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started(config):
        first = owner_of(folder).pid
    with monkeypatch.context() as patch:
        patch.setattr(joining, "__version__", "9.9")
        with pytest.raises(joining.Unreached, match="another version"):
            joining._joined(folder)
    until(lambda: read_owner(folder) is None)
    with started(config):
        assert owner_of(folder).pid != first


def test_why_it_does_not_start(folder: Path, hashed: None) -> None:
    with Hippocampe.open(Config(folder, embedder="hashed:32", background=False)):
        pass
    with pytest.raises(ServerUnavailable, match="did not start: .*reindex"):
        join_or_start(Config(folder, embedder="local"))


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


def test_a_migration_does_not_wait_for_a_process_that_was_started_by_itself(
    config: Config, folder: Path, tmp_path: Path
) -> None:
    started(config).close()
    target = tmp_path / "copy"
    moved = command(folder, "migrate", "--to", str(target), "--json")
    assert moved.returncode == 0, moved.stderr
    assert (target / "hippocampe.db").is_file()


def test_an_owner_that_ends_while_it_is_joined(config: Config, folder: Path) -> None:
    with Hippocampe.open(config) as first:
        gone = LocalConnection(folder)
        assert gone.greet()
        assert first.owns
    with Hippocampe.open(config) as successor:
        connections = [LocalConnection(folder), gone]
        with RemoteHippocampe(connections.pop, config) as joined:
            assert not joined.recent(scope=ME)
        assert successor.owns
    assert not connections


class Ending(LocalConnection):
    """A connection whose owner ends after it has executed a write, before it answers."""

    def call(self, verb: str, *arguments: Any, **named: Any) -> Any:
        answer = super().call(verb, *arguments, **named)
        if VERBS.get(verb, VERBS["get"]).writes:
            raise Unreached(f"{self.address}: EOFError")
        return answer


def test_a_write_that_an_owner_did_before_it_ended_is_not_called_undone(
    hashed: None, open_hippo: Opener
) -> None:
    owner = open_hippo(embedder="hashed:64")
    id = owner.remember("Nina aime le thé vert", scope=ME).memory.id
    owner.delete(id, scope=ME, reason="test")
    for verb, refusal in (("restore", "is current"), ("erase", "or it is erased already")):
        connections = [LocalConnection(owner.config.folder), Ending(owner.config.folder)]
        with RemoteHippocampe(connections.pop, owner.config) as joined:
            for said in (f"which it may have done; its successor says: .*{refusal}", refusal):
                with pytest.raises((InvalidInput, NotFound), match=said) as refused:
                    getattr(joined, verb)(id=id, scope=ME)
            assert "successor" not in str(refused.value)


def test_a_closing_owner_ends_long_calls_between_their_transactions(
    hashed: None, open_hippo: Opener
) -> None:
    owner = open_hippo(embedder="hashed:64")
    closing_owner = threading.Thread(target=owner.close)
    acknowledged: list[int] = []

    def progress(what: str, done: int, total: int) -> None:
        acknowledged.append(done)
        if done == acknowledged[0]:
            closing_owner.start()

    items = [f"box {number} holds letters" for number in range(4_000)]
    with Hippocampe.open(owner.config.folder) as joined:
        with pytest.raises(StoreError, match=r"closed when (\d+) of 4000 items") as refused:
            joined.remember_many(items, scope=ME, progress=progress)
        closing_owner.join()
    assert f"when {acknowledged[-1]} of" in str(refused.value)
    with open_hippo(embedder="hashed:64") as again:
        assert again.stats(scope=ME).memories["memory"] == acknowledged[-1]
