"""The page of memory in a browser: every control of its four parts."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browsing import PHONE, WIDE, Reader, check_accessible, check_fits
from conftest import Opener
from hippocampe import Hippocampe, Scope

HERE = Scope(user="owen", channel="lobby")


@pytest.fixture
def memory(hashed: None, open_hippo: Opener, tmp_path: Path) -> Hippocampe:
    """A memory with a vault."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Profil.md").write_text("---\ntags: [hippocampe]\n---\nOwen vit à Nantes.\n", "utf-8")
    (vault / "Voilier.md").write_text("Réviser le mât avant l'été.\n", "utf-8")
    hippo = open_hippo(embedder="hashed:64", notes_folder=vault)
    hippo.remember("Owen a un voilier rouge", scope=HERE, subjects=["voilier"], type="fact")
    hippo.remember("Rose veut un chien", scope=Scope(user="rose", channel="port"), type="goal")
    hippo.after_turn("Le voilier est à Nantes", "Bien noté", scope=HERE)
    hippo.flush()
    return hippo


def facts_of(page: Page) -> Any:
    return page.locator("#facts-list tbody tr")


def test_a_fact_is_added_edited_and_deleted(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/memory")
    facts = page.locator("#facts")
    expect(facts).to_contain_text("There are no facts yet.")
    facts.get_by_label("Name").fill("boisson")
    facts.get_by_label("Value").fill("le thé")
    facts.get_by_role("button", name="Add").click()
    expect(facts_of(page)).to_have_count(1)
    expect(facts.get_by_label("Name")).to_have_value("")

    facts.get_by_role("button", name="Edit: boisson").click()
    field = facts.get_by_label("Value: boisson")
    expect(field).to_be_focused()
    field.press("Escape")
    facts.get_by_role("button", name="Edit: boisson").click()
    field.fill("le café")
    field.press("Enter")
    expect(facts_of(page)).to_contain_text("le café")
    expect(facts_of(page).first).to_be_focused()
    assert memory.facts(scope=HERE)["boisson"].content == "le café"

    facts.get_by_role("button", name="Delete: boisson").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete “boisson”?")
    expect(dialog).to_contain_text("le café")
    check_accessible(page)
    dialog.get_by_role("button", name="Cancel").click()
    expect(facts_of(page)).to_have_count(1)
    facts.get_by_role("button", name="Delete: boisson").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(facts).to_contain_text("There are no facts yet.")
    page.get_by_role("button", name="Undo").last.click()
    expect(facts_of(page)).to_contain_text("le café")


def test_a_table_by_keyboard_and_by_its_heads(reader: Reader, memory: Hippocampe) -> None:
    for key, value in (("b", "deux"), ("a", "trois"), ("c", "un")):
        memory.set_fact(key, value, scope=HERE)
    page = reader.open("/memory")
    expect(facts_of(page)).to_have_count(3)

    def names() -> list[str]:
        return [each.strip() for each in page.locator("#facts-list td.name").all_inner_texts()]

    assert names() == ["a", "b", "c"]
    value = page.locator("#facts-list").get_by_role("button", name="Value")
    value.click()
    assert names() == ["b", "a", "c"]
    value.click()
    assert names() == ["c", "a", "b"]
    page.keyboard.press("Escape")
    page.locator("h1").click()
    for key in ("j", "j", "k"):
        page.keyboard.press(key)
    expect(facts_of(page).first).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_role("dialog")).to_contain_text("Delete “c”?")
    page.keyboard.press("Escape")
    facts_of(page).first.focus()
    page.keyboard.press("e")
    expect(page.locator("#facts-list input[name=value]")).to_be_focused()
    page.keyboard.press("Escape")
    facts_of(page).nth(1).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory/*-*")


def test_a_search_in_its_three_modes_with_filters(reader: Reader) -> None:
    page = reader.open("/overview")
    page.keyboard.press("/")
    page.keyboard.type("voilier")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory?q=voilier#search")
    results = page.locator("#results")
    expect(results).to_contain_text("Owen a un voilier rouge")
    expect(results.locator("mark").first).to_have_text("voilier")
    expect(results.locator(".score svg").first).to_have_attribute("width", "64")
    results.get_by_text("why").first.click()
    expect(results.locator(".reasons").first).to_be_visible()
    form = page.locator("#search-form")
    for mode in ("Semantic", "Text", "Hybrid"):
        with page.expect_response(re.compile("/memory/search")) as answer:
            form.get_by_text(mode, exact=True).click()
        assert f"mode={mode.lower()}" in answer.value.url
    form.get_by_text("Filters").click()
    form.locator("select[name=place]").select_option("talk")
    expect(results).to_contain_text("Le voilier est à Nantes")
    expect(results).not_to_contain_text("rouge")
    form.locator("select[name=place]").select_option("all")
    form.locator("select[name=user]").select_option("rose")
    expect(results).not_to_contain_text("rouge")
    form.locator("select[name=user]").select_option("")
    form.get_by_label("To, inclusive").fill("2020-01-01")
    expect(results).to_contain_text("Nothing was found for “voilier”.")
    check_accessible(page)


def test_without_words_memories_are_listed(reader: Reader, memory: Hippocampe) -> None:
    for number in range(12):
        memory.remember(f"Le bateau numéro {number} est au port", scope=HERE, type="event")
    page = reader.open("/memory")
    results = page.locator("#results")
    expect(results.locator("[data-row]")).to_have_count(10)
    results.get_by_role("button", name="Show more").click()
    expect(results.locator("[data-row]")).to_have_count(14)
    form = page.locator("#search-form")
    form.get_by_text("Filters").click()
    form.locator("select[name=type]").select_option("goal")
    expect(results.locator("[data-row]")).to_have_count(1)
    form.get_by_label("Subject").fill("voilier")
    form.get_by_label("Subject").press("Tab")
    expect(results).to_contain_text("There are no such memories.")
    form.locator("select[name=type]").select_option("")
    expect(results).to_contain_text("rouge")
    expect(results.locator("[data-row]")).to_have_count(1)
    results.get_by_role("button", name="Forget: ").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(results).to_contain_text("There are no such memories.")
    form.locator("select[name=state]").select_option("forgotten")
    results.get_by_role("button", name="Restore").click()
    expect(results).to_contain_text("There are no such memories.")
    assert len(memory.memories(scope=HERE, subjects=["voilier"]).items) == 1


def test_a_part_that_fails_says_so_and_is_tried_again(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = reader.open("/memory")
    page.route("**/memory/facts", lambda route: route.abort())
    page.reload()
    facts = page.locator("#facts-list")
    expect(facts).to_contain_text("The server does not answer.")
    page.unroute("**/memory/facts")
    facts.get_by_role("button", name="Try again").click()
    expect(facts).to_contain_text("There are no facts yet.")
    for complaint in ("net::ERR_FAILED", "htmx:afterRequest", "htmx:sendError"):
        reader.forgive(complaint)


