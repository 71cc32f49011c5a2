"""Folders of revisions before the baseline: their tables as the code of the time made them, with rows."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.store import migrate, schema
from hippocampe.store.store import Store

pytestmark = pytest.mark.usefixtures("hashed")

REVISIONS = Path(__file__).parent / "revisions"
ADDED = (("message", "expression"),)
"""The tables and columns that the migrations after the baseline add."""
"""The statements that made the tables of the first revision, and those that led to each of the next."""
HOME = Scope(user="dev", channel="lobby")
Shape = dict[str, set[tuple[str, str, int, int]]]


def test_the_revisions_before_the_baseline_are_all_tried() -> None:
    assert [path.stem for path in sorted(REVISIONS.iterdir())] == list(migrate.BEFORE_BASELINE)


def filled(hippo: Hippocampe) -> str:
    """Store some of everything; returns the id of a memory."""
    hippo.set_fact("boisson", "le thé vert", scope=HOME)
    hippo.remember("Camille habite à Nantes", scope=HOME, subjects=["camille"])
    moved = hippo.remember("Camille a déménagé à Toulouse", scope=HOME, subjects=["camille"])
    hippo.after_turn("Le voilier est au port", "Noté.", scope=HOME)
    hippo.update_settings(scope=HOME, recent_hours=3)
    hippo.before_turn("Où habite Camille ?", scope=HOME)
    hippo.close()
    return moved.memory.id


def age(folder: Path, revision: str) -> None:
    """Give a folder the tables of an earlier revision, with its rows."""
    path = folder / "hippocampe.db"
    old = folder / "old.db"
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        for step in sorted(REVISIONS.iterdir()):
            if step.stem <= revision:
                connection.executescript(step.read_text(encoding="utf-8"))
        connection.execute(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
        connection.execute("INSERT INTO alembic_version VALUES (?)", (revision,))
        connection.execute("ATTACH ? AS new", (str(path),))
        for table in schema.metadata.tables:
            columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
            # The job runs of the first revisions were another table, which nothing wrote.
            if columns and not (table == "job_run" and revision < "0004"):
                names = ", ".join(f'"{name}"' for name in columns)
                connection.execute(
                    f"INSERT INTO main.{table} ({names}) SELECT {names} FROM new.{table}"
                )
        connection.execute("DETACH new")
    old.replace(path)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def shape(path: Path) -> tuple[Shape, dict[str, str]]:
    """The columns of each table with type, NOT NULL and key, and the statements of the rest."""
    with closing(sqlite3.connect(path)) as connection:
        made = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
        tables = [name for kind, name, _ in made if kind == "table"]
        columns: Shape = {
            table: {
                (name, kind, bound, key)
                for _, name, kind, bound, _, key in connection.execute(
                    f"PRAGMA table_info({table})"
                )
            }
            for table in tables
        }
    others = {
        name: " ".join(sql.split())
        for kind, name, sql in made
        if kind != "table" and sql is not None
    }
    return columns, others


@pytest.mark.parametrize("revision", migrate.BEFORE_BASELINE)
def test_a_folder_of_an_earlier_revision_is_upgraded_once(
    open_hippo: Opener, folder: Path, tmp_path: Path, revision: str
) -> None:
    id = filled(open_hippo(embedder="hashed:32"))
    age(folder, revision)
    hippo = open_hippo(embedder="hashed:32")
    assert hippo.verify().ok
    assert hippo.get(id, scope=HOME).content == "Camille a déménagé à Toulouse"
    assert hippo.get(id, scope=HOME).metadata == {}
    assert [each.content for each in hippo.history(id, scope=HOME).versions] == [
        "Camille habite à Nantes",
        "Camille a déménagé à Toulouse",
    ]
    assert hippo.facts(scope=HOME)["boisson"].content == "le thé vert"
    assert hippo.recall("Toulouse", scope=HOME, mode="text")[0].id == id
    assert hippo.search_text("voilier", scope=HOME)[0].content == "Le voilier est au port"
    assert hippo.settings(scope=HOME).recent_hours == 3
    hippo.remember("Owen a un voilier", scope=HOME, metadata={"row": 1})
    hippo.after_turn("Il est rouge", None, scope=HOME)
    assert hippo.verify().ok
    hippo.close()

    again = open_hippo(embedder="hashed:32")
    assert again.verify().ok
    again.close()
    copies = [path.name for path in (folder / "backups").iterdir()]
    assert len(copies) == 1, "it is upgraded once"
    assert copies[0].startswith(f"before-{schema.REVISION}-")
    Store.open(tmp_path / "new.db", tmp_path).close()
    assert shape(folder / "hippocampe.db") == shape(tmp_path / "new.db")


def test_a_folder_of_the_baseline_gets_the_expressions(open_hippo: Opener, folder: Path) -> None:
    filled(open_hippo())
    fresh = shape(folder / "hippocampe.db")
    with closing(sqlite3.connect(folder / "hippocampe.db", isolation_level=None)) as connection:
        for table, column in ADDED:
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.execute("UPDATE alembic_version SET version_num = '0007'")
    hippo = open_hippo()
    hippo.after_turn("Il fait beau", "Oui !", scope=HOME, expression="happy")
    assert [each.expression for each in hippo.messages(scope=HOME)][-2:] == [None, "happy"]
    hippo.close()
    assert shape(folder / "hippocampe.db") == fresh
