"""A real browser for the tests of the pages, and what must hold on all of them."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect, sync_playwright

from hippocampe import Hippocampe, Scope
from hippocampe.server.http.sessions import COOKIE
from missing import missing

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No process in reserve for the next page, and none of its own for the graphics: a third of the time of a new page.
    "--renderer-process-limit=1",
    "--in-process-gpu",
)
WIDE, PHONE = (1440, 900), (390, 844)
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
MOST_MS = 15_000
expect.set_options(timeout=MOST_MS)


@contextmanager
def launched() -> Iterator[Browser]:
    """Chromium: `$CHROMIUM`, that of the path, or Playwright's own. Without one, tests are skipped."""
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        except Error as exc:
            missing(f"Chromium ({str(exc).splitlines()[0]})")
        yield browser
        browser.close()


class Reader:
    """Opens pages of a memory, and keeps what the browser complains about.

    Attributes:
        complaints: Errors of scripts and of the console since the last look.
    """

    def __init__(
        self, browser: Browser, memory: Hippocampe, connect: Callable[..., httpx.Client]
    ) -> None:
        self.complaints: list[str] = []
        self._browser = browser
        self._memory = memory
        self._connect = connect
        self._contexts: list[BrowserContext] = []

    def open(
        self,
        path: str = "/",
        *,
        role: Any = None,
        space: str = "default",
        language: str = "en",
        theme: str = "light",
        size: tuple[int, int] = WIDE,
    ) -> Page:
        """Open a page as a new reader; one with a role logs in with a key."""
        url = str(self._connect(role, space).base_url).rstrip("/")
        context = self._browser.new_context(
            base_url=url,
            locale={"en": "en-GB", "fr": "fr-FR"}[language],
            color_scheme="dark" if theme == "dark" else "light",
            viewport={"width": size[0], "height": size[1]},
            permissions=["clipboard-read", "clipboard-write"],
            reduced_motion="reduce",
        )
        context.set_default_timeout(MOST_MS)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if role is not None:
            key = self._memory.create_key(scope=Scope(space=space), role=role, label="browser")
            page.goto("/login")
            page.locator("input[name=key]").fill(key.secret)
            page.locator("button.primary").click()
            page.wait_for_url(lambda at: "/login" not in at)
        page.goto(path)
        settle(page)
        return page

    def _said(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def forgive(self, what: str) -> None:
        """Take complaints off that a test provoked."""
        assert any(what in each for each in self.complaints), self.complaints
        self.complaints = [each for each in self.complaints if what not in each]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for context in self._contexts:
            context.close()
        assert error is not None or self.complaints == [], self.complaints


def settle(page: Page) -> None:
    """Wait until every part of a page is loaded."""
    expect(page.locator(".skeleton, .htmx-request")).to_have_count(0, timeout=MOST_MS)


def check_accessible(page: Page) -> None:
    """No serious finding of axe."""
    found = Axe().run(page).response["violations"]
    serious = [
        (each["id"], [node["html"][:160] for node in each["nodes"]][:3])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []


OUTSIDE = """() => [...document.querySelectorAll(".figures li, .card, .ways > li")].flatMap((box) => {
    const { left, right } = box.getBoundingClientRect();
    const clipped = (each) => each !== box && (getComputedStyle(each).overflowX !== "visible" || clipped(each.parentElement));
    return [...box.querySelectorAll("*")].filter((each) => {
        const inside = each.getBoundingClientRect();
        return each.checkVisibility() && !each.closest(".sr") && (inside.left < left - 1 || inside.right > right + 1)
            && !clipped(each.parentElement);
    }).map((each) => `${box.className} ${left} to ${right}: ${each.getBoundingClientRect().right} ${each.outerHTML.slice(0, 100)}`);
})"""


def check_fits(page: Page) -> None:
    """Nothing is wider than the window, nor than its tile or card."""
    outside = page.evaluate(OUTSIDE)
    assert outside == [], outside
    wide = page.evaluate(
        "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert wide <= 0


SMALL = """() => [...document.querySelectorAll("a, button, select, summary, input:not([type=hidden], [type=checkbox])")]
    .filter((each) => {
        const { width, height } = each.getBoundingClientRect();
        const style = getComputedStyle(each);
        const shown = width && height && style.visibility !== "hidden" && style.opacity !== "0" && !each.closest(".sr, .skip");
        return shown && style.display !== "inline" && (width < 23.5 || height < 23.5);
    })
    .map((each) => each.outerHTML.slice(0, 120))"""


def check_targets(page: Page) -> None:
    """Every control is 24 px high and wide; a link in a text is as high as its line (WCAG 2.5.8)."""
    assert page.evaluate(SMALL) == []


def session_cookie(page: Page) -> dict[str, Any]:
    """The cookie of the session of a browser."""
    (found,) = [each for each in page.context.cookies() if each.get("name") == COOKIE]
    return dict(found)


def shoot(page: Page, name: str) -> None:
    """Keep a picture of the whole page in the folder `$SHOTS`, if it is set."""
    if folder := os.environ.get("SHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
