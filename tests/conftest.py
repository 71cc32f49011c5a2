"""What the tests of the engine share: a clock that is moved by hand, and opened folders."""

import gc
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

import children
import once
import tier
import unread
from hashed import install
from hippocampe import Config, Hippocampe, Scope
from hippocampe.client.local import LocalConnection
from hippocampe.client.reaching import Unreached
from hippocampe.engine import settings
from hippocampe.errors import HippocampeError
from hippocampe.system import garbage
from hippocampe.types import Settings
from hippocampe.updates import judgement
from model_server import ModelServer
from sparse import copy_folder

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Browser

    from browsing import Pages, Reader
    from hippocampe.companion import Companion
    from hosting import Host

IN_MEMORY = Path("/dev/shm")
MODEL = "openai-chat:scripted"
LONGEST = ("test_doors.py", "test_isolation.py", "test_workers.py")
"""Files with tests of more than ten seconds, in any order."""
DEFAULTS = settings.defaults
"""The defaults of the library, which tests replace."""


def pytest_configure(config: pytest.Config) -> None:
    """Prepare what the processes of tests share.

    Their folders are in memory, where there is plenty: on a slow disk they take twice the time.
    """
    if IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > 4 * 2**30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))
    # Each process that a test starts would compile our modules again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # The command line answers in the language of the locale.
    for name in ("LANGUAGE", "LC_MESSAGES", "LANG"):
        os.environ.pop(name, None)
    os.environ["LC_ALL"] = "C.UTF-8"
    # On a busy machine, examples take as long as they like.
    untimed = hypothesis.settings(
        deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.register_profile("untimed", untimed)
    hypothesis.settings.load_profile("untimed")
    once.install()
    if config.getoption("numprocesses", None):
        # One for all of them, which starts while they do.
        os.environ[children.ADDRESS] = children.nursery()
    else:
        # What is loaded and collected stays: a quarter of the time of collection.
        gc.disable()
    if children.ADDRESS in os.environ:
        children.install()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that no process waits for one of them at the end."""
    items.sort(key=lambda each: each.path.name not in LONGEST)


def pytest_collection_finish() -> None:
    """Exempt what is loaded and collected from the garbage collector, which walked over all of it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()
    garbage.collect_rarely()


def pytest_unconfigure() -> None:
    """Leave no process behind."""
    children.end()


class FakeClock:
    """A clock that only moves when told, but for a millisecond a look, so that nothing ties."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 17, 10, 23, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def advance(self, **much: float) -> None:
        self.now += timedelta(**much)


Opener = Callable[..., Hippocampe]


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run without the settings, the models and the keys of the person who runs the tests."""
    for name in list(os.environ):
        if name.startswith(("HIPPOCAMPE_", "OPENAI_", "ANTHROPIC_", "VOYAGE_")):
            monkeypatch.delenv(name)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The data folder of a test. The process that a program started for it ends with the test."""
    yield tmp_path / "data"
    with suppress(Unreached, HippocampeError), closing(LocalConnection(tmp_path / "data")) as owner:
        owner.call("leave")


@pytest.fixture
def open_hippo(folder: Path, clock: FakeClock) -> Iterator[Opener]:
    """Open a folder, by default the test's own, without a background thread."""
    opened: list[Hippocampe] = []

    def opener(where: Path | None = None, **settings: Any) -> Hippocampe:
        servers = tier.current().settings(where or folder) if tier.is_chosen() else {}
        config = Config(folder=where or folder, **{"background": False, **servers, **settings})
        opened.append(Hippocampe.open(config, clock=clock))
        return opened[-1]

    yield opener
    for hippo in opened:
        hippo.close()
    if tier.is_chosen():
        tier.current().clean()


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an empty memory, to copy: most of the first opening is the creation of the tables."""
    folder = tmp_path_factory.mktemp("empty") / "data"
    Hippocampe.open(Config(folder, background=False), clock=FakeClock()).close()
    return folder


@pytest.fixture
def hippo(open_hippo: Opener, folder: Path, empty: Path) -> Hippocampe:
    if not tier.is_chosen():
        copy_folder(empty, folder)
    return open_hippo()


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the embedders `hashed:…` known: they load nothing and know nothing."""
    install(monkeypatch.setattr)


@pytest.fixture(scope="module")
def shared_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hippocampe]:
    """One memory for the refusals of a module, which change nothing."""
    with pytest.MonkeyPatch.context() as patch:
        install(patch.setattr)
        folder = tmp_path_factory.mktemp("refused") / "data"
        config = Config(folder, embedder="hashed:32", background=False)
        with Hippocampe.open(config, clock=FakeClock()) as opened:
            yield opened


@pytest.fixture
def scope() -> Scope:
    return Scope(user="dev", channel="lobby")


