"""An upstream that keeps the requests it gets, and answers as a test says."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx


@dataclass(frozen=True)
class Got:
    """A request as it came."""

    method: str
    path: str
    headers: httpx.Headers
    body: bytes


@dataclass(frozen=True)
class Say:
    """An answer; pieces are sent in chunks, and `cut` closes the connection after them."""

    body: bytes | list[bytes] = b"{}"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    cut: bool = False


@contextmanager
def recording(seen: list[Got], answer: Callable[[Got], Say]) -> Iterator[str]:
    """Serve on loopback; the base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answered(self) -> None:
            got = Got(self.command, self.path, httpx.Headers(self.headers.items()), self._body())
            seen.append(got)
            say = answer(got)
            self.send_response(say.status)
            for name, value in say.headers:
                self.send_header(name, value)
            if isinstance(say.body, bytes):
                more = 1 if say.cut else 0
                self.send_header("content-length", str(len(say.body) + more))
                self.end_headers()
                self.wfile.write(b"" if self.command == "HEAD" else say.body)
            else:
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for piece in say.body:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                if not say.cut:
                    self.wfile.write(b"0\r\n\r\n")
            self.close_connection = self.close_connection or say.cut

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answered

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            pieces: list[bytes] = []
            while size := int(self.rfile.readline(), 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as upstream:
        upstream.daemon_threads = True
        thread = threading.Thread(target=upstream.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{upstream.server_port}/base"
        finally:
            upstream.shutdown()
            thread.join()
