"""The form of OpenAI's chat completions: what a client says, and what the model answers. No I/O."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

Json = dict[str, Any]
MAX_LINE_BYTES = 2**24
"""Of one event of a stream; the rest of a longer one is not read."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of a request.

    Attributes:
        messages: As received.
        names: Of the messages of the user, by position: each identifies what it and the answer before it say.
        said: The text of the last message of the user.
        opening: Identifies the conversation by the first message of the user.
        begins: Whether the model has answered nothing yet.
        continued: Whether the model has answered the last message of the user already, with calls of tools.
        results: What tools returned since.
    """

    messages: tuple[Json, ...]
    names: Mapping[int, str]
    said: str
    opening: str
    begins: bool
    continued: bool
    results: tuple[str, ...]

    @property
    def name(self) -> str:
        """That of the last message of the user."""
        return self.names[max(self.names)]

    def with_reminders(self, reminders: Mapping[str, str]) -> tuple[list[Json], list[str]]:
        """A copy of the messages with reminders put before what the user said, and which were used.

        Args:
            reminders: By the name of the message.
        """
        reminded, used = list(self.messages), list[str]()
        for position, name in self.names.items():
            if text := reminders.get(name):
                message = self.messages[position]
                reminded[position] = {**message, "content": _reminded(message["content"], text)}
                used.append(name)
        return reminded, used

    def texts(self) -> list[str]:
        """What the messages say."""
        return [_text(each.get("content")) for each in self.messages]


def conversation(request: Json) -> Conversation | None:
    """The conversation of a request; None if no user says any text in it."""
    given = request.get("messages")
    if not _is_list(given) or not all(isinstance(each, dict) for each in given):
        return None
    messages: tuple[Json, ...] = tuple(given)
    names, answered = dict[int, str](), ""
    for position, message in enumerate(messages):
        said = _text(message.get("content"))
        if message.get("role") == "user" and said.strip():
            names[position] = _digest(answered, said)
        elif message.get("role") == "assistant":
            answered = said
    if not names:
        return None
    after = messages[max(names) + 1 :]
    results = [_text(each.get("content")) for each in after if each.get("role") == "tool"]
    return Conversation(
        messages,
        names,
        _text(messages[max(names)]["content"]),
        _digest(_text(messages[min(names)]["content"])),
        not any(each.get("role") == "assistant" for each in messages),
        bool(after),
        tuple(filter(None, results)),
    )


@dataclass(slots=True)
class Answer:
    """What a model answered, as far as it is read.

    Attributes:
        text: The text of the first choice.
        calls: Whether it calls tools, so that another request follows.
        ended: Whether the model has ended it.
        model: The model that answered.
        input_tokens: Tokens of the request, if the answer says it.
        output_tokens: Tokens of the answer, if it says it.
    """

    text: str = ""
    calls: bool = False
    ended: bool = False
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    _line: bytes = b""

    def read(self, body: bytes) -> None:
        """Read an answer that came in one piece."""
        self._add(_parsed(body), "message")
        self.ended = True

    def feed(self, piece: bytes) -> None:
        """Read the next piece of a stream of events."""
        *lines, rest = (self._line + piece).split(b"\n")
        self._line = rest[:MAX_LINE_BYTES]
        for line in lines:
            name, _, value = line.strip().partition(b":")
            if name == b"data" and value.strip() == b"[DONE]":
                self.ended = True
            elif name == b"data":
                self._add(_parsed(value), "delta")

    def _add(self, found: Json, part: str) -> None:
        model, usage, choices = found.get("model"), found.get("usage"), found.get("choices")
        if isinstance(model, str) and model:
            self.model = model
        if isinstance(usage, dict):
            counted = cast("Json", usage)
            self.input_tokens = _count(counted.get("prompt_tokens"))
            self.output_tokens = _count(counted.get("completion_tokens"))
        for choice in choices if _is_list(choices) else []:
            if not isinstance(choice, dict) or cast("Json", choice).get("index", 0) != 0:
                continue
            first = cast("Json", choice)
            self.ended = self.ended or first.get("finish_reason") is not None
            said = first.get(part)
            if isinstance(said, dict):
                message = cast("Json", said)
                self.text += _text(message.get("content"))
                self.calls |= bool(message.get("tool_calls") or message.get("function_call"))


def _text(content: object) -> str:
    """The text of a content: itself, or its parts of text."""
    if isinstance(content, str):
        return content
    if not _is_list(content):
        return ""
    texts = [cast("Json", part).get("text") for part in content if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _reminded(content: str | list[Any], reminder: str) -> str | list[Any]:
    # In one message with the words: some models refuse two messages of the user in a row.
    if isinstance(content, str):
        return f"{reminder}\n\n{content}"
    return [{"type": "text", "text": reminder}, *content]


def _parsed(data: bytes) -> Json:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return cast("Json", found) if isinstance(found, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _digest(*texts: str) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()
