"""Long-term memory for any Pydantic AI agent: `Agent(..., capabilities=[LongTermMemory(hippo)])`."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import UserPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from hippocampe.aio import AsyncHippocampe
from hippocampe.companion.attending import Attend, last_prompt, with_reminders
from hippocampe.companion.removals import may_quote, removals
from hippocampe.companion.tools import toolset
from hippocampe.companion.turn import Turn, record_run, remind
from hippocampe.errors import HippocampeError
from hippocampe.hippocampe import Hippocampe
from hippocampe.language.prompts import prompt
from hippocampe.system.recent import Recent
from hippocampe.types import Scope, Settings, last_results

log = logging.getLogger("hippocampe")

MAX_REMINDERS = 1_000
"""Earlier reminders that stay available, so that the model still sees them in the host's history."""


@dataclass(frozen=True, slots=True)
class _Reminder:
    """The reminder of a message; `ids` are those of its items."""

    space: str
    at: datetime
    text: str
    ids: frozenset[str]


class LongTermMemory(AbstractCapability[Any]):
    """Reminds an agent before each run, gives it memory tools, and stores the exchange after it.

    The reminder is part of the requests only: it is in no message that the host gets back. A failure of memory never
    stops the agent: it runs without memory, and the log has one line.

    Args:
        hippo: The open memory; the caller closes it.
        scope: Who speaks and where, or a function of the run context that says so.
        tools: Whether the model gets the tools that search, store and delete memories.
        store: Whether the exchange is stored after the run.
    """

    def __init__(
        self,
        hippo: Hippocampe | AsyncHippocampe,
        *,
        scope: Scope | Callable[[RunContext[Any]], Scope] | None = None,
        tools: bool = True,
        store: bool = True,
    ) -> None:
        super().__init__()
        self.hippo = hippo if isinstance(hippo, AsyncHippocampe) else AsyncHippocampe(hippo)
        self._scope = Scope() if scope is None else scope
        self.tools = tools
        self.store = store
        self._reminders = Recent[str, _Reminder](MAX_REMINDERS)
        if self.hippo.sync.owns:  # another process tells nobody
            self.hippo.sync.erasures.add(self.erased)

    def erased(self, space: str) -> None:
        """Drop the reminders of a space, which may quote what was erased."""
        self._drop([key for key, each in list(self._reminders.items()) if each.space == space])

    def _drop(self, keys: Sequence[str]) -> None:
        for key in keys:
            self._reminders.pop(key, None)

    def reminder_of(self, part: UserPromptPart) -> str | None:
        """The text of the reminder of a message, if it has one."""
        found = self._reminders.get(_key(part))
        return None if found is None else found.text

    def keep(self, part: UserPromptPart, turn: Turn, at: datetime) -> None:
        """Keep the reminder of a message for later requests."""
        ids = frozenset(each.id for each in turn.injected)
        self._reminders[_key(part)] = _Reminder(turn.scope.space, at, turn.reminder, ids)

    async def _drop_removed(self, scope: Scope) -> bool:
        """Drop the reminders that may quote what was removed since; return whether there were any."""
        kept = {k: each for k, each in list(self._reminders.items()) if each.space == scope.space}
        if not kept:
            return False
        since = min(each.at for each in kept.values())
        removed = await removals(self.hippo, scope, since)
        gone = [key for key, each in kept.items() if may_quote(each.at, each.ids, removed)]
        self._drop(gone)
        return bool(gone)

    async def for_run(self, ctx: RunContext[Any]) -> "AbstractCapability[Any]":
        """Prepare one run: its scope, its settings, its reminder."""
        scope = self._scope(ctx) if callable(self._scope) else self._scope
        message = _text_of(ctx.prompt)
        turn = Turn(self.hippo, scope, Settings())
        now = datetime.now(UTC)
        try:
            turn.settings = await self.hippo.settings(scope=scope)
            now = await self.hippo.now()
            fresh = await self._drop_removed(scope)
            if message:
                await remind(turn, message, fresh=fresh)
        except HippocampeError as exc:
            log.warning("an agent runs without new memory: %s", exc)
        return _Run(self, turn, message, now)


class _Run(Attend):
    """One run of an agent with memory."""

    def __init__(self, memory: LongTermMemory, turn: Turn, message: str, at: datetime) -> None:
        super().__init__()
        self._at = at
        self._memory = memory
        self._turn = turn
        self._message = message

    def turn_of(self, ctx: RunContext[Any]) -> Turn:
        """The turn of this run."""
        return self._turn

    def get_instructions(self) -> str:
        """The instructions on reading reminders and using the tools."""
        return instructions(self._turn.settings, tools=self._memory.tools)

    def get_toolset(self) -> AbstractToolset[Any] | None:
        """The tools, bound to the scope of this run."""
        if not self._memory.tools:
            return None
        return _OfTurn(toolset(self._turn.settings.language), self._turn)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put reminders before the messages that they belong to, in the request only."""
        if self._turn.reminder and (part := last_prompt(request_context.messages)) is not None:
            self._memory.keep(part, self._turn, self._at)
        messages = with_reminders(request_context.messages, self._memory.reminder_of)
        return replace(request_context, messages=messages)

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Store the exchange and its cost."""
        turn, output = self._turn, result.output
        try:
            await record_run(
                turn.hippo,
                turn.scope,
                "agent",
                turn.responses,
                model=ctx.model.model_name,
                injected=turn.injected_tokens,
            )
            if self._memory.store and self._message:
                reply = output.strip() if isinstance(output, str) else ""
                await turn.hippo.after_turn(
                    self._message,
                    reply or None,
                    scope=turn.scope,
                    tool_results=last_results(turn.results),
                )
        except HippocampeError as exc:
            log.warning("an exchange could not be stored: %s", exc)
        return result


class _OfTurn(WrapperToolset[Any]):
    """Runs the tools for a turn, with any dependencies of the host's agent."""

    def __init__(self, wrapped: AbstractToolset[Any], turn: Turn) -> None:
        super().__init__(wrapped)
        self._turn = turn

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        return await super().call_tool(name, tool_args, replace(ctx, deps=self._turn), tool)


def instructions(settings: Settings, *, tools: bool) -> str:
    """The instructions of an agent with memory."""
    names = ("memory", "tools") if tools else ("memory",)
    return "\n\n".join(prompt(f"companion/{name}", settings.language) for name in names)


def _text_of(content: object) -> str:
    """The text of a prompt; images and files are not remembered."""
    if isinstance(content, str):
        return content.strip()
    if isinstance(content, Sequence):
        parts = cast("Sequence[object]", content)
        return "\n".join(each for each in parts if isinstance(each, str)).strip()
    return ""


def _key(part: UserPromptPart) -> str:
    return f"{part.timestamp.isoformat()} {_text_of(part.content)}"
