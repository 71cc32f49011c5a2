"""OpenAI's chat completions, which most compatible servers support."""

import json
from typing import ClassVar

from hippocampe.integrations.conversation import Message, of_chat, text_of
from hippocampe.server.proxy.protocols.protocol import (
    Answer,
    ClientProtocol,
    Json,
    as_count,
    as_object,
    as_text,
    objects,
)


class ChatCompletions(ClientProtocol):
    """`POST /v1/chat/completions`: the client sends the whole history each time."""

    name = "chat_completions"
    # Clients of Azure name the deployment in the path.
    paths = ("/chat/completions", "/deployments/{deployment}/chat/completions")
    described = (
        "Forward a chat to the upstream with an injection, and store the exchange.\n\n"
        "The form is that of OpenAI's chat completions, with streams and tools. The injection goes before the "
        "user's text, in a copy of the messages."
    )
    example: ClassVar[Json] = {
        "model": "gpt-5-mini",
        "messages": [{"role": "user", "content": "Je bois quoi ce soir ?"}],
        "user": "dev",
    }
    optional = frozenset({"user"})

    def answer(self) -> Answer:
        return _Answer()

    def broken(self, message: str) -> bytes:
        error = {"error": {"message": message, "type": "server_error"}}
        return b"data: " + json.dumps(error).encode() + b"\n\n"

    def _message(self, item: Json) -> Message:
        return of_chat(item)


class _Answer(Answer):
    """The first choice of an answer."""

    def _whole(self, answer: Json) -> None:
        self._add(answer, "message")

    def _event(self, event: Json) -> None:
        self._add(event, "delta")

    def _add(self, found: Json, part: str) -> None:
        self.model = as_text(found.get("model")) or self.model
        if used := as_object(found.get("usage")):
            self.input_tokens = as_count(used.get("prompt_tokens"))
            self.output_tokens = as_count(used.get("completion_tokens"))
        for choice in objects(found.get("choices")):
            if choice.get("index", 0) == 0:
                message = as_object(choice.get(part))
                spoken = as_object(message.get("audio")).get("transcript")
                self.text += text_of(message.get("content")) or as_text(spoken) or ""
                self.calls |= bool(message.get("tool_calls") or message.get("function_call"))
                self.failed |= choice.get("finish_reason") == "error"
