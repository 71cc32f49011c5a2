"""OpenAI's chat completions: `POST /v1/chat/completions`."""

import time
from collections.abc import Iterator
from typing import Any

from model_server.exchange import Answer, Call, ModelMessage, ModelRequest, Tool
from model_server.wires.openai import error, tool_choice
from model_server.wires.wire import (
    Body,
    Event,
    Wire,
    arguments_read,
    arguments_text,
    check,
    joined,
    listed,
    pieces,
    result_message,
    role_of,
    text_of,
)

SYSTEM = ("system", "developer")


class ChatCompletions(Wire):
    """The protocol that most local and compatible servers speak."""

    def read(self, body: Body) -> ModelRequest:
        sent: list[Body] = body["messages"]
        tools = [tool["function"] for tool in listed(body, "tools") if tool["type"] == "function"]
        return check(
            ModelRequest(
                protocol="openai-chat",
                model=body["model"],
                system="\n\n".join(text_of(m["content"]) for m in sent if m["role"] in SYSTEM),
                messages=joined(_message(m) for m in sent if m["role"] not in SYSTEM),
                tools=tuple(
                    Tool(tool["name"], tool.get("description") or "", tool.get("parameters") or {})
                    for tool in tools
                ),
                tool_choice=tool_choice(body),
                stream=bool(body.get("stream")),
                max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
                body=body,
            )
        )

    def body(self, request: ModelRequest, answer: Answer, number: int) -> Body:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            message["tool_calls"] = [_call(call, arguments_text(call)) for call in answer.calls]
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.model,
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": _finish(answer),
                    "logprobs": None,
                }
            ],
            "usage": _usage(answer),
        }

    def events(
        self, request: ModelRequest, answer: Answer, number: int, size: int
    ) -> Iterator[Event]:
        created = int(time.time())

        def chunk(choices: list[Body], usage: Body | None = None) -> Event:
            return Event(
                "",
                {
                    "id": f"chatcmpl-{number}",
                    "object": "chat.completion.chunk",
                    "created": created,
                    "model": request.model,
                    "choices": choices,
                    "usage": usage,
                },
            )

        def step(delta: Body, finish: str | None = None) -> Event:
            return chunk([{"index": 0, "delta": delta, "finish_reason": finish}])

        yield step({"role": "assistant", "content": "" if answer.text else None})
        for piece in pieces(answer.text, size):
            yield step({"content": piece})
        for index, call in enumerate(answer.calls):
            yield step({"tool_calls": [{"index": index, **_call(call, "")}]})
            for piece in pieces(arguments_text(call), size):
                yield step({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield step({}, _finish(answer))
        options: Body = request.body.get("stream_options") or {}
        if options.get("include_usage"):
            yield chunk([], _usage(answer))
        yield Event("", "[DONE]")

    def error(self, status: int, message: str) -> Body:
        return error(status, message)


def _message(message: Body) -> ModelMessage:
    if message["role"] == "tool":
        return result_message(message["tool_call_id"], message["content"])
    return ModelMessage(
        role_of(message),
        text_of(message.get("content")),
        tuple(
            Call(
                call["function"]["name"], arguments_read(call["function"]["arguments"]), call["id"]
            )
            for call in listed(message, "tool_calls")
        ),
    )


def _call(call: Call, arguments: str) -> Body:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _finish(answer: Answer) -> str:
    if answer.truncated:
        return "length"
    return "tool_calls" if answer.calls else "stop"


def _usage(answer: Answer) -> Body:
    sent, received = answer.input_tokens or 0, answer.output_tokens or 0
    return {
        "prompt_tokens": sent,
        "completion_tokens": received,
        "total_tokens": sent + received,
    }
