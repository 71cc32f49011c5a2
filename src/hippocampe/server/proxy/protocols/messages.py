"""Anthropic's messages."""

import json
import re
from typing import Any, ClassVar

from hippocampe.integrations.conversation import Message, text_of
from hippocampe.language.machine_made import MACHINE_MADE
from hippocampe.server.proxy.protocols.protocol import (
    Answer,
    ClientProtocol,
    Json,
    as_count,
    as_object,
    as_text,
    objects,
)

_RESULT = "tool_result"
_TAGGED = re.compile(r"<([\w-]+)(?:\s[^<>]*)?>(?:(?!</\1>).)*</\1>\Z", re.DOTALL)
"""A text in one tag, in which clients put what they add to results of tools."""
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The token counts of a request; a stream has them at its start, or corrects them at its end."""


class Messages(ClientProtocol):
    """`POST /v1/messages`: the client sends the whole history, or only the continuation of a stored thread."""

    name = "messages"
    paths = ("/messages",)
    described = (
        "Forward a message to the upstream with an injection, and store the exchange.\n\n"
        "The form is that of Anthropic's messages, with streams, tools, thinking and threads. The injection goes "
        "before the user's text, in a copy of the messages."
    )
    example: ClassVar[Json] = {
        "model": "claude-sonnet-5",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "Je bois quoi ce soir ?"}],
    }

    def answer(self) -> Answer:
        return _Answer()

    def broken(self, message: str) -> bytes:
        event = {"type": "error", "error": {"type": "api_error", "message": message}}
        return b"event: error\ndata: " + json.dumps(event).encode() + b"\n\n"

    def _message(self, item: Json) -> Message:
        role, content = item.get("role"), item.get("content")
        if role == "user":
            return _of_user(content)
        return Message("assistant" if role == "assistant" else "system", text_of(content))

    def _continues(self, request: Json) -> str | None:
        return as_text(as_object(request.get("thread")).get("previous_message_id"))

    def _place(self, content: list[Any]) -> int:
        # Results have to come first.
        found = [at for at, part in enumerate(content) if _is_result(part)]
        return found[-1] + 1 if found else 0


def _of_user(content: object) -> Message:
    """A message in the name of the user: new words, or results of tools, without notes of the client's program."""
    parts = [{"text": content}] if isinstance(content, str) else objects(content)
    results = [text_of(each.get("content")) for each in parts if _is_result(each)]
    words = [each for each in parts if not _is_result(each) and not _is_note(each, bool(results))]
    text = text_of(words)
    if results and not text.strip():
        return Message("tool", "\n".join(results))
    return Message("user", text, tuple(each for each in results if each))


def _is_result(part: object) -> bool:
    return as_object(part).get("type") == _RESULT


def _is_note(part: Json, beside_results: bool) -> bool:
    """Return whether a client's program wrote a part: beside results of tools, any text in one tag."""
    text = (as_text(part.get("text")) or "").strip()
    return text.startswith(MACHINE_MADE) or (beside_results and bool(_TAGGED.match(text)))


class _Answer(Answer):
    def _whole(self, answer: Json) -> None:
        self._begin(answer)
        for block in objects(answer.get("content")):
            self._block(block)
        self._stop(answer)

    def _event(self, event: Json) -> None:
        match event.get("type"):
            case "message_start":
                self._begin(as_object(event.get("message")))
            case "content_block_start":
                self._block(as_object(event.get("content_block")))
            case "content_block_delta":
                self.text += as_text(as_object(event.get("delta")).get("text")) or ""
            case "message_delta":
                self._stop(as_object(event.get("delta")))
                self._count(as_object(event.get("usage")))
            case _:
                """A ping, an end or an error, which is noted for all protocols."""

    def _begin(self, message: Json) -> None:
        self.id = as_text(message.get("id"))
        self.model = as_text(message.get("model"))
        self._count(as_object(message.get("usage")))

    def _block(self, block: Json) -> None:
        if block.get("type") == "text":
            # One text with citations comes in several blocks.
            self.text += as_text(block.get("text")) or ""
            return
        self.calls |= block.get("type") == "tool_use"
        if self.text and not self.text.endswith("\n"):
            self.text += "\n"

    def _stop(self, found: Json) -> None:
        # A pause of the provider's own tools: the client sends the answer back, and the turn continues.
        self.calls |= found.get("stop_reason") == "pause_turn"

    def _count(self, used: Json) -> None:
        if as_count(used.get("input_tokens")) is not None:
            self.input_tokens = sum(as_count(used.get(name)) or 0 for name in _INPUT)
        output = as_count(used.get("output_tokens"))
        self.output_tokens = self.output_tokens if output is None else output
