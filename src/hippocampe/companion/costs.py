"""Record what the requests of a run cost."""

from collections.abc import Sequence

from pydantic_ai.messages import ModelResponse

from hippocampe.aio import AsyncHippocampe
from hippocampe.companion.replies import Usage
from hippocampe.model.connection import cost_of
from hippocampe.types import Scope


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
