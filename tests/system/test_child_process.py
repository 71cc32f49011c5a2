"""A child process ends with the process that started it."""

import sys
import time
from pathlib import Path

import pytest

import children

fcntl = pytest.importorskip("fcntl")

# `PyDLL` keeps the interpreter lock, as the engine does while it builds a graph.
CHILD = """
import ctypes, fcntl
from hippocampe.system import worker
file = open(worker.taken_order(), "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("taken", file=file, flush=True)
ctypes.PyDLL(None).sleep(60)
"""
PARENT = f"""
import sys
from hippocampe.system import worker
worker.run(("-c", {CHILD!r}), sys.argv[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="signals of closed pipes")
def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    held = tmp_path / "held"
    with children.running("-c", PARENT, held) as parent:
        ends = time.monotonic() + 60
        while not (held.exists() and held.read_text()):
            assert time.monotonic() < ends
            time.sleep(0.02)
        parent.kill()
    with held.open() as file:
        ends = time.monotonic() + 30
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < ends, "it goes on"
                time.sleep(0.02)
