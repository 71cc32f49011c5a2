"""Costs of language models: tokens and money by day, purpose and model, and the share of injections."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from hippocampe.model.prices import injected_price, price_of
from hippocampe.server.dashboard import drawing
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Visit
from hippocampe.types import Cost, Day

router = page_router()
SPANS = (7, 30, 90)
"""Periods in days, each with a link."""


def total(costs: Iterable[Cost]) -> dict[str, Any]:
    """Sum costs; the prices cover the calls with a known price, and are None without any."""
    known = list(costs)
    prices = [each.price for each in known if each.price is not None]
    added = [price for each in known if (price := injected_price(each)) is not None]
    counted = ("calls", "input_tokens", "output_tokens", "injected_tokens")
    sums = {name: sum(getattr(each, name) for each in known) for name in counted}
    return {
        **sums,
        "price": sum(prices) if prices else None,
        "injected_price": sum(added) if added else None,
    }


@router.get("/costs")
async def costs_page(page: ReadPage, days: int = 30) -> Response:
    """The costs of the latest days."""
    return page.render("costs/page.html", spans=SPANS, days=days)


@router.get("/costs/table")
async def costs_table(page: ReadPage, days: int = 30) -> Response:
    """The charts and the tables of the latest days."""
    recorded = await page.hippo.costs(scope=page.scope, days=days)
    found = await asyncio.to_thread(lambda: [_priced(each) for each in recorded])
    activity = await page.hippo.activity(scope=page.scope, days=days)
    return page.part("costs/table.html", days=days, **_sums(page, found, activity))


def _priced(cost: Cost) -> Cost:
    """The same with the published price, if none was recorded."""
    if cost.price is not None:
        return cost
    return replace(cost, price=price_of(cost.model, cost.input_tokens, cost.output_tokens))


def _sums(page: Visit, found: Sequence[Cost], activity: Sequence[Day]) -> dict[str, Any]:
    by_day = [total(cost for cost in found if cost.date == day.date) for day in activity]
    titles = [page.day(day.date, "d MMM") for day in activity]
    pairs = sorted({(cost.purpose, cost.model) for cost in found})
    by_pair = [
        (pair, total(cost for cost in found if (cost.purpose, cost.model) == pair))
        for pair in pairs
    ]
    return {
        "all": total(found),
        "today": by_day[-1],
        "rows": sorted(by_pair, key=lambda row: (-(row[1]["price"] or 0), -row[1]["input_tokens"])),
        "by_day": list(zip(titles, by_day, strict=True))[::-1],
        "tokens": _tokens(page, titles, by_day),
        "money": _money(page, titles, by_day),
        "budget": page.settings.daily_budget,
        "injected": sum(day.tokens for day in activity),
        "injections": sum(day.injections for day in activity),
    }


def _tokens(page: Visit, titles: Sequence[str], days: Sequence[dict[str, Any]]) -> drawing.Chart:
    names = (page.say("tokens sent"), page.say("memory’s part"), page.say("tokens received"))
    counts = [(day["input_tokens"], day["injected_tokens"], day["output_tokens"]) for day in days]
    shown = [[page.number(each) for each in day] for day in counts]
    return drawing.chart(names, titles, counts, shown)


def _money(page: Visit, titles: Sequence[str], days: Sequence[dict[str, Any]]) -> drawing.Chart:
    names = (page.say("spent"), page.say("memory’s part"))
    prices = [(day["price"], day["injected_price"]) for day in days]
    shown = [["–" if each is None else page.dollars(each) for each in day] for day in prices]
    # A day without calls costs nothing; the price of others may be unknown.
    drawn = [each if day["calls"] else (0.0, 0.0) for day, each in zip(days, prices, strict=True)]
    return drawing.chart(names, titles, drawn, shown, limit=page.settings.daily_budget)
