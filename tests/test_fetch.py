"""Foreign data is fetched once, checked, and never left half written."""

import functools
import hashlib
import importlib
import shutil
import subprocess
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")
FOREIGN = Path(__file__).parents[1] / "benchmarks" / "foreign"
DATA = b'{"data": []}\n'


class Requests(SimpleHTTPRequestHandler):
    """Serves files, or half of each pack, and counts requests."""

    asked = 0
    cut = False

    def do_GET(self) -> None:
        Requests.asked += 1
        if self.cut and self.path.endswith(".pack"):
            whole = Path(self.translate_path(self.path)).read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(whole)))
            self.end_headers()
            self.wfile.write(whole[: len(whole) // 2])
            self.close_connection = True
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


def git(folder: Path, *line: str) -> str:
    who = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
    done = subprocess.run(("git", "-C", folder, *who, *line), check=True, stdout=subprocess.PIPE)
    return done.stdout.decode().strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a repository with one file, on a local server, and its commit."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "data.json").write_bytes(DATA)
    for line in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "Add data"), ("gc", "-q")):
        git(folder, *line)
    git(folder, "update-server-info")
    serve = functools.partial(Requests, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/.git", git(folder, "rev-parse", "HEAD")
        server.shutdown()


@pytest.fixture
def fetch(repository: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, with that repository as its only sources: with the right digest and with a wrong one."""
    monkeypatch.syspath_prepend(FOREIGN)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    module = importlib.import_module("fetch")
    sources = {
        name: module.Source(*repository, "data.json", "MIT", hashlib.sha256(content).hexdigest())
        for name, content in (("right", DATA), ("wrong", b"other"))
    }
    monkeypatch.setattr(module, "SOURCES", sources)
    return module


def test_a_source_is_fetched_once(
    fetch: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch.main(str(tmp_path / "new"), "right")
    path = tmp_path / "new" / "right" / "data.json"
    assert path.read_bytes() == DATA
    assert hashlib.sha256(DATA).hexdigest() in capsys.readouterr().out
    before = Requests.asked
    assert fetch.fetch("right", tmp_path / "new") == path
    assert Requests.asked == before > 0
    path.write_bytes(b"changed")
    with pytest.raises(ValueError, match="is not the file that the figures are of"):
        fetch.fetch("right", tmp_path / "new")


def test_an_older_clone_is_replaced(fetch: ModuleType, tmp_path: Path) -> None:
    old = tmp_path / "right"
    old.mkdir()
    (old / "data.json").write_bytes(b"old")
    assert fetch.fetch("right", tmp_path).read_bytes() == DATA


def test_a_file_with_another_digest_is_refused(fetch: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not the file that the figures are of"):
        fetch.fetch("wrong", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_a_connection_that_breaks(
    fetch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Requests, "cut", True)
    with pytest.raises(subprocess.CalledProcessError):
        fetch.fetch("right", tmp_path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(Requests, "cut", False)
    assert fetch.fetch("right", tmp_path).read_bytes() == DATA


def test_a_source_that_nobody_knows_is_refused(fetch: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="nobody: not known; known are right, wrong"):
        fetch.main(str(tmp_path), "nobody")


def test_every_source_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOREIGN)
    for name, source in importlib.import_module("fetch").SOURCES.items():
        assert all(each in "0123456789abcdef" for each in source.commit), name
        assert len(source.commit) >= 8, name