@pytest.fixture(autouse=True, scope="session")
def defaults_of_tests() -> Iterator[None]:
    """Read no results of a search, whose time would be most of that of the tests, and give turns more time.

    Tests of deadlines and of the reader set their own.
    """

    def unread_defaults(config: Config) -> Settings:
        # Scores of results that were not read are less sure of what does not answer.
        return replace(patient(config), auto_retrieve_min_score=0.5)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "defaults", unread_defaults)
        unread.install(patch.setattr)
        patch.setattr(judgement, "read_pairs", unread.READ[judgement, "read_pairs"])
        yield


def patient(config: Config) -> Settings:
    """The defaults of the product, but for the deadline of a turn: on a busy machine it needs more."""
    return replace(DEFAULTS(config), hook_timeout_ms=10_000)


def read_at_once(hippo: Hippocampe) -> None:
    """Let turns read the store before their deadline runs out, however busy the machine is; a search may be late."""
    pool = hippo._turns.read_pool  # pyright: ignore[reportPrivateUsage]
    submit = pool.submit

    def submitted(*call: Any) -> Future[Any]:
        wait([reading := submit(*call)])
        return reading

    pool.submit = submitted


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read, and give what is likely enough, as the product does."""
    unread.undo(monkeypatch.setattr)
    monkeypatch.setattr(settings, "defaults", patient)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A scripted model server, found by `openai:…`, `openai-chat:…` and `anthropic:…`."""
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "test-key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
        yield server


@pytest.fixture
def with_model(server: ModelServer, open_hippo: Opener) -> Hippocampe:
    """The test's folder, opened with the scripted model."""
    return open_hippo(model=MODEL, model_timeout=5.0)


Meet = Callable[..., "Companion"]


@pytest.fixture
def meet(request: pytest.FixtureRequest, server: ModelServer) -> Iterator[Meet]:
    """Start a companion, by default over the test's memory, with the scripted model."""
    from hippocampe.companion import Companion

    with ExitStack() as stack:

        def start(memory: Hippocampe | None = None, **options: Any) -> Companion:
            memory = memory or request.getfixturevalue("hippo")
            companion = Companion(memory, **{"model": MODEL, **options})
            return stack.enter_context(companion)

        yield start


@pytest.fixture
def companion(meet: Meet) -> "Companion":
    return meet()


@pytest.fixture
def host(
    hashed: None, open_hippo: Opener, server: ModelServer, tmp_path: Path
) -> Callable[..., "Host"]:
    """Find the environment of a host, which joins the memory of the test in `data`, and asks the scripted model."""
    from hosting import Host

    def find(name: str = "") -> Host:
        memory = open_hippo(embedder="hashed:64")
        memory.update_settings(scope=Scope(), language="en")
        return Host(name, memory, server, tmp_path)

    return find


Connect = Callable[..., "httpx.Client"]


@pytest.fixture
def memory(hashed: None, open_hippo: Opener) -> Hippocampe:
    """A memory that loads fast."""
    return open_hippo(embedder="hashed:64")


@pytest.fixture
def connect(memory: Hippocampe) -> Iterator[Connect]:
    """Open a client; with a role, by a new key for a space of a server that needs keys."""
    import httpx

    from served import served

    with ExitStack() as stack:
        urls: dict[bool, str] = {}

        def client(role: Any = None, space: str = "default") -> httpx.Client:
            loopback = role is None
            if loopback not in urls:
                urls[loopback] = stack.enter_context(served(memory, loopback=loopback))
            headers = {}
            if role is not None:
                secret = memory.create_key(scope=Scope(space=space), role=role).secret
                headers["Authorization"] = f"Bearer {secret}"
            made = httpx.Client(base_url=urls[loopback], headers=headers, timeout=30)
            return stack.enter_context(made)

        yield client


@pytest.fixture
def client(connect: Connect) -> "httpx.Client":
    """A program of this machine, without a key."""
    return connect()


@pytest.fixture(scope="module")
def shared_client(shared_memory: Hippocampe) -> Iterator["httpx.Client"]:
    """A program of this machine, for what the shared memory refuses or shows."""
    import httpx

    from served import served

    with (
        served(shared_memory, loopback=True) as url,
        httpx.Client(base_url=url, timeout=30) as made,
    ):
        yield made


@pytest.fixture(scope="session")
def pages() -> Iterator["Pages"]:
    """The pages of a browser for all tests of this process."""
    from browsing import Pages, launched

    with launched() as browser:
        made = Pages(browser)
        yield made
        made.resume()


@pytest.fixture
def chromium(pages: "Pages") -> Iterator["Browser"]:
    """A browser; in a test that uses it, asyncio cannot be used in this thread."""
    yield pages.resume()
    pages.pause()


@pytest.fixture
def reader(
    chromium: "Browser", pages: "Pages", memory: Hippocampe, connect: Connect
) -> Iterator["Reader"]:
    """Someone who reads the pages of the memory; at the end, no page has written an error."""
    from browsing import Reader

    with Reader(pages, memory, connect) as made:
        yield made
