"""Shared parts of the protocols: parsing of content, and the rules that each provider enforces."""

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from model_server.exchange import (
    Answer,
    Call,
    CallResult,
    ModelMessage,
    ModelRequest,
    Role,
)

Body = Mapping[str, Any]

MOST_PIECES = 1000
"""A longer text is sent in larger pieces: clients copy the whole text at each piece."""

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Pattern of tool names that providers accept."""


class BadRequest(Exception):
    """The request is one that a provider refuses with status 400."""


@dataclass(frozen=True)
class Event:
    """A server-sent event; a name of "" is not sent."""

    name: str
    data: Body | str

    def encoded(self) -> bytes:
        """The event as bytes."""
        data = self.data if isinstance(self.data, str) else dumped(self.data)
        named = f"event: {self.name}\n" if self.name else ""
        return f"{named}data: {data}\n\n".encode(errors="replace")


class Wire(ABC):
    """A protocol: parses requests, and writes answers and errors."""

    @abstractmethod
    def read(self, body: Body) -> ModelRequest:
        """The request of a JSON body. Raises `KeyError`, `TypeError` or `BadRequest` if malformed."""

    @abstractmethod
    def body(self, request: ModelRequest, answer: Answer, number: int) -> Body:
        """The JSON body of an answer whose ids and tokens are set; `number` makes its id."""

    @abstractmethod
    def events(
        self, request: ModelRequest, answer: Answer, number: int, size: int
    ) -> Iterator[Event]:
        """The same as `body`, as a stream, in pieces of `size` characters."""

    @abstractmethod
    def error(self, status: int, message: str) -> Body:
        """The JSON body of an error."""


def request_of(
    wire: Wire, body: bytes, completed: Callable[[Body], Body] = lambda body: body
) -> ModelRequest:
    """The request of a body.

    Args:
        wire: Its protocol.
        body: The body.
        completed: Adds the content of earlier requests.

    Raises:
        BadRequest: The body is not JSON, a field is missing or of another type, or a rule of the
            providers is broken.
    """
    try:
        sent: object = json.loads(body)
        if not isinstance(sent, dict):
            raise BadRequest("The body must be a JSON object.")
        found = cast(dict[str, Any], sent)
        return replace(wire.read(completed(found)), body=found)
    except KeyError as exc:
        raise BadRequest(f"The field {exc} is missing.") from exc
    except (ValueError, TypeError, AttributeError) as exc:
        raise BadRequest(f"The body is not what the protocol asks for: {exc}.") from exc


def listed(body: Body, field: str) -> list[Body]:
    """A field that may be missing or null, as a list."""
    return body.get(field) or []


def dumped(value: object) -> str:
    """JSON with its letters unescaped, as providers send it."""
    return json.dumps(value, ensure_ascii=False)


def arguments_text(call: Call) -> str:
    """The arguments of a call as text."""
    return call.arguments if isinstance(call.arguments, str) else dumped(dict(call.arguments))


def arguments_read(text: str) -> Mapping[str, Any] | str:
    """The arguments of a call in a history; the text itself if it is not a JSON object."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return cast(dict[str, Any], value) if isinstance(value, dict) else text


def pieces(text: str, size: int) -> list[str]:
    """A text in pieces of `size` characters, or in `MOST_PIECES` larger ones."""
    size = max(size, math.ceil(len(text) / MOST_PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)]


def text_of(content: object, between: str = "\n") -> str:
    """The text of a content: the text parts of a list, a string, or nothing for null."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise BadRequest("A content must be a string or a list of parts.")
    parts = cast(list[Body], content)
    return between.join(part["text"] for part in parts if part.get("text"))


def joined(messages: Iterable[ModelMessage]) -> tuple[ModelMessage, ...]:
    """Messages in order, neighbours of one role in one."""
    result: list[ModelMessage] = []
    for message in messages:
        if result and result[-1].role == message.role:
            last = result.pop()
            message = ModelMessage(
                message.role,
                "\n".join(text for text in (last.text, message.text) if text),
                last.calls + message.calls,
                last.results + message.results,
            )
        result.append(message)
    return tuple(result)


def result_message(id: str, content: object) -> ModelMessage:
    """A message with one result of a tool."""
    return ModelMessage("tool", results=(CallResult(id, text_of(content)),))


def role_of(message: Body) -> Role:
    """The role of a message of the user or the assistant."""
    role: str = message["role"]
    if role == "user" or role == "assistant":
        return role
    raise BadRequest(f"The role {role!r} is unknown.")


def check(request: ModelRequest) -> ModelRequest:
    """Return the request if it obeys the rules that all providers enforce.

    Raises:
        BadRequest: There are no messages, a call has no result, a result has no call, the name of
            a tool is not allowed or used twice, or the tool chosen is not offered.
    """
    if not request.messages:
        raise BadRequest("The list of messages is empty.")
    called: set[str] = set()
    for message in request.messages:
        returned = {result.id for result in message.results}
        if missing := called - returned:
            raise BadRequest(f"The calls {sorted(missing)} have no result right after them.")
        if foreign := returned - called:
            raise BadRequest(f"The results {sorted(foreign)} have no call right before them.")
        called = {call.id for call in message.calls}
    if called:
        raise BadRequest(f"The calls {sorted(called)} have no result.")
    names = [tool.name for tool in request.tools]
    for name in names:
        if not TOOL_NAME.fullmatch(name):
            raise BadRequest(f"The tool name {name!r} does not match {TOOL_NAME.pattern}.")
    if len(set(names)) < len(names):
        raise BadRequest("Two tools have one name.")
    if request.tool_choice not in {None, "auto", "none", "required", *names}:
        raise BadRequest(f"The tool chosen, {request.tool_choice!r}, is not offered.")
    return request
