"""The picture of memories and subjects, its filters, and the list that has the same."""

import gzip
import json
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from browsing import PHONE, Reader, check_accessible, check_fits, shoot
from conftest import FakeClock
from hippocampe import Hippocampe, Scope

HERE = Scope(user="ana", channel="lobby")


@pytest.fixture
def linked(memory: Hippocampe, clock: FakeClock) -> Hippocampe:
    """A memory with subjects, types and days to filter by."""
    lyon = memory.remember("David habite à Lyon", scope=HERE, subjects=["ville"]).memory
    tea = memory.remember("Ana préfère le thé", scope=HERE, type="preference").memory
    memory.associate(lyon.id, tea.id, "part_of", scope=HERE)
    memory.remember("Je parle anglais", scope=HERE, collection="self", category="capability")
    clock.advance(days=10)
    memory.remember("Owen a un voilier", scope=HERE, subjects=["ville"])
    return memory


def drawn(page: Page) -> Page:
    """Wait until the layout has ended."""
    expect(page.locator("#graph[data-done]")).to_be_visible()
    return page


def listed(page: Page) -> list[str]:
    return page.locator("#graph-list button").all_inner_texts()


def test_the_data_are_columns(client: httpx.Client, linked: Hippocampe) -> None:
    raw = client.get("/graph/data", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in raw.headers
    graph = raw.json()
    packed = client.get("/graph/data")
    assert packed.headers["content-encoding"] == "gzip" and packed.json() == graph
    assert len(gzip.compress(json.dumps(graph).encode())) > 0
    assert {len(graph[name]) for name in ("ids", "labels", "type", "at", "collection")} == {
        len(graph["ids"])
    }
    ends = {*graph["source"], *graph["target"]}
    assert ends <= set(range(len(graph["ids"])))


def test_filters_and_list(reader: Reader, linked: Hippocampe) -> None:
    page = drawn(reader.open("/graph", role="read"))
    check_accessible(page)
    check_fits(page)
    assert len(listed(page)) == 4
    # The picture stands still at once, so that it has its labels.
    assert page.evaluate("document.getElementById('graph').view.movedAt") == 0
    assert "4 of 4 memories" in page.locator("#graph-count").inner_text()
    shoot(page, "graph")
    page.get_by_label("Search", exact=True).fill("LYON")
    assert listed(page) == ["David habite à Lyon"]
    page.get_by_role("button", name="All", exact=True).click()
    page.locator("#graph-list button").nth(3).wait_for()
    page.get_by_role("combobox", name="Type").select_option("preference")
    assert listed(page) == ["Ana préfère le thé"]
    page.get_by_role("combobox", name="Type").select_option("")
    page.get_by_label("Subject", exact=True).fill("ville")
    assert sorted(listed(page)) == ["David habite à Lyon", "Owen a un voilier"]
    page.get_by_label("From", exact=True).fill("2026-01-20")
    assert listed(page) == ["Owen a un voilier"]
    page.get_by_label("Subject", exact=True).fill("")
    page.get_by_label("From", exact=True).fill("")
    page.get_by_label("To", exact=True).fill("2026-01-20")
    assert "Owen a un voilier" not in listed(page)


@pytest.mark.parametrize(
    ("language", "nothing"),
    [("en", "No memory matches."), ("fr", "Aucun souvenir ne correspond.")],
)
def test_a_search_that_finds_nothing_says_so(
    reader: Reader, linked: Hippocampe, language: str, nothing: str
) -> None:
    page = drawn(reader.open("/graph", language=language))
    page.locator("#graph-list button", has_text="Ana").click()
    search = page.locator("input[name=text]")
    # Accents do not count, as in the other searches.
    search.fill("prefere le the")
    assert listed(page) == ["Ana préfère le thé"]
    expect(page.get_by_text(nothing)).to_be_hidden()
    search.fill("baleine")
    expect(page.get_by_text(nothing)).to_be_visible()
    # The chosen point is hidden, and so is its ring.
    assert page.evaluate("document.getElementById('graph').view.marked") == -1
    check_accessible(page)


@pytest.mark.parametrize(
    ("language", "count"), [("en", "1 of 1 memory"), ("fr", "1 sur 1 souvenir")]
)
def test_one_memory_is_counted_as_one(
    reader: Reader, memory: Hippocampe, language: str, count: str
) -> None:
    memory.remember("Owen a un voilier", scope=HERE)
    page = drawn(reader.open("/graph", language=language))
    expect(page.locator("#graph-count")).to_have_text(count)


def test_a_choice_shows_the_card_and_its_links(reader: Reader, linked: Hippocampe) -> None:
    page = drawn(reader.open("/graph"))
    page.keyboard.press("j")
    page.locator("#graph-list button", has_text="David").focus()
    page.keyboard.press("Enter")
    card = page.locator("#graph-card")
    card.locator(".says", has_text="David habite à Lyon").wait_for()
    card.get_by_role("button", name="Ana préfère le thé").click()
    card.locator(".says", has_text="Ana préfère le thé").wait_for()
    assert page.locator("#graph-list [aria-current]").inner_text() == "Ana préfère le thé"
    check_accessible(page)
    # A click on the picture: the node that is in the middle now.
    box = page.locator("#graph-canvas").bounding_box()
    assert box is not None
    page.locator("#graph-list button", has_text="Owen").click()
    card.locator(".says", has_text="Owen a un voilier").wait_for()
    page.locator("#graph-list button", has_text="David").click()
    card.locator(".says", has_text="David habite à Lyon").wait_for()
    page.evaluate("document.getElementById('graph').view.choose(-1)")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator("#graph-list [aria-current]", has_text="David").wait_for()
    shoot(page, "graph-chosen")


def test_zoom_and_pan(reader: Reader, linked: Hippocampe) -> None:
    page = drawn(reader.open("/graph"))

    def view() -> dict[str, Any]:
        return page.evaluate(
            "() => { const { x, y, scale, fitted } = document.getElementById('graph').view;"
            " return { x, y, scale, fitted } }"
        )

    start = view()
    assert start["fitted"]
    page.get_by_role("button", name="Zoom in").click()
    assert view()["scale"] > start["scale"]
    page.get_by_role("button", name="Zoom out").click()
    page.locator("#graph-canvas").focus()
    page.keyboard.press("ArrowRight")
    assert view()["x"] < start["x"]
    page.keyboard.press("+")
    before = view()["scale"]
    assert before > start["scale"]
    page.mouse.move(600, 500)
    page.mouse.wheel(0, -300)
    page.wait_for_function(
        "before => document.getElementById('graph').view.scale > before", arg=before
    )
    page.mouse.down()
    page.mouse.move(660, 540)
    page.mouse.up()
    page.get_by_role("button", name="Show all").click()
    assert view() == pytest.approx(start)
    phone = drawn(reader.open("/graph", language="fr", theme="dark", size=PHONE))
    check_accessible(phone)
    check_fits(phone)
    beside = phone.evaluate(
        """() => {
            const view = document.getElementById("graph").view;
            // All in one row, as wide as the picture.
            view.move(view.places.map((_, n) => (n % 2 ? 0 : 100 * n)), true);
            const dots = Math.max(...view.places) * view.scale + view.x + view.canvas.getBoundingClientRect().left;
            return document.querySelector(".graph-tools").getBoundingClientRect().left - dots;
        }"""
    )
    # No dot is below the buttons.
    assert beside > 0
    shoot(phone, "graph-fr-dark-phone")


def test_a_graph_that_cannot_be_loaded_says_so(reader: Reader, linked: Hippocampe) -> None:
    page = reader.open("/overview")
    page.route("**/graph/data", lambda route: route.fulfill(status=503, body='{"detail": "down"}'))
    page.goto("/graph")
    page.locator("#graph-state [role=alert]", has_text="down").wait_for()
    page.unroute("**/graph/data")
    page.get_by_role("button", name="Try again").click()
    drawn(page)
    reader.forgive("503")


def test_lines_can_be_seen_and_shapes_are_those_of_the_legend(
    reader: Reader, linked: Hippocampe
) -> None:
    """The contrast of a line to the paper is 3, in both themes, also of the few that a filter leaves."""
    for theme in ("light", "dark"):
        page = drawn(reader.open("/graph", theme=theme))
        for about in ("", "ville"):
            page.get_by_label("Subject", exact=True).fill(about)
            contrasts = page.evaluate(CONTRASTS)
            assert contrasts["lines"] and min(contrasts["lines"]) >= 3
            # The corner of the square around a circle is paper or line, not the colour of the circle.
            assert contrasts["corners"] == []


CONTRASTS = """async () => {
    const { view } = document.getElementById("graph");
    view.again();
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const { data, places, scale, x, y, ratio, context, visible, subject, ink } = view;
    const parts = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const light = (rgb) => rgb.map((each) => each / 255)
        .map((each) => each <= .04045 ? each / 12.92 : ((each + .055) / 1.055) ** 2.4)
        .reduce((sum, each, n) => sum + each * [.2126, .7152, .0722][n], 0);
    const paper = light(parts(ink.surface));
    const contrast = (rgb) => {
        const [low, high] = [light(rgb), paper].sort((a, b) => a - b);
        return (high + .05) / (low + .05);
    };
    const at = (n) => [places[2 * n] * scale + x, places[2 * n + 1] * scale + y];
    const around = (px, py, by) => {
        const size = 2 * by + 1;
        const { data: found } = context.getImageData((px - by) * ratio, (py - by) * ratio, size, size);
        return Array.from({ length: size * size }, (_, n) => [...found.slice(4 * n, 4 * n + 3)]);
    };
    const lines = data.source.flatMap((from, n) => {
        const to = data.target[n];
        if (!visible[from] || !visible[to]) return [];
        const [[ax, ay], [bx, by]] = [at(from), at(to)];
        return [Math.max(...around((ax + 3 * bx) / 4, (ay + 3 * by) / 4, 2).map(contrast))];
    });
    const accent = parts(ink.accent).join();
    const corners = [...data.ids.keys()].filter((n) => {
        if (!visible[n] || data.type[n] === subject || view.square[n]) return false;
        const [px, py] = at(n);
        const r = view.drawnDot.half - 1;
        return around(px - r, py - r, 0).join() === accent;
    });
    return { lines, corners };
}"""
