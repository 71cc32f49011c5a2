"""What was planted is text on the pages of what happened, too."""

import pytest
from test_planted import ATTACKS, check_untouched

from browsing import Reader
from hippocampe import Hippocampe, Scope
from hippocampe.store import associations
from hippocampe.types import Association

HERE = Scope()


@pytest.fixture
def planted(memory: Hippocampe) -> list[str]:
    """Attacks in all that these pages show; the pages of the injections."""
    rooms = [f"room {attack}" for attack in ATTACKS]
    memory.update_settings(scope=HERE, live_rooms=rooms, hook_timeout_ms=10_000)
    for attack, room in zip(ATTACKS, rooms, strict=True):
        scope = Scope(user=f"user {attack}", channel=room)
        memory.observe(f"dit {attack}", scope=scope)
        memory.record_usage(
            scope=scope, model=attack, purpose=attack[:40], input_tokens=1, output_tokens=1
        )
        known = memory.remember(
            f"je sais {attack}", scope=scope, collection="self", category="capability"
        ).memory
        kept = memory.remember(f"retenu {attack}", scope=scope, subjects=[attack]).memory
        edge = Association(kept.id, known.id, "related_to", attack, memory.now())
        context = memory._context  # pyright: ignore[reportPrivateUsage]
        with context.corpus.store.write() as connection:
            associations.associate(connection, "default", edge, review=True)
        memory.before_turn(f"retenu {attack} ?", scope=scope)
    return [f"/retrievals/{each.id}" for each in memory.retrievals(scope=HERE)]


def test_no_page_runs_it(reader: Reader, planted: list[str]) -> None:
    page = reader.open("/overview")
    for path in ("/brain", "/live", "/graph", "/retrievals", "/reviews", "/costs", *planted[:2]):
        page.goto(path)
        check_untouched(page)
        if path == "/brain":
            page.locator("details.group summary").first.click()
            page.locator("details.group li").first.wait_for()
        if path == "/graph":
            page.locator("#graph-list button").first.click()
            page.locator("#graph-card .says").wait_for()
        check_untouched(page)
        assert "planted" in page.locator("main").inner_text(), path
    page.goto("/reviews")
    page.locator("[data-review]").get_by_role("button", name="Replace").first.click()
    page.locator("#toasts .toast").wait_for()
    check_untouched(page)
