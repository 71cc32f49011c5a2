"""Programs whose data is on a small file system of their own, which they can fill."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hippocampe

MEGABYTES = 300
_MOUNT = {
    "ext4": f'truncate -s {MEGABYTES}M "$1.image" && mkfs.ext4 -q -m 0 "$1.image" && mount -o loop "$1.image" "$1"',
    "tmpfs": f'mount -t tmpfs -o size={MEGABYTES}m none "$1"',
}
_START = """
import os, sys, time
from pathlib import Path
import hashed
hashed.install(setattr)
from hippocampe import Config, Hippocampe, Scope, errors
disk = Path(sys.argv[1])
config = Config(folder=disk / "data", embedder="hashed:64", flush_seconds=0.1)
me = Scope(user="dev", channel="lobby")
ballast = disk / "ballast"

def fill(leave=0):
    ballast.unlink(missing_ok=True)
    with ballast.open("wb", buffering=0) as file:
        left = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        os.posix_fallocate(file.fileno(), 0, max(1, left - leave - (1 << 20)))
        file.seek(0, os.SEEK_END)
        size = 1 << 16
        while size and not leave:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2

def drain():
    ballast.unlink()

def refused(call):
    try:
        call()
    except errors.StoreFull as exc:
        return "ree some space" in str(exc)
    return False

def until(true):
    ends = time.monotonic() + 60
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.02)
"""
_FORK = """
import json, shutil, traceback

def forked(script, output):
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    for stream in (1, 2):
        os.dup2(os.open(f"{output}-{stream}", os.O_WRONLY | os.O_CREAT), stream)
    exec(script, globals())
    sys.exit()

for number, script in enumerate(json.load(sys.stdin)):
    status = forked(script, f"{disk}-{number}")
    print(json.dumps([status, *(Path(f"{disk}-{number}-{each}").read_text() for each in (1, 2))]), flush=True)
    shutil.rmtree(config.folder)
    ballast.unlink(missing_ok=True)
"""


def _in_namespace(kind: str, folder: Path, *command: str) -> list[str]:
    """A command that sees a small disk at a folder; the mount ends with it."""
    own = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    mounted = f'{_MOUNT[kind]} && shift && exec "$@"'
    return ["unshare", "--mount", *own, "sh", "-c", mounted, "sh", str(folder), *command]


def run(kind: str, folder: Path, *scripts: str) -> "Iterator[subprocess.CompletedProcess[str]]":
    """Run scripts one after another on a disk of `MEGABYTES`; skip the test where this user may not mount one.

    Args:
        kind: `ext4` or `tmpfs`.
        folder: Where the disk is mounted.
        scripts: They use the names of `_START`; each runs in a fork of an interpreter that has imported the library.
    """
    folder.mkdir()
    if shutil.which("unshare") is None:
        pytest.skip("a small disk needs unshare")
    tried = subprocess.run(_in_namespace(kind, folder, "true"), capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {tried.stderr.strip()}")
    here = (Path(hippocampe.__file__).parents[1], Path(__file__).parent)
    command = (sys.executable, "-X", "faulthandler", "-c", _START + _FORK, str(folder))
    done = subprocess.run(
        _in_namespace(kind, folder, *command),
        capture_output=True,
        input=json.dumps(scripts),
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, here))},
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        yield subprocess.CompletedProcess(command, *json.loads(line))
