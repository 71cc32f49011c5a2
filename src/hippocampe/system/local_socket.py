"""The socket of a data folder, through which its owner serves other programs of the same user.

A Unix socket in the folder needs no port and no secret: the kernel identifies the user of the peer, and a socket that
a killed owner left behind refuses every connection. Where there are no Unix sockets, it is a port on loopback, and
both ends first prove that they can read the folder's token. Each proof includes the port, so that a program that took
over the port of a dead owner cannot relay the proof of a living one.

Hooks of coding agents load this module, so it imports little.
"""

import os
import socket
import sys

LOCK = "owner.lock"
SOCKET = "owner.sock"
TOKEN = "owner.token"
FILES = (SOCKET, TOKEN)
"""Names in the data folder; only the process that holds the folder writes these files."""
DIVISION = "cells.json"
"""The file of a data folder that is divided among several owners."""
WAITING_CONNECTIONS = 128
SILENCE_SECONDS = 1.5
"""An owner that sends nothing for so long, and takes nothing, is stopped or frozen."""
SENT_BYTES = 1 << 16
"""Bytes that are sent and read at once: a busy owner takes its turn for each."""
HELD_SECONDS = 1.5
"""Grace period for a process that holds the folder without sharing it, such as one that is closing."""
IN_USE = 5
"""The exit code of a process that finds the folder held by another one."""
MAX_PATH_BYTES = 100
"""The shortest limit of systems on the address of a Unix socket is 104 bytes."""
_UNIX = hasattr(socket, "AF_UNIX") and hasattr(os, "geteuid")
_PROOF_BYTES = 200
_ROLES = (b"owner", b"client")


