"""The body of a request that is passed on: kept if it is small, else streamed while it is sent."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

import httpx
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

T = TypeVar("T")


class Body(httpx.AsyncByteStream):
    """The body of a request: kept, if it is small.

    Attributes:
        kept: The part that is kept.
        whole: True if that is all, so that it can be sent again.
    """

    def __init__(self, kept: bytes, receive: Receive, *, whole: bool) -> None:
        self.kept = kept
        self.whole = whole
        self._receive = receive
        self._ended = asyncio.Event()
        if whole:
            self._ended.set()

    @classmethod
    async def of(cls, receive: Receive, most: int) -> "Body":
        """Receive a body, up to `most` bytes; the rest follows while it is sent.

        Raises:
            ClientDisconnect: The client disconnected before the end.
        """
        pieces, size = list[bytes](), 0
        while True:
            message = await _received(receive)
            piece = message.get("body", b"")
            pieces.append(piece)
            size += len(piece)
            whole = not message.get("more_body", False)
            if whole or size > most:
                return cls(b"".join(pieces), receive, whole=whole)

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        yield self.kept
        while not self._ended.is_set():
            message = await _received(self._receive)
            yield message.get("body", b"")
            if not message.get("more_body", False):
                self._ended.set()

    async def while_connected(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for a result, unless the client disconnects: nobody waits any more, and a stream may be silent for long.

        Raises:
            ClientDisconnect: It disconnected; the work was cancelled.
        """
        tasks = asyncio.create_task(work), asyncio.create_task(self._left())
        working, _ = tasks
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise ClientDisconnect
            return working.result()
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _left(self) -> None:
        """Wait until the client leaves; until then nobody else may receive what follows the body."""
        await self._ended.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def _received(receive: Receive) -> Message:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message


def received_again(body: bytes, receive: Receive) -> Receive:
    """Receives a body that was read already, then later messages."""
    read = False

    async def again() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
