"""What was acknowledged survives a kill at any instant."""

import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from children import child
from conftest import Opener
from hippocampe import Scope

ROUNDS = 5
"""`benchmarks/crash.py` has hundreds."""

WRITER = """
hippo = Hippocampe.open(Config(folder=folder, embedder="hashed:32", flush_seconds=0.05))
print("open", flush=True)
number = 0
while True:
    name = f"marque{sys.argv[2]}x{number}"
    if number % 3 == 2:
        said = hippo.after_turn(f"dis {name}", "oui", scope=scope)
    elif number % 7 == 6:
        said = hippo.set_fact("compteur", f"le {name}", scope=scope).memory.id
    else:
        said = hippo.remember(f"le {name} est ici", scope=scope).memory.id
    print(said, name, flush=True)
    number += 1
"""


@pytest.mark.usefixtures("hashed")
def test_every_acknowledged_write_is_there(folder: Path, open_hippo: Opener, scope: Scope) -> None:
    chance = random.Random(7)
    acknowledged: dict[str, str] = {}
    for number in range(ROUNDS):
        with child(WRITER, folder, number) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "open\n"
            # Counted in writes, not in seconds: the slowest disk sees as many of them.
            lines = [writer.stdout.readline() for _ in range(chance.randrange(8))]
            time.sleep(chance.uniform(0.0, 0.1))
            writer.kill()
            for line in (*lines, *writer.stdout):
                if line.endswith("\n"):
                    id, name = line.split()
                    acknowledged[id] = name
    assert len(acknowledged) > ROUNDS
    hippo = open_hippo(embedder="hashed:32")
    checked = hippo.verify()
    assert checked.ok, checked
    assert len(hippo.facts(scope=scope)) <= 1
    for id, name in acknowledged.items():
        found = hippo.recall(
            name, scope=scope, mode="text", collections=["memory", "turn"], limit=1
        )
        if not found:
            # A later value of the fact took its place.
            assert hippo.get(id, scope=scope).superseded_by
            continue
        assert found[0].id == id
        assert name in found[0].content


NEIGHBOUR = """
import threading
hippo = Hippocampe.open(Config(folder=folder, embedder="hashed:32"))
first = hippo.remember("le four chauffe", scope=scope).memory.id
for thread in threading.enumerate():
    if thread.name == "hippocampe-reading":
        thread.join()
assert hippo.verify(absent=["Zéphyrine"]).ok
print(first, flush=True)
sys.stdin.readline()
print(hippo.remember("la barque est verte", scope=scope).memory.id, flush=True)
sys.stdin.readline()
"""


@pytest.mark.usefixtures("hashed")
def test_a_neighbour_who_looks_in_takes_nothing_away(
    folder: Path, open_hippo: Opener, scope: Scope
) -> None:
    """Closing a file gives up the locks that a process has on it, SQLite's own too; whoever then closes
    the database in another process believes to be the last, and removes its log of changes."""
    with child(NEIGHBOUR, folder) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        first = writer.stdout.readline().strip()
        with closing(sqlite3.connect(folder / "hippocampe.db")) as neighbour:
            assert neighbour.execute("SELECT count(*) FROM memory").fetchone() == (1,)
        print(file=writer.stdin, flush=True)
        second = writer.stdout.readline().strip()
        writer.kill()
    hippo = open_hippo(embedder="hashed:32")
    kept = [hippo.get(id, scope=scope).content for id in (first, second)]
    assert kept == ["le four chauffe", "la barque est verte"]
