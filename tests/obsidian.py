"""A server on loopback that answers as the Local REST API of Obsidian documents: HTTPS with a
certificate of its own, a bearer key, folders listed one by one, notes as JSON, JsonLogic search."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

KEY = "e5f1a09c77d24b0d8c1b"
NOTE = "application/vnd.olrapi.note+json"
QUERY = "application/vnd.olrapi.jsonlogic+json"


class Obsidian:
    """The vault that it serves, and what it was asked.

    Args:
        credentials: Its private key and its certificate, as one PEM.
        port: Where it listens; 0 takes any free port.
    """

    def __init__(self, credentials: bytes, port: int = 0) -> None:
        self.files: dict[str, str] = {}
        self.times: dict[str, int] = {}
        self.asked: list[str] = []
        self.connections: list[socket.socket] = []
        self.searches = True
        self.certificate = credentials[credentials.index(b"-----BEGIN CERT") :].decode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with TemporaryDirectory() as folder:
            (path := Path(folder, "server.pem")).write_bytes(credentials)
            context.load_cert_chain(path)
        self.server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port: int = self.server.server_address[1]
        self.url = f"https://127.0.0.1:{self.port}"

    def write(self, path: str, content: str) -> None:
        self.files[path] = content
        self.times[path] = max(self.times.values(), default=1_768_000_000_000) + 1_000

    def listed(self, folder: str) -> list[str]:
        below = [path[len(folder) :] for path in self.files if path.startswith(folder)]
        return sorted({name.partition("/")[0] + "/" * ("/" in name) for name in below})

    def note(self, path: str) -> dict[str, Any]:
        stat = {"ctime": 1, "mtime": self.times[path], "size": len(self.files[path])}
        return {
            "content": self.files[path],
            "frontmatter": {},
            "path": path,
            "stat": stat,
            "tags": [],
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        obsidian = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                obsidian.connections.append(self.connection)

            def do_GET(self) -> None:
                path = unquote(urlsplit(self.path).path)
                obsidian.asked.append(f"GET {path}")
                if self.headers["Authorization"] != f"Bearer {KEY}":
                    self.refuse(401, 40101)
                elif not path.startswith("/vault/"):
                    self.refuse(404, 40400)
                elif (name := path.removeprefix("/vault/")) == "" or name.endswith("/"):
                    listed = obsidian.listed(name)
                    self.answer({"files": listed}) if listed else self.refuse(404, 40400)
                elif name not in obsidian.files:
                    self.refuse(404, 40400)
                elif self.headers["Accept"] == NOTE:
                    self.answer(obsidian.note(name), NOTE)
                else:
                    self.send("text/markdown; charset=utf-8", obsidian.files[name].encode())

            def do_POST(self) -> None:
                obsidian.asked.append(f"POST {self.path}")
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers["Authorization"] != f"Bearer {KEY}":
                    self.refuse(401, 40101)
                elif self.path != "/search/" or not obsidian.searches:
                    self.refuse(404, 40400)
                elif self.headers["Content-Type"] != QUERY:
                    self.refuse(400, 40011)
                else:
                    found: list[dict[str, Any]] = []
                    for path in filter(lambda path: path.lower().endswith(".md"), obsidian.files):
                        value: Any = obsidian.note(path)
                        for name in json.loads(body)["var"].split("."):
                            value = value[name]
                        found.append({"filename": path, "result": value})
                    self.answer(found)

            def refuse(self, status: int, code: int) -> None:
                self.answer({"message": "no", "errorCode": code}, status=status)

            def answer(
                self, value: Any, kind: str = "application/json", *, status: int = 200
            ) -> None:
                self.send(kind, json.dumps(value).encode(), status)

            def send(self, kind: str, body: bytes, status: int = 200) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing on stderr."""

        return Handler

    @contextmanager
    def running(self) -> Iterator["Obsidian"]:
        thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()
            for connection in self.connections:
                # Those that are kept alive would go on being answered.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
