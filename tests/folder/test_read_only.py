"""A folder that is read beside the process that owns it, or alone: nothing is written, nothing is stale."""

import asyncio
import hashlib
import json
import os
import random
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from children import child
from conftest import FakeClock, Opener
from hippocampe import Config, Hippocampe, Scope
from hippocampe.aio import AsyncHippocampe
from hippocampe.cli import call
from hippocampe.cli.app import app
from hippocampe.client import joining
from hippocampe.config import DATABASE
from hippocampe.errors import (
    EmbedderMismatch,
    FolderInUse,
    InvalidInput,
    StoreCorrupt,
    StoreError,
    StoreMissing,
    StoreReadOnly,
    StoreTooNew,
)
from hippocampe.index import stored
from hippocampe.store.store import Store

HASHED = "hashed:48"
EVERYTHING = ("memory", "self", "goal", "summary", "turn", "live")
COMPARED = ("memory", "self", "goal", "summary", "turn")
"""The stored words of a live message hold its date too, the owner's index of words does not."""
WORDS = (
    *("le tuba", "la grange", "un cerisier", "the ferry", "noon", "chevaux", "manger", "vacances"),
    *("Mickael", "Camille", "running", "l'île", "dort", "jardin", "pommes", "Zoé", "voisine"),
)

pytestmark = pytest.mark.usefixtures("hashed")


@pytest.fixture
def owner(open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder=HASHED, share=False)


@pytest.fixture
def reader(folder: Path, clock: FakeClock) -> Iterator[Callable[..., Hippocampe]]:
    """Open the test's folder read-only."""
    opened: list[Hippocampe] = []

    def opener(**settings: Any) -> Hippocampe:
        config = Config(folder, **{"background": False, **settings})
        opened.append(Hippocampe.open(config, clock=clock, read_only=True))
        return opened[-1]

    yield opener
    for hippo in opened:
        hippo.close()


