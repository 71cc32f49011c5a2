"""The two families of providers: find the one of a request, and format its errors."""

import json
from enum import Enum
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.server.http.access import PROXY
from hippocampe.server.http.events import EVENTS
from hippocampe.server.http.middleware import Middleware
from hippocampe.server.http.problems import BLANK, MEDIA_TYPE

_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "type": {"const": "error", "description": "Only in Anthropic's form."},
        "error": {
            "type": "object",
            "required": ["message", "type"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "integer", "null"]},
            },
        },
    },
}
_ANY: dict[str, Any] = {"application/json": {"schema": {}}}
DESCRIBED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer of the upstream.",
        "content": {**_ANY, EVENTS: {}},
    },
    "422": {
        "description": "The request cannot be used.",
        "content": {"application/json": {"schema": _ERROR}},
    },
    "default": {
        "description": "An error of the proxy, or of the upstream, unchanged.",
        "content": {**_ANY, "text/plain": {}, "text/html": {}},
    },
}
"""The answers of the proxy in the OpenAPI document."""


_CODES = {
    401: "invalid_api_key",
    404: "not_found",
    413: "request_too_large",
    429: "rate_limit_exceeded",
}
"""OpenAI's codes of the errors of HTTP itself."""
_ANTHROPIC_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}
"""Types of errors by status; others are `invalid_request_error` below 500 and `api_error` from there on."""


class Provider(Enum):
    """A family of APIs: keys, errors and paths that all its endpoints share."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


def provider_of(connection: Connection) -> Provider:
    """The provider of a request to the proxy: Anthropic's clients send the version of its API."""
    path: str = connection["path"].removeprefix(PROXY)
    versioned = "anthropic-version" in Headers(scope=connection)
    return Provider.ANTHROPIC if versioned or path.split("/")[0] == "messages" else Provider.OPENAI


class ProviderErrors(Middleware):
    """Formats the proxy's own errors like the provider's; answers of the upstream stay unchanged."""

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        if not connection["path"].startswith(PROXY):
            await self.app(connection, receive, send)
            return
        start: Message | None = None

        async def formed(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                ours = headers.get("content-type") == MEDIA_TYPE
                if ours and not connection.get("state", {}).get("passed_on"):
                    start = message
                    return
            elif start is not None:
                body = _error(json.loads(message["body"]), provider_of(connection))
                headers = MutableHeaders(scope=start)
                headers["content-type"] = "application/json"
                headers["content-length"] = str(len(body))
                await send(start)
                message = {"type": "http.response.body", "body": body}
            await send(message)

        await self.app(connection, receive, formed)


def _error(problem: dict[str, Any], provider: Provider) -> bytes:
    status, message = problem["status"], problem["detail"]
    if provider is Provider.ANTHROPIC:
        kind = "invalid_request_error" if status < 500 else "api_error"
        error = {"type": _ANTHROPIC_TYPES.get(status, kind), "message": message}
        return json.dumps({"type": "error", "error": error}).encode()
    kind = "invalid_request_error" if status < 500 else "server_error"
    code = problem["type"].rpartition(":")[2] if problem["type"] != BLANK else _CODES.get(status)
    error = {"message": message, "type": kind, "param": None, "code": code}
    return json.dumps({"error": error}).encode()
