"""The output of the companion: events while it works, then a reply."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hippocampe.types import Injection, Memory, Recollection


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model called a tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool returned its result, as the model reads it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class TextStreamed:
    """The next piece of the answer. With `restart`, it replaces all pieces before it."""

    text: str
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of an answer.

    Attributes:
        turns: Requests to the model.
        input_tokens: Tokens of all requests.
        output_tokens: Tokens of all answers.
        injected_tokens: The part of the input tokens that the injection added.
        price: In US dollars; None if the price of the model is not known.
    """

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    injected_tokens: int = 0
    price: float | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """A search of the model in memory.

    Attributes:
        tool: The tool that it called.
        query: The words that it searched for; empty if the tool takes none.
        items: What was found, in order.
    """

    tool: str
    query: str
    items: tuple[Recollection, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one message.

    Attributes:
        expression: One word for the face of the companion: `happy`.
        message: The text of the answer.
        memories: The memories that it stored or deleted, in order.
        injected: The reminders before the answer, in order.
        usage: Its cost.
        complete: False if the model did not finish in time and this is its best answer so far.
        injection: The injection of `before_turn` for the message; its trace has the reasons.
        searched: The searches of the model in memory, in order.
        replaced: The memories that a stored one replaced, by its id.
    """

    expression: str
    message: str
    memories: tuple[Memory, ...] = ()
    injected: tuple[Recollection, ...] = ()
    usage: Usage = Usage()
    complete: bool = True
    injection: Injection | None = field(default=None, compare=False, repr=False)
    searched: tuple[Searched, ...] = ()
    replaced: Mapping[str, tuple[Memory, ...]] = field(
        default_factory=dict[str, tuple[Memory, ...]]
    )


Event = ToolCalled | ToolReturned | TextStreamed | Reply
"""An event of one answer: any number of the first three, then one `Reply`."""
