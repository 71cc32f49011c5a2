"""Damage of stored vectors and of the index is found, survived and repaired from the texts."""

import logging
import os
import random
import signal
import sqlite3
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from children import child
from conftest import FakeClock, Opener
from hashed import install
from hippocampe import Config, Hippocampe, Scope, StoreError
from hippocampe.store import migrate
from hippocampe.store.store import Store
from sparse import copy_folder

pytestmark = pytest.mark.usefixtures("hashed")

NAMES = range(30)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def opener(open_hippo: Opener) -> Callable[..., Hippocampe]:
    def opened(**settings: Any) -> Hippocampe:
        return open_hippo(**{"embedder": "hashed:64", **settings})

    return opened


Fill = Callable[..., None]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A folder with memories, made once for each number of points from which a graph is built."""

    @cache
    def prepare(**settings: Any) -> Path:
        folder, scope = (
            tmp_path_factory.mktemp("prepared") / "data",
            Scope("default", "dev", "lobby"),
        )
        with pytest.MonkeyPatch.context() as patch:
            install(patch.setattr)
            config = Config(folder, embedder="hashed:64", background=False, **settings)
            with Hippocampe.open(config, clock=FakeClock()) as hippo:
                for name in NAMES:
                    hippo.remember(f"le colis{name} attend au port{name}.", scope=scope)
                hippo.after_turn("où est le colis3 ?", "au port", scope=scope)
                hippo.observe("le colis4 est là", scope=scope)
                hippo.reindex()
        return folder

    return prepare


@pytest.fixture
def filled(prepared: Callable[..., Path], folder: Path, clock: FakeClock) -> Fill:
    """Fill the folder of the test."""

    def fill(**settings: Any) -> None:
        copy_folder(prepared(**settings), folder)
        clock.advance(minutes=1)

    return fill


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / "hippocampe.db")) as connection, connection:
        yield connection


def everything(hippo: Hippocampe, scope: Scope) -> None:
    """Every memory is found by words and by meaning, with the score that its own text has."""
    for name in NAMES:
        text = f"le colis{name} attend au port{name}."
        for mode in ("text", "semantic", "hybrid"):
            found = hippo.recall(text, scope=scope, mode=mode, limit=1)
            assert [item.content for item in found] == [text], mode
    checked = hippo.verify()
    assert checked.ok, checked


DAMAGE = {
    "a bit of a vector": ("UPDATE vector SET dense = ? WHERE id = ?", "dense", 2, 0x40),
    "a bit of a word list": ("UPDATE vector SET words = ? WHERE id = ?", "words", 0, 0x01),
    "a bit of the traits": ("UPDATE vector SET traits = traits + 4 WHERE id = ?", None, 0, 0),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_verify_names_damaged_vectors_and_reindex_makes_them_again(
    folder: Path, opener: Callable[..., Hippocampe], filled: Fill, scope: Scope, how: str
) -> None:
    filled()
    statement, column, at, bits = DAMAGE[how]
    with database(folder) as connection:
        (id,) = connection.execute("SELECT id FROM memory ORDER BY id LIMIT 1 OFFSET 7").fetchone()
        before = connection.execute("SELECT * FROM vector WHERE id = ?", (id,)).fetchone()
        if column is None:
            connection.execute(statement, (id,))
        else:
            query = f"SELECT {column} FROM vector WHERE id = ?"
            changed = bytearray(connection.execute(query, (id,)).fetchone()[0])
            changed[at] ^= bits
            connection.execute(statement, (bytes(changed), id))
    hippo = opener()
    checked = hippo.verify()
    assert not checked.ok
    assert checked.damaged == {"memory": (id,)}
    assert checked.differing_in_index == {}
    done = hippo.reindex()
    assert (done.mended, done.damaged) == (1, 0)
    everything(hippo, scope)
    hippo.close()
    with database(folder) as connection:
        assert connection.execute("SELECT * FROM vector WHERE id = ?", (id,)).fetchone() == before


def test_damaged_vectors_of_words_are_made_again(
    folder: Path, opener: Callable[..., Hippocampe], filled: Fill, scope: Scope
) -> None:
    filled()
    with database(folder) as connection:
        id, before = connection.execute(
            "SELECT id, vector FROM word WHERE text = 'attend'"
        ).fetchone()
        connection.execute("UPDATE word SET vector = zeroblob(?) WHERE id = ?", (len(before), id))
    hippo = opener()
    assert hippo.verify().damaged == {"word": (str(id),)}
    assert hippo.reindex().mended == 1
    everything(hippo, scope)
    hippo.close()
    with database(folder) as connection:
        (after,) = connection.execute("SELECT vector FROM word WHERE id = ?", (id,)).fetchone()
    assert after == before


IMPOSSIBLE = {
    "no number": ("dense", struct.pack("<64H", *[0x7E00] * 64)),
    "infinity": ("dense", struct.pack("<64H", *[0x7C00] * 64)),
    "huge": ("dense", struct.pack("<64e", *[60_000.0] * 64)),
    "short": ("dense", b"\x00\x3c"),
    "words that are none": ("words", struct.pack("<3i", 2_000_000_000, -5, 3)),
    "half a word": ("words", b"\x01\x00\x00"),
}


@pytest.mark.parametrize("how", IMPOSSIBLE)
@pytest.mark.parametrize("read_only", [False, True])
def test_recall_survives_damaged_vectors(
    folder: Path,
    opener: Callable[..., Hippocampe],
    filled: Fill,
    scope: Scope,
    how: str,
    read_only: bool,
    stack: ExitStack,
) -> None:
    filled()
    column, value = IMPOSSIBLE[how]
    with database(folder) as connection:
        connection.execute(
            f"UPDATE vector SET {column} = ? WHERE id = (SELECT id FROM memory WHERE content LIKE '%colis7 %')",
            (value,),
        )
    config = Config(folder, embedder="hashed:64", background=False)
    hippo = stack.enter_context(Hippocampe.open(config, read_only=read_only))
    for mode in ("text", "semantic", "hybrid"):
        text = "le colis8 attend au port8."
        found = hippo.recall(text, scope=scope, mode=mode, limit=5)
        assert found[0].content == text
        assert all(0.0 <= item.score <= 1.0 for item in found)
    assert "colis8" in hippo.before_turn("où attend le colis8 ?", scope=scope).text
    assert len(hippo.verify().damaged["memory"]) == 1


def test_a_damaged_vector_does_not_come_into_the_index(
    folder: Path, opener: Callable[..., Hippocampe], filled: Fill, scope: Scope
) -> None:
    filled()
    with database(folder) as connection:
        connection.execute("UPDATE vector SET dense = ?", (struct.pack("<64H", *[0x7E00] * 64),))
    for path in (folder / "index").rglob("manifest.json"):
        path.write_text("{")
    hippo = opener()
    assert len(hippo.verify().damaged["memory"]) == len(NAMES)
    assert hippo.recall("colis8", scope=scope, mode="text", limit=1)
    hippo.reindex()
    everything(hippo, scope)


def test_opening_repairs_a_sample_that_is_damaged(
    folder: Path,
    opener: Callable[..., Hippocampe],
    filled: Fill,
    scope: Scope,
    caplog: pytest.LogCaptureFixture,
) -> None:
    filled()
    with database(folder) as connection:
        connection.execute("UPDATE vector SET dense = zeroblob(length(dense)) WHERE kind = 'turn'")
        connection.execute(
            "UPDATE word SET vector = zeroblob(length(vector)) WHERE text = 'attend'"
        )
    hippo = opener(background=True)
    with caplog.at_level(logging.WARNING, "hippocampe"):
        hippo._opened.wait()
    assert [record.message for record in caplog.records] == [
        "2 of 2 damaged vectors were repaired from their texts"
    ]
    everything(hippo, scope)


def flip(path: Path, chance: random.Random, bytes_flipped: int = 16) -> None:
    """Change bytes of a file that are not zero: what a growing file has at its end is unused."""
    content = bytearray(path.read_bytes())
    used = np.flatnonzero(np.frombuffer(content, np.uint8)).tolist()
    for place in chance.sample(used, bytes_flipped):
        content[place] ^= chance.randrange(1, 256)
    path.write_bytes(content)


IN_PLACE = ("chunk_0.mmap", "vector_storage-bm25/store/page_0.dat", "payload_storage/page_0.dat")


def damaged_index(folder: Path, ending: str) -> None:
    """Damage a file of the memories in the index."""
    chance = random.Random(5)
    (path,) = [
        each
        for each in folder.glob("index/*/memory/**/*")
        if each.as_posix().endswith(ending) and each.read_bytes().strip(b"\0")
    ]
    flip(path, chance)


@pytest.mark.parametrize("ending", IN_PLACE)
def test_verify_names_what_the_index_answers_otherwise(
    folder: Path, opener: Callable[..., Hippocampe], filled: Fill, scope: Scope, ending: str
) -> None:
    filled()
    damaged_index(folder, ending)
    hippo = opener()
    # The engine refuses some damage, and then the index was rebuilt already.
    if not (checked := hippo.verify()).ok:
        assert checked.differing_in_index["memory"]
        assert not checked.missing_in_index
        assert not checked.damaged
    hippo.reindex()
    everything(hippo, scope)


def test_vectors_of_the_index_are_compared(
    folder: Path, opener: Callable[..., Hippocampe], filled: Fill, scope: Scope
) -> None:
    filled()
    damaged_index(folder, "chunk_0.mmap")
    assert opener().verify().differing_in_index["memory"]


def test_opening_rebuilds_an_index_that_answers_otherwise(
    folder: Path,
    opener: Callable[..., Hippocampe],
    filled: Fill,
    scope: Scope,
    caplog: pytest.LogCaptureFixture,
) -> None:
    filled()
    damaged_index(folder, "chunk_0.mmap")
    with caplog.at_level(logging.WARNING, "hippocampe"):
        hippo = opener(background=True)
        hippo._opened.wait()
    assert [record.message for record in caplog.records] == [
        "the index is damaged (memory: answers differ from the store), rebuilding it from the store"
    ]
    everything(hippo, scope)


@pytest.mark.parametrize("name", ["quantized.data", "inverted_index.dat"])
def test_damaged_files_of_a_graph_are_named_and_built_again(
    folder: Path, opener: Callable[..., Hippocampe], filled: Fill, scope: Scope, name: str
) -> None:
    """A search goes through these files, but none of them is part of the answer."""
    filled(graph_threshold=5)
    damaged_index(folder, name)
    hippo = opener(graph_threshold=5)
    checked = hippo.verify()
    assert not checked.ok
    (damaged,) = checked.damaged_files
    assert damaged.endswith(name)
    hippo.reindex()
    everything(hippo, scope)


def test_a_damaged_file_that_ends_the_process_is_not_loaded(
    folder: Path,
    opener: Callable[..., Hippocampe],
    filled: Fill,
    scope: Scope,
    caplog: pytest.LogCaptureFixture,
) -> None:
    filled(graph_threshold=5)
    for path in folder.glob("index/*/memory/**/id_tracker.mappings"):
        # A count of points: the engine reserves memory for as many.
        path.write_bytes(b"\xff" * path.stat().st_size)
    hippo = opener(graph_threshold=5)
    assert "id_tracker.mappings is damaged" in caplog.text
    everything(hippo, scope)


KILLED = """
import os, signal
from hippocampe.index import shards
shards.load = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Hippocampe.open(Config(folder=folder, embedder="hashed:64", background=False))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a signal that cannot be handled")
def test_an_index_that_ends_the_process_is_rebuilt_at_the_next_open(
    folder: Path,
    opener: Callable[..., Hippocampe],
    filled: Fill,
    scope: Scope,
    caplog: pytest.LogCaptureFixture,
) -> None:
    filled()
    with child(KILLED, folder) as opening:
        assert opening.wait() == -signal.SIGKILL
    hippo = opener()
    assert "the process that loaded it last died meanwhile" in caplog.text
    everything(hippo, scope)
    hippo.close()
    caplog.clear()
    everything(opener(), scope)
    assert caplog.text == ""


