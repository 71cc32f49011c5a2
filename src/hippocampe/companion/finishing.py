"""Limit a run of a model to a number of requests."""

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import ToolDefinition


class Finish(AbstractCapability[Any]):
    """Offers only the final answer in the last request.

    Args:
        requests: Most requests of a run.
    """

    def __init__(self, requests: int) -> None:
        super().__init__()
        self._requests = requests

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Offer no function tool in the last request."""
        return [] if ctx.run_step >= self._requests else tool_defs