def listing(folder: Path) -> dict[str, str]:
    """Every file of a folder, with a digest of what it holds."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def fill(hippo: Hippocampe, scope: Scope, chance: random.Random, many: int = 60) -> None:
    """Memories, turns and live messages of random words."""
    for number in range(many):
        said = " ".join(chance.choices(WORDS, k=chance.randrange(2, 9)))
        if number % 5 == 4:
            hippo.after_turn(f"{said} ?", f"oui, {number}", scope=scope)
        elif number % 7 == 6:
            hippo.observe(said, scope=scope)
        else:
            hippo.remember(
                f"{said}, numéro {number}",
                scope=scope,
                type=chance.choice(("fact", "event", "todo")),
                collection="goal" if number % 11 == 0 else "memory",
                category="connection" if number % 11 == 0 else None,
                subjects=chance.sample(("ski", "été", "chat"), k=chance.randrange(3)),
                ttl="1h" if number % 13 == 0 else None,
            )


def used(hippo: Hippocampe, scope: Scope) -> None:
    """Call every verb that reads."""
    hippo.recall("le tuba", scope=scope, collections=EVERYTHING)
    memory = hippo.recent(scope=scope)[0]
    hippo.get(memory.id, scope=scope)
    hippo.history(memory.id, scope=scope)
    hippo.neighbours(memory.id, scope=scope)
    hippo.facts(scope=scope)
    hippo.reviews(scope=scope)
    hippo.messages(scope=scope)
    hippo.search_text("oui", scope=scope)
    hippo.settings(scope=scope)
    hippo.before_turn("le tuba de Zoé ?", scope=scope)
    hippo.retrievals(scope=scope)
    hippo.preview("le tuba de Zoé ?", scope=scope)
    hippo.preview("le tuba de Zoé ?", scope=scope, at=hippo.now())
    hippo.activity(scope=scope)
    hippo.costs(scope=scope)
    hippo.graph(scope=scope)
    hippo.messages(scope=scope, live=True)
    hippo.stats(scope=scope)
    hippo.forget("le tuba", scope=scope, dry_run=True)
    hippo.erase(scope=scope, whole_space=True, dry_run=True)
    hippo.flush()
    assert hippo.verify().ok


# What is found


@pytest.mark.parametrize("seed", range(3))
def test_owner_and_reader_find_the_same(
    owner: Hippocampe, reader: Callable[..., Hippocampe], scope: Scope, seed: int
) -> None:
    chance = random.Random(seed)
    fill(owner, scope, chance)
    # Its frequencies of words count a replaced statement until then.
    owner.reindex()
    beside = reader()
    for mode in ("hybrid", "semantic", "text"):
        for narrowed in (
            {},
            {"types": ["todo", "event"]},
            {"subjects": ["ski", "Été"]},
            {"category": "connection"},
            {"until": "2026-01-17T10:23:00.050+00:00"},
            {"since": "2026-01-17T10:23:00.050+00:00"},
        ):
            query = " ".join(chance.choices(WORDS, k=3))
            options: Any = {"scope": scope, "collections": COMPARED, "mode": mode, **narrowed}
            expected = [(each.id, each.score) for each in owner.recall(query, **options)]
            found = [(each.id, each.score) for each in beside.recall(query, **options)]
            assert [id for id, _ in found] == [id for id, _ in expected], (mode, narrowed, query)
            assert [s for _, s in found] == pytest.approx([s for _, s in expected], abs=1e-3)


def test_spaces_and_channels_are_apart(
    owner: Hippocampe, reader: Callable[..., Hippocampe], scope: Scope
) -> None:
    owner.remember("Zoé joue du tuba", scope=scope)
    owner.after_turn("Zoé joue du tuba ?", "oui", scope=Scope(space="away", channel="lobby"))
    beside = reader()
    here = beside.recall("tuba", scope=scope, collections=EVERYTHING)
    assert [each.kind for each in here] == ["memory"]
    assert beside.recall("tuba", scope=Scope(space="nowhere"), collections=EVERYTHING) == []


def test_every_write_is_seen_at_the_next_call(
    owner: Hippocampe, reader: Callable[..., Hippocampe], scope: Scope
) -> None:
    fill(owner, scope, random.Random(1))
    beside = reader()

    def both(query: str) -> list[str]:
        options: Any = {"scope": scope, "collections": EVERYTHING, "limit": 20}
        expected = [each.id for each in owner.recall(query, **options)]
        assert [each.id for each in beside.recall(query, **options)] == expected
        return expected

    both("le perroquet")
    first = owner.remember("Le perroquet chante", scope=scope).memory.id
    assert first in both("le perroquet")
    owner.flush()
    second = owner.remember("Un perroquet bleu", scope=scope).memory.id
    assert {first, second} <= set(both("le perroquet"))
    owner.edit(first, scope=scope, content="La corneille chante")
    both("le perroquet")
    assert first in both("la corneille")
    owner.delete(first, scope=scope, reason="test")
    owner.flush()
    assert first not in both("la corneille")
    owner.erase(scope=scope, id=second)
    third = owner.remember("Une autruche court", scope=scope).memory.id
    assert second not in both("le perroquet")
    assert third in both("autruche")
    owner.after_turn("et le pélican ?", "il nage", scope=scope)
    assert both("pélican")
    owner.update_settings(scope=scope, recent_hours=12)
    assert beside.settings(scope=scope).recent_hours == 12
    assert "autruche" in beside.before_turn("que fait l'autruche ?", scope=scope).text


def test_a_reader_alone_sees_what_an_owner_has_written_meanwhile(
    open_hippo: Opener, reader: Callable[..., Hippocampe], scope: Scope
) -> None:
    first = open_hippo(embedder=HASHED)
    first.remember("Zoé joue du tuba", scope=scope)
    first.close()
    alone = reader()
    assert len(alone.recall("tuba", scope=scope)) == 1
    second = open_hippo(embedder=HASHED)
    second.remember("Ana joue du tuba", scope=scope)
    assert len(alone.recall("tuba", scope=scope)) == 2
    second.close()
    assert len(alone.recall("tuba", scope=scope)) == 2


def test_a_large_space_is_told_once(
    owner: Hippocampe,
    reader: Callable[..., Hippocampe],
    scope: Scope,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(stored, "LARGE_SPACE", 2)
    for name in ("Zoé", "Ana", "Luc"):
        owner.remember(f"{name} joue du tuba", scope=scope)
    beside = reader()
    beside.recall("tuba", scope=scope)
    owner.remember("Max joue du tuba", scope=scope)
    beside.recall("tuba", scope=scope)
    assert [record.getMessage()[:22] for record in caplog.records] == ["3 items of kind memory"]


def test_vectors_of_many_spaces_are_not_all_kept(
    owner: Hippocampe,
    reader: Callable[..., Hippocampe],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stored, "CACHE_BYTES", 1)
    spaces = [Scope(space=name) for name in ("a", "b", "c")]
    for each in spaces:
        owner.remember("Zoé joue du tuba", scope=each)
    beside = reader()
    for each in spaces * 2:
        assert len(beside.recall("tuba", scope=each)) == 1
    held = beside._context.corpus.index._shelves  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]
    assert list(held) == [("memory", "c")]


# What is left alone


def test_a_reader_alone_changes_nothing(
    owner: Hippocampe, folder: Path, reader: Callable[..., Hippocampe], scope: Scope
) -> None:
    fill(owner, scope, random.Random(1))
    owner.close()
    before = listing(folder)
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    alone = reader()
    used(alone, scope)
    assert listing(folder) == before
    alone.close()
    assert listing(folder) == before
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == times
    with closing(Hippocampe.open(Config(folder), read_only=True)) as background:
        used(background, scope)
    assert listing(folder) == before


def test_recalls_and_turns_of_a_reader_are_not_counted(
    owner: Hippocampe, reader: Callable[..., Hippocampe], scope: Scope
) -> None:
    id = owner.remember("Zoé joue du tuba", scope=scope).memory.id
    beside = reader()
    beside.recall("tuba", scope=scope)
    assert beside.before_turn("qui joue du tuba ?", scope=scope).items
    beside.close()
    assert owner.get(id, scope=scope).access_count == 0
    assert owner.retrievals(scope=scope) == []


def test_what_writes_is_refused(
    owner: Hippocampe, folder: Path, reader: Callable[..., Hippocampe], scope: Scope, tmp_path: Path
) -> None:
    id = owner.remember("Zoé joue du tuba", scope=scope).memory.id
    copy = tmp_path / "copy.jsonl"
    owner.export_to(copy, scope=scope)
    owner.close()
    before = listing(folder)
    alone = reader()
    writing: list[Callable[[], object]] = [
        lambda: alone.remember("Ana joue du tuba", scope=scope),
        lambda: alone.edit(id, scope=scope, content="Ana"),
        lambda: alone.delete(id, scope=scope, reason="test"),
        lambda: alone.restore(id, scope=scope),
        lambda: alone.associate(id, id, "updates", scope=scope),
        lambda: alone.settle(id, id, scope=scope),
        lambda: alone.set_fact("name", "Zoé", scope=scope),
        lambda: alone.delete_fact("name", scope=scope),
        lambda: alone.observe("bonjour", scope=scope),
        lambda: alone.after_turn("bonjour", "salut", scope=scope),
        lambda: alone.forget("tuba", scope=scope),
        lambda: alone.erase(scope=scope, whole_space=True),
        lambda: alone.expire(scope=scope),
        lambda: alone.update_settings(scope=scope, recent_hours=1),
        lambda: alone.reindex(),
        lambda: alone.reindex(embedder="hashed:32"),
        lambda: alone.import_from(copy, scope=scope),
    ]
    for write in writing:
        with pytest.raises(StoreReadOnly, match="opened read-only"):
            write()
    assert listing(folder) == before


def test_copies_are_made_beside_the_owner(
    owner: Hippocampe, reader: Callable[..., Hippocampe], scope: Scope, tmp_path: Path
) -> None:
    fill(owner, scope, random.Random(1))
    beside = reader()
    copy = beside.backup(tmp_path / "copy.db")
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM turn").fetchone() == (12,)
    assert beside.export_to(tmp_path / "b.jsonl", scope=scope) == owner.export_to(
        tmp_path / "a.jsonl", scope=scope
    )


# Folders that cannot be read


def test_no_data_is_said_and_nothing_is_created(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(StoreMissing, match="no Hippocampe data in"):
            Hippocampe.open(folder, read_only=True)
        assert not list(folder.parent.rglob("*.db*"))
        folder.mkdir(exist_ok=True)
    (folder / "hippocampe.db").touch()
    with pytest.raises(StoreMissing):
        Hippocampe.open(folder, read_only=True)
    assert [path.name for path in folder.iterdir()] == ["hippocampe.db"]


@pytest.mark.parametrize(
    ("revision", "error", "says"),
    [("9999", StoreTooNew, "later version"), ("0000", StoreReadOnly, "earlier version.*once")],
)
def test_another_schema(
    owner: Hippocampe, folder: Path, revision: str, error: type[StoreError], says: str
) -> None:
    owner.close()
    with closing(sqlite3.connect(folder / "hippocampe.db")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
        connection.commit()
    before = listing(folder)
    with pytest.raises(error, match=says):
        Hippocampe.open(folder, read_only=True)
    assert listing(folder) == before


def test_another_embedder(owner: Hippocampe, reader: Callable[..., Hippocampe]) -> None:
    with pytest.raises(EmbedderMismatch, match="hashed-48"):
        reader(embedder="hashed:32")


def test_the_owner_changes_the_embedder(
    owner: Hippocampe, reader: Callable[..., Hippocampe], scope: Scope
) -> None:
    owner.remember("Zoé joue du tuba", scope=scope)
    beside = reader()
    beside.recall("tuba", scope=scope)
    owner.reindex(embedder="hashed:32")
    with pytest.raises(EmbedderMismatch, match="open the folder again"):
        beside.recall("tuba", scope=scope)
    assert beside.before_turn("qui joue du tuba ?", scope=scope).trace.missing == ("search down",)
    assert len(reader().recall("tuba", scope=scope)) == 1


def test_words_of_another_version(owner: Hippocampe, folder: Path, scope: Scope) -> None:
    owner.remember("Zoé joue du tuba", scope=scope)
    owner.close()
    with closing(sqlite3.connect(folder / "hippocampe.db")) as connection:
        connection.execute("UPDATE meta SET value = 'other' WHERE name LIKE 'word_space %'")
        connection.commit()
    with pytest.raises(StoreReadOnly, match="once without read_only"):
        Hippocampe.open(folder, read_only=True)


def test_a_damaged_file(owner: Hippocampe, folder: Path) -> None:
    owner.close()
    (folder / "hippocampe.db").write_bytes(b"nothing of the kind" * 500)
    with pytest.raises(StoreCorrupt):
        Hippocampe.open(folder, read_only=True)


def test_an_empty_store(owner: Hippocampe, reader: Callable[..., Hippocampe], scope: Scope) -> None:
    beside = reader()
    assert beside.recall("tuba", scope=scope, collections=EVERYTHING) == []
    assert beside.before_turn("bonjour", scope=scope).text == ""
    assert beside.verify().ok


def test_strange_paths(tmp_path: Path, scope: Scope) -> None:
    folder = tmp_path / "a b #c é"
    with closing(Hippocampe.open(Config(folder, embedder=HASHED, background=False))) as hippo:
        hippo.remember("Zoé joue du tuba", scope=scope)
        with closing(Hippocampe.open(folder, read_only=True)) as beside:
            assert beside.read_only
            assert len(beside.recall("tuba", scope=scope)) == 1
    with closing(Hippocampe.open(folder, read_only=True)) as alone:
        assert len(alone.recall("tuba", scope=scope)) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(
    owner: Hippocampe, folder: Path, reader: Callable[..., Hippocampe], scope: Scope
) -> None:
    fill(owner, scope, random.Random(1))
    owner.close()
    folder.chmod(0o555)
    try:
        used(reader(), scope)
    finally:
        folder.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of Unix")
def test_a_database_of_another_user_is_named_as_such(owner: Hippocampe, folder: Path) -> None:
    owner.remember("Zoé joue du tuba", scope=Scope())
    owner.close()
    # Other users cannot enter the folder of the test run.
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o777)
        database = Path(shared) / DATABASE
        shutil.copy(folder / DATABASE, database)
        database.chmod(0)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65_534)
            with pytest.raises(StoreError, match=f"cannot read {database}: Permission denied"):
                Store.open(database, database.parent, read_only=True)
        finally:
            os.seteuid(user)


@pytest.mark.parametrize("where", [None, 123, b"data", "", "a\0b", object()])
def test_what_is_no_folder(where: Any) -> None:
    with pytest.raises(InvalidInput, match="give the path of a data folder"):
        Hippocampe.open(where)


def test_the_awaited_door(owner: Hippocampe, folder: Path, scope: Scope) -> None:
    owner.remember("Zoé joue du tuba", scope=scope)

    async def read() -> int:
        async with await AsyncHippocampe.open(folder, read_only=True) as beside:
            with pytest.raises(StoreReadOnly):
                await beside.remember("Ana", scope=scope)
            return len(await beside.recall("tuba", scope=scope))

    assert asyncio.run(read()) == 1


# Two processes

WRITER = """
hippo = Hippocampe.open(Config(folder=folder, embedder="hashed:48", flush_seconds=0.05))
print("open", flush=True)
number = 0
while True:
    print(hippo.remember(f"le colis{number} attend", scope=scope).memory.id, flush=True)
    number += 1
