"""What was planted in the memory is text on every page: no script runs, nothing is loaded."""

from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from browsing import Reader, settle
from hippocampe import Hippocampe, Scope

ATTACKS = (
    "<script>window.planted = 1</script>",
    '"><img src=x onerror="window.planted = 1">',
    "javascript:window.planted=1",
    "{{ 7 * 7 }} ${7*7} <svg/onload=window.planted=1>",
    "'-window.planted-' onfocus=window.planted=1 autofocus x='",
)
PAGES = ("/overview", "/memory", "/facts", "/playground")


@pytest.fixture
def planted(memory: Hippocampe) -> list[str]:
    """Attacks in every field that is shown; the pages of the memories."""
    paths: list[str] = []
    for number, attack in enumerate(ATTACKS):
        scope = Scope(user=f"user {attack}", channel=f"room {attack}")
        memory.after_turn(f"dit {attack}", attack, scope=scope)
        fact = memory.set_fact(f"key {attack}", f"value {attack}", scope=scope).memory
        memory.set_fact(f"key {attack}", f"other {attack}", scope=scope)
        evidence = [each.id for each in memory.messages(scope=scope)]
        kept = memory.remember(
            f"retenu {attack} {number}",
            scope=scope,
            subjects=[f"sujet {attack}"],
            evidence=evidence,
            metadata={f"nom {attack}": attack},
            source=f"source {attack}",
        ).memory
        memory.associate(kept.id, fact.id, "related_to", scope=scope, reason=attack)
        memory.before_turn(f"question {attack}", scope=scope)
        paths += [f"/memory/{fact.id}", f"/memory/{kept.id}"]
    memory.flush()
    return paths


def check_untouched(page: Page) -> None:
    settle(page)
    assert page.evaluate("window.planted") is None
    assert page.locator("main img, main svg[onload], main script, main [onfocus]").count() == 0
    links: list[Any] = page.eval_on_selector_all("a", "all => all.map(a => a.protocol)")
    assert set(links) <= {"http:"}


def test_no_page_runs_it(reader: Reader, planted: list[str]) -> None:
    page = reader.open("/overview")
    for path in (*PAGES, *planted):
        page.goto(path)
        check_untouched(page)
        assert "planted" in page.locator("main").inner_text() or path == "/playground", path


def test_nor_do_its_parts(reader: Reader, planted: list[str]) -> None:
    page = reader.open("/memory")
    for attack in ATTACKS:
        page.get_by_role("searchbox").fill(f"retenu {attack}")
        page.get_by_role("searchbox").press("Enter")
        expect(page.locator("#found")).to_contain_text("planted")
        check_untouched(page)
    page.locator("#found [data-panel]").first.click()
    expect(page.locator("#panel")).to_contain_text("planted")
    check_untouched(page)
    page.goto("/facts")
    page.locator("#facts-list [data-key=edit]").first.click()
    check_untouched(page)
    page.locator("#facts-list [data-key=delete]").nth(1).click()
    expect(page.locator(".toast")).to_contain_text("planted")
    check_untouched(page)
    page.goto("/playground")
    page.get_by_label("Message").fill(ATTACKS[0])
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#result")).to_contain_text("planted")
    check_untouched(page)


def test_nor_does_an_address(reader: Reader) -> None:
    page = reader.open("/overview")
    fields = ("q", "subject", "since", "message", "user", "channel", "next", "mode")
    attack = " ".join(ATTACKS)
    for path in ("/memory", "/playground", "/login"):
        page.goto(f"{path}?{urlencode(dict.fromkeys(fields, attack))}")
        check_untouched(page)
    # The search refuses a date that is none, which the browser writes to its console.
    reader.complaints.clear()
