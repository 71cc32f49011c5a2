"""The application: a memory as endpoints of HTTP."""

from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute

from hippocampe import __version__
from hippocampe.aio import AsyncHippocampe
from hippocampe.hippocampe import Hippocampe
from hippocampe.server import (
    api_keys,
    chat,
    memories,
    memory_panel,
    operation,
    problems,
    proxy,
    relations,
    talk,
    transfer,
    turns,
    work,
)
from hippocampe.server.access import BEARER, BodyLimit, Gate
from hippocampe.server.description import DESCRIPTION, describe
from hippocampe.server.idempotency import Idempotency
from hippocampe.server.openai_form import OpenAIErrors
from hippocampe.server.upstream import Upstream
from hippocampe.server.versions import Versions

MAX_BODY_BYTES = 16 * 2**20
"""Room for an exchange of two messages of the greatest length, with what tools returned."""


def create_app(hippo: AsyncHippocampe | Hippocampe, *, loopback: bool = False) -> FastAPI:
    """Make the application that serves a memory.

    Args:
        hippo: The open memory; who opened it closes it.
        loopback: Whether only programs of this machine can connect. They need no key, and requests
            of web pages are refused. Otherwise every request needs a key.
    """
    awaited = AsyncHippocampe(hippo) if isinstance(hippo, Hippocampe) else hippo
    app = FastAPI(
        title="Hippocampe",
        summary="The long-term memory of a conversational agent.",
        description=DESCRIPTION,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # The library has spans of its own, without content; these would have the words of a search.
        telemetry={"tracing": False},
        generate_unique_id_function=_operation_id,
        responses=problems.RESPONSES,
    )
    app.state.hippo = awaited
    app.state.probe = operation.Probe(awaited)
    config = awaited.sync.config
    app.state.upstream = Upstream(config.upstream_url, config.upstream_key, loopback=loopback)
    app.state.answering = chat.Answering(awaited)
    for part in (
        *(memories, relations, turns, talk, memory_panel, chat),
        *(work, transfer, api_keys, proxy),
    ):
        app.include_router(part.router, dependencies=[Depends(BEARER)])
    app.include_router(operation.router)
    problems.install(app)
    describe(app)
    app.add_middleware(Idempotency, hippo=awaited)
    larger = {"/api/import": transfer.MAX_IMPORT_BYTES}
    app.add_middleware(BodyLimit, most=MAX_BODY_BYTES, larger=larger)
    app.add_middleware(Gate, hippo=awaited, loopback=loopback)
    app.add_middleware(OpenAIErrors)
    app.add_middleware(Versions)
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name
