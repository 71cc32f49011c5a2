"""A data folder divided among cells: nothing is lost or doubled, whenever a process is killed."""

import asyncio
import json
import shutil
import signal
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from children import child
from conftest import Opener
from hippocampe import (
    Config,
    Hippocampe,
    InvalidInput,
    NotFound,
    Reindexed,
    Remembered,
    Scope,
    SpaceElsewhere,
    StoreBusy,
    StoreMissing,
)
from hippocampe.cells import Divided, Division, Fence, folder_of, hashed
from hippocampe.cli.app import app
from hippocampe.cli.call import Call
from hippocampe.cli.cells import cells_of
from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.hippocampe import divide
from hippocampe.server.cells import moves
from hippocampe.system.local_socket import DIVISION

EMBEDDER = "hashed:32"
SPACES = [f"space-{number}" for number in range(8)]


def config(folder: Path) -> Config:
    return Config(folder, embedder=EMBEDDER, background=False)


def fill(folder: Path) -> None:
    """Fill the folder of a single process."""
    with Hippocampe.open(config(folder)) as hippo:
        for space in SPACES:
            hippo.remember(f"le chat de {space} dort", scope=Scope(space=space))


def contents(root: Path) -> dict[str, list[int]]:
    """The cells with memories of each space, read past the division."""
    found: dict[str, list[int]] = {}
    for cell in range(Divided(root).read().count):
        with Hippocampe.open(config(folder_of(root, cell))) as hippo:
            for space in hippo.spaces():
                found.setdefault(space, []).append(cell)
    return found


def test_names_spread_and_few_move_when_a_cell_is_added() -> None:
    names = [f"name-{number}" for number in range(3_000)]
    before = [hashed(name, 4) for name in names]
    after = [hashed(name, 5) for name in names]
    assert all(600 < before.count(cell) < 900 for cell in range(4))
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert 450 < len(changed) < 750
    assert set(changed) == {4}


def test_a_database_of_many_processes_is_not_divided(folder: Path) -> None:
    urls = {"database_url": "postgresql://127.0.0.1/none", "qdrant_url": "http://127.0.0.1:1"}
    shared = Config(folder, background=False, **urls)
    with pytest.raises(InvalidInput, match="several servers"):
        divide(shared, 2)
    assert not folder.exists()


def test_a_folder_is_divided_in_place(hashed: None, folder: Path) -> None:
    fill(folder)
    before = {each.name for each in folder.iterdir()}
    divide(config(folder), 2)
    assert before <= {each.name for each in folder.iterdir()}
    division = Divided(folder).read()
    assert [division.cell_of(space) for space in SPACES] == [0] * len(SPACES)
    # Pinned are only those that hash elsewhere.
    assert 0 < len(division.pinned) < len(SPACES)
    assert {division.cell_of(f"new-{number}") for number in range(20)} == {0, 1}
    assert contents(folder) == {space: [0] for space in SPACES}


def test_a_cell_is_added_and_only_an_empty_one_dropped(hashed: None, folder: Path) -> None:
    divide(config(folder), 2)
    there = next(space for space in SPACES if Divided(folder).read().cell_of(space) == 1)
    with Hippocampe.open(config(folder_of(folder, 1))) as hippo:
        hippo.remember("le voilier est au port", scope=Scope(space=there))
    divide(config(folder), 3)
    assert Divided(folder).read().cell_of(there) == 1
    with pytest.raises(InvalidInput, match=f"{there}.*hippocampe move-space"):
        divide(config(folder), 1)
    path = folder / "cells" / "copy.db"
    with (
        Hippocampe.open(config(folder)) as first,
        Hippocampe.open(config(folder_of(folder, 1))) as second,
    ):
        second.relocation.copy_out(there, path)
        first.relocation.copy_in(there, path)
        second.relocation.remove([there])
    Divided(folder).write(Divided(folder).read().having(there, 0))
    divide(config(folder), 1)
    assert not (folder / DIVISION).exists()


