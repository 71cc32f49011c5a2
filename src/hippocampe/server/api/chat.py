"""The companion over HTTP: an answer as a stream of events."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import Field

from hippocampe.companion import AsyncCompanion, Event, Reply, TextStreamed, ToolCalled
from hippocampe.errors import HippocampeError
from hippocampe.server.api.arguments import Body, MessageText
from hippocampe.server.http import problems
from hippocampe.server.http.dependencies import Hippo, WriteScope
from hippocampe.server.http.events import EVENTS, EventStream, sent

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


router = APIRouter(prefix="/api", tags=["Companion"])


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
    request: Request, hippo: Hippo, scope: WriteScope, body: UserMessage
) -> StreamingResponse:
    """Let the companion answer a message, and stream the events of the answer."""
    companion: AsyncCompanion = request.app.state.companion
    events = companion.stream(
        body.message, user=scope.user, channel=scope.channel, space=scope.space
    )
    # An error before the first event is a problem with its status.
    first = await anext(events)
    return EventStream(_stream_of(first, events))


async def _stream_of(first: Event, events: AsyncGenerator[Event]) -> AsyncGenerator[bytes]:
    async with aclosing(events):
        yield _event(first)
        try:
            async for event in events:
                yield _event(event)
        except HippocampeError as exc:
            yield sent("error", problems.of_error(exc))


def _event(event: Event) -> bytes:
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
