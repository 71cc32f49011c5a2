"""A real browser for the tests of the pages, and what must hold on all of them."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Dialog, Error, Page, Route, expect, sync_playwright

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
    # No other process for a page without an address, which each page is left for.
    "--disable-site-isolation-trials",
)
WIDE, PHONE = (1440, 900), (390, 844)
CHROMIUM = (
    os.environ.get("CHROMIUM")
    # Without the parts of the desktop, it takes a third less time.
    or shutil.which("chromium-headless-shell")
    or shutil.which("chromium")
)
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


class Pages:
    """Pages of a browser, each with cookies of its own, used again: a new one takes twice the time to open.

    The browser stays for all tests of a process. Playwright leaves its loop running in this thread, where asyncio
    can be used by a test while the loop is paused.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._unused: dict[tuple[str, str], list[Page]] = {}
        self._loop = asyncio.get_running_loop()
        self.pause()

    def pause(self) -> None:
        """Pause the loop of Playwright."""
        asyncio._set_running_loop(None)

    def resume(self) -> Browser:
        """Go on with the browser."""
        asyncio._set_running_loop(self._loop)
        return self._browser

    def take(self, url: str, language: str) -> Page:
        """A page that knows nothing, at no address yet."""
        if unused := self._unused.get((url, language)):
            return unused.pop()
        context = self._browser.new_context(
            base_url=url,
            locale={"en": "en-GB", "fr": "fr-FR"}[language],
            permissions=["clipboard-read", "clipboard-write"],
            reduced_motion="reduce",
        )
        context.set_default_timeout(MOST_MS)
        return context.new_page()

    def give_back(self, page: Page, url: str, language: str) -> None:
        """Forget what a page knows, and keep it."""
        page.unroute_all()
        page.on("dialog", _leave)
        try:
            page.goto("about:blank")
        except Error:
            # It was on its way to another address.
            page.wait_for_load_state()
            page.goto("about:blank")
        page.remove_listener("dialog", _leave)
        page.context.clear_cookies()
        if page.context.pages == [page]:
            self._unused.setdefault((url, language), []).append(page)
        else:
            page.context.close()


def _leave(dialog: Dialog) -> None:
    """Lose what was changed."""
    dialog.accept()


class Reader:
    """Opens pages of a memory, and keeps what the browser complains about.

    Attributes:
        complaints: Errors of scripts and of the console since the last look.
    """

    def __init__(
        self, pages: Pages, memory: Hippocampe, connect: Callable[..., httpx.Client]
    ) -> None:
        self.complaints: list[str] = []
        self._pages = pages
        self._memory = memory
        self._connect = connect
        self._taken: list[tuple[Page, str, str]] = []

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
        page = self._pages.take(url, language)
        self._taken.append((page, url, language))
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.on("console", self._said)
        page.on("pageerror", self._failed)
        if role is not None:
            key = self._memory.create_key(scope=Scope(space=space), role=role, label="browser")
            page.goto("/login")
            page.locator("input[name=key]").fill(key.secret)
            page.locator("button.primary").click()
            page.wait_for_url(lambda at: "/login" not in at)
        page.goto(path)
        settle(page)
        # What was kept for going back, by the reader before.
        page.evaluate("() => (sessionStorage.clear(), localStorage.clear())")
        return page

    def _failed(self, error: Any) -> None:
        self.complaints.append(str(error))

    def _said(self, message: Any) -> None:
        if message.type != "error":
            return
        if message.text.startswith("htmx:sendAbort,"):
            # The second of two lines on a request that another one replaced, as each letter of a search does.
            assert self.complaints.pop().startswith("htmx:afterRequest,")
        else:
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
        for page, url, language in self._taken:
            page.remove_listener("console", self._said)
            page.remove_listener("pageerror", self._failed)
            if error is None:
                self._pages.give_back(page, url, language)
            else:
                page.context.close()
        assert error is not None or self.complaints == [], self.complaints


def settle(page: Page) -> None:
    """Wait until every part of a page is loaded, the page itself first: a link leads to an empty one."""
    page.wait_for_load_state()
    expect(page.locator(".skeleton, .htmx-request")).to_have_count(0, timeout=MOST_MS)


@contextmanager
def held(page: Page, address: str) -> Iterator[Callable[[], None]]:
    """Hold the next request to an address, which the block sends; what is given lets it go."""
    routes: list[Route] = []
    page.route(address, lambda route: routes.append(route), times=1)
    with page.expect_request(address):
        yield lambda: routes.pop().continue_()
    # The route is told right after its request, so before the next answer.
    page.title()


FINDINGS = """() => axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations
    .filter(({ impact }) => impact !== "minor")
    .map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))]))"""


def check_accessible(page: Page) -> None:
    """No finding of axe, but minor ones. A part that is loaded again is pale until then."""
    settle(page)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(FINDINGS)
    assert found == [], found


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
