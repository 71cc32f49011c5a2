"""Requests to a model, and the answers of a scripted model, independent of the protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Protocol = Literal["openai-chat", "openai-responses", "anthropic"]
Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True)
class Call:
    """A call of a tool.

    Attributes:
        name: Name of the tool, known or not.
        arguments: Values by name; or text that is sent unchanged, to send invalid JSON.
        id: Id of the call; "" in an answer means that the server makes one.
    """

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    id: str = ""


@dataclass(frozen=True)
class Answer:
    """An answer of the model.

    Attributes:
        text: Text, before the calls.
        calls: Tool calls, all in one answer.
        input_tokens: Tokens of the request; None counts one for 4 characters.
        output_tokens: Tokens of the answer; None counts one for 4 characters.
        delay: Seconds before the first byte.
        truncated: The answer ended at the limit of tokens.
        status: HTTP status; from 400 on, `text` is the message of the error.
        retry_after: Seconds for the header `retry-after`, with an error.
        fault: `cut` closes the connection in the middle; `garbled` sends invalid JSON.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    delay: float = 0.0
    truncated: bool = False
    status: int = 200
    retry_after: float | None = None
    fault: Literal["cut", "garbled"] | None = None


@dataclass(frozen=True)
class CallResult:
    """The result of the tool for the call `id`."""

    id: str
    text: str


@dataclass(frozen=True)
class ModelMessage:
    """A message of the history. Results of one answer's calls are one message of role `tool`."""

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[CallResult, ...] = ()


@dataclass(frozen=True)
class Tool:
    """A tool that is offered to the model, with the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class ModelRequest:
    """A request of a client.

    Attributes:
        protocol: The protocol it used.
        model: Name of the model.
        system: Text of all system and developer messages, joined by an empty line.
        messages: History in order, with no system messages. Neighbours of one role are joined.
        tools: Functions offered; tools that the provider runs itself are only in `body`.
        tool_choice: `auto`, `none`, `required` or the name of a tool; None if not given.
        stream: The answer is streamed.
        max_tokens: Limit of the answer in tokens.
        body: JSON body as sent.
    """

    protocol: Protocol
    model: str
    system: str
    messages: tuple[ModelMessage, ...]
    tools: tuple[Tool, ...]
    tool_choice: str | None
    stream: bool
    max_tokens: int | None
    body: Mapping[str, Any]

    @property
    def asked(self) -> str:
        """Text of the last message of the user; "" without one."""
        return next((each.text for each in reversed(self.messages) if each.role == "user"), "")

    @property
    def results(self) -> tuple[CallResult, ...]:
        """The results of the last tool calls; empty unless the last message holds results."""
        return self.messages[-1].results if self.messages else ()