def test_a_cell_refuses_the_spaces_of_others(hashed: None, folder: Path) -> None:
    fill(folder)
    divide(config(folder), 2)
    divided = Divided(folder)
    theirs = next(s for s in map("other-{}".format, range(99)) if divided.read().cell_of(s) == 1)
    with Hippocampe.open(config(folder)) as hippo:
        with pytest.raises(SpaceElsewhere, match=r"cell 1.*cells"):
            hippo.recall("chat", scope=Scope(space=theirs))
        with pytest.raises(SpaceElsewhere):
            hippo.remember("le chat dort", scope=Scope(space=theirs))
        # While a space is moved, it is read and not written.
        own = Scope(space=SPACES[0])
        divided.write(replace(divided.read(), moving={own.space: 1}))
        assert hippo.recall("chat", scope=own)
        with pytest.raises(SpaceElsewhere, match="being moved"):
            hippo.remember("le chat mange", scope=own)
        divided.write(replace(divided.read(), moving={}))
        assert hippo.remember("le chat mange", scope=own).action == "inserted"
        # An erasure does not reach the copy that a move has left.
        divided.write(replace(divided.read(), stale={own.space: 1}))
        id = hippo.recall("chat", scope=own)[0].id
        assert hippo.erase(id=id, scope=own, dry_run=True).ids
        with pytest.raises(StoreBusy, match=r"nothing was erased.* cell 1"):
            hippo.erase(id=id, scope=own)
        assert hippo.get(id, scope=own)
        divided.write(replace(divided.read(), stale={}))
        assert hippo.erase(id=id, scope=own).ids


def test_a_move_waits_for_writes_under_way(folder: Path) -> None:
    folder.mkdir()
    Divided(folder).write(Division(2))
    own = next(space for space in SPACES if hashed(space, 2) == 0)
    fence = Fence(folder, 0)
    with fence.using(own, writes=True), pytest.raises(InvalidInput, match="under way"):
        fence.settle(own, 0.05)
    fence.settle(own, 0.05)


@pytest.mark.parametrize("found", ["nothing", "an error"])
def test_a_read_during_which_the_space_leaves_is_not_answered(folder: Path, found: str) -> None:
    folder.mkdir()
    divided = Divided(folder)
    divided.write(Division(2))
    own = next(space for space in SPACES if hashed(space, 2) == 0)
    with pytest.raises(SpaceElsewhere, match="cell 1"), Fence(folder, 0).using(own, writes=False):
        # The copy here can be removed from now on.
        divided.write(divided.read().having(own, 1))
        if found == "an error":
            raise NotFound("there is no such memory.")


def test_keys_are_those_of_all_cells(hashed: None, folder: Path) -> None:
    divide(config(folder), 2)
    here, there = (
        next(s for s in SPACES if Divided(folder).read().cell_of(s) == cell) for cell in (0, 1)
    )
    with (
        Hippocampe.open(config(folder)) as first,
        Hippocampe.open(config(folder_of(folder, 1))) as second,
    ):
        made = second.create_key(scope=Scope(space=there), role="write")
        first.create_key(scope=Scope(space=here), role="read")
        assert first.find_key(made.secret) == second.find_key(made.secret) == made.key
        assert len(second.keys()) == 2
        [entry] = second.audit(scope=Scope(space=there))
        assert entry.action == "create_key"
        first.revoke_key(made.key.id)
        assert second.find_key(made.secret) is None
        second.erase(scope=Scope(space=there), whole_space=True)
        [left] = first.keys()
        assert left.space == here


def test_a_copy_has_everything_and_leaves_nothing_behind(
    hashed: None, open_hippo: Opener, tmp_path: Path
) -> None:
    source, target = (open_hippo(tmp_path / name, embedder=EMBEDDER) for name in ("a", "b"))
    me, other = Scope(space="home", user="dev", channel="lobby"), Scope(space="work")
    old = source.remember("Nina habite à Lyon", scope=me, subjects=["nina"]).memory
    source.remember("Nina habite à Brest", scope=me, replaces=[old.id])
    source.after_turn("La rhubarbe est mûre", "Oui", scope=me)
    source.update_settings(scope=me, companion_names=["eko"])
    source.record_usage(scope=me, model="m", purpose="chat", input_tokens=1, output_tokens=1)
    source.before_turn("où habite Nina ?", scope=me)
    source.backup()
    # Other words come first there: their numbers differ.
    target.remember("le bureau ferme tôt, la cantine aussi", scope=other)

    def all_of(hippo: Hippocampe) -> list[object]:
        found = hippo.recall("où habite Nina ?", scope=me, collections=("memory", "turn"))
        return [
            # Time passes, which counts a little.
            [(each.id, each.memory, round(each.score, 4)) for each in found],
            hippo.history(old.id, scope=me),
            hippo.messages(scope=me),
            hippo.settings(scope=me),
            hippo.usage(scope=me),
            [(each.id, each.items) for each in hippo.retrievals(scope=me)],
            hippo.audit(scope=me),
        ]

    path = tmp_path / "copy" / "home.db"
    rows = source.relocation.copy_out("home", path)
    assert target.relocation.copy_in("home", path) == rows
    assert all_of(target) == all_of(source)
    # Again, as after a crash: nothing is doubled.
    assert target.relocation.copy_in("home", path) == rows
    assert target.verify().ok
    source.relocation.remove(["home"])
    assert source.spaces() == {}
    assert source.verify(absent=["rhubarbe", "Brest"]).ok
    assert target.recall("le bureau", scope=other)


