"""One memory, and the playground, in a browser."""

from threading import Event
from typing import Any

import pytest
from playwright.sync_api import Dialog, expect

from browsing import PHONE, Reader, check_accessible, check_fits, held, settle
from conftest import FakeClock
from hippocampe import Hippocampe, NotFound, Scope
from hippocampe.curation import erase
from hippocampe.server.dashboard.memory_detail import difference

HERE = Scope(user="owen", channel="lobby")


@pytest.fixture
def corrected(memory: Hippocampe, clock: FakeClock) -> str:
    """A memory with a version before it, evidence and an association; its id."""
    memory.after_turn("On a repeint la coque", "En quelle couleur ?", scope=HERE)
    memory.after_turn("Le voilier est bleu maintenant", "Bien noté", scope=HERE)
    (said,) = memory.search_text("bleu", scope=HERE)
    first = memory.remember("Le voilier est rouge", scope=HERE, subjects=["voilier"]).memory
    clock.advance(days=2)
    second = memory.remember(
        "Le voilier est bleu", scope=HERE, replaces=[first.id], evidence=[said.id]
    ).memory
    other = memory.remember("La coque a été repeinte", scope=HERE).memory
    memory.associate(other.id, second.id, "part_of", scope=HERE, reason="même chantier")
    memory.flush()
    return second.id


def test_its_history_evidence_and_associations(reader: Reader, corrected: str) -> None:
    page = reader.open(f"/memory/{corrected}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Le voilier est bleu")
    versions = page.locator(".versions li")
    expect(versions).to_have_count(2)
    assert versions.first.locator("del").inner_text() == "rouge"
    assert versions.first.locator("ins").inner_text() == "bleu"
    assert "Le voilier est bleu maintenant" in page.locator(".talk .evidence").inner_text()
    assert "En quelle couleur ?" in page.locator(".talk").inner_text()
    links = page.locator("section", has=page.get_by_role("heading", name="Associations"))
    assert "whole of" in links.inner_text()
    assert "même chantier" in links.inner_text()
    check_accessible(page)
    versions.last.get_by_role("link").click()
    expect(page.get_by_text("replaced by").first).to_be_visible()
    expect(page.get_by_role("button", name="Restore")).to_be_visible()


def test_invisible_characters_are_shown_and_an_edit_keeps_them(
    reader: Reader, memory: Hippocampe
) -> None:
    said = "Owen a un voi\u200blier\r\net un <kayak>\u202e"
    stored = memory.remember(said, scope=HERE).memory
    page = reader.open("/memory")
    expect(page.locator("#found [data-row]").first).to_contain_text(
        r"Owen a un voi\u200blier et un <kayak>\u202e"
    )
    page = reader.open(f"/memory/{stored.id}")
    expect(page.locator("h1")).to_contain_text(r"voi\u200blier")
    page.get_by_role("button", name="Edit").click()
    assert page.locator("#edit textarea").input_value() == said.replace("\r", "")


def test_edit_forget_and_restore(reader: Reader, memory: Hippocampe, corrected: str) -> None:
    page = reader.open(f"/memory/{corrected}")
    page.get_by_role("button", name="Edit").click()
    form = page.locator("#edit")
    expect(form.get_by_label("Statement")).to_be_focused()
    check_accessible(page)
    form.get_by_label("Statement").fill("Le voilier est bleu marine")
    form.get_by_label("Type").select_option("decision")
    form.get_by_label("About, between commas").fill("voilier, coque")
    form.get_by_label("Importance").focus()
    form.get_by_label("Importance").press("End")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Le voilier est bleu marine")
    edited = memory.get(corrected, scope=HERE)
    assert (edited.type, edited.importance) == ("decision", 1.0)
    assert edited.subjects == ("voilier", "coque")
    page.get_by_role("button", name="Forget").click()
    expect(page.locator(".tag.danger")).to_have_text("forgotten")
    page.locator("#detail").get_by_role("button", name="Restore").click()
    expect(page.locator(".tag.good").first).to_have_text("current")


def test_an_edit_is_saved_by_keyboard_and_not_lost(
    reader: Reader, memory: Hippocampe, corrected: str
) -> None:
    page = reader.open(f"/memory/{corrected}#change")
    statement = page.locator("#edit").get_by_label("Statement")
    expect(statement).to_be_focused()
    statement.fill("Le voilier est bleu ciel")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.once("dialog", stay)
    page.get_by_role("link", name="Overview").click()
    expect(statement).to_be_visible()
    page.wait_for_function("() => document.querySelector('[data-dirty]')")
    assert asked == ["beforeunload"]
    statement.press("Escape")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(statement).to_be_focused()
    statement.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Le voilier est bleu ciel")
    page.get_by_role("button", name="Edit").click()
    page.locator("#edit").get_by_label("Statement").press("Escape")
    expect(page.get_by_role("button", name="Edit")).to_be_focused()
    page.get_by_role("link", name="Overview").click()
    page.wait_for_url("**/overview")
    assert memory.get(corrected, scope=HERE).content == "Le voilier est bleu ciel"


