"""The application: a memory as endpoints of HTTP."""

from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute

from hippocampe import __version__
from hippocampe.hippocampe import Hippocampe
from hippocampe.server import memories, memory_panel, operation, problems, proxy, turns
from hippocampe.server.access import BEARER, BodyLimit, Gate
from hippocampe.server.limits import GuessLimit, KeyLimit
from hippocampe.server.observation import Observation
from hippocampe.server.openai_form import OpenAIErrors
from hippocampe.server.served import ServedMemory
from hippocampe.server.upstream import Upstream

MAX_BODY_BYTES = 16 * 2**20
"""Room for an exchange of two messages of the greatest length, with what tools returned."""


def create_app(hippo: Hippocampe | ServedMemory, *, loopback: bool = False) -> FastAPI:
    """Make the application that serves a memory.

    Args:
        hippo: The open memory; who opened it closes it.
        loopback: Whether only programs of this machine can connect. They need no key, and requests
            of web pages are refused. Otherwise every request needs a key.
    """
    awaited = hippo if isinstance(hippo, ServedMemory) else ServedMemory(hippo)
    app = FastAPI(
        title="Hippocampe",
        summary="The long-term memory of a conversational agent.",
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
    app.state.metrics = awaited.metrics
    app.state.probe = operation.Probe(awaited)
    config = awaited.config
    app.state.upstream = Upstream(config.upstream_url, config.upstream_key, loopback=loopback)
    for part in (memories, turns, memory_panel, proxy):
        app.include_router(part.router, dependencies=[Depends(BEARER)])
    app.include_router(operation.changes, dependencies=[Depends(BEARER)])
    app.include_router(operation.router)
    problems.install(app)
    app.add_middleware(BodyLimit, most=MAX_BODY_BYTES)
    app.add_middleware(KeyLimit, rate=config.request_rate, burst=config.request_burst)
    app.add_middleware(Gate, hippo=awaited, loopback=loopback)
    app.add_middleware(GuessLimit)
    app.add_middleware(OpenAIErrors)
    app.add_middleware(Observation, metrics=awaited.metrics)
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name
