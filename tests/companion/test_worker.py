"""The worker as a real process: requests of several users, errors, cancelling, and how it ends."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import hippocampe
from children import PROGRAM, run, start, stopping
from hippocampe import Config, Hippocampe, Message, Scope
from hippocampe.cells import Divided, folder_of, home_of
from hippocampe.companion.lines import split
from hippocampe.companion.worker import MAX_LINE_BYTES
from hippocampe.hippocampe import divide
from model_server import Answer, Call, ModelRequest, ModelServer

PATIENCE = 60
"""Seconds until a line that does not come is a failure; much more than any takes."""


def nothing_to_keep(request: ModelRequest) -> Answer | None:
    """The answer to a request of a background job; None for one of the companion."""
    if request.model == "background":
        return Answer(calls=(Call("answer", {"statements": []}),))
    return None


def echo(request: ModelRequest) -> Answer:
    """Look something up, then repeat the message to the user who sent it."""
    if (background := nothing_to_keep(request)) is not None:
        return background
    said = json.loads(request.asked)
    if not request.results:
        return Answer(calls=(Call("search_memories", {"query": f"about {said['from']}"}),))
    message = f"{said['from']}: {said['message']}"
    return Answer(calls=(Call("respond", {"expression": "happy", "message": message}),))


class Process:
    """A worker, and the lines it has answered."""

    def __init__(self, folder: Path, *, reads: bool = True, before: str = "") -> None:
        self.popen = start(
            *("-c", before + PROGRAM, "worker", "--embedder", "hashed:64"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ
            | {
                "HIPPOCAMPE_FOLDER": str(folder),
                "HIPPOCAMPE_MODEL": "openai-chat:scripted",
                "HIPPOCAMPE_BACKGROUND_MODEL": "openai-chat:background",
                # The protocol is UTF-8 whatever the system prefers.
                "LC_ALL": "C",
                "PYTHONUTF8": "0",
                "PYTHONIOENCODING": "ascii",
            },
        )
        self.lines: list[dict[str, Any]] = []
        self._arrived: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr: list[bytes] = []
        self._threads = [threading.Thread(target=self._read_errors)]
        if reads:
            self._threads.append(threading.Thread(target=self._read))
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self._arrived.put(line)
        self._arrived.put(None)

    def _read_errors(self) -> None:
        assert self.popen.stderr is not None
        self._stderr += self.popen.stderr.readlines()

    def send(self, *lines: dict[str, Any] | bytes) -> None:
        assert self.popen.stdin is not None
        for line in lines:
            raw = line if isinstance(line, bytes) else json.dumps(line).encode()
            self.popen.stdin.write(raw + b"\n")
        self.popen.stdin.flush()

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next line that is wanted; those before it are kept in `lines`."""
        while True:
            line = self._arrived.get(timeout=PATIENCE)
            assert line is not None, self.stderr
            self.lines.append(json.loads(line))
            if wanted(self.lines[-1]):
                return self.lines[-1]

    def last(self, id: object) -> dict[str, Any]:
        return self.until(lambda line: line["id"] == id and line["type"] != "event")

    def end(self) -> int:
        """End the input, read everything, and give the exit code."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        return self.exit()

    def exit(self) -> int:
        code = self.popen.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        while not self._arrived.empty():
            if (line := self._arrived.get()) is not None:
                self.lines.append(json.loads(line))
        return code

    @property
    def stderr(self) -> str:
        return b"".join(self._stderr).decode()

    def close(self) -> None:
        self.popen.kill()
        self.exit()
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


Begin = Callable[..., Process]


@pytest.fixture
def begin(folder: Path, server: ModelServer) -> Iterator[Begin]:
    server.brain = echo
    with ExitStack() as stack:

        def started(**options: Any) -> Process:
            process = Process(folder, **options)
            stack.callback(process.close)
            return process

        yield started


@pytest.fixture
def stored(folder: Path, hashed: None) -> Callable[[], list[Message]]:
    """The messages in the store, once the worker has ended."""

    def read() -> list[Message]:
        with Hippocampe.open(Config(folder, background=False)) as hippo:
            return hippo.messages(scope=Scope(), limit=1_000)

    return read


def request(id: object, user: str = "dev", message: str = "salut", **more: Any) -> dict[str, Any]:
    return {"id": id, "user": user, "message": message, **more}


def waits_for(condition: Callable[[], bool]) -> None:
    ends = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < ends
        sleep(0.02)


def test_several_users_at_once(begin: Begin, server: ModelServer) -> None:
    met = threading.Barrier(3, timeout=PATIENCE)

    def brain(asked: ModelRequest) -> Answer:
        # Only three requests that run side by side get past it.
        if asked.model != "background" and not asked.results:
            met.wait()
        return echo(asked)

    server.brain = brain
    worker = begin()
    worker.send(*(request(number, f"user{number}", f"mot {number}") for number in (1, 2, 3)))
    assert worker.end() == 0
    for number in (1, 2, 3):
        mine = [line for line in worker.lines if line["id"] == number]
        *events, answer = mine
        assert [event["event"] for event in events[:2]] == ["tool_called", "tool_returned"]
        assert events[0]["arguments"] == {"query": f"about user{number}"}
        assert "".join(event["text"] for event in events[2:]) == f"user{number}: mot {number}"
        assert {event["type"] for event in events} == {"event"}
        assert answer.keys() == {"id", "type", "expression", "message", "memories", "usage"}
        assert (answer["type"], answer["expression"]) == ("answer", "happy")
        assert answer["message"] == f"user{number}: mot {number}"
        assert answer["usage"]["turns"] == 2


def test_a_user_is_answered_in_order(begin: Begin, stored: Callable[[], list[Message]]) -> None:
    worker = begin()
    worker.send(*(request(f"r{number}", message=f"mot {number}") for number in range(5)))
    assert worker.end() == 0
    ended = [line["id"] for line in worker.lines if line["type"] == "answer"]
    assert ended == [f"r{number}" for number in range(5)]
    # The events of a request end before those of the next begin.
    ids = [line["id"] for line in worker.lines]
    assert ids == sorted(ids)
    assert [each.content for each in stored()][::2] == [f"mot {number}" for number in range(5)]


def test_users_of_all_cells_are_answered(begin: Begin, folder: Path, hashed: None) -> None:
    divide(Config(folder, embedder="hashed:64"), 2)
    spaces = ("maison", "home", "famille", "family", "travail", "work")
    cells = {space: Divided(folder).read().cell_of(space) for space in spaces}
    assert set(cells.values()) == {0, 1}
    with stopping(folder), stopping(folder_of(folder, 1)):
        worker = begin()
        worker.send(*(request(space, message=f"ici {space}", space=space) for space in spaces))
        assert worker.end() == 0
    ended = {line["id"]: line for line in worker.lines if line["type"] != "event"}
    assert {space: line.get("message") for space, line in ended.items()} == {
        space: f"dev: ici {space}" for space in spaces
    }
    for space, cell in cells.items():
        with Hippocampe.open(Config(folder_of(folder, cell), background=False)) as hippo:
            said = [each.content for each in hippo.messages(scope=Scope(space=space))]
        assert f"ici {space}" in said


def test_cells_that_are_added_while_a_worker_runs_answer(
    begin: Begin, folder: Path, hashed: None
) -> None:
    cells = [folder_of(folder, number) for number in range(3)]
    with ExitStack() as stack:
        for each in cells:
            stack.enter_context(stopping(each))
        worker = begin()
        for count in (1, 2, 3):
            if count > 1:
                divide(Config(folder, embedder="hashed:64"), count)
            for cell in range(count):
                names = (f"{word} {count} {n}" for n in range(64) for word in ("jardin", "garden"))
                space = next(each for each in names if home_of(folder, each) == cells[cell])
                worker.send(request(f"{count} {cell}", message="ici", space=space))
                assert worker.last(f"{count} {cell}").get("message") == "dev: ici"
        assert worker.end() == 0


def test_text_is_utf8_whatever_the_system(begin: Begin, server: ModelServer) -> None:
    message = "Où est l'été ? 🦛 « ça »\u2028fin"
    worker = begin()
    worker.send(json.dumps(request("é🦛", "zoé", message), ensure_ascii=False).encode())
    worker.send(b"\xef\xbb\xbf" + json.dumps(request("bom", "zoé")).encode())
    assert worker.last("é🦛")["message"] == f"zoé: {message}"
    assert worker.last("bom")["message"] == "zoé: salut"
    assert worker.end() == 0
    assert worker.stderr == ""


def test_memories_and_usage_are_in_the_answer(begin: Begin, server: ModelServer) -> None:
    def brain(asked: ModelRequest) -> Answer:
        if (background := nothing_to_keep(asked)) is not None:
            return background
        if not asked.results:
            return Answer(calls=(Call("store_memory", {"content": "Dev joue du tuba"}),))
        return Answer(calls=(Call("respond", {"expression": "happy", "message": "Noté."}),))

    server.brain = brain
    worker = begin()
    worker.send(request("1", space="musique", channel="salon"))
    answer = worker.last("1")
    (memory,) = answer["memories"]
    assert (memory["content"], memory["space"], memory["channel"], memory["user"]) == (
        "Dev joue du tuba",
        "musique",
        "salon",
        "dev",
    )
    assert answer["usage"]["input_tokens"] > 0
    assert worker.end() == 0


BAD = [
    (b"bonjour", None, "not JSON"),
    (b"[" * 100_000, None, "not JSON"),
    (b"1" * 5_000, None, "not JSON"),
    (b'["id"]', None, "not a JSON object"),
    (b"\xff\xfe{}", None, "not UTF-8"),
    (b"{}", None, "id is missing"),
    (b'{"id": true, "user": "dev", "message": "a"}', None, "id is missing or wrong"),
    (b'{"id": {"a": 1}, "user": "dev", "message": "a"}', None, "id is missing or wrong"),
    (b'{"id": 7}', 7, "'user' is missing"),
    (b'{"id": "a", "user": "dev"}', "a", "'message' is missing"),
    (b'{"id": "a", "user": "dev", "message": 3}', "a", "'message' is not text"),
    (b'{"id": "a", "user": "dev", "message": "  "}', "a", "message is empty"),
    (b'{"id": "a", "user": "dev", "message": "\\ud800"}', "a", "lone surrogate"),
    (b'{"id": "a", "user": "", "message": "a"}', "a", "user"),
    (b'{"id": "a", "user": "dev", "message": "a", "mesage": ""}', "a", "'mesage' is unknown"),
    (b'{"id": "a", "cancel": "b", "user": "dev"}', "a", "'user' is unknown"),
    (b'{"id": "a", "cancel": "b"}', "a", "no request 'b' is under way"),
    (b'{"id": "a", "cancel": null}', "a", "id is missing"),
    (b'{"id": "\\ud800", "cancel": "b"}', "\ud800", "no request"),
    (b"x" * (MAX_LINE_BYTES * 5), None, "longer than"),
]


def test_a_bad_line_is_answered_and_kills_nothing(begin: Begin) -> None:
    worker = begin()
    for line, id, reason in BAD:
        worker.send(line)
        answer = worker.until(lambda line: line["type"] == "error")
        assert answer.keys() == {"id", "type", "error", "hint"}, line[:80]
        assert answer["id"] == id, line[:80]
        assert reason in answer["error"] + answer["hint"], line[:80]
        assert answer["hint"]
    worker.send(b"", b"  ", request("good"))
    assert worker.last("good")["type"] == "answer"
    assert worker.end() == 0


def test_an_id_under_way_is_not_taken_twice(begin: Begin, server: ModelServer) -> None:
    going = threading.Event()

    def brain(asked: ModelRequest) -> Answer:
        going.wait(PATIENCE)
        return echo(asked)

    server.brain = brain
    worker = begin()
    worker.send(request("1"), request("1", message="encore"))
    refused = worker.until(lambda line: line["type"] == "error")
    # With its id, the error would end the first one.
    assert refused["id"] is None
    assert "under way" in refused["error"]
    going.set()
    assert worker.last("1")["message"] == "dev: salut"
    worker.send(request("1", message="encore"))
    assert worker.last("1")["message"] == "dev: encore"
    assert worker.end() == 0


def test_a_cancelled_request_ends_and_its_message_is_kept(
    begin: Begin, server: ModelServer, stored: Callable[[], list[Message]]
) -> None:
    def brain(asked: ModelRequest) -> Answer:
        if asked.model != "background" and "attends" in asked.asked:
            return Answer(delay=PATIENCE)
        return echo(asked)

    server.brain = brain
    worker = begin()
    worker.send(request("long", message="attends 1"), request("waiting", message="attends 2"))
    waits_for(lambda: bool(server.requests))
    worker.send({"id": "c1", "cancel": "waiting"}, {"id": "c2", "cancel": "long"})
    # In either order: only the message of the waiting one is still to be stored.
    ended = [worker.until(lambda line: line["type"] != "event") for _ in range(2)]
    assert {line["id"] for line in ended} == {"waiting", "long"}
    for line in ended:
        assert line["type"] == "error"
        assert "cancelled" in line["error"]
    worker.send({"id": "c3", "cancel": "long"}, request("next"))
    assert "no request 'long'" in worker.last("c3")["error"]
    assert worker.last("next")["type"] == "answer"
    assert worker.end() == 0
    said = [each.content for each in stored() if each.role == "user"]
    assert sorted(said) == ["attends 1", "attends 2", "salut"]


def test_what_is_under_way_finishes_at_the_end_of_the_input(
    begin: Begin, server: ModelServer
) -> None:
    def brain(asked: ModelRequest) -> Answer:
        sleep(0.2)
        return echo(asked)

    server.brain = brain
    worker = begin()
    worker.send(request("1", "a"), request("2", "b"), request("3", "b"))
    # The last line may lack its end.
    assert worker.popen.stdin is not None
    worker.popen.stdin.write(json.dumps(request("4", "c")).encode())
    assert worker.end() == 0
    assert {line["id"] for line in worker.lines if line["type"] == "answer"} == set("1234")


def test_sigterm_lets_a_request_finish(begin: Begin, server: ModelServer) -> None:
    asked, going = threading.Event(), threading.Event()

    def brain(request: ModelRequest) -> Answer:
        asked.set()
        going.wait(PATIENCE)
        return echo(request)

    server.brain = brain
    worker = begin()
    worker.send(request("1"))
    assert asked.wait(PATIENCE)
    worker.popen.send_signal(signal.SIGTERM)
    going.set()
    # The input is still open.
    assert worker.exit() == 0
    assert worker.lines[-1]["type"] == "answer"


def test_sigterm_cancels_a_request_that_takes_long(
    begin: Begin, server: ModelServer, stored: Callable[[], list[Message]]
) -> None:
    server.brain = lambda _: Answer(delay=PATIENCE)
    worker = begin(before="from hippocampe.companion import worker; worker.GRACE_SECONDS = 0.5;")
    worker.send(request("1", message="attends"))
    waits_for(lambda: bool(server.requests))
    began = monotonic()
    worker.popen.send_signal(signal.SIGTERM)
    assert worker.exit() == 0
    assert monotonic() - began < 20
    assert "cancelled" in worker.lines[-1]["error"]
    assert [each.content for each in stored()] == ["attends"]


def test_a_host_that_went_away(
    begin: Begin, server: ModelServer, stored: Callable[[], list[Message]]
) -> None:
    worker = begin(reads=False)
    assert worker.popen.stdout is not None
    worker.popen.stdout.close()
    worker.send(request("1"), request("2", "nina"))
    assert worker.exit() == 0
    assert worker.stderr == ""
    assert {each.content for each in stored() if each.role == "user"} == {"salut"}


def test_a_slow_reader_loses_nothing(begin: Begin, server: ModelServer) -> None:
    # More than a pipe holds.
    long = "mot " * 20_000

    def brain(asked: ModelRequest) -> Answer:
        if (background := nothing_to_keep(asked)) is not None:
            return background
        return Answer(calls=(Call("respond", {"expression": "happy", "message": long}),))

    server.brain = brain
    worker = begin(reads=False)
    worker.send(request("1"), request("2", "nina"))
    waits_for(lambda: len(server.requests) >= 2)
    sleep(0.5)
    assert worker.popen.stdin is not None
    assert worker.popen.stdout is not None
    worker.popen.stdin.close()
    lines = [json.loads(line) for line in worker.popen.stdout]
    assert worker.popen.wait(PATIENCE) == 0
    for id in ("1", "2"):
        mine = [line for line in lines if line["id"] == id]
        assert "".join(line["text"] for line in mine[:-1]) == long
        assert mine[-1]["message"] == long.strip()


def test_an_error_of_the_model_says_what_to_do(begin: Begin, server: ModelServer) -> None:
    server.brain = lambda _: Answer("no", status=401)
    worker = begin()
    worker.send(request("1"))
    line = worker.last("1")
    assert line == {
        "id": "1",
        "type": "error",
        "error": "the provider refused the key for 'scripted'",
        "hint": "check the key in the environment.",
    }
    assert worker.end() == 0


def test_python_m_with_the_embedder_of_the_package(folder: Path, server: ModelServer) -> None:
    server.brain = echo
    asked = json.dumps(request("1", message="où es-tu ?"))
    done = subprocess.run(
        [sys.executable, "-m", "hippocampe", "worker", "--folder", str(folder)],
        input=asked.encode(),
        capture_output=True,
        timeout=PATIENCE,
        env=os.environ
        | {
            "PYTHONPATH": str(Path(hippocampe.__file__).parents[1]),
            "HIPPOCAMPE_MODEL": "openai-chat:scripted",
            "HIPPOCAMPE_BACKGROUND_MODEL": "openai-chat:background",
        },
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1])["message"] == "dev: où es-tu ?"


def test_without_a_model_each_request_says_what_to_set(folder: Path) -> None:
    command = ("-m", "hippocampe", "worker", "--folder", folder)
    done = run(*command, input=json.dumps(request("1")).encode())
    assert done.returncode == 0
    line = json.loads(done.stdout)
    assert (line["type"], line["error"]) == ("error", "the companion has no language model")
    assert "HIPPOCAMPE_MODEL" in line["hint"]


def chunks(*parts: bytes) -> Callable[[], bytes]:
    left = iter(parts)
    return lambda: next(left, b"")


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        ([b"ab\ncd\n"], [b"ab", b"cd"]),
        ([b"a", b"b\nc", b"d"], [b"ab", b"cd"]),
        ([b"\n \n\r\nab\r\n"], [b"ab\r"]),
        ([b"123456\n123456789\nab\n"], [b"123456", None, b"ab"]),
        ([b"1234", b"567", b"890\nab"], [None, b"ab"]),
        ([b"1234", b"567"], [None]),
        ([], []),
    ],
)
def test_lines_are_cut_with_a_limit(parts: list[bytes], lines: list[bytes | None]) -> None:
    assert list(split(chunks(*parts), 6)) == lines
