"""Many processes on one database in PostgreSQL and one index in Qdrant: what each sees, and what outlives a failure."""

import asyncio
import os
import re
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import psycopg
import pytest
from qdrant_client import QdrantClient
from sqlalchemy import Connection, bindparam, select, text

import tier
from answers import ok, problem
from conftest import FakeClock
from hippocampe import AsyncHippocampe, Config, Hippocampe, JobRun, Scope
from hippocampe.cli import reach
from hippocampe.curation.erase import ERASING
from hippocampe.engine import backlog, deliveries
from hippocampe.engine.replies import Replies
from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.engine.writer import Writer
from hippocampe.errors import (
    EmbedderUnavailable,
    HippocampeError,
    IndexUnavailable,
    InvalidInput,
    StoreBusy,
    StoreError,
    StoreReadOnly,
    StoreTooNew,
)
from hippocampe.extraction.jobs.work import JOBS
from hippocampe.folder import maintenance
from hippocampe.index import qdrant
from hippocampe.index.qdrant import QdrantIndex
from hippocampe.injection import sharing
from hippocampe.protocols import Point
from hippocampe.server.api.operation import Probe
from hippocampe.server.app import create_app
from hippocampe.server.http.limits import Buckets
from hippocampe.store import driver, erasure, job_runs, listening, meta, outbox, postgres, schema
from hippocampe.store.embeddings import unpack_words
from hippocampe.store.postgres import PostgresStore
from hippocampe.store.postgres_schema import PARTITIONS
from hippocampe.store.replies import Claim

pytestmark = pytest.mark.usefixtures("hashed")

Joiner = Callable[..., Hippocampe]
ME = Scope(user="dev", channel="lobby")
AT = datetime(2026, 1, 17, 10, 23, tzinfo=UTC)


@pytest.fixture
def join(tmp_path: Path, clock: FakeClock) -> Iterator[Joiner]:
    """Open one more process on the database of the test."""
    opened: list[Hippocampe] = []
    servers = tier.current()

    def joiner(**settings: object) -> Hippocampe:
        folder = tmp_path / f"process-{len(opened)}"
        chosen = {"background": False, "embedder": "hashed:32", **servers.settings(tmp_path)}
        opened.append(Hippocampe.open(Config(folder, **{**chosen, **settings}), clock=clock))  # pyright: ignore
        return opened[-1]

    yield joiner
    for each in opened:
        each.close()
    servers.clean()