def test_a_write_during_a_copy_may_have_the_same_words(
    hashed: None, open_hippo: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = (open_hippo(tmp_path / name, embedder=EMBEDDER) for name in ("a", "b"))
    source.remember("la rhubarbe est mûre", scope=Scope(space="home"))
    path = tmp_path / "copy" / "home.db"
    source.relocation.copy_out("home", path)
    follow = Vocabulary.follow
    with ThreadPoolExecutor(1) as thread:
        written: list[Future[Remembered]] = []

        def after_a_write(self: Vocabulary, spaces: list[str]) -> None:
            scope = Scope(space="work")
            written.append(thread.submit(target.remember, "la rhubarbe gèle", scope=scope))
            wait(written, 0.5)
            follow(self, spaces)

        monkeypatch.setattr(Vocabulary, "follow", after_a_write)
        target.relocation.copy_in("home", path)
        assert written[0].result().memory.space == "work"
    assert target.verify().ok


_DIVIDING = """
import os, signal
from hippocampe.hippocampe import divide
from hippocampe.system.local_socket import DIVISION
from hippocampe.system import private
from pathlib import Path
before, when = Path.replace, sys.argv[2]
def killing(self, target):
    if "before" == when and "cells.json" in str(target): os.kill(os.getpid(), signal.SIGKILL)
    before(self, target)
    if "after" == when and "cells.json" in str(target): os.kill(os.getpid(), signal.SIGKILL)
Path.replace = killing
divide(Config(folder, embedder="hashed:32", background=False), 2)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_while_dividing_loses_nothing(hashed: None, folder: Path, when: str) -> None:
    fill(folder)
    with child(_DIVIDING, folder, when) as process:
        assert process.wait(60) == -signal.SIGKILL
    assert Divided(folder).exists == (when == "after")
    divide(config(folder), 2)
    assert contents(folder) == {space: [0] for space in SPACES}


_MOVING = """
import asyncio, json, os, signal
import httpx
from hippocampe.cells import Divided, folder_of
from hippocampe.server.cells.moves import Mover
steps, space, dying = [], sys.argv[2], sys.argv[3]
cells = [Hippocampe.open(Config(folder_of(folder, each), embedder="hashed:32", background=False)) for each in (0, 1)]
async def ask(cell, name, arguments):
    if dying == f"before {name}": os.kill(os.getpid(), signal.SIGKILL)
    if name == "spaces": return httpx.Response(200, content=json.dumps(list(cells[cell].spaces())))
    relocation = cells[cell].relocation
    step = {"copy-out": relocation.copy_out, "copy-in": relocation.copy_in, "remove": relocation.remove}[name]
    named = {each: Path(value) if each == "path" else value for each, value in arguments.items()}
    done = step(**named)
    if dying == f"after {name}": os.kill(os.getpid(), signal.SIGKILL)
    return httpx.Response(200, content=json.dumps(done))
async def main():
    mover = Mover(Divided(folder), ask, None)
    if dying == "tidy": await mover.tidy()
    elif space == "spread":
        while await mover.spread(): pass
    else: await mover.move(space, 1)
asyncio.run(main())
for each in cells: each.close()
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", ["copy-out", "copy-in", "remove"])
def test_a_kill_while_moving_leaves_one_copy(
    hashed: None, folder: Path, step: str, moment: str
) -> None:
    fill(folder)
    divide(config(folder), 2)
    with child(_MOVING, folder, SPACES[0], f"{moment} {step}") as process:
        assert process.wait(60) == -signal.SIGKILL
    divide(config(folder), 2)
    division = Divided(folder).read()
    assert division.moving == {}
    cell = division.cell_of(SPACES[0])
    assert cell == (1 if step == "remove" else 0)
    with Hippocampe.open(config(folder_of(folder, cell))) as hippo:
        assert hippo.recall("chat", scope=Scope(space=SPACES[0]))
        assert hippo.verify().ok
    with child(_MOVING, folder, SPACES[0], "tidy") as process:
        assert process.wait(60) == 0
    assert contents(folder)[SPACES[0]] == [cell]
    assert json.loads((folder / DIVISION).read_text())["stale"] == {}


def test_a_copy_that_could_not_be_removed_is_removed_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(moves, "TIDY_SECONDS", 0.01)
    folder.mkdir()
    divided = Divided(folder)
    divided.write(Division(2, stale={"a": 1}))
    answers = iter([(507, {"detail": "no room"}), (200, {})])

    async def ask(*_: object) -> httpx.Response:
        status, content = next(answers)
        return httpx.Response(status, json=content)

    async def tidied() -> None:
        tidying = asyncio.create_task(moves.Mover(divided, ask, None).stay_tidy())
        while divided.read().stale:
            await asyncio.sleep(0.01)
        tidying.cancel()

    asyncio.run(tidied())
    assert [each.getMessage().rpartition(": ")[2] for each in caplog.records] == ["no room"]


@pytest.mark.usefixtures("hashed")
@pytest.mark.parametrize("dying", ["never", "before copy-in", "before remove", "after remove"])
def test_spreading_puts_each_space_where_its_name_hashes_to(folder: Path, dying: str) -> None:
    fill(folder)
    divide(config(folder), 2)
    astray = [space for space in SPACES if hashed(space, 2)]
    assert len(astray) > 1
    if dying != "never":
        with child(_MOVING, folder, "spread", dying) as process:
            assert process.wait(60) == -signal.SIGKILL
        divide(config(folder), 2)
    with child(_MOVING, folder, "spread", "never") as process:
        assert process.wait(60) == 0
    assert contents(folder) == {space: [hashed(space, 2)] for space in SPACES}
    division = Divided(folder).read()
    assert (set(division.pinned) - {"default"}, division.moving, division.stale) == (set(), {}, {})
    for cell in (0, 1):
        with Hippocampe.open(config(folder_of(folder, cell))) as hippo:
            assert hippo.verify().ok


@pytest.fixture
def data(hashed: None, folder: Path) -> Path:
    """A divided folder with statements in each cell."""
    fill(folder)
    divide(config(folder), 2)
    there = next(s for s in map("voisin-{}".format, range(64)) if Divided(folder).read().cell_of(s))
    with Hippocampe.open(config(folder_of(folder, 1))) as hippo:
        for number in range(3):
            hippo.remember(f"le hibou {number} veille", scope=Scope(space=there))
    return folder


def run(folder: Path, *typed: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, [*typed, "--folder", str(folder)])
    assert done.exit_code == code, done.output
    return done.output


def there_of(root: Path) -> str:
    """The space of the second cell."""
    with Hippocampe.open(config(folder_of(root, 1))) as hippo:
        return next(iter(hippo.spaces()))


def test_commands_on_a_folder_are_for_all_cells(data: Path) -> None:
    there = there_of(data)
    divided = Divided(data)
    found = json.loads(run(data, "spaces", "--json"))
    assert list(found) == [there, *SPACES]
    assert found[there] == {"memories": 3, "messages": 0}
    vitals = json.loads(run(data, "vitals", "--json"))
    assert vitals["indexed"] == {"memory": 11, "turn": 0, "live": 0, "note": 0}
    alone = json.loads(run(folder_of(data, 1), "vitals", "--json").partition("\n")[2])
    assert 0 < alone["bytes"]["database"] < vitals["bytes"]["database"]
    assert "Only for cell 1" in run(folder_of(data, 1), "spaces")
    # The copy that a move has left in the first cell is not listed a second time.
    move = data / "cells" / "copy.db"
    with (
        Hippocampe.open(config(data)) as first,
        Hippocampe.open(config(folder_of(data, 1))) as second,
    ):
        first.relocation.copy_out(SPACES[0], move)
        second.relocation.copy_in(SPACES[0], move)
        second.remember("le hibou chasse", scope=Scope(space=there))
    divided.write(divided.read().having(SPACES[0], 1).settled(SPACES[0], stale=0))
    with Hippocampe.open(config(folder_of(data, 1))) as second:
        second.remember("le renard attend", scope=Scope(space=SPACES[0]))
    found = json.loads(run(data, "spaces", "--json"))
    assert list(found) == [there, *SPACES]
    assert found[SPACES[0]]["memories"] == 2


def test_all_cells_are_indexed_again(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done_on: list[set[str]] = []
    reindex = Hippocampe.reindex

    def noted(self: Hippocampe, **arguments: object) -> Reindexed:
        done_on.append({*self.spaces()})
        return replace(reindex(self), mended=len(done_on), without_graph=("memory",))

    monkeypatch.setattr(Hippocampe, "reindex", noted)
    done = json.loads(run(data, "reindex", "--json"))
    assert done_on == [{*SPACES}, {there_of(data)}]
    assert done == {"embedder": "hashed-32", "without_graph": ["memory"], "mended": 3, "damaged": 0}


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "cannot open cell {}: there is no database in"),
        ("fr", "impossible d’ouvrir la cellule {} : il n’y a pas de base dans"),
    ],
)
@pytest.mark.parametrize("cell", [0, 1])
def test_a_missing_cell_is_named_and_not_created_empty(
    data: Path, monkeypatch: pytest.MonkeyPatch, cell: int, language: str, said: str
) -> None:
    monkeypatch.setenv("LC_ALL", f"{language}_FR.UTF-8")
    monkeypatch.setenv("COLUMNS", "10000")
    space = (SPACES[0], there_of(data))[cell]
    said = said.format(cell)
    home = folder_of(data, cell)
    for left in home.glob("hippocampe.db*"):
        left.unlink()
    if cell:
        shutil.rmtree(home)
    before = {*data.rglob("*")}
    for typed in (
        ("remember", "le hibou dort", "--space", space),
        ("list", "--space", space),
        ("mcp", "--space", space),
        ("spaces",),
        ("reindex",),
        ("serve", "--port", "0"),
    ):
        assert said in run(data, *typed, code=1)
    with pytest.raises(StoreMissing, match=f"cell {cell}"):
        Hippocampe.open(config(home))
    shown = run(data, "verify", code=4)
    assert shown.count(said) == 1
    assert said in run(data, "doctor", code=1)
    assert {
        path for path in {*data.rglob("*")} - before if path.name.startswith("hippocampe")
    } == set()
    assert cell == 0 or not home.exists()