"""
ASKED = """
hippo = Hippocampe.open(Config(folder=folder, embedder="hashed:48"))
print("open", flush=True)
for line in sys.stdin:
    print(hippo.remember(line.strip(), scope=scope).memory.id, flush=True)
"""
READER = """
hippo = Hippocampe.open(Config(folder, background=False), read_only=True)
while True:
    print(len(hippo.recall("tuba", scope=scope)), flush=True)
    hippo.backup(folder.parent / "copy.db")
"""


def test_a_reader_sees_every_acknowledged_write(
    folder: Path, scope: Scope, reader: Callable[..., Hippocampe]
) -> None:
    with child(WRITER, folder) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
        writer.stdout.readline()
        beside = reader()
        for number in range(1, 30):
            id = writer.stdout.readline().strip()
            found = beside.recall(f"colis{number}", scope=scope, mode="text", limit=1)
            assert [each.id for each in found] == [id]
            assert beside.get(id, scope=scope).content == f"le colis{number} attend"
        writer.kill()
        writer.wait()
        # What was acknowledged is in the log that the owner left behind.
        assert beside.recall("colis29", scope=scope, mode="text", limit=1)[0].id == id
    checked = beside.verify()
    assert checked.ok, checked
    beside.close()
    with closing(Hippocampe.open(Config(folder, background=False))) as hippo:
        assert hippo.get(id, scope=scope)
        assert hippo.verify().ok


def test_killed_readers_disturb_no_owner(
    folder: Path, scope: Scope, open_hippo: Opener, tmp_path: Path
) -> None:
    ids: list[str] = []
    with child(ASKED, folder) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        writer.stdout.readline()
        for number in range(4):
            print(f"le tuba{number} de Zoé", file=writer.stdin, flush=True)
            ids.append(writer.stdout.readline().strip())
            with child(READER, folder) as other:
                assert other.stdout is not None
                other.stdout.readline()
                print(f"la grange{number}", file=writer.stdin, flush=True)
                ids.append(writer.stdout.readline().strip())
                other.kill()
            # One that ends as it should must not take the log of changes along either.
            with closing(Hippocampe.open(Config(folder, background=False), read_only=True)) as own:
                own.recall("tuba", scope=scope)
            assert (folder / "hippocampe.db-wal").exists()
        writer.kill()
    hippo = open_hippo(embedder=HASHED)
    assert [hippo.get(id, scope=scope).id for id in ids] == ids
    assert hippo.verify().ok


def test_the_owner_closes_and_opens_under_a_reader(
    folder: Path, scope: Scope, open_hippo: Opener, reader: Callable[..., Hippocampe]
) -> None:
    open_hippo(embedder=HASHED).close()
    beside = reader()
    stop = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        seen = 0
        while not stop.is_set():
            try:
                found = len(beside.recall("tuba", scope=scope, limit=100))
            except StoreError as exc:
                if "try again" not in str(exc):
                    wrong.append(exc)
                continue
            if found < seen:
                wrong.append((found, seen))
            seen = found

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(8):
        hippo = open_hippo(embedder=HASHED)
        hippo.remember(f"le tuba{number} de Zoé sonne", scope=scope)
        hippo.remember(f"un autre tuba, {number}", scope=scope)
        hippo.close()
    stop.set()
    thread.join()
    assert wrong == []
    assert hippo_count(folder, scope) == len(beside.recall("tuba", scope=scope, limit=100))


def hippo_count(folder: Path, scope: Scope) -> int:
    with closing(Hippocampe.open(Config(folder, background=False))) as hippo:
        return len(hippo.recall("tuba", scope=scope, limit=100))


# The command line


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run a command, which does not wait long for an owner that does not share its folder."""
    monkeypatch.setattr(joining, "HELD_SECONDS", 0.05)
    runner = CliRunner(env={"HIPPOCAMPE_FOLDER": str(folder), "COLUMNS": "200"})

    def invoke(*typed: str) -> tuple[int, str, str]:
        given = runner.invoke(app, typed)
        if given.exception is not None and not isinstance(given.exception, SystemExit):
            raise given.exception
        return given.exit_code, given.stdout, given.stderr

    return invoke


