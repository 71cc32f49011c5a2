"""The companion over HTTP: an answer as a stream of events."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import StreamingResponse
from pydantic import Field

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import HippocampeError, ModelUnavailable
from hippocampe.server.api.arguments import Body, MessageText
from hippocampe.server.http import problems
from hippocampe.server.http.dependencies import Hippo, Writer
from hippocampe.server.http.events import EVENTS, EventStream, sent

if TYPE_CHECKING:
    from hippocampe.companion import AsyncCompanion, Event

EVENT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "event": {"enum": ["text", "tool_called", "tool_returned", "reply", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
"""One event, in the OpenAPI document."""


class UserMessage(Body):
    """A message of a user to the companion."""

    message: MessageText = Field(examples=["Je bois quoi ce soir ?"])


class Answering:
    """The companion of a server, started at the first request."""

    def __init__(self, hippo: AsyncHippocampe) -> None:
        self._hippo = hippo
        self._companion: AsyncCompanion | None = None

    async def companion(self) -> "AsyncCompanion":
        """The companion.

        Raises:
            ModelUnavailable: Its package is missing.
        """
        if self._companion is None:
            try:
                # It loads Pydantic AI, which takes a second.
                await asyncio.to_thread(import_module, "hippocampe.companion.agent")
            except ImportError as exc:
                raise ModelUnavailable(
                    "the companion cannot answer: install the extra `companion` beside `server`."
                ) from exc
            from hippocampe.companion import AsyncCompanion

            self._companion = self._companion or AsyncCompanion(self._hippo)
        return self._companion

    async def close(self) -> None:
        """Release its connections."""
        if self._companion is not None:
            await self._companion.close()


@asynccontextmanager
async def _closing(app: FastAPI) -> AsyncGenerator[None]:
    yield
    await app.state.answering.close()


router = APIRouter(prefix="/api", tags=["Companion"], lifespan=_closing)


@router.post(
    "/chat",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Events: `text`, `tool_called`, `tool_returned`, then `reply`, or `error` with "
            "a problem.",
            "content": {
                EVENTS: {
                    "itemSchema": EVENT,
                    "example": 'event: text\ndata: {"text": "Du thé vert", "restart": false}\n\n',
                }
            },
        }
    },
)
async def chat(
    request: Request, hippo: Hippo, scope: Writer, body: UserMessage
) -> StreamingResponse:
    """Let the companion answer a message, and stream the events of the answer."""
    answering: Answering = request.app.state.answering
    companion = await answering.companion()
    events = companion.stream(
        body.message, user=scope.user, channel=scope.channel, space=scope.space
    )
    # An error before the first event is a problem with its status.
    first = await anext(events)
    return EventStream(_stream_of(first, events))


async def _stream_of(first: "Event", events: "AsyncGenerator[Event]") -> AsyncGenerator[bytes]:
    async with aclosing(events):
        yield _event(first)
        try:
            async for event in events:
                yield _event(event)
        except HippocampeError as exc:
            yield sent("error", problems.of_error(exc))


def _event(event: "Event") -> bytes:
    from hippocampe.companion import Reply, TextStreamed, ToolCalled

    if isinstance(event, Reply):
        reply = {
            "expression": event.expression,
            "message": event.message,
            "complete": event.complete,
            "memories": event.memories,
            "injected": [item.id for item in event.injected],
            "usage": event.usage,
        }
        return sent("reply", reply)
    if isinstance(event, TextStreamed):
        return sent("text", event)
    return sent("tool_called" if isinstance(event, ToolCalled) else "tool_returned", event)
