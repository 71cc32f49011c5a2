"""Authentication and authorisation; protection against CSRF and DNS rebinding on loopback."""

import ipaddress
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import get_args
from urllib.parse import quote, unquote, urlsplit

from fastapi import HTTPException, Request
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import HippocampeError, InvalidInput
from hippocampe.server.http import problems
from hippocampe.server.http.middleware import Middleware
from hippocampe.server.http.origins import is_allowed
from hippocampe.server.http.sessions import COOKIE, SAFE_METHODS, TOKEN_HEADER, Sessions
from hippocampe.types import KEY_PREFIX, ApiKey, Role, Scope

LOGIN = "/login"
PUBLIC = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs", LOGIN})
"""Paths without authentication."""
PROXY = "/v1/"
CREDENTIALS = ("authorization", "x-api-key", "api-key")
"""Headers in which clients of the proxy send a key: OpenAI's, Anthropic's, Azure's."""
LABELS: Mapping[str, Sequence[str]] = {
    "space": ("x-hippocampe-space",),
    "user": (
        "x-hippocampe-user",
        "x-openwebui-user-name",
        "x-openwebui-user-email",
        "x-openwebui-user-id",
    ),
    "channel": ("x-hippocampe-channel", "x-openwebui-chat-id"),
}
"""Headers of the proxy by label: our own, then those of Open WebUI."""
STATIC = "/static/"
"""Path of the package's files, which need no authentication either."""
STALE_PAGE = "the request does not carry the token of its page: reload the page, and try again."
ROLES: tuple[Role, ...] = get_args(Role)

FORWARDED = frozenset({b"forwarded", b"via", b"x-real-ip"})
FORWARDED_PREFIX = b"x-forwarded-"
"""Headers that a reverse proxy adds."""
NEEDS_KEY = "send Authorization: Bearer with one that hippocampe keys create printed and that was not revoked."

BEARER = HTTPBearer(
    auto_error=False,
    description="A key of `hippocampe keys create`; programs of this machine need none, unless the server "
    "was started with `--require-key`.",
)
"""Only documents the header in the OpenAPI document: `Gate` reads it."""


class Gate(Middleware):
    """Authenticates each request by its key; on loopback, programs of this machine need none.

    The key comes in the header Authorization, or with the cookie of a login. A change with a cookie also needs
    the CSRF token of that cookie, which pages of other sites cannot read.

    A page of another site can make a browser send requests to loopback, also under a name that the page's
    own DNS resolves to 127.0.0.1 (DNS rebinding). The browser then sends that name as Host, and the page's
    site as Origin. So without a key, Host has to name loopback. With a key, any name is served: a page does
    not know the key, and the cookie of a login belongs to the name under which it was set.

    A request through a reverse proxy may come from anywhere. It is treated like one from another machine,
    whatever address the server listens at.

    Args:
        loopback: Whether only programs of this machine can connect.
        keyless: Whether they then need no key.
        origins: Origins of other sites whose pages may use the API, with a key.
    """

    def __init__(
        self,
        app: ASGIApp,
        hippo: AsyncHippocampe,
        sessions: Sessions,
        *,
        loopback: bool,
        keyless: bool,
        origins: Sequence[str] = (),
    ) -> None:
        super().__init__(app)
        self._origins = origins
        self._hippo = hippo
        self._sessions = sessions
        self._keyless = loopback and keyless

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        headers = Headers(scope=connection)
        try:
            problem = await self._problem(connection, headers)
        except HippocampeError as exc:
            problem = problems.of_error(exc)
        answer = self.app if problem is None else _refusal(problem, connection, headers)
        await answer(connection, receive, send)

    async def _problem(self, connection: Connection, headers: Headers) -> problems.Problem | None:
        """The reason to refuse a request, or None; stores the key in the state of the request."""
        foreign = is_allowed(connection, headers, self._origins)
        keyless = self._keyless and not foreign and not forwarded(connection)
        if not foreign:
            problem = foreign_to_loopback(headers) if keyless else _foreign_page(headers)
            if problem is not None:
                return problem
        if is_public(connection["path"]):
            return None
        secret = secret_of(headers, connection["path"])
        if keyless and _of_provider(connection["path"], secret):
            secret = None
        state = connection.setdefault("state", {})
        state["key"] = None
        if secret is not None:
            state["key"] = key = await self._hippo.find_key(secret)
            unknown = problems.of_status(401, f"this key is not known here: {NEEDS_KEY}")
            return unknown if key is None else None
        if not foreign and (login := await self._login(headers)) is not None:
            session, state["key"] = login
            token = headers.get(TOKEN_HEADER)
            safe = connection["method"] in SAFE_METHODS or self._sessions.genuine(session, token)
            return None if safe else problems.of_status(403, STALE_PAGE)
        if keyless:
            return None
        through_proxy = self._keyless and forwarded(connection)
        why = "a request through a proxy" if through_proxy else "this server"
        return problems.of_status(401, f"{why} needs a key: {NEEDS_KEY}")

    async def _login(self, headers: Headers) -> tuple[str, ApiKey] | None:
        """The login of a request, and its key."""
        session = session_of(headers)
        secret = self._sessions.secret(session)
        if secret is None:
            return None
        key = await self._hippo.find_key(secret)
        if key is None:
            self._sessions.close(session)
            return None
        return session, key


