"""The socket of a data folder: only processes of this user speak through it, and prove it first."""

import multiprocessing
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from hippocampe.system import local_socket
from hippocampe.system.local_socket import SOCKET, TOKEN, Listener, Untrusted, connect

NOBODY = 65_534
as_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can act as another user"
)


@contextmanager
def answering(listener: Listener) -> Iterator[list[bytes]]:
    """Accept connections, check them, and answer each line with itself; the lines that came."""
    received: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.socket.accept()
            except OSError:
                return
            with connection:
                try:
                    listener.check(connection)
                    line = connection.recv(100)
                    received.append(line)
                    connection.sendall(line)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        listener.socket.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def echoed(folder: Path) -> bytes:
    with connect(os.fspath(folder)) as connection:
        connection.sendall(b"hello")
        return connection.recv(100)


@pytest.mark.parametrize("unix", [True, False])
def test_both_kinds_of_socket_connect(tmp_path: Path, unix: bool) -> None:
    with answering(Listener(os.fspath(tmp_path), unix=unix)) as received:
        assert echoed(tmp_path) == b"hello"
    assert received == [b"hello"]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError):
        connect(os.fspath(tmp_path))


def test_a_peer_that_reads_slowly_is_waited_for_and_one_that_does_not_is_not() -> None:
    content = os.urandom(1 << 20)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0.2)
        received = bytearray()

        def read() -> None:
            while len(received) < len(content):
                received.extend(theirs.recv(1 << 15))
                time.sleep(0.02)

        reading = threading.Thread(target=read)
        reading.start()
        local_socket.send(ours, content)
        reading.join()
        assert received == content
        with pytest.raises(TimeoutError):
            local_socket.send(ours, content)


def test_a_folder_with_a_long_path(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120) / ("y" * 120)
    deep.mkdir(parents=True)
    with answering(Listener(os.fspath(deep))):
        assert echoed(deep) == b"hello"


def test_what_a_killed_owner_left_is_replaced(tmp_path: Path) -> None:
    Listener(os.fspath(tmp_path)).socket.close()
    assert (tmp_path / SOCKET).exists()
    with pytest.raises(ConnectionRefusedError):
        connect(os.fspath(tmp_path))
    Listener(os.fspath(tmp_path), unix=False).socket.close()
    with pytest.raises(ConnectionRefusedError):
        connect(os.fspath(tmp_path))
    with answering(Listener(os.fspath(tmp_path))):
        assert echoed(tmp_path) == b"hello"


def test_the_files_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with closing(Listener(os.fspath(tmp_path))):
            assert (tmp_path / SOCKET).stat().st_mode & 0o777 == 0o600
        with closing(Listener(os.fspath(tmp_path), unix=False)):
            assert (tmp_path / TOKEN).stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


def test_a_copy_of_the_folder_does_not_lead_to_the_owner_of_the_first(tmp_path: Path) -> None:
    with answering(Listener(os.fspath(tmp_path), unix=False)) as received:
        copy = tmp_path / "copy"
        copy.mkdir()
        shutil.copy2(tmp_path / TOKEN, copy)
        with pytest.raises(FileNotFoundError):
            connect(os.fspath(copy))
        assert received == []
        assert echoed(tmp_path) == b"hello"


def left_behind(folder: Path) -> int:
    """Leave the token of a killed owner, and return the port that it named."""
    dead = Listener(os.fspath(folder), unix=False)
    port = dead.socket.getsockname()[1]
    dead.socket.close()
    return port


def listening(port: int, react: Callable[[socket.socket], None]) -> socket.socket:
    """Another program takes a port that an owner had."""
    listener = socket.create_server(("127.0.0.1", port))

    def serve() -> None:
        try:
            while True:
                connection, _ = listener.accept()
                with connection:
                    react(connection)
        except OSError:
            return

    threading.Thread(target=serve, daemon=True).start()
    return listener


def test_who_takes_the_port_of_a_dead_owner_learns_nothing(tmp_path: Path) -> None:
    port = left_behind(tmp_path)
    token = (tmp_path / TOKEN).read_bytes().split()[1]
    received = bytearray()

    def react(connection: socket.socket) -> None:
        received.extend(connection.recv(1_000))
        connection.sendall(b"0" * 64 + b" 00\n")
        received.extend(connection.recv(1_000))

    with listening(port, react), pytest.raises(Untrusted):
        connect(os.fspath(tmp_path))
    # A number that was never used before, and nothing else.
    assert len(received) == 33
    assert token not in received


def test_who_takes_the_port_cannot_relay_the_proof_of_the_owner(tmp_path: Path) -> None:
    port = left_behind(tmp_path)
    stale = (tmp_path / TOKEN).read_bytes()
    owner = Listener(os.fspath(tmp_path), unix=False)
    token = (tmp_path / TOKEN).read_bytes().split()[1]

    def react(connection: socket.socket) -> None:
        with socket.create_connection(owner.socket.getsockname()) as relayed:
            relayed.sendall(connection.recv(1_000))
            connection.sendall(relayed.recv(1_000))
            relayed.sendall(connection.recv(1_000) or b"\n")

    with answering(owner) as received, listening(port, react):
        # The client still believes in the port of before.
        (tmp_path / TOKEN).write_bytes(stale.split()[0] + b" " + token)
        with pytest.raises(Untrusted):
            connect(os.fspath(tmp_path))
    assert received == []


def test_a_client_without_the_token_is_refused(tmp_path: Path) -> None:
    listener = Listener(os.fspath(tmp_path), unix=False)
    with answering(listener) as received:
        with socket.create_connection(listener.socket.getsockname()) as connection:
            connection.sendall(b"00\n" + b"0" * 64 + b"\nhello")
            answer = b""
            with suppress(ConnectionResetError):
                while part := connection.recv(1_000):
                    answer += part
        assert b"hello" not in answer
        assert echoed(tmp_path) == b"hello"
    assert received == [b"hello"]


def _listen_as_another(folder: str, ready: "multiprocessing.synchronize.Event") -> None:
    os.setuid(NOBODY)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/{SOCKET}")
    listener.listen()
    ready.set()
    connection, _ = listener.accept()
    # Nothing may come.
    os._exit(1 if connection.recv(1) else 0)


def _connect_as_another(folder: str) -> None:
    os.setuid(NOBODY)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"{folder}/{SOCKET}")
            connection.sendall(b"hello")
            os._exit(1 if connection.recv(100) else 0)
    except OSError:
        os._exit(0)


@as_root
def test_the_socket_of_another_user_is_not_used() -> None:
    # Not below the folder of the test run, which other users cannot enter.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        spawning = multiprocessing.get_context("fork")
        ready = spawning.Event()
        other = spawning.Process(target=_listen_as_another, args=(folder, ready))
        other.start()
        assert ready.wait(30)
        with pytest.raises(Untrusted, match="another user's process"):
            connect(folder)
        other.join()
        assert other.exitcode == 0


@as_root
@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_another_user_is_not_served(mode: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        with answering(Listener(folder)) as received:
            Path(folder, SOCKET).chmod(mode)
            other = multiprocessing.get_context("fork").Process(
                target=_connect_as_another, args=(folder,)
            )
            other.start()
            other.join()
            assert other.exitcode == 0
        assert received == []


def test_a_queue_that_nobody_empties_is_a_frozen_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_socket, "WAITING_CONNECTIONS", 1)
    with closing(Listener(os.fspath(tmp_path))):
        waiting: list[socket.socket] = []
        with pytest.raises(TimeoutError):
            for _ in range(10):
                waiting.append(connect(os.fspath(tmp_path)))
        for each in waiting:
            each.close()
