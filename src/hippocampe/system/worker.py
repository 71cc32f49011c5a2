"""Work done by a process of its own: told what to do as JSON, it answers with what it prints."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any


class ChildFailed(Exception):
    """The process could not be started, or ended with an error, whose last line this is."""


def _interpreter() -> str:
    """The Python to run. A frozen program, or one that embeds Python, would start itself instead."""
    name = PurePath(sys.executable or "").name.lower()
    if getattr(sys, "frozen", False) or not name.startswith(("python", "pypy")):
        raise ChildFailed(
            f"{name or 'this program'} is no Python interpreter that could be started"
        )
    return sys.executable


def run(
    arguments: Sequence[str],
    order: Any,
    *,
    started: Callable[["subprocess.Popen[str]"], None] = lambda _: None,
) -> str:
    """Run Python with these arguments and wait for what it prints.

    Args:
        arguments: Of the interpreter, such as `("-m", "hippocampe.engine.generations")`.
        order: What it reads as JSON.
        started: Is given the process, and may kill it.

    Raises:
        ChildFailed: It cannot be started, ended with an error, or was killed.
    """
    command = [_interpreter(), *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        started(child)
        printed, complained = child.communicate(json.dumps(order))
    if child.returncode != 0:
        raise ChildFailed((complained.strip().splitlines() or ["it was ended"])[-1])
    return printed
