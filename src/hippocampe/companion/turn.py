"""One turn of the companion: the speaker, the reminder by mode, what is stored, what it cost."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelResponse

from hippocampe.aio import AsyncHippocampe
from hippocampe.companion.memory_tools import Access
from hippocampe.companion.replies import Searched, Usage
from hippocampe.hippocampe import render_for
from hippocampe.language.text import words
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


LIMITATION_SCORE = 0.31
"""Cosine: a request restates the limitation rather than asking about it, so only meaning counts."""
MAX_LIMITATIONS = 2
MAX_CONNECTIONS = 3
SELF_SCORE = 0.4
MAX_SELF = 3


async def remind(
    turn: Turn, message: str, *, already: Collection[str] = (), fresh: bool = False
) -> None:
    """Give a turn what is relevant to its message.

    Live talk is part of every mode; memories are, unless the mode is `agentic`. A message that meets
    a limitation recalls it, and goals of connection with the speaker are recalled. In `systematic`
    mode, where the model cannot search, the reminder includes the persona. To a request to forget, the reminder
    says what memory does, in every mode.

    Args:
        already: Ids of the items that the model still sees.
        fresh: Whether it no longer sees all that it was given.
    """
    injection: Injection = await turn.hippo.before_turn(message, scope=turn.scope, fresh=fresh)
    turn.injection = injection
    turn.reminder, turn.injected_tokens = injection.text, injection.tokens
    if injection.forgetting is not None:
        return
    turn.injected = injection.items
    items = list(injection.items)
    if turn.settings.companion_mode == "agentic":
        items = [item for item in items if item.kind == "live"]
    else:
        own = [*await _limitations(turn, message), *await _connections(turn)]
        if turn.settings.companion_mode == "systematic":
            own += await _self(turn, message)
        known = {*already, *(item.id for item in items)}
        items += {item.id: item for item in own if item.id not in known}.values()
    if items != list(injection.items):
        rendered = render_for(turn.settings, items, await turn.hippo.now())
        turn.reminder, turn.injected = rendered.text, rendered.shown
        turn.injected_tokens = rendered.tokens


async def _self(turn: Turn, message: str) -> list[Recollection]:
    """The persona, and other statements about itself that answer the message."""
    page = await turn.hippo.memories(
        scope=turn.access.own_scope,
        collection="self",
        category="context",
        order="importance",
        limit=MAX_SELF,
    )
    context = [Recollection(each.id, "self", each.content, 1.0, each) for each in page.items]
    found = await turn.hippo.recall(
        message,
        scope=turn.access.own_scope,
        limit=MAX_SELF,
        collections=("self", "goal"),
        min_score=SELF_SCORE,
    )
    return list({each.id: each for each in (*context, *found)}.values())


async def _limitations(turn: Turn, message: str) -> list[Recollection]:
    """The limitations that a request meets."""
    return await turn.hippo.recall(
        message,
        scope=turn.access.own_scope,
        limit=MAX_LIMITATIONS,
        collections=("self",),
        category="limitation",
        mode="semantic",
        min_score=LIMITATION_SCORE,
    )


async def _connections(turn: Turn) -> list[Recollection]:
    """Goals of connection with the speaker, newest first."""
    user = turn.scope.user
    if user is None:
        return []
    page = await turn.hippo.memories(
        scope=turn.access.own_scope, collection="goal", category="connection", limit=50
    )
    if not page.items:
        return []
    names = await turn.hippo.names(user, scope=turn.scope)
    wanted = [" ".join(words(name)) for name in names]
    found: list[Recollection] = []
    for memory in page.items:
        statement = f" {' '.join(words(memory.content))} "
        if any(f" {name} " in statement for name in wanted):
            found.append(Recollection(memory.id, "goal", memory.content, 1.0, memory))
    return found[:MAX_CONNECTIONS]
