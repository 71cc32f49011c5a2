"""What doctor says of the configuration, and of what it names."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from conftest import Connect
from hippocampe import Config, Hippocampe
from hippocampe.cli import reach
from hippocampe.cli.app import app
from hippocampe.config_sources import load
from hippocampe.errors import EmbedderUnavailable, NotesUnavailable
from hippocampe.system import free_space
from model_server import ModelServer

NOBODY = "http://127.0.0.1:9"


def doctor(folder: Path, *typed: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["doctor", "--json", "--folder", str(folder), *typed])
    return {check["name"]: (check["ok"], check["seen"]) for check in json.loads(done.output)}


def test_a_folder_that_cannot_be_made_is_named_with_the_one_that_forbids_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    ok, said = doctor(tmp_path / "memory")["folder"]
    assert not ok
    assert said.startswith(f"{tmp_path / 'memory'} cannot be made, because {tmp_path} is not")
    assert "--folder" in said and "permissions" not in said


def test_it_says_what_is_set_and_where_without_secrets(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("timezone = 'Asia/Tokyo'\nupstream_key = 'sk-very-secret'\n")
    seen = doctor(folder, "--config", str(file), "--set", "request_burst=7")
    ok, said = seen["configuration"]
    assert ok
    assert f"file {file}; folder {folder} (--folder)" in said
    assert f"timezone Asia/Tokyo ({file})" in said
    assert "request_burst 7 (--set)" in said
    assert f"upstream_key {reach.MASKED} ({file})" in said
    assert "very-secret" not in str(seen)
    for name in ("server", "embedder", "upstream", "upstream of Anthropic", "notes"):
        assert seen[name][0], seen[name]


def test_a_wrong_configuration_is_an_error(folder: Path) -> None:
    done = CliRunner().invoke(app, ["stats", "--folder", str(folder), "--set", "request_burst"])
    assert done.exit_code == 1
    assert "NAME=VALUE" in done.output


def test_it_asks_the_server_of_the_folder(
    folder: Path, memory: Hippocampe, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "TIMEOUT", 30.0)
    assert reach.server(Config(folder)) == (True, f"process {os.getpid()} shares this folder")
    memory.announce(str(connect().base_url))
    assert reach.server(Config(folder)) == (True, f"{connect().base_url} is ready")
    memory.announce(NOBODY)
    ok, said = reach.server(Config(folder))
    assert not ok
    assert "does not answer (ConnectionRefusedError)" in said


def test_a_server_with_a_full_disk_answers(
    memory: Hippocampe, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "TIMEOUT", 30.0)
    # Shards of earlier tests, which are freed meanwhile, ask too.
    monkeypatch.setattr(free_space, "has_room", lambda *_, **__: False)
    url = str(connect().base_url)
    memory.announce(url)
    assert reach.server(Config(memory.config.folder)) == (False, f"{url} answers, without disk")


def checked(*typed: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(app, ["doctor", "--json", *typed], catch_exceptions=False)
    found = {check["name"]: (check["ok"], check["seen"]) for check in json.loads(done.output)}
    return done.exit_code, found


def test_it_asks_the_server_of_the_environment(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "TIMEOUT", 30.0)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    url = str(connect().base_url)
    monkeypatch.setenv("HIPPOCAMPE_URL", f"{url}/")
    code, seen = checked()
    assert (code, seen["server"]) == (0, (True, f"{url} is ready"))
    assert seen["data"] == (True, f"on the server at {url}/; the folder is not used")
    monkeypatch.setattr(reach, "__version__", "9.9")
    code, seen = checked()
    assert code == 1
    assert "this program 9.9" in seen["server"][1]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (NOBODY, f"{NOBODY} does not answer (ConnectionRefusedError)"),
        ("memory.example", "HIPPOCAMPE_URL: the URL of the server cannot be used"),
        ("http://127.0.0.1:99999", "HIPPOCAMPE_URL: the URL of the server cannot be used"),
    ],
)
def test_a_server_of_the_environment_that_is_not_there_is_a_problem(
    address: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPPOCAMPE_URL", address)
    code, seen = checked()
    assert code == 1
    assert not seen["server"][0]
    assert reason in seen["server"][1]


def test_a_server_of_the_environment_that_refuses_the_key(
    connect: Connect, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(connect("read").base_url)
    for key in ("", "hippo_wrong"):
        monkeypatch.setenv("HIPPOCAMPE_KEY", key)
        monkeypatch.setenv("HIPPOCAMPE_URL", url)
        code, seen = checked()
        assert (code, seen["server"][0]) == (1, False)
        assert "check HIPPOCAMPE_KEY" in seen["server"][1]
        assert "hippo_wrong" not in str(seen)
    monkeypatch.setenv("HIPPOCAMPE_URL", server.openai_url)
    code, seen = checked()
    assert (code, seen["server"][0]) == (1, False)
    assert "check HIPPOCAMPE_URL" in seen["server"][1]


def test_a_folder_beside_a_server_of_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPPOCAMPE_URL", NOBODY)
    done = CliRunner().invoke(app, ["doctor", "--folder", str(folder)])
    assert done.exit_code == 1
    assert "both a folder and HIPPOCAMPE_URL" in done.output


def test_it_asks_the_upstream(server: ModelServer) -> None:
    assert reach.upstream(None, None)[0]
    assert reach.upstream(server.openai_url, "test-key") == (True, f"{server.openai_url} answers")
    ok, said = reach.upstream(NOBODY, "sk-very-secret")
    assert not ok
    assert "very-secret" not in said
    assert reach.anthropic_upstream(None, None)[0]
    found = reach.anthropic_upstream(server.openai_url, "test-key")
    assert found == (True, f"{server.openai_url} answers")
    ok, said = reach.anthropic_upstream(NOBODY, "sk-very-secret")
    assert not ok
    assert "very-secret" not in said


def test_it_does_not_take_the_key_elsewhere(connect: Connect) -> None:
    """An upstream that redirects gets no further."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        import threading

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(10_000)
                moved = f"HTTP/1.1 302 Found\r\nLocation: {connect().base_url}\r\n"
                connection.sendall(f"{moved}Content-Length: 0\r\n\r\n".encode())

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert reach.upstream(address, "sk-very-secret") == (True, f"{address} answers")
        thread.join()


def test_it_looks_for_the_embedder_and_the_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    remote = Config(tmp_path, embedder="openai:x", embedder_url=NOBODY, embedder_timeout=0.5)
    with pytest.raises(EmbedderUnavailable) as unavailable:
        reach.embedder(remote)
    assert "very-secret" not in str(unavailable.value)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("Bonjour")
    vault = tmp_path / "vault"
    assert reach.notes(Config(tmp_path, notes_folder=vault))[1] == f"1 in {vault}"
    with pytest.raises(NotesUnavailable):
        reach.notes(Config(tmp_path, notes_folder=tmp_path / "none"))


def test_a_variable_of_the_environment_is_a_place(folder: Path) -> None:
    found = load(environment={"HIPPOCAMPE_FOLDER": str(folder), "HIPPOCAMPE_MODEL": "openai:x"})
    assert "model openai:x (HIPPOCAMPE_MODEL)" in reach.configuration(found)[1]
