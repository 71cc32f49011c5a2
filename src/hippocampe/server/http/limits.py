"""Limits of requests: a rate per key, wrong keys per address, the size and speed of bodies. In memory only."""

import asyncio
import hashlib
import ipaddress
import time
from collections.abc import Callable, Mapping
from math import ceil

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.actor import ACTOR
from hippocampe.server.http import problems
from hippocampe.server.http.access import CREDENTIALS, LOGIN, is_public
from hippocampe.server.http.middleware import Middleware, at_start
from hippocampe.system.recent import Recent
from hippocampe.types import ApiKey

MAX_KNOWN = 10_000
"""Most keys or addresses in memory; the least recently seen one is evicted."""
GUESSES = 10
"""Consecutive wrong keys that an address may try."""
GUESSES_PER_SECOND = 0.2
"""Rate of further tries: 256 bits cannot be guessed anyway, but the log stays readable."""
BODY_SECONDS = 20.0
"""Time limit for a request body, extended by one second per `SLOWEST` bytes received."""
SLOWEST = 32 * 1024


class Buckets:
    """Token buckets by name: each holds `burst` tokens and gains `rate` a second.

    Args:
        shares: The number of processes that divide the tokens, because each serves a part of the requests.
    """

    def __init__(
        self,
        rate: float,
        burst: float,
        clock: Callable[[], float] = time.monotonic,
        shares: Callable[[], int] = lambda: 1,
    ) -> None:
        self._whole_rate = rate
        self._whole_burst = burst
        self._clock = clock
        self._shares = shares
        self._left = Recent[str, tuple[float, float]](MAX_KNOWN)
        """By name: tokens, and the time of the count."""

    @property
    def _rate(self) -> float:
        return self._whole_rate / self._shares()

    @property
    def _burst(self) -> float:
        return max(1.0, self._whole_burst / self._shares())

    def wait(self, name: str) -> float:
        """Seconds until the bucket has a token; 0 if it has one already."""
        return max(0.0, (1 - self._tokens(name)) / self._rate)

    def take(self, name: str) -> float:
        """Take a token; return 0, or the seconds until there is one."""
        tokens = self._tokens(name)
        if tokens < 1:
            return (1 - tokens) / self._rate
        self._left[name] = tokens - 1, self._clock()
        return 0.0

    def _tokens(self, name: str) -> float:
        tokens, at = self._left.get(name, (self._burst, self._clock()))
        return min(self._burst, tokens + (self._clock() - at) * self._rate)


class KeyLimit(Middleware):
    """Limits the requests per key. Sets the actor of the audit log.

    Programs without a key are on this machine, and are not limited.

    Args:
        burst: Requests that a key may send at once.
        processes: Returns the number of processes that serve the same keys.
    """

    def __init__(
        self, app: ASGIApp, *, rate: float, burst: int, processes: Callable[[], int]
    ) -> None:
        super().__init__(app)
        self._buckets = Buckets(rate, burst, shares=processes)
        self._refusal = (
            f"a key may send {rate:g} requests a second: send fewer, or raise request_rate."
        )

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        key: ApiKey | None = connection.get("state", {}).get("key")
        ACTOR.set("local" if key is None else f"key {key.id}")
        if key is not None and (wait := self._buckets.take(key.id)):
            await _too_many(self._refusal, wait)(connection, receive, send)
            return
        await self.app(connection, receive, send)


class GuessLimit(Middleware):
    """Refuses addresses that tried too many wrong keys. Keys that were accepted before are still served."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._guesses = Buckets(GUESSES_PER_SECOND, GUESSES)
        self._right = Recent[bytes, None](MAX_KNOWN)

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        path: str = connection["path"]
        if is_public(path) and path != LOGIN:
            await self.app(connection, receive, send)
            return
        address, credential = _address(connection), _credentials(connection)
        wait = self._guesses.wait(address)
        if wait and credential is not None and credential not in self._right:
            detail = "too many wrong keys came from this address: check the key, then try again."
            await _too_many(detail, wait)(connection, receive, send)
            return

        def seen(message: Message) -> None:
            if credential is not None:
                state = connection.get("state", {})
                # An upstream that refuses its own key says nothing about the key of this server.
                status = 200 if state.get("passed_on", False) else message["status"]
                self._note(address, credential, status, checked="key" in state)

        await self.app(connection, receive, at_start(send, seen))

    def _note(self, address: str, credential: bytes, status: int, *, checked: bool) -> None:
        """Count a wrong credential, or remember a right one; the gate checks none of the page of the login."""
        if status == 401:
            self._guesses.take(address)
            self._right.pop(credential, None)
        elif checked and status < 300:
            self._right[credential] = None


class BodyLimit(Middleware):
    """Refuses bodies as soon as they are too large or too slow.

    Args:
        most: Largest body in bytes.
        larger: Larger limits, by the prefix of a path.
    """

    def __init__(self, app: ASGIApp, *, most: int, larger: Mapping[str, int]) -> None:
        super().__init__(app)
        self._most = most
        self._larger = larger

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        path: str = connection["path"]
        larger = (most for start, most in self._larger.items() if path.startswith(start))
        most = next(larger, self._most)
        length = Headers(scope=connection).get("content-length", "")
        if length.isdecimal() and int(length) > most:
            problem = problems.of_status(413, _too_large(most))
            await problems.response(problem)(connection, receive, send)
            return
        loop = asyncio.get_running_loop()
        started, read, complete = loop.time(), 0, False

        async def counted() -> Message:
            nonlocal read, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout_at(started + BODY_SECONDS + read / SLOWEST):
                    message = await receive()
            except TimeoutError as exc:
                raise HTTPException(
                    408, "the body came too slowly: send it again.", {"Connection": "close"}
                ) from exc
            read += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if read > most:
                raise HTTPException(413, _too_large(most))
            return message

        await self.app(connection, counted, send)


def _too_large(most: int) -> str:
    return f"the body has more than {most:,} bytes: split what it holds."


def _address(connection: Connection) -> str:
    """The address of a client, or for IPv6 its network of 64 bits, which has one owner."""
    host = (connection.get("client") or ("",))[0]
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((address, 64), strict=False))


def _credentials(connection: Connection) -> bytes | None:
    """The digest of a request's credentials; None without any.

    A form posted without credentials is a login.
    """
    headers = Headers(scope=connection)
    keys = "\n".join(headers[name] for name in CREDENTIALS if name in headers)
    credential = keys or headers.get("cookie")
    form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    if credential is None and not form:
        return None
    return hashlib.sha256((credential or "").encode("latin-1")).digest()


def _too_many(detail: str, wait: float):
    return problems.response(problems.of_status(429, detail), {"Retry-After": str(ceil(wait))})
