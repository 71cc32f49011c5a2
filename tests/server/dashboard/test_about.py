"""The timeline, and the pages of people and of subjects, in a browser."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pytest
from markupsafe import escape
from playwright.sync_api import expect

from browsing import PHONE, Reader, check_accessible, check_fits
from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope

OWEN, ROSE = Scope(user="owen", channel="port"), Scope(user="rose", channel="lobby")


@pytest.fixture
def memory(hashed: None, open_hippo: Opener, clock: FakeClock, tmp_path: Path) -> Hippocampe:
    """What two people told in three days, and what became of it; a note that is always given."""
    vault = tmp_path / "vault"
    vault.mkdir()
    note = "---\ntags: [hippocampe]\n---\nLe port ferme à 20 h.\n"
    (vault / "Profil.md").write_text(note, "utf-8")
    hippo = open_hippo(embedder="hashed:64", notes_folder=vault)
    red = hippo.remember("Le voilier est rouge", scope=OWEN, subjects=["voilier"]).memory
    gone = hippo.remember("Owen aime le thé", scope=ROSE, subjects=["owen"], type="preference")
    clock.advance(days=1)
    hippo.remember("Le voilier est bleu", scope=ROSE, subjects=["voilier"], replaces=[red.id])
    clock.advance(days=1)
    hippo.delete(gone.memory.id, scope=OWEN, reason="forgotten on the dashboard")
    hippo.remember("Owen vit à Nantes", scope=OWEN, subjects=["owen", "nantes"], type="identity")
    hippo.flush()
    return hippo


def test_the_timeline_by_day_person_and_kind(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/timeline")
    days = page.locator(".day")
    assert [each.split()[0] for each in days.all_inner_texts()] == ["Monday", "Sunday", "Saturday"]
    replaced = page.locator(".changes .replaced")
    expect(replaced).to_contain_text("Le voilier est rouge")
    expect(replaced).to_contain_text("Le voilier est bleu")
    expect(page.locator(".changes .forgotten")).to_contain_text("forgotten on the dashboard")
    check_accessible(page)
    page.get_by_label("Change").select_option("learnt")
    page.wait_for_url("**/timeline?kind=learnt*")
    expect(page.locator(".changes li")).to_have_count(4)
    page.get_by_label("Told by").fill("rose")
    page.get_by_label("Told by").press("Enter")
    page.wait_for_url("**user=rose*")
    expect(page.locator(".changes li")).to_have_count(2)
    page.reload()
    expect(page.get_by_label("Change")).to_have_value("learnt")
    page.locator(".changes a").first.click()
    page.wait_for_url("**/memory/*-*")


def test_people_are_sorted_by_the_column_that_says_so(
    client: httpx.Client, memory: Hippocampe
) -> None:
    for number in range(3):
        memory.observe(f"On part à {number} h ?", scope=Scope(user="lise", channel="lobby"))
    memory.flush()
    assert next(iter(memory.users(scope=Scope()))) == "lise"
    told = re.findall(r"/person\?name=(\w+)", client.get("/people").text)
    assert told == ["owen", "rose", "lise"]


def test_a_person_and_a_subject(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/people")
    page.get_by_role("link", name="owen", exact=True).click()
    page.wait_for_url("**/person?name=owen")
    known = page.locator("section", has=page.get_by_role("heading", name="What is known"))
    expect(known).to_contain_text("Owen vit à Nantes")
    expect(known).not_to_contain_text("thé")  # forgotten: it is in the history only
    history = page.locator("section", has=page.get_by_role("heading", name="History"))
    expect(history).to_contain_text("Owen aime le thé")
    check_accessible(page)
    page.goto("/subjects")
    page.get_by_role("link", name="voilier", exact=True).click()
    page.wait_for_url("**/subject?name=voilier")
    told = page.locator("section", has=page.get_by_role("heading", name="Who told it"))
    expect(told.get_by_role("link", name="rose")).to_have_attribute("href", "/person?name=rose")
    expect(
        page.locator("section", has=page.get_by_role("heading", name="History"))
    ).to_contain_text("Le voilier est rouge")
    page.goto("/subjects/nantes")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nantes")
    for path in ("/person?name=nobody", "/people/nobody", "/subjects/a%2Fb"):
        page.goto(path)
        expect(page.locator("main")).to_contain_text("Nothing is known yet.")


@pytest.mark.parametrize("name", ["", " ", "\u0301", "\x00"])
def test_a_subject_without_a_name_has_an_empty_page(client: httpx.Client, name: str) -> None:
    answer = client.get("/subject", params={"name": name})
    assert answer.status_code == 200
    assert "Owen" not in answer.text


@pytest.mark.parametrize(
    "name", [".", "..", "./owen", "maison/..", "a/b", "%2e", "?é#&=+", "🦛" * 200]
)
def test_a_person_of_any_name_has_a_page(
    client: httpx.Client, memory: Hippocampe, name: str
) -> None:
    told = memory.remember("Le ponton est vermoulu", scope=Scope(user=name)).memory
    for path in ("/people", f"/memory/{told.id}"):
        links = re.findall(r'href="(/person[^"]*)"', client.get(path).text)
        # A browser takes the folders "." and ".." out of a path.
        places = [urlsplit(urljoin("http://localhost/", unescape(link))) for link in links]
        own = next(each for each in places if parse_qs(each.query)["name"] == [name])
        shown = client.get(f"{own.path}?{own.query}").text
        assert "Le ponton est vermoulu" in shown, path


@pytest.mark.parametrize(
    ("first", "then", "other"),
    [
        ("J'habite à Pau", "J'habite à Lyon", "Le port ferme à midi"),
        ("I live in Leeds", "I live in York", "The harbour closes at noon"),
    ],
)
def test_what_people_say_of_themselves_is_known_about_them(
    client: httpx.Client, memory: Hippocampe, first: str, then: str, other: str
) -> None:
    for each in (first, then, other):
        memory.remember(each, scope=Scope(user="Iris Bell"))
    known, told = client.get("/person?name=Iris%20Bell").text.split('id="told"')
    told, history = told.split('id="history"')
    assert escape(then) in known and escape(then) not in told
    assert escape(other) in told and escape(other) not in known
    assert escape(first) in history and escape(other) not in history


def test_a_list_of_names_is_filtered_sorted_and_paged(reader: Reader, memory: Hippocampe) -> None:
    for start in range(0, 120, 20):
        names = [f"port {number:03}" for number in range(start, start + 20)]
        memory.remember(f"La régate {start} passe par vingt ports", scope=OWEN, subjects=names)
    page = reader.open("/subjects")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(100)
    page.get_by_role("link", name="Next").click()
    page.wait_for_url("**/subjects?page=2")
    expect(rows.first).to_contain_text("port")
    page.get_by_role("link", name="Name").click()
    page.wait_for_url("**/subjects?order=name")
    expect(rows.first.get_by_role("link")).to_have_text("Nantes")  # as it is written
    page.get_by_label("Filter by name").fill("Port 11")
    page.get_by_label("Filter by name").press("Enter")
    expect(rows).to_have_count(11)
    expect(page.get_by_label("Filter by name")).to_have_value("Port 11")
    check_accessible(page)
    page.get_by_label("Filter by name").fill("nowhere")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("main").get_by_role("link", name="Show all").last.click()
    expect(rows).to_have_count(100)


def test_a_note_that_is_always_given_is_stored(client: httpx.Client, memory: Hippocampe) -> None:
    memory.before_turn("où est le voilier ?", scope=OWEN)
    (given,) = memory.retrievals(scope=OWEN)
    assert given.notes_injected == 1
    why = client.get(f"/retrievals/{given.id}/why").text
    assert why.count("Le port ferme à 20 h.") >= 2  # in the text, and among what was given
    assert "no longer stored" not in why
    assert "plus stocké" not in why


def test_they_fit_a_phone_in_french(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/timeline", size=PHONE, language="fr", theme="dark")
    for path in ("/timeline", "/people", "/people/owen", "/subjects", "/subjects/voilier"):
        page.goto(path)
        check_fits(page)
        check_accessible(page)
    # Who told it stands below a statement, which has the whole width.
    row = page.locator("[data-row]").first
    statement, rest = row.locator(".grow").bounding_box(), row.locator(".nowrap").bounding_box()
    assert statement and rest
    assert rest["y"] >= statement["y"] + statement["height"]


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_word_without_end_as_a_subject(reader: Reader, memory: Hippocampe, language: str) -> None:
    """A key of a program in a statement, for example, which is taken for a name."""
    word = "Zk" + "x7q" * 90
    memory.remember(f"Owen a collé {word} dans le salon", scope=OWEN)
    page = reader.open("/subjects", language=language)
    check_fits(page)
    page.locator("tbody a", has_text="zkx7q").click()
    expect(page.locator("main")).to_contain_text("Owen a collé")
    check_fits(page)
    page.goto(f"/memory?q=salon&subject={word.lower()}")
    expect(page.locator("#found [data-row]")).to_have_count(1)


@pytest.mark.parametrize(
    ("language", "said", "reply"),
    [("fr", "Je voudrais deux tartes", "C'est noté."), ("en", "Two pies, please", "Noted.")],
)
def test_a_person_has_what_they_said_last(
    reader: Reader, memory: Hippocampe, language: str, said: str, reply: str
) -> None:
    priya = Scope(user="Priya & co", channel="shop")
    memory.after_turn(said, reply, scope=priya)
    memory.after_turn("Le vent se lève", "Oui.", scope=OWEN)
    page = reader.open("/person?name=Priya+%26+co", language=language, size=PHONE)
    card = page.locator("section", has=page.locator("#said"))
    expect(card).to_contain_text(said)
    expect(card).to_contain_text(reply)
    expect(card).not_to_contain_text("Le vent")
    check_fits(page)
    check_accessible(page)
    card.locator("header a").click()
    page.wait_for_url("**/conversations?user=*")
    expect(page.locator(".talk-list li")).to_have_count(1)
