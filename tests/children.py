"""Child processes of tests: forked from one that has imported everything, and killed when a test fails.

A new interpreter needs a second and a half of processor time to import Hippocampe, a fork none. Tests of starting
itself (what is imported, options of the interpreter, standard streams) use `subprocess`.
"""

import array
import asyncio
import atexit
import json
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import hippocampe
from hippocampe.client import joining
from hippocampe.server.cells import supervisor
from hippocampe.system import worker
from hippocampe.system.owner import read_owner

ADDRESS = "NURSERY"
"""Name of the variable of the environment with the address of the nursery."""
TIMEOUT = 120.0
"""Seconds after which a program that does not end is a failure; much more than any takes."""
PATHS = (Path(hippocampe.__file__).parents[1], Path(__file__).parent)
INSTALLED = "import hashed; hashed.install(setattr); "
PROGRAM = INSTALLED + "from hippocampe.cli import main; main()"
"""The command line, with the embedders `hashed:…`."""

_START = f"""
import sys
from pathlib import Path
{INSTALLED}
from hippocampe import Config, Hippocampe, Scope
scope = Scope(user="dev", channel="lobby")
folder = Path(sys.argv[1])
"""


@cache
def nursery() -> str:
    """The address of the process that forks the others, started if no process above this one has."""
    if ADDRESS in os.environ:
        return os.environ[ADDRESS]
    address = os.path.join(tempfile.mkdtemp(prefix="nursery-"), "socket")  # noqa: PTH118
    ours, theirs = socket.socketpair()
    with socket.socket(socket.AF_UNIX) as listener, theirs:
        listener.bind(address)
        # Requests wait here until it has imported everything.
        listener.listen(64)
        passed = [listener.fileno(), theirs.fileno()]
        process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("nursery.py"), *map(str, passed), address],
            pass_fds=passed,
            env=_environment(os.environ),
            start_new_session=True,
        )
    # It ends when its socket is closed.
    atexit.register(process.wait)
    atexit.register(ours.close)
    return address


def _environment(environment: Any) -> dict[str, str]:
    return {**environment, "PYTHONPATH": os.pathsep.join(map(str, PATHS))}


class _Forked(subprocess.Popen[Any]):
    """A fork of the nursery, which reports its end over a socket: it is no child of this process."""

    _ends: socket.socket

    def _execute_child(self, args: Any, *given: Any) -> None:
        # The order is that of Python 3.11 to 3.13.
        executable, preexec, close_fds, pass_fds, folder, environment = given[:6]
        pipes, new_session = given[9:15], given[20]
        assert executable is preexec is None and close_fds and not pass_fds
        request = {
            "arguments": args[1:],
            "environment": _environment(os.environ if environment is None else environment),
            "folder": os.fspath(folder or Path.cwd()),
            "session": new_session,
        }
        # -1: the stream of this process.
        streams = [
            own if theirs == -1 else theirs
            for own, theirs in enumerate(pipes[i] for i in (0, 3, 5))
        ]
        self._ends = socket.socket(socket.AF_UNIX)
        self._ends.connect(nursery())
        body = json.dumps(request).encode()
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))
        self._ends.sendmsg([len(body).to_bytes(4)], [rights])
        self._ends.sendall(body)
        pid = self._ends.recv(4)
        # A process 0 would be all those of this group, for whoever kills it.
        assert pid, "the nursery ended"
        self.pid = int.from_bytes(pid)
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if wait_flags & os.WNOHANG and not select.select([self._ends], [], [], 0)[0]:
            return 0, 0
        status = self._ends.recv(4)
        self._ends.close()
        assert status, "the nursery ended"
        return self.pid, int.from_bytes(status)

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._child_created and self._waitpid_lock.acquire(False):
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def start(*arguments: object, **options: Any) -> "subprocess.Popen[Any]":
    """Start Python with arguments: `-c`, `-m`, or a script; the options are those of `Popen`."""
    typed = [
        sys.executable,
        *(os.fspath(each) if isinstance(each, Path) else str(each) for each in arguments),
    ]
    if hasattr(os, "fork"):
        return _Forked(typed, **options)
    options["env"] = _environment(options.get("env") or os.environ)
    return subprocess.Popen(typed, **options)


