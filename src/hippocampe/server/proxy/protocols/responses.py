"""OpenAI's responses, the default of its newer clients."""

import json
from typing import ClassVar

from hippocampe.integrations.conversation import CALL_OUTPUT, Message, of_response, text_of
from hippocampe.server.proxy.protocols.protocol import (
    Answer,
    ClientProtocol,
    Json,
    all_objects,
    as_count,
    as_object,
    as_text,
    objects,
)

_APPROVAL = "mcp_approval_request"
"""An item that the client answers although it is not a call of a client's tool."""


class Responses(ClientProtocol):
    """`POST /v1/responses`: the client sends the whole history, or only the continuation of a stored one."""

    name = "responses"
    paths = ("/responses",)
    described = (
        "Forward a request for a response to the upstream with an injection, and store the exchange.\n\n"
        "The form is that of OpenAI's responses, with streams, tools and `previous_response_id`. The "
        "injection goes before the user's text, in a copy of the input."
    )
    example: ClassVar[Json] = {
        "model": "gpt-5-mini",
        "input": "Je bois quoi ce soir ?",
        "user": "dev",
    }
    optional = frozenset({"user"})
    text_type = "input_text"

    def answer(self) -> Answer:
        return _Answer()

    def broken(self, message: str) -> bytes:
        error = {"type": "server_error", "code": "server_error", "message": message, "param": None}
        # Some clients read the event, others its error.
        event = {**error, "type": "error", "sequence_number": 0, "error": error}
        return b"event: error\ndata: " + json.dumps(event).encode() + b"\n\n"

    def _items(self, request: Json) -> list[Json] | None:
        input = request.get("input")
        return (
            [{"role": "user", "content": input}] if isinstance(input, str) else all_objects(input)
        )

    def _with_items(self, request: Json, items: list[Json]) -> Json:
        alone = isinstance(request["input"], str)
        return {**request, "input": items[0]["content"] if alone else items}

    def _message(self, item: Json) -> Message:
        return of_response(item)

    def _continues(self, request: Json) -> str | None:
        return _conversation_id(request) or as_text(request.get("previous_response_id"))


class _Answer(Answer):
    def _whole(self, answer: Json) -> None:
        self.id = _conversation_id(answer) or as_text(answer.get("id")) or self.id
        self.model = as_text(answer.get("model")) or self.model
        self.failed |= answer.get("status") == "failed"
        if used := as_object(answer.get("usage")):
            self.input_tokens = as_count(used.get("input_tokens"))
            self.output_tokens = as_count(used.get("output_tokens"))
        if output := objects(answer.get("output")):
            messages = [each for each in output if each.get("type") == "message"]
            self.text = "\n".join(text_of(each.get("content"), "") for each in messages)
            self.calls = _awaits_client(output)

    def _event(self, event: Json) -> None:
        if event.get("type") == "response.output_text.delta":
            self.text += as_text(event.get("delta")) or ""
        elif event.get("type") == "response.output_text.done":
            self.text += "\n"
        else:
            # The last event has the whole answer; a stream that is cut early has id and model in the first.
            self._whole(as_object(event.get("response")))


def _conversation_id(found: Json) -> str | None:
    """The id of the conversation of a request or an answer, if it has one."""
    conversation = found.get("conversation")
    return as_text(conversation) or as_text(as_object(conversation).get("id"))


def _awaits_client(output: list[Json]) -> bool:
    """Return whether an output has calls without results, which the client has to send."""
    returned = {
        each.get("call_id") for each in output if str(each.get("type")).endswith(CALL_OUTPUT)
    }
    called = {each["call_id"] for each in output if as_text(each.get("call_id"))}
    return bool(called - returned) or any(each.get("type") == _APPROVAL for each in output)
