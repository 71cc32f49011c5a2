"""Server-sent events in answer to one request."""

import json
from collections.abc import AsyncGenerator

import anyio
from fastapi.responses import StreamingResponse
from starlette.types import Send

from hippocampe.client.wire import encode

EVENTS = "text/event-stream"


class EventStream(StreamingResponse):
    """Streams the events of an answer; the answer is cancelled when the client disconnects."""

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(events, media_type=EVENTS, headers={"Cache-Control": "no-store"})
        self._events = events

    async def stream_response(self, send: Send) -> None:
        try:
            await super().stream_response(send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._events.aclose()


def sent(name: str, data: object) -> bytes:
    """One event of a stream."""
    return f"event: {name}\ndata: {json.dumps(encode(data))}\n\n".encode()
