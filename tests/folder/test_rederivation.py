"""What rules derived from stored texts is derived again when the rules change."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hippocampe
from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.folder.rederivation import RULES
from hippocampe.language import lexicon

pytestmark = pytest.mark.usefixtures("hashed")
TEXTS = ("Mick = Mickaël", "David habite à Pau", "Le train de 8 h part à l'heure.")
CORRUPTED = (
    "UPDATE memory SET equality = 'x'",
    "UPDATE vector SET traits = 99",
    "DELETE FROM subject",
    "UPDATE claim SET relation = 'x'",
    "DELETE FROM alias",
    f"UPDATE meta SET value = 'older' WHERE name = '{RULES}'",
)


def rows(folder: Path) -> dict[str, list[Any]]:
    """Everything that is derived by rules, and the digest of the rules."""
    queries = {
        "equality": "SELECT id, equality FROM memory ORDER BY id",
        "traits": "SELECT id, traits FROM vector ORDER BY id",
        "subject": "SELECT memory_id, name FROM subject ORDER BY 1, 2",
        "claim": "SELECT memory_id, relation, subject FROM claim ORDER BY 1",
        "alias": "SELECT memory_id, name, other FROM alias ORDER BY 1, 2",
        RULES: f"SELECT value FROM meta WHERE name = '{RULES}'",
    }
    with closing(sqlite3.connect(next(folder.glob("*.db")))) as database:
        return {name: database.execute(query).fetchall() for name, query in queries.items()}


def corrupt(folder: Path) -> None:
    with closing(sqlite3.connect(next(folder.glob("*.db")))) as database:
        for statement in CORRUPTED:
            database.execute(statement)
        database.commit()


def fill(hippo: Hippocampe, scope: Scope) -> None:
    for text in TEXTS:
        hippo.remember(text, scope=scope, subjects=["Léa"])
    hippo.after_turn("Où est la clé ?", "Sous le pot, depuis 2019.", scope=scope)


def test_a_new_folder_has_todays_rules(folder: Path, open_hippo: Opener, scope: Scope) -> None:
    with open_hippo(embedder="hashed:32") as hippo:
        assert rows(folder)[RULES] == [(lexicon.rules_digest(),)]
        fill(hippo, scope)
    assert rows(folder)[RULES] == [(lexicon.rules_digest(),)]


def test_rows_of_older_rules_are_derived_again(
    folder: Path, open_hippo: Opener, scope: Scope
) -> None:
    with open_hippo(embedder="hashed:32") as hippo:
        fill(hippo, scope)
    before = rows(folder)
    assert all(before.values())
    corrupt(folder)
    with open_hippo(embedder="hashed:32") as hippo:
        hippo.reindex()
        assert hippo.recall("Pau", scope=scope, subjects=["david"])
    assert rows(folder) == before


def test_the_background_derives_them(folder: Path, open_hippo: Opener, scope: Scope) -> None:
    with open_hippo(embedder="hashed:32") as hippo:
        fill(hippo, scope)
    before = rows(folder)
    corrupt(folder)
    with open_hippo(embedder="hashed:32", background=True, flush_seconds=0.05):
        until = time.monotonic() + 30
        while rows(folder) != before and time.monotonic() < until:
            time.sleep(0.02)
    assert rows(folder) == before


def test_it_goes_on_where_it_was_stopped(folder: Path, open_hippo: Opener, scope: Scope) -> None:
    from hippocampe.folder.rederivation import BATCH, rederive

    with open_hippo(embedder="hashed:32") as hippo:
        for number in range(2 * BATCH):
            hippo.remember(f"Le casier {number} est à Zoé{number}.", scope=scope)
    before = rows(folder)
    corrupt(folder)
    with open_hippo(embedder="hashed:32") as hippo:
        stops = iter((False, True))
        assert not rederive(hippo._context.writer, lambda: next(stops))  # pyright: ignore[reportPrivateUsage]
        half = rows(folder)
        assert len([1 for _, equality in half["equality"] if equality == "x"]) == BATCH
    assert rows(folder) == before


def run(source: Path, script: str, folder: Path) -> str:
    paths = (source, Path(__file__).parents[1])
    start = (
        "import sys, hashed\nhashed.install(setattr)\nfrom hippocampe import Config, Hippocampe, Scope\n"
        "scope = Scope(user='dev', channel='lobby')\n"
        "config = Config(sys.argv[1], embedder='hashed:32', background=False)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    return subprocess.run(
        [sys.executable, "-c", start + script, str(folder)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_a_new_wording_nominates_an_old_memory(tmp_path: Path, folder: Path) -> None:
    source = Path(hippocampe.__file__).parent
    copy = tmp_path / "source" / "hippocampe"
    # With its compiled modules, which stay valid.
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("sample"))
    run(
        copy.parent,
        "with Hippocampe.open(config) as hippo:\n"
        "    hippo.remember('Nadia hangs her hat in Ghent', scope=scope)\n",
        folder,
    )
    wordings = copy / "language" / "en" / "relations.toml"
    text = wordings.read_text(encoding="utf-8")
    old = "[relations.home]\nstates = [\n"
    assert old in text
    wordings.write_text(text.replace(old, f'{old}  "hangs her hat in {{value}}",\n'), "utf-8")
    told = run(
        copy.parent,
        "Hippocampe.open(config).close()\n"
        "with Hippocampe.open(config) as hippo:\n"
        "    print(hippo.remember('Nadia has moved to Leuven', scope=scope).action)\n",
        folder,
    )
    assert told.strip() == "updated"
