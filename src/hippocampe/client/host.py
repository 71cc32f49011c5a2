"""Serve the verbs of a memory to other programs of the same user, from threads of the process that owns it.

A request is a line of JSON: `{"verb", "arguments", "named", "progress", "field"}`; `field` asks for one attribute
of the result. The answer is a line with `result` or `problem`. Lines with `progress`, if requested, come before
it, and an empty line as a heartbeat several times a second, so that a client recognises a frozen owner.

The candidates of an injection are not part of its answer: few clients ask for them, and to explain and encode them
takes longer than the turn. They are retained for a while, and sent by the request `considered`.
"""

import json
import logging
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, cast

from hippocampe import __version__
from hippocampe.client.calls import decode_arguments, takes_progress
from hippocampe.client.wire import MAX_REQUEST_BYTES, as_problem, encode
from hippocampe.errors import HippocampeError, InvalidInput, shown
from hippocampe.system.local_socket import SENT_BYTES, Listener
from hippocampe.types import Considered, Injection
from hippocampe.verbs import SENT

BEAT_SECONDS = 0.4
MAX_CONNECTIONS = 256
WORKERS = 32
STOP_SECONDS = 10.0
"""Grace period of calls under way when the owner closes."""
MAX_RETAINED = 32
"""Injections whose candidates are retained; those of older ones are rebuilt from the retrieval log."""
log = logging.getLogger("hippocampe")


