"""Errors as OpenAI's clients read them."""

import json
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.server.access import PROXY
from hippocampe.server.problems import MEDIA_TYPE

_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "integer", "null"]},
            },
        }
    },
}
_JSON: dict[str, Any] = {"application/json": {"schema": {}}}
DESCRIBED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer of the upstream.",
        "content": {**_JSON, "text/event-stream": {}},
    },
    "422": {
        "description": "The request cannot be used.",
        "content": {"application/json": {"schema": _ERROR}},
    },
    "default": {
        "description": "It failed, here or in the upstream, whose errors come as they are.",
        "content": {"application/json": {"schema": {}}, "text/plain": {}, "text/html": {}},
    },
}
"""How the OpenAPI document describes the answers of the proxy."""


class OpenAIErrors:
    """Gives the problems of the proxy the form of OpenAI's errors; answers of the upstream stay.

    Args:
        app: The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["type"] != "http" or not connection["path"].startswith(PROXY):
            await self._app(connection, receive, send)
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
                body = _error(json.loads(message["body"]))
                headers = MutableHeaders(scope=start)
                headers["content-type"] = "application/json"
                headers["content-length"] = str(len(body))
                await send(start)
                message = {"type": "http.response.body", "body": body}
            await send(message)

        await self._app(connection, receive, formed)


def _error(problem: dict[str, Any]) -> bytes:
    status = problem["status"]
    kind = "invalid_request_error" if status < 500 else "server_error"
    code = problem["type"].rpartition(":")[2]
    error = {"message": problem["detail"], "type": kind, "param": None, "code": code}
    return json.dumps({"error": error}).encode()
