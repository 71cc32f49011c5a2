"""Shared parts of OpenAI's two protocols."""

from typing import Any

from model_server.wires.wire import BadRequest, Body

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def error(status: int, message: str) -> Body:
    """The JSON body of an error."""
    code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status)
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def tool_choice(body: Body) -> str | None:
    """The choice of a request: `auto`, `none`, `required` or the name of a tool."""
    choice: Any = body.get("tool_choice")
    if choice is None or isinstance(choice, str):
        return choice
    if choice["type"] == "allowed_tools":
        return choice.get("allowed_tools", choice)["mode"]
    if choice["type"] != "function":
        raise BadRequest(f"The tool choice {choice['type']!r} is not supported by this server.")
    return choice.get("function", choice)["name"]
