"""A program that may open no more files gets errors of ours, and nothing is changed."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from hippocampe import Config, Hippocampe, HippocampeError, Scope

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.usefixtures("hashed")
ME = Scope(user="dev")
CHANGES: dict[str, Callable[[Hippocampe], object]] = {
    "erase": lambda hippo: hippo.erase(scope=ME, user="dev"),
    "change of embedder": lambda hippo: hippo.reindex(embedder="hashed:32"),
    "reindex": lambda hippo: hippo.reindex(),
    "backup": lambda hippo: hippo.backup(hippo.config.folder / "backups" / "mine.db"),
}


@contextmanager
def few_files(left: int) -> Generator[None]:
    """Let this process open so many more files."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[0] + 64, hard))
    try:
        with suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(left):
            os.close(held.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
        for each in held:
            os.close(each)


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_changed_if_no_file_can_be_opened(tmp_path: Path, change: str) -> None:
    config = Config(tmp_path / "data", embedder="hashed:64", background=False)
    with Hippocampe.open(config, join=False) as hippo:
        for number in range(3):
            hippo.remember(f"Box {number} holds letters", scope=ME)
        hippo.backup(config.folder / "backups" / "before.db")
        before = hippo.memories(scope=ME)
        refused = 0
        for left in range(20):
            try:
                with few_files(left):
                    CHANGES[change](hippo)
                break
            except HippocampeError as exc:
                refused += 1
                assert "oo many" in str(exc)
                assert "permissions" not in str(exc)
            assert hippo.memories(scope=ME) == before
            assert len(hippo.recall("boxes with letters", scope=ME)) == 3
            assert hippo.stats(scope=ME).embedder == "hashed-64"
            assert hippo.verify().ok
        assert 0 < refused < 20
        assert hippo.verify().ok
