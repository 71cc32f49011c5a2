"""The overview in a browser: what was given, what was learnt, what waits, the first visit."""

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from browsing import PHONE, Reader, check_accessible, check_fits
from conftest import FakeClock
from hippocampe import Hippocampe, Scope
from hippocampe.system.command_line import command_line

LOBBY = Scope(user="owen", channel="lobby")


@pytest.fixture
def lived(memory: Hippocampe, clock: FakeClock) -> Hippocampe:
    """A memory of a few days."""
    memory.set_fact("boisson", "le thé vert", scope=LOBBY)
    clock.advance(days=1)
    memory.after_turn("Je me suis mis au café", "Bien noté", scope=LOBBY)
    memory.set_fact("boisson", "le café", scope=LOBBY)
    memory.before_turn("que bois-tu ?", scope=LOBBY)
    memory.flush()
    return memory


@pytest.mark.parametrize("language", ["en", "fr"])
def test_an_empty_space_has_three_ways_to_begin(
    reader: Reader, memory: Hippocampe, language: str
) -> None:
    page = reader.open("/", language=language)
    ways = page.locator(".ways > li")
    assert ways.count() == 3
    page.locator("[data-copy]").first.click()
    page.locator(".toast").wait_for()
    folder = str(memory.config.folder)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == command_line("import", "chat.txt", "--folder", folder)
    # Without an upstream it is no proxy: it shows how to become one, not an address that refuses.
    assert "upstream_url=" in ways.nth(2).inner_text()
    assert "OPENAI_BASE_URL" not in page.content()
    check_accessible(page)


def test_a_word_too_long_for_its_line_is_cut(reader: Reader, memory: Hippocampe) -> None:
    address = "https://example.org/" + "a" * 400
    memory.remember(f"See {address}", scope=LOBBY)
    page = reader.open("/overview")
    learnt = page.locator("section", has=page.get_by_role("heading", name="Learnt lately"))
    assert f"See {address[:60]}" in learnt.inner_text()


def test_an_empty_space_leads_to_the_others(reader: Reader, memory: Hippocampe) -> None:
    memory.remember("Owen a un voilier", scope=Scope(space="home"))
    page = reader.open("/")
    assert page.locator("select[name=space] option").all_inner_texts() == ["home", "default"]
    page.get_by_role("button", name="home").click()
    page.get_by_text("Owen a un voilier").wait_for()
    assert page.locator("select[name=space]").count() == 0


def test_what_was_given_and_learnt(reader: Reader, lived: Hippocampe) -> None:
    page = reader.open("/overview")
    given = page.locator("section", has=page.get_by_role("heading", name="Latest injections"))
    assert "que bois-tu ?" in given.locator("tbody tr").first.inner_text()
    (retrieval,) = lived.retrievals(scope=LOBBY)
    assert given.locator("[data-key=open]").get_attribute("href") == f"/retrievals/{retrieval.id}"
    learnt = page.locator("section", has=page.get_by_role("heading", name="Learnt lately"))
    assert "le café" in learnt.inner_text()
    assert learnt.locator("del").inner_text() == "le thé vert"
    page.get_by_text("As a table").nth(1).click()
    table = page.get_by_role("table", name="Messages and injections by day")
    assert table.locator("tbody tr").last.inner_text().split("\t")[1:] == ["2", "1"]
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory/*")


def test_a_pair_is_decided_and_taken_back(
    reader: Reader, lived: Hippocampe, clock: FakeClock
) -> None:
    first = lived.remember("Nina paints her small wooden boat", scope=LOBBY).memory
    clock.advance(hours=1)
    lived.remember("Nina sells her small wooden boat", scope=LOBBY)
    assert len(lived.reviews(scope=LOBBY)) == 1
    page = reader.open("/overview")
    page.get_by_role("button", name="Replace").click()
    page.get_by_text("Nothing waits for you.").wait_for()
    assert not lived.get(first.id, scope=LOBBY).current
    undo = page.get_by_role("button", name="Undo")
    toast, content = page.locator(".toast").bounding_box(), page.locator("main").bounding_box()
    assert toast is not None and content is not None
    # It covers nothing of the page, nor of the menu.
    assert toast["x"] + toast["width"] <= content["x"]
    page.wait_for_function(
        """() => document.querySelector(".rail > div").getBoundingClientRect().bottom
            <= document.querySelector(".toast").getBoundingClientRect().top"""
    )
    undo.click()
    page.get_by_text("Undone").wait_for()
    assert lived.get(first.id, scope=LOBBY).current


@pytest.mark.parametrize(("theme", "language"), [("light", "fr"), ("dark", "en")])
def test_it_fits_a_phone_and_is_accessible(
    reader: Reader, lived: Hippocampe, theme: str, language: str
) -> None:
    page = reader.open("/overview", theme=theme, language=language, size=PHONE)
    check_fits(page)
    for day in page.locator(".drawn").first.locator(".days span").all():
        expect(day).to_be_visible()
    check_accessible(page)


def test_the_charts_are_lines_with_axes_and_a_tip_for_each_day(
    reader: Reader, lived: Hippocampe, clock: FakeClock
) -> None:
    clock.now += timedelta(days=1)
    page = reader.open("/overview")
    chart = page.locator(".drawn").nth(1)
    assert chart.locator(".hit").count() == 7
    assert chart.locator(".days li span").count() == 7
    assert [each.inner_text() for each in chart.locator(".scale li").all()] == ["2", "1", "0"]
    assert chart.locator("svg[role=img] path.line").count() == 2
    tip = chart.locator(".of-day").nth(5)
    assert not tip.is_visible()
    chart.locator(".hit").nth(5).hover()
    tip.wait_for()
    assert tip.inner_text().split("\n") == ["Sun 18 Jan", "messages", "2", "injections", "1"]


def test_a_chart_without_values_says_so(reader: Reader, memory: Hippocampe) -> None:
    memory.remember("Nina sells her small wooden boat", scope=LOBBY)
    page = reader.open("/overview")
    page.get_by_text("No turn was served in these days.").wait_for()
    assert page.locator(".drawn").count() == 0