def test_writers_are_not_taken_for_damage(
    opener: Callable[..., Hippocampe], filled: Fill, scope: Scope, folder: Path
) -> None:
    filled()
    hippo = opener()
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            made = hippo.remember(f"le paquet{number} arrive", scope=scope).memory
            if number % 3:
                hippo.edit(made.id, scope=scope, content=f"le paquet{number} est parti")
            else:
                hippo.delete(made.id, scope=scope, reason="rendu")
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            checked = hippo.verify()
            assert checked.ok, checked
    finally:
        over.set()
        writer.join()


def test_vectors_stay_damaged_while_the_embedder_is_down(
    folder: Path,
    opener: Callable[..., Hippocampe],
    filled: Fill,
    scope: Scope,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hippocampe.errors import EmbedderUnavailable

    filled()
    with database(folder) as connection:
        connection.execute("UPDATE vector SET traits = traits + 4 WHERE kind = 'memory'")
    hippo = opener()

    def down(*_: object) -> None:
        raise EmbedderUnavailable("no answer: try again.")

    with monkeypatch.context() as patched:
        patched.setattr(hippo._context.corpus.vocabulary.embedder, "embed", down)
        done = hippo.reindex()
    assert (done.mended, done.damaged) == (0, len(NAMES))
    assert len(hippo.verify().damaged["memory"]) == len(NAMES)
    assert hippo.reindex().mended == len(NAMES)
    everything(hippo, scope)


def test_rules_that_change_leave_the_checksum_of_a_damaged_row(
    folder: Path, opener: Callable[..., Hippocampe], filled: Fill, scope: Scope
) -> None:
    filled()
    with database(folder) as connection:
        connection.execute("UPDATE vector SET traits = 0, dense = zeroblob(length(dense))")
        connection.execute("DELETE FROM meta WHERE name = 'rules'")
    hippo = opener()
    assert len(hippo.verify().damaged["memory"]) == len(NAMES)
    hippo.close()
    hippo = opener()
    assert len(hippo.verify().damaged["memory"]) == len(NAMES)
    hippo.reindex()
    everything(hippo, scope)


def old_tables(folder: Path) -> None:
    """A database of the revision before the checksums, with the rows of this one."""
    with database(folder) as connection:
        connection.execute("ALTER TABLE vector DROP COLUMN checksum")
        connection.execute("ALTER TABLE word DROP COLUMN checksum")
        connection.execute("ALTER TABLE message DROP COLUMN expression")
        connection.execute("UPDATE alembic_version SET version_num = '0006'")


def test_an_upgrade_adds_the_checksums_of_all_rows(
    folder: Path, opener: Callable[..., Hippocampe], filled: Fill, scope: Scope
) -> None:
    filled()
    old_tables(folder)
    hippo = opener()
    everything(hippo, scope)
    hippo.remember("le colis99 attend", scope=scope)
    assert hippo.verify().ok


def test_an_interrupted_upgrade_leaves_the_tables_as_they_were(
    folder: Path,
    opener: Callable[..., Hippocampe],
    filled: Fill,
    scope: Scope,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    filled()
    old_tables(folder)
    really = migrate.upgrade

    def interrupted(connection: Any, current: str) -> None:
        really(connection, current)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(migrate, "upgrade", interrupted)
        Store.open(folder / "hippocampe.db", folder)
    with database(folder) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(vector)")]
        assert "checksum" not in columns
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0006",)
    everything(opener(), scope)


def test_a_damaged_index_of_the_database_is_named_and_built_again(
    folder: Path, opener: Callable[..., Hippocampe], filled: Fill, scope: Scope
) -> None:
    """By a damaged index, SQLite finds another row than the one asked for."""
    filled()
    with database(folder) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (id,) = connection.execute("SELECT id FROM vector ORDER BY id LIMIT 1").fetchone()
    content = bytearray((folder / "hippocampe.db").read_bytes())
    start = 0
    while (start := content.find(f"{id}hashed-64".encode(), start)) >= 0:
        # The key in the index is followed by the row number, the row by the kind.
        if not content[start + 45 :].startswith((b"memory", b"turn", b"live")):
            content[start] ^= 1
        start += 1
    (folder / "hippocampe.db").write_bytes(content)
    hippo = opener()
    assert "index" in hippo.verify().database
    hippo.reindex()
    everything(hippo, scope)


def test_verify_reports_a_database_with_damage_in_several_places(
    folder: Path, opener: Callable[..., Hippocampe], filled: Fill, scope: Scope
) -> None:
    filled()
    with database(folder) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        pages = [
            row[0]
            for name in ("ix_turn_space_at", "ix_message_space_at", "ix_memory_space_key")
            for row in connection.execute(
                "SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)
            )
        ]
    with (folder / "hippocampe.db").open("r+b") as file:
        for page in pages:
            # The number of cells of the page.
            file.seek((page - 1) * size + 3)
            file.write(b"\x00\x00")
    found = opener().verify()
    assert not found.ok
    assert found.database != "ok"
    assert os.linesep not in found.database


@pytest.mark.skipif(os.name == "nt", reason="Windows moves no folder with open files")
def test_a_folder_that_is_moved_takes_no_write_until_it_is_back(tmp_path: Path) -> None:
    folder, elsewhere, me = tmp_path / "data", tmp_path / "ailleurs", Scope(user="dev")
    config = Config(folder, embedder="hashed:64", background=False)
    with Hippocampe.open(config) as hippo:
        hippo.remember("Zoé joue du tuba", scope=me)
        folder.rename(elsewhere)
        for content in ("Zoé vit à Brest", "Zoé lives in Brest"):
            with pytest.raises(StoreError, match="was moved, removed or replaced"):
                hippo.remember(content, scope=me)
        with pytest.raises(StoreError, match="was moved, removed or replaced"):
            hippo.stats(scope=me)
        folder.mkdir()
        with pytest.raises(StoreError, match="was moved, removed or replaced"):
            hippo.remember("Zoé vit à Brest", scope=me)
        folder.rmdir()
        for change in (
            hippo.verify,
            hippo.flush,
            hippo.reindex,
            partial(hippo.reindex, embedder="hashed:32"),
            partial(hippo.backup, folder / "backups" / "mine.db"),
            partial(hippo.erase, scope=me, whole_space=True),
        ):
            with pytest.raises(StoreError, match="was moved, removed or replaced"):
                change()
            assert not folder.exists()
        elsewhere.rename(folder)
        hippo.remember("Zoé vit à Brest", scope=me)
    with Hippocampe.open(config) as hippo:
        found = {each.content for each in hippo.memories(scope=me).items}
    assert found == {"Zoé joue du tuba", "Zoé vit à Brest"}
