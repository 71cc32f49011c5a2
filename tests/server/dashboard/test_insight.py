"""What the companion knows of itself, what is overheard, what it cost, what ran: pages that are read."""

from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, expect

from browsing import PHONE, Reader, check_accessible, check_fits, shoot
from conftest import FakeClock
from hippocampe import Hippocampe, Scope
from hippocampe.server.dashboard import live
from hippocampe.server.http import served

HERE = Scope()
LOBBY = Scope(user="zoe", channel="lobby")


@pytest.fixture
def lived(memory: Hippocampe, clock: FakeClock) -> Hippocampe:
    """A memory of a companion that has learnt, overheard and cost something."""
    for number in range(3):
        memory.remember(
            f"Je sais lire {number} langues", scope=HERE, collection="self", category="capability"
        )
        clock.advance(days=1)
    memory.remember("Comprendre le jazz", scope=HERE, collection="goal", category="understanding")
    call: dict[str, Any] = {"input_tokens": 9_000, "output_tokens": 300}
    memory.record_usage(
        scope=HERE, model="small", purpose="digest", price=0.25, injected_tokens=800, **call
    )
    clock.advance(days=1)
    memory.record_usage(scope=HERE, model="large", purpose="chat", price=None, **call)
    for said in ("Le marché est déplacé au samedi", "Quelqu'un a vu mes clés ?"):
        memory.observe(said, scope=LOBBY)
    return memory


def looked_at(reader: Reader, path: str, name: str, *, whole: bool = True) -> None:
    """The page as it is in French, in the dark and on a phone; `whole` with axe, which takes a second."""
    page = reader.open(path, language="fr", theme="dark", size=PHONE)
    if whole:
        check_accessible(page)
    check_fits(page)
    shoot(page, f"{name}-fr-dark-phone")


def test_an_empty_space_says_what_comes_next(reader: Reader) -> None:
    page = reader.open("/brain", role="read")
    for path in ("/live", "/graph", "/retrievals", "/reviews", "/costs", "/jobs", "/brain"):
        page.goto(path)
        page.locator("main .state").first.wait_for()
        page.locator("main .skeleton").first.wait_for(state="detached")
        shoot(page, f"{path[1:]}-empty")
    for path in ("/memory", "/people", "/subjects", "/timeline", "/conversations", "/graph"):
        page.goto(path)
        state = page.locator("main .state")
        expect(state.locator(".actions a").first).to_be_visible()
        beside(state)


def test_self_and_goals_in_folding_groups(reader: Reader, lived: Hippocampe) -> None:
    page = reader.open("/brain", role="write")
    check_accessible(page)
    check_fits(page)
    group = page.locator("details.group").first
    assert group.locator("summary").inner_text().split()[:2] == ["Capabilities", "3"]
    group.locator("summary").click()
    group.locator("li").nth(2).wait_for()
    assert "Je sais lire 2 langues" in group.locator("li").first.inner_text()
    assert page.locator("[data-log]").count() == 0
    shoot(page, "brain")
    looked_at(reader, "/brain", "brain")


def test_a_digest_by_hand_shows_what_it_made(
    reader: Reader, lived: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "EXPENSIVE_SECONDS", 0.0)  # all counts are cached
    page = reader.open("/live", role="admin")
    assert "Le marché est déplacé" in page.locator("#rooms").inner_text()
    assert "No digest was made yet." in page.locator("#made").inner_text()
    shoot(page, "live")
    waiting = page.locator(".rail a[href='/live']")
    expect(waiting).to_contain_text("2")
    page.get_by_role("button", name="Digest now").click()
    page.locator("#toasts", has_text="2 messages, 0 statements, 2 turns").wait_for()
    expect(waiting).not_to_contain_text("2")
    page.locator("#made", has_text="It stated nothing.").wait_for()
    expect(page.locator("#rooms")).to_contain_text("0 messages")
    expect(page.locator(".digest button")).to_be_disabled()
    expect(page.locator("#digest")).to_contain_text("2 turns")
    page.locator("#rooms-title ~ button").click()
    check_accessible(page)
    looked_at(reader, "/live", "live", whole=False)


