"""Client of the process that owns a memory, for hooks; starts that process if there is none."""

import json
import os
import socket

from hippocampe.client.hooks.options import Options
from hippocampe.client.reaching import Held, NotStarted, Unreached, reach
from hippocampe.system.local_socket import DIVISION, SILENCE_SECONDS, Untrusted, connect, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import Popen
    from typing import Any

START_SECONDS = 15.0
"""Time limit for a starting server, as long as it sends heartbeats."""
ANSWER_SECONDS = 5.0
UNRESERVED = frozenset(b"-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


class HookFailed(Exception):
    """The hook has no answer. The message says what failed, why, and what to do."""


def call(
    options: Options, channel: str, verb: str, field: str, arguments: "Mapping[str, Any]"
) -> str:
    """Execute a verb in the process that owns the memory, and return one field of its result.

    The call may be sent twice, to a server that was replaced.

    Args:
        options: The server, or the folder whose owner executes it; one is started if there is none.
        verb: `before_turn` or `after_turn`.
        field: The field of the result; empty for the result itself.
        arguments: Its arguments by name, without the scope.

    Raises:
        HookFailed: No process executes it, or it is refused.
    """
    scope = {"space": options.space, "user": options.user, "channel": channel}
    scope = {name: value for name, value in scope.items() if value}
    if options.address is not None:
        return _call_server(options.address, options.key, scope, verb, field, arguments)
    request = {"verb": verb, "named": {**arguments, "scope": scope}, "field": field}
    return _call_owner(_home(options), json.dumps(request).encode() + b"\n")


def _home(options: Options) -> str:
    """The folder of the data, or of the cell that has the space.

    Raises:
        HookFailed: The file that divides the folder cannot be read.
    """
    if not os.path.exists(os.path.join(options.folder, DIVISION)):
        return options.folder
    # Only for a divided folder: to load them takes milliseconds.
    from pathlib import Path

    from hippocampe.cells import home_of
    from hippocampe.errors import HippocampeError
    from hippocampe.types import Scope

    try:
        return os.fspath(home_of(Path(options.folder), options.space or Scope().space))
    except HippocampeError as exc:
        raise HookFailed(str(exc)) from exc


def _call_owner(folder: str, request: bytes) -> str:
    """The result of a call to the process that owns a folder; one is started if none does."""
    try:
        return reach(
            folder, lambda: _answered(folder, request), lambda: _start(folder), START_SECONDS
        )
    except Held as exc:
        raise HookFailed(
            "another process holds the data folder and does not share it: close it."
        ) from exc
    except NotStarted as exc:
        raise HookFailed(
            "the server of the data folder did not start: run hippocampe doctor."
        ) from exc


def _answered(folder: str, request: bytes) -> str:
    """Send a request to the owner of a folder.

    Raises:
        Unreached: No process shares the folder, or the connection broke.
        HookFailed: The owner is frozen, or refuses.
    """
    try:
        with connect(folder) as connection:
            send(connection, request)
            with connection.makefile("rb") as answers:
                line = b"\n"
                # Empty lines are heartbeats.
                while line == b"\n":
                    line = answers.readline()
        answer = json.loads(line)
    except TimeoutError as exc:
        raise HookFailed(
            f"the process that owns the data folder has not answered for {SILENCE_SECONDS:g} seconds: resume or "
            "stop it."
        ) from exc
    except Untrusted as exc:
        raise HookFailed(str(exc)) from exc
    except (OSError, ValueError) as exc:
        raise Unreached from exc
    if "problem" in answer:
        raise HookFailed(answer["problem"]["detail"])
    return answer["result"]


def _start(folder: str) -> "Popen[bytes]":
    """Start a server of a folder that outlives this process, and stops when idle.

    Raises:
        HookFailed: It cannot be started.
    """
    from hippocampe.client import joining
    from hippocampe.config import Config
    from hippocampe.errors import HippocampeError

    try:
        return joining.start(Config.of(folder))
    except HippocampeError as exc:
        raise HookFailed(str(exc)) from exc


def _call_server(
    address: str,
    key: str | None,
    scope: "Mapping[str, str]",
    verb: str,
    field: str,
    arguments: "Mapping[str, Any]",
) -> str:
    """The result of a call to a server at an address.

    Raises:
        HookFailed: It cannot be reached, or refuses.
    """
    query = "&".join(f"{name}={_quoted(value)}" for name, value in scope.items())
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    content = json.dumps(arguments).encode()
    try:
        status, body = _exchange(address, f"/api/{verb}?{query}", headers, content)
    except Unreached as exc:
        raise HookFailed(
            "the server at HIPPOCAMPE_URL cannot be reached: check that it runs and that the address is "
            "right."
        ) from exc
    answer = _checked(status, body)
    return answer[field] if field else ""


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
        Unreached: The connection failed or broke.
    """
    scheme, _, rest = address.partition("://")
    authority, _, base = rest.partition("/")
    target = f"/{base.rstrip('/')}{path}" if base else path
    if scheme != "http":
        return _secure_exchange(authority, target, headers, content)
    host, _, port = authority.rpartition(":")
    if not port.isdecimal():
        host, port = authority, "80"
    # `http.client` loads TLS and the mail parser, which takes longer than the whole answer.
    lines = [
        f"POST {target} HTTP/1.1",
        f"Host: {authority}",
        f"Content-Length: {len(content)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    sent = "\r\n".join([*lines, "\r\n"]).encode("latin-1") + content
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS) as connection:
            connection.sendall(sent)
            received = bytearray()
            while part := connection.recv(65_536):
                received += part
        head, _, body = bytes(received).partition(b"\r\n\r\n")
        if b"\r\ntransfer-encoding: chunked" in head.lower():
            body = _without_chunks(body)
        return int(head.split(None, 2)[1]), body
    except (OSError, ValueError, IndexError) as exc:
        raise Unreached from exc


def _without_chunks(body: bytes) -> bytes:
    """Decode a chunked body, which a reverse proxy may send."""
    content = bytearray()
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        content += body[:length]
        body = body[length + 2 :]
        if not length:
            break
    return bytes(content)


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


def _checked(status: int, body: bytes) -> "Any":
    try:
        answer = json.loads(body)
        if status < 400:
            return answer
        reason = answer["detail"]
    except (ValueError, KeyError, TypeError):
        reason = "check that the address is that of a Hippocampe server"
    raise HookFailed(f"the server answered with status {status}: {reason}")
