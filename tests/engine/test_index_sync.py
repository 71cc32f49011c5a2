"""Store and index never part: crashes, damage, restored backups, rebuilds, changes of embedder."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from children import child
from conftest import Opener
from hippocampe import Config, Hippocampe, Scope
from hippocampe.engine import generations
from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.errors import (
    EmbedderMismatch,
    EmbedderUnavailable,
    FolderInUse,
    HippocampeError,
    IndexUnavailable,
    InvalidInput,
    StoreError,
    StoreFull,
)
from hippocampe.folder import maintenance
from hippocampe.index.edge import EdgeIndex
from hippocampe.protocols import Point
from hippocampe.store import embeddings, outbox
from hippocampe.system import worker
from hippocampe.types import Reindexed
from sparse import copy_folder

pytestmark = pytest.mark.usefixtures("hashed")


@pytest.fixture
def opener(open_hippo: Opener) -> Callable[..., Hippocampe]:
    def opened(**settings: Any) -> Hippocampe:
        return open_hippo(**{"embedder": "hashed:256", **settings})

    return opened


def fill(hippo: Hippocampe, scope: Scope, names: range) -> None:
    for name in names:
        hippo.remember(f"le colis{name} attend", scope=scope)
    hippo.after_turn(f"où est le colis{names[0]} ?", "au port", scope=scope)
    hippo.observe(f"le colis{names[0]} est là", scope=scope)


def everything(hippo: Hippocampe, scope: Scope, names: range) -> None:
    """Every memory is found, by words and by meaning, and store and index agree."""
    for name in names:
        for mode in ("text", "semantic"):
            found = hippo.recall(f"colis{name}", scope=scope, mode=mode, limit=1)
            assert [item.content for item in found] == [f"le colis{name} attend"]
    for collection in ("turn", "live"):
        assert hippo.recall(f"colis{names[0]}", scope=scope, collections=[collection])
    checked = hippo.verify()
    assert checked.ok, checked
    assert checked.checked["memory"] >= len(names)


WRITER = """
hippo = Hippocampe.open(Config(folder=folder, embedder="hashed:256", background=False))
if sys.argv[2] == "flush":
    hippo.remember("déjà là", scope=scope)
    hippo.flush()
for name in range(20):
    hippo.remember(f"le colis{name} attend", scope=scope)
gone = hippo.remember("le parapluie est perdu", scope=scope).memory
hippo.delete(gone.id, scope=scope, reason="retrouvé")
hippo.after_turn("où est le colis0 ?", "au port", scope=scope)
hippo.observe("le colis0 est là", scope=scope)
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("before", ["flush", "nothing"])
def test_what_a_kill_left_out_of_the_index_is_replayed(
    folder: Path, opener: Callable[..., Hippocampe], scope: Scope, before: str
) -> None:
    with child(WRITER, folder, before) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "done\n"
        writer.kill()
        writer.wait()
    hippo = opener()
    assert hippo.stats(scope=scope).pending > 20
    assert hippo.stats(scope=Scope(space="other")).pending == 0
    everything(hippo, scope, range(20))
    assert hippo.recall("parapluie", scope=scope, mode="text") == []
    hippo.flush()
    assert hippo.stats(scope=scope).pending == 0


def damage(folder: Path, how: str) -> None:
    index = folder / "index"
    if how == "deleted":
        shutil.rmtree(index)
    elif how == "manifest":
        next(index.rglob("manifest.json")).write_text("{")
    else:
        for path in index.rglob("*"):
            if path.is_file() and how in path.name:
                path.write_bytes(os.urandom(64))


@pytest.mark.parametrize("how", ["deleted", "manifest", "edge_config", "segment"])
def test_a_lost_or_damaged_index_is_built_anew(
    folder: Path, opener: Callable[..., Hippocampe], scope: Scope, how: str
) -> None:
    hippo = opener()
    fill(hippo, scope, range(10))
    hippo.close()
    damage(folder, how)
    again = opener()
    everything(again, scope, range(10))
    fill(again, scope, range(10, 12))
    everything(again, scope, range(12))
    again.close()
    everything(opener(), scope, range(12))


