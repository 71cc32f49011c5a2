"""The frame of the pages: login, tokens, headers, language, theme, keyboard, phone."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import expect

from browsing import PHONE, Reader, check_accessible, check_fits, session_cookie
from hippocampe import Hippocampe, Scope
from hippocampe.server import dashboard
from hippocampe.server.dashboard.site import POLICY
from hippocampe.server.http.sessions import COOKIE, IDLE_SECONDS, Sessions

DASHBOARD = Path(dashboard.__file__).parent
BROWSER = {"Accept": "text/html"}


def log_in(client: httpx.Client, secret: str, next: str = "/") -> httpx.Response:
    """Log a client in; afterwards it holds the cookie only."""
    client.headers.pop("Authorization", None)
    page = client.get("/login")
    cookie = {"Cookie": f"{COOKIE}={_cookie(page)}"}
    token = re.search(r'name="token" value="(\w+)"', page.text)
    assert token is not None
    body = {"key": secret, "token": token[1], "next": next}
    done = client.post("/login", data=body, headers=cookie)
    client.cookies.clear()
    if done.status_code == 303:
        client.headers["Cookie"] = f"{COOKIE}={_cookie(done)}"
    return done


def _cookie(response: httpx.Response) -> str:
    found = re.search(rf"{COOKIE}=([\w-]+)", response.headers["set-cookie"])
    assert found is not None
    return found[1]


def token_of(client: httpx.Client) -> str:
    """The token that the pages of a client carry."""
    found = re.search(r'"X-CSRF-Token":"(\w+)"', client.get("/overview").text)
    assert found is not None
    return found[1]


@pytest.fixture
def keyed(connect: Any, memory: Hippocampe) -> tuple[httpx.Client, str]:
    """A client that has to log in, and a key of an administrator."""
    secret = memory.create_key(scope=Scope(space="home"), role="admin").secret
    return connect("admin"), secret


def test_a_browser_without_a_key_is_led_to_the_login(keyed: tuple[httpx.Client, str]) -> None:
    client, secret = keyed
    del client.headers["Authorization"]
    refused = client.get("/memory?q=a%20b", headers=BROWSER)
    assert refused.status_code == 303
    assert refused.headers["location"] == "/login?next=%2Fmemory%3Fq%3Da%2520b"
    assert client.get("/memory").status_code == 401
    # A part of a page that was open when the login ended.
    open_page = {
        "HX-Request": "true",
        "HX-Current-URL": "http://localhost/memory?q=th%C3%A9&page=2",
    }
    part = client.get("/memory", headers=open_page)
    login = "/login?next=%2Fmemory%3Fq%3Dth%25C3%25A9%26page%3D2"
    assert (part.status_code, part.headers["hx-redirect"]) == (401, login)
    edit = client.post("/memory/x", headers=open_page)
    assert (edit.status_code, edit.headers.get("hx-redirect")) == (401, None)
    assert 'name="next" value="/memory?q=th%C3%A9&amp;page=2"' in client.get(login).text
    assert client.get("/static/base.css").status_code == 200
    assert client.get("/static/../app.py").status_code in (401, 404)
    done = log_in(client, secret, "/memory?q=a%20b")
    assert done.headers["location"] == "/memory?q=a%20b"


def test_the_cookie_of_a_login(keyed: tuple[httpx.Client, str]) -> None:
    client, secret = keyed
    done = log_in(client, secret)
    assert re.fullmatch(
        rf"{COOKIE}=[\w-]{{43}}; HttpOnly; Path=/; SameSite=strict; Secure",
        done.headers["set-cookie"],
    )
    assert secret not in done.headers["set-cookie"]
    assert client.get("/overview").status_code == 200


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil", "x", ""])
def test_a_login_leads_nowhere_else(keyed: tuple[httpx.Client, str], target: str) -> None:
    client, secret = keyed
    assert log_in(client, secret, target).headers["location"] == "/"


def test_a_wrong_key_and_a_form_of_another_site(keyed: tuple[httpx.Client, str]) -> None:
    client, secret = keyed
    refused = log_in(client, "hippo_wrong")
    assert refused.status_code == 401
    assert "hippo_wrong" not in refused.text
    assert client.post("/login", data={"key": secret}).status_code == 403
    assert client.post("/login", data={"key": secret, "token": "x"}).status_code == 403


def test_a_login_ends_with_its_key(keyed: tuple[httpx.Client, str], memory: Hippocampe) -> None:
    client, secret = keyed
    log_in(client, secret)
    key = memory.find_key(secret)
    assert key is not None
    memory.revoke_key(key.id)
    assert client.get("/overview", headers=BROWSER).status_code == 303
    assert client.get("/api/memories").status_code == 401


def test_a_change_needs_the_token_of_its_page(keyed: tuple[httpx.Client, str]) -> None:
    client, secret = keyed
    log_in(client, secret)
    fact = {"key": "ville", "value": "Nantes"}
    for headers in ({}, {"X-CSRF-Token": "x"}, {"X-CSRF-Token": "é".encode()}):
        refused = client.post("/api/memory/facts", json=fact, headers=headers)
        assert refused.status_code == 403, headers
        assert client.post("/logout", headers=headers).status_code == 403
    right = {"X-CSRF-Token": token_of(client)}
    assert client.post("/api/memory/facts", json=fact, headers=right).status_code == 201
    assert client.get("/api/memory/facts").json()[0]["value"] == "Nantes"
    # A key in the header needs none: no other site can send it.
    keyed_call = {"Authorization": f"Bearer {secret}", "Cookie": ""}
    assert client.post("/api/memory/facts", json=fact, headers=keyed_call).status_code == 201
    assert client.post("/logout", headers=right).headers["location"] == "/login"
    assert client.get("/overview", headers=BROWSER).status_code == 303


def test_on_loopback_a_change_needs_it_too(client: httpx.Client) -> None:
    assert client.post("/preferences", data={"theme": "dark"}).status_code == 403
    token = token_of(client)
    assert client.post("/preferences", data={"theme": "dark"}).status_code == 403
    done = client.post("/preferences", data={"theme": "dark"}, headers={"X-CSRF-Token": token})
    assert (done.status_code, client.cookies["hippocampe_theme"]) == (200, "dark")
    assert 'data-theme="dark"' in client.get("/overview").text


@pytest.mark.parametrize("space", ["work", "cœur", "日本", 'é; "100 %', "a%20b"])
def test_a_space_of_any_name_can_be_chosen(
    client: httpx.Client, memory: Hippocampe, space: str
) -> None:
    memory.remember("Owen a un voilier", scope=Scope(space=space))
    right = {"X-CSRF-Token": token_of(client)}
    chosen = client.post("/preferences", data={"space": space}, headers=right)
    assert (chosen.status_code, chosen.headers["hx-redirect"]) == (200, "/")
    assert "Owen a un voilier" in client.get("/memory").text


def test_a_login_ends_after_a_while() -> None:
    now = 0.0
    sessions = Sessions(clock=lambda: now)
    first = sessions.open("key")
    now += IDLE_SECONDS - 1
    assert sessions.secret(first) == "key"
    now += IDLE_SECONDS - 1
    assert sessions.secret(first) == "key"
    now += IDLE_SECONDS + 1
    assert sessions.secret(first) is None
    assert not Sessions().genuine(first, sessions.token(first))


def test_every_answer_keeps_foreign_code_out(client: httpx.Client) -> None:
    for path in ("/overview", "/login", "/static/app.js", "/api/memories", "/nowhere"):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == POLICY, path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
    assert "unsafe" not in POLICY


def test_a_file_whose_address_names_its_content_is_kept(client: httpx.Client) -> None:
    page = client.get("/memory")
    assert page.headers["cache-control"] == "no-store"
    (address,) = re.findall(r'href="(/static/base\.css\?\w+)"', page.text)
    assert client.get(address).headers["cache-control"] == "max-age=31536000, immutable"
    assert client.get("/static/base.css").headers["cache-control"] == "no-cache"


def test_files_are_compressed_and_pages_are_not(client: httpx.Client) -> None:
    url = "/static/vendor/htmx.min.js"
    packed = client.get(url, headers={"Accept-Encoding": "gzip"})
    plain = client.get(url, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(plain.content) / 2
    assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    known = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["etag"]}
    assert client.get(url, headers=known).status_code == 304
    # Its length would tell of the token in it.
    assert "content-encoding" not in client.get("/overview").headers


def test_a_wrong_address_is_a_page_for_a_browser_only(client: httpx.Client) -> None:
    page = client.get("/nowhere", headers=BROWSER)
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "/overview" in page.text
    for path in ("/nowhere", "/static/nothing.js"):
        assert client.get(path).headers["content-type"] == "application/problem+json"
    assert client.post("/nowhere", headers=BROWSER).status_code == 404


@pytest.mark.parametrize(
    ("asked", "language"), [("fr-FR,en;q=0.5", "fr"), ("de,en", "en"), ("de", "fr"), ("", "fr")]
)
def test_the_language_of_the_browser_or_of_the_space(
    client: httpx.Client, asked: str, language: str
) -> None:
    text = client.get("/overview", headers={"Accept-Language": asked}).text
    assert f'<html lang="{language}"' in text


# In a browser.


def test_the_login_in_a_browser(reader: Reader) -> None:
    page = reader.open("/overview", role="read", space="home")
    assert page.title() == "Overview · Hippocampe"
    cookie = session_cookie(page)
    assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login")
    check_accessible(page)
    page.get_by_label("Key", exact=True).fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    assert "not a key" in page.get_by_role("alert").inner_text()
    check_accessible(page)
    reader.forgive("401")


def test_the_login_names_the_folder_to_those_of_this_machine(
    keyed: tuple[httpx.Client, str], memory: Hippocampe
) -> None:
    client, _ = keyed
    line = f"keys create --role admin --folder {memory.config.folder}"
    assert line in client.get("/login").text
    away = client.get("/login", headers={"X-Forwarded-For": "203.0.113.7"}).text
    assert str(memory.config.folder) not in away
    assert "hippocampe keys create" in away


def test_the_reason_of_an_error_is_in_the_language_of_the_page(
    client: httpx.Client, memory: Hippocampe
) -> None:
    french = {"Accept-Language": "fr"}
    gone = client.get("/memory/01a210ae-4793-7211-9dc7-490f9779db07", headers=french)
    assert (gone.status_code, "n’a pas de souvenir" in gone.text) == (404, True)
    assert "recall" not in gone.text
    lost = client.get(
        "/memory/01a210ae-4793-7211-9dc7-490f9779db07", headers={"Accept-Language": "en"}
    )
    assert "has no memory" in lost.text and "recall" not in lost.text
    wrong = client.get("/memory?since=hier", headers=french | {"HX-Request": "true"})
    assert wrong.status_code == 422
    assert wrong.json()["detail"].startswith("'hier' n’est pas une date")
    kept = memory.remember("Owen a un voilier", scope=Scope()).memory
    headers = french | {"X-CSRF-Token": token_of(client), "HX-Request": "true"}
    empty = client.post("/memory/add", data={"content": "  "}, headers=headers)
    assert empty.json()["detail"].startswith("le texte est vide")
    unnamed = client.post("/facts", data={"key": " ", "value": "bleu"}, headers=headers)
    assert unnamed.json()["detail"].startswith("le nom est vide")
    again = client.post(f"/memory/{kept.id}/restore", headers=headers)
    assert again.json()["detail"].endswith("il n’y a rien à rétablir.")


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "A secret in it was masked."), ("fr", "Un secret y a été masqué.")],
)
def test_a_masked_secret_is_told(client: httpx.Client, language: str, said: str) -> None:
    headers = {"X-CSRF-Token": token_of(client), "HX-Request": "true", "Accept-Language": language}
    for typed, told in (("The wifi password is tulip42", True), ("Owen a un voilier", False)):
        done = client.post("/memory/add", data={"content": typed}, headers=headers)
        toast = json.loads(done.headers["HX-Trigger"])["toast"]
        assert (said in str(toast)) is told


def test_language_theme_and_the_search_by_keyboard(reader: Reader, memory: Hippocampe) -> None:
    memory.remember("Owen a un voilier", scope=Scope())
    page = reader.open("/overview")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.get_by_role("button", name="FR").click()
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    expect(page.get_by_role("heading", level=1)).to_have_text("Vue d’ensemble")
    page.wait_for_load_state()
    for theme in ("light", "dark", "system"):
        page.locator("#theme").click()
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        check_accessible(page)
    page.keyboard.press("Tab")
    assert "skip" in (page.evaluate("document.activeElement.className") or "")


def test_the_menu_has_groups_and_counts_what_waits(reader: Reader, memory: Hippocampe) -> None:
    memory.remember("Rose peint son petit bateau en bois", scope=Scope(user="rose"))
    memory.remember("Rose vend son petit bateau en bois", scope=Scope(user="rose"))
    waiting = memory.stats(scope=Scope()).reviews
    assert waiting
    page = reader.open("/overview")
    menu = page.get_by_role("navigation", name="Sections")
    assert menu.get_by_role("heading").all_inner_texts() == ["Memory", "Activity", "System"]
    expect(menu.locator("#badge-reviews")).to_have_text(f"{waiting} waiting")
    expect(menu.locator("#badge-jobs")).to_be_hidden()
    expect(menu.get_by_role("link", name="Logs")).to_be_visible()
    page.goto("/reviews")
    expect(menu.get_by_role("link", name="Reviews")).to_have_attribute("aria-current", "page")
    for left in reversed(range(waiting)):
        page.locator("[data-review] button", has_text="Keep both").first.click()
        expect(page.locator("[data-review]")).to_have_count(left)
    expect(menu.locator("#badge-reviews")).to_be_hidden()
    page = reader.open("/overview", role="read")
    expect(page.get_by_role("link", name="Jobs")).to_be_visible()
    expect(page.get_by_role("link", name="Logs")).to_have_count(0)


def test_the_rail_is_a_menu_on_a_phone(reader: Reader) -> None:
    page = reader.open("/overview", size=PHONE, language="fr")
    check_fits(page)
    rail = page.get_by_role("navigation")
    assert not rail.is_visible()
    page.get_by_role("button", name="Menu").click()
    assert rail.is_visible()
    check_accessible(page)
    page.keyboard.press("Escape")
    assert not rail.is_visible()


def test_tab_goes_from_the_menu_of_a_phone_through_its_links_and_out(reader: Reader) -> None:
    page = reader.open("/overview", size=PHONE, language="fr")
    menu, rail = page.get_by_role("button", name="Menu"), page.get_by_role("navigation")
    menu.focus()
    page.keyboard.press("Enter")
    links = rail.get_by_role("link")
    expect(links.first).to_be_focused()
    page.keyboard.press("Tab")
    expect(links.nth(1)).to_be_focused()
    links.last.focus()
    page.keyboard.press("Tab")
    expect(rail).to_be_hidden()
    expect(menu).to_have_attribute("aria-expanded", "false")


@pytest.mark.parametrize("language", ["en", "fr"])
def test_an_address_names_its_space(reader: Reader, memory: Hippocampe, language: str) -> None:
    home = Scope(space="été")
    memory.remember("Owen a un voilier", scope=home)
    memory.remember("Rose a un vélo", scope=Scope())
    page = reader.open("/memory?space=%C3%A9t%C3%A9", language=language)
    expect(page.locator("#found")).to_contain_text("Owen a un voilier")
    page.locator("#rail a[href='/overview']").click()
    expect(page.locator("select[name=space]")).to_have_value("été")


def test_another_space_from_its_start(reader: Reader, memory: Hippocampe) -> None:
    memory.remember("Owen a un voilier", scope=Scope(space="home"))
    memory.remember("Rose a un vélo", scope=Scope())
    page = reader.open("/overview")
    with page.expect_navigation(url="**/overview"):
        page.locator("select[name=space]").select_option("home")
    expect(page.locator("select[name=space]")).to_have_value("home")


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_tab_stays_in_its_space_when_another_one_is_chosen_beside_it(
    reader: Reader, memory: Hippocampe, language: str
) -> None:
    summer = "L'été 🌞"
    memory.remember("Owen a un voilier", scope=Scope(space=summer))
    memory.remember("Rose a un vélo", scope=Scope())
    page = reader.open("/memory", language=language)
    with page.expect_navigation(url="**/overview"):
        page.locator("select[name=space]").select_option(summer)
    page.goto("/memory")
    beside = page.context.new_page()
    beside.goto("/overview")
    with beside.expect_navigation(url="**/overview"):
        beside.locator("select[name=space]").select_option("default")
    page.locator(".head [data-toggle=add]").click()
    page.locator("#add [name=content]").fill("Owen vend son voilier")
    with page.expect_response("**/memory/add"):
        page.locator("#add .primary").click()
    assert memory.stats(scope=Scope(space=summer)).memories["memory"] == 2
    assert memory.stats(scope=Scope()).memories["memory"] == 1
    # A link of the tab in use goes on in its space too. Reading the cookie waits for its write.
    cookie = page.evaluate("() => (dispatchEvent(new Event('focus')), document.cookie)")
    assert quote(summer, safe="'") in cookie
    with page.expect_navigation(url="**/memory"):
        page.locator("#rail a[href='/memory']").click()
    expect(page.locator("select[name=space]")).to_have_value(summer)
    expect(page.locator("#found")).to_contain_text("Owen vend son voilier")
