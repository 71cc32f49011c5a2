"""Login by a key, logout, and the preferences of a reader: language, theme, space."""

from typing import Annotated
from urllib.parse import quote

from fastapi import Form
from starlette.responses import Response

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import (
    LANGUAGE_COOKIE,
    SPACE_COOKIE,
    THEME_COOKIE,
    THEMES,
    OpenPage,
    ReadPage,
    Text,
    Visit,
    check_token,
)
from hippocampe.server.http.access import LOGIN, from_this_machine, session_of
from hippocampe.server.http.sessions import COOKIE
from hippocampe.system.command_line import command_line
from hippocampe.types import Scope

router = page_router()


@router.get(LOGIN)
async def login_page(page: OpenPage, next: str = "/") -> Response:
    """The form that takes a key."""
    return _form(page, next, wrong=False)


@router.post(LOGIN)
async def login(page: OpenPage, key: Text = "", next: Text = "/") -> Response:
    """Log in with a key."""
    await check_token(page.request, page)
    secret = key.strip()
    if await page.hippo.find_key(secret) is None:
        return _form(page, next, wrong=True)
    page.sessions.close(page.session)
    response = page.go(_local(next))
    page.set_cookie(response, COOKIE, page.sessions.open(secret), secret=True)
    return response


@router.post("/logout")
async def logout(page: ReadPage) -> Response:
    """Log out."""
    page.sessions.close(session_of(page.request.headers))
    response = page.go(LOGIN)
    response.delete_cookie(COOKIE)
    return response


@router.post("/preferences")
async def prefer(
    page: OpenPage,
    language: Annotated[str | None, Form()] = None,
    theme: Annotated[str | None, Form()] = None,
    space: Annotated[str | None, Form()] = None,
) -> Response:
    """Store a preference, and reload the page; another space starts at its first page."""
    await check_token(page.request, page)
    response = Response(headers={"HX-Refresh": "true"})
    if language is not None and language in page.languages:
        page.set_cookie(response, LANGUAGE_COOKIE, language)
    if theme in THEMES:
        page.set_cookie(response, THEME_COOKIE, theme)
    if space is not None:
        response = Response(headers={"HX-Redirect": "/"})
        # A header holds Latin-1 only.
        page.set_cookie(response, SPACE_COOKIE, quote(Scope(space=space).space, safe=""))
    return response


def _form(page: Visit, next: str, *, wrong: bool) -> Response:
    """The form; a reader of this machine gets the line that makes a key for its folder."""
    near = from_this_machine(page.request.scope)
    line = command_line("keys", "create", "--role", "admin", "--folder", page.folder)
    return page.render(
        "login.html",
        status=401 if wrong else 200,
        next=_local(next),
        wrong=wrong,
        makes_key=line if near else None,
    )


def _local(path: str) -> str:
    """A path of this server: an absolute address in a link would redirect to another site (open redirect)."""
    good = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return quote(path, safe="/?=&%#+,:~-._") if good else "/"
