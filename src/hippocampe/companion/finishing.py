"""Make a model end in an answer within a number of requests."""

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import ToolDefinition


class Finish(AbstractCapability[Any]):
    """Leaves only the final answer to the last request.

    Args:
        requests: How many requests a run may make.
    """

    def __init__(self, requests: int) -> None:
        super().__init__()
        self._requests = requests

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Offer no function tool on the last request."""
        return [] if ctx.run_step >= self._requests else tool_defs
