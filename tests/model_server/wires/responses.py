"""OpenAI's responses: `POST /v1/responses`."""

import time
from collections.abc import Iterator, Mapping
from typing import Any, cast

from model_server.exchange import Answer, Call, ModelMessage, ModelRequest, Tool
from model_server.wires.openai import error, tool_choice
from model_server.wires.wire import (
    BadRequest,
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


class Responses(Wire):
    """The protocol of the newer OpenAI models. `History` adds what an earlier response holds."""

    def read(self, body: Body) -> ModelRequest:
        items = _input(body)
        system = [body.get("instructions") or ""]
        system += [text_of(item["content"]) for item in items if item.get("role") in SYSTEM]
        messages = [_message(item) for item in items if item.get("role") not in SYSTEM]
        return check(
            ModelRequest(
                protocol="openai-responses",
                model=body["model"],
                system="\n\n".join(filter(None, system)),
                messages=joined(message for message in messages if message),
                tools=tuple(
                    Tool(tool["name"], tool.get("description") or "", tool.get("parameters") or {})
                    for tool in listed(body, "tools")
                    if tool["type"] == "function"
                ),
                tool_choice=tool_choice(body),
                stream=bool(body.get("stream")),
                max_tokens=body.get("max_output_tokens"),
                body=body,
            )
        )

    def body(self, request: ModelRequest, answer: Answer, number: int) -> Body:
        status = "incomplete" if answer.truncated else "completed"
        return {
            **_response(request, number, status),
            "incomplete_details": {"reason": "max_output_tokens"} if answer.truncated else None,
            "output": _items(answer, number, status),
            "usage": _usage(answer),
        }

    def events(
        self, request: ModelRequest, answer: Answer, number: int, size: int
    ) -> Iterator[Event]:
        steps = self._steps(request, answer, number, size)
        for sequence, (name, data) in enumerate(steps):
            yield Event(name, {"type": name, "sequence_number": sequence, **data})

    def _steps(
        self, request: ModelRequest, answer: Answer, number: int, size: int
    ) -> Iterator[tuple[str, Body]]:
        begun = _response(request, number, "in_progress")
        done = self.body(request, answer, number)
        yield "response.created", {"response": begun}
        yield "response.in_progress", {"response": begun}
        for index, item in enumerate(done["output"]):
            where: Body = {"output_index": index}
            empty = "content" if item["type"] == "message" else "arguments"
            bare: Body = {**item, "status": "in_progress", empty: [] if empty == "content" else ""}
            yield "response.output_item.added", {**where, "item": bare}
            inner = {**where, "item_id": item["id"]}
            yield from _text(item, inner, size) if empty == "content" else _call(item, inner, size)
            yield "response.output_item.done", {**where, "item": item}
        yield f"response.{done['status']}", {"response": done}

    def error(self, status: int, message: str) -> Body:
        return error(status, message)


class History:
    """Earlier requests and responses, by the id of the response or of its conversation.

    Everything is stored, even with `store` false. A conversation begins with the first request that names it. A
    thread of messages continues from an answer, with what its first request had.
    """

    def __init__(self) -> None:
        self._items: dict[str, list[Body]] = {}
        self._threads: dict[str, Body] = {}

    def completed(self, body: Body) -> Body:
        """A request with the items of the history that it continues.

        Raises:
            BadRequest: It continues an unknown response.
        """
        if "messages" in body:
            return self._threaded(body)
        before = body.get("previous_response_id")
        if before is not None and before not in self._items:
            raise BadRequest(f"Previous response with id {before!r} not found.")
        kept = self._items.get(before or _conversation(body) or "", [])
        return {**body, "input": [*kept, *_input(body)]} if kept else body

    def keep(self, body: Body, response: Body) -> None:
        """Store a request, completed, with its response."""
        if "messages" in body:
            answer = {"role": "assistant", "content": response["content"]}
            self._threads[response["id"]] = {**body, "messages": [*body["messages"], answer]}
            return
        id = _conversation(body) or response["id"]
        self._items[id] = [*_input(body), *response["output"]]

    def _threaded(self, body: Body) -> Body:
        thread: Body = body.get("thread") or {}
        if thread.get("type") != "continue":
            return body
        before = self._threads.get(thread["previous_message_id"])
        if before is None:
            raise BadRequest("The thread is not found.")
        return {**before, **body, "messages": [*before["messages"], *body["messages"]]}


def _input(body: Body) -> list[Body]:
    sent: Any = body["input"]
    return [{"role": "user", "content": sent}] if isinstance(sent, str) else sent


def _conversation(body: Body) -> str | None:
    named: Any = body.get("conversation")
    return cast(Body, named)["id"] if isinstance(named, Mapping) else named


def _message(item: Body) -> ModelMessage | None:
    kind = item.get("type", "message")
    if kind == "function_call":
        call = Call(item["name"], arguments_read(item["arguments"]), item["call_id"])
        return ModelMessage("assistant", calls=(call,))
    if kind == "function_call_output":
        return result_message(item["call_id"], item["output"])
    if kind == "message":
        return ModelMessage(role_of(item), text_of(item["content"]))
    if kind == "reasoning":
        return None
    raise BadRequest(f"Items of type {kind!r} are not supported by this server.")


def _response(request: ModelRequest, number: int, status: str) -> Body:
    conversation = _conversation(request.body)
    return {
        "id": f"resp_{number}",
        "object": "response",
        "conversation": {"id": conversation} if conversation else None,
        "created_at": int(time.time()),
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": request.body.get("instructions"),
        "max_output_tokens": request.max_tokens,
        "metadata": {},
        "model": request.model,
        "output": [],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "text": request.body.get("text") or {"format": {"type": "text"}},
        "tool_choice": request.body.get("tool_choice") or "auto",
        "tools": listed(request.body, "tools"),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
    }


def _items(answer: Answer, number: int, status: str) -> list[Body]:
    items: list[Body] = []
    if answer.text or not answer.calls:
        items.append(
            {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "status": status,
                "content": [_part(answer.text)],
            }
        )
    for index, call in enumerate(answer.calls):
        items.append(
            {
                "id": f"fc_{number}_{index}",
                "type": "function_call",
                "status": status,
                "call_id": call.id,
                "name": call.name,
                "arguments": arguments_text(call),
            }
        )
    return items


def _part(text: str) -> Body:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _text(item: Body, where: Body, size: int) -> Iterator[tuple[str, Body]]:
    where = {**where, "content_index": 0}
    [part] = item["content"]
    yield "response.content_part.added", {**where, "part": _part("")}
    for piece in pieces(part["text"], size):
        yield "response.output_text.delta", {**where, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**where, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**where, "part": part}


def _call(item: Body, where: Body, size: int) -> Iterator[tuple[str, Body]]:
    for piece in pieces(item["arguments"], size):
        yield "response.function_call_arguments.delta", {**where, "delta": piece}
    done = {"name": item["name"], "arguments": item["arguments"]}
    yield "response.function_call_arguments.done", {**where, **done}


def _usage(answer: Answer) -> Body:
    sent, received = answer.input_tokens or 0, answer.output_tokens or 0
    return {
        "input_tokens": sent,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": received,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sent + received,
    }
