"""The page that describes the endpoints, served without any other host."""

import re

import httpx

from answers import ok
from browsing import PHONE, Reader, check_accessible, check_fits, shoot


def test_every_endpoint_is_described(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    for path, methods in ok(client.get("/openapi.json"))["paths"].items():
        for operation in methods.values():
            assert f'<article id="{operation["operationId"]}">' in page.text
        assert f"<code>{path}</code>" in page.text
    linked = re.findall(r'(?:src|href)="([^"#]+)"', page.text)
    assert linked
    assert all(each.startswith("/") for each in linked)
    for each in linked:
        assert client.get(each).status_code == 200, each
    assert "<script" not in page.text


def test_the_dashboard_leads_to_it_and_back(client: httpx.Client) -> None:
    assert '<a href="/docs">' in client.get("/overview", follow_redirects=True).text
    assert '<a href="/overview">' in client.get("/docs").text


def test_the_page_needs_no_key(connect: object) -> None:
    assert callable(connect)
    client: httpx.Client = connect("read")
    assert client.get("/docs", headers={"Authorization": ""}).status_code == 200


def test_the_page_is_readable(reader: Reader) -> None:
    for size, theme, language in (((1440, 900), "light", "en"), (PHONE, "dark", "fr")):
        page = reader.open("/docs", size=size, theme=theme, language=language)
        french = language == "fr"
        assert page.get_by_role("link", name="Tableau de bord").count() == french
        assert ("La mémoire à long terme" in page.locator("main").inner_text()) == french
        assert (
            page.locator("#remember caption").first.inner_text()
            in (
                "Paramètres",
                "Champs du corps",
            )
            or not french
        )
        check_accessible(page)
        check_fits(page)
        shoot(page, f"docs-{theme}")
        page.locator("#remember details summary").first.click()
        assert page.locator("#remember pre").first.is_visible()