def test_a_save_under_way_shows(reader: Reader, corrected: str) -> None:
    page = reader.open(f"/memory/{corrected}")
    page.get_by_role("button", name="Edit").click()
    form = page.locator("form.edit")
    form.locator("textarea").fill("Le voilier est vert")
    save = form.get_by_role("button", name="Save")
    expect(save).to_have_css("opacity", "1")
    with held(page, "**/memory/*") as go_on:
        save.click()
    expect(save).to_have_css("opacity", "0.6")
    expect(form.get_by_role("button", name="Cancel")).to_have_css("opacity", "1")
    go_on()
    expect(page.get_by_role("heading", level=1)).to_have_text("Le voilier est vert")


def test_a_long_text_is_clamped(reader: Reader, memory: Hippocampe) -> None:
    text = "le mât et la voile " * 2_300
    long = memory.remember(text, scope=HERE).memory
    page = reader.open("/memory")
    for path in ("/memory", "/overview", f"/memory/{long.id}"):
        page.goto(path)
        settle(page)
        height = page.evaluate("() => document.documentElement.scrollHeight")
        assert height < 2_000, (path, height)
    whole = page.get_by_role("button", name="Show all of its 43,699 characters")
    expect(page.get_by_role("button", name="Forget")).to_be_in_viewport()
    whole.click()
    expect(whole).to_have_attribute("aria-expanded", "true")
    assert page.evaluate("() => document.documentElement.scrollHeight") > 4_000


def test_erase_needs_a_word(reader: Reader, memory: Hippocampe, corrected: str) -> None:
    page = reader.open(f"/memory/{corrected}", language="fr")
    page.get_by_role("button", name="Effacer").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Effacer « Le voilier est bleu » pour toujours ?")
    sure = dialog.get_by_role("button", name="Effacer pour toujours")
    expect(sure).to_be_disabled()
    check_accessible(page)
    dialog.get_by_role("textbox").fill("Effacer")
    sure.click()
    page.wait_for_url("**/memory")
    expect(page.locator("#toasts")).to_contain_text("Effacé pour toujours.")
    page.reload()
    expect(page.locator("#toasts")).to_be_empty()
    with pytest.raises(NotFound):
        memory.get(corrected, scope=HERE)


