"""One turn of the companion: the speaker, the reminder, what is stored, what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelResponse

from hippocampe.aio import AsyncHippocampe
from hippocampe.companion.memory_tools import Access
from hippocampe.companion.replies import Searched, Usage
from hippocampe.model.connection import cost_of
from hippocampe.types import Injection, Memory, Recollection, Remembered, Scope, Settings


@dataclass(slots=True)
class Turn:
    """The state that the tools and hooks of one run share.

    Attributes:
        reminder: The text put in front of the message, in the request only.
        injection: The injection of `before_turn`, with its trace.
        touched: Memories that were stored or deleted.
        replaced: Memories that a stored one replaced, by its id.
        responses: The model's answers, one per request.
        results: The results of the host's tools.
        calls: The calls of memory's own tools: name, arguments, and the number of memories touched before.
        withdrawn: Tools that the model may not call any more in this turn.
    """

    hippo: AsyncHippocampe
    scope: Scope
    settings: Settings
    reminder: str = ""
    injected: tuple[Recollection, ...] = ()
    injected_tokens: int = 0
    injection: Injection | None = None
    touched: list[Memory] = field(default_factory=list[Memory])
    replaced: dict[str, tuple[Memory, ...]] = field(default_factory=dict[str, tuple[Memory, ...]])
    searched: list[Searched] = field(default_factory=list[Searched])
    responses: list[ModelResponse] = field(default_factory=list[ModelResponse])
    results: list[str] = field(default_factory=list[str])
    calls: set[tuple[str, str, int]] = field(default_factory=set[tuple[str, str, int]])
    withdrawn: set[str] = field(default_factory=set[str])

    @property
    def access(self) -> Access:
        """The memory as the tools use it."""
        return Access(self.hippo, self.scope, "chat")

    async def learn(self, stored: Remembered) -> None:
        """Record a stored memory, and what it replaced."""
        self.touched.append(stored.memory)
        if stored.replaced:
            self.replaced[stored.memory.id] = tuple(
                [await self.hippo.get(id, scope=self.scope) for id in stored.replaced]
            )


async def record_run(
    hippo: AsyncHippocampe,
    scope: Scope,
    purpose: str,
    responses: Sequence[ModelResponse],
    *,
    model: str,
    injected: int = 0,
) -> Usage:
    """Record the cost of a run; nothing if no request was answered.

    Args:
        model: The model, if no answer names it.
        injected: Tokens that a reminder added to each request.
    """
    cost = cost_of(responses)
    injected *= cost.requests
    if cost.requests:
        await hippo.record_usage(
            scope=scope,
            model=cost.model or model,
            purpose=purpose,
            input_tokens=cost.input_tokens,
            output_tokens=cost.output_tokens,
            injected_tokens=injected,
            price=cost.price,
        )
    return Usage(cost.requests, cost.input_tokens, cost.output_tokens, injected, cost.price)
