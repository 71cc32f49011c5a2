"""The pages of memories and of facts in a browser: every control."""

import re
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browsing import PHONE, WIDE, Reader, check_accessible, check_fits, held, settle, shoot
from conftest import Opener
from hippocampe import Hippocampe, Scope

HERE = Scope(user="owen", channel="lobby")


@pytest.fixture
def memory(hashed: None, open_hippo: Opener) -> Hippocampe:
    """A memory of two people."""
    hippo = open_hippo(embedder="hashed:64")
    hippo.remember("Owen a un voilier rouge", scope=HERE, subjects=["voilier"], type="fact")
    hippo.remember("Rose veut un chien", scope=Scope(user="rose", channel="port"), type="goal")
    hippo.after_turn("Le voilier est à Nantes", "Bien noté", scope=HERE)
    hippo.flush()
    return hippo


def facts_of(page: Page) -> Any:
    return page.locator("#facts-list tbody tr")


def rows_of(page: Page) -> Any:
    return page.locator("#found [data-row]")


def test_a_fact_is_added_edited_and_forgotten(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/facts")
    main = page.locator("main")
    expect(main).to_contain_text("There are no facts yet.")
    main.get_by_role("button", name="Add").click()
    main.get_by_label("Name", exact=True).fill("boisson")
    main.get_by_label("Value").fill("le thé")
    main.get_by_role("button", name="Save").click()
    expect(facts_of(page)).to_have_count(1)
    expect(main.get_by_label("Name", exact=True)).to_have_value("")

    edit = main.get_by_role("button", name="Edit: boisson")
    edit.click()
    field = main.get_by_label("Value: boisson")
    expect(field).to_be_focused()
    field.press("Escape")
    expect(facts_of(page).first).to_be_focused()  # where the keyboard was
    edit.click()
    field.fill("le café")
    field.press("Escape")  # which would lose it
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(field).to_be_focused()
    field.press("Control+Enter")
    expect(facts_of(page)).to_contain_text("le café")
    expect(facts_of(page).first).to_be_focused()
    assert memory.facts(scope=HERE)["boisson"].content == "le café"

    page.keyboard.press("x")
    expect(main).to_contain_text("There are no facts yet.")
    page.get_by_role("button", name="Undo").last.click()
    expect(facts_of(page)).to_contain_text("le café")
    check_accessible(page)


def test_the_lines_of_a_fact_stay_when_it_is_edited(reader: Reader, memory: Hippocampe) -> None:
    memory.set_fact("adresse", "12 rue des Lilas\nNantes", scope=HERE)
    page = reader.open("/facts")
    page.get_by_role("button", name="Edit: adresse").click()
    field = page.get_by_label("Value: adresse")
    field.press("Control+End")
    field.press_sequentially(" (Loire)")
    field.press("Control+Enter")
    expect(facts_of(page)).to_contain_text("Nantes (Loire)")
    said = memory.facts(scope=HERE)["adresse"].content
    assert said == "12 rue des Lilas\nNantes (Loire)"


def test_facts_by_keyboard_by_their_heads_and_by_words(reader: Reader, memory: Hippocampe) -> None:
    for key, value in (
        ("b", "deux"),
        ("a", "trois"),
        ("c", "un"),
        *((f"n{n}", "z") for n in range(98)),
    ):
        memory.set_fact(key, value, scope=HERE)
    page = reader.open("/facts")
    expect(facts_of(page)).to_have_count(100)
    page.get_by_role("link", name="Page 2").click()
    expect(facts_of(page)).to_have_count(1)
    page.wait_for_load_state()
    page.keyboard.press("/")
    page.keyboard.type("u")
    expect(facts_of(page)).to_have_count(2)
    expect(page).to_have_url(re.compile(r"/facts\?q=u$"))
    page.reload()
    expect(facts_of(page)).to_have_count(2)

    def names() -> list[str]:
        return [each.strip() for each in page.locator("#facts-list td.name").all_inner_texts()]

    assert names() == ["b", "c"]
    value = page.locator("#facts-list").get_by_role("button", name="Value")
    value.click()
    value.click()
    assert names() == ["c", "b"]
    page.locator("h1").click()
    for key in ("j", "j", "k"):
        page.keyboard.press(key)
    expect(facts_of(page).first).to_be_focused()
    page.keyboard.press("e")
    expect(page.locator("#facts-list input[name=value]")).to_be_focused()
    page.keyboard.press("Escape")
    facts_of(page).nth(1).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory/*-*")


def test_one_search_whose_state_is_the_address(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/overview")
    page.keyboard.press("/")
    page.keyboard.type("voilier")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory?q=voilier")
    expect(page.get_by_role("searchbox")).to_have_count(1)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    expect(rows_of(page).first).to_contain_text("Owen a un voilier rouge")
    expect(rows_of(page).locator("mark").first).to_have_text("voilier")
    expect(rows_of(page).locator(".score svg").first).to_have_attribute("width", "64")
    form = page.locator("#search-form")
    form.get_by_text("Text", exact=True).click()
    expect(page).to_have_url(re.compile("mode=text"))
    form.get_by_text("Hybrid", exact=True).click()
    form.get_by_text("Filters").click()
    form.get_by_label("Search in").select_option("talk")
    expect(page.locator("#found")).to_contain_text("Le voilier est à Nantes")
    expect(page.locator("#found")).not_to_contain_text("rouge")
    page.get_by_role("link", name="remove this filter").click()
    expect(page.locator("#found")).to_contain_text("rouge")
    form.get_by_text("Filters").click()
    form.get_by_label("Told by").fill("rose")
    expect(page).to_have_url(re.compile("user=rose"))
    expect(page.locator("#found")).not_to_contain_text("rouge")
    address = page.url

    page.goto("/overview")
    page.go_back()
    page.wait_for_url(address)
    expect(page.get_by_role("searchbox")).to_have_value("voilier")
    expect(form.get_by_label("Told by")).to_have_value("rose")
    expect(page.locator("#found")).not_to_contain_text("rouge")
    form.get_by_label("To, inclusive").fill("2020-01-01")
    expect(page.locator("#found")).to_contain_text("Nothing was found for “voilier”.")
    page.reload()
    expect(page.locator("#found")).to_contain_text("Nothing was found for “voilier”.")
    check_accessible(page)
    memory.flush()
    counts = [each.access_count for each in memory.memories(scope=HERE).items]
    assert counts == [0] * len(counts)  # looking is no use


def test_the_first_click_after_typing_counts(reader: Reader) -> None:
    page = reader.open("/memory?q=voil")
    why = rows_of(page).get_by_text("why").first
    page.get_by_role("searchbox").press("End")
    page.get_by_role("searchbox").press_sequentially("ier")
    why.hover()
    page.mouse.down()  # at once, while the search for what was typed is about to start
    page.wait_for_timeout(600)
    page.mouse.up()
    expect(page.locator("#found .reasons").first).to_be_visible()
    expect(page).to_have_url(re.compile("q=voilier"))


def test_what_was_replaced_is_marked(reader: Reader, memory: Hippocampe) -> None:
    old = memory.remember("La coque du voilier est verte", scope=HERE).memory
    new = memory.remember("La coque du voilier est bleue", scope=HERE, replaces=[old.id]).memory
    memory.flush()
    page = reader.open("/memory?q=coque&state=superseded")
    expect(rows_of(page)).to_have_count(1)
    expect(rows_of(page).first).to_contain_text("replaced")
    page.get_by_role("link", name="by what?").click()
    expect(page.locator("#panel h2").first).to_have_text(new.content)
    page.get_by_role("link", name=re.compile("^All")).click()
    expect(rows_of(page)).to_have_count(2)


def test_a_long_list_has_numbered_pages_and_sorted_columns(
    reader: Reader, memory: Hippocampe
) -> None:
    items = [
        {"content": f"Le bateau numéro {n} est au port {n}", "type": "event"} for n in range(120)
    ]
    memory.remember_many(items, scope=HERE)
    total = len(memory.memories(scope=HERE, limit=1000).items)
    page = reader.open("/memory")
    expect(page.get_by_role("link", name=f"Current {total}")).to_have_attribute(
        "aria-current", "page"
    )
    expect(rows_of(page)).to_have_count(50)
    first = rows_of(page).first.inner_text()
    page.get_by_role("link", name="Page 3").click()
    expect(page).to_have_url(re.compile(r"\?page=3$"))
    expect(rows_of(page)).to_have_count(total - 100)
    page.get_by_role("link", name="Learnt").click()
    page.get_by_role("link", name="Page 1").wait_for()
    assert rows_of(page).first.inner_text() != first
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("Learnt")
    page.go_back()
    expect(rows_of(page)).to_have_count(total - 100)


def test_several_at_once(reader: Reader, memory: Hippocampe) -> None:
    for thing in ("le mât", "la quille", "la barre"):
        memory.remember(f"Owen répare {thing}", scope=HERE, subjects=["atelier"])
    page = reader.open("/memory?subject=atelier")
    bar = page.locator("#several")
    expect(bar).to_be_hidden()
    rows_of(page).nth(0).get_by_role("checkbox").check()
    rows_of(page).nth(2).get_by_role("checkbox").click(modifiers=["Shift"])
    expect(bar).to_contain_text("3 selected")
    check_accessible(page)
    page.keyboard.press("Escape")
    rows_of(page).nth(1).focus()
    page.keyboard.press("Space")
    expect(bar).to_contain_text("2 selected")
    bar.get_by_role("button", name="Forget").click()
    expect(rows_of(page)).to_have_count(1)
    assert len(memory.memories(scope=HERE, subjects=["atelier"], state="forgotten").items) == 2
    page.get_by_role("button", name="Undo").click()
    expect(rows_of(page)).to_have_count(3)
    page.get_by_role("checkbox", name="Select all").check()
    bar.get_by_label("Keep for").select_option("7d")
    expect(page.get_by_role("status").last).to_be_attached()
    expect(page.locator(".toast").last).to_contain_text("3 memories changed.")
    limited = memory.memories(scope=HERE, subjects=["atelier"]).items
    assert all(each.expires_at for each in limited)
    page.evaluate("document.getElementById('toasts').replaceChildren()")
    expect(bar).to_be_hidden()  # the list has come anew
    page.get_by_role("checkbox", name="Select all").check()
    bar.get_by_label("Keep for").select_option("365d")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".toast")).to_contain_text("3 memories changed.")
    expect(page.locator(".toast").get_by_role("button", name="Undo")).to_have_count(0)
    before = {each.id: each.expires_at for each in limited}
    for each in memory.memories(scope=HERE, subjects=["atelier"]).items:
        assert each.expires_at is not None
        assert abs(each.expires_at - (before[each.id] or each.expires_at)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("language", "names"),
    [("en", ("Forget", "Restore", "Keep for")), ("fr", ("Oublier", "Rétablir", "Garder"))],
)
def test_several_are_offered_what_their_state_allows(
    reader: Reader, memory: Hippocampe, language: str, names: tuple[str, str, str]
) -> None:
    gone = memory.remember("Owen répare le mât", scope=HERE).memory
    memory.delete(gone.id, scope=HERE, reason="sold")
    forget, restore, keep = names
    for state, offered in (("current", {forget, keep}), ("forgotten", {restore}), ("all", names)):
        page = reader.open(f"/memory?state={state}", language=language)
        rows_of(page).first.get_by_role("checkbox").check()
        said = page.locator("#several").inner_text()
        assert {each for each in names if each in said} == {*offered}


def test_a_memory_opens_beside_the_list(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/memory")
    panel = page.locator("#panel")
    rows_of(page).filter(has_text="rouge").get_by_role("link", name="Owen").first.click()
    expect(panel.get_by_role("heading", level=2).first).to_have_text("Owen a un voilier rouge")
    expect(page).to_have_url(re.compile("open="))
    page.reload()
    expect(panel).to_contain_text("Owen a un voilier rouge")
    check_accessible(page)
    panel.get_by_role("button", name="Edit").click()
    panel.get_by_label("Statement").fill("Owen a un voilier bleu")
    rows_of(page).filter(has_text="Rose").get_by_role(
        "link", name="Rose veut un chien", exact=True
    ).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Discard your changes?")
    dialog.get_by_role("button", name="Cancel").click()
    panel.get_by_label("Statement").press("Control+Enter")
    expect(panel.get_by_role("heading", level=2).first).to_have_text("Owen a un voilier bleu")
    expect(rows_of(page).filter(has_text="bleu")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(panel).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    expect(page.locator(".toast").last).to_contain_text("Forgotten: “")


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_reply_of_a_found_exchange_has_a_line_of_its_own(
    reader: Reader, memory: Hippocampe, language: str
) -> None:
    page = reader.open("/memory?q=voilier", language=language)
    exchange = rows_of(page).filter(has_text="Bien noté").locator("p")
    expect(exchange).to_be_visible()
    assert exchange.inner_text().splitlines() == ["Le voilier est à Nantes", "assistant: Bien noté"]


def test_going_back_from_an_opened_memory_keeps_the_search(
    reader: Reader, memory: Hippocampe
) -> None:
    page = reader.open("/overview")
    page.goto("/memory")
    settle(page)
    page.locator("#search-form [name=q]").fill("voilier")
    expect(page).to_have_url(re.compile("q=voilier"))
    settle(page)
    searched, panel = page.url, page.locator("#panel")
    link = rows_of(page).filter(has_text="rouge").get_by_role("link", name="Owen").first
    link.click()
    expect(panel.get_by_role("heading", level=2).first).to_have_text("Owen a un voilier rouge")
    page.go_back()
    expect(panel).to_be_hidden()
    expect(page).to_have_url(searched)
    page.go_forward()
    expect(panel.get_by_role("heading", level=2).first).to_have_text("Owen a un voilier rouge")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page).to_have_url(searched)
    # Closed and opened again, it is one step back.
    link.click()
    expect(panel.get_by_role("heading", level=2).first).to_have_text("Owen a un voilier rouge")
    # The search is changed beside the panel: going back shows the one before.
    page.locator("#search-form [name=q]").fill("chien")
    expect(page).to_have_url(re.compile("q=chien"))
    page.go_back()
    expect(page).to_have_url(searched)
    settle(page)
    expect(page.locator("#search-form [name=q]")).to_have_value("voilier")
    page.go_back()
    expect(page).to_have_url(re.compile("/overview"))


def test_a_memory_that_is_opened_right_after_another_was_closed_stays_open(
    reader: Reader, memory: Hippocampe
) -> None:
    page = reader.open("/memory")
    # A busy browser goes back a while after it was told to.
    page.evaluate(
        "() => { const back = history.back; history.back = () => { window.back = back; }; }"
    )
    panel = page.locator("#panel")
    title = panel.get_by_role("heading", level=2).first
    link = rows_of(page).get_by_role("link", name="Owen a un voilier rouge", exact=True)
    link.click()
    expect(title).to_have_text("Owen a un voilier rouge")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    link.click()
    page.evaluate(
        """() => new Promise((gone) => {
            addEventListener("popstate", () => setTimeout(gone));
            window.back.call(history);
        })"""
    )
    expect(title).to_have_text("Owen a un voilier rouge")
    page.go_back()
    expect(panel).to_be_hidden()
    expect(page).to_have_url(re.compile("/memory$"))


def test_a_tap_on_a_row_opens_its_memory(reader: Reader, memory: Hippocampe) -> None:
    kept = memory.memories(scope=HERE, subjects=["voilier"]).items[0]
    page = reader.open("/memory", size=PHONE)
    row = rows_of(page).filter(has_text="rouge")
    row.locator("[type=checkbox]").click()
    expect(page.locator("#several")).to_be_visible()
    row.locator(".kind").click()
    page.wait_for_url(f"**/memory/{kept.id}")
    page.go_back()
    settle(page)
    row.get_by_role("link", name="owen", exact=True).click()
    expect(page).to_have_url(re.compile("user=owen"))


@pytest.mark.parametrize(("language", "word"), [("en", "result"), ("fr", "résultat")])
def test_a_screen_reader_is_told_how_much_was_found(
    reader: Reader, memory: Hippocampe, language: str, word: str
) -> None:
    page = reader.open("/memory", language=language)
    # One that is inserted with its text may stay silent.
    status = page.locator(".beside [role=status]").element_handle()
    with page.expect_response(lambda answer: "q=voilier" in answer.url):
        page.locator("#find").fill("voilier rouge")
    settle(page)
    page.wait_for_function("status => status.isConnected && status.textContent", arg=status)
    assert word in status.inner_text()


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_field_of_a_new_memory_takes_the_width_of_its_form(
    reader: Reader, memory: Hippocampe, language: str
) -> None:
    page = reader.open("/memory", language=language)
    page.locator(".head [data-toggle=add]").click()
    form, field = page.locator("#add").bounding_box(), page.locator("#add textarea").bounding_box()
    assert form and field and field["width"] > form["width"] - 60
    shoot(page, f"add-{language}")


def test_a_memory_is_added_by_hand(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/memory")
    page.get_by_role("button", name="Add").click()
    add = page.locator("#add")
    add.get_by_label("Statement").fill("Rose a vendu son vélo")
    add.get_by_label("Told by").fill("rose")
    add.get_by_label("Statement").press("Control+Enter")
    expect(rows_of(page).first).to_contain_text("Rose a vendu son vélo")
    assert memory.recent(1, scope=HERE)[0].user == "rose"


def test_what_is_typed_in_an_open_form_stays(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/memory")
    opener = page.get_by_role("button", name="Add")
    opener.dblclick()
    field = page.get_by_label("Statement")
    expect(field).to_be_focused()
    field.fill("Rose a vendu son vélo")
    opener.click()
    expect(field).to_be_focused()
    expect(field).to_have_value("Rose a vendu son vélo")

    # The next statement, typed before the answer to the first one.
    with held(page, "**/memory/add") as go_on:
        field.press("Control+Enter")
    field.fill("Rose cherche un vélo")
    go_on()
    expect(rows_of(page).first).to_contain_text("Rose a vendu son vélo")
    expect(field).to_have_value("Rose cherche un vélo")
    field.press("Control+Enter")
    expect(rows_of(page).first).to_contain_text("Rose cherche un vélo")
    expect(field).to_have_value("")
    page.get_by_role("button", name="Cancel").click()
    expect(field).to_be_hidden()
    expect(opener).to_be_focused()


def test_going_back_to_an_earlier_search_keeps_what_is_typed(
    reader: Reader, memory: Hippocampe
) -> None:
    page = reader.open("/memory?user=owen")
    rows_of(page).get_by_role("link", name="Owen a un voilier rouge", exact=True).click()
    expect(page.locator("#panel")).to_be_visible()
    page.get_by_role("button", name="Add").click()
    field = page.locator("#add textarea")
    field.fill("Rose a vendu son vélo")
    page.locator("#search-form").get_by_label("Told by").fill("rose")
    expect(rows_of(page)).to_contain_text(["Rose veut un chien"])
    page.go_back()
    expect(page.locator("#panel")).to_be_hidden()
    expect(rows_of(page)).to_contain_text(["Owen a un voilier rouge"])
    expect(page).to_have_url(re.compile(r"/memory\?user=owen$"))
    expect(field).to_have_value("Rose a vendu son vélo")
    field.fill("")


def test_a_statement_of_a_failed_request_is_kept_until_it_is_sent(
    reader: Reader, memory: Hippocampe
) -> None:
    page = reader.open("/memory")
    page.get_by_role("button", name="Add").click()
    page.route("**/memory/add", lambda route: route.abort())
    page.get_by_label("Statement").fill("Rose a vendu son vélo")
    page.get_by_label("Statement").press("Control+Enter")
    toasts = page.locator("#toasts")
    expect(toasts).to_contain_text("The server does not answer.")
    expect(toasts).to_contain_text("it may have been stored")
    page.unroute("**/memory/add")
    page.get_by_label("Statement").press("Control+Enter")
    expect(rows_of(page).first).to_contain_text("Rose a vendu son vélo")
    expect(toasts).not_to_contain_text("The server does not answer.")
    for complaint in ("net::ERR_FAILED", "htmx:afterRequest", "htmx:sendError"):
        reader.forgive(complaint)


@pytest.mark.parametrize(
    ("language", "add", "statement", "said"),
    [
        ("en", "Add", "Statement", "Nothing was changed: try again."),
        ("fr", "Ajouter", "Énoncé", "Rien n’a été changé"),
    ],
)
def test_a_page_that_is_older_than_its_server_sends_again(
    reader: Reader, memory: Hippocampe, language: str, add: str, statement: str, said: str
) -> None:
    page = reader.open("/memory", language=language)
    page.get_by_role("button", name=add).click()
    # As after a restart: the token belongs to no cookie of the server.
    page.context.clear_cookies()
    page.get_by_label(statement).fill("Rose a vendu son vélo")
    page.get_by_label(statement).press("Control+Enter")
    expect(page.locator("#toasts .danger")).to_contain_text(said)
    page.get_by_label(statement).press("Control+Enter")
    expect(rows_of(page).first).to_contain_text("Rose a vendu son vélo")
    expect(page.locator("#toasts .danger")).to_have_count(0)
    reader.forgive("403")


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_search_that_failed_is_asked_again(
    reader: Reader, memory: Hippocampe, language: str
) -> None:
    page = reader.open("/memory", language=language)
    page.route("**/memory?*", lambda route: route.abort())
    box = page.get_by_role("searchbox")
    box.fill("voilier")
    box.press("Enter")
    expect(page.locator("#found .broken")).to_be_visible()
    page.unroute("**/memory?*")
    box.press("Enter")
    expect(rows_of(page).first).to_contain_text("voilier")
    for complaint in ("net::ERR_FAILED", "htmx:afterRequest", "htmx:sendError"):
        reader.forgive(complaint)


@pytest.mark.parametrize(
    ("language", "add", "statement", "empty"),
    [("en", "Add", "Statement", "is empty"), ("fr", "Ajouter", "Énoncé", "est vide")],
)
def test_the_error_of_a_statement_goes_when_it_is_sent_again(
    reader: Reader, language: str, add: str, statement: str, empty: str
) -> None:
    page = reader.open("/memory", language=language)
    page.get_by_role("button", name=add).click()
    toasts = page.locator("#toasts")
    for _ in range(2):
        page.get_by_label(statement).fill("\u2060")
        page.get_by_label(statement).press("Control+Enter")
        expect(toasts.locator(".danger")).to_have_count(1)
        expect(toasts).to_contain_text(empty)
    page.get_by_label(statement).fill("Lise répare des vélos")
    page.get_by_label(statement).press("Control+Enter")
    expect(rows_of(page).first).to_contain_text("Lise répare des vélos")
    expect(toasts.locator(".danger")).to_have_count(0)
    reader.forgive("422")


def test_a_proxy_without_its_server_is_a_server_that_does_not_answer(reader: Reader) -> None:
    page = reader.open("/memory", language="fr")
    page.get_by_role("button", name="Ajouter").click()
    page.route(
        "**/memory/add", lambda route: route.fulfill(status=502, body="<html>Bad Gateway</html>")
    )
    page.get_by_label("Énoncé").fill("Rose a vendu son vélo")
    page.get_by_label("Énoncé").press("Control+Enter")
    toasts = page.locator("#toasts")
    expect(toasts).to_contain_text("Le serveur ne répond pas.")
    expect(toasts).to_contain_text("c’est peut-être enregistré")
    reader.forgive("502")


def test_a_head_of_a_list_on_a_phone_shows_when_the_keyboard_reaches_it(
    reader: Reader, memory: Hippocampe
) -> None:
    memory.set_fact("boisson", "le thé", scope=HERE)
    page = reader.open("/facts", size=PHONE)
    head = page.locator("thead")
    hidden = head.bounding_box()
    page.get_by_role("button", name="Add").focus()
    while not page.evaluate("document.activeElement.closest('thead') !== null"):
        assert page.evaluate("document.activeElement.closest('tbody') === null")
        page.keyboard.press("Tab")
    shown = head.bounding_box()
    assert hidden and shown and hidden["height"] < 2 < 20 < shown["height"]
    check_fits(page)


def test_a_part_that_fails_says_so_and_is_tried_again(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/facts")
    page.route("**/facts?*", lambda route: route.abort())
    page.get_by_role("searchbox").fill("boisson")
    facts = page.locator("#facts-list")
    expect(facts).to_contain_text("The server does not answer.")
    page.unroute("**/facts?*")
    facts.get_by_role("button", name="Try again").click()
    expect(facts).to_contain_text("Nothing was found for “boisson”.")
    for complaint in ("net::ERR_FAILED", "htmx:afterRequest", "htmx:sendError"):
        reader.forgive(complaint)


def test_a_reader_may_look_and_change_nothing(reader: Reader, memory: Hippocampe) -> None:
    memory.set_fact("boisson", "le thé", scope=HERE)
    page = reader.open("/memory", role="read")
    expect(rows_of(page)).to_have_count(3)
    assert page.get_by_role("button", name=re.compile("Edit|Add|Forget")).count() == 0
    expect(page.get_by_role("checkbox")).to_have_count(0)
    expect(page.locator(".keys")).not_to_contain_text("forget")
    page.goto("/facts")
    expect(facts_of(page)).to_have_count(1)
    assert page.get_by_role("button", name=re.compile("Edit|Add|Forget")).count() == 0
    check_accessible(page)
    token = page.evaluate("JSON.parse(document.body.getAttribute('hx-headers'))['X-CSRF-Token']")
    for path in ("/facts", "/facts/forget", "/memory/add", "/memory/forget", "/memory/expire"):
        status = page.evaluate(
            """([path, token]) => fetch(path, {method: "POST", body: new URLSearchParams({key: "a", value: "b"}),
            headers: {"X-CSRF-Token": token}}).then((answer) => answer.status)""",
            [path, token],
        )
        assert status == 403, path
    reader.forgive("403")
    assert memory.facts(scope=HERE)["boisson"].content == "le thé"


@pytest.mark.parametrize(
    ("language", "theme", "size"),
    [("fr", "dark", PHONE), ("en", "light", PHONE), ("fr", "light", WIDE)],
)
def test_they_fit_and_are_accessible(
    reader: Reader, memory: Hippocampe, language: str, theme: str, size: tuple[int, int]
) -> None:
    memory.set_fact("adresse_du_serveur", "192.168.1.24 " * 12, scope=HERE)
    page = reader.open("/memory?user=owen", language=language, theme=theme, size=size)
    for path in ("/memory?user=owen", "/memory?q=voilier", "/facts"):
        page.goto(path)
        settle(page)
        check_fits(page)
        check_accessible(page)