def is_held(folder: str) -> bool | None:
    """Return whether a process holds the lock of a folder; None where the system cannot tell.

    A shared lock for an instant tells it: owners take an exclusive one.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        return None
    try:
        descriptor = os.open(os.path.join(folder, LOCK), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return False


class Untrusted(OSError):
    """The peer is not a process of this user."""


class Listener:
    """The listening end of the socket of a folder, opened by the process that holds the folder.

    Args:
        unix: Whether to use a Unix socket where the system and the folder allow one.

    Raises:
        OSError: No socket can be opened.
    """

    def __init__(self, folder: str, *, unix: bool = True) -> None:
        self._folder = folder
        self._token: bytes | None = None
        self.withdraw()
        self.socket = (_listen_unix(folder) if unix else None) or self._listen_on_loopback()

    def _listen_on_loopback(self) -> socket.socket:
        import secrets

        self._token = secrets.token_hex(32).encode()
        listener = socket.create_server(("127.0.0.1", 0), backlog=WAITING_CONNECTIONS)
        # Created with its permissions: no other user can open it at any time.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(os.path.join(self._folder, TOKEN), flags, 0o600), "wb") as file:
            # A copy of the folder must not lead to this process: the number of the file tells them apart.
            self._token += b"-%d" % os.fstat(file.fileno()).st_ino
            file.write(b"%d %s" % (listener.getsockname()[1], self._token))
        return listener

    def check(self, connection: socket.socket) -> None:
        """Check that an accepted connection comes from a process of this user.

        Raises:
            OSError: It does not, or gave no proof in time.
        """
        connection.settimeout(SILENCE_SECONDS)
        if self._token is None:
            _check_peer(connection, self._folder)
        else:
            port = self.socket.getsockname()[1]
            _exchange_proofs(connection, self._token, port, role=0)
        connection.settimeout(None)

    def withdraw(self) -> None:
        """Remove the files of the socket."""
        for name in FILES:
            try:
                os.unlink(os.path.join(self._folder, name))
            except FileNotFoundError:
                continue

    def close(self) -> None:
        """Stop listening."""
        self.withdraw()
        self.socket.close()


def connect(folder: str) -> socket.socket:
    """Connect to the owner of a folder, and check that it is a process of this user.

    The connection fails with `TimeoutError` when the peer is silent for `SILENCE_SECONDS`.

    Raises:
        Untrusted: Another user's process listens.
        TimeoutError: The owner does not accept connections.
        OSError: No process serves the folder.
    """
    connection = _connect_unix(folder) or _connect_to_loopback(folder)
    connection.settimeout(SILENCE_SECONDS)
    return connection


def send(connection: socket.socket, content: bytes) -> None:
    """Send all of a request, however long it takes, as long as the peer goes on to read it.

    Raises:
        TimeoutError: It reads nothing for the timeout of the connection.
        OSError: It has disconnected.
    """
    left = memoryview(content)
    while left:
        # Not `sendall`: its timeout is for the whole.
        left = left[connection.send(left[:SENT_BYTES]) :]


def _listen_unix(folder: str) -> socket.socket | None:
    """A listening Unix socket; None where the system or the file system has none."""
    if not _UNIX:
        return None
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _Address(folder) as address:
            listener.bind(address)
        # It refuses connections until it listens, so no client can use it earlier.
        os.chmod(os.path.join(folder, SOCKET), 0o600)
        listener.listen(WAITING_CONNECTIONS)
    except OSError:
        listener.close()
        return None
    return listener


def _connect_unix(folder: str) -> socket.socket | None:
    """A connection over the Unix socket of a folder; None if the folder has none."""
    if not _UNIX or not os.path.exists(os.path.join(folder, SOCKET)):
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(SILENCE_SECONDS)
    try:
        with _Address(folder) as address:
            connection.connect(address)
        _check_peer(connection, folder)
    except BlockingIOError as exc:
        connection.close()
        # The backlog is full: nobody accepts connections.
        raise TimeoutError from exc
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_to_loopback(folder: str) -> socket.socket:
    with open(os.path.join(folder, TOKEN), "rb") as file:
        port, token = file.read(_PROOF_BYTES).split()
        number = token.partition(b"-")[2]
        if number and int(number) != os.fstat(file.fileno()).st_ino:
            raise FileNotFoundError("the token belongs to the folder that this one is a copy of")
    connection = socket.create_connection(("127.0.0.1", int(port)), SILENCE_SECONDS)
    try:
        _exchange_proofs(connection, token, int(port), role=1)
    except BaseException:
        connection.close()
        raise
    return connection


class _Address:
    """The address of the Unix socket of a folder, inside the block.

    A path that is too long is replaced by one through a descriptor of the folder, which Linux allows.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def __enter__(self) -> str:
        path = os.path.join(self._folder, SOCKET)
        if len(os.fsencode(path)) <= MAX_PATH_BYTES:
            return path
        self._descriptor = os.open(self._folder, os.O_RDONLY)
        return f"/proc/self/fd/{self._descriptor}/{SOCKET}"

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def _check_peer(connection: socket.socket, folder: str) -> None:
    """Check that the peer belongs to this user.

    Raises:
        Untrusted: It belongs neither to this user nor to root. Root trusts the user of the folder.
    """
    trusted = {os.geteuid(), 0}
    held = os.stat(folder)
    if os.geteuid() == 0:
        trusted.add(held.st_uid)
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if int.from_bytes(raw[4:8], sys.byteorder) in trusted:
            return
    elif held.st_uid in trusted and not held.st_mode & 0o022:
        return
    raise Untrusted(
        f"another user's process serves {folder}, or could: use a folder that only you can write."
    )


def _exchange_proofs(connection: socket.socket, token: bytes, port: int, *, role: int) -> None:
    """Prove to the peer that this process knows the token, and check the peer's proof.

    The client, whose role is 1, sends the first message, but gives its proof only after the owner's.

    Raises:
        Untrusted: The peer does not know the token, or uses another protocol.
    """
    import hmac
    import secrets

    def proof(of: int, nonce: bytes) -> bytes:
        content = b"%s %d %s" % (_ROLES[of], port, nonce)
        return hmac.new(token, content, "sha256").hexdigest().encode()

    def check(received: bytes, nonce: bytes) -> None:
        if not hmac.compare_digest(received, proof(1 - role, nonce)):
            raise Untrusted("the process at the port of the data folder is not its owner.")

    own = secrets.token_hex(16).encode()
    if role == 1:
        connection.sendall(own + b"\n")
        received, _, nonce = _line(connection).partition(b" ")
        check(received, own)
        connection.sendall(proof(1, nonce) + b"\n")
    else:
        connection.sendall(proof(0, _line(connection)) + b" " + own + b"\n")
        check(_line(connection), own)


def _line(connection: socket.socket) -> bytes:
    """Read the next line, without its end, and nothing after it."""
    line = bytearray()
    while not line.endswith(b"\n"):
        part = connection.recv(1)
        if not part or len(line) > _PROOF_BYTES:
            raise Untrusted("the process at the port of the data folder is not its owner.")
        line += part
    return bytes(line[:-1])
