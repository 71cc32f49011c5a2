"""The database: its tables, its upgrades, and what it does when disk or file fail."""

import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, delete, event, select

from conftest import Opener
from hippocampe import Config, Hippocampe, Scope
from hippocampe.errors import (
    InvalidInput,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
)
from hippocampe.store import meta, schema
from hippocampe.store import sqlite as sqlite_corner
from hippocampe.store.postgres import PostgresStore
from hippocampe.store.store import Store

pytestmark = pytest.mark.usefixtures("hashed")


@pytest.fixture
def small(open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:32")


def test_a_new_database_has_the_tables_of_the_schema_at_the_latest_revision(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "new.db", tmp_path)
    assert store.revision() == schema.REVISION
    with store.read() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "include_object": lambda thing, name, *_: (
                    not str(name).startswith(("message_fts", "vector_word_lists"))
                ),
            },
        )
        assert compare_metadata(context, schema.metadata) == []
    store.close()


def test_tables_of_another_program_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE memory (id TEXT)")
    with pytest.raises(StoreError, match="already exists"):
        Store.open(path, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("memory",)]


def revise(folder: Path, revision: str) -> None:
    with closing(sqlite3.connect(folder / "hippocampe.db")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
        connection.commit()


def filled(open_hippo: Opener, scope: Scope) -> None:
    hippo = open_hippo(embedder="hashed:32")
    hippo.remember("Camille élève des abeilles", scope=scope)
    hippo.close()


def test_an_upgrade_keeps_a_copy_first(
    open_hippo: Opener, scope: Scope, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(open_hippo, scope)
    assert not (folder / "backups").exists()
    later = f"{int(schema.REVISION) + 1:04}"
    monkeypatch.setattr(schema, "REVISION", later)
    hippo = open_hippo(embedder="hashed:32")
    assert hippo.recent(scope=scope)[0].content == "Camille élève des abeilles"
    (copy,) = (folder / "backups").glob(f"before-{later}-*.db")
    with closing(sqlite3.connect(copy)) as connection:
        kept = connection.execute("SELECT content FROM memory").fetchall()
    assert kept == [("Camille élève des abeilles",)]


def test_tables_that_no_migration_knows_are_left_alone(
    open_hippo: Opener, scope: Scope, folder: Path
) -> None:
    filled(open_hippo, scope)
    revise(folder, "0001")
    with pytest.raises(StoreError, match="cannot upgrade the tables: .*0001"):
        open_hippo(embedder="hashed:32")
    revise(folder, schema.REVISION)
    assert open_hippo(embedder="hashed:32").verify().ok


@pytest.mark.parametrize("name", ["what?", "c#", "100%", "a%20b", "file:x?mode=ro"])
def test_a_path_may_hold_what_a_url_gives_a_meaning(
    open_hippo: Opener, scope: Scope, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name / "data"
    hippo = open_hippo(folder, embedder="hashed:32")
    hippo.remember("Camille élève des abeilles", scope=scope)
    owen = hippo.remember("Owen a un voilier", scope=scope).memory
    copy = hippo.backup()
    assert (folder / "hippocampe.db").is_file()
    beside = Store(Config(folder).database, folder, read_only=True)
    with beside.read() as connection:
        assert len(connection.execute(select(schema.memory.c.id)).all()) == 2
    beside.close()
    hippo.erase(scope=scope, id=owen.id)
    assert copy.is_file()
    assert hippo.verify(absent=["voilier"]).ok
    hippo.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    again = open_hippo(folder, embedder="hashed:32")
    assert [memory.content for memory in again.recent(scope=scope)] == [
        "Camille élève des abeilles"
    ]


def test_servers_are_named_together(tmp_path: Path) -> None:
    database, index = (
        "postgresql://localhost/memory",
        "http://127.0.0.1:6333, http://127.0.0.1:6335",
    )
    assert len(Config(tmp_path, database_url=database, qdrant_url=index).qdrant_urls) == 2
    for wrong, reason in (
        ({"database_url": database}, "needs qdrant_url"),
        ({"qdrant_url": index}, "needs database_url"),
        ({"database_url": "mysql://localhost/memory", "qdrant_url": index}, "postgresql://"),
        ({"database_url": database, "qdrant_url": "localhost:6333"}, "http://"),
        ({"database_url": database, "qdrant_url": "http://localhost/qdrant"}, "no path"),
        ({"database_url": database, "qdrant_url": index, "qdrant_replicas": 0}, "1 or more"),
    ):
        with pytest.raises(InvalidInput, match=reason):
            Config(tmp_path, **wrong)  # pyright: ignore[reportArgumentType]


def test_data_of_a_later_version_is_left_alone(
    open_hippo: Opener, scope: Scope, folder: Path
) -> None:
    filled(open_hippo, scope)
    revise(folder, "9999")
    before = (folder / "hippocampe.db").read_bytes()
    with pytest.raises(StoreTooNew, match="schema 9999"):
        open_hippo()
    assert (folder / "hippocampe.db").read_bytes() == before
    revise(folder, schema.REVISION)
    assert open_hippo(embedder="hashed:32").verify().ok


@pytest.mark.parametrize("damage", ["noise", "header", "cut"])
def test_a_damaged_database_is_refused_and_left_alone(
    open_hippo: Opener, scope: Scope, folder: Path, damage: str
) -> None:
    filled(open_hippo, scope)
    path = folder / "hippocampe.db"
    intact = path.read_bytes()
    broken = {
        "noise": os.urandom(5_000),
        "header": b"x" * 16 + intact[16:],
        "cut": intact[: len(intact) // 2 + 100],
    }[damage]
    path.write_bytes(broken)
    with pytest.raises(StoreCorrupt, match="(?i)nothing was (changed|overwritten)"):
        open_hippo(embedder="hashed:32")
    assert path.read_bytes() == broken
    path.write_bytes(intact)
    assert open_hippo(embedder="hashed:32").verify().ok


def test_damage_inside_is_reported_by_verify(
    open_hippo: Opener, scope: Scope, folder: Path
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    for number in range(200):
        hippo.after_turn(f"colis {number} " + "x" * 2_000, None, scope=scope)
    hippo.close()
    path = folder / "hippocampe.db"
    data = bytearray(path.read_bytes())
    # The last pages hold messages, nothing that opening needs.
    data[-40_000:-8_000] = b"\xff" * 32_000
    path.write_bytes(data)
    try:
        again = open_hippo(embedder="hashed:32")
        assert not again.verify().ok
    except StoreCorrupt:
        pass


def test_a_file_in_place_of_the_folder(tmp_path: Path, open_hippo: Opener) -> None:
    (tmp_path / "file").write_text("autre chose")
    with pytest.raises(StoreReadOnly, match="it is a file"):
        open_hippo(tmp_path / "file")
    with pytest.raises(StoreReadOnly, match="cannot use the data folder"):
        open_hippo(tmp_path / "file" / "data")
    assert (tmp_path / "file").read_text() == "autre chose"
    (tmp_path / "link").symlink_to(tmp_path / "missing")
    with pytest.raises(StoreReadOnly, match=r"is a link to .*missing, which does not exist"):
        open_hippo(tmp_path / "link")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(folder: Path, open_hippo: Opener) -> None:
    folder.mkdir(mode=0o500)
    with pytest.raises(StoreReadOnly, match="permissions"):
        open_hippo()


def test_a_database_that_cannot_be_written(small: Hippocampe, scope: Scope) -> None:
    small.remember("Camille élève des abeilles", scope=scope)
    engine = small._context.corpus.store.engine
    engine.dispose()
    event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA query_only = ON"))
    with pytest.raises(StoreReadOnly, match="permissions"):
        small.remember("Owen a un voilier", scope=scope)
    assert small.recall("Camille", scope=scope)[0].content == "Camille élève des abeilles"
    assert small.verify().ok


def test_a_full_disk_takes_nothing_in_part(
    small: Hippocampe, scope: Scope, open_hippo: Opener
) -> None:
    small.remember("Camille élève des abeilles", scope=scope)
    before = small.stats(scope=scope)
    engine = small._context.corpus.store.engine
    engine.dispose()

    def fill(raw: sqlite3.Connection, _: object) -> None:
        pages = raw.execute("PRAGMA page_count").fetchone()[0]
        raw.execute(f"PRAGMA max_page_count = {pages + 1}")

    event.listen(engine, "connect", fill)
    long = "colis " * 10_000
    writes = (
        lambda: small.remember(long, scope=scope),
        lambda: small.after_turn(long, long, scope=scope),
        lambda: small.observe(long, scope=scope),
    )
    for write in writes:
        with pytest.raises(StoreFull, match="Free some space"):
            write()
    assert small.stats(scope=scope) == before
    assert small.recall("abeilles", scope=scope)[0].content == "Camille élève des abeilles"
    assert small.verify().ok
    engine.dispose()
    event.remove(engine, "connect", fill)
    assert small.remember(long, scope=scope).action == "inserted"
    assert small.verify().ok


def test_full_text_folds_accents(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "x.db", tmp_path)
    with store.write() as connection:
        connection.exec_driver_sql(
            "INSERT INTO message (id, space, channel, content, at, created_at, live, working) "
            "VALUES ('1', 's', '', 'Le GÂTEAU d’Élodie à Noël', 0, 0, 0, 0)"
        )
    with store.read() as connection:
        for word in ("gateau", "gâteau", "ELODIE", "noel", "a"):
            query = "SELECT rowid FROM message_fts WHERE message_fts MATCH ?"
            assert connection.exec_driver_sql(query, (word,)).all() == [(1,)], word
    store.close()


def test_a_backup_made_while_writing_opens(
    small: Hippocampe, scope: Scope, tmp_path: Path, open_hippo: Opener
) -> None:
    for number in range(10):
        small.remember(f"le colis{number} attend", scope=scope)
    target = tmp_path / "copies" / "hippocampe.db"
    assert small.backup(target) == target
    small.remember("le colis10 attend", scope=scope)
    again = open_hippo(target.parent, embedder="hashed:32")
    assert len(again.recent(100, scope=scope)) == 10
    assert again.verify().ok
    assert (
        again.recall("colis7", scope=scope, mode="text", limit=1)[0].content == "le colis7 attend"
    )


def test_a_backup_ends_while_each_of_its_steps_meets_a_write(
    small: Hippocampe,
    scope: Scope,
    tmp_path: Path,
    open_hippo: Opener,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small.remember("le colis0 attend", scope=scope)
    steps: list[int] = []

    def step(_status: int, remaining: int, _total: int) -> None:
        steps.append(remaining)
        assert remaining == 0 or len(steps) < 2 or remaining < steps[-2]
        small.remember(f"le colis{len(steps)} attend", scope=scope)

    monkeypatch.setattr(sqlite_corner, "PAGES_COPIED", 40)
    monkeypatch.setattr(sqlite_corner, "_interruptible", step)
    target = tmp_path / "copies" / "hippocampe.db"
    small.backup(target)
    assert len(steps) > 2
    again = open_hippo(target.parent, embedder="hashed:32")
    assert [each.content for each in again.recent(100, scope=scope)] == ["le colis0 attend"]
    assert again.verify().ok
    assert len(small.recent(100, scope=scope)) == len(steps) + 1


def test_a_backup_replaces_no_file_unless_told_to(
    small: Hippocampe, scope: Scope, tmp_path: Path, folder: Path, open_hippo: Opener
) -> None:
    small.remember("Camille élève des abeilles", scope=scope)
    target = tmp_path / "copies" / "hippocampe.db"
    small.backup(target)
    first = target.read_bytes()
    small.remember("Owen a un voilier", scope=scope)
    with pytest.raises(InvalidInput, match=r"the file exists.*overwrite=True \(--force"):
        small.backup(target)
    assert target.read_bytes() == first
    small.backup(target, overwrite=True)
    assert [path.name for path in target.parent.iterdir()] == ["hippocampe.db"]
    assert len(open_hippo(target.parent, embedder="hashed:32").recent(scope=scope)) == 2


@pytest.mark.parametrize(
    "name",
    ["hippocampe.db", "hippocampe.db-wal", "hippocampe.db-journal", "owner.lock", "index/x/y.db"],
)
def test_no_file_of_the_data_folder_is_ever_replaced(
    small: Hippocampe, scope: Scope, tmp_path: Path, folder: Path, name: str
) -> None:
    small.remember("Camille élève des abeilles", scope=scope)
    (tmp_path / "link").symlink_to(folder, target_is_directory=True)
    for target in (folder / name, tmp_path / "link" / name, folder / "backups" / ".." / name):
        with pytest.raises(InvalidInput, match="of the open data folder"):
            small.backup(target, overwrite=True)
        with pytest.raises(InvalidInput, match="of the open data folder"):
            small.export_to(target, scope=scope, overwrite=True)
    assert small.verify().ok
    assert small.recent(scope=scope)[0].content == "Camille élève des abeilles"


def test_a_failed_copy_leaves_the_old_file(
    small: Hippocampe, scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copies" / "copy.db"
    small.backup(target)
    before = target.read_bytes()

    def interrupt(_engine: object, partial: Path) -> None:
        partial.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(sqlite_corner, "backup", interrupt)
    with pytest.raises(KeyboardInterrupt) as stopped:
        small.backup(target, overwrite=True)
    assert "copy.db was not written" in stopped.value.__notes__[0]
    assert target.read_bytes() == before
    assert [path.name for path in target.parent.iterdir()] == ["copy.db"]


def test_what_a_killed_backup_leaves_is_removed(
    small: Hippocampe, scope: Scope, folder: Path, open_hippo: Opener
) -> None:
    camille = small.remember("Camille élève des abeilles", scope=scope).memory
    small.backup()
    (kept,) = (folder / "backups").iterdir()

    def leave() -> Path:
        left = folder / "backups" / "20260117T102300.partial"
        left.write_bytes(kept.read_bytes())
        left.with_name(left.name + "-journal").write_bytes(b"half")
        return left

    left = leave()
    small.erase(scope=scope, id=camille.id)
    assert not left.exists()
    assert small.verify(absent=["abeilles"]).ok
    left = leave()
    small.close()
    assert open_hippo(embedder="hashed:32").stats(scope=scope).pending == 0
    assert [path.name for path in (folder / "backups").iterdir()] == [kept.name]


def test_a_backup_that_cannot_be_written(small: Hippocampe, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("autre chose")
    with pytest.raises(StoreError):
        small.backup(tmp_path / "file" / "copy.db")
    with pytest.raises(StoreError):
        small.backup(Path("/proc/copy.db"))


def test_what_recall_reads_is_read_ahead_until_told_to_stop(
    small: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        small.remember(f"le colis{number} attend", scope=scope)
    seen: list[tuple[str, int | None]] = []

    def noted(connection: Connection, table: str, after: int) -> int | None:
        seen.append((table, after))
        return really(connection, table, after)

    really = sqlite_corner.read_rows
    monkeypatch.setattr(sqlite_corner, "read_rows", noted)
    monkeypatch.setattr(sqlite_corner, "ROWS_AHEAD", 4)
    store = small._context.corpus.store  # pyright: ignore[reportPrivateUsage]
    store.read_ahead(stop=lambda: False)
    assert [after for table, after in seen if table == "memory"] == [0, 4, 8]
    assert {table for table, _ in seen} == set(sqlite_corner.READ_AHEAD)
    seen.clear()
    store.read_ahead(stop=lambda: len(seen) == 2)
    assert seen == [("vector", 0), ("vector", 4)]
    seen.clear()
    monkeypatch.setattr("hippocampe.system.page_cache._memory", lambda: 1_000)
    store.read_ahead(stop=lambda: False)
    assert seen == [], "it is large beside the memory"


def test_whoever_only_reads_cannot_write(small: Hippocampe, scope: Scope, folder: Path) -> None:
    small.remember("le colis attend", scope=scope)
    beside = Store(Config(folder).database, folder, read_only=True)
    with beside.read() as connection:
        assert connection.execute(select(schema.memory.c.content)).scalar() == "le colis attend"
    with pytest.raises(StoreReadOnly), beside.write() as connection:
        connection.execute(delete(schema.memory))
    beside.close()


def test_a_connection_in_use_is_closed_when_it_comes_back(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "one.db", tmp_path)
    with store.read() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        store.close()
        assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        driver.execute("SELECT 1")
    with store.read() as connection:
        late = connection.connection.driver_connection
        assert isinstance(late, sqlite3.Connection)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        late.execute("SELECT 1")


def test_a_closed_memory_says_so(small: Hippocampe, scope: Scope) -> None:
    small.close()
    for verb in (
        lambda: small.remember("Owen a un voilier", scope=scope),
        lambda: small.recall("Owen", scope=scope),
        lambda: small.stats(scope=scope),
    ):
        with pytest.raises(StoreError, match="closed"):
            verb()


def test_a_folder_has_a_name() -> None:
    with pytest.raises(InvalidInput, match="folder"):
        Hippocampe.open("")


def test_a_folder_is_told_by_its_configuration(tmp_path: Path) -> None:
    assert Config.of(str(tmp_path)) == Config.of(tmp_path) == Config(folder=tmp_path)


def test_postgresql_has_no_space_with_the_name_that_opens_all_rows(tmp_path: Path) -> None:
    with closing(PostgresStore("postgresql://dev@localhost/dev", tmp_path)) as store:
        store.check_space("ferry")
        with pytest.raises(InvalidInput, match=r"must not be named \* on PostgreSQL"):
            store.check_space("*")


def test_closing_waits_for_the_write_under_way_and_refuses_the_next(
    tmp_path: Path,
) -> None:
    store = Store.open(tmp_path / "new.db", tmp_path)
    began, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with store.write() as connection:
            began.set()
            go_on.wait(10)
            meta.put(connection, "written", "yes")

    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(write)
        began.wait(10)
        closing = threads.submit(store.close)
        # A close that does not wait is over by now; one that does waits for `go_on`.
        assert not wait([closing], 0.2).done
        go_on.set()
        writing.result(10)
        closing.result(10)
    # A call that began before, in another thread, reaches its transaction only now.
    with pytest.raises(StoreError, match="was closed"), store.write():
        pass
    with pytest.raises(StoreError, match="was closed"):
        store.scrub()
    again = Store.open(tmp_path / "new.db", tmp_path)
    with again.read() as connection:
        assert meta.get(connection, "written") == "yes"
    again.close()
