"""The numbers of a data folder."""

import sys
from pathlib import Path

import pytest

from hippocampe import Hippocampe, Scope


@pytest.mark.skipif(sys.platform == "win32", reason="it does not say how many blocks a file has")
def test_a_sparse_file_counts_as_what_it_takes(memory: Hippocampe, folder: Path) -> None:
    memory.remember("Paul aime le thé vert", scope=Scope())
    before = memory.vitals().bytes
    assert before["database"] >= 4_096
    with (folder / "index" / "growing").open("wb") as file:
        file.write(b"x" * 8_192)
        file.truncate(2**40)
    after = memory.vitals().bytes
    assert 8_192 <= after["index"] - before["index"] < 2**20
