"""Run a Python module in a child process: JSON on its standard input, its output as the result."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any


class ChildFailed(Exception):
    """The process could not be started, or failed; the message is the last line of its errors."""


def _interpreter() -> str:
    """The Python to run. Frozen and embedding programs are refused: they would start themselves."""
    name = PurePath(sys.executable or "").name.lower()
    if getattr(sys, "frozen", False) or not name.startswith(("python", "pypy")):
        raise ChildFailed(
            f"{name or 'this program'} is not a Python interpreter that can be started"
        )
    return sys.executable


def run(
    arguments: Sequence[str],
    order: Any,
    *,
    started: Callable[["subprocess.Popen[str]"], None] = lambda _: None,
) -> str:
    """Run Python with these arguments and return its standard output.

    Args:
        arguments: Arguments of the interpreter, such as `("-m", "hippocampe.engine.generations")`.
        order: Sent as JSON to its standard input.
        started: Called with the process, which it may kill.

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