def forwarded(connection: Connection) -> bool:
    """Return whether a request came through a reverse proxy, and so perhaps from another machine.

    It has a proxy's headers; or it is in HTTP/1.0 without any, which nginx uses by default.
    """
    return connection["http_version"] == "1.0" or any(
        name in FORWARDED or name.startswith(FORWARDED_PREFIX) for name, _ in connection["headers"]
    )


def from_this_machine(connection: Connection) -> bool:
    """Return whether a request was sent on this machine, and through no reverse proxy."""
    host = (connection.get("client") or ("",))[0]
    near = _names_loopback(f"//[{host}]" if ":" in host else f"//{host}")
    return near and not forwarded(connection)


def origin_of(headers: Headers) -> str:
    """The origin of the server as the browser sees it, which may be that of a reverse proxy.

    A page of another site cannot set these headers without a CORS preflight, which is refused.
    """
    scheme = _first(headers.get("x-forwarded-proto", "")) or "http"
    host = _first(headers.get("x-forwarded-host", "")) or headers.get("host", "")
    return f"{scheme}://{host.lower()}"


def _first(value: str) -> str:
    """The value that the first of several proxies added."""
    return value.partition(",")[0].strip().lower()


def foreign_to_loopback(headers: Headers) -> problems.Problem | None:
    """The reason to refuse a keyless request that a web page of another site may have sent (DNS rebinding), or
    None."""
    if not _names_loopback(f"//{headers.get('host', '')}"):
        return problems.of_status(
            403,
            "the Host header does not name this machine's loopback: use http://127.0.0.1 with the port. To "
            "serve under another name, start with --require-key, or with --host and a key.",
        )
    origin = headers.get("origin")
    same = origin is None or origin == f"http://{headers['host']}"
    if not same or headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        return problems.of_status(403, "a web page of another site may not use this server.")
    return None


def _foreign_page(headers: Headers) -> problems.Problem | None:
    """The reason to refuse a login, or a request with the cookie of a login, from another site (CSRF), or None."""
    if "authorization" in headers or headers.get("origin") in (None, origin_of(headers)):
        return None
    return problems.of_status(
        403,
        "a web page of another site may not use this server. If it is a page of this server behind a proxy, "
        "let the proxy pass on Host and set X-Forwarded-Proto.",
    )


def session_of(headers: Headers) -> str:
    """The value of the cookie of a browser; empty if it sent none."""
    return cookie_parser(headers.get("cookie", "")).get(COOKIE, "")


def is_public(path: str) -> bool:
    """Return whether a path needs no authentication."""
    return path in PUBLIC or path.startswith(STATIC)


def _refusal(problem: problems.Problem, connection: Connection, headers: Headers) -> Response:
    """A problem; a browser without a key is redirected to the login, unless it sends what someone wrote."""
    reads = connection["method"] == "GET"
    if problem.status != 401 or ("hx-request" in headers and not reads):
        return problems.response(problem)
    if "hx-request" in headers:
        page = headers.get("hx-current-url", "").partition("://")[2].partition("/")[2]
        return problems.response(problem, {"HX-Redirect": _login_before(f"/{page}")})
    browser = reads and "text/html" in headers.get("accept", "")
    # A wrong key must not become a redirect, which does not count as a guess.
    if browser and not credentials(headers):
        query = connection["query_string"].decode("latin-1")
        target = connection["path"] + (f"?{query}" if query else "")
        return RedirectResponse(_login_before(target), 303)
    return problems.response(problem, {"WWW-Authenticate": "Bearer"})


