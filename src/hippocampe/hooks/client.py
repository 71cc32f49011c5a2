"""Requests of a hook to the server of a memory; one is started if none runs."""

import json
import os
import socket
import time

from hippocampe.hooks.options import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

START_SECONDS = 15.0
ANSWER_SECONDS = 5.0
PAUSE_SECONDS = 0.05
UNRESERVED = frozenset(b"-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


class HookFailed(Exception):
    """The hook has no answer: what failed, why, and what to do."""


class Unreached(Exception):
    """No server answers."""


class Client:
    """Sends requests to the server of a memory.

    Args:
        options: The server, or the folder whose server to use or to start.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._deadline = time.monotonic() + START_SECONDS
        self._started = False

    def post(self, path: str, channel: str, body: "Mapping[str, Any]") -> "Any":
        """Send JSON and return the JSON of the answer. It may be sent twice, to a restarted server.

        Args:
            path: The endpoint.
            channel: The conversation.
            body: What to send.

        Raises:
            HookFailed: No server answers, or it refuses.
        """
        options = self._options
        scope = {"space": options.space, "user": options.user, "channel": channel}
        query = "&".join(f"{name}={_quoted(value)}" for name, value in scope.items() if value)
        headers = {"Content-Type": "application/json"}
        content = json.dumps(body).encode()
        while True:
            address, secret = self._server()
            if secret is not None:
                headers["Authorization"] = f"Bearer {secret}"
            try:
                if address is None:
                    raise Unreached
                status, told = _exchange(address, f"{path}?{query}", headers, content)
                if status == 401 and options.address is None:
                    # The server was replaced after its token was read.
                    raise Unreached
                return _answer(status, told)
            except Unreached as exc:
                self._wait_for_server(exc)

    def _server(self) -> tuple[str | None, str | None]:
        """The address of the server, if it is known, and what opens it."""
        if self._options.address is not None:
            return self._options.address, self._options.key
        folder = self._options.folder
        try:
            with open(os.path.join(folder, "owner.json"), "rb") as file:
                address = json.load(file).get("address")
        except (OSError, ValueError):
            return None, None
        try:
            with open(os.path.join(folder, "owner.token"), encoding="ascii") as file:
                return address, file.read().strip()
        except (OSError, ValueError):
            return address, None

    def _wait_for_server(self, cause: Exception) -> None:
        if self._options.address is not None:
            raise HookFailed(
                "the server at HIPPOCAMPE_URL cannot be reached: check that it runs and that the address is "
                "right."
            ) from cause
        if time.monotonic() > self._deadline:
            raise HookFailed(
                f"no server of the data folder answered within {START_SECONDS:.0f} seconds: run hippocampe "
                "doctor."
            ) from cause
        if not self._started:
            start(self._options.folder)
            self._started = True
        time.sleep(PAUSE_SECONDS)


def start(folder: str) -> None:
    """Start a server of a folder that outlives this process, and stops when it is not used.

    Raises:
        HookFailed: It cannot be started.
    """
    from hippocampe.config import Config
    from hippocampe.errors import HippocampeError
    from hippocampe.remote import joining

    try:
        joining.start(Config.of(folder))
    except HippocampeError as exc:
        raise HookFailed(str(exc)) from exc


def _quoted(text: str) -> str:
    # `urllib.parse` takes longer to load than the rest of the request.
    return "".join(
        chr(byte) if byte in UNRESERVED else f"%{byte:02X}"
        for byte in text.encode(errors="replace")
    )


def _exchange(
    address: str, path: str, headers: dict[str, str], content: bytes
) -> tuple[int, bytes]:
    """POST to a server; the status and the body of its answer.

    Raises:
        Unreached: It could not be connected to, or broke off.
    """
    scheme, _, rest = address.partition("://")
    authority, _, base = rest.partition("/")
    target = f"/{base.rstrip('/')}{path}" if base else path
    if scheme != "http":
        return _secure_exchange(authority, target, headers, content)
    host, _, port = authority.rpartition(":")
    if not port.isdecimal():
        host, port = authority, "80"
    # `http.client` loads TLS and the parser of mail, which takes longer than the whole answer.
    lines = [
        f"POST {target} HTTP/1.0",
        f"Host: {authority}",
        f"Content-Length: {len(content)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    head = "\r\n".join([*lines, "\r\n"]).encode("latin-1")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS) as connection:
            connection.sendall(head + content)
            received = bytearray()
            while part := connection.recv(65_536):
                received += part
        told, _, body = bytes(received).partition(b"\r\n\r\n")
        return int(told.split(None, 2)[1]), body
    except (OSError, ValueError, IndexError) as exc:
        raise Unreached from exc


def _secure_exchange(
    authority: str, target: str, headers: dict[str, str], content: bytes
) -> tuple[int, bytes]:
    import http.client

    connection = http.client.HTTPSConnection(authority, timeout=ANSWER_SECONDS)
    try:
        connection.request("POST", target, content, headers)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException) as exc:
        raise Unreached from exc
    finally:
        connection.close()


def _answer(status: int, body: bytes) -> "Any":
    try:
        told = json.loads(body)
        if status < 400:
            return told
        reason = told["detail"]
    except (ValueError, KeyError, TypeError):
        reason = "check that the address is that of a Hippocampe server"
    raise HookFailed(f"the server answered with status {status}: {reason}")
