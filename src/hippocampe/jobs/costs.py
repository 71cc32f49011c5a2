"""The costs of language models: look at them, and record the calls of hosts."""

from datetime import datetime

from uuid6 import uuid7

from hippocampe.engine import model_calls
from hippocampe.engine.context import Context
from hippocampe.errors import InvalidInput
from hippocampe.language.datetimes import as_utc
from hippocampe.store import usage as rows
from hippocampe.types import MAX_LABEL_CHARACTERS, ModelUsage, Scope
from hippocampe.validation import check_limit, check_number, clean_text

MAX_PURPOSE_CHARACTERS = 40
MAX_TOKENS = 1_000_000_000
MAX_PRICE = 1_000_000.0


def usage(
    context: Context, *, scope: Scope, since: datetime | str | None, limit: int
) -> list[ModelUsage]:
    """The calls made for a space, newest first.

    Raises:
        InvalidInput: The time or the limit cannot be used.
    """
    check_limit(limit)
    earliest = as_utc(since, name="since")
    with context.store.read() as connection:
        return rows.find(connection, scope.space, since=earliest, limit=limit)


def record_usage(
    context: Context,
    *,
    scope: Scope,
    model: str,
    purpose: str,
    input_tokens: int,
    output_tokens: int,
    injected_tokens: int,
    price: float | None,
    at: datetime | str | None,
) -> ModelUsage:
    """Record a call of a host.

    Raises:
        InvalidInput: A value cannot be used; nothing was recorded.
    """
    recorded = ModelUsage(
        id=str(uuid7()),
        space=scope.space,
        model=clean_text(model, what="model", limit=MAX_LABEL_CHARACTERS),
        purpose=clean_text(purpose, what="purpose", limit=MAX_PURPOSE_CHARACTERS),
        input_tokens=_tokens("input_tokens", input_tokens, MAX_TOKENS),
        output_tokens=_tokens("output_tokens", output_tokens, MAX_TOKENS),
        injected_tokens=_tokens("injected_tokens", injected_tokens, input_tokens),
        price=None if price is None else float(check_number("price", price, 0, MAX_PRICE)),
        created_at=as_utc(at, name="at") or context.now(),
    )
    model_calls.record(context, recorded)
    return recorded


def _tokens(name: str, value: int, most: int) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not whole or not 0 <= value <= most:
        raise InvalidInput(f"{name} must be a whole number from 0 to {most:,}, not {value!r}.")
    return value