def test_what_a_digest_made_is_shown_with_its_messages(
    reader: Reader, lived: Hippocampe, clock: FakeClock
) -> None:
    clock.advance(hours=6)
    lived.run_jobs(scope=HERE)
    said = next(each for each in lived.messages(scope=HERE) if "marché" in each.content)
    lived.remember("Le marché a lieu samedi", scope=HERE, source="digest", evidence=[said.id])
    page = reader.open("/live")
    made = page.locator("#made")
    assert "Le marché a lieu samedi" in made.inner_text()
    assert said.content in made.locator(".sources").inner_text()
    shoot(page, "live-made")


@pytest.mark.parametrize(
    ("language", "foot"),
    [("en", "The latest 2 of 4 messages are shown."), ("fr", "Les 2 derniers messages sur 4")],
)
def test_the_rooms_count_messages_that_are_not_shown(
    client: httpx.Client,
    memory: Hippocampe,
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    foot: str,
) -> None:
    monkeypatch.setattr(live, "MOST", 2)
    memory.update_settings(scope=HERE, language=language, live_rooms=["lobby"])
    for number in range(4):
        memory.observe(f"le train {number} part", scope=LOBBY)
    shown = client.get("/live/rooms", headers={"accept-language": language}).text
    assert foot in shown
    assert "4 messages" in shown
    memory.update_settings(scope=HERE, live_rooms=["lobby", "cour"])
    memory.observe("la cour est fermée", scope=Scope(user="ana", channel="cour"))
    shown = client.get("/live/rooms", headers={"accept-language": language}).text
    # Of several rooms, nobody knows whose messages are not shown.
    assert "1 message<" not in shown


def test_a_long_text_leaves_room_for_the_others(reader: Reader, lived: Hippocampe) -> None:
    text = "Une phrase qui se répète. " * 400
    lived.observe(text, scope=LOBBY)
    kept = lived.remember(text, scope=HERE, collection="self", category="capability").memory
    page = reader.open("/live")
    line = page.locator(".heard li", has_text="Une phrase").bounding_box()
    assert line and line["height"] < 300
    show = page.locator(".heard").get_by_role("button", name="Show all of its")
    show.click()
    expect(show).to_have_attribute("aria-expanded", "true")
    for path in ("/brain/self/capability", f"/graph/card/{kept.id}"):
        assert "Une phrase" in (shown := page.request.get(path).text())
        assert text.strip() not in shown


