"""A scripted model server: real HTTP, the protocols of OpenAI and Anthropic, no model.

For example:

    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        server.call("search_memories", query="ski")
        server.say("Nina likes to ski.")
        ...
        [result] = server.requests[-1].results
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from types import TracebackType
from typing import Any, Self

from model_server.exchange import Answer, Call, ModelRequest
from model_server.http import ModelHTTPServer, Reply
from model_server.wires import History, Wire, arguments_text, request_of

Brain = Callable[[ModelRequest], Answer]

BROKEN_ARGUMENTS = '{"content": "une phra'
"""Arguments of a garbled call."""


class ModelServer:
    """A server on 127.0.0.1 that returns queued answers in order, in any protocol.

    It speaks chat completions (`openai-chat:NAME` in Pydantic AI and most compatible servers),
    responses (`openai:NAME`) and messages (`anthropic:NAME`), streamed or not. Any model name and
    any key are accepted. A response can be continued by `previous_response_id` or by its conversation.
    Requests that providers refuse, such as a tool call without its result,
    get a 400. All methods are thread-safe. A client that retries takes the next answer.

    Args:
        brain: Makes the answer when the queue is empty. An attribute too.
        chunk_size: Characters in a piece of streamed text or arguments. Texts of more than a
            thousand pieces are sent in a thousand larger ones.
        pause: Seconds between two events of a stream.

    Attributes:
        openai_url: Base URL for `OPENAI_BASE_URL`.
        anthropic_url: Base URL for `ANTHROPIC_BASE_URL`.
    """

    def __init__(
        self, brain: Brain | None = None, *, chunk_size: int = 8, pause: float = 0.0
    ) -> None:
        self.brain = brain
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._queue: deque[Answer] = deque()
        self._requests: list[ModelRequest] = []
        self._errors: list[Exception] = []
        self._history = History()
        self._http = ModelHTTPServer(self._reply, self._record, chunk_size=chunk_size, pause=pause)
        port = self._http.server_address[1]
        self.openai_url = f"http://127.0.0.1:{port}/v1"
        self.anthropic_url = f"http://127.0.0.1:{port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop, and close all connections; an answer that is under way is broken off."""
        self._http.stop()

    def add(self, *answers: Answer) -> None:
        """Queue answers that the other methods do not build."""
        with self._lock:
            self._queue.extend(answers)

    def say(self, text: str) -> None:
        """Queue a text."""
        self.add(Answer(text))

    def call(self, name: str, **arguments: Any) -> None:
        """Queue a call of a tool."""
        self.calls(Call(name, arguments))

    def calls(self, *calls: Call, text: str = "") -> None:
        """Queue several calls in one answer, after a text."""
        self.add(Answer(text, calls))

    def fail(
        self,
        status: int,
        message: str = "The model server was told to fail.",
        *,
        retry_after: float | None = None,
    ) -> None:
        """Queue an HTTP error in the provider's format.

        Args:
            status: HTTP status, 400 or more. 529 is Anthropic's for an overloaded service.
            message: Message of the error.
            retry_after: Seconds after which the client is asked to try again.
        """
        self.add(Answer(message, status=status, retry_after=retry_after))

    def hang(self, seconds: float, text: str = "Late.") -> None:
        """Queue a text that comes only after some seconds. A server that stops sends nothing."""
        self.add(Answer(text, delay=seconds))

    def cut(self, text: str = "This answer breaks off in the middle of a sentence.") -> None:
        """Queue a text, and close the connection in its middle."""
        self.add(Answer(text, fault="cut"))

    def garble(self, tool: str | None = None) -> None:
        """Queue invalid JSON.

        Args:
            tool: Name of a tool that is called with broken arguments. Without it, the whole body
                or the event of a stream is broken, with status 200. A body of the messages
                protocol carries the broken arguments as a string.
        """
        if tool is None:
            self.add(Answer(fault="garbled"))
        else:
            self.calls(Call(tool, BROKEN_ARGUMENTS))

    @property
    def queued(self) -> int:
        """The number of queued answers."""
        with self._lock:
            return len(self._queue)

    @property
    def requests(self) -> list[ModelRequest]:
        """Well-formed requests in the order in which they came, retries included."""
        with self._lock:
            return list(self._requests)

    @property
    def errors(self) -> list[Exception]:
        """The errors: an empty queue, an error of the brain, a refused request."""
        with self._lock:
            return list(self._errors)

    def _reply(self, wire: Wire, body: bytes) -> Reply:
        number = next(self._numbers)
        request = request_of(wire, body, self._history.completed)
        answer = _completed(self._asked(request), body, number)
        if request.protocol != "openai-chat" and answer.status < 400:
            sent = self._history.completed(request.body)
            self._history.keep(sent, wire.body(request, answer, number))
        return Reply(request, answer, number)

    def _asked(self, request: ModelRequest) -> Answer:
        with self._lock:
            self._requests.append(request)
            if self._queue:
                return self._queue.popleft()
            brain, asked = self.brain, len(self._requests)
        if brain is None:
            raise AssertionError(
                f"The script of the model server is at its end, at request {asked}."
                " Queue more answers, or give it a brain."
            )
        return brain(request)

    def _record(self, error: Exception) -> None:
        with self._lock:
            self._errors.append(error)


def _completed(answer: Answer, body: bytes, number: int) -> Answer:
    """Complete an answer with the ids and tokens it leaves open."""
    written = len(answer.text) + sum(len(arguments_text(call)) for call in answer.calls)
    return replace(
        answer,
        calls=tuple(
            call if call.id else replace(call, id=f"call_{number}_{index}")
            for index, call in enumerate(answer.calls)
        ),
        input_tokens=_tokens(len(body)) if answer.input_tokens is None else answer.input_tokens,
        output_tokens=_tokens(written) if answer.output_tokens is None else answer.output_tokens,
    )


def _tokens(characters: int) -> int:
    return max(1, characters // 4)
