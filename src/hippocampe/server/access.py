"""Who may do what: keys, roles, spaces, and the web pages that may not use a server on loopback."""

import ipaddress
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, get_args
from urllib.parse import urlsplit

from fastapi import HTTPException, Query, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers, QueryParams
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.aio import AsyncHippocampe
from hippocampe.engine.api_keys import PREFIX
from hippocampe.errors import HippocampeError
from hippocampe.server import problems
from hippocampe.types import ApiKey, Role, Scope

PUBLIC = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""Paths that need no key."""
PROXY = "/v1/"
ROLES: tuple[Role, ...] = get_args(Role)

BEARER = HTTPBearer(
    auto_error=False, description="A key of `hippocampe keys create`; none is needed on loopback."
)
"""Only describes the header to the OpenAPI document: `Gate` reads it."""


class Gate:
    """Lets a request through if its key is right; on loopback, also without one if no web page sent it.

    A page of another site can make a browser send requests to loopback, also under a name that the page's
    own DNS answers with 127.0.0.1. The browser then sends that name as Host, and the page as Origin.

    Args:
        app: The application behind it.
        hippo: Knows the keys.
        loopback: Whether only programs of this machine can connect, which then need no key.
    """

    def __init__(self, app: ASGIApp, hippo: AsyncHippocampe, *, loopback: bool) -> None:
        self._app = app
        self._hippo = hippo
        self._loopback = loopback

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["type"] == "http":
            headers = Headers(scope=connection)
            try:
                problem = self._foreign(headers) if self._loopback else None
                if problem is None and connection["path"] not in PUBLIC:
                    key, problem = await self._key(headers, connection["path"])
                    connection.setdefault("state", {})["key"] = key
            except HippocampeError as exc:
                problem = problems.of_error(exc)
            if problem is not None:
                more = {"WWW-Authenticate": "Bearer"} if problem.status == 401 else None
                await problems.response(problem, more)(connection, receive, send)
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

    async def _key(
        self, headers: Headers, path: str
    ) -> tuple[ApiKey | None, problems.Problem | None]:
        given = headers.get("authorization")
        scheme, _, secret = (given or "").partition(" ")
        # A client of the proxy always sends a key, which may be that of its provider.
        of_provider = path.startswith(PROXY) and not secret.strip().startswith(PREFIX)
        if self._loopback and (given is None or of_provider):
            return None, None
        key = await self._hippo.find_key(secret.strip()) if scheme.lower() == "bearer" else None
        if key is not None:
            return key, None
        return None, problems.of_status(
            401,
            "this server needs a key: send Authorization: Bearer with one that hippocampe keys create "
            "printed and that was not revoked.",
        )


class BodyLimit:
    """Refuses bodies that are too large, before they are read or as soon as they are.

    Args:
        app: The application behind it.
        most: Bytes of the largest body.
    """

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["type"] != "http":
            await self._app(connection, receive, send)
            return
        length = Headers(scope=connection).get("content-length", "")
        if length.isdecimal() and int(length) > self._most:
            problem = problems.of_status(413, self._refusal)
            await problems.response(problem)(connection, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most:
                raise HTTPException(413, self._refusal)
            return message

        await self._app(connection, counted, send)

    @property
    def _refusal(self) -> str:
        return f"the body has more than {self._most:,} bytes: split what it holds."


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


async def bound(request: Request) -> bool:
    """Whether a request comes with a key, which sees one space only."""
    return request.state.key is not None