def test_a_digest_that_fails_says_why(
    reader: Reader, lived: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hippocampe.errors import ModelUnavailable
    from hippocampe.extraction import digest

    def down(*_given: Any, **_named: Any) -> None:
        raise ModelUnavailable("the model does not answer: start it.")

    page = reader.open("/brain")
    monkeypatch.setattr(digest, "run", down)
    page.get_by_role("button", name="Digest now").click()
    alert = page.locator("#digest [role=alert]")
    alert.wait_for()
    assert "the model does not answer: start it." in alert.inner_text()
    expect(page.get_by_role("button", name="Digest now")).to_be_enabled()


def test_who_may_not_digest_has_no_button(reader: Reader, lived: Hippocampe, connect: Any) -> None:
    page = reader.open("/live", role="write")
    assert "Messages that wait" in page.locator("#digest").inner_text()
    assert page.get_by_role("button", name="Digest now").count() == 0
    client: httpx.Client = connect("write")
    assert client.post("/digest").status_code == 403
    assert client.get("/logs").status_code == 403


def test_the_next_digest_is_at_an_hour_of_the_settings(memory: Hippocampe, connect: Any) -> None:
    client: httpx.Client = connect("read")
    memory.update_settings(scope=HERE, timezone="Asia/Tokyo", digest_hours=[5])
    assert "05:00" in client.get("/digest").text
    memory.update_settings(scope=HERE, digest_hours=[])
    assert "à la main seulement" in client.get("/digest").text


def test_costs_by_day_purpose_and_model(reader: Reader, lived: Hippocampe) -> None:
    lived.update_settings(scope=HERE, daily_budget=0.5)
    page = reader.open("/costs", role="read")
    check_accessible(page)
    check_fits(page)
    assert "$0.25" in page.locator(".figures li").first.inner_text()
    assert "of a budget of $0.50 a day" in page.locator(".figures").inner_text()
    # 800 of 9,000 tokens of requests, and 300 of answers, which cost four times as much.
    assert "$0.0196" in page.locator(".figures li").nth(2).inner_text()
    assert [each.strip() for each in page.locator(".stack thead").first.inner_text().split("\t")][
        3:
    ] == [*("Tokens sent", "Memory’s part", "Tokens received", "Price")]
    rows = page.locator("table.stack").first.locator("tbody tr")
    assert [rows.nth(n).locator("td").first.inner_text() for n in range(2)] == [
        "digest",
        "chat",
    ]
    page.get_by_role("button", name="Purpose").click()
    assert rows.first.locator("td").first.inner_text() == "chat"
    assert page.locator(".drawn svg .limit").count() == 2
    page.locator("summary", has_text="By day").click()
    assert page.locator("details.group tbody tr").count() == 30
    money = page.locator(".drawn").first
    assert money.locator(".hit").count() == 30
    spent = money.locator(".hit", has_text="$0.25")
    spent.hover()
    tip = spent.locator(".of-day")
    tip.wait_for()
    assert "spent\n$0.25" in tip.inner_text() and "memory’s part\n$0.0196" in tip.inner_text()
    shoot(page, "costs")
    page.get_by_role("link", name="7 days").click()
    page.locator("text=Spent in 7 days").wait_for()
    looked_at(reader, "/costs", "costs")


def test_the_ledger_of_jobs(
    reader: Reader, lived: Hippocampe, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hippocampe.errors import InvalidAnswer
    from hippocampe.extraction.jobs import work

    def broken(*_given: Any, **_named: Any) -> None:
        raise InvalidAnswer("the model did not answer in the requested form.")

    with monkeypatch.context() as failing:
        failing.setitem(work.JOBS, "digest", broken)
        clock.advance(hours=6)
        lived.run_jobs(scope=HERE)
    page = reader.open("/jobs", role="admin")
    row = page.locator("tbody tr")
    assert "the model did not answer" in row.inner_text()
    assert "will be retried" in row.inner_text()
    check_accessible(page)
    shoot(page, "jobs")
    row.get_by_role("button", name="Retry").click()
    page.locator("#toasts", has_text="The run is due now.").wait_for()
    page.get_by_role("button", name="Run what is due").click()
    page.locator("tbody tr", has_text="2 messages").wait_for()
    page.get_by_label("State").select_option("parked")
    page.locator("#ledger", has_text="No run is like that.").wait_for()
    page.get_by_label("State").select_option("done")
    page.get_by_label("Job").select_option("digest")
    page.locator("tbody tr", has_text="2 messages").wait_for()
    page.get_by_role("button", name="Run what is due").click()
    page.locator("#toasts", has_text="Nothing was due.").wait_for()
    looked_at(reader, "/jobs", "jobs", whole=False)


def test_a_disabled_button_keeps_its_label_and_an_empty_part_its_icon(reader: Reader) -> None:
    page = reader.open("/live")
    button = page.get_by_role("button", name="Digest now")
    expect(button).to_be_disabled()
    button.hover(force=True)
    colours = "(each) => [getComputedStyle(each).color, getComputedStyle(each).backgroundColor]"
    label, ground = button.evaluate(colours)
    assert label != ground
    check_accessible(page)
    for state in page.locator(".state").all():
        beside(state)


def beside(state: Locator) -> None:
    """The icon of an empty part stands beside its text."""
    icon, text = state.locator("> .icon").bounding_box(), state.locator("p").bounding_box()
    assert icon is not None and text is not None
    assert 0 <= text["x"] - (icon["x"] + icon["width"]) <= 16
