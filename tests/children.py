"""Child processes that open a data folder, so that a test can kill them or let them wait."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hippocampe
from hippocampe.system.owner import read_owner

_START = """
import sys
from pathlib import Path
import hashed
hashed.install(setattr)
from hippocampe import Config, Hippocampe, Scope
scope = Scope(user="dev", channel="lobby")
folder = Path(sys.argv[1])
"""


@contextmanager
def child(script: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """Run Python with the embedders `hashed:…`; `folder` is its first argument."""
    here = (Path(hippocampe.__file__).parents[1], Path(__file__).parent)
    process = subprocess.Popen(
        [sys.executable, "-c", _START + script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, here))},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def stopping(folder: Path) -> Iterator[None]:
    """Stop the server that a program started for a folder, at the end."""
    try:
        yield
    finally:
        ends = time.monotonic() + 30
        if (owner := read_owner(folder)) is not None:
            os.kill(owner.pid, signal.SIGTERM)
        while read_owner(folder) is not None and time.monotonic() < ends:
            time.sleep(0.02)
