"""Who may do what: keys, roles, spaces, and the web pages that may not use a server on loopback."""

import asyncio
import ipaddress
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Annotated, Any, get_args
from urllib.parse import quote, unquote, urlsplit

from fastapi import HTTPException, Query, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import HippocampeError, InvalidInput
from hippocampe.server.http import problems
from hippocampe.server.http.sessions import COOKIE, SAFE_METHODS, TOKEN_HEADER, Sessions
from hippocampe.types import KEY_PREFIX, ApiKey, Role, Scope

LOGIN = "/login"
PUBLIC = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs", LOGIN})
"""Paths that need no key."""
PROXY = "/v1/"
CREDENTIALS = ("authorization", "x-api-key", "api-key")
"""Headers in which clients of the proxy send a key: OpenAI's, Anthropic's, Azure's."""
BODY_SECONDS = 20.0
"""Time that a body has to come, and the bytes a second that give it more."""
SLOWEST = 32 * 1024
STATIC = "/static/"
"""Files of the package, which need none either."""
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
"""Only describes the header to the OpenAPI document: `Gate` reads it."""


class Gate:
    """Lets a request through if its key is right; on loopback, also without one from a program of this machine.

    The key comes in the header Authorization, or with the cookie of a login. A request with a cookie that
    changes something also needs the token of that cookie, which pages of other sites cannot read.

    A page of another site can make a browser send requests to loopback, also under a name that the page's
    own DNS answers with 127.0.0.1. The browser then sends that name as Host, and the page as Origin. So
    where no key may be needed, Host has to name loopback. Where a key is needed, any name may be served: a
    page does not know the key, and the cookie of a login belongs to the name that it was made under.

    A request that came through a reverse proxy comes from anywhere. It is served like one from another
    machine, whatever address the server listens at.

    Args:
        app: The application behind it.
        hippo: Knows the keys.
        sessions: Knows the logins.
        loopback: Whether only programs of this machine can connect.
        keyless: Whether they then need no key.
    """

    def __init__(
        self,
        app: ASGIApp,
        hippo: AsyncHippocampe,
        sessions: Sessions,
        *,
        loopback: bool,
        keyless: bool,
    ) -> None:
        self._app = app
        self._hippo = hippo
        self._sessions = sessions
        self._keyless = loopback and keyless

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["type"] == "http":
            headers = Headers(scope=connection)
            try:
                problem = await self._problem(connection, headers)
            except HippocampeError as exc:
                problem = problems.of_error(exc)
            if problem is not None:
                await _refusal(problem, connection, headers)(connection, receive, send)
                return
        await self._app(connection, receive, send)

    async def _problem(self, connection: Connection, headers: Headers) -> problems.Problem | None:
        """Why a request is not let through; its state says by which key it is."""
        direct = not forwarded(connection)
        keyless = self._keyless and direct
        problem = _foreign_to_loopback(headers) if keyless else _foreign_page(headers)
        if problem is not None or _public(connection["path"]):
            return problem
        secret = _secret(headers, connection["path"])
        if keyless and _of_provider(connection["path"], secret):
            secret = None
        state = connection.setdefault("state", {})
        state["key"] = None
        if secret is None and (login := await self._login(headers)) is not None:
            session, state["key"] = login
            token = headers.get(TOKEN_HEADER)
            if connection["method"] in SAFE_METHODS or self._sessions.genuine(session, token):
                return None
            return problems.of_status(403, STALE_PAGE)
        if secret is None and keyless:
            return None
        state["key"] = None if secret is None else await self._hippo.find_key(secret)
        if state["key"] is not None:
            return None
        why = "a request through a proxy" if self._keyless and not direct else "this server"
        return problems.of_status(401, f"{why} needs a key: {NEEDS_KEY}")

    async def _login(self, headers: Headers) -> tuple[str, ApiKey] | None:
        """The login that a request belongs to, and its key."""
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
    """Whether a request came through a reverse proxy, and so perhaps from another machine.

    Its headers say so; or it is in HTTP/1.0, which nginx speaks unless it is configured otherwise, without
    any such header.
    """
    return connection["http_version"] == "1.0" or any(
        name in FORWARDED or name.startswith(FORWARDED_PREFIX) for name, _ in connection["headers"]
    )


def origin_of(headers: Headers) -> str:
    """The origin of the server as the browser knows it, which may know a reverse proxy instead.

    No page of another site can set these headers without asking first, which is refused.
    """
    scheme = _first(headers.get("x-forwarded-proto", "")) or "http"
    host = _first(headers.get("x-forwarded-host", "")) or headers.get("host", "")
    return f"{scheme}://{host.lower()}"


def _first(value: str) -> str:
    """What the first of several proxies noted."""
    return value.partition(",")[0].strip().lower()


def _foreign_to_loopback(headers: Headers) -> problems.Problem | None:
    """What is wrong with a request that may need no key, if a web page of another site sent it."""
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
    """What is wrong with a request that a browser gave the cookie of a login, or that is one."""
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


def _public(path: str) -> bool:
    return path in PUBLIC or path.startswith(STATIC)


def _refusal(problem: problems.Problem, connection: Connection, headers: Headers) -> Response:
    """A problem; a browser that needs a key is led to the login."""
    if problem.status != 401:
        return problems.response(problem)
    if "hx-request" in headers:
        return problems.response(problem, {"HX-Redirect": LOGIN})
    if connection["method"] == "GET" and "text/html" in headers.get("accept", ""):
        query = connection["query_string"].decode("latin-1")
        target = connection["path"] + (f"?{query}" if query else "")
        return RedirectResponse(f"{LOGIN}?next={quote(target, safe='')}", 303)
    return problems.response(problem, {"WWW-Authenticate": "Bearer"})


