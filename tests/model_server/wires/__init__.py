"""The wire protocols of providers, each with its path."""

from model_server.wires.chat_completions import ChatCompletions
from model_server.wires.messages import Messages
from model_server.wires.responses import History, Responses
from model_server.wires.wire import (
    BadRequest,
    Body,
    Event,
    Wire,
    arguments_text,
    dumped,
    request_of,
)

__all__ = [
    "WIRES",
    "BadRequest",
    "Body",
    "Event",
    "History",
    "Wire",
    "arguments_text",
    "dumped",
    "request_of",
]

WIRES: dict[str, Wire] = {
    "/v1/chat/completions": ChatCompletions(),
    "/v1/responses": Responses(),
    "/v1/messages": Messages(),
}
"""Protocols by the path that a client posts to."""