class Host:
    """The server of a data folder for other programs of its user.

    It accepts connections from the moment the folder is held; calls wait until `serve` gives it the memory.

    Raises:
        OSError: No socket can be opened.
    """

    def __init__(self, folder: Path) -> None:
        self._listener = Listener(os.fspath(folder))
        self._memory: Future[object] = Future()
        self._acting: Callable[[], AbstractContextManager[None]]
        self._leave: Callable[[], None] | None = None
        self._address: str | None = None
        self._connections: set[socket.socket] = set()
        self._retained: dict[str, tuple[str, Sequence[Considered]]] = {}
        self._changing = threading.Lock()
        self._closing = False
        self._under_way = 0
        self._last_use = time.monotonic()
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="hippocampe-call")
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._accept, name="hippocampe-host", daemon=True)
        self._thread.start()

    def serve(self, memory: object, acting: Callable[[], AbstractContextManager[None]]) -> None:
        """Start executing calls.

        Args:
            acting: Sets the actor of the audit log while a call runs.
        """
        self._acting = acting
        self._memory.set_result(memory)

    def announce(self, address: str) -> None:
        """Tell clients the base URL at which this process also serves HTTP."""
        self._address = address

    def leave_when_asked(self, leave: Callable[[], None]) -> None:
        """Let a program that needs the folder itself end this process.

        Args:
            leave: Called on such a request; returns at once.
        """
        self._leave = leave

    @property
    def idle_seconds(self) -> float:
        """Time since the last call ended; 0 while one is under way."""
        with self._changing:
            return 0.0 if self._under_way else time.monotonic() - self._last_use

    def close(self) -> None:
        """Stop accepting, wait for the calls under way, up to `STOP_SECONDS`, and close the connections.
        Idempotent."""
        with self._changing:
            if self._closing:
                return
            self._closing = True
        self._wake.close()
        self._thread.join()
        self._woken.close()
        self._listener.close()
        ends = time.monotonic() + STOP_SECONDS
        self._memory.cancel()
        while self._under_way and time.monotonic() < ends:
            time.sleep(BEAT_SECONDS / 40)
        with self._changing:
            for each in self._connections:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _accept(self) -> None:
        listener = self._listener.socket
        with selectors.DefaultSelector() as ready:
            ready.register(listener, selectors.EVENT_READ)
            closing = ready.register(self._woken, selectors.EVENT_READ)
            while all(key is not closing for key, _ in ready.select()):
                self._welcome(listener)

    def _welcome(self, listener: socket.socket) -> None:
        """Serve one more connection in a thread of its own."""
        try:
            connection, _ = listener.accept()
        except OSError:
            # The client has disconnected, or this process is out of descriptors.
            time.sleep(BEAT_SECONDS / 4)
            return
        with self._changing:
            if len(self._connections) >= MAX_CONNECTIONS:
                connection.close()
                return
            self._connections.add(connection)
        threading.Thread(
            target=self._converse, args=(connection,), name="hippocampe-client", daemon=True
        ).start()

    def _converse(self, connection: socket.socket) -> None:
        try:
            self._listener.check(connection)
            with connection.makefile("rb", SENT_BYTES) as requests:
                while (line := requests.readline(MAX_REQUEST_BYTES)).endswith(b"\n"):
                    self._answer(connection, line)
        except OSError:
            # The client has disconnected, or belongs to another user.
            pass
        finally:
            with self._changing:
                self._connections.discard(connection)
            connection.close()

    def _answer(self, connection: socket.socket, line: bytes) -> None:
        sending = threading.Lock()

        def send(message: object = None) -> None:
            content = b"" if message is None else json.dumps(message).encode()
            with sending:
                connection.sendall(content + b"\n")

        def progress(what: str, done: int, total: int) -> None:
            # The verb goes on when its client has disconnected.
            with suppress(OSError):
                send({"progress": [what, done, total]})

        with self._changing:
            if self._closing:
                # A connection without an answer makes the client call the next owner.
                raise ConnectionAbortedError
            self._under_way += 1
        try:
            working = self._workers.submit(self._execute, line, progress)
            while not wait((working,), BEAT_SECONDS).done:
                send()
            error = working.exception()
            if isinstance(error, CancelledError):
                raise error
            if error is not None:
                log.error("a call of another program failed", exc_info=error)
            failed = {"problem": as_problem(HippocampeError("the owner failed: see its log."))}
            send(working.result() if error is None else failed)
        except CancelledError as exc:
            # The owner closes before it started the call.
            raise ConnectionAbortedError from exc
        finally:
            with self._changing:
                self._under_way -= 1
                self._last_use = time.monotonic()

    def _execute(self, line: bytes, progress: Callable[[str, int, int], None]) -> dict[str, Any]:
        """The message that answers a request."""
        memory = self._memory.result()
        try:
            request = json.loads(line)
            verb, named = str(request["verb"]), request.get("named", {})
            arguments = request.get("arguments", [])
            asked, field = bool(request.get("progress")), request.get("field")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return {"problem": as_problem(InvalidInput("the request is not the call of a verb."))}
        try:
            if verb in _CONTROLS:
                return {"result": self._control(verb, arguments, named)}
            if verb not in SENT:
                raise InvalidInput(f"there is no verb {verb[:40]!r}: install the owner's version.")
            decoded = decode_arguments(type(memory), verb, arguments, named)
            if asked and takes_progress(type(memory), verb):
                decoded["progress"] = progress
            with self._acting():
                result = getattr(memory, verb)(**decoded)
                if verb == "before_turn" and not field:
                    return {"result": self._without_candidates(result, decoded["scope"].space)}
                return {"result": encode(getattr(result, field) if field else result)}
        except HippocampeError as exc:
            return {"problem": as_problem(exc)}

    def _control(self, name: str, arguments: object, named: object) -> object:
        """Answer a request that is no verb.

        Raises:
            InvalidInput: Its arguments are not those of the request.
        """
        control = _CONTROLS[name]
        wanted = len(signature(control).parameters) - 1
        texts = cast("list[object]", arguments) if isinstance(arguments, list) else [None]
        if named or len(texts) != wanted or not all(isinstance(each, str) for each in texts):
            raise InvalidInput(
                f"{name!r} takes {wanted} texts in a list: {shown(cast('object', arguments))}."
            )
        return control(self, *texts)

    def drop_candidates(self, space: str) -> None:
        """Drop the retained candidates of a space, since some of them may be erased or forgotten."""
        with self._changing:
            for id in [id for id, (owner, _) in self._retained.items() if owner == space]:
                del self._retained[id]

    def _without_candidates(self, injection: Injection, space: str) -> dict[str, Any]:
        """An injection as JSON, without its candidates: null says that they are retained."""
        trace = injection.trace
        answer = encode(replace(injection, trace=replace(trace, considered=())))
        if trace.considered:
            answer["trace"]["considered"] = None
            with self._changing:
                self._retained[injection.id] = (space, trace.considered)
                if len(self._retained) > MAX_RETAINED:
                    del self._retained[next(iter(self._retained))]
        return answer

    def _considered(self, id: str) -> list[Any] | None:
        with self._changing:
            _, found = self._retained.get(id, (None, None))
        return encode(found)

    def _greeting(self) -> dict[str, Any]:
        return {
            "version": __version__,
            "space": None,
            "pid": os.getpid(),
            "address": self._address,
            "leaves": self._leave is not None,
        }

    def _asked_to_leave(self) -> bool:
        if self._leave is not None:
            self._leave()
        return self._leave is not None


_CONTROLS: dict[str, Callable[..., Any]] = {
    "greet": Host._greeting,  # pyright: ignore[reportPrivateUsage]
    "leave": Host._asked_to_leave,  # pyright: ignore[reportPrivateUsage]
    "considered": Host._considered,  # pyright: ignore[reportPrivateUsage]
}
