"""Prices of language models."""


def price_of(model: str, input_tokens: int, output_tokens: int, *, url: str) -> float | None:
    """The price of a call in US dollars; None if it is not known.

    Prices are those of `genai-prices` at its release, which the extra `companion` installs.

    Args:
        model: The model, as the provider names it.
        input_tokens: Tokens of the request.
        output_tokens: Tokens of the answer.
        url: The base URL of the provider.
    """
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    used = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    try:
        return float(calc_price(used, model, provider_api_url=url).total_price)
    except (LookupError, ValueError):
        return None
