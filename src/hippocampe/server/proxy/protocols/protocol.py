"""A protocol: its requests, copies of them with injections, and its answers, from JSON of any form. No I/O."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeGuard, cast

from hippocampe.integrations.conversation import Conversation, Message, conversation
from hippocampe.integrations.turns import joined
from hippocampe.server.http.json_limit import has_too_many_values

Json = dict[str, Any]


def parsed(data: bytes) -> Json:
    """Parse a JSON object; empty if it is not one, or has too many values for a conversation."""
    if has_too_many_values(data):
        return {}
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return as_object(found)


def as_object(value: object) -> Json:
    """The value if it is a JSON object; else an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def objects(value: object) -> list[Json]:
    """The objects of a list; empty for any other value."""
    listed = value if _is_list(value) else []
    return [cast("Json", each) for each in listed if isinstance(each, dict)]


def all_objects(value: object) -> list[Json] | None:
    """A list of objects; None for any other value."""
    found = objects(value)
    return found if _is_list(value) and len(found) == len(value) else None


def as_text(value: object) -> str | None:
    """The value if it is a non-empty text."""
    return value if isinstance(value, str) and value else None


def as_count(value: object) -> int | None:
    """The value if it is a whole number, and not negative as some servers write an unknown one."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if value >= 0 else None


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


_LINE_END = re.compile(rb"\r\n?|\n")
"""All that may end a line of a stream of events."""
MAX_LINE_BYTES = 2**24
"""Longest part of an event that is read."""


@dataclass(slots=True)
class Answer(ABC):
    """An answer of a model, parsed while it is forwarded.

    Attributes:
        calls: Whether it calls tools of the client, so that the turn continues.
        failed: Whether the provider reports an error in it, after the status of success.
        id: Its id for later requests that continue it, if the provider stores the history.
        input_tokens: Tokens of the request, if the answer has them.
        output_tokens: Tokens of the answer, if it has them.
    """

    text: str = ""
    calls: bool = False
    failed: bool = False
    id: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    _line: bytearray = field(default_factory=bytearray)
    """The line that has not ended; only new pieces are searched for its end, as a line may be millions of bytes long."""

    def read(self, body: bytes) -> None:
        """Parse a whole answer."""
        answer = parsed(body)
        self._judge(answer)
        self._whole(answer)

    def feed(self, piece: bytes) -> None:
        """Parse the next piece of a stream of events."""
        *ends, rest = _LINE_END.split(piece)
        for end in ends:
            name, _, value = bytes(self._line + end).strip().partition(b":")
            self._line.clear()
            self.failed |= name == b"event" and value.strip() == b"error"
            if name == b"data" and (event := parsed(value)):
                self._judge(event)
                self._event(event)
        self._line += rest[: MAX_LINE_BYTES - len(self._line)]

    def _judge(self, found: Json) -> None:
        """Note an error; all protocols name it so, in an answer and in an event."""
        self.failed |= bool(found.get("error")) or found.get("type") in ("error", "response.failed")

    @abstractmethod
    def _whole(self, answer: Json) -> None:
        """Parse the body of an answer."""

    @abstractmethod
    def _event(self, event: Json) -> None:
        """Parse an event of a stream."""


class ClientProtocol(ABC):
    """One way in which clients talk with models.

    Attributes:
        name: The name of its endpoint in the OpenAPI document.
        paths: Its endpoints below `/v1`; the first is documented.
        described: The description of its endpoint.
        example: A request; its fields, except the optional ones, are required.
        optional: Fields of the example that may be missing.
        text_type: The type of a part of text of the user.
    """

    name: ClassVar[str]
    paths: ClassVar[tuple[str, ...]]
    described: ClassVar[str]
    example: ClassVar[Json]
    optional: ClassVar[frozenset[str]] = frozenset()
    text_type: ClassVar[str] = "text"

    @abstractmethod
    def answer(self) -> Answer:
        """A new parser of an answer."""

    @abstractmethod
    def broken(self, message: str) -> bytes:
        """The event that ends a stream with an error."""

    def conversation(self, request: Json) -> Conversation | None:
        """The conversation of a request; None if it has no readable one."""
        items = self._items(request)
        messages = None if items is None else [self._message(each) for each in items]
        return conversation(messages, self._continues(request))

    def reminded(self, request: Json, reminders: Mapping[int, str]) -> Json:
        """A copy of a request with texts inserted before those of messages of the user, by position of the message."""
        items = list(self._items(request) or [])
        for position, text in reminders.items():
            item = items[position]
            content = item["content"]
            # Inserted into the user's message: some models refuse two user messages in a row.
            at = 0 if isinstance(content, str) else self._place(content)
            content = joined(text, content, lambda part: {"type": self.text_type, "text": part}, at)
            items[position] = {**item, "content": content}
        return self._with_items(request, items)

    def _items(self, request: Json) -> list[Json] | None:
        """The items of a request, in order; None if they cannot be read."""
        return all_objects(request.get("messages"))

    def _with_items(self, request: Json, items: list[Json]) -> Json:
        """A copy of a request with other items, as many as before."""
        return {**request, "messages": items}

    @abstractmethod
    def _message(self, item: Json) -> Message:
        """An item as memory reads it."""

    def _continues(self, request: Json) -> str | None:
        """The id of the provider's stored history that the request continues, if any."""
        return None

    def _place(self, content: list[Any]) -> int:
        """The position of an injection among the parts of a message of the user."""
        return 0
