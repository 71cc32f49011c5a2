"""The application: the HTTP endpoints of a memory."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI
from starlette.routing import Route

from hippocampe import __version__
from hippocampe.companion import AsyncCompanion
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.api import (
    chat,
    composed,
    endpoints,
    operation,
    transfer,
    verbs,
)
from hippocampe.server.api.description import PARAGRAPHS, SUMMARY, describe
from hippocampe.server.dashboard import data, site
from hippocampe.server.http import problems
from hippocampe.server.http.access import BEARER, PROXY, Gate
from hippocampe.server.http.idempotency import Idempotency
from hippocampe.server.http.json_limit import JsonLimit
from hippocampe.server.http.limits import BodyLimit, GuessLimit, KeyLimit
from hippocampe.server.http.metrics import Observation
from hippocampe.server.http.origins import Origins
from hippocampe.server.http.rewriting import HeadRequests, SpeakerPath, Versions
from hippocampe.server.http.served import ServedMemory
from hippocampe.server.http.sessions import Sessions
from hippocampe.server.mcp import endpoint
from hippocampe.server.proxy import endpoints as proxy
from hippocampe.server.proxy.providers import ProviderErrors
from hippocampe.server.proxy.remembered_chat import Threads
from hippocampe.server.proxy.upstream import upstreams

MAX_BODY_BYTES = 16 * 2**20
"""Room for an exchange of two messages of the greatest length, with its tool results."""
LARGER = {
    "/api/import": transfer.MAX_IMPORT_BYTES,
    data.PREVIEW: transfer.MAX_IMPORT_BYTES,
    PROXY: proxy.MAX_PASSED_BYTES,
}
"""Larger limits, by the prefix of a path."""


def create_app(
    hippo: Hippocampe | ServedMemory,
    *,
    loopback: bool = False,
    keyless: bool = True,
    sessions: Sessions | None = None,
    temporary: bool = False,
) -> FastAPI:
    """Make the application that serves a memory.

    Args:
        hippo: The open memory; the caller closes it.
        loopback: Whether only programs of this machine can connect; requests of web pages of other sites
            are then refused.
        keyless: Whether programs on loopback need no key. Otherwise every request needs one.
        sessions: The logins; default: those of this application alone.
        temporary: Whether the data folder is removed when the server stops; the pages say so.
    """
    awaited = hippo if isinstance(hippo, ServedMemory) else ServedMemory(hippo)
    app = FastAPI(
        title="Hippocampe",
        summary=SUMMARY,
        description="\n\n".join(PARAGRAPHS),
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # The library has spans of its own, without content; these would contain the words of a search.
        telemetry={"tracing": False},
        generate_unique_id_function=lambda route: route.name,
        responses=problems.RESPONSES,
        lifespan=_running,
    )
    app.state.hippo = awaited
    app.state.metrics = awaited.metrics
    app.state.probe = operation.Probe(awaited)
    app.state.sessions = sessions or Sessions()
    app.state.loopback = loopback
    app.state.temporary = temporary
    app.state.upstreams = upstreams(awaited.config)
    app.state.threads = Threads()
    awaited.sync.erasures.add(app.state.threads.erased)
    app.state.mcp = endpoint.McpEndpoint(awaited)
    app.state.companion = AsyncCompanion(awaited)
    parts = (composed, chat, transfer, proxy, verbs)
    for router in (endpoints.routes(), *(each.router for each in parts)):
        app.include_router(router, dependencies=[Depends(BEARER)])
    app.include_router(operation.router)
    app.router.routes.append(Route(endpoint.PATH, app.state.mcp))
    problems.install(app)
    site.install(app)
    describe(app)
    _guard(app, awaited, loopback=loopback, keyless=keyless)
    return app


@asynccontextmanager
async def _running(app: FastAPI) -> AsyncGenerator[None]:
    """Collect log lines while the application runs, and close its connections at the end."""
    state = app.state
    state.log_tail.attach()
    try:
        yield
    finally:
        state.log_tail.detach()
        for each in (state.companion, state.mcp, *state.upstreams.values()):
            await each.close()


def _guard(app: FastAPI, hippo: ServedMemory, *, loopback: bool, keyless: bool) -> None:
    """Add the middlewares; a request passes the last one first."""
    config = hippo.config
    app.add_middleware(Idempotency, hippo=hippo)
    app.add_middleware(JsonLimit, free=tuple(LARGER))
    app.add_middleware(BodyLimit, most=MAX_BODY_BYTES, larger=LARGER)
    app.add_middleware(
        KeyLimit,
        rate=config.request_rate,
        burst=config.request_burst,
        processes=lambda: hippo.sync.processes,
    )
    app.add_middleware(
        Gate,
        hippo=hippo,
        sessions=app.state.sessions,
        loopback=loopback,
        keyless=keyless,
        origins=config.allowed_origins,
    )
    app.add_middleware(GuessLimit)
    app.add_middleware(Origins, origins=config.allowed_origins)
    app.add_middleware(site.Headers)
    app.add_middleware(Observation, metrics=hippo.metrics)
    app.add_middleware(ProviderErrors)
    app.add_middleware(Versions)
    app.add_middleware(HeadRequests, except_below=PROXY)
    app.add_middleware(SpeakerPath)