def install() -> None:
    """Fork the processes that the library starts from this one, too: builders of graphs, owners of folders, cells."""

    def popen(command: "Sequence[str]", **options: Any) -> "subprocess.Popen[Any]":
        return start(*command[1:], **options)

    forking: Any = ModuleType("subprocess")
    forking.__dict__.update(vars(subprocess), Popen=popen)
    worker.subprocess = joining.subprocess = forking
    loops: Any = ModuleType("asyncio")
    loops.__dict__.update(vars(asyncio), create_subprocess_exec=_Awaited.start)
    supervisor.asyncio = loops


class _Awaited:
    """A fork of the nursery, as a process of asyncio."""

    def __init__(self, process: "subprocess.Popen[Any]") -> None:
        self._process = process
        self.kill = process.kill

    @classmethod
    async def start(cls, _: str, *arguments: str, **options: Any) -> Self:
        made = cls(process := start(*arguments, **options))
        loop = asyncio.get_running_loop()
        made.stdout = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(made.stdout)
        await loop.connect_read_pipe(lambda: protocol, process.stdout)
        writing = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
        made.stdin = asyncio.StreamWriter(*writing, None, loop)
        return made

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    async def wait(self) -> int:
        while (code := self.returncode) is None:
            await asyncio.sleep(0.01)
        return code


def fork_all() -> None:
    """Fork every Python that this program starts, by `subprocess` or to compute in another process."""
    new, fork = subprocess.Popen, multiprocessing.get_context("fork")

    def popen(command: "Sequence[str]", **options: Any) -> "subprocess.Popen[Any]":
        started = command[0] == sys.executable
        return start(*command[1:], **options) if started else new(command, **options)

    changed: Any = subprocess
    changed.Popen = popen
    multiprocessing.get_context = lambda *_: fork


def end() -> None:
    """Kill the owners of folders that still run."""
    for each in joining._children:
        each.kill()
        each.wait()


def interpreter(path: Path) -> Path:
    """Write a program that runs Python's arguments in a fork, for lines that a shell runs."""
    environment = {"PYTHONPATH": _environment({})["PYTHONPATH"]}
    source = _INTERPRETER.format(
        python=sys.executable, address=nursery(), environment=environment, path=str(path)
    )
    path.parent.mkdir(exist_ok=True)
    path.write_text(source, "utf-8")
    path.chmod(0o755)
    return path


_INTERPRETER = """#!{python} -SE
import array, json, os, signal, socket
from sys import argv
request = {{
    "arguments": argv[1:],
    "environment": {{**os.environ, **{environment}}},
    "folder": os.getcwd(),
    "session": False,
    "executable": {path!r},
}}
body = json.dumps(request).encode()
ends = socket.socket(socket.AF_UNIX)
ends.connect({address!r})
rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))
ends.sendmsg([len(body).to_bytes(4)], [rights])
ends.sendall(body)
pid = int.from_bytes(ends.recv(4))
assert pid
for each in (0, 1, 2):
    os.close(each)
for each in (signal.SIGINT, signal.SIGTERM):
    signal.signal(each, lambda number, _: os.kill(pid, number))
os._exit(os.waitstatus_to_exitcode(int.from_bytes(ends.recv(4))) & 255)
"""


@contextmanager
def running(*arguments: object, **options: Any) -> Iterator["subprocess.Popen[Any]"]:
    """Start Python; at the end, kill it if it still runs."""
    with start(*arguments, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def run(
    *arguments: object, input: Any = None, **options: Any
) -> "subprocess.CompletedProcess[Any]":
    """Run Python until it ends, as `subprocess.run` with captured output."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with running(*arguments, **pipes, **options) as process:
        out, errors = process.communicate(input, TIMEOUT)
    return subprocess.CompletedProcess(arguments, process.returncode, out, errors)


@contextmanager
def child(script: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """Run a script with the embedders `hashed:…`; `folder` is its first argument."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with running("-c", _START + script, *arguments, **pipes, text=True) as process:
        yield process


def freeze(pid: int) -> None:
    """Stop a program, and wait until it has stopped: a busy machine takes a while."""
    os.kill(pid, signal.SIGSTOP)
    state = Path(f"/proc/{pid}/stat")
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] not in "Tt":
        time.sleep(0.001)


@contextmanager
def stopping(folder: Path) -> Iterator[None]:
    """Stop the server that a program started for a folder, at the end."""
    try:
        yield
    finally:
        told: set[int] = set()
        ends = time.monotonic() + 30
        # One that was started beside the first takes the folder after it.
        while (owner := read_owner(folder)) is not None and time.monotonic() < ends:
            if owner.pid not in told:
                told.add(owner.pid)
                os.kill(owner.pid, signal.SIGTERM)
            time.sleep(0.02)