def test_a_reader_may_look_and_change_nothing(reader: Reader, memory: Hippocampe) -> None:
    memory.set_fact("boisson", "le thé", scope=HERE)
    page = reader.open("/memory", role="read")
    expect(facts_of(page)).to_have_count(1)
    assert page.get_by_role("button", name=re.compile("Edit|Delete|Add|Forget")).count() == 0
    check_accessible(page)
    for path in ("/memory/facts", "/memory/facts/delete", "/settings"):
        status = page.evaluate(
            """([path, token]) => fetch(path, {method: "POST", body: new URLSearchParams({key: "a", value: "b"}),
            headers: {"X-CSRF-Token": token}}).then((answer) => answer.status)""",
            [
                path,
                page.evaluate(
                    "JSON.parse(document.body.getAttribute('hx-headers'))['X-CSRF-Token']"
                ),
            ],
        )
        assert status == 403, path
    reader.forgive("403")
    assert memory.facts(scope=HERE)["boisson"].content == "le thé"


@pytest.mark.parametrize(
    ("language", "theme", "size"),
    [("fr", "dark", PHONE), ("en", "light", PHONE), ("fr", "light", WIDE)],
)
def test_it_fits_and_is_accessible(
    reader: Reader, memory: Hippocampe, language: str, theme: str, size: tuple[int, int]
) -> None:
    memory.set_fact("adresse_du_serveur", "192.168.1.24 " * 12, scope=HERE)
    memory.before_turn("voilier", scope=HERE)
    page = reader.open("/memory", language=language, theme=theme, size=size)
    page.locator("#search-form summary").click()
    check_fits(page)
    check_accessible(page)
