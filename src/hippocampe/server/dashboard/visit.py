"""The context of a page request: the memory, the space, the reader's language, theme and role.

A page is a function with a parameter `ReadPage`, `WritePage` or `AdminPage`, on a router made by
`page_router`, that returns `page.render(...)` for a whole page or `page.part(...)` for a part that HTMX puts
in its place.
"""

import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args
from urllib.parse import unquote

from fastapi import Depends, Form, HTTPException, Request
from starlette.datastructures import Headers, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, Response

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import InvalidInput
from hippocampe.language.lexicon import languages, load
from hippocampe.presentation.reader import Reader
from hippocampe.server.dashboard.rendering import rendered
from hippocampe.server.http.access import (
    STALE_PAGE,
    allows,
    origin_of,
    scope_of,
    secret_of,
    session_of,
)
from hippocampe.server.http.sessions import COOKIE, SAFE_METHODS, TOKEN_HEADER, Sessions, new_id
from hippocampe.system.command_line import command_line
from hippocampe.types import ApiKey, Counts, Role, Scope, Settings

Theme = Literal["system", "light", "dark"]
THEMES: tuple[Theme, ...] = get_args(Theme)
LANGUAGE_COOKIE = "hippocampe_language"
THEME_COOKIE = "hippocampe_theme"
SPACE_COOKIE = "hippocampe_space"
SPACE_HEADER = "x-hippocampe-space"
"""The space of the page that sends a request."""
YEAR_SECONDS = 365 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit(Reader):
    """One request for a page, and its reader.

    Attributes:
        scope: The space, without user and channel.
        spaces: The spaces that the reader may open.
        key: The key of the reader; None on loopback.
        session: The value of the cookie of the browser.
    """

    request: Request
    hippo: AsyncHippocampe
    scope: Scope
    settings: Settings
    spaces: Mapping[str, Counts]
    key: ApiKey | None
    session: str
    theme: Theme
    tied: bool = True

    @property
    def languages(self) -> Mapping[str, str]:
        """The languages of the pages, each with its own name."""
        return {code: load(code, "language")["name"] for code in languages()}

    @property
    def sessions(self) -> Sessions:
        """The logins of the server."""
        return self.request.app.state.sessions

    @property
    def token(self) -> str:
        """The CSRF token of this page's requests."""
        return self.sessions.token(self.session)

    @property
    def address(self) -> str:
        """The base URL of the server, as the reader sees it."""
        return origin_of(self.request.headers)

    def command(self, *words: str) -> str:
        """A command line ready to copy that uses this memory: the folder here, the server for a reader with a key."""
        if self.key is not None:
            return f"HIPPOCAMPE_URL={self.address} HIPPOCAMPE_KEY=hippo_… {command_line(*words)}"
        space = () if self.scope.space == Scope().space else ("--space", self.scope.space)
        return command_line(*words, "--folder", self.folder, *space)

    def serving(self, name: str, value: str) -> str:
        """A command line ready to copy that starts this server again with a value of its configuration; or one on the
        default folder, if that of this one is removed when it stops."""
        place = () if self.key or self.temporary else ("--folder", self.folder)
        _, port = self.request.scope["server"]
        return command_line("serve", *place, "--port", str(port), "--set", f"{name}={value}")

    @property
    def temporary(self) -> bool:
        """Return whether the folder is removed when the server stops, as that of the demonstration."""
        return self.request.app.state.temporary

    @property
    def folder(self) -> str:
        """The folder of the data, which only readers of this machine may know."""
        return str(self.hippo.sync.config.folder.absolute())

    @property
    def other_spaces(self) -> Sequence[str]:
        """The other spaces that the reader may open, the largest first."""
        return [name for name in self.spaces if name != self.scope.space]

    @property
    def loads_part(self) -> bool:
        """True if a part of an open page asks."""
        return "hx-request" in self.request.headers

    def may(self, role: Role) -> bool:
        """Return whether the reader has a role, or a higher one."""
        return allows(self.key, role)

    async def is_still_open(self) -> bool:
        """Return whether the key of the reader is still valid, for an answer that goes on."""
        if self.key is None:
            return True
        secret = secret_of(self.request.headers, self.request.url.path)
        secret = secret or self.sessions.secret(self.session)
        return secret is not None and await self.hippo.find_key(secret) is not None

    def render(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A whole page; its section of the menu is the first part of its path, unless one is given."""
        section = self.request.url.path.split("/")[1]
        return self._answer(template, status, {"section": section, **values}, {})

    def part(
        self,
        template: str | None = None,
        *,
        toast: str | None = None,
        undo: str | None = None,
        changed: str | None = None,
        **values: Any,
    ) -> HTMLResponse:
        """A part of a page, or an empty response.

        Args:
            template: Its file in `templates`; None replaces nothing.
            toast: A short message after a change.
            undo: The path of the POST that undoes the change, if possible.
            changed: The name of an event on the body of the page, on which dependent parts reload.
        """
        events: dict[str, Any] = {}
        if toast is not None:
            events["toast"] = {"text": str(toast), "undo": undo}
        if changed is not None:
            events[changed] = True
        headers = {"HX-Trigger": json.dumps(events)} if events else {}
        if template is None:
            headers["HX-Reswap"] = "none"
        return self._answer(template, 200, values, headers)

    def html(self, template: str, **values: Any) -> str:
        """The text of a part, for a stream of events."""
        context = {"page": self, "_": self.say, "count": self.count, **values}
        return rendered(template, context)

    def go(self, path: str, *, toast: str | None = None) -> Response:
        """Redirect the browser to another page, which shows a short message if a part of a page asked."""
        if self.loads_part:
            headers = {"HX-Redirect": path}
            if toast is not None:
                headers["HX-Trigger"] = json.dumps({"toast": {"text": str(toast), "next": True}})
            return Response(headers=headers)
        return Response(status_code=303, headers={"Location": path})

    def _answer(
        self, template: str | None, status: int, values: Mapping[str, Any], headers: dict[str, str]
    ) -> HTMLResponse:
        text = "" if template is None else self.html(template, **values)
        response = HTMLResponse(text, status, headers)
        if session_of(self.request.headers) != self.session:
            self.set_cookie(response, COOKIE, self.session, secret=True)
        return response

    def set_cookie(
        self, response: Response, name: str, value: str, *, secret: bool = False
    ) -> None:
        """Set a cookie; a secret one is hidden from scripts, and ends with the browser."""
        seconds = None if secret else YEAR_SECONDS
        secure = not self.request.app.state.loopback or self.address.startswith("https:")
        response.set_cookie(
            name, value, max_age=seconds, httponly=secret, samesite="strict", secure=secure
        )


def _language(request: Request, settings: Settings | None) -> str:
    """The language of the cookie, else of the browser, else of the space."""
    asked = [request.cookies.get(LANGUAGE_COOKIE, "")]
    accepted = request.headers.get("accept-language", "").lower().split(",")
    asked += [re.split("[-;]", each.strip())[0] for each in accepted]
    default = "en" if settings is None else settings.language
    return next((each for each in asked if each in languages()), default)


def _theme(request: Request) -> Theme:
    match request.cookies.get(THEME_COOKIE):
        case "light" | "dark" as chosen:
            return chosen
        case _:
            return "system"


async def visitor(request: Request) -> Visit:
    """A request for a public page, which shows no data of a space."""
    hippo: AsyncHippocampe = request.app.state.hippo
    return Visit(
        request=request,
        hippo=hippo,
        scope=Scope(),
        settings=Settings(),
        spaces={},
        key=None,
        session=session_of(request.headers) or new_id(),
        language=_language(request, None),
        timezone=hippo.sync.config.timezone,
        theme=_theme(request),
        now=await hippo.now(),
    )


async def check_token(request: Request, visit: Visit) -> None:
    """Refuse a change without the CSRF token of a page of this server.

    The token is in a header, or in the field `token` of a form.
    """
    if request.method in SAFE_METHODS:
        return
    token = request.headers.get(TOKEN_HEADER)
    if token is None:
        field = (await request.form()).get("token")
        token = field if isinstance(field, str) else None
    if not visit.sessions.genuine(visit.session, token):
        raise HTTPException(403, STALE_PAGE)


def chosen_space(headers: Headers, query: QueryParams) -> str | None:
    """The space of the page that sends a request, else that of its address, else the one that its reader chose last.

    The cookie is one for all tabs of a browser: it may be younger than the page. It and the header are percent-encoded.
    """
    value = headers.get(SPACE_HEADER)
    if value is None and (named := query.get("space")) is not None:
        return named
    if value is None:
        value = cookie_parser(headers.get("cookie", "")).get(SPACE_COOKIE)
    return None if value is None else unquote(value)


def _scope(request: Request, key: ApiKey | None) -> Scope:
    """The space of the key, else the one chosen by the reader."""
    # The choice may be older than this login.
    chosen = None if key is not None else chosen_space(request.headers, request.query_params)
    try:
        return scope_of(key, "read", chosen)
    except InvalidInput:
        return scope_of(key, "read")


def visiting(role: Role) -> Callable[..., Coroutine[Any, Any, Visit]]:
    """Make a dependency: the visit of a reader with a role; a change needs the CSRF token."""

    async def visit(request: Request, open_visit: Annotated[Visit, Depends(visitor)]) -> Visit:
        key: ApiKey | None = request.state.key
        scope = _scope(request, key)
        hippo = open_visit.hippo
        settings = await hippo.settings(scope=scope)
        found = replace(
            open_visit,
            scope=scope,
            settings=settings,
            spaces={scope.space: Counts()} if key is not None else await hippo.spaces(),
            key=key,
            language=_language(request, settings),
            timezone=settings.timezone,
        )
        if not found.may(role):
            raise HTTPException(403, found.say("Your key may not do this."))
        await check_token(request, found)
        return found

    return visit


Text = Annotated[str, Form()]
"""A text of a form."""
OpenPage = Annotated[Visit, Depends(visitor)]
ReadPage = Annotated[Visit, Depends(visiting("read"))]
WritePage = Annotated[Visit, Depends(visiting("write"))]
AdminPage = Annotated[Visit, Depends(visiting("admin"))]
