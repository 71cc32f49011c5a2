"""Calls of the background language model: budget, answer, record of the cost."""

from datetime import datetime, time
from typing import TypeVar, cast

from uuid6 import uuid7

from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.errors import BudgetSpent, InvalidAnswer, InvalidInput, ModelUnavailable, shown
from hippocampe.language.datetimes import as_utc, as_zone, latest_days
from hippocampe.store import activity
from hippocampe.store import usage as rows
from hippocampe.store.store import Store
from hippocampe.types import MAX_LABEL_CHARACTERS, Cost, ModelUsage, Scope
from hippocampe.validation import MAX_DAYS, check_limit, check_whole, clean_text

T = TypeVar("T")

BACKGROUND_SHARE = 0.8
"""Share of the daily budget that background calls may use; the rest is for conversations."""
MAX_PURPOSE_CHARACTERS = 40
MAX_AMOUNT = 2**31


def ask(
    context: Context, purpose: str, instructions: str, prompt: str, output: type[T], *, space: str
) -> T:
    """Ask the background model once, and record the cost, also of an unusable answer.

    Args:
        purpose: The purpose, as recorded: `digest`.
        instructions: The system prompt.
        output: A dataclass whose fields form the answer.
        space: The space that pays.

    Raises:
        ModelUnavailable: No model is configured, or none answered.
        InvalidAnswer: The answer does not have the requested form.
        BudgetSpent: The background share of the daily budget is spent.
    """
    model = context.language_model
    if model is None:
        raise ModelUnavailable(
            "no language model is configured: set HIPPOCAMPE_MODEL or HIPPOCAMPE_BACKGROUND_MODEL."
        )
    _check_share(context.corpus, space, BACKGROUND_SHARE)
    answer = model.answer(instructions, prompt, output)
    record_usage(
        context.corpus.store,
        scope=Scope(space=space),
        model=answer.model,
        purpose=purpose,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        injected_tokens=0,
        price=answer.price,
    )
    if answer.value is None:
        raise InvalidAnswer(
            "the model did not answer in the requested form: try again, or use a larger model."
        )
    return answer.value


def check_budget(corpus: Corpus, *, scope: Scope) -> None:
    """Raise `BudgetSpent` if language models have spent the daily budget of the space.

    Raises:
        BudgetSpent: They have; the setting `daily_budget` raises the limit.
    """
    _check_share(corpus, scope.space, 1.0)


def _check_share(corpus: Corpus, space: str, share: float) -> None:
    """Raise `BudgetSpent` if a share of the budget is spent since midnight, in the timezone of the space."""
    chosen = corpus.settings.of(space)
    if not chosen.daily_budget:
        return
    zone = as_zone(chosen.timezone)
    today = datetime.combine(corpus.store.now().astimezone(zone).date(), time(), zone)
    with corpus.store.read() as connection:
        spent = rows.spent(connection, space, today)
    if spent >= chosen.daily_budget * share:
        part = "" if share == 1 else f" (background calls may use {100 * share:.0f} %)"
        raise BudgetSpent(
            f"space {space!r} has spent {_amount(spent)} of its daily budget of "
            f"{_amount(chosen.daily_budget)} US dollars{part}: wait until tomorrow, or raise the setting daily_budget."
        )


def _amount(dollars: float) -> str:
    return f"{dollars:.2f}" if dollars >= 0.01 else f"{dollars:.2g}"


def record_usage(
    store: Store,
    *,
    scope: Scope,
    model: str,
    purpose: str,
    input_tokens: int,
    output_tokens: int,
    injected_tokens: int = 0,
    price: float | None = None,
) -> ModelUsage:
    """Record the cost of a call of a language model that the host made.

    Args:
        scope: The space that pays.
        model: The model that answered.
        purpose: One word: `chat`.
        input_tokens: Tokens of the request.
        output_tokens: Tokens of the answer.
        injected_tokens: Of the input tokens, those that injections added.
        price: In US dollars, if it is known.

    Raises:
        InvalidInput: A label or a number cannot be used.
    """
    for name, value in (
        ("input_tokens", input_tokens),
        ("output_tokens", output_tokens),
        ("injected_tokens", injected_tokens),
    ):
        _check_amount(name, value)
    if price is not None:
        _check_amount("price", price, whole=False)
    recorded = ModelUsage(
        id=str(uuid7()),
        space=scope.space,
        model=clean_text(model, what="model", limit=MAX_LABEL_CHARACTERS),
        purpose=clean_text(purpose, what="purpose", limit=MAX_PURPOSE_CHARACTERS),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        injected_tokens=injected_tokens,
        price=price,
        created_at=store.now(),
    )
    with store.write(durable=False, from_reserve=True) as connection:
        rows.add(connection, recorded)
    return recorded


def usage(
    store: Store, *, scope: Scope, since: datetime | str | None = None, limit: int = 100
) -> list[ModelUsage]:
    """The calls of language models made for the space, newest first.

    Raises:
        InvalidInput: An argument is invalid.
    """
    check_limit(limit)
    earliest = as_utc(since, name="since")
    with store.read() as connection:
        return rows.find(connection, scope.space, since=earliest, limit=limit)


def costs(corpus: Corpus, *, scope: Scope, days: int = 30) -> list[Cost]:
    """The calls of language models by day, purpose and model, in this order, over the latest days.

    Days are those of the setting `timezone`; a day, purpose or model without calls has no entry.

    Args:
        scope: The space.
        days: The number of days, 1 to 366, today included.

    Raises:
        InvalidInput: `days` is not a whole number from 1 to 366.
    """
    check_whole("days", days, most=MAX_DAYS)
    zone = as_zone(corpus.settings.of(scope.space).timezone)
    calendar = latest_days(corpus.store.now(), zone, days)
    with corpus.store.read() as connection:
        spent = activity.spent(
            connection, scope.space, [(start, stop) for _, start, stop in calendar]
        )
    return [Cost(calendar[row[0]][0], *row[1:]) for row in spent]


def _check_amount(name: str, value: object, *, whole: bool = True) -> None:
    good = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not good or not 0 <= cast("float", value) < MAX_AMOUNT:
        raise InvalidInput(f"{name} must be a number from 0 to {MAX_AMOUNT:,}, not {shown(value)}.")
