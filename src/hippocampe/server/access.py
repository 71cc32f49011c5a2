"""Who may do what: keys, roles, spaces, and the web pages that may not use a server on loopback."""

import asyncio
import hmac
import ipaddress
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, get_args
from urllib.parse import quote, urlsplit

from fastapi import HTTPException, Query, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.aio import AsyncHippocampe
from hippocampe.engine.api_keys import PREFIX
from hippocampe.errors import HippocampeError
from hippocampe.server import problems
from hippocampe.server.sessions import COOKIE, SAFE_METHODS, TOKEN_HEADER, Sessions
from hippocampe.types import ApiKey, Role, Scope

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

BEARER = HTTPBearer(
    auto_error=False, description="A key of `hippocampe keys create`; none is needed on loopback."
)
"""Only describes the header to the OpenAPI document: `Gate` reads it."""


class Gate:
    """Lets a request through if its key is right; on loopback, also without one if no web page sent it.

    The key comes in the header Authorization, or with the cookie of a login. A request with a cookie that
    changes something also needs the token of that cookie, which pages of other sites cannot read.

    A page of another site can make a browser send requests to loopback, also under a name that the page's
    own DNS answers with 127.0.0.1. The browser then sends that name as Host, and the page as Origin.

    Args:
        app: The application behind it.
        hippo: Knows the keys.
        sessions: Knows the logins.
        loopback: Whether only programs of this machine can connect.
        keyless: Whether they then need no key.
        token: What programs of the user that runs the server send instead of a key; it opens everything.
    """

    def __init__(
        self,
        app: ASGIApp,
        hippo: AsyncHippocampe,
        sessions: Sessions,
        *,
        loopback: bool,
        keyless: bool,
        token: str | None,
    ) -> None:
        self._app = app
        self._hippo = hippo
        self._sessions = sessions
        self._loopback = loopback
        self._keyless = loopback and keyless
        self._token = token

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["type"] == "http":
            headers = Headers(scope=connection)
            try:
                problem = self._foreign(headers) if self._loopback else None
                if problem is None and not _public(connection["path"]):
                    secret = _secret(headers, connection["path"])
                    if self._keyless and _of_provider(connection["path"], secret):
                        secret = None
                    state = connection.setdefault("state", {})
                    state["owner"] = self._is_token(secret)
                    state["key"] = None
                    if not state["owner"]:
                        state["key"], problem = await self._key(
                            secret, headers, connection["method"]
                        )
            except HippocampeError as exc:
                problem = problems.of_error(exc)
            if problem is not None:
                await _refusal(problem, connection, headers)(connection, receive, send)
                return
        await self._app(connection, receive, send)

    def _foreign(self, headers: Headers) -> problems.Problem | None:
        """What is wrong if a web page of another site sent it."""
        if not _names_loopback(f"//{headers.get('host', '')}"):
            return problems.of_status(
                403,
                "the Host header does not name this machine's loopback: use http://127.0.0.1 with the "
                "port. To serve other machines, start with --host and a key.",
            )
        origin = headers.get("origin")
        same = origin is None or origin == f"http://{headers['host']}"
        if not same or headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return problems.of_status(403, "a web page of another site may not use this server.")
        return None

    def _is_token(self, secret: str | None) -> bool:
        if self._token is None or secret is None:
            return False
        return hmac.compare_digest(secret.encode(), self._token.encode())

    async def _key(
        self, secret: str | None, headers: Headers, method: str
    ) -> tuple[ApiKey | None, problems.Problem | None]:
        if secret is None and (login := await self._login(headers)) is not None:
            session, key = login
            if method in SAFE_METHODS or self._sessions.genuine(session, headers.get(TOKEN_HEADER)):
                return key, None
            return None, problems.of_status(403, STALE_PAGE)
        if secret is None and self._keyless:
            return None, None
        key = None if secret is None else await self._hippo.find_key(secret)
        if key is not None:
            return key, None
        return None, problems.of_status(
            401,
            "this server needs a key: send Authorization: Bearer with one that hippocampe keys create "
            "printed and that was not revoked.",
        )

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
    ours = [secret for secret in found.values() if secret.startswith(PREFIX)]
    return next(iter(ours or found.values()), None)


def _of_provider(path: str, secret: str | None) -> bool:
    """Whether it may be the key of a provider of models, which clients of the proxy always send."""
    return secret is not None and path.startswith(PROXY) and not secret.startswith(PREFIX)


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
        space = permitted(request, role, space)
        _check_parameters(request)
        return Scope(space=space, user=user, channel=channel)

    return scope


def permitted(request: Request, role: Role, space: str | None) -> str:
    """The space of a request, whose key must have a role, or one above.

    Args:
        request: The request.
        role: The role that it needs.
        space: The space that it names, if any.

    Raises:
        HTTPException: The key does not allow it.
    """
    key: ApiKey | None = request.state.key
    if key is None:
        return "default" if space is None else space
    if ROLES.index(key.role) < ROLES.index(role):
        raise HTTPException(
            403, f"this needs a key with the role {role}; this one has the role {key.role}."
        )
    if space not in (None, key.space):
        raise HTTPException(
            403, "the key does not open this space: leave space out, or use another key."
        )
    return key.space


def _check_parameters(request: Request) -> None:
    """Refuse parameters that the endpoint does not have: a misspelt filter would filter nothing."""
    known = {each.alias for each in get_flat_params(request.scope["route"].dependant)}
    unknown = QueryParams(request.scope["query_string"]).keys() - known
    if unknown:
        raise HTTPException(
            422,
            f"{len(unknown)} query parameters are unknown: choose from {', '.join(sorted(known))}.",
        )


async def of_same_user(request: Request) -> bool:
    """Whether a request comes from a program of the user that runs the server, on its machine."""
    return request.state.owner


async def bound(request: Request) -> bool:
    """Whether a request comes with a key, which sees one space only."""
    return request.state.key is not None
