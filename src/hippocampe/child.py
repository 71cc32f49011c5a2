"""Work done by a process of its own: told what to do as JSON, it answers with what it prints."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any


class ChildFailed(Exception):
    """The process ended with an error, whose last line this is."""


def run(
    arguments: Sequence[str],
    order: Any,
    *,
    started: Callable[["subprocess.Popen[str]"], None] = lambda _: None,
) -> str:
    """Run Python with these arguments and wait for what it prints.

    Args:
        arguments: Of the interpreter, such as `("-m", "hippocampe.rebuild")`.
        order: What it reads as JSON.
        started: Is given the process, and may kill it.

    Raises:
        ChildFailed: It ended with an error, or was killed.
    """
    command = [sys.executable, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        started(child)
        printed, complained = child.communicate(json.dumps(order))
    if child.returncode != 0:
        raise ChildFailed((complained.strip().splitlines() or ["it was ended"])[-1])
    return printed
