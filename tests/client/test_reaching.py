"""Reach the owner of a folder: who holds it, when to start a process, and when to give up."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from hippocampe.client.reaching import Held, NotStarted, Unreached, reach
from hippocampe.system.local_socket import HELD_SECONDS, IN_USE, LOCK, is_held


@pytest.fixture
def started() -> Iterator[list["subprocess.Popen[bytes]"]]:
    """The processes that a test starts."""
    children: list[subprocess.Popen[bytes]] = []
    yield children
    for child in children:
        child.kill()
        child.wait()


def program(children: list["subprocess.Popen[bytes]"], script: str) -> "subprocess.Popen[bytes]":
    children.append(subprocess.Popen([sys.executable, "-c", script]))
    return children[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
def test_a_held_folder_is_recognised(tmp_path: Path) -> None:
    folder = os.fspath(tmp_path)
    assert is_held(folder) is False
    with FileLock(tmp_path / LOCK):
        assert is_held(folder) is True
        assert is_held(folder) is True
    assert is_held(folder) is False
    # Asking leaves the folder free.
    with FileLock(tmp_path / LOCK, timeout=0):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
def test_nothing_is_started_for_a_held_folder(tmp_path: Path) -> None:
    def attempt() -> None:
        raise Unreached

    def start() -> "subprocess.Popen[bytes]":
        raise AssertionError

    with FileLock(tmp_path / LOCK), pytest.raises(Held):
        reach(os.fspath(tmp_path), attempt, start, 60)


def test_another_is_started_when_the_owner_was_killed_in_the_meantime(
    tmp_path: Path, started: list["subprocess.Popen[bytes]"]
) -> None:
    """The first one took long to find the folder held, and then it was free."""
    scripts = iter(
        (f"import time; time.sleep({HELD_SECONDS + 0.2}); raise SystemExit({IN_USE})", "input()")
    )

    def attempt() -> str:
        if len(started) < 2:
            raise Unreached
        return "reached"

    found = reach(os.fspath(tmp_path), attempt, lambda: program(started, next(scripts)), seconds=60)
    assert (found, len(started)) == ("reached", 2)


def test_a_process_that_fails_is_not_started_again(
    tmp_path: Path, started: list["subprocess.Popen[bytes]"]
) -> None:
    def attempt() -> None:
        raise Unreached

    with pytest.raises(NotStarted):
        reach(os.fspath(tmp_path), attempt, lambda: program(started, "raise SystemExit(1)"), 60)
    assert len(started) == 1


def test_a_process_that_is_never_reached(
    tmp_path: Path, started: list["subprocess.Popen[bytes]"]
) -> None:
    def attempt() -> None:
        raise Unreached

    with pytest.raises(NotStarted):
        reach(os.fspath(tmp_path), attempt, lambda: program(started, "input()"), 0.3)
