"""The log of injections with its reasons, and the pairs that wait for a decision."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from browsing import PHONE, Reader, check_accessible, check_fits, shoot
from conftest import FakeClock
from hippocampe import Hippocampe, Scope
from hippocampe.server.dashboard.reviews import pair_of
from hippocampe.store import associations
from hippocampe.types import Association, Memory, Review

HERE = Scope(user="ana", channel="lobby")

Pair = Callable[[str, str], tuple[Memory, Memory]]


@pytest.fixture
def served_turns(memory: Hippocampe, clock: FakeClock) -> Hippocampe:
    """A memory that has served turns: one in full, one without anything new, one skipped."""
    memory.update_settings(scope=HERE, hook_timeout_ms=10_000)
    memory.remember("David habite à Lyon", scope=HERE, type="decision")
    for number in range(9):
        memory.remember(f"Le four numéro {number} chauffe", scope=HERE, importance=0.1)
    clock.advance(hours=9)
    memory.before_turn("où habite David ?", scope=HERE)
    memory.before_turn("où habite David ?", scope=HERE)
    memory.before_turn("consigne", scope=HERE, role="system")
    return memory


def test_the_log_of_injections(reader: Reader, served_turns: Hippocampe) -> None:
    page = reader.open("/retrievals", role="read")
    check_accessible(page)
    check_fits(page)
    assert page.locator("tbody tr").count() == 3
    assert "not served" in page.locator("tbody tr").first.inner_text()
    page.get_by_role("button", name="Tokens").click()
    shoot(page, "retrievals")
    served_turns.before_turn("et Camille ?", scope=HERE)
    page.get_by_role("button", name="Refresh").click()
    page.locator("tbody tr", has_text="et Camille ?").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("h1", has_text="et Camille ?").wait_for()


def test_older_injections_follow(
    reader: Reader, served_turns: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hippocampe.server.dashboard import retrievals

    monkeypatch.setattr(retrievals, "PAGE_SIZE", 2)
    page = reader.open("/retrievals")
    assert page.locator("tbody tr[data-row]").count() == 2
    page.get_by_role("button", name="Show older ones").click()
    page.locator("tbody tr[data-row]").nth(2).wait_for()
    assert page.get_by_role("button", name="Show older ones").count() == 0


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_fact_that_was_given_has_its_name(
    reader: Reader, memory: Hippocampe, language: str
) -> None:
    memory.update_settings(scope=HERE, hook_timeout_ms=10_000)
    memory.set_fact("volets_du_chalet", "vert sapin", scope=HERE)
    given = memory.before_turn("de quelle couleur sont les volets du chalet ?", scope=HERE)
    page = reader.open(f"/retrievals/{given.id}", language=language)
    expect(page.locator(".candidate").first.locator("code")).to_have_text("volets_du_chalet")
    shoot(page, f"why-fact-{language}")
    page.goto("/playground?message=la couleur des volets du chalet")
    found = page.locator("#result [data-row]").filter(has_text="vert sapin")
    expect(found.locator(".meta code")).to_have_text("volets_du_chalet")


def test_why_an_injection_was_what_it_was(reader: Reader, served_turns: Hippocampe) -> None:
    skipped, again, given = served_turns.retrievals(scope=HERE)
    page = reader.open(f"/retrievals/{given.id}", role="read")
    check_accessible(page)
    check_fits(page)
    text = served_turns.replay(given.id, scope=HERE).text
    assert page.locator("pre").inner_text() == text
    assert "David habite à Lyon" in text
    lists = page.locator("#rebuilt section.card")
    assert lists.nth(1).locator("li.candidate").count() == 1
    left_out = lists.nth(2).locator("li.candidate")
    assert "below threshold" in left_out.first.inner_text()
    left_out.first.locator("summary").click()
    assert left_out.first.locator(".reasons li").first.is_visible()
    assert "searching" in page.locator(".times").inner_text()
    page.get_by_role("button", name="Copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == text
    shoot(page, "retrieval")
    page.goto(f"/retrievals/{again.id}")
    page.locator("#rebuilt", has_text="already known").wait_for()
    page.goto(f"/retrievals/{skipped.id}")
    assert "a message of the system" in page.locator(".notice").inner_text()
    phone = reader.open(f"/retrievals/{given.id}", language="fr", theme="dark", size=PHONE)
    check_accessible(phone)
    check_fits(phone)
    shoot(phone, "retrieval-fr-dark-phone")


def test_an_injection_of_another_space_is_not_found(
    reader: Reader, served_turns: Hippocampe
) -> None:
    (latest, *_) = served_turns.retrievals(scope=HERE)
    page = reader.open("/retrievals", role="admin", space="away")
    response = page.goto(f"/retrievals/{latest.id}")
    assert response is not None and response.status == 404
    reader.forgive("404")


@pytest.fixture
def pair(memory: Hippocampe, clock: FakeClock) -> Pair:
    """Store two statements and list them for review."""

    def make(older: str, newer: str) -> tuple[Memory, Memory]:
        first = memory.remember(older, scope=HERE).memory
        clock.advance(minutes=5)
        second = memory.remember(newer, scope=HERE).memory
        edge = Association(second.id, first.id, "related_to", "alike, and no rule is sure", clock())
        context = memory._context  # pyright: ignore[reportPrivateUsage]
        with context.corpus.store.write() as connection:
            associations.associate(connection, "default", edge, review=True)
        return first, second

    return make


def test_what_differs_is_marked(memory: Hippocampe, pair: Pair) -> None:
    first, second = pair("Ana préfère le thé vert", "ana préfère le thé noir, fumé")
    shown = pair_of(Review(second, first, "why"))
    assert (shown.older, shown.newer) == (first, second)
    assert [piece for piece, changed in shown.older_text if changed] == ["vert"]
    assert "".join(piece for piece, _ in shown.newer_text) == second.content
    assert [piece for piece, changed in shown.newer_text if changed] == ["noir, fumé"]


def test_pairs_are_decided_by_button_and_key(
    reader: Reader, memory: Hippocampe, pair: Pair
) -> None:
    pairs = [
        pair("Ana préfère le thé vert", "Ana aime mieux le thé noir"),
        pair("Le ferry part à midi", "Le bac de Brest part vers midi"),
        pair("Owen a un voilier", "Owen possède une petite barque"),
        pair("Camille élève des abeilles", "Camille a trois ruches bleues"),
    ]
    page = reader.open("/reviews", role="write")
    check_accessible(page)
    check_fits(page)
    assert page.locator("[data-review]").count() == 4
    shoot(page, "reviews")

    def decided(left: int, said: str) -> None:
        page.locator("#toasts .toast", has_text=said).last.wait_for()
        page.locator("[data-review]").nth(left).wait_for(state="detached")

    def current(number: int) -> list[bool]:
        return [memory.get(each.id, scope=HERE).current for each in pairs[number]]

    page.keyboard.press("j")
    page.keyboard.press("1")
    decided(3, "Both memories stay.")
    assert current(3) == [True, True]
    # The next pair has the focus.
    page.locator("[data-review]:focus").wait_for()
    page.locator("#toasts .toast").last.get_by_role("button", name="Undo").click()
    page.locator("[data-review]").nth(3).wait_for()
    page.locator("[data-review]", has_text="trois ruches").focus()
    page.keyboard.press("1")
    page.locator("[data-review]").nth(3).wait_for(state="detached")
    page.locator("[data-review]:focus").wait_for()
    page.keyboard.press("2")
    decided(2, "The second one is history now.")
    assert current(2) == [True, False]
    page.locator("[data-review]").first.get_by_role("button", name="Replace").click()
    decided(1, "The first one is history now.")
    assert current(1) == [False, True]
    page.locator("#toasts .toast").last.get_by_role("button", name="Undo").click()
    page.locator("[data-review]").nth(1).wait_for()
    assert current(1) == [True, True]
    page.get_by_label("Select all").check()
    assert "2 selected" in page.locator("#bulk").inner_text()
    page.locator("#bulk").get_by_role("button", name="Replace").click()
    page.locator("#pairs", has_text="Nothing waits for you.").wait_for()
    assert [current(0), current(1)] == [[False, True], [False, True]]
    page.locator("#toasts .toast").last.get_by_role("button", name="Undo").click()
    page.locator("[data-review]").nth(1).wait_for()
    assert [current(0), current(1)] == [[True, True], [True, True]]


def test_the_likeliest_pair_is_first_and_says_why(
    reader: Reader, memory: Hippocampe, pair: Pair
) -> None:
    for older, newer, reason in (
        ("La clé est sous le pot", "La clé est au clou", "perhaps update, 61%: pot → clou"),
        ("Ana court le lundi", "Ana court peut-être", "a doubt: lundi → peut"),
        ("Owen a un voilier", "Owen possède une barque", "perhaps same, 40%: voilier → barque"),
    ):
        first, second = pair(older, newer)
        memory.associate(second.id, first.id, "related_to", scope=HERE, reason=reason, review=True)
    page = reader.open("/reviews", role="write")
    asked = page.locator("[data-review] > header").all_inner_texts()
    assert [each.replace("\n\n", "\n").split("\n")[1:] for each in asked] == [
        [
            "Does the second replace the first?",
            "The second looks like news of the same matter.",
            "61% likely",
        ],
        ["Do both say the same thing?", "Both seem to say the same thing.", "40% likely"],
        ["Does the second replace the first?", "The second says so with a doubt."],
    ]


def test_a_pair_is_decided_as_soon_as_it_shows(reader: Reader, pair: Pair) -> None:
    pair("Ana préfère le thé vert", "Ana aime mieux le thé noir")
    pair("Owen a un voilier", "Owen possède une petite barque")
    page = reader.open("/reviews", role="write")
    page.evaluate(
        """() => {
            const pairs = document.querySelector("#pairs");
            new MutationObserver(() => pairs.querySelector("[data-digit='1']")?.click())
                .observe(pairs, {childList: true});
        }"""
    )
    page.locator("[data-digit='1']").first.click()
    page.locator("#pairs", has_text="Nothing waits for you.").wait_for()
    assert page.url.endswith("/reviews")


def test_a_pair_is_merged_into_one_text(reader: Reader, memory: Hippocampe, pair: Pair) -> None:
    older, newer = pair("Ana préfère le thé vert", "Ana boit un thé chaque matin")
    page = reader.open("/reviews", role="write")
    page.get_by_text("Merge into one text").click()
    page.get_by_label("The text that stays").fill("Ana boit un thé vert chaque matin")
    check_accessible(page)
    page.get_by_role("button", name="Merge").click()
    page.locator("[data-review]").wait_for(state="detached")
    found = memory.memories(scope=HERE).items
    assert [each.content for each in found] == ["Ana boit un thé vert chaque matin"]
    assert [memory.get(each.id, scope=HERE).current for each in (older, newer)] == [False, True]
    page.get_by_role("button", name="Undo").click()
    page.locator("[data-review]").wait_for()
    assert memory.get(older.id, scope=HERE).current
    assert memory.get(newer.id, scope=HERE).content == "Ana boit un thé chaque matin"


def test_a_reader_decides_nothing(reader: Reader, pair: Pair) -> None:
    pair("Ana préfère le thé vert", "Ana aime mieux le thé noir")
    page = reader.open("/reviews", role="read", language="fr", theme="dark", size=PHONE)
    check_accessible(page)
    check_fits(page)
    assert page.locator("[data-review]").count() == 1
    assert "aucune règle ne tranche" in page.locator("[data-review] > header").inner_text()
    assert page.locator("[data-digit]").count() == 0
    shoot(page, "reviews-fr-dark-phone")


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "It was decided already: nothing was changed."),
        ("fr", "C’était déjà tranché : rien n’a changé."),
    ],
)
def test_a_pair_that_was_decided_in_another_tab_stays_decided(
    reader: Reader, memory: Hippocampe, pair: Pair, language: str, said: str
) -> None:
    older, newer = pair("Ana préfère le thé vert", "Ana boit un thé chaque matin")
    page = reader.open("/reviews", role="write", language=language)
    for late in ("button[value=both]", ".merge button"):
        memory.settle(newer.id, older.id, scope=HERE, keep=newer.id)
        if late == ".merge button":
            page.locator(".merge summary").click()
            page.locator(".merge textarea").fill("Ana boit du thé vert")
        page.locator("[data-review]").locator(late).click()
        expect(page.locator("#toasts .toast").last).to_contain_text(said)
        page.locator("[data-review]").wait_for(state="detached")
        now = [memory.get(each.id, scope=HERE) for each in (older, newer)]
        assert [each.current for each in now] == [False, True]
        assert now[1].content == newer.content
        memory.restore(older.id, scope=HERE)
        memory.associate(newer.id, older.id, "related_to", scope=HERE, review=True)
        page.reload()
