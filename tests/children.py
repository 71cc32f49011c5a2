"""Child processes that open a data folder, so that a test can kill them or let them wait."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hippocampe

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
