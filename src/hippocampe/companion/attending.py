"""Shared hooks of every agent with memory: reminders, the events of a turn, and the tools still available."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from hippocampe.companion.memory_tools import NAMES
from hippocampe.companion.turn import Turn


class Attend(AbstractCapability[Any]):
    """Records the answers of the model and the results of the host's tools in the turn."""

    @abstractmethod
    def turn_of(self, ctx: RunContext[Any]) -> Turn:
        """The turn that a run belongs to."""

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Offer the tools that were not withdrawn."""
        withdrawn = self.turn_of(ctx).withdrawn
        return [each for each in tool_defs if each.name not in withdrawn]

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record the answer, for the cost of the run."""
        self.turn_of(ctx).responses.append(response)
        return response

    async def after_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        result: Any,
    ) -> Any:
        """Record the result of a tool of the host, from which facts are extracted; memory's own are not news."""
        if call.tool_name not in NAMES and (text := str(result)):
            self.turn_of(ctx).results.append(text)
        return result


class Finish(AbstractCapability[Any]):
    """Offers only the final answer in the last request."""

    def __init__(self, requests: int) -> None:
        super().__init__()
        self._requests = requests

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Offer no function tool in the last request."""
        return [] if ctx.run_step >= self._requests else tool_defs


def last_prompt(messages: Sequence[ModelMessage]) -> UserPromptPart | None:
    """The last message of the user."""
    requests = (each for each in reversed(messages) if isinstance(each, ModelRequest))
    parts = (part for each in requests for part in reversed(each.parts))
    return next((part for part in parts if isinstance(part, UserPromptPart)), None)


def with_reminders(
    messages: Sequence[ModelMessage], reminder_of: Callable[[UserPromptPart], str | None]
) -> list[ModelMessage]:
    """Copy a list of messages, with reminders before the messages of the user that have one."""
    copied: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            parts: list[ModelRequestPart] = []
            for part in message.parts:
                if isinstance(part, UserPromptPart) and (reminder := reminder_of(part)):
                    parts.append(UserPromptPart(reminder, timestamp=part.timestamp))
                parts.append(part)
            message = replace(message, parts=parts)
        copied.append(message)
    return copied