def test_a_long_erasure_shows_how_far_it_is(
    reader: Reader, memory: Hippocampe, corrected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, finish = Event(), erase.finish_erasure

    def slow(writer: Any, progress: Any) -> None:
        progress("indexing memory", 500, 1141)
        assert seen.wait(60)
        finish(writer, progress)

    monkeypatch.setattr(erase, "finish_erasure", slow)
    page = reader.open(f"/memory/{corrected}")
    page.get_by_role("button", name="Erase").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("erase")
    dialog.get_by_role("button", name="Erase for ever").click()
    expect(page.locator("main")).to_contain_text("Erasing… 500 / 1,141")
    check_accessible(page)
    check_fits(page)
    seen.set()
    page.wait_for_url("**/memory")
    expect(page.locator("#toasts")).to_contain_text("Erased for ever.")
    with pytest.raises(NotFound):
        memory.get(corrected, scope=HERE)


def test_a_memory_that_does_not_exist(reader: Reader) -> None:
    page = reader.open("/memory/0198a000-0000-7000-8000-000000000000")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is nothing here.")
    check_accessible(page)
    reader.forgive("404")


def test_the_words_that_changed_are_marked() -> None:
    assert difference("a b c", "a <b> c d") == (
        "a <del>b</del> <ins>&lt;b&gt;</ins> c <ins>d</ins>"
    )


def test_the_playground_stores_nothing(
    reader: Reader, memory: Hippocampe, clock: FakeClock
) -> None:
    memory.remember("Owen a un voilier rouge", scope=HERE)
    memory.flush()
    clock.advance(days=40)
    before = memory.stats(scope=HERE)
    page = reader.open("/playground", language="fr")
    page.get_by_label("Message").fill("voilier rouge")
    page.get_by_label("Personne").fill("owen")
    page.get_by_label("Canal").fill("lobby")
    page.get_by_label("Message").press("Control+Enter")
    result = page.locator("#result")
    expect(result.locator(".injection")).to_contain_text("Owen a un voilier rouge")
    expect(result.locator(".times li").first).to_be_visible()
    result.get_by_text("pourquoi").first.click()
    expect(result.locator(".reasons").first).to_be_visible()
    check_accessible(page)
    page.get_by_label("À quelle date").fill("2020-01-01T10:00")
    page.get_by_role("button", name="Essayer").click()
    expect(result).to_contain_text("Rien n’est donné.")
    expect(result).to_contain_text("2020")
    assert memory.stats(scope=HERE) == before
    assert memory.retrievals(scope=HERE) == []


def test_gibberish_finds_nothing_and_what_is_always_given_stands_apart(
    reader: Reader, memory: Hippocampe
) -> None:
    memory.remember("Owen garde la clef du phare", scope=HERE, type="decision")
    memory.remember("Owen a un voilier rouge", scope=HERE)
    memory.update_settings(scope=HERE, recent_hours=0)
    page = reader.open("/playground?message=zzgrblx+qwopf&user=owen")
    result = page.locator("#result")
    expect(result).to_contain_text("at most 18, without a relevance")
    expect(result.get_by_role("region", name="always given")).to_contain_text("la clef du phare")
    expect(result.get_by_role("region", name="found")).to_have_count(0)
    assert memory.memories(scope=HERE).items[0].access_count == 0


@pytest.mark.parametrize("language", ["en", "fr"])
def test_they_fit_a_phone(reader: Reader, corrected: str, language: str) -> None:
    page = reader.open("/login", size=PHONE, language=language, theme="dark")
    for path in (f"/memory/{corrected}", "/playground?message=voilier&user=owen"):
        page.goto(path)
        settle(page)
        check_fits(page)
        check_accessible(page)


@pytest.mark.parametrize(
    ("language", "edit", "said"),
    [
        ("en", "Edit", "the memory was changed after this form was opened"),
        ("fr", "Modifier", "le souvenir a été modifié après l’ouverture de ce formulaire"),
    ],
)
def test_an_edit_does_not_overwrite_that_of_another_tab(
    reader: Reader,
    memory: Hippocampe,
    corrected: str,
    clock: FakeClock,
    language: str,
    edit: str,
    said: str,
) -> None:
    page = reader.open(f"/memory/{corrected}", language=language)
    page.get_by_role("button", name=edit).click()
    statement = page.locator("#edit textarea")
    statement.fill("Le voilier est vert")
    clock.advance(minutes=1)
    memory.edit(corrected, scope=HERE, content="Le voilier est jaune", importance=0.9)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#toasts .danger")).to_contain_text(said)
    # The text is there to copy.
    expect(statement).to_have_value("Le voilier est vert")
    kept = memory.get(corrected, scope=HERE)
    assert (kept.content, kept.importance) == ("Le voilier est jaune", 0.9)
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.get_by_role("button", name=edit).click()
    statement.fill("Le voilier est vert")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Le voilier est vert")
    assert memory.get(corrected, scope=HERE).importance == 0.9
    reader.forgive("422")


@pytest.mark.parametrize(
    ("language", "edit", "said"),
    [
        ("en", "Edit", "log in in another tab, then try again"),
        ("fr", "Modifier", "connectez-vous dans un autre onglet, puis réessayez"),
    ],
)
def test_an_edit_is_not_lost_when_the_login_has_ended(
    reader: Reader, memory: Hippocampe, corrected: str, language: str, edit: str, said: str
) -> None:
    page = reader.open(f"/memory/{corrected}", role="write", language=language)
    page.get_by_role("button", name=edit).click()
    statement = page.locator("#edit textarea")
    statement.fill("Le voilier est vert")
    page.context.clear_cookies()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#toasts .danger")).to_contain_text(said)
    expect(statement).to_have_value("Le voilier est vert")
    other = page.context.new_page()
    other.goto("/login")
    other.locator("input[name=key]").fill(memory.create_key(scope=HERE, role="write").secret)
    other.locator("button.primary").click()
    other.wait_for_url(lambda at: "/login" not in at)
    other.close()
    statement.press("Control+Enter")
    # Its token was that of the login before.
    expect(page.locator("#toasts .danger")).to_have_count(1)
    expect(page.locator("#toasts .danger")).not_to_contain_text(said)
    statement.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Le voilier est vert")
    for complaint in ("401", "403"):
        reader.forgive(complaint)