def credentials(headers: Headers) -> dict[str, str]:
    """The keys of a request by header; one in `Authorization` is empty if it has another form than `Bearer`."""
    found = {name: headers[name].strip() for name in CREDENTIALS if name in headers}
    if "authorization" in found:
        scheme, _, secret = found["authorization"].partition(" ")
        found["authorization"] = secret.strip() if scheme.lower() == "bearer" else ""
    return found


def _secret(headers: Headers, path: str) -> str | None:
    """The key that a request sends to be let in.

    A client of the proxy may send that of a provider beside it, in another header.
    """
    found = credentials(headers)
    if not path.startswith(PROXY):
        return found.get("authorization")
    ours = [secret for secret in found.values() if secret.startswith(KEY_PREFIX)]
    return next(iter(ours or found.values()), None)


def _of_provider(path: str, secret: str | None) -> bool:
    """Whether it may be the key of a provider of models, which clients of the proxy always send."""
    return secret is not None and path.startswith(PROXY) and not secret.startswith(KEY_PREFIX)


class BodyLimit:
    """Refuses bodies that are too large, or come too slowly, as soon as they are.

    Args:
        app: The application behind it.
        most: Bytes of the largest body.
        larger: Bytes of the largest body by the beginning of a path, where they are more.
    """

    def __init__(self, app: ASGIApp, *, most: int, larger: Mapping[str, int]) -> None:
        self._app = app
        self._most = most
        self._larger = larger

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["type"] != "http":
            await self._app(connection, receive, send)
            return
        path: str = connection["path"]
        larger = (most for start, most in self._larger.items() if path.startswith(start))
        most = next(larger, self._most)
        length = Headers(scope=connection).get("content-length", "")
        if length.isdecimal() and int(length) > most:
            problem = problems.of_status(413, _too_large(most))
            await problems.response(problem)(connection, receive, send)
            return
        loop = asyncio.get_running_loop()
        started, read, complete = loop.time(), 0, False

        async def counted() -> Message:
            nonlocal read, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout_at(started + BODY_SECONDS + read / SLOWEST):
                    message = await receive()
            except TimeoutError as exc:
                raise HTTPException(
                    408, "the body came too slowly: send it again.", {"Connection": "close"}
                ) from exc
            read += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if read > most:
                raise HTTPException(413, _too_large(most))
            return message

        await self._app(connection, counted, send)


def _too_large(most: int) -> str:
    return f"the body has more than {most:,} bytes: split what it holds."


def _names_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _label(description: str) -> Any:
    return Query(description=description, max_length=200)


def needs(role: Role) -> Callable[..., Coroutine[Any, Any, Scope]]:
    """A dependency: the scope of a request, whose key must have a role, or one above.

    Without `space`, a request is for the space of its key, or for `default`.
    """

    async def scope(
        request: Request,
        space: Annotated[str | None, _label("The space; default: that of the key.")] = None,
        user: Annotated[str | None, _label("Who speaks.")] = None,
        channel: Annotated[str | None, _label("Where they speak.")] = None,
    ) -> Scope:
        found = scope_of(request.state.key, role, space, user, channel)
        _check_parameters(request)
        return found

    return scope


def allows(key: ApiKey | None, role: Role) -> bool:
    """Whether a request may do what needs a role; without a key, it may do everything."""
    return key is None or ROLES.index(key.role) >= ROLES.index(role)


def scope_of(
    key: ApiKey | None,
    role: Role,
    space: str | None = None,
    user: str | None = None,
    channel: str | None = None,
) -> Scope:
    """The scope of a request. Every endpoint and every page asks here, and nowhere else.

    Args:
        key: The key of the request; None: it may do everything.
        role: The role that the request needs.
        space: The space that it names; None: that of the key, or `default`.
        user: Who speaks.
        channel: Where they speak.

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
    """The scope of a request to the proxy, whose body belongs to the provider: headers name it.

    Args:
        request: The request.
        role: The role that it needs.
        user: Who speaks by the body, unless a header says it; any other value than a label is ignored.

    Raises:
        HTTPException: The key has a lower role, or belongs to another space.
        InvalidInput: A label in a header cannot be used.
    """
    named = {
        name: _decoded(request.headers.get(f"x-hippocampe-{name}"))
        for name in ("space", "user", "channel")
    }
    if named["user"] is None and isinstance(user, str):
        with suppress(InvalidInput):
            named["user"] = Scope(user=user).user
    return scope_of(request.state.key, role, **named)


def _decoded(header: str | None) -> str | None:
    """A header as text: other letters than ASCII come as UTF-8 or percent-encoded."""
    if header is None:
        return None
    try:
        return unquote(header.encode("latin-1").decode())
    except UnicodeError:
        return unquote(header)


def _check_parameters(request: Request) -> None:
    """Refuse parameters that the endpoint does not have: a misspelt filter would filter nothing."""
    known = {each.alias for each in get_flat_params(request.scope["route"].dependant)}
    unknown = QueryParams(request.scope["query_string"]).keys() - known
    if unknown:
        raise HTTPException(
            422,
            f"{len(unknown)} query parameters are unknown: choose from {', '.join(sorted(known))}.",
        )


async def bound(request: Request) -> bool:
    """Whether a request comes with a key, which sees one space only."""
    return request.state.key is not None
