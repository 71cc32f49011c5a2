"""The verbs of a memory over a server, beside the same verbs in this process."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast, get_type_hints

import pytest

import hippocampe
from hippocampe import Config, Hippocampe, InvalidInput, NotFound, Scope, ServerUnavailable
from hippocampe.client import connection, host
from hippocampe.client.arguments import result_type
from hippocampe.client.joining import connect
from hippocampe.client.local import LocalConnection
from hippocampe.client.remote import RemoteHippocampe
from hippocampe.verbs import SENT
from served import served

ME = Scope(user="dev", channel="lobby")
BIG = Scope(space="big")


@pytest.fixture
def address(hippo: Hippocampe) -> Iterator[str]:
    with served(hippo, loopback=True) as url:
        yield url


@pytest.fixture
def remote(address: str, hippo: Hippocampe) -> Iterator[Hippocampe]:
    with connect(address, None, hippo.config) as door:
        yield cast("Hippocampe", door)


@pytest.mark.parametrize("name", sorted(SENT))
def test_the_type_of_a_result_is_known_without_the_library(name: str) -> None:
    assert result_type(name) == get_type_hints(getattr(Hippocampe, name))["return"]


def test_a_program_connects_to_a_server(address: str, hippo: Hippocampe) -> None:
    with Hippocampe.connect(address) as door:
        assert (door.owns, door.read_only) == (False, False)
        told = door.remember("Nina aime le thé vert", scope=ME)
        assert hippo.get(told.memory.id, scope=ME) == told.memory
    with pytest.raises(ServerUnavailable):
        Hippocampe.connect("http://127.0.0.1:9")


@pytest.mark.parametrize("noticed", [True, False])
def test_a_connection_that_the_server_has_closed_is_replaced(
    hippo: Hippocampe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noticed: bool
) -> None:
    if not noticed:
        # The server closes it between the look at the connection and the request.
        monkeypatch.setattr(connection, "_is_open", lambda own: own.sock is not None)
    copy = tmp_path / "copy.jsonl"
    large: list[dict[str, Any]] = [{"content": "x" * 90_000}] * 3
    calls: tuple[Callable[[Hippocampe], object], ...] = (
        lambda door: door.remember("Nina aime le thé vert", scope=ME),
        lambda door: door.remember_many(large, scope=BIG, progress=lambda *each: None),
        lambda door: door.export_to(copy, scope=ME),
        lambda door: door.import_from(copy, scope=Scope(space="other")),
    )
    with served(hippo, loopback=True) as address:
        door = connect(address, None, hippo.config)
    with closing(door):
        for each in calls:
            # Each server is at the address of the last one, and closes its connections at the end.
            with served(hippo, loopback=True) as again:
                assert again == address
                each(cast("Hippocampe", door))
        with pytest.raises(ServerUnavailable, match="cannot reach the server"):
            door.spaces()
    assert hippo.stats(scope=ME).memories == {"memory": 1}
    assert hippo.recent(scope=Scope(space="other"))[0].content == "Nina aime le thé vert"


def test_a_conversation_gives_the_same_here_and_there(
    hippo: Hippocampe, remote: Hippocampe
) -> None:
    told = remote.remember("Nina aime le thé vert", scope=ME, subjects=["nina"], ttl="7d")
    assert hippo.get(told.memory.id, scope=ME) == told.memory
    assert remote.get(told.memory.id, scope=ME) == told.memory
    turn = remote.after_turn("Tu connais Nina ?", "Oui, elle aime le thé.", scope=ME)
    assert isinstance(turn, str)
    remote.observe("on part à 18 h", scope=ME)
    assert remote.recall("que boit Nina ?", scope=ME) == hippo.recall("que boit Nina ?", scope=ME)
    assert remote.messages(scope=ME) == hippo.messages(scope=ME)
    assert (
        remote.before_turn("que boit Nina ?", scope=ME).items[0].content == "Nina aime le thé vert"
    )
    remote.set_fact("boisson", "le thé", scope=ME)
    assert remote.facts(scope=ME) == hippo.facts(scope=ME)
    assert remote.update_settings(scope=ME, live_rooms=["a"]) == hippo.settings(scope=ME)
    remote.edit(told.memory.id, scope=ME, importance=0.9)
    assert remote.history(told.memory.id, scope=ME) == hippo.history(told.memory.id, scope=ME)
    assert remote.restore(
        remote.delete(told.memory.id, scope=ME, reason="test").id, scope=ME
    ) == hippo.get(told.memory.id, scope=ME)
    assert remote.stats(scope=ME) == hippo.stats(scope=ME)
    assert remote.spaces() == hippo.spaces()
    assert remote.verify() == hippo.verify()
    assert remote.jobs(scope=ME) == hippo.jobs(scope=ME)


def test_progress_is_seen(remote: Hippocampe) -> None:
    seen: list[tuple[str, int, int]] = []
    items = [{"content": f"Le numéro {number} est pris"} for number in range(130)]
    done = remote.remember_many(items, scope=ME, progress=lambda *each: seen.append(each))
    assert [each.memory.content for each in done] == [item["content"] for item in items]
    assert seen == [("remembering", 128, 130), ("remembering", 130, 130)]
    (text,) = remote.remember_many(["Ana a un piano"], scope=ME)
    assert text.memory.content == "Ana a un piano"
    with pytest.raises(hippocampe.InvalidInput, match="item 1"):
        remote.remember_many([{"contents": "x"}], scope=ME, progress=lambda *each: None)


def test_errors_are_those_of_the_library(remote: Hippocampe) -> None:
    with pytest.raises(NotFound, match="no memory 'x'"):
        remote.get("x", scope=ME)
    with pytest.raises(hippocampe.InvalidInput, match="ttl"):
        remote.remember("a", scope=ME, ttl="tomorrow")
    with pytest.raises(hippocampe.InvalidInput, match="recall.*colour"):
        remote.recall("a", scope=ME, colour="red")  # pyright: ignore[reportCallIssue]
    with pytest.raises(hippocampe.InvalidInput, match="cannot be sent"):
        remote.recall("a", scope=ME, limit=object())  # pyright: ignore[reportArgumentType]
    with pytest.raises(AttributeError):
        remote.announce("http://127.0.0.1:1")


def test_files_of_the_client_are_sent_and_received(
    hippo: Hippocampe, remote: Hippocampe, tmp_path: Path
) -> None:
    remote.remember("Nina aime le thé vert", scope=ME)
    target = tmp_path / "copy.jsonl"
    assert remote.export_to(target, scope=ME) == 1
    with pytest.raises(hippocampe.InvalidInput, match="exists"):
        remote.export_to(target, scope=ME)
    assert remote.export_to(target, scope=ME, overwrite=True) == 1
    other = Scope(space="other")
    assert remote.import_from(target, scope=other, format="hippocampe").added == 1
    assert hippo.recent(scope=other)[0].content == "Nina aime le thé vert"
    with pytest.raises(hippocampe.UnreadableFile, match="cannot import .*: No such file"):
        remote.import_from(tmp_path / "missing.jsonl", scope=ME)
    with pytest.raises(InvalidInput, match="pack it as a zip"):
        remote.import_from(tmp_path, scope=ME)
    with pytest.raises(hippocampe.InvalidInput, match="format"):
        remote.import_from(target, scope=ME, format="tape")
    # The database of the server stays on its machine.
    with pytest.raises(ServerUnavailable, match="uses files of the server's machine"):
        remote.backup(tmp_path / "copy.db")
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["copy.jsonl"]


@pytest.mark.parametrize(
    ("name", "channel"),
    [("Discussion WhatsApp avec Été.txt", "Été"), ("WhatsApp Chat with Amy.txt", "Amy")],
)
def test_a_file_that_is_sent_keeps_its_name(
    hippo: Hippocampe, remote: Hippocampe, tmp_path: Path, name: str, channel: str
) -> None:
    file = tmp_path / name
    file.write_text("17/01/2026, 10:23 - David: je pars en Grèce demain\n", encoding="utf-8")
    for each, scope in ((hippo, ME), (remote, BIG)):
        assert each.import_from(file, scope=scope, format="whatsapp").added == 1
        [message] = hippo.messages(scope=Scope(space=scope.space, channel=channel))
        assert message.content == "je pars en Grèce demain"


def test_a_key_opens_its_space_with_its_role(hippo: Hippocampe) -> None:
    def made(space: str, role: Any) -> str:
        return hippo.create_key(scope=Scope(space=space), role=role).secret

    hippo.remember("Un secret de la maison", scope=Scope(space="home"))
    with served(hippo, loopback=False) as url:
        with pytest.raises(ServerUnavailable, match="needs a key"):
            connect(url, None, hippo.config)
        with connect(url, made("home", "read"), hippo.config) as door:
            # Without a space, it is that of the key.
            assert door.recent(scope=Scope())[0].content == "Un secret de la maison"
            with pytest.raises(ServerUnavailable, match="role write"):
                door.remember("x", scope=Scope())
            with pytest.raises(ServerUnavailable, match="does not open this space"):
                door.recent(scope=Scope(space="work"))
            # What all spaces share is not for the key of one.
            assert hippo.stats(scope=Scope(space="home")).indexed
            assert door.stats(scope=Scope()).memories == {"memory": 1}
            assert not door.stats(scope=Scope()).indexed
        with connect(url, made("work", "admin"), hippo.config) as door:
            assert door.recent(scope=Scope()) == []
            door.update_settings(scope=Scope(), language="en")
            for verb in ("spaces", "keys", "verify", "flush"):
                with pytest.raises(ServerUnavailable, match="concerns all spaces"):
                    getattr(door, verb)()
    assert hippo.settings(scope=Scope(space="home")).language == "fr"
    assert hippo.settings(scope=Scope(space="work")).language == "en"


@pytest.mark.parametrize(
    "address",
    ["", "here", "ftp://a", "http://", "http://a:0", "http://a:x", "http://u:p@a", "http://a?b"],
)
def test_an_address_that_is_none(address: str, folder: Path) -> None:
    with pytest.raises(hippocampe.InvalidInput, match="URL of the server"):
        connect(address, None, Config(folder))


def test_a_server_that_is_not_there(folder: Path) -> None:
    with pytest.raises(ServerUnavailable, match="cannot reach the server"):
        connect("http://127.0.0.1:9", None, Config(folder))


def test_another_version_is_refused(
    hippo: Hippocampe, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hippocampe.client.remote.__version__", "9.9")
    with pytest.raises(ServerUnavailable, match=r"this program 9\.9"):
        connect(address, None, hippo.config)


def test_the_client_loads_nothing_heavy() -> None:
    heavy = ("sqlalchemy", "numpy", "pydantic", "qdrant_edge", "httpx", "fastapi")
    modules = "sys, hippocampe.client.remote, hippocampe.client.joining"
    program = f"import {modules}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_it_is_no_subclass_that_would_own_data() -> None:
    assert not issubclass(RemoteHippocampe, Hippocampe)


def test_the_candidates_of_a_turn_are_sent_when_they_are_looked_at(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    call = LocalConnection.call

    def counted(connection: LocalConnection, verb: str, *more: Any, **named: Any) -> Any:
        calls.append(verb)
        return call(connection, verb, *more, **named)

    monkeypatch.setattr(LocalConnection, "call", counted)
    monkeypatch.setattr(host, "MAX_RETAINED", 1)
    hippo.update_settings(scope=ME, hook_timeout_ms=10_000)
    hippo.remember("Nina aime le thé vert", scope=ME)
    folder = hippo.config.folder
    with RemoteHippocampe(lambda: LocalConnection(folder), hippo.config) as remote:
        turns = [remote.before_turn("que boit Nina ?", scope=ME, fresh=True) for _ in range(2)]
        assert calls == ["greet", "before_turn", "before_turn"]
        (newest,) = turns[1].trace.considered
        assert (newest.recollection.content, newest.outcome) == (
            "Nina aime le thé vert",
            "injected",
        )
        assert newest.recollection.why
        assert turns[1].trace.considered[0] is newest
        assert calls[3:] == ["considered"]
        # The owner has dropped those of the turn before: they are in the retrieval log.
        hippo.flush()
        (oldest,) = turns[0].trace.considered
        assert (oldest.recollection.id, oldest.outcome) == (newest.recollection.id, "injected")
        assert calls[4:] == ["considered", "replay"]
        skipped = remote.before_turn("  ", scope=ME)
        assert (len(skipped.trace.considered), skipped.trace.skipped is None) == (0, False)
        assert calls[6:] == ["before_turn"]


@pytest.mark.parametrize("owner_erases", [True, False])
def test_the_candidates_of_what_was_erased_are_not_retained(
    hippo: Hippocampe, owner_erases: bool
) -> None:
    hippo.update_settings(scope=ME, hook_timeout_ms=10_000)
    kept = Scope(space="other", user="dev")
    folder = hippo.config.folder
    with RemoteHippocampe(lambda: LocalConnection(folder), hippo.config) as remote:
        tea = hippo.remember("Nina aime le thé vert", scope=ME).memory
        hippo.remember("Nina aime le thé noir", scope=kept)
        turns = [remote.before_turn("que boit Nina ?", scope=scope) for scope in (ME, kept)]
        (hippo if owner_erases else remote).erase(id=tea.id, scope=ME)
        assert hippo.host is not None
        retained = hippo.host._retained  # pyright: ignore[reportPrivateUsage]
        assert {space for space, _ in retained.values()} == {"other"}
        hippo.flush()
        assert "thé vert" not in str(list(turns[0].trace.considered))
        assert "thé noir" in str(list(turns[1].trace.considered))


@pytest.mark.parametrize(
    ("control", "arguments"),
    [
        ("considered", []),
        ("considered", ["a", "b"]),
        ("considered", [3]),
        ("greet", ["x"]),
        ("leave", [None]),
    ],
)
def test_a_request_with_wrong_arguments_is_refused(
    hippo: Hippocampe, control: str, arguments: list[Any]
) -> None:
    with closing(LocalConnection(hippo.config.folder)) as connection:
        with pytest.raises(InvalidInput, match=f"{control}.* takes"):
            connection.call(control, arguments)
        assert connection.call("greet", [])["pid"] == os.getpid()
