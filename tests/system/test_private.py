"""Other users of the machine cannot read what is remembered, whatever the umask."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Opener
from hippocampe import Scope
from hippocampe.system import owner, private

pytestmark = [
    pytest.mark.usefixtures("hashed"),
    pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX"),
]
OTHERS = 0o077


@pytest.fixture(params=[0o000, 0o022, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def readable(folder: Path) -> list[str]:
    """Files and folders that others may read, or that their user may not."""
    paths = [folder, *folder.rglob("*")]
    modes = {path: path.lstat().st_mode for path in paths if not path.is_symlink()}
    return [
        f"{path.relative_to(folder)}: {stat.filemode(mode)}"
        for path, mode in modes.items()
        if mode & OTHERS or not mode & stat.S_IRUSR
    ]


@pytest.mark.usefixtures("umask")
def test_everything_that_is_written_is_private(
    tmp_path: Path, open_hippo: Opener, scope: Scope
) -> None:
    folder = tmp_path / "new" / "data"
    hippo = open_hippo(folder, embedder="hashed:32", graph_threshold=40)
    hippo.remember_many(
        [{"content": f"house {number} is red"} for number in range(60)], scope=scope
    )
    hippo.after_turn("the garden is large", "It is.", scope=scope)
    hippo.export_to(tmp_path / "space.jsonl", scope=scope)
    hippo.backup()
    hippo.backup(tmp_path / "copies" / "copy.db")
    owner.publish(folder, address="http://127.0.0.1:1")
    assert (folder / "hippocampe.db-wal").exists()
    assert (folder / "hippocampe.db-shm").exists()
    assert readable(tmp_path) == []
    # The graph is built by another process.
    hippo.reindex()
    hippo.remember("the last house is blue", scope=scope)
    hippo.close()
    assert list((folder / "index").rglob("*hnsw*"))
    assert readable(tmp_path) == []


def opened_up(folder: Path, open_hippo: Opener, scope: Scope) -> None:
    """Make a folder as earlier versions did."""
    hippo = open_hippo(folder, embedder="hashed:32")
    hippo.remember("the house is red", scope=scope)
    hippo.backup()
    hippo.close()
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    folder.chmod(0o755)


def test_a_folder_of_an_earlier_version_is_mended_and_logged_once(
    folder: Path, open_hippo: Opener, scope: Scope, caplog: pytest.LogCaptureFixture
) -> None:
    opened_up(folder, open_hippo, scope)
    open_hippo(embedder="hashed:32").close()
    assert readable(folder) == []
    assert caplog.text.count("other users of this machine could read") == 1
    open_hippo(embedder="hashed:32").close()
    assert caplog.text.count("other users of this machine could read") == 1


def test_a_new_folder_that_others_could_enter_had_nothing_to_read(
    folder: Path, open_hippo: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    folder.mkdir(mode=0o755)
    open_hippo(embedder="hashed:32").close()
    assert readable(folder) == []
    assert "could read" not in caplog.text


def test_a_folder_with_other_files_keeps_its_permissions(
    folder: Path, tmp_path: Path, open_hippo: Opener, scope: Scope
) -> None:
    opened_up(folder, open_hippo, scope)
    page, link, linked = folder / "page.html", folder / "index" / "link", tmp_path / "linked"
    for path in (page, linked):
        path.write_text("for all")
        path.chmod(0o644)
    link.symlink_to(linked)
    open_hippo(embedder="hashed:32").close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert stat.S_IMODE(page.stat().st_mode) == 0o644
    assert stat.S_IMODE(linked.stat().st_mode) == 0o644
    assert readable(folder)[1:] == ["page.html: -rw-r--r--"]


def test_an_empty_folder_becomes_private(folder: Path, open_hippo: Opener) -> None:
    folder.mkdir(mode=0o755)
    open_hippo(embedder="hashed:32").close()
    assert readable(folder) == []


def test_reading_changes_no_permissions(folder: Path, open_hippo: Opener, scope: Scope) -> None:
    opened_up(folder, open_hippo, scope)
    before = readable(folder)
    from hippocampe import Hippocampe

    with Hippocampe.open(folder, read_only=True) as reader:
        reader.memories(scope=scope)
    assert readable(folder) == before


def test_a_text_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    path.write_text("1")
    with path.open() as reader:
        private.replace_text(path, "2")
        assert (reader.read(), path.read_text()) == ("1", "2")
