"""Another program that locks the database: writes are refused, reads and turns go on, and it heals."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hippocampe import Hippocampe, Scope, StoreBusy
from hippocampe.store import sqlite


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less for the lock than a program does."""
    monkeypatch.setattr(sqlite, "BUSY_MILLISECONDS", 100)


@contextmanager
def locked(folder: Path, statement: str) -> Iterator[None]:
    """Hold a lock of SQLite as a browser of databases does."""
    with closing(sqlite3.connect(folder / "hippocampe.db", isolation_level=None)) as foreign:
        foreign.execute(statement)
        yield
        foreign.execute("ROLLBACK")


@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_write_lock(hippo: Hippocampe, folder: Path, scope: Scope, statement: str) -> None:
    hippo.remember("Nina aime le thé vert", scope=scope)
    with locked(folder, statement):
        with pytest.raises(StoreBusy, match="another process has locked the database"):
            hippo.remember("Paul joue du tuba", scope=scope)
        assert hippo.recall("que boit Nina ?", scope=scope)[0].content == "Nina aime le thé vert"
        assert hippo.before_turn("que boit Nina ?", scope=scope).items
        with pytest.raises(StoreBusy):
            hippo.after_turn("que boit Nina ?", "Du thé.", scope=scope)
        with pytest.raises(StoreBusy):
            hippo.flush()
    assert hippo.remember("Paul joue du tuba", scope=scope).action == "inserted"
    hippo.flush()
    assert hippo.verify().ok


def test_a_long_read(hippo: Hippocampe, folder: Path, scope: Scope) -> None:
    kept = hippo.remember("Nina aime le thé vert", scope=scope).memory
    with closing(sqlite3.connect(folder / "hippocampe.db", isolation_level=None)) as foreign:
        foreign.execute("BEGIN")
        foreign.execute("SELECT count(*) FROM memory").fetchone()
        assert hippo.remember("Paul joue du tuba", scope=scope).action == "inserted"
        with pytest.raises(StoreBusy, match="next opening finishes the erasure"):
            hippo.erase(id=kept.id, scope=scope)
    assert [each.content for each in hippo.recent(scope=scope)] == ["Paul joue du tuba"]
