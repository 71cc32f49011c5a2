"""HTTP of the model server: bodies, streams, broken connections, and a clean stop."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any, cast
from urllib.parse import urlsplit

from model_server.exchange import Answer, ModelRequest
from model_server.wires import WIRES, BadRequest, Body, Event, Wire, dumped

POLL_SECONDS = 0.02
"""Poll interval for the stop signal."""
STOP_SECONDS = 5.0
"""Grace period of the threads of a stopped server. Only a brain that never returns takes so long."""
NOT_JSON = '{"id": "answer", "content": ['
"""The body or the event of a garbled answer."""
NO_RETRY = {"x-should-retry": "false"}
"""Tells the clients of both providers not to retry: the test itself is wrong."""
MODEL = "scripted"
"""The one model listed. Any other name is accepted too."""


@dataclass(frozen=True)
class Reply:
    """A request, the answer to it with ids and tokens, and its number from 1."""

    request: ModelRequest
    answer: Answer
    number: int


class ModelHTTPServer(ThreadingHTTPServer):
    """Serves at once, on a free port of 127.0.0.1, in daemon threads.

    Args:
        reply: Makes the reply to a body of a protocol. Raises `BadRequest` for a 400; any other
            error is a 500.
        record: Called with each error.
        chunk_size: Characters in a piece of a stream.
        pause: Seconds between two events of a stream.
    """

    request_queue_size = 128  # the five of the base class reset the clients of a burst

    def __init__(
        self,
        reply: Callable[[Wire, bytes], Reply],
        record: Callable[[Exception], None],
        *,
        chunk_size: int,
        pause: float,
    ) -> None:
        self.reply = reply
        self.record = record
        self.chunk_size = chunk_size
        self.pause = pause
        self.stopped = threading.Event()
        self._connections: dict[threading.Thread, socket.socket] = {}
        super().__init__(("127.0.0.1", 0), _Handler)
        self._acceptor = threading.Thread(
            target=self.serve_forever, args=(POLL_SECONDS,), name="model server", daemon=True
        )
        self._acceptor.start()

    def stop(self) -> None:
        """Close all connections, also waiting ones, and wait for the threads."""
        self.stopped.set()
        self.shutdown()
        self._acceptor.join()
        self.server_close()
        end = monotonic() + STOP_SECONDS
        for thread, connection in list(self._connections.items()):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(max(0.0, end - monotonic()))

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, known to `stop`."""
        thread = threading.Thread(
            target=self.process_request_thread,
            args=(request, client_address),
            name="model server connection",
            daemon=True,
        )
        self._connections[thread] = request
        thread.start()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection until its client closes it."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.pop(threading.current_thread(), None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: the error is recorded and answered."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "HippocampeModelServer"
    disable_nagle_algorithm = True

    @property
    def models(self) -> ModelHTTPServer:
        return cast(ModelHTTPServer, self.server)

    def handle(self) -> None:
        with suppress(ConnectionError):  # The client disconnected, as it may.
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        anthropic = "anthropic-version" in self.headers
        if path == "/v1/models":
            self._send(200, _models(anthropic=anthropic))
        elif path.startswith("/v1/models/"):
            self._send(200, _model(path.removeprefix("/v1/models/"), anthropic=anthropic))
        else:
            self._refuse_path(path)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = urlsplit(self.path).path
        wire = WIRES.get(path)
        if wire is None:
            self._refuse_path(path)
            return
        try:
            reply = self.models.reply(wire, body)
        except BadRequest as exc:
            self.models.record(exc)
            self._send(400, wire.error(400, str(exc)))
        except Exception as exc:
            self.models.record(exc)
            self.close_connection = True
            self._send(500, wire.error(500, str(exc)), NO_RETRY)
            raise
        else:
            self._answer(wire, reply)

    def _answer(self, wire: Wire, reply: Reply) -> None:
        request, answer = reply.request, reply.answer
        if self.models.stopped.wait(answer.delay):
            self.close_connection = True
        elif answer.status >= 400:
            wait = {} if answer.retry_after is None else {"retry-after": str(answer.retry_after)}
            self._send(answer.status, wire.error(answer.status, answer.text), wait)
        elif request.stream:
            events = list(wire.events(request, answer, reply.number, self.models.chunk_size))
            if answer.fault == "garbled":
                events = [Event(events[0].name, NOT_JSON)]
            self._stream(events, cut=answer.fault == "cut")
        elif answer.fault == "garbled":
            self._send(200, NOT_JSON)
        else:
            body = wire.body(request, answer, reply.number)
            self._send(200, body, cut=answer.fault == "cut")

    def _stream(self, events: list[Event], *, cut: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(events):
            stopped = self.models.stopped.wait(self.models.pause if number else 0.0)
            if stopped or (cut and number == len(events) // 2):
                self.close_connection = True
                return
            data = event.encoded()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def _send(
        self,
        status: int,
        body: Body | str,
        headers: dict[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        data = (body if isinstance(body, str) else dumped(body)).encode(errors="replace")
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if cut or self.close_connection:
            self.close_connection = True
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)

    def _refuse_path(self, path: str) -> None:
        message = f"This server does not know {self.command} {path}. It knows {', '.join(WIRES)}."
        self.models.record(BadRequest(message))
        self._send(404, WIRES["/v1/responses"].error(404, message))


def _models(*, anthropic: bool) -> Body:
    found = [_model(MODEL, anthropic=anthropic)]
    if not anthropic:
        return {"object": "list", "data": found}
    return {"data": found, "has_more": False, "first_id": MODEL, "last_id": MODEL}


def _model(id: str, *, anthropic: bool) -> Body:
    if not anthropic:
        return {"id": id, "object": "model", "created": 0, "owned_by": "hippocampe"}
    return {
        "id": id,
        "type": "model",
        "display_name": id,
        "created_at": datetime.fromtimestamp(0, UTC).isoformat(),
        "lifecycle": "active",
    }