@pytest.mark.skipif(sys.platform == "win32", reason="sh")
def test_an_index_that_another_process_still_writes_is_built_anew(
    folder: Path, opener: Callable[..., Hippocampe], scope: Scope
) -> None:
    """As that which builds a graph does, if its parent was killed."""
    hippo = opener()
    fill(hippo, scope, range(10))
    hippo.close()
    damage(folder, "manifest")
    generation = next((folder / "index").glob("*/memory/*"))
    writing = "n=0; while : > $n; do n=$((n + 1)); done"
    with subprocess.Popen(
        ["sh", "-c", writing], cwd=generation, stderr=subprocess.DEVNULL
    ) as other:
        try:
            while not (generation / "1000").exists():
                time.sleep(0.01)
            everything(opener(), scope, range(10))
        finally:
            other.kill()


def test_a_restored_backup_gets_its_own_index(
    folder: Path,
    opener: Callable[..., Hippocampe],
    scope: Scope,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hippo = opener()
    fill(hippo, scope, range(5))
    hippo.flush()
    backup = hippo.backup()
    fill(hippo, scope, range(5, 9))
    hippo.close()
    (folder / "hippocampe.db").unlink()
    for extra in ("-wal", "-shm"):
        (folder / f"hippocampe.db{extra}").unlink(missing_ok=True)
    shutil.copy(backup, folder / "hippocampe.db")
    again = opener()
    everything(again, scope, range(5))
    assert again.verify().checked["memory"] == 5
    assert again.recall("colis7", scope=scope, mode="text") == []
    [said] = [each for each in caplog.messages if "rebuilding it" in each]
    assert str(folder) in said
    assert "restored from a copy" in said
    assert said.endswith("nothing else needs to be done")


def test_what_ctrl_c_kept_from_the_index_is_replayed(
    opener: Callable[..., Hippocampe], scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = opener()
    fill(hippo, scope, range(3))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(hippo._context.corpus.index, "apply", interrupt)  # pyright: ignore[reportPrivateUsage]
        hippo.remember("le colis3 attend", scope=scope)
    hippo.remember("le colis4 attend", scope=scope)
    hippo.flush()
    everything(hippo, scope, range(5))


def test_verify_names_what_differs_and_opening_repairs_it(
    opener: Callable[..., Hippocampe], scope: Scope
) -> None:
    hippo = opener()
    hippo.remember("le colis1 attend", scope=scope)
    lost = hippo.remember("la lettre est partie", scope=scope).memory
    hippo._context.corpus.index.apply("memory", [], [lost.id])
    checked = hippo.verify()
    assert not checked.ok
    assert checked.missing_in_index == {"memory": (lost.id,)}
    assert checked.unknown_to_store == {}
    hippo.close()
    again = opener()
    assert again.verify().ok
    for name in ("lettre", "colis1"):
        assert len(again.recall(name, scope=scope, mode="text")) == 1


def test_what_is_only_in_the_index_is_named_and_not_shown(
    opener: Callable[..., Hippocampe], scope: Scope
) -> None:
    hippo = opener()
    memory = hippo.remember("le colis1 attend", scope=scope).memory
    with hippo._context.corpus.store.write() as connection:
        connection.exec_driver_sql("DELETE FROM memory")
    assert hippo.verify().unknown_to_store == {"memory": (memory.id,)}
    for mode in ("hybrid", "text", "semantic"):
        assert hippo.recall("colis1", scope=scope, mode=mode) == []
    hippo.reindex()
    assert hippo.verify().ok


@contextmanager
def meanwhile(work: Callable[[int], object]) -> Iterator[None]:
    """Do something over and over in two threads; what goes wrong there is raised here."""
    over = threading.Event()
    errors: list[Exception] = []

    def run() -> None:
        number = 0
        while not over.is_set():
            try:
                work(number)
            except (AssertionError, HippocampeError, ValueError, IndexError) as exc:
                errors.append(exc)
                return
            number += 1

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


def test_reading_and_writing_go_on_during_a_reindex(
    opener: Callable[..., Hippocampe], scope: Scope
) -> None:
    hippo = opener()
    fill(hippo, scope, range(20))
    written: list[str] = []

    def work(number: int) -> None:
        name = f"paquet{threading.get_ident()}x{number}"
        mine = hippo.remember(f"le {name} arrive", scope=scope).memory.id
        written.append(mine)
        for mode in ("text", "hybrid"):
            found = hippo.recall("colis3", scope=scope, mode=mode, limit=1)
            assert [item.content for item in found] == ["le colis3 attend"]
        assert hippo.recall(name, scope=scope, mode="text", limit=1)[0].id == mine

    with meanwhile(work):
        for _ in range(5):
            hippo.reindex()
    everything(hippo, scope, range(20))
    assert {memory.id for memory in hippo.recent(1_000, scope=scope)} >= set(written)


def test_the_embedder_is_changed_while_reading_and_writing(
    folder: Path, opener: Callable[..., Hippocampe], scope: Scope
) -> None:
    hippo = opener(background=True, flush_seconds=0.02)
    fill(hippo, scope, range(20))
    hidden = hippo.remember("la lettre est partie", scope=scope).memory
    hippo.delete(hidden.id, scope=scope, reason="essai")
    written: list[str] = []

    def work(number: int) -> None:
        name = f"paquet{threading.get_ident()}x{number}"
        written.append(hippo.remember(f"le {name} arrive", scope=scope).memory.id)
        for mode in ("text", "semantic", "hybrid"):
            found = hippo.recall("colis3", scope=scope, mode=mode, limit=3)
            assert "le colis3 attend" in [item.content for item in found], mode

    with meanwhile(work):
        time.sleep(0.2)
        hippo.reindex(embedder="hashed:48")
        assert hippo.stats(scope=scope).embedder == "hashed-48"
        time.sleep(0.2)
    everything(hippo, scope, range(20))
    hippo.restore(hidden.id, scope=scope)
    assert hippo.recall("lettre", scope=scope, mode="text")[0].id == hidden.id
    assert hippo.verify().ok
    hippo.close()
    assert len(list((folder / "index").iterdir())) == 1
    again = opener(embedder=None)
    assert again.stats(scope=scope).embedder == "hashed-48"
    everything(again, scope, range(20))
    assert {memory.id for memory in again.recent(1_000, scope=scope)} >= set(written[-500:])


def test_accesses_are_counted_once_over_a_change_of_embedder(
    opener: Callable[..., Hippocampe], scope: Scope
) -> None:
    hippo = opener()
    memory = hippo.remember("le colis1 attend", scope=scope).memory
    hippo.recall("colis1", scope=scope)
    hippo.reindex(embedder="hashed:48")
    hippo.recall("colis1", scope=scope)
    hippo.flush()
    assert hippo.get(memory.id, scope=scope).access_count == 2


def test_a_kind_that_nothing_is_of_stays_without_a_shard(
    opener: Callable[..., Hippocampe], scope: Scope, folder: Path
) -> None:
    hippo = opener()
    hippo.remember("le colis0 attend", scope=scope)
    hippo.reindex()
    shards = {path.parent.name for path in folder.glob("index/*/*/*") if path.is_dir()}
    assert shards == {"memory"}
    fill(hippo, scope, range(3))
    hippo.reindex()
    everything(hippo, scope, range(3))


def test_the_same_embedder_again_is_a_reindex(
    opener: Callable[..., Hippocampe], scope: Scope
) -> None:
    hippo = opener()
    fill(hippo, scope, range(3))
    hippo.reindex(embedder="hashed:256")
    everything(hippo, scope, range(3))


def test_an_unknown_embedder_changes_nothing(
    opener: Callable[..., Hippocampe], scope: Scope
) -> None:
    hippo = opener()
    fill(hippo, scope, range(3))
    with pytest.raises(InvalidInput, match="no embedder called"):
        hippo.reindex(embedder="nowhere")
    everything(hippo, scope, range(3))


KILLED = """
import os
from hippocampe.folder import reembed
from hippocampe.store import embeddings
hippo = Hippocampe.open(Config(folder=folder, embedder="hashed:256", background=False))
where = {"before": (embeddings, "remove_other_models"), "after": (reembed, "_remove_index")}
setattr(*where[sys.argv[2]], lambda *_: os._exit(9))
hippo.reindex(embedder="hashed:48")
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_change_of_embedder_that_is_killed_leaves_nothing_that_is_erased_later(
    folder: Path, opener: Callable[..., Hippocampe], scope: Scope, when: str
) -> None:
    hippo = opener()
    fill(hippo, replace(scope, user="Zorblatte"), range(80))
    hippo.close()
    with child(KILLED, folder, when) as changing:
        assert changing.wait() == 9
    assert len(list((folder / "index").iterdir())) == 2
    again = opener(embedder=None)
    assert again.stats(scope=scope).embedder == ("hashed-256" if when == "before" else "hashed-48")
    again.erase(scope=scope, user="Zorblatte")
    assert again.verify(absent=["Zorblatte"]).ok


def test_a_change_of_embedder_that_fails_leaves_nothing_that_is_erased_later(
    folder: Path,
    opener: Callable[..., Hippocampe],
    scope: Scope,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hippo = opener()
    fill(hippo, replace(scope, user="Zorblatte"), range(80))

    def down(*_: object) -> None:
        raise EmbedderUnavailable("it is down")

    monkeypatch.setattr(embeddings, "remove_other_models", down)
    with pytest.raises(EmbedderUnavailable):
        hippo.reindex(embedder="hashed:48")
    assert len(list((folder / "index").iterdir())) == 1
    hippo.erase(scope=scope, user="Zorblatte")
    assert hippo.verify(absent=["Zorblatte"]).ok


def test_another_embedder_is_refused_at_opening(
    folder: Path, opener: Callable[..., Hippocampe], scope: Scope
) -> None:
    hippo = opener()
    fill(hippo, scope, range(3))
    hippo.close()
    with pytest.raises(EmbedderMismatch, match="hashed-256.*hashed-48"):
        opener(embedder="hashed:48")
    everything(opener(), scope, range(3))


def test_a_second_opener_is_told_who_holds_the_folder(
    folder: Path, opener: Callable[..., Hippocampe], scope: Scope
) -> None:
    hippo = opener()
    with pytest.raises(FolderInUse, match=f"process {os.getpid()} since 20"):
        opener()
    with child(
        "Hippocampe.open(Config(folder=folder, embedder='hashed:256'), join=False)", folder
    ) as other:
        assert other.wait() != 0
    hippo.remember("le colis1 attend", scope=scope)
    hippo.close()
    assert opener().verify().ok


def test_a_folder_may_be_closed_by_another_thread(opener: Callable[..., Hippocampe]) -> None:
    hippo = opener()
    other = threading.Thread(target=hippo.close)
    other.start()
    other.join()
    hippo.close()
    opener()


def test_a_graph_is_built_beside_while_writes_go_on(
    folder: Path, scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By a new interpreter, as in a program: other tests fork it.
    monkeypatch.setattr(worker, "subprocess", subprocess)
    talk = [{"author": "dev", "content": f"le colis{number} attend"} for number in range(400)]
    (tmp_path / "talk.jsonl").write_text("\n".join(map(json.dumps, talk)))
    config = Config(folder=folder, embedder="hashed:256", graph_threshold=200, flush_seconds=0.02)
    with Hippocampe.open(config) as hippo:
        hippo.import_from(tmp_path / "talk.jsonl", scope=scope)
        (first,) = (folder / "index").glob("*/turn/*")
        number = 0
        end = time.monotonic() + 120
        while first.exists() and time.monotonic() < end:
            hippo.after_turn(f"le carton{number} part", None, scope=scope)
            number += 1
        assert not first.exists()
        for name in ("colis7", "colis399", "carton0", f"carton{number - 1}"):
            found = hippo.recall(name, scope=scope, mode="text", collections=["turn"], limit=1)
            assert name in found[0].content
            near = hippo.recall(
                found[0].content, scope=scope, mode="semantic", collections=["turn"], limit=10
            )
            assert name in " ".join(item.content for item in near)
        assert hippo.verify().ok
    with Hippocampe.open(config) as again:
        assert again.verify().ok


def test_a_reindex_ends_with_its_graph(
    opener: Callable[..., Hippocampe], scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = opener(graph_threshold=20)
    fill(hippo, scope, range(30))
    index = hippo._context.corpus.index
    assert isinstance(index, EdgeIndex)
    assert index.ungraphed("memory") == 30
    with monkeypatch.context() as patched:
        patched.setattr(generations, "_BUILDER", ("-c", "raise SystemExit('no memory left')"))
        assert hippo.reindex().without_graph == ("memory",)
    assert index.ungraphed("memory") == 30
    everything(hippo, scope, range(30))
    assert hippo.reindex().without_graph == ()
    assert index.ungraphed("memory") == 0
    everything(hippo, scope, range(30))
    assert hippo.reindex(embedder="hashed:48") == Reindexed("hashed-48")
    changed = hippo._context.corpus.index
    assert isinstance(changed, EdgeIndex)
    assert changed.ungraphed("memory") == 0
    everything(hippo, scope, range(30))


def test_closing_does_not_wait_for_a_graph(
    folder: Path, scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    endless = f"import pathlib, time; pathlib.Path({str(started)!r}).touch(); time.sleep(600)"
    monkeypatch.setattr(generations, "_BUILDER", ("-c", endless))
    config = Config(folder=folder, embedder="hashed:32", graph_threshold=10, flush_seconds=0.02)
    with Hippocampe.open(config) as hippo:
        fill(hippo, scope, range(20))
        while not started.exists():
            time.sleep(0.02)
    (generation,) = (folder / "index").glob("*/memory/*")
    assert generation.is_dir()
    with Hippocampe.open(replace(config, graph_threshold=10**6)) as again:
        everything(again, scope, range(20))
        assert again.verify().ok


def test_many_small_spaces_need_no_graph(
    opener: Callable[..., Hippocampe], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generations, "_BUILDER", ("-c", "raise SystemExit('no graph is due')"))
    hippo = opener(graph_threshold=20)
    for number in range(3):
        fill(hippo, Scope(space=f"space-{number}"), range(10))
    index = hippo._context.corpus.index
    assert isinstance(index, EdgeIndex)
    maintenance.grow_graphs(hippo._context.writer)
    assert hippo.reindex().without_graph == ()
    assert index.ungraphed("memory") == 30


def test_a_program_that_cannot_start_python_goes_without_graphs(
    opener: Callable[..., Hippocampe],
    scope: Scope,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hippo = opener(graph_threshold=10)
    fill(hippo, scope, range(20))
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/opt/game/host")
        for _ in range(2):
            maintenance.grow_graphs(hippo._context.writer)  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(
            StoreError, match="could not be searched: host is not a Python interpreter"
        ):
            hippo.verify(absent=["colis0"])
    (said,) = [r.getMessage() for r in caplog.records if "graph" in r.getMessage()]
    assert "host is not a Python interpreter" in said
    assert "Searches scan without it" in said
    assert hippo.stats(scope=scope).outages == {"graphs": 1}
    everything(hippo, scope, range(20))


def test_a_graph_is_built_where_priorities_cannot_be_lowered(
    opener: Callable[..., Hippocampe], scope: Scope, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hippo = opener()
    fill(hippo, scope, range(20))
    config = hippo._context.corpus.config  # pyright: ignore[reportPrivateUsage]
    monkeypatch.delattr(os, "nice")
    order = {"model": "hashed-256", "dimensions": 256, "kind": "memory"}
    paths = {"database": str(config.database), "target": str(tmp_path / "generation")}
    generations.build_from_order(order | paths)
    assert any((tmp_path / "generation").iterdir())


def test_words_come_and_go_with_the_item_that_holds_them(
    hippo: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    lexicon = hippo._context.corpus.vocabulary

    def full(*_: object) -> None:
        raise StoreFull("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(outbox, "queue", full)
        with pytest.raises(StoreFull):
            hippo.remember("Zéphyrine cultive des topinambours", scope=scope)
    assert lexicon.unknown(["topinambours"]) == ["topinambours"]
    with hippo._context.corpus.store.read() as connection:
        stored = [
            text
            for words in embeddings.words_after(connection, lexicon.embedder.model, 0)
            for text in words.texts
        ]
    assert "topinambours" not in stored
    hippo.remember("Zéphyrine cultive des topinambours", scope=scope)
    assert lexicon.unknown(["topinambours"]) == []
    assert hippo.recall("topinambours", scope=scope)[0].score > 0.5


def test_one_change_adds_the_words_of_several_calls_once(hippo: Hippocampe) -> None:
    vocabulary = hippo._context.corpus.vocabulary
    first, second = (
        vocabulary.prepare(["un rutabaga"])[0],
        vocabulary.prepare(["le rutabaga et le panais"])[0],
    )
    with hippo._context.writer.change() as change:
        ids = [change.embedded(each).words.tolist() for each in (first, second, first)]
    assert ids[0] == ids[2] == vocabulary.ids(["rutabaga"]).tolist()
    assert ids[1] == vocabulary.ids(["rutabaga", "panais"]).tolist()


def raising(error: type[HippocampeError]) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error("away")

    return fail


def test_what_waits_for_the_embedder_outlives_the_process(
    folder: Path, opener: Callable[..., Hippocampe], scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo, killed = opener(), folder.parent / "killed"
    with monkeypatch.context() as patched:
        patched.setattr(Vocabulary, "prepare", raising(EmbedderUnavailable))
        hippo.after_turn("où est le colis ?", "au port", scope=scope)
        hippo.flush()
        assert hippo.stats(scope=scope).pending == 1
        copy_folder(folder, killed, ignore=shutil.ignore_patterns("*.sock", "*.lock"))
    again = opener(where=killed)
    assert again.recall("colis", scope=scope, collections=["turn"])
    assert again.verify().ok
    again.flush()
    assert again.stats(scope=scope).pending == 0
    hippo.flush()
    assert hippo.recall("colis", scope=scope, collections=["turn"])
    assert hippo.stats(scope=scope).pending == 0


@pytest.mark.parametrize("killed", [False, True])
def test_what_was_imported_while_the_embedder_was_down_is_embedded_once_it_is_back(
    folder: Path,
    opener: Callable[..., Hippocampe],
    scope: Scope,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    killed: bool,
) -> None:
    exported = folder.parent / "export.jsonl"
    other = opener(where=folder.parent / "other")
    fill(other, scope, range(3))
    other.export_to(exported, scope=scope)
    hippo = opener()
    with monkeypatch.context() as patched:
        patched.setattr(Vocabulary, "prepare", raising(EmbedderUnavailable))
        with pytest.raises(EmbedderUnavailable):
            hippo.import_from(exported, scope=scope)
        if killed:
            where = folder.parent / "killed"
            copy_folder(folder, where, ignore=shutil.ignore_patterns("*.sock", "*.lock"))
            hippo = opener(where=where)
        for _ in range(3):
            hippo.flush()
        assert not hippo.recall("colis1", scope=scope, mode="text")
        assert caplog.text.count("embedder failed") == 1
    hippo.flush()
    assert hippo.recall("colis1", scope=scope, mode="text")[0].content == "le colis1 attend"
    assert hippo.verify().ok


def test_what_an_earlier_version_did_not_embed_is_embedded(
    folder: Path,
    opener: Callable[..., Hippocampe],
    scope: Scope,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hippo = opener()
    fill(hippo, scope, range(3))
    with monkeypatch.context() as patched:
        patched.setattr(Vocabulary, "prepare", raising(EmbedderUnavailable))
        hippo.after_turn("où est le carton ?", "au port", scope=scope)
        hippo.close()
    with closing(sqlite3.connect(folder / "hippocampe.db")) as database:
        # It deleted the outbox row, and noted only that something waits.
        database.execute("DELETE FROM outbox")
        database.execute("INSERT OR REPLACE INTO meta VALUES ('waiting', '1')")
        database.commit()
    caplog.clear()
    again = opener()
    assert again.recall("carton", scope=scope, collections=["turn"], limit=1)
    assert "rebuilding" not in caplog.text
    assert again.verify().ok


def test_what_missed_the_index_during_a_reindex_is_replayed(
    opener: Callable[..., Hippocampe], scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = opener()
    fill(hippo, scope, range(3))
    refill = generations.refill

    def missing(*given: Any, **named: Any) -> tuple[str, ...]:
        without = refill(*given, **named)
        with monkeypatch.context() as patched:
            patched.setattr(EdgeIndex, "apply", raising(IndexUnavailable))
            hippo.remember("le colis3 attend", scope=scope)
        return without

    monkeypatch.setattr(generations, "refill", missing)
    hippo.reindex()
    everything(hippo, scope, range(4))
    assert not hippo._context.corpus.outages.is_down("indexing")


def test_a_change_is_given_to_the_index_once(
    opener: Callable[..., Hippocampe], scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = opener()
    given: list[str] = []
    apply = EdgeIndex.apply

    def counting(
        index: EdgeIndex, kind: str, points: Sequence[Point], removed: Sequence[str] = ()
    ) -> None:
        given.extend([*(point.id for point in points), *removed])
        apply(index, kind, points, removed)

    monkeypatch.setattr(EdgeIndex, "apply", counting)
    fill(hippo, scope, range(3))
    hippo.flush()
    with monkeypatch.context() as patched:
        patched.setattr(EdgeIndex, "apply", raising(IndexUnavailable))
        missed = hippo.remember("le colis3 attend", scope=scope).memory.id
    hippo.remember("le colis4 attend", scope=scope)
    hippo.flush()
    assert sorted(given) == sorted({*given})
    assert missed in given
    assert hippo.stats(scope=scope).pending == 0
