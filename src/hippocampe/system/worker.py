"""Run a Python module in a child process: JSON on its standard input, its output as the result.

The input stays open as long as the parent lives. When that is killed, the child ends too, even in the middle of a call
that holds the interpreter lock for minutes: it would go on to read and write the folder beside the next owner.
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
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
        order: Sent as JSON to its standard input; see `taken_order`.
        started: Called with the process, which it may kill.

    Raises:
        ChildFailed: It cannot be started, ended with an error, or was killed.
    """
    command = [_interpreter(), *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        started(child)
        # Not closed by `communicate`, but once the child has ended.
        held, child.stdin = child.stdin, None
        assert held is not None
        try:
            # It may have failed already.
            with suppress(BrokenPipeError):
                held.write(json.dumps(order) + "\n")
                held.flush()
            printed, complained = child.communicate()
        finally:
            with suppress(BrokenPipeError):
                held.close()
    if child.returncode != 0:
        raise ChildFailed((complained.strip().splitlines() or ["it was ended"])[-1])
    return printed


def taken_order() -> Any:
    """Read the order of `run`, in the child process, which from now on ends when its parent does."""
    order = json.loads(sys.stdin.readline())
    with suppress(ModuleNotFoundError):
        import fcntl

        # The end of the input is a signal, which ends the process where the system does so by default: on Linux.
        source = sys.stdin.fileno()
        fcntl.fcntl(source, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(source, fcntl.F_SETFL, fcntl.fcntl(source, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([source], [], [], 0)[0]:
            # It ended before that.
            sys.exit(1)
    return order
