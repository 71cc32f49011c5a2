"""Lines for a shell that run this program."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = "hippocampe"


def command_line(*words: str) -> str:
    """A line that works as copied: quoted, and of this installation also where it is not on the path."""
    line = [*_program(), *words]
    return subprocess.list2cmdline(line) if sys.platform == "win32" else shlex.join(line)


def _program() -> list[str]:
    folder = Path(sys.executable).parent
    found = shutil.which(PROGRAM)
    if found is not None and folder in (Path(found).parent, Path(found).resolve().parent):
        return [PROGRAM]
    return [sys.executable, "-m", PROGRAM]