def eventually(check: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that another process says."""
    ends = monotonic() + seconds
    while not check():
        assert monotonic() < ends, "it did not happen"
        sleep(0.02)


def store_of(hippo: Hippocampe) -> PostgresStore:
    store = hippo._context.corpus.store  # pyright: ignore[reportPrivateUsage]
    assert isinstance(store, PostgresStore)
    return store


def contents(hippo: Hippocampe, query: str, scope: Scope = ME) -> list[str]:
    return [item.content for item in hippo.recall(query, scope=scope, mode="text")]


def pending(hippo: Hippocampe) -> int:
    with store_of(hippo).read() as connection:
        return outbox.pending_count(connection)


def index_of(hippo: Hippocampe) -> QdrantIndex:
    index = hippo._context.corpus.index  # pyright: ignore[reportPrivateUsage]
    assert isinstance(index, QdrantIndex)
    return index


def delete_collections() -> None:
    """Lose the index as an operator does who deletes it."""
    with closing(QdrantClient(tier.current().index.url, check_compatibility=False)) as client:
        for each in client.get_collections().collections:
            client.delete_collection(each.name)


def told(join: Joiner) -> Hippocampe:
    """A process that stored a memory, which the index has had for long: nothing in the outbox delivers it again."""
    hippo = join()
    hippo.remember("Camille élève des abeilles", scope=ME)
    with store_of(hippo).write() as connection:
        connection.execute(schema.outbox.delete())
    return hippo


def finds(hippo: Hippocampe, query: str, found: str) -> bool:
    try:
        return contents(hippo, query) == [found]
    except HippocampeError:
        return False


@contextmanager
def failing_writes(failing: int = 1) -> Generator[None]:
    """Refuse the first writes of points, as a server does that goes away."""
    written, whole = count(1), QdrantIndex.apply

    def write(
        self: QdrantIndex, kind: str, points: Sequence[Point], removed: Sequence[str] = ()
    ) -> None:
        if points and next(written) <= failing:
            raise IndexUnavailable("away")
        whole(self, kind, points, removed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QdrantIndex, "apply", write)
        yield


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of maintenance follow each other at once."""
    monkeypatch.setattr(maintenance, "LOG_SECONDS", 0.1)


def test_what_one_process_writes_another_finds(join: Joiner) -> None:
    one, other = join(), join()
    one.remember("Camille élève des abeilles", scope=ME)
    assert contents(other, "abeilles") == ["Camille élève des abeilles"]
    one.update_settings(scope=ME, auto_retrieve_max_results=7)
    eventually(lambda: other.settings(scope=ME).auto_retrieve_max_results == 7)
    key = one.create_key(scope=ME, role="read")
    assert other.find_key(key.secret) == key.key
    other.revoke_key(key.key.id)
    assert one.find_key(key.secret) is None
    assert [entry.action for entry in one.audit(scope=ME)][:2] == ["revoke_key", "create_key"]


def test_processes_know_how_many_share_a_limit(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "BEAT_SECONDS", 0.5)
    one, other = join(), join()
    eventually(lambda: one.processes == other.processes == 2)
    shares = Buckets(10.0, 4.0, clock=lambda: 0.0, shares=lambda: one.processes)
    assert [shares.take("key") for _ in range(3)] == [0.0, 0.0, 0.2]
    other.close()
    eventually(lambda: one.processes == 1)


def channels_of(hippo: Hippocampe) -> threading.Thread:
    """The thread that hears the other processes."""
    sharing = hippo._sharing  # pyright: ignore[reportPrivateUsage]
    assert sharing is not None
    return sharing._listener._thread  # pyright: ignore[reportPrivateUsage]


FOREIGN = (
    "hello",
    "",
    "3",
    '["from"]',
    '{"said": "hello"}',
    '{"from": 3}',
    '{"from": {}, "changed": null}',
)


def test_what_another_program_says_on_the_channel_is_passed_over(
    join: Joiner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listening, "STOP_SECONDS", 5.0)
    one, other = join(), join()
    for payload in FOREIGN:
        with psycopg.connect(store_of(one).url, autocommit=True) as connection:
            connection.execute("SELECT pg_notify('hippocampe', %s)", (payload,))
    one.update_settings(scope=ME, auto_retrieve_max_results=7)
    eventually(lambda: other.settings(scope=ME).auto_retrieve_max_results == 7)
    assert caplog.messages == []
    other.close()
    assert not channels_of(other).is_alive()


def test_a_message_that_cannot_be_handled_is_logged_once(
    join: Joiner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listening, "RETRY_SECONDS", 0.1)
    one, other = join(), join()
    for _ in range(2):
        # A space that no dict can hold: of a program that says other things under the same names.
        store_of(one).tell({"erased": {"quoted": "Zéphyrine"}})
        sleep(0.5)
    one.update_settings(scope=ME, auto_retrieve_max_results=7)
    eventually(lambda: other.settings(scope=ME).auto_retrieve_max_results == 7)
    failure = (
        "messages of other processes failed, continuing without it until it recovers: TypeError"
    )
    assert caplog.messages == [failure]
    other.close()
    assert not channels_of(other).is_alive()


class Relay:
    """Forwards TCP connections to the socket of PostgreSQL; drops the bytes of those that it is told to silence.

    With `pools`, it announces another process than the server's, as a pooler does.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._port: int = self._listening.getsockname()[1]
        self.made = 0
        self.pools = False
        self._silent: set[int] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def silence(self) -> None:
        """Cut the present connections, of which neither end hears."""
        self._silent = set(range(self.made + 1))

    def url_of(self, store: PostgresStore) -> str:
        """The URL of a database, through here."""
        return store.url.replace("@/", f"@127.0.0.1:{self._port}/").partition("?")[0]

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self.made += 1
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._path))
                for ends in ((client, server), (server, client)):
                    threading.Thread(
                        target=self._copy, args=(self.made, *ends), daemon=True
                    ).start()

    def _copy(self, number: int, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError), source, target:
            while got := source.recv(65_536):
                if self.pools:
                    # A pooler announces a process of its own.
                    got = re.sub(rb"(?<=K\0\0\0\x0c)....", bytes(4), got, flags=re.DOTALL)
                if number not in self._silent:
                    target.sendall(got)
            target.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def relay() -> Iterator[Relay]:
    [path] = (
        each for each in tier.current().database.folder.glob(".s.PGSQL.*") if each.suffix != ".lock"
    )
    relay = Relay(path)
    yield relay
    relay.close()


def test_a_process_that_hears_nothing_more_connects_again(
    join: Joiner, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "BEAT_SECONDS", 0.3)
    monkeypatch.setattr(listening, "RETRY_SECONDS", 0.1)
    one = join()
    other = join(database_listen_url=relay.url_of(store_of(one)))
    one.update_settings(scope=ME, auto_retrieve_max_results=7)
    eventually(lambda: other.settings(scope=ME).auto_retrieve_max_results == 7)
    assert relay.made == 1
    relay.silence()
    one.update_settings(scope=ME, auto_retrieve_max_results=8)
    eventually(lambda: other.settings(scope=ME).auto_retrieve_max_results == 8)
    sleep(2)
    # It heard itself on the second.
    assert relay.made == 2


def test_an_address_that_delivers_no_messages_is_reported_once(
    join: Joiner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listening, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(listening, "RETRY_SECONDS", 0.05)
    with tier.current().database.admin() as connection:
        # A database of its own delivers as little as a pooler in transaction mode.
        connection.execute("CREATE DATABASE another")
    join(database_listen_url=tier.current().database.url("another"))
    eventually(lambda: bool(caplog.messages))
    sleep(0.5)
    [message] = caplog.messages
    assert "database_listen_url" in message
    tier.current().database.drop("another")


@pytest.mark.skipif(sys.platform != "linux", reason="options of sockets of Linux")
def test_connections_notice_that_their_peer_has_vanished(
    join: Joiner, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[int, ...]] = []

    def note(number: int) -> None:
        with socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM) as end:
            options = ("USER_TIMEOUT", "KEEPIDLE", "KEEPINTVL", "KEEPCNT")
            numbers = [getattr(socket, f"TCP_{option}") for option in options]
            found.append(tuple(end.getsockopt(socket.IPPROTO_TCP, each) for each in numbers))

    listen = listening.Listener._listen  # pyright: ignore[reportPrivateUsage]

    def noting(self: listening.Listener, connection: "psycopg.Connection[object]") -> None:
        note(connection.fileno())
        listen(self, connection)

    url = relay.url_of(store_of(join()))
    monkeypatch.setattr(listening.Listener, "_listen", noting)
    hippo = join(database_url=url)
    with store_of(hippo).engine.connect() as connection:
        note(connection.connection.driver_connection.fileno())  # pyright: ignore
    assert found == [(10_000, 10, 5, 2)] * 2


@pytest.mark.parametrize("pools", [False, True])
def test_statements_are_not_prepared_through_a_pooler(
    join: Joiner, relay: Relay, pools: bool
) -> None:
    relay.pools = pools
    hippo = join(database_url=relay.url_of(store_of(join())))
    with store_of(hippo).read() as connection:
        query = text("SELECT count(*) FROM pg_prepared_statements")
        counts = [
            connection.execute(query).scalar_one() for _ in range(postgres.PREPARED_AFTER + 2)
        ]
    assert bool(counts[-1]) != pools


def test_a_statement_told_twice_at_once_is_stored_once(join: Joiner) -> None:
    processes = [join(), join()]
    statements = (
        "Camille élève des abeilles",
        "The ferry leaves at noon",
        "Nadia répare des vélos",
        "Le four est en panne",
        "Owen plays the tuba",
        "La cave sent le cidre",
    )
    for said in statements:
        start = threading.Barrier(2)

        def tell(hippo: Hippocampe, said: str = said, start: threading.Barrier = start) -> None:
            start.wait()
            hippo.remember(said, scope=ME)

        threads = [threading.Thread(target=tell, args=(each,)) for each in processes]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert processes[0].stats(scope=ME).memories == {"memory": len(statements)}
    assert processes[0].verify().ok


def test_what_was_given_by_one_process_is_not_given_again_by_another(join: Joiner) -> None:
    one, other = join(), join()
    one.remember("Camille élève des abeilles", scope=ME, importance=0.9)
    assert "abeilles" in one.before_turn("Que fait Camille ?", scope=ME).text
    eventually(lambda: other.channels.copy(ME).turn == 1)
    assert other.before_turn("Que fait Camille ?", scope=ME).text == ""
    someone = Scope(user="camille", channel="lobby")
    assert "abeilles" in other.before_turn("Que fait Camille ?", scope=someone).text
    one.before_turn("Que fait Camille ?", scope=ME, fresh=True)
    # It forgot its own turns and heard of that one.
    eventually(lambda: other.channels.copy(ME).turn == 1)


def test_rows_of_another_space_are_fenced_off(join: Joiner) -> None:
    hippo = join()
    hippo.remember("Camille élève des abeilles", scope=ME)
    hippo.after_turn("Bonjour", "Salut", scope=ME)
    store = store_of(hippo)
    here, there = [], []
    for space, found in (("default", here), ("ailleurs", there)):
        with store.fenced(space), store.read() as connection:
            for table in schema.metadata.sorted_tables:
                if "space" in table.c:
                    found += connection.execute(select(table.c.space)).scalars()
    assert set(here) == {"default"}
    assert there == []
    row = {"space": "default", "name": "x", "value": 1, "updated_at": store.now()}
    with (
        pytest.raises(StoreError, match="another space"),
        store.fenced("ailleurs"),
        store.write() as connection,
    ):
        connection.execute(schema.setting.insert(), row)
    # Without the setting, nothing is visible.
    with store.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM memory")).scalar() == 0


def test_a_superuser_whom_no_fence_holds_is_reported(
    join: Joiner, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    join()
    assert "row-level security" not in caplog.text
    config = Config(tmp_path, **tier.current().settings(tmp_path))
    assert reach.database(config).ok
    url = str(config.database_url).replace(tier.current().database.user, "root", 1)
    join(database_url=url)
    assert caplog.text.count("row-level security does not restrict the user") == 1
    assert not reach.database(replace(config, database_url=url)).ok


def test_no_space_has_the_name_that_opens_all_rows(join: Joiner, tmp_path: Path) -> None:
    hippo = join()
    with pytest.raises(InvalidInput, match=r"must not be named \* on PostgreSQL"):
        hippo.remember("The ferry is blue", scope=Scope(space="*"))
    path = tmp_path / "talk.jsonl"
    path.write_text('{"author": "dev", "content": "The ferry is blue", "space": "*"}')
    done = hippo.import_from(path, scope=ME)
    assert (done.added, len(done.problems)) == (0, 1)
    assert "*" not in hippo.spaces()


def test_a_write_under_way_in_another_process_is_not_made_again(
    join: Joiner, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = join(), join()
    eventually(lambda: other.processes == 2)
    committed, go_on = threading.Event(), threading.Event()
    keep = Replies.keep

    def slow(self: Replies, claim: Claim, status: int, body: bytes) -> None:
        committed.set()
        assert go_on.wait(30)
        keep(self, claim, status, body)

    monkeypatch.setattr(Replies, "keep", slow)

    async def send(hippo: Hippocampe, key: str = "a") -> httpx.Response:
        app = create_app(hippo, loopback=True, keyless=True)
        transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            body = {"content": "Camille élève des abeilles"}
            headers = {"Idempotency-Key": key}
            return await client.post("/api/memories", json=body, headers=headers)

    first: list[httpx.Response] = []
    writing = threading.Thread(target=lambda: first.append(asyncio.run(send(one))))
    writing.start()
    assert committed.wait(30)
    for _ in range(2):
        refused = asyncio.run(send(other))
        assert "under way" in problem(refused, 409)
        assert refused.headers["retry-after"] == "1"
        # It takes long, but its process lives.
        clock.advance(minutes=30)
    go_on.set()
    writing.join()
    again = asyncio.run(send(other))
    assert ok(again, 201) == ok(first[0], 201)
    assert again.headers["idempotent-replayed"] == "true"

    # A process that dies is waited for: it may not have been heard yet.
    monkeypatch.setattr(Replies, "keep", lambda *_: None)
    ok(asyncio.run(send(one, "b")))
    assert "check what is stored" in problem(asyncio.run(send(one, "b")), 409)
    one.close()
    eventually(lambda: other.processes == 1)
    assert "under way" in problem(asyncio.run(send(other, "b")), 409)
    clock.advance(minutes=3)
    assert "check what is stored" in problem(asyncio.run(send(other, "b")), 409)


LOCKED = """
    SELECT relation::regclass::text FROM pg_locks
    WHERE pid = pg_backend_pid() AND relation::regclass::text ~ '^(memory|vector)_[0-9]+$'
"""


@pytest.mark.parametrize(("space", "partitions"), [("default", 1), (None, PARTITIONS)])
def test_a_read_of_a_space_touches_one_partition_of_each_table(
    join: Joiner, space: str | None, partitions: int
) -> None:
    hippo = join()
    id = hippo.remember("Camille élève des abeilles", scope=ME).memory.id
    store = store_of(hippo)
    joined = select(schema.memory.c.content, schema.vector.c.words).where(
        schema.memory.c.id.in_(bindparam("ids", expanding=True))
    )
    of_both = joined.join_from(
        schema.memory, schema.vector, schema.vector.c.id == schema.memory.c.id
    )
    with store.fenced(space), store.read() as connection:
        [(content, _)] = driver.read_by_ids(connection, of_both, [id])
        locked = set(connection.execute(text(LOCKED)).scalars())
    assert content == "Camille élève des abeilles"
    assert len({each for each in locked if each.startswith("memory")}) == partitions
    assert len({each for each in locked if each.startswith("vector")}) == partitions


def test_a_scheduled_job_is_queued_and_run_once(join: Joiner, clock: FakeClock) -> None:
    processes = [join(), join()]
    for number in range(3):
        processes[0].observe(f"message {number}", scope=ME)
    clock.advance(hours=5)
    threads = [threading.Thread(target=each.run_jobs, kwargs={"scope": ME}) for each in processes]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    runs = processes[0].jobs(scope=ME, job="digest")
    assert [run.state for run in runs] == ["done"]


def leased(store: PostgresStore, lease: timedelta) -> str:
    """Store a run that some process has claimed; return its id."""
    with store.write() as connection:
        id = job_runs.add(connection, "digest", "default", due_at=store.now())
        assert job_runs.claim(connection, id, store.now(), leased=lease)
    return id


def test_a_run_of_a_process_that_died_is_taken_back_after_its_lease(
    join: Joiner, clock: FakeClock
) -> None:
    one, other = join(), join()
    store = store_of(one)
    one.observe("message", scope=ME)
    id = leased(store, timedelta(minutes=2))
    assert other.run_jobs(scope=ME) == []
    # A clock that runs ahead takes nothing: the lease is one of the database's clock.
    clock.advance(days=3)
    assert id not in [run.id for run in other.run_jobs(scope=ME)]
    with store.write() as connection:
        job_runs.lease(connection, id, timedelta(0))
    assert id in [run.id for run in other.run_jobs(scope=ME)]


def test_a_run_is_taken_back_by_one_of_two_processes(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, late = join(), join()
    ran: list[str] = []
    monkeypatch.setitem(JOBS, "digest", lambda _, run: ran.append(run.id) or "done")
    id = leased(store_of(one), -timedelta(minutes=3))
    abandoned = job_runs.abandoned

    def slow(connection: Connection, *, leased: bool) -> list[JobRun]:
        found = abandoned(connection, leased=leased)
        monkeypatch.setattr(job_runs, "abandoned", abandoned)
        # It ends while this process has only read of it.
        one.run_jobs(scope=ME)
        return found

    monkeypatch.setattr(job_runs, "abandoned", slow)
    late.run_jobs(scope=ME)
    assert ran == [id]
    [run] = one.jobs(scope=ME, job="digest")
    assert (run.state, run.attempts) == ("done", 2)


@pytest.mark.parametrize("told", ["Camille keeps bees", "Camille élève des abeilles"])
def test_the_servers_know_the_size_of_what_they_keep(join: Joiner, told: str) -> None:
    hippo = join()
    hippo.remember(told, scope=ME)
    assert hippo.vitals().bytes == {}


def test_the_index_may_be_away(
    join: Joiner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    node = tier.current().index
    hippo = join()
    hippo.remember("Camille élève des abeilles", scope=ME)
    node.kill()
    try:
        hippo.remember("Nadia répare des vélos", scope=ME)
        hippo.after_turn("Je pars en Grèce demain", "Bon voyage", scope=ME)
        with pytest.raises(IndexUnavailable) as refused:
            hippo.recall("vélos", scope=ME)
        assert refused.type is IndexUnavailable
        assert str(refused.value).count("cannot be searched") == 1
        assert hippo.stats(scope=ME).indexed == hippo.vitals().indexed == {}
        found = asyncio.run(Probe(AsyncHippocampe(hippo)).readiness())
        assert (found.store, found.embedder, found.index) == ("ok", "ok", "down")
        assert "vélos" in hippo.before_turn("Que fait Nadia ?", scope=ME).text
        assert [m.content for m in hippo.search_text("GRECE", scope=ME)] == [
            "Je pars en Grèce demain"
        ]
        assert pending(hippo) > 0
        down = [each for each in caplog.messages if "Nothing is lost" in each]
        assert len(down) == 1
    finally:
        node.start()
    eventually(lambda: flushed(hippo))
    assert contents(hippo, "vélos") == ["Nadia répare des vélos"]
    monkeypatch.setattr(qdrant, "DURABLE_SECONDS", 0.0)
    hippo.flush()
    assert pending(hippo) == 0
    assert hippo.verify().ok


def flushed(hippo: Hippocampe) -> bool:
    try:
        hippo.flush()
        return contents(hippo, "vélos") != []
    except HippocampeError:
        return False


def test_what_a_dead_process_did_not_deliver_another_does(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = join(), join()
    with monkeypatch.context() as patch:
        # It dies between the commit and the index.
        index = one._context.corpus.index  # pyright: ignore[reportPrivateUsage]
        patch.setattr(index, "apply", lambda *_: (_ for _ in ()).throw(IndexUnavailable("dead")))
        one.remember("Camille élève des abeilles", scope=ME)
    assert contents(other, "abeilles") == []
    monkeypatch.setattr(deliveries, "STRAY_SECONDS", 0.0)
    other.flush()
    assert contents(other, "abeilles") == ["Camille élève des abeilles"]
    assert other.verify().ok


def test_changes_whose_connection_was_cut_at_the_commit_are_no_differences(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo, other = join(), join()
    kept, gone = (
        hippo.remember(content, scope=ME).memory.id
        for content in ("Camille élève des abeilles", "Owen mends clocks")
    )
    hippo.flush()
    with monkeypatch.context() as patch:
        patch.setattr(Writer, "_apply", lambda *_: None)
        hippo.remember("Nadia répare des vélos", scope=ME)
        hippo.edit(kept, scope=ME, content="Camille élève des lamas")
        hippo.delete(gone, scope=ME, reason="sold")
    for each in (hippo, other):
        each.flush()
        assert each.verify().ok
    monkeypatch.setattr(deliveries, "STRAY_SECONDS", 0.0)
    other.flush()
    assert other.verify().ok
    assert contents(other, "vélos")[:1] == ["Nadia répare des vélos"]


def test_a_frozen_process_delays_no_other_writer(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "STRAY_SECONDS", 0.0)
    frozen, other = join(), join()
    away = Scope(space="away", user="dev")
    with failing_writes(2):
        frozen.remember("Camille élève des abeilles", scope=ME)
        frozen.remember("Owen mends clocks", scope=away)
    writer = other._context.writer  # pyright: ignore[reportPrivateUsage]
    with store_of(frozen).fenced("default"), store_of(frozen).exclusive():
        # It holds the lock of its space between the commit and the index.
        began = monotonic()
        deliveries.settle(writer, wait=False)
        assert monotonic() - began < postgres.LOCK_SECONDS / 2
        assert contents(other, "clocks", away) == ["Owen mends clocks"]
        assert contents(other, "abeilles") == []
    deliveries.settle(writer, wait=False)
    assert contents(other, "abeilles") == ["Camille élève des abeilles"]
    assert other.verify().ok


def test_a_process_that_keeps_the_others_waiting_is_named(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "LOCK_SECONDS", 1)
    suspended, other = join(), join()
    told = rf"process {os.getpid()} on .* for 1 s .* pg_terminate_backend\((\d+)\)"
    # It writes in the space of the other, or works on all spaces.
    for space in ("default", None):
        with (
            store_of(suspended).fenced(space),
            store_of(suspended).exclusive(),
            pytest.raises(StoreBusy, match=told),
        ):
            other.remember("Camille élève des abeilles", scope=ME)
    assert other.remember("Camille élève des abeilles", scope=ME).action == "inserted"


def test_a_connection_that_is_cut_before_a_lock_is_an_outage_with_a_reason(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = "SELECT pg_terminate_backend(pg_backend_pid())"
    monkeypatch.setattr("hippocampe.store.locks.trying_to_write", lambda _: cut)
    with pytest.raises(StoreError), store_of(join()).exclusive(wait=False):
        pass


def test_the_database_may_be_restarted(join: Joiner) -> None:
    hippo, server = join(), tier.current().database
    hippo.remember("Camille élève des abeilles", scope=ME)
    server.stop()
    try:
        with pytest.raises(StoreError, match="reached"):
            hippo.remember("Nadia répare des vélos", scope=ME)
        assert hippo.before_turn("Que fait Camille ?", scope=ME).text is not None
    finally:
        server.start()
    hippo.remember("Nadia répare des vélos", scope=ME)
    assert contents(hippo, "vélos") == ["Nadia répare des vélos"]
    assert hippo.verify().ok


def test_a_database_of_a_later_version_is_refused_while_older_processes_serve(
    join: Joiner,
) -> None:
    older = join()
    with store_of(older).write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreTooNew, match="dump of the database"):
        join()
    assert older.remember("le chat dort", scope=ME).action == "inserted"


def test_what_an_import_that_died_left_is_embedded_by_the_next_process(
    join: Joiner, tmp_path: Path
) -> None:
    one, elsewhere = join(), Scope(space="elsewhere")
    one.remember("Camille élève des abeilles", scope=ME)
    archive = tmp_path / "archive.jsonl"
    one.export_to(archive, scope=ME)

    def die(*_: object) -> None:
        raise SystemExit

    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(backlog, "embed_imported", die)
        one.import_from(archive, scope=elsewhere)
    assert contents(one, "abeilles", elsewhere) == []
    assert contents(join(), "abeilles", elsewhere) == ["Camille élève des abeilles"]
    assert one.verify().ok


def test_a_standby_is_named(join: Joiner) -> None:
    hippo, server = join(), tier.current().database
    standby = server.folder / "data" / "standby.signal"
    server.stop()
    standby.touch()
    server.start()
    try:
        with pytest.raises(StoreReadOnly, match="connect to its primary server"):
            hippo.remember("le chat dort", scope=ME)
    finally:
        server.stop()
        standby.unlink()
        server.start()
    assert hippo.remember("le chat dort", scope=ME).action == "inserted"


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_every_text_is_refused(encoding: str, tmp_path: Path) -> None:
    server, name = tier.current().database, f"of_{encoding.lower()}"
    with server.admin() as connection:
        connection.execute(
            f"CREATE DATABASE {name} OWNER {server.user} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
        )
    try:
        with pytest.raises(StoreError, match=f"has the encoding {encoding}, .* ENCODING 'UTF8'"):
            PostgresStore(server.url(name), tmp_path).opened()
        with server.admin(name) as connection:
            assert (
                connection.execute("SELECT 1 FROM pg_tables WHERE tablename = 'memory'").fetchone()
                is None
            )
    finally:
        server.drop(name)


@pytest.mark.parametrize(
    ("setting", "said"),
    [("lock_timeout", "wrote for too long"), ("statement_timeout", "Try again")],
)
def test_a_time_limit_of_the_database_is_named(
    join: Joiner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: str, said: str
) -> None:
    monkeypatch.setattr(postgres, "LOCK_SECONDS", 20 if setting == "statement_timeout" else 1)
    hippo = join()
    hippo.remember("le chat dort", scope=ME)
    url = tier.current().settings(tmp_path)["database_url"]
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE memory IN ACCESS EXCLUSIVE MODE")
        if setting == "statement_timeout":
            store_of(hippo).engine.dispose()
            monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=500")
        for call in (lambda: contents(hippo, "chat"), lambda: hippo.remember("il dort", scope=ME)):
            with pytest.raises(StoreBusy, match=said):
                call()


def test_an_erasure_leaves_what_its_receipt_says(join: Joiner) -> None:
    one, other = join(), join()
    one.remember("Zéphyrine élève des abeilles", scope=ME, subjects=["Zéphyrine"])
    one.remember("Nadia répare des vélos", scope=ME)
    one.after_turn("Zéphyrine part demain", "Bon voyage à Zéphyrine", scope=ME)
    assert contents(other, "abeilles") == ["Zéphyrine élève des abeilles"]
    receipt = one.erase(subject="Zéphyrine", scope=ME)
    assert receipt.remains == ("pages", "segments", "log")
    assert one.verify(absent=["Zéphyrine"]).ok
    # A part of an id is not a text.
    kept = one.recall("vélos", scope=ME)[0]
    assert one.verify(absent=[kept.id[-6:]]).ok
    assert one.verify(absent=[kept.id]).present.keys() == {kept.id}
    # No file of the index holds the name, neither before nor after.
    storage = tier.current().index.folder
    for path in storage.rglob("*"):
        if path.is_file() and path.name != "log":
            held = path.read_bytes()
            assert b"phyrine" not in held and b"abeilles" not in held, path
    assert store_of(one).rewrite() == ("log",)
    with tier.current().database.admin() as connection:
        connection.execute("CHECKPOINT")
        tables = tier.current().database.folder / "data" / "base"
    for path in tables.rglob("*"):
        if path.is_file():
            assert b"phyrine" not in path.read_bytes(), path
    eventually(lambda: "zephyrine" not in other._context.corpus.vocabulary.known().ids)  # pyright: ignore
    assert contents(other, "vélos") == ["Nadia répare des vélos"]


def test_a_writer_that_waited_for_an_erasure_stores_words_that_exist(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = join(), join()
    away = Scope(space="away", user="dev")
    one.remember("Zéphyrine élève des abeilles", scope=ME)
    other.remember("Nadia répare des vélos", scope=away)
    vocabulary = other._context.corpus.vocabulary  # pyright: ignore[reportPrivateUsage]
    eventually(lambda: "zephyrine" in vocabulary.known().ids)
    # It hears of the erasure too late.
    monkeypatch.setattr(store_of(one), "erased", lambda *_: None)
    monkeypatch.setattr(Vocabulary, "follow", lambda *_: None)
    erased, go_on = threading.Event(), threading.Event()
    remove = erasure.remove

    def slow(*given: object, **named: object) -> None:
        erased.set()
        assert go_on.wait(10)
        remove(*given, **named)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(erasure, "remove", slow)
    erasing = threading.Thread(target=one.erase, kwargs={"scope": ME, "whole_space": True})
    erasing.start()
    assert erased.wait(10)
    said = "Zéphyrine habite Toulouse"
    writing = threading.Thread(target=other.remember, args=(said,), kwargs={"scope": away})
    writing.start()
    sleep(0.5)
    go_on.set()
    erasing.join()
    writing.join()
    with store_of(other).read() as connection:
        words = set(connection.execute(select(schema.word.c.id)).scalars())
        lists = [*connection.execute(select(schema.vector.c.words)).scalars()]
    assert len(lists) == 2
    assert {*unpack_words(lists)[0].tolist()} <= words
    assert contents(join(), "Zéphyrine", away)[0] == said


def test_few_processes_that_ended_are_remembered(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "MAX_PROCESSES", 3)
    heard = join()._sharing  # pyright: ignore[reportPrivateUsage]
    assert heard is not None
    names = [f"process {number}" for number in range(5)]
    heard._hear([{"from": name, "alive": False} for name in names])  # pyright: ignore[reportPrivateUsage]
    assert list(heard._alive) == names[2:]  # pyright: ignore[reportPrivateUsage]
    assert heard.processes == 1


def test_an_erasure_keeps_the_log_of_other_spaces(join: Joiner) -> None:
    one, other = join(), join()
    away = Scope(space="away", user="dev")
    one.remember("Zéphyrine élève des abeilles", scope=ME)
    other.before_turn("Que fait Zéphyrine ?", scope=ME)
    other.before_turn("Que fait Nadia ?", scope=away)
    one.erase(subject="Zéphyrine", scope=ME)
    waiting = other._turns.retrievals  # pyright: ignore[reportPrivateUsage]
    eventually(lambda: waiting.dropped == 1)
    assert [each.message_preview for each in other.retrievals(scope=away)] == ["Que fait Nadia ?"]
    assert other.retrievals(scope=ME) == []


def test_an_erasure_that_a_process_did_not_hear_of_leaves_nothing_in_it(join: Joiner) -> None:
    one, other = join(), join()
    one.remember("Zéphyrine élève des abeilles", scope=ME)
    told = list[str]()

    class Host:
        def erased(self, space: str) -> None:
            told.append(space)

    host = Host()
    other.erasures.add(host.erased)
    other.before_turn("Que fait Zéphyrine ?", scope=ME)
    with tier.current().database.admin() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        )
    one.erase(subject="Zéphyrine", scope=ME)
    other.flush()
    assert one.retrievals(scope=ME) == []
    assert one.verify(absent=["Zéphyrine"]).ok
    eventually(lambda: told == ["default"])
    other.before_turn("Who keeps the goats?", scope=ME)
    other.flush()
    assert [each.message_preview for each in one.retrievals(scope=ME)] == ["Who keeps the goats?"]


def test_an_own_erasure_keeps_the_log_of_later_turns(join: Joiner) -> None:
    one = join()
    one.remember("Zéphyrine élève des abeilles", scope=ME)
    one.erase(subject="Zéphyrine", scope=ME)
    one.before_turn("Who keeps the goats?", scope=ME)
    assert [each.message_preview for each in one.retrievals(scope=ME)] == ["Who keeps the goats?"]


def test_what_one_process_forgets_no_other_repeats_in_a_conversation(join: Joiner) -> None:
    one, other = join(), join()
    one.remember("Le canapé de Lucie est cassé", scope=ME)
    channel = other.channels.channel
    channel(ME).remind("message", "Le canapé de Lucie est cassé", 9, AT)
    one.forget("le canapé", scope=ME)
    eventually(lambda: not channel(ME).reminders)


def test_talk_that_waits_in_another_process_is_no_damage(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise EmbedderUnavailable("away")

    one, other = join(), join()
    with monkeypatch.context() as patch:
        patch.setattr(Vocabulary, "prepare", away)
        one.after_turn("Je pars en Grèce demain", "Bon voyage", scope=ME)
    assert other.verify().ok
    with store_of(other).write() as connection:
        connection.execute(schema.outbox.delete())
    assert other.verify().missing_in_index.keys() == {"turn"}


def test_processes_with_the_same_notes_store_them_once(
    join: Joiner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Soupe.md").write_text("La soupe aux orties cuit une heure.")
    (vault / "Bread.md").write_text("The rye bread rests overnight.")
    hippo = join()
    prepare, both = Vocabulary.prepare, threading.Barrier(2)

    def together(self: Vocabulary, *given: Any) -> Any:
        # Both have seen that none is stored.
        with suppress(threading.BrokenBarrierError):
            both.wait(5)
        return prepare(self, *given)

    monkeypatch.setattr(Vocabulary, "prepare", together)
    threads = [
        threading.Thread(target=join, kwargs={"notes_folder": vault}, daemon=True) for _ in range(2)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    both.abort()
    with store_of(hippo).read() as connection:
        assert len(connection.execute(select(schema.note.c.id)).all()) == 2
    assert hippo.verify().ok


def test_a_process_leaves_the_notes_of_another_space(join: Joiner, tmp_path: Path) -> None:
    for space in ("home", "office"):
        (tmp_path / space).mkdir()
        (tmp_path / space / "Note.md").write_text(f"Le carnet de {space} est bleu.")
        join(notes_folder=tmp_path / space, notes_space=space)
    with store_of(join()).read() as connection:
        assert set(connection.execute(select(schema.note.c.space)).scalars()) == {"home", "office"}


def test_a_collection_that_was_deleted_is_filled_again(join: Joiner) -> None:
    hippo = join()
    hippo.remember("Camille élève des abeilles", scope=ME)
    hippo.flush()
    delete_collections()
    again = join()
    assert contents(again, "abeilles") == ["Camille élève des abeilles"]
    assert again.verify().ok


def test_a_filling_that_failed_is_repeated_by_the_next_process(join: Joiner) -> None:
    told(join)
    delete_collections()
    with failing_writes():
        first = join()
    assert contents(first, "abeilles") == []
    assert contents(join(), "abeilles") == ["Camille élève des abeilles"]
    assert first.verify().ok


def test_a_filling_that_failed_is_repeated_by_a_flush(join: Joiner) -> None:
    told(join)
    delete_collections()
    with failing_writes():
        hippo = join()
    hippo.flush()
    assert contents(hippo, "abeilles") == ["Camille élève des abeilles"]


@pytest.mark.usefixtures("quick")
def test_a_filling_that_failed_is_repeated_in_the_background(join: Joiner) -> None:
    told(join)
    delete_collections()
    with failing_writes():
        hippo = join(background=True)
    eventually(lambda: finds(hippo, "abeilles", "Camille élève des abeilles"))


@pytest.mark.usefixtures("quick")
def test_an_index_that_was_away_at_opening_may_come_back_empty(join: Joiner) -> None:
    node = tier.current().index
    told(join)
    node.kill()
    shutil.rmtree(node.folder / "storage")
    try:
        hippo = join(background=True)
    finally:
        node.start()
    eventually(lambda: finds(hippo, "abeilles", "Camille élève des abeilles"))


@pytest.mark.usefixtures("quick")
def test_a_collection_that_is_lost_while_a_process_runs_is_made_and_filled_again(
    join: Joiner,
) -> None:
    idle, hippo = told(join), join(background=True)
    node = tier.current().index
    node.kill()
    shutil.rmtree(node.folder / "storage")
    node.start()
    eventually(lambda: finds(hippo, "abeilles", "Camille élève des abeilles"))
    idle.remember("Nadia répare des vélos", scope=ME)
    assert contents(hippo, "vélos") == ["Nadia répare des vélos"]
    delete_collections()
    assert idle.reindex().without_graph == ()
    assert contents(idle, "vélos") == ["Nadia répare des vélos"]


def test_a_collection_that_is_lost_while_it_is_filled_is_filled_once_more(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = told(join)
    hippo.after_turn("Le four est en panne", "Ah bon", scope=ME)
    filled: list[str] = []
    refresh = deliveries._refresh  # pyright: ignore[reportPrivateUsage]

    def losing(writer: Writer, kind: str, *more: Any) -> None:
        if kind == "turn" and kind not in filled:
            delete_collections()
        filled.append(kind)
        refresh(writer, kind, *more)

    monkeypatch.setattr(deliveries, "_refresh", losing)
    hippo.reindex()
    assert filled.count("memory") > 1
    assert contents(hippo, "abeilles") == ["Camille élève des abeilles"]
    assert hippo.verify().ok


def test_one_process_fills_the_index_and_the_others_wait_for_it(join: Joiner) -> None:
    one, other = told(join), join()
    delete_collections()
    with store_of(one).filling() as alone:
        assert alone
        other.flush()
        # The other one left it, and nobody takes it for filled if this one dies.
        assert contents(other, "abeilles") == []
        assert index_of(other).is_new()
        with store_of(one).filling() as twice:
            assert not twice
    other.flush()
    assert contents(other, "abeilles") == ["Camille élève des abeilles"]
    assert not index_of(one).is_new()


@pytest.mark.usefixtures("quick")
def test_an_index_with_too_few_points_is_filled_when_a_process_starts(
    join: Joiner,
) -> None:
    one = told(join)
    # As an old snapshot of the server does.
    index_of(one).apply("memory", [], list(index_of(one).ids("memory")))
    assert not index_of(one).is_new()
    hippo = join(background=True)
    eventually(lambda: finds(hippo, "abeilles", "Camille élève des abeilles"))


def test_an_index_that_an_earlier_version_filled_is_not_filled_again(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = told(join)
    one.after_turn("Le four est en panne", "Ah bon", scope=ME)
    one.flush()
    index_of(one).apply("memory", (), [qdrant._MARK])  # pyright: ignore[reportPrivateUsage]
    assert index_of(one).is_new()
    monkeypatch.setattr(deliveries, "refill", lambda *_: pytest.fail("it was filled again"))  # pyright: ignore
    join()
    assert not index_of(one).is_new()


def test_a_scrub_that_was_interrupted_leaves_an_index_that_is_filled_again(join: Joiner) -> None:
    hippo = told(join)
    with failing_writes(), pytest.raises(IndexUnavailable):
        maintenance.scrub(hippo._context.writer)  # pyright: ignore[reportPrivateUsage]
    assert contents(hippo, "abeilles") == []
    again = join()
    assert contents(again, "abeilles") == ["Camille élève des abeilles"]
    assert maintenance.scrub(again._context.writer) == ("log",)  # pyright: ignore[reportPrivateUsage]
    assert not index_of(again).is_new()
    assert contents(again, "abeilles") == ["Camille élève des abeilles"]


def test_what_cannot_be_embedded_does_not_keep_the_rest_out_of_a_new_index(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(join)
    delete_collections()

    def away(*_: object) -> int:
        raise EmbedderUnavailable("away")

    monkeypatch.setattr("hippocampe.engine.backlog.embed_missing", away)
    hippo = join()
    assert contents(hippo, "abeilles") == ["Camille élève des abeilles"]


def test_another_embedder_has_a_collection_of_its_own_and_the_old_one_is_deleted(
    join: Joiner,
) -> None:
    hippo = join()
    hippo.remember("Camille élève des abeilles", scope=ME)
    hippo.flush()
    old = index_of(hippo).collection
    assert hippo.reindex(embedder="hashed:48").without_graph == ()
    hippo.remember("Owen cultive des myrtilles", scope=ME)
    hippo.flush()
    other = join(embedder="hashed:48")
    for each in (hippo, other):
        assert index_of(each).collection != old
        assert index_of(each).count("memory") == 2
        assert contents(each, "abeilles") == ["Camille élève des abeilles"]
    with closing(QdrantClient(tier.current().index.url, check_compatibility=False)) as client:
        assert not client.collection_exists(old)
    assert hippo.verify().ok


def test_an_erasure_while_the_index_is_away_is_finished_when_it_is_back(join: Joiner) -> None:
    node = tier.current().index
    hippo = join()
    hippo.remember("Zéphyrine élève des abeilles", scope=ME)
    hippo.flush()
    node.kill()
    try:
        receipt = hippo.erase(scope=ME, whole_space=True)
        assert receipt.counts["memory"] == 1
        assert receipt.remains == ("index", "pages", "segments", "log")
        assert hippo.stats(scope=ME).memories == {}
        assert hippo.audit(scope=ME)[0].action == "erase"
    finally:
        node.start()

    def finished() -> bool:
        # The next opening finishes it, as maintenance does; a node that has just started may be too slow for the first.
        with suppress(IndexUnavailable):
            return index_of(join()).count("memory") == 0
        return False

    eventually(finished)
    again = join()
    with store_of(again).read() as connection:
        assert meta.get(connection, ERASING) == ""
    assert again.erase(scope=ME, whole_space=True).remains == ("pages", "segments", "log")
