"""Shared hooks of every agent with memory: record the events of a turn, offer the tools still available."""

from abc import abstractmethod
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from hippocampe.companion.tools import note_result
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
        """Record the result of a tool of the host, from which facts are extracted."""
        note_result(self.turn_of(ctx), call.tool_name, result)
        return result
