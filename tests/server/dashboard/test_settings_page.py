"""The pages of the settings and of the notes in a browser."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browsing import PHONE, Reader, check_accessible, check_fits
from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.hippocampe import SETTINGS

HERE = Scope(user="owen", channel="lobby")


@pytest.fixture
def memory(hashed: None, open_hippo: Opener, tmp_path: Path) -> Hippocampe:
    """A memory with a vault, rules and served turns."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Profil.md").write_text("---\ntags: [hippocampe]\n---\nOwen vit à Nantes.\n", "utf-8")
    (vault / "Voilier.md").write_text("Réviser le mât avant l'été.\n", "utf-8")
    for note in vault.iterdir():
        os.utime(note, (1_700_000_000, 1_700_000_000))  # long before the clock of the test
    hippo = open_hippo(embedder="hashed:64", notes_folder=vault)
    hippo.update_settings(scope=HERE, recent_hours=0, obsidian_context_tag="none")
    for number in range(6):
        hippo.remember(f"règle {number} du phare", scope=HERE, type="decision")
    for greeting in ("bonjour", "salut"):
        hippo.before_turn(greeting, scope=Scope(user="owen", channel=greeting))
    hippo.update_settings(scope=HERE, recent_hours=None, obsidian_context_tag=None)
    hippo.flush()
    return hippo


def effect_of(page: Page, said: str) -> None:
    expect(page.locator("#effect .sum")).to_contain_text(said)


def test_a_change_shows_its_effect_before_it_is_saved(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/settings")
    assert page.locator(".setting").count() == len(SETTINGS)
    effect_of(page, "What the last turns got")
    turns = page.locator("#effect .rows > li")
    expect(turns).to_have_count(2)
    expect(turns.first).to_contain_text("always given 6")
    # The two sliders bound what is given: what search finds, and what comes without a relevance.
    most = page.get_by_label("Always given: at most")
    most.fill("3")
    effect_of(page, "2 turns differ.")
    expect(turns.first).to_contain_text(re.compile("always given 6 . ?[12]|always given 6 [12]"))
    expect(turns.first.locator("del").first).to_contain_text("du phare")
    assert memory.settings(scope=HERE).always_on_limit == 18
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".toast")).to_contain_text("1 setting saved.")
    assert memory.settings(scope=HERE).always_on_limit == 3
    assert len(memory.before_turn("bonjour", scope=Scope(user="rose", channel="a")).items) <= 3
    effect_of(page, "What the last turns got")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator("#set-always_on_limit")).to_have_value("18")
    assert memory.settings(scope=HERE).always_on_limit == 18


def test_every_kind_of_setting_is_changed_and_comes_back(
    reader: Reader, memory: Hippocampe
) -> None:
    page = reader.open("/settings")
    page.get_by_label("Recall before each answer").click()
    effect_of(page, "2 turns differ.")
    page.get_by_label("Found: relevance at least").fill("0.75")
    page.get_by_label("Recent: up to this many hours").fill("12")
    page.get_by_label("Observed rooms").fill("port\n\n  jardin ")
    page.get_by_label("Hours of the digest").fill("6, 22")
    page.get_by_label("How the companion uses memory").select_option("agentic")
    page.get_by_label("Lifetimes by category").fill("self/preference 90d")
    page.get_by_label("Timezone").fill("Asia/Tokyo")
    expect(page.locator(".setting.dirty")).to_have_count(8)
    memory.update_settings(scope=HERE, live_limit=3)  # by somebody else: it stays
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".toast")).to_contain_text("8 settings saved.")
    saved = memory.settings(scope=HERE)
    assert not saved.auto_retrieve_enabled
    assert saved.auto_retrieve_min_score == pytest.approx(0.75)
    assert (saved.recent_hours, saved.live_rooms, saved.digest_hours) == (
        12,
        ("port", "jardin"),
        (6, 22),
    )
    assert (saved.companion_mode, saved.timezone, saved.live_limit) == ("agentic", "Asia/Tokyo", 3)
    assert saved.category_ttl == {"self/preference": "90d"}
    expect(page.locator(".setting.dirty")).to_have_count(0)
    page.get_by_role("button", name=re.compile("back to it.*Observed rooms")).click()
    expect(page.get_by_label("Observed rooms")).to_have_value("lobby")
    page.get_by_label("Hours of the digest").fill("25")
    expect(page.locator("#effect")).to_contain_text("digest_hours must be")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".toast.danger")).to_contain_text("digest_hours must be")
    assert memory.settings(scope=HERE).live_rooms == ("port", "jardin")
    page.get_by_role("button", name="Discard the changes").click()
    expect(page.locator(".setting.dirty")).to_have_count(0)
    expect(page.get_by_label("Observed rooms")).to_have_value("port\njardin")
    reader.forgive("422")


