"""Shell commands that run this program, and that install its extras."""

import json
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

PROGRAM = "hippocampe"


def command_line(*words: str) -> str:
    """A command line ready to copy: quoted, with the full path of this installation if it is not on `PATH`."""
    return _quoted(*_program(), *words)


def install_line(extra: str = "") -> str:
    """A command line ready to copy that completes this installation, from where it was installed, with an extra."""
    source = _source()
    wanted = (f"{PROGRAM}[{extra}]" if extra else PROGRAM) + (f" @ {source}" if source else "")
    return _quoted(sys.executable, "-m", "pip", "install", wanted)


def _quoted(*line: str) -> str:
    return subprocess.list2cmdline(line) if sys.platform == "win32" else shlex.join(line)


def _program() -> list[str]:
    folder = Path(sys.executable).parent
    found = shutil.which(PROGRAM)
    if found is not None and folder in (Path(found).parent, Path(found).resolve().parent):
        return [PROGRAM]
    return [sys.executable, "-m", PROGRAM]


def _source() -> str | None:
    """The folder or archive that this was installed from; None if it came from a package index."""
    try:
        recorded = distribution(PROGRAM).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    return json.loads(recorded)["url"] if recorded else None
