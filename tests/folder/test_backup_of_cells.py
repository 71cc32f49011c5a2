"""A backup of all cells: each space is in it once, an erasure reaches it, and an unfinished one is never taken for it."""

import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from test_cells import config, contents
from typer.testing import CliRunner

from children import child
from hippocampe import (
    FolderInUse,
    Hippocampe,
    InvalidInput,
    Scope,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreMissing,
)
from hippocampe.cells import Divided, folder_of, hashed
from hippocampe.cli.app import app
from hippocampe.hippocampe import back_up_cells, divide
from hippocampe.system import free_space

HERE, THERE = (
    next(s for s in map("jardin-{}".format, range(64)) if hashed(s, 2) == n) for n in (0, 1)
)
"""A space of each of two cells."""


@pytest.fixture
def data(hashed: None, folder: Path) -> Path:
    """A divided folder with a statement in each cell."""
    divide(config(folder), 2)
    for cell, space in enumerate((HERE, THERE)):
        with Hippocampe.open(config(folder_of(folder, cell))) as hippo:
            hippo.remember(f"la glycine de {space} fleurit", scope=Scope(space=space))
    return folder


def copy(folder: Path, file: Path) -> None:
    with Hippocampe.open(config(folder)) as hippo:
        hippo.backup(file)


def move(root: Path, space: str, target: int) -> None:
    """Move a space as the server does, without one."""
    divided = Divided(root)
    source = divided.read().cell_of(space)
    with (
        Hippocampe.open(config(folder_of(root, source))) as first,
        Hippocampe.open(config(folder_of(root, target))) as second,
    ):
        passed = root / "cells" / "passed.db"
        first.relocation.copy_out(space, passed)
        second.relocation.copy_in(space, passed)
        passed.unlink()
        divided.write(divided.read().having(space, target))
        first.relocation.remove([space])


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def run(folder: Path, *typed: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, [*typed, "--folder", str(folder)])
    assert done.exit_code == code, done.output
    return done.output


def test_a_backup_is_a_divided_folder(data: Path, tmp_path: Path) -> None:
    def killed_once(folder: Path, file: Path) -> None:
        copy(folder, file)
        file.with_name("hippocampe-0.partial").touch()

    made = back_up_cells(data, killed_once, tmp_path / "new" / "copy")
    assert made == tmp_path / "new" / "copy"
    assert files(made) == {"cells.json", "hippocampe.db", "cells/1/hippocampe.db"}
    assert made.stat().st_mode & 0o077 == 0
    restored = shutil.copytree(made, tmp_path / "restored")
    assert contents(restored) == {HERE: [0], THERE: [1]}
    assert Divided(restored).read() == Divided(data).read()
    assert "2 memories" in run(restored, "verify")
    # As the server does at its start.
    assert divide(config(restored), 2).embedder == config(data).embedder


def test_an_existing_folder_is_replaced_only_when_asked_and_only_a_backup(
    data: Path, tmp_path: Path
) -> None:
    made = back_up_cells(data, copy, tmp_path / "copy")
    before = files(made)
    with pytest.raises(InvalidInput, match="--force"):
        back_up_cells(data, copy, made)

    def fail(folder: Path, file: Path) -> None:
        raise StoreError("the cable was pulled.")

    with pytest.raises(StoreError, match="cable"):
        back_up_cells(data, fail, made, overwrite=True)
    assert files(made) == before
    with Hippocampe.open(config(folder_of(data, 1))) as hippo:
        hippo.remember("le lilas a gelé", scope=Scope(space=THERE))
    assert back_up_cells(data, copy, made, overwrite=True) == made
    with Hippocampe.open(config(folder_of(made, 1))) as hippo:
        assert hippo.recall("lilas", scope=Scope(space=THERE))
    # From now on it is a data folder in use.
    divide(config(made), 2)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    for target in (made, foreign, data, tmp_path):
        with pytest.raises(InvalidInput, match="not a backup"):
            back_up_cells(data, copy, target, overwrite=True)
    with pytest.raises(InvalidInput, match="data folder"):
        back_up_cells(data, copy, data / "cells" / "copy")
    assert sorted(each.name for each in tmp_path.glob("*.partial*")) == []


def test_a_space_that_moves_meanwhile_is_in_it_once(data: Path) -> None:
    copied: list[Path] = []

    def moving(folder: Path, file: Path) -> None:
        copy(folder, file)
        copied.append(folder)
        # There and back: the division is the same again, and the copies have it twice or not at all.
        if len(copied) == 1:
            move(data, HERE, 1)
        elif len(copied) == 2:
            move(data, HERE, 0)

    made = back_up_cells(data, moving)
    assert len(copied) == 4
    assert contents(made) == {HERE: [0], THERE: [1]}

    def never_still(folder: Path, file: Path) -> None:
        copy(folder, file)
        Divided(data).write(Divided(data).read())

    with pytest.raises(StoreBusy, match="are being moved"):
        back_up_cells(data, never_still)
    assert [each.name for each in (data / "backups").iterdir()] == [made.name]


def test_a_slow_copy_outlasts_a_move(data: Path, tmp_path: Path) -> None:
    written: list[Path] = []

    def during_a_move(folder: Path, file: Path) -> None:
        copy(folder, file)
        if folder == folder_of(data.absolute(), 0) and len(written) < 3:
            written.append(folder)
            Divided(data).write(Divided(data).read())

    made = back_up_cells(data, during_a_move, tmp_path / "made")
    assert len(written) == 3
    assert contents(made) == {HERE: [0], THERE: [1]}