@pytest.mark.parametrize("language", ["en", "fr"])
def test_lifetimes_are_read_as_the_error_message_writes_them(
    reader: Reader, memory: Hippocampe, language: str
) -> None:
    page = reader.open("/settings", language=language)
    field = page.locator("[name=category_ttl]")
    field.fill("self/preference")
    expect(page.locator("#effect [role=alert]")).to_contain_text('{"self/preference": "90d"}')
    field.fill('{"self/preference": "90d",\n "self/context": "7d"}')
    page.locator("main button.primary").click()
    expect(page.locator("#toasts .toast")).to_be_visible()
    saved = memory.settings(scope=HERE).category_ttl
    assert saved == {"self/preference": "90d", "self/context": "7d"}


def test_it_fits_is_accessible_and_a_reader_changes_nothing(
    reader: Reader, memory: Hippocampe
) -> None:
    page = reader.open("/settings", role="read", language="fr", theme="dark", size=PHONE)
    expect(page.get_by_role("button", name="Enregistrer")).to_have_count(0)
    assert page.get_by_label("Donnés d’office : au plus").is_disabled()
    check_fits(page)
    check_accessible(page)


def test_notes_are_fixed_tagged_and_read_again(
    reader: Reader, memory: Hippocampe, tmp_path: Path
) -> None:
    page = reader.open("/notes")
    notes = page.locator("#notes-list")
    expect(notes).to_contain_text("A folder of this machine is read.")
    expect(notes.locator("tr", has_text="Profil")).to_contain_text("always, by its tag")
    sail = notes.locator("tr", has_text="Voilier")
    expect(sail.get_by_text("Réviser le mât")).to_be_hidden()
    sail.get_by_text("Beginning of the note").click()
    expect(sail.get_by_text("Réviser le mât avant l'été.")).to_be_visible()
    check_accessible(page)
    notes.get_by_role("button", name=re.compile("when found.*Voilier")).click()
    notes.get_by_role("button", name=re.compile("always given.*Voilier")).wait_for()
    assert memory.settings(scope=HERE).obsidian_context_notes == ("Voilier.md",)
    (tmp_path / "vault" / "Recette.md").write_text("La tarte à la rhubarbe.\n", "utf-8")
    notes.get_by_role("button", name="Refresh").click()
    expect(notes).to_contain_text("Recette")
    expect(notes).to_contain_text("read just now")
    notes.get_by_label("Tag of notes that are always given").fill("#important")
    notes.get_by_role("button", name="Save").click()
    expect(notes.locator("tr", has_text="Profil")).to_contain_text("when found")
    with page.expect_response("**/settings"):
        notes.get_by_label("Use notes").click()
    assert memory.settings(scope=HERE).obsidian_context_tag == "#important"
    assert not memory.settings(scope=HERE).obsidian_context_enabled


def test_a_note_that_is_always_given_is_shown_where_it_was_given(
    reader: Reader, memory: Hippocampe
) -> None:
    given = memory.before_turn("où en est le phare ?", scope=HERE)
    assert "Profil: Owen vit à Nantes." in {item.content for item in given.items}
    page = reader.open(f"/retrievals/{given.id}")
    shown = page.locator("#rebuilt")
    expect(shown).to_contain_text("Owen vit à Nantes.")
    expect(shown).not_to_contain_text("no longer stored")


def test_a_message_on_a_phone_covers_no_button(reader: Reader) -> None:
    page = reader.open("/settings", size=PHONE)
    switches = page.locator(".setting input[type=checkbox]")
    for number in range(3):
        switches.nth(number).evaluate("each => each.click()")
        page.evaluate("window.scrollTo(0, 0)")
        if number:
            message = page.locator(".toast:visible")
            expect(message).to_have_count(1)
            bar, said = page.locator(".save").bounding_box(), message.bounding_box()
            assert bar
            assert said
            assert bar["y"] + bar["height"] <= said["y"]
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".toast").nth(number)).to_contain_text("1 setting saved.")
        # The form is taken again.
        expect(page.locator(".save")).to_be_hidden()