def test_verify_reports_on_the_cells_after_a_bad_one(data: Path) -> None:
    found = json.loads(run(data, "verify", "--json"))
    assert (found["ok"], found["checked"]["memory"]) == (True, 11)
    divide(config(data), 3)
    for left in folder_of(data, 1).glob("hippocampe.db*"):
        left.unlink()
    damaged = folder_of(data, 2) / "hippocampe.db"
    damaged.write_bytes(b"no database" * 1_000)
    found = json.loads(run(data, "verify", "--json", code=4))
    assert found["checked"]["memory"] == 8
    missing, other = found["database"].splitlines()
    assert missing.startswith("cannot open cell 1")
    # Not "move the file away to start empty": a cell does not start empty.
    assert str(damaged) in other
    assert other.endswith("Restore all cells from a backup.")


def test_a_folder_with_cells_is_not_migrated_in_part(data: Path, tmp_path: Path) -> None:
    for folder in (data, folder_of(data, 1)):
        said = run(folder, "migrate", "--to", str(tmp_path / "new"), code=1)
        assert "hippocampe move-space" in " ".join(said.split())
    assert not (tmp_path / "new").exists()


def test_a_database_of_many_processes_has_no_cells(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPPOCAMPE_DATABASE_URL", "postgresql://127.0.0.1:1/none")
    monkeypatch.setenv("HIPPOCAMPE_QDRANT_URL", "http://127.0.0.1:1")
    there = there_of(data)
    call = Call(folder=folder_of(data, 1))
    assert cells_of(call) == [call]
    assert cells_of(Call(folder=data)) == [Call(folder=data)]
    assert Call(folder=data, space=there, of_space=True).config.folder == data
    # Nobody asked for cells.
    assert "cells" not in run(data, "serve", "--port", "0", code=1)