def _login_before(target: str) -> str:
    """The address of the login that leads to a page afterwards."""
    return f"{LOGIN}?next={quote(target, safe='')}"


def credentials(headers: Headers) -> dict[str, str]:
    """The keys of a request by header; one in `Authorization` is empty if it has another form than `Bearer`."""
    found = {name: headers[name].strip() for name in CREDENTIALS if name in headers}
    if "authorization" in found:
        scheme, _, secret = found["authorization"].partition(" ")
        found["authorization"] = secret.strip() if scheme.lower() == "bearer" else ""
    return found


def secret_of(headers: Headers, path: str) -> str | None:
    """The key that authenticates a request.

    A client of the proxy may send the key of a provider beside it, in another header.
    """
    found = credentials(headers)
    if not path.startswith(PROXY):
        return found.get("authorization")
    ours = [secret for secret in found.values() if secret.startswith(KEY_PREFIX)]
    return next(iter(ours or found.values()), None)


def _of_provider(path: str, secret: str | None) -> bool:
    """Return true for what may be the key of a provider of models, which clients of the proxy always send."""
    return secret is not None and path.startswith(PROXY) and not secret.startswith(KEY_PREFIX)


def _names_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def allows(key: ApiKey | None, role: Role) -> bool:
    """Return whether the key of a request has a role; without a key, everything is allowed."""
    return key is None or ROLES.index(key.role) >= ROLES.index(role)


def scope_of(
    key: ApiKey | None,
    role: Role,
    space: str | None = None,
    user: str | None = None,
    channel: str | None = None,
) -> Scope:
    """The scope of a request. Every endpoint and every page authorises here, and nowhere else.

    Args:
        key: The key of the request; None allows everything.
        role: The role that the request needs.
        space: The space that it names; None: the space of the key, or `default`.

    Raises:
        HTTPException: The key has a lower role, or belongs to another space.
        InvalidInput: A label cannot be used.
    """
    if key is not None and not allows(key, role):
        raise HTTPException(
            403, f"this needs a key with the role {role}; this one has the role {key.role}."
        )
    own = Scope().space if key is None else key.space
    scope = Scope(own if space is None else space, user, channel)
    if key is not None and scope.space != own:
        raise HTTPException(
            403, "the key does not open this space: leave space out, or use another key."
        )
    return scope


def scope_in_headers(request: Request, role: Role, *, user: object = None) -> Scope:
    """The scope of a request to the proxy, from its headers, since the body belongs to the provider.

    Args:
        user: The speaker according to the body, unless a header names one; invalid labels are ignored.

    Raises:
        HTTPException: The key has a lower role, or belongs to another space.
        InvalidInput: A label in a header cannot be used.
    """
    named = {name: _first_of(request.headers, headers) for name, headers in LABELS.items()}
    if named["user"] is None and isinstance(user, str):
        with suppress(InvalidInput):
            named["user"] = Scope(user=user).user
    return scope_of(request.state.key, role, **named)


def _first_of(headers: Headers, names: Sequence[str]) -> str | None:
    """The value of the first of several headers; those of other programs are ignored if they are no label.

    Programs send a header of a user or a channel empty, or with its placeholder, where they know none.
    """
    own, *others = names
    if own in headers:
        value = decoded(headers[own])
        if not others or _is_filled(value):
            return value
    for name in others:
        with suppress(InvalidInput):
            if _is_filled(value := decoded(headers.get(name, ""))):
                return Scope(user=value).user
    return None


def _is_filled(value: str) -> bool:
    return bool(value) and "{{" not in value


def decoded(header: str) -> str:
    """Decode a label in a header: characters beyond ASCII are UTF-8 or percent-encoded."""
    try:
        return unquote(header.encode("latin-1").decode())
    except UnicodeError:
        return unquote(header)
