"""Rows in memory: whatever is written, a search sees what it would see without them."""

import gc
from contextlib import suppress
from random import Random
from typing import Any
from weakref import ref

import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.engine.caches import CachedRows, RowCache

ME = Scope(user="nina", channel="lobby")
WORDS = "chat chien voilier rhubarbe tarte port jardin Lyon Brest dort mange cuit".split()


@pytest.fixture
def hippo(hashed: None, open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:64")


def rows_of(hippo: Hippocampe) -> RowCache[Any]:
    found = hippo._context.corpus.rows
    assert found is not None
    return found


def found(hippo: Hippocampe, query: str) -> list[Any]:
    """The results of a search, with each signal."""
    kinds = ("memory", "turn", "live")
    items = hippo.recall(query, scope=ME, collections=kinds, explain=True, peek=True)
    return [(each.id, each.content, [(s.name, s.value) for s in each.why]) for each in items]


def said(random: Random) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(2, 6)))


def one_change(hippo: Hippocampe, random: Random, number: int) -> None:
    """One of the ways in which the rows of candidates change."""
    held = hippo.memories(scope=ME, limit=50).items
    one = random.choice(held).id if held else None
    match random.randrange(9):
        case 0 | 1:
            hippo.remember(said(random), scope=ME)
        case 2 | 3:
            # The turn before gets a next one.
            hippo.after_turn(said(random), said(random), scope=ME)
        case 4 if one:
            hippo.edit(one, scope=ME, content=said(random), importance=random.random())
        case 5 if one:
            hippo.delete(one, scope=ME, reason="wrong")
        case 6:
            # Counts the uses of what is found.
            hippo.recall(said(random), scope=ME)
            hippo.flush()
        case 7:
            hippo.forget(random.choice(WORDS), scope=ME)
        case _:
            turns = hippo.recall(said(random), scope=ME, collections=("turn",), peek=True)
            if turns and number % 3 == 0:
                hippo.erase(scope=ME, id=turns[0].id)


@pytest.mark.parametrize("seed", range(3))
def test_a_search_sees_every_change(hippo: Hippocampe, seed: int) -> None:
    random = Random(seed)
    rows = rows_of(hippo)
    used = 0
    for number in range(30):
        one_change(hippo, random, number)
        query = said(random)
        used += len(rows.rows) > 0
        # The clock is that of the test: only rows make a difference.
        at = hippo.now()
        hippo._context.corpus.store.now = lambda at=at: at
        with_rows = found(hippo, query)
        again = found(hippo, query)
        rows.drop(None)
        assert found(hippo, query) == with_rows == again
    assert used > 20


def test_another_embedder_has_rows_of_its_own(hippo: Hippocampe) -> None:
    hippo.remember("le chat dort", scope=ME)
    found(hippo, "chat")
    before = ref(rows_of(hippo))
    hippo.reindex(embedder="hashed:32")
    gc.collect()
    # Those of the former embedder are not in memory any more.
    assert before() is None
    [(_, content, _)] = found(hippo, "chat")
    assert content == "le chat dort"


def test_a_row_that_a_reader_read_before_a_change_is_not_kept(hippo: Hippocampe) -> None:
    memory = hippo.remember("le chat dort", scope=ME).memory
    rows = rows_of(hippo)
    rows.drop(None)
    early = CachedRows(rows)
    hippo.edit(memory.id, scope=ME, importance=0.9)
    early.put("memory", {memory.id: "old"})
    assert rows.rows == {}
    CachedRows(rows).put("memory", {memory.id: "new"})
    assert early.find("memory", [memory.id]) == {memory.id: "new"}


def test_rows_are_bounded(hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hippocampe.engine.caches.MAX_ROWS", 3)
    rows = rows_of(hippo)
    CachedRows(rows).put("live", {"old": 0})
    CachedRows(rows).put("memory", {str(number): number for number in range(5)})
    assert rows.rows == {"live": {"old": 0}, "memory": {"3": 3, "4": 4}}


def test_a_failed_write_does_not_end_the_watch(hippo: Hippocampe) -> None:
    memory = hippo.remember("le chat dort", scope=ME).memory
    store, rows = hippo._context.corpus.store, rows_of(hippo)
    # All connections are new.
    store.engine.dispose()
    with suppress(ZeroDivisionError), store.write() as connection:
        connection.exec_driver_sql("UPDATE memory SET importance = 0.1")
        raise ZeroDivisionError
    found(hippo, "chat")
    assert memory.id in rows.rows["memory"]
    hippo.edit(memory.id, scope=ME, importance=0.9)
    assert memory.id not in rows.rows["memory"]


def test_a_writer_that_began_before_the_first_reader_drops_all(hippo: Hippocampe) -> None:
    store, rows = hippo._context.corpus.store, rows_of(hippo)
    watchers, store.watchers = store.watchers, []
    with store.write():
        store.watchers = watchers
        CachedRows(rows).put("memory", {"a": 1})
    assert rows.rows == {}
