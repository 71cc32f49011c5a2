"""Shell commands that run this program."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = "hippocampe"


def command_line(*words: str) -> str:
    """A command line ready to copy: quoted, with the full path of this installation if it is not on `PATH`."""
    line = [*_program(), *words]
    return subprocess.list2cmdline(line) if sys.platform == "win32" else shlex.join(line)


def _program() -> list[str]:
    folder = Path(sys.executable).parent
    found = shutil.which(PROGRAM)
    if found is not None and folder in (Path(found).parent, Path(found).resolve().parent):
        return [PROGRAM]
    return [sys.executable, "-m", PROGRAM]
