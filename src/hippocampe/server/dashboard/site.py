"""All pages of the dashboard, its files, and the security headers."""

from importlib import import_module
from pkgutil import iter_modules

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import RedirectResponse
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe import __version__
from hippocampe.server import dashboard
from hippocampe.server.dashboard import data, live, memory_detail
from hippocampe.server.dashboard.rendering import STATIC_FOLDER
from hippocampe.server.dashboard.routing import refused
from hippocampe.server.http.access import STATIC
from hippocampe.server.http.logs import LogTail
from hippocampe.server.http.middleware import Middleware, at_start

HOME = "/overview"
_MODULES = (
    import_module(f"{dashboard.__name__}.{each.name}") for each in iter_modules(dashboard.__path__)
)
PAGES = tuple(each for each in _MODULES if hasattr(each, "router"))
"""The modules with a `router`, one per page, by name: a path with a parameter comes after those that it would match."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "worker-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "Hippocampe-Version": __version__,
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Headers(Middleware):
    """Adds the version of the package and the security headers to every response."""

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        def secure(message: Message) -> None:
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", _kept(connection))

        await self.app(connection, receive, at_start(send, secure))


def _kept(connection: Connection) -> str:
    """The caching of a response: a file whose address names its content is kept for ever."""
    if not connection["path"].startswith(STATIC):
        return "no-store"
    return "max-age=31536000, immutable" if connection["query_string"] else "no-cache"


def install(app: FastAPI) -> None:
    """Add the pages and their files to an application whose errors are problems."""
    # Pages are not compressed: their length would tell whether words of a search are near the token that they carry.
    app.mount(STATIC.rstrip("/"), GZipMiddleware(StaticFiles(directory=STATIC_FOLDER)))
    app.state.digests = live.Begun()
    app.state.erasures = memory_detail.Erasures()
    app.state.imports = data.Imports()
    app.state.log_tail = LogTail()
    app.add_api_route("/", _home, include_in_schema=False)
    app.add_exception_handler(HTTPException, refused)
    for page in PAGES:
        app.include_router(page.router)


async def _home() -> RedirectResponse:
    return RedirectResponse(HOME, 303)
