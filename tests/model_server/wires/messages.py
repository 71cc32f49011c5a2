"""Anthropic's messages: `POST /v1/messages`."""

from collections.abc import Iterator, Sequence
from typing import Any

from model_server.exchange import Answer, Call, ModelMessage, ModelRequest, Tool
from model_server.wires.wire import (
    Body,
    Event,
    Wire,
    arguments_text,
    check,
    joined,
    listed,
    pieces,
    result_message,
    role_of,
    text_of,
)

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Messages(Wire):
    """The protocol of Claude models."""

    def read(self, body: Body) -> ModelRequest:
        choice: Body = body.get("tool_choice") or {}
        kind: str | None = choice.get("type")
        sent: list[Body] = body["messages"]
        system = [text_of(body.get("system"), "\n\n")]
        system += [text_of(m["content"], "\n\n") for m in sent if m["role"] == "system"]
        return check(
            ModelRequest(
                protocol="anthropic",
                model=body["model"],
                system="\n\n".join(filter(None, system)),
                messages=joined(
                    part for m in sent if m["role"] != "system" for part in _messages(m)
                ),
                tools=tuple(
                    Tool(tool["name"], tool.get("description") or "", tool["input_schema"])
                    for tool in listed(body, "tools")
                    if tool.get("type", "custom") == "custom"
                ),
                tool_choice=choice["name"]
                if kind == "tool"
                else "required"
                if kind == "any"
                else kind,
                stream=bool(body.get("stream")),
                max_tokens=body["max_tokens"],
                body=body,
            )
        )

    def body(self, request: ModelRequest, answer: Answer, number: int) -> Body:
        content: list[Body] = []
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        content += [_call(call, call.arguments) for call in answer.calls]
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": content,
            "stop_reason": _stop(answer),
            "stop_sequence": None,
            "usage": {
                "input_tokens": answer.input_tokens or 0,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": answer.output_tokens or 0,
            },
        }

    def events(
        self, request: ModelRequest, answer: Answer, number: int, size: int
    ) -> Iterator[Event]:
        for data in self._steps(request, answer, number, size):
            yield Event(data["type"], data)

    def _steps(
        self, request: ModelRequest, answer: Answer, number: int, size: int
    ) -> Iterator[Body]:
        done = self.body(request, answer, number)
        usage: Body = {**done["usage"], "output_tokens": 1}
        begun: Body = {**done, "content": [], "stop_reason": None, "usage": usage}
        yield {"type": "message_start", "message": begun}
        yield {"type": "ping"}
        blocks: list[tuple[Body, Sequence[Body]]] = []
        if answer.text:
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(answer.text, size)]
            blocks.append(({"type": "text", "text": ""}, deltas))
        for call in answer.calls:
            deltas = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in pieces(arguments_text(call), size)
            ]
            blocks.append((_call(call, {}), deltas))
        for index, (block, deltas) in enumerate(blocks):
            yield {"type": "content_block_start", "index": index, "content_block": block}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": done["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": answer.output_tokens or 0},
        }
        yield {"type": "message_stop"}

    def error(self, status: int, message: str) -> Body:
        kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": None}


def _messages(message: Body) -> Iterator[ModelMessage]:
    """A message of the user may hold results and text: they are read as two."""
    role = role_of(message)
    content: Any = message["content"]
    if isinstance(content, str):
        yield ModelMessage(role, content)
        return
    for part in content:
        if part["type"] == "tool_result":
            yield result_message(part["tool_use_id"], part.get("content"))
    calls = tuple(
        Call(part["name"], part["input"], part["id"])
        for part in content
        if part["type"] == "tool_use"
    )
    text = text_of([part for part in content if part["type"] == "text"])
    if text or calls:
        yield ModelMessage(role, text, calls)


def _call(call: Call, arguments: object) -> Body:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _stop(answer: Answer) -> str:
    if answer.truncated:
        return "max_tokens"
    return "tool_use" if answer.calls else "end_turn"
