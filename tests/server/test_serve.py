"""`hippocampe serve` as a process: it says where it is, stops on signals, and loses nothing."""

import json
import logging
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

import children
import hippocampe
from conftest import MODEL
from hippocampe import Config, Hippocampe, Scope
from hippocampe.cli.app import app
from hippocampe.system import temporary
from hippocampe.system.owner import read_owner
from model_server import Answer, ModelServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
WRITERS = 4


@contextmanager
def serving(folder: Path, first: str = "") -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server in a process of its own, and its address."""
    script = f"{first}from hippocampe.cli import main; main()"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = ("-c", script, "serve", "--folder", folder, "--port", 0)
    with children.running(*command, **pipes, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found, said
        yield process, found[0]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_loses_nothing(folder: Path, stop: signal.Signals) -> None:
    stored: list[str] = []
    enough = threading.Event()

    def write(writer: int) -> None:
        with httpx.Client(base_url=address, timeout=30) as client:
            for number in range(10_000):
                body = {"key": f"{writer}/{number}", "value": f"valeur {writer} {number}"}
                try:
                    response = client.post("/api/memory/facts", json=body)
                except httpx.TransportError:
                    return
                if response.status_code != 201:
                    return
                stored.append(body["key"])
                if len(stored) >= 20:
                    enough.set()

    with serving(folder) as (process, address):
        card = read_owner(folder)
        assert card is not None
        assert (card.address, card.pid) == (address, process.pid)
        with pytest.raises(hippocampe.FolderInUse, match=re.escape(address)):
            Hippocampe.open(folder, join=False)
        writers = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for each in writers:
            each.start()
        assert enough.wait(60)
        process.send_signal(stop)
        for each in writers:
            each.join()
        _, told = process.communicate(timeout=60)
        assert (process.returncode, told) == (0, "")
    assert read_owner(folder) is None
    with Hippocampe.open(folder) as hippo:
        assert set(stored) <= hippo.facts(scope=Scope()).keys()
        assert hippo.verify().ok


def test_a_model_that_thinks_does_not_keep_the_server_from_stopping(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPPOCAMPE_MODEL", MODEL)
    server.brain = lambda _: Answer(delay=120)
    hurried = "from hippocampe.server import serving; serving.STOP_SECONDS = 1; "

    answers: list[httpx.Response] = []

    def digest() -> None:
        answers.append(httpx.post(f"{address}/admin/digest", timeout=60))

    with serving(folder, hurried) as (process, address):
        live = {"content": "On se voit à 18 h au port."}
        observed = httpx.post(f"{address}/api/live?user=nina&channel=lobby", json=live, timeout=30)
        assert observed.json()["message"]
        asking = threading.Thread(target=digest)
        asking.start()
        ends = time.monotonic() + 30
        while not server.requests and time.monotonic() < ends:
            time.sleep(0.02)
        assert server.requests
        process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        _, errors = process.communicate(timeout=60)
        assert time.monotonic() - started < 20
        assert process.returncode == 0
        asking.join()
    [answer] = answers
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "send the request again" in answer.json()["detail"]
    assert "Traceback" not in errors
    monkeypatch.delenv("HIPPOCAMPE_MODEL")
    with Hippocampe.open(Config(folder, background=False)) as hippo:
        assert hippo.stats(scope=Scope()).live == 1


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGKILL])
def test_no_upload_outlives_the_server_and_the_next_one(folder: Path, stop: signal.Signals) -> None:
    hurried = "from hippocampe.server import serving; serving.STOP_SECONDS = 1; "

    def left() -> list[Path]:
        return [*Path(tempfile.gettempdir()).glob(f"{temporary.prefix(folder)}*")]

    with serving(folder, hurried) as (process, address):
        host, _, port = address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"POST /api/import HTTP/1.1\r\nHost: localhost\r\n")
            client.sendall(b"Content-Length: 1000\r\n\r\n{}")
            ends = time.monotonic() + 60
            while not left() and time.monotonic() < ends:
                time.sleep(0.02)
            assert left()
            process.send_signal(stop)
            process.communicate(timeout=60)
    with Hippocampe.open(Config(folder, background=False)):
        assert not left()


def test_logs_of_errors_have_no_content() -> None:
    from hippocampe.server.http.logs import WithoutMessages

    try:
        raise ValueError("rhubarbe")
    except ValueError:
        record = logging.LogRecord("a", logging.ERROR, "", 0, "failed", (), sys.exc_info())
    told = WithoutMessages("%(message)s").format(record)
    assert told.endswith("ValueError")
    assert "test_serve.py" in told
    assert "ValueError: " not in told


def run(folder: Path, *typed: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, [*typed, "--folder", str(folder), "--embedder", "hashed:32"])
    assert done.exit_code == code, done.output
    return done.output


def test_keys_are_made_listed_and_revoked(hashed: None, folder: Path) -> None:
    made = run(folder, "keys", "create", "--space", "home", "--role", "write", "--label", "phone")
    secret = made.splitlines()[0]
    assert re.fullmatch(r"hippo_[\w-]{43}", secret)
    [key] = json.loads(run(folder, "keys", "list", "--json"))
    assert (key["space"], key["role"], key["label"]) == ("home", "write", "phone")
    listed = run(folder, "keys")
    assert key["id"] in listed
    assert secret not in listed
    shown = run(folder, "keys", "revoke", key["id"])
    assert key["id"] in shown
    assert "revoked 2" in shown
    run(folder, "keys", "revoke", key["id"], code=3)
    assert "choose from read" in run(folder, "keys", "create", "--role", "owner", code=1)


@pytest.mark.parametrize(
    ("typed", "before"),
    [
        (("serve", "--host", "0.0.0.0", "--port", "0"), "make a key with: "),
        (("keys", "list"), "Make one with: "),
    ],
)
def test_the_line_that_makes_a_key_works_as_copied(
    tmp_path: Path, typed: tuple[str, ...], before: str
) -> None:
    folder = tmp_path / 'l\'île  au "trésor" $HOME'
    with Hippocampe.open(Config(folder, background=False)):
        pass
    done = CliRunner().invoke(app, [*typed, "--folder", str(folder)])
    line = done.output.partition(before)[2].strip()
    assert " keys create --role admin --folder " in line, done.output
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    made = subprocess.run(line, shell=True, cwd=elsewhere, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    with Hippocampe.open(Config(folder, background=False)) as hippo:
        [key] = hippo.keys()
    # It opens all of the dashboard, as the first key must.
    assert (key.space, key.role) == ("default", "admin")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_taken_port_is_refused_before_the_folder_is_opened(tmp_path: Path, workers: str) -> None:
    folder = tmp_path / "data"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = ("serve", "--folder", folder, "--port", port, "--workers", workers)
        done = CliRunner().invoke(app, [*map(str, line)])
    assert (done.exit_code, folder.exists()) == (1, False)
    assert f"cannot listen at 127.0.0.1 port {port}" in " ".join(done.output.split())


def test_a_second_server_of_a_folder_at_the_same_port_names_the_first(folder: Path) -> None:
    with serving(folder) as (_, address):
        line = ("serve", "--folder", folder, "--port", address.rpartition(":")[2])
        done = CliRunner().invoke(app, [*map(str, line)])
    assert done.exit_code == 5
    assert f"a process serves it; use it at {address}" in " ".join(done.output.split())


def test_a_server_that_can_open_no_more_files_waits_without_filling_its_log(
    tmp_path: Path,
) -> None:
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64));"
        "from hippocampe.cli import main; main()"
    )
    command = ("-c", script, "serve", "--folder", tmp_path / "data", "--port", 0)
    log = tmp_path / "log"
    with (
        log.open("w") as errors,
        children.running(*command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
        ExitStack() as held,
    ):
        assert process.stdout is not None
        host, port = process.stdout.readline().split()[-1].removeprefix("http://").split(":")
        for _ in range(100):
            held.enter_context(socket.create_connection((host, int(port))))
        ends = time.monotonic() + 30
        while "out of system resource" not in log.read_text():
            assert time.monotonic() < ends
            time.sleep(0.05)
        # The event loop tries again each second.
        time.sleep(2.5)
        held.close()
        assert httpx.get(f"http://{host}:{port}/healthz", timeout=30).status_code == 200
    assert log.read_text().count("out of system resource") < 60
