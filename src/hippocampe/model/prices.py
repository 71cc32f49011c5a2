"""Prices of language models, and the part of a price that memory adds."""

from functools import lru_cache
from typing import Final

from hippocampe.types import Cost, ModelUsage

OUTPUT_RATIO: Final = 4.0
"""Price of an output token in input tokens, where it is not known: most published prices are 4 to 5."""


def price_of(
    model: str, input_tokens: int, output_tokens: int, *, url: str | None = None
) -> float | None:
    """The price of a call in US dollars; None if it is not known.

    Prices are those of `genai-prices` at its release, which the extra `companion` installs.

    Args:
        model: The model, as the provider names it.
        url: The base URL of the provider; None: the one that the name of the model tells.
    """
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    try:
        used = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        return float(calc_price(used, model, provider_api_url=url).total_price)
    except (LookupError, ValueError):
        return None


def injected_price(spent: Cost | ModelUsage) -> float | None:
    """The part of a price that injections added, estimated, in US dollars; None if the price is not known.

    All input tokens are taken to cost the same, although a provider may charge less for cached ones.
    """
    if spent.price is None or not spent.injected_tokens:
        return spent.price and 0.0
    weighted = spent.input_tokens + _output_ratio(spent.model) * spent.output_tokens
    return spent.price * spent.injected_tokens / max(weighted, spent.injected_tokens)


@lru_cache(maxsize=64)
def _output_ratio(model: str) -> float:
    """The price of an output token of a model, in its input tokens."""
    asked, answered = price_of(model, 1_000, 0), price_of(model, 0, 1_000)
    return answered / asked if asked and answered else OUTPUT_RATIO
