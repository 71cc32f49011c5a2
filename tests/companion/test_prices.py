"""The part of a price that injections add."""

from datetime import date

import pytest

from hippocampe.model.prices import OUTPUT_RATIO, injected_price
from hippocampe.types import Cost


def cost(model: str, injected: int, price: float | None, **more: int) -> Cost:
    tokens = {"input_tokens": 1_000, "output_tokens": 100} | more
    return Cost(
        date(2026, 1, 17), "chat", model, 1, **tokens, injected_tokens=injected, price=price
    )


def test_it_is_their_share_of_the_input() -> None:
    # gpt-4o: $2.50 per million input tokens, $10 per million output tokens.
    assert injected_price(cost("gpt-4o", 400, 0.0035)) == pytest.approx(0.001)
    whole = 1_000 + OUTPUT_RATIO * 100
    assert injected_price(cost("own", 1_000, 1.4)) == pytest.approx(1.4 * 1_000 / whole)


@pytest.mark.parametrize(
    ("spent", "added"),
    [
        (cost("gpt-4o", 0, 0.0035), 0.0),
        (cost("gpt-4o", 400, 0.0), 0.0),
        (cost("gpt-4o", 400, None), None),
        (cost("gpt-4o", 400, 2.0, input_tokens=0, output_tokens=0), 2.0),
    ],
)
def test_without_injections_or_a_price(spent: Cost, added: float | None) -> None:
    assert injected_price(spent) == added