def reading_commands(id: str, tmp_path: Path) -> list[list[str]]:
    return [
        *(["recall", "tuba"], ["recent"], ["get", id], ["history", id], ["neighbours", id]),
        *(["facts"], ["reviews"], ["messages"], ["search-text", "oui"], ["export", "-"]),
        *(["before-turn", "qui joue du tuba ?"], ["settings"], ["retrievals"], ["stats"]),
        *(["verify"], ["backup", str(tmp_path / "copy.db")], ["doctor"]),
        *(["forget", "tuba", "--dry-run"], ["erase", "--whole-space", "--dry-run"]),
        ["export", str(tmp_path / "copy.jsonl")],
    ]


def test_commands_that_read_work_beside_the_owner(
    run: Callable[..., tuple[int, str, str]], owner: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    id = owner.set_fact("plays", "Zoé joue du tuba", scope=scope).memory.id
    owner.after_turn("tu joues ?", "oui", scope=scope)
    for command in reading_commands(id, tmp_path):
        code, _, said = run(*command)
        assert code == 0, (command, said)
    assert "Zoé joue du tuba" in run("recall", "tuba")[1]
    assert "Zoé joue du tuba" in run("before-turn", "qui joue du tuba ?")[1]
    shown = json.loads(run("doctor", "--json")[1])
    data = next(check["seen"] for check in shown if check["name"] == "data")
    assert f"process {os.getpid()} holds it since 20" in data


def test_commands_that_write_say_who_holds_the_folder(
    run: Callable[..., tuple[int, str, str]],
    owner: Hippocampe,
    scope: Scope,
) -> None:
    for command in (["remember", "Ana"], ["forget", "tuba", "--yes"], ["reindex"], ["expire"]):
        code, _, said = run(*command)
        assert code == call.IN_USE
        assert f"process {os.getpid()} since 20" in said
    assert owner.recent(scope=scope) == []


def test_a_mistyped_folder_is_not_created(
    run: Callable[..., tuple[int, str, str]], folder: Path, tmp_path: Path
) -> None:
    for command in reading_commands("1", tmp_path):
        code, _, said = run(*command)
        if command != ["doctor"]:
            assert code == 1, command
            assert "no Hippocampe data in" in said
        assert not folder.exists(), command
    assert run("recall", "tuba", "--json")[1].find('"kind": "StoreMissing"') > 0


def test_a_folder_that_the_system_refuses_is_named(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    # Root may enter any folder, but a name of that length is refused to everybody.
    folder = tmp_path / ("dossier" * 50)
    where = ("--folder", str(folder))
    typed = (
        *(["remember", "Ana"], ["serve", "--port", "0"], ["worker"], ["mcp"], ["keys", "list"]),
        *(["verify"], ["reindex"], ["backup"], ["migrate", "--to", str(tmp_path / "new")]),
        ["recall", "tuba"],
    )
    for command in typed:
        code, _, said = run(*command, *where)
        assert code == 1, command
        assert f"cannot use the data folder {folder}: File name too long." in said, command
    checks = json.loads(run("doctor", "--json", *where)[1])
    assert "File name too long" in next(each["seen"] for each in checks if each["name"] == "data")
    with pytest.raises(StoreError, match="File name too long"):
        Hippocampe.open(folder)


def test_a_dry_run_that_needs_no_answer_forgets_nothing(
    run: Callable[..., tuple[int, str, str]], owner: Hippocampe, scope: Scope
) -> None:
    owner.remember("Zoé joue du tuba", scope=scope)
    owner.close()
    assert run("forget", "Zoé joue du tuba", "--yes", "--dry-run")[0] == 0
    assert "Zoé joue du tuba" in run("recall", "tuba", "--user", "dev")[1]


def test_an_owner_is_refused_while_another_owns(owner: Hippocampe, folder: Path) -> None:
    with closing(Hippocampe.open(folder, read_only=True)), pytest.raises(FolderInUse):
        Hippocampe.open(folder, join=False)
