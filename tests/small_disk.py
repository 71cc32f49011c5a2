"""Programs whose data is on a small file system of their own, which they can fill."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import children

MEGABYTES = 300
IMPOSSIBLE = 77
"""Status of the process where this user may not mount a disk."""
_MOUNT = {
    "ext4": f'truncate -s {MEGABYTES}M "$1.image" && mkfs.ext4 -q -m 0 "$1.image" && mount -o loop "$1.image" "$1"',
    "tmpfs": f'mount -t tmpfs -o size={MEGABYTES}m none "$1"',
}
_START = """
import os, sys, time
from pathlib import Path
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
import ctypes, faulthandler, json, shutil, subprocess
faulthandler.enable()
NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000

def mount(line):
    user, group, libc = os.geteuid(), os.getegid(), ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_MOUNTS | (NEW_USER if user else 0)):
        raise OSError(ctypes.get_errno(), "unshare failed")
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    subprocess.run(["sh", "-c", f"mount --make-rprivate / && {line}", "sh", disk], check=True)

try:
    mount(sys.argv[2])
except (OSError, AttributeError, subprocess.CalledProcessError) as exc:
    print(exc, file=sys.stderr)
    sys.exit(int(sys.argv[3]))

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


def run(kind: str, folder: Path, *scripts: str) -> "Iterator[subprocess.CompletedProcess[str]]":
    """Run scripts one after another on a disk of `MEGABYTES`; skip the test where this user may not mount one.

    Args:
        kind: `ext4` or `tmpfs`.
        folder: Where the disk is mounted; the mount ends with the scripts.
        scripts: They use the names of `_START`; each runs in a fork of a process that has imported the library.
    """
    folder.mkdir()
    # A fork mounts it, since `unshare` would start a new interpreter.
    command = ("-c", _START + _FORK, folder, _MOUNT[kind], IMPOSSIBLE)
    done = children.run(*command, input=json.dumps(scripts), text=True)
    if done.returncode == IMPOSSIBLE:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        yield subprocess.CompletedProcess(done.args, *json.loads(line))