def test_a_move_that_had_not_ended_is_undone_in_the_copy(data: Path) -> None:
    divided = Divided(data)
    divided.write(replace(divided.read(), moving={HERE: 1}))
    made = Divided(back_up_cells(data, copy)).read()
    assert (made.cell_of(HERE), made.moving, made.stale) == (0, {}, {HERE: 1})


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interrupted_backup_leaves_nothing(data: Path, error: BaseException) -> None:
    def interrupted(folder: Path, file: Path) -> None:
        copy(folder, file)
        if folder != data:
            raise error

    expected = StoreFull if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        back_up_cells(data, interrupted)
    assert [*(data / "backups").iterdir()] == []


def test_a_full_disk_is_said_before_anything_is_copied(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path) -> int:
        return free_space.RESERVE + 100_000

    def never(folder: Path, file: Path) -> None:
        raise AssertionError

    monkeypatch.setattr(free_space, "free", full)
    with pytest.raises(StoreFull, match="Free some space"):
        back_up_cells(data, never)
    assert [*(data / "backups").iterdir()] == []


_KILLED = """
import os, signal
from hippocampe.hippocampe import back_up_cells
def copy(cell, file):
    if cell != folder: os.kill(os.getpid(), signal.SIGKILL)
    with Hippocampe.open(Config(cell, embedder="hashed:32", background=False)) as hippo: hippo.backup(file)
back_up_cells(folder, copy)
"""


def test_a_killed_backup_is_removed_by_the_next_one_and_erased_before(data: Path) -> None:
    with child(_KILLED, data) as process:
        assert process.wait(60) == -signal.SIGKILL
    [left] = (data / "backups").iterdir()
    assert left.name.endswith(".partial")
    # A process that was killed with it, in the middle of its own copy.
    half = left / "hippocampe-0.partial"
    half.write_bytes(b"glycine")
    with Hippocampe.open(config(data)) as hippo:
        assert not half.exists()
        hippo.erase(scope=Scope(space=HERE), whole_space=True)
        assert hippo.verify(absent=["glycine de " + HERE]).ok
    assert left.exists()
    made = back_up_cells(data, copy)
    assert [each.name for each in (data / "backups").iterdir()] == [made.name]


def test_one_backup_at_a_time(data: Path) -> None:
    def nested(folder: Path, file: Path) -> None:
        with pytest.raises(FolderInUse, match="another backup"):
            back_up_cells(data, copy)
        copy(folder, file)

    back_up_cells(data, nested)


def test_a_space_that_moved_stays_in_earlier_backups_until_it_is_erased(data: Path) -> None:
    made = back_up_cells(data, copy)
    move(data, HERE, 1)
    assert contents(shutil.copytree(made, data.parent / "restored"))[HERE] == [0]
    with Hippocampe.open(config(folder_of(data, 1))) as hippo:
        hippo.erase(scope=Scope(space=HERE), whole_space=True)
    with Hippocampe.open(config(data)) as hippo:
        # It searches the backups too.
        assert hippo.verify(absent=["glycine de " + HERE]).ok
        assert not hippo.verify(absent=["glycine de " + THERE]).ok
    assert contents(made) == {THERE: [1]}


def test_an_erasure_during_a_backup_reaches_the_copy(data: Path) -> None:
    def erasing(folder: Path, file: Path) -> None:
        copy(folder, file)
        if folder != data:
            with Hippocampe.open(config(data)) as hippo:
                hippo.erase(scope=Scope(space=HERE), whole_space=True)

    assert contents(back_up_cells(data, erasing)) == {THERE: [1]}


def test_a_damaged_copy_is_refused(data: Path, tmp_path: Path) -> None:
    made = back_up_cells(data, copy, tmp_path / "copy")
    (made / "cells" / "1" / "hippocampe.db").write_bytes(b"no database" * 1_000)
    with pytest.raises(StoreCorrupt, match="cells/1"):
        divide(config(made), 2)
    (made / "cells" / "1" / "hippocampe.db").unlink()
    # Not created empty: its spaces would be lost without a word.
    with pytest.raises(StoreMissing, match="cell 1"):
        divide(config(made), 2)
    assert "cells/1" in "".join(run(made, "verify", code=4).split())
    (made / "cells.json").write_text("[]")
    with pytest.raises(StoreError, match=r"cells\.json"):
        divide(config(made), 2)


def test_verify_is_of_all_cells_and_names_the_one(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "2 memories" in run(data, "verify")
    assert "Only for cell 1" in run(folder_of(data, 1), "verify")
    said = run(data, "verify", "--absent", "glycine de " + THERE, code=4)
    assert "cell 1: hippocampe.db" in " ".join(said.split())
    # The folder of the first cell holds that of the second, whose files are named once.
    assert "cell 0" not in said
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    said = run(data, "verify", "--absent", "glycine de " + THERE, code=4)
    assert "cellule 1 : hippocampe.db" in " ".join(said.split())
    assert "cellule 0" not in said
    # Of a cell that cannot be opened, they are found in the folder that holds it.
    (folder_of(data, 1) / "hippocampe.db").write_bytes(b"la glycine fleurit" * 1_000)
    said = run(data, "verify", "--absent", "glycine", code=4)
    assert "cellule 0 : cells/1/hippocampe.db" in " ".join(said.split())
