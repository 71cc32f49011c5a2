"""A process that has imported Hippocampe, and forks one that runs Python's arguments for each request.

Used by `children`. Its arguments are the socket that it listens on, one that ends it when it is closed, and the
path of the first.
"""

import array
import atexit
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import tempfile
import termios
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner

import children
import hashed
import hippocampe
import once
import unread
from hippocampe import Config, Hippocampe, Scope
from hippocampe.cli.app import app
from hippocampe.server.http.served import ServedMemory
from served import served

USED = (
    *("anyio._backends._asyncio", "genai_prices.data", "numpy.random", "numpy.ma"),
    *("pydantic_ai.models.openai", "pydantic_ai.providers.openai"),
    *("openai.resources.chat.completions", "openai.lib.streaming.chat"),
)
"""Modules of other packages that ours import late."""


def warm_up() -> None:
    """Import everything, and use a memory once, so that what it compiles and loads is there after a fork."""
    once.install()
    hashed.install(setattr)
    unread.install(setattr)
    ours = pkgutil.walk_packages(hippocampe.__path__, "hippocampe.")
    # Adapters of hosts load their packages, which no forked process uses.
    apart = ("__main__", ".integrations.")
    names = (each.name for each in ours if not any(part in each.name for part in apart))
    for name in (*names, *USED):
        # Of an extra that is not installed.
        with suppress(ImportError):
            importlib.import_module(name)
    for embedder in ("local", "hashed:64"):
        with tempfile.TemporaryDirectory() as folder:
            config = Config(folder, embedder=embedder, background=False, share=False)
            memory = Hippocampe.open(config)
            awaited = ServedMemory(memory)
            with memory, served(awaited, loopback=True) as url:
                memory.remember("Nina a un piano", scope=Scope())
                memory.after_turn("Qui joue ?", "Nina.", scope=Scope())
                memory.recall("Qui a un piano ?", scope=Scope())
                memory.before_turn("Qui a un piano ?", scope=Scope())
                for call in (["--help"], ["recall", "piano"]):
                    done = CliRunner(env={"HIPPOCAMPE_URL": url}).invoke(app, call)
                    assert done.exit_code == 0, done.output
                assert httpx.get(f"{url}/memory", timeout=30).status_code == 200
            awaited.workers.close()
    for thread in set(threading.enumerate()) - {threading.main_thread()}:
        thread.join(10)
    assert threading.active_count() == 1, threading.enumerate()


def serve(listener: socket.socket, ending: socket.socket) -> dict[str, Any] | None:
    """Fork for each request, and report the process and its status; return the request in the forked process.

    In this one, return None at the end, which is that of all its processes.
    """
    started: dict[int, socket.socket] = {}
    ended, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([listener, ending, ended], [], [])
        if ending in ready:
            for each in started:
                os.kill(each, signal.SIGKILL)
            return None
        if ended in ready:
            ended.recv(4096)
            report(started)
        if listener in ready:
            connection, _ = listener.accept()
            if (received := receive(connection)) is None:
                connection.close()
                continue
            request, streams = received
            if (pid := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (listener, ending, ended, wakes, connection, *started.values()):
                    each.close()
                for standard, stream in enumerate(streams):
                    os.dup2(stream, standard)
                    os.close(stream)
                return request
            started[pid] = connection
            # Whoever started it may have been killed meanwhile.
            with suppress(OSError):
                connection.sendall(pid.to_bytes(4))
            for stream in streams:
                os.close(stream)


def report(started: dict[int, socket.socket]) -> None:
    """Report the processes that ended to those who wait for them."""
    with suppress(ChildProcessError):
        while pid := (child := os.waitpid(-1, os.WNOHANG))[0]:
            # Whoever started it may have ended too.
            with started.pop(pid) as connection, suppress(OSError):
                connection.sendall(child[1].to_bytes(4))


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """A request, and the standard streams of the process; None if whoever sends it was killed before its end."""
    size, rights, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(12))
    streams = array.array("i")
    for _, _, sent in rights:
        streams.frombytes(sent)
    body = b""
    while len(body) < int.from_bytes(size) and (part := connection.recv(65_536)):
        body += part
    if not size or len(body) < int.from_bytes(size):
        for stream in streams:
            os.close(stream)
        return None
    return json.loads(body), list(streams)


def become(request: dict[str, Any]) -> None:
    """Make this process what a new interpreter would be."""
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.executable = request.get("executable", sys.executable)
    tempfile.tempdir = None
    # What this process starts is forked too.
    os.environ[children.ADDRESS] = sys.argv[3]
    children.install()
    # A builder of a graph would wait for all other tests.
    os.nice = lambda _: 0
    time.tzset()
    os.chdir(request["folder"])
    # Ignored in the background of a shell.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request["session"]:
        os.setsid()
        if os.isatty(0):
            fcntl.ioctl(0, termios.TIOCSCTTY)
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    errors = errors or "strict"
    sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb"), encoding, errors)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb"), encoding, errors, line_buffering=os.isatty(1))
    sys.stderr = io.TextIOWrapper(
        os.fdopen(2, "wb"), encoding, "backslashreplace", line_buffering=True
    )
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr


def main() -> None:
    listener, ending = (socket.socket(fileno=int(each)) for each in sys.argv[1:3])
    address = Path(sys.argv[3])
    warm_up()
    # The collector would write to the pages that forks share.
    gc.collect()
    gc.freeze()
    request = serve(listener, ending)
    if request is None:
        listener.close()
        ending.close()
        address.unlink()
        address.parent.rmdir()
        return
    become(request)
    status = 0
    try:
        execute(request)
    except SystemExit as exc:
        if not isinstance(exc.code, int | None):
            raise
        status = exc.code or 0
    leave(status)


def execute(request: dict[str, Any]) -> None:
    """Run Python's arguments."""
    kind, *arguments = request["arguments"]
    if kind == "-c":
        code, *arguments = arguments
        sys.argv = ["-c", *arguments]
        sys.path.insert(0, "")
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    elif kind == "-":
        sys.argv = ["-"]
        exec(compile(sys.stdin.read(), "<stdin>", "exec"), {"__name__": "__main__"})
    elif kind == "-m":
        sys.argv = arguments
        sys.path.insert(0, request["folder"])
        # It warns of a module that is there already.
        sys.modules.pop(arguments[0], None)
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [kind, *arguments]
        sys.path.insert(0, os.fspath(Path(kind).parent))
        runpy.run_path(kind, run_name="__main__")


def leave(status: int) -> None:
    """End as the interpreter does, but leave the modules: to destroy them would copy every page they share."""
    threads: Any = threading
    threads._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except ValueError:
            # It was closed.
            pass
        except OSError:
            status = 120
    os._exit(status & 0xFF)


main()
