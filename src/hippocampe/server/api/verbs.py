"""Private RPC for the Python client of the same version. Other clients use REST."""

import asyncio
import functools
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from hippocampe import __version__
from hippocampe.client.calls import decode_arguments, takes_progress
from hippocampe.client.connection import LINES
from hippocampe.client.wire import encode
from hippocampe.errors import HippocampeError
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.api.composed import of_one_space
from hippocampe.server.http import problems
from hippocampe.server.http.access import scope_of
from hippocampe.server.http.dependencies import Hippo
from hippocampe.types import ApiKey, Stats
from hippocampe.validation import check_scope
from hippocampe.verbs import SENT, Verb

router = APIRouter(prefix="/api/verbs", include_in_schema=False)


@router.get("")
async def greet(request: Request) -> dict[str, Any]:
    """The version of the server and the space of the key."""
    key: ApiKey | None = request.state.key
    space = None if key is None else key.space
    return {"version": __version__, "space": space}


@router.post("/{verb}")
async def call(
    request: Request,
    hippo: Hippo,
    verb: str,
    arguments: Annotated[list[Any], Body()],
    named: Annotated[dict[str, Any], Body()],
) -> Response:
    """Execute a verb: `{"result": …}`, or line by line if the client wants to see progress."""
    key: ApiKey | None = request.state.key
    called = _open(verb, key)
    decoded = decode_arguments(Hippocampe, verb, arguments, named)
    changes = called.writes_with is not None and decoded.get(called.writes_with)
    scope = decoded.get("scope")
    space = None if scope is None else check_scope(scope).space
    scope_of(key, "write" if changes else called.role, space)
    step = functools.partial(getattr(hippo, verb), **decoded)
    if request.headers.get("accept") == LINES and takes_progress(Hippocampe, verb):
        return StreamingResponse(_progress_lines(step), media_type=LINES)
    result = await step()
    if key is not None and isinstance(result, Stats):
        result = of_one_space(result)
    # Encoding looks at lazy parts of the result, which takes a moment.
    return JSONResponse({"result": await asyncio.to_thread(encode, result)})


def _open(name: str, key: ApiKey | None) -> Verb:
    """The verb of a name, if a key can open it.

    Raises:
        HTTPException: There is no such verb, or a key opens it in no role.
    """
    verb = SENT.get(name)
    if verb is None:
        raise HTTPException(404, "there is no such verb: install the version of the server.")
    if verb.reach == "files":
        raise HTTPException(
            403,
            f"{name} uses files of the server's machine: run it there, as the user that runs the server.",
        )
    if verb.reach == "store" and key is not None:
        raise HTTPException(
            403,
            f"{name} concerns all spaces and a key opens one: run it on the server's machine.",
        )
    return verb


async def _progress_lines(step: Callable[..., Any]) -> AsyncGenerator[str]:
    """Lines of JSON: progress while it works, then the result or the problem."""
    lines = asyncio.Queue[dict[str, Any]]()
    loop = asyncio.get_running_loop()

    def progress(what: str, done: int, total: int) -> None:
        loop.call_soon_threadsafe(lines.put_nowait, {"progress": [what, done, total]})

    async def work() -> None:
        try:
            result = await step(progress=progress)
            await lines.put({"result": await asyncio.to_thread(encode, result)})
        except HippocampeError as exc:
            await lines.put({"problem": asdict(problems.of_error(exc))})

    working = asyncio.create_task(work())
    working.add_done_callback(lambda task: lines.put_nowait({}))
    while line := await lines.get():
        yield json.dumps(line) + "\n"
    # An error that is no `HippocampeError` ends the stream without a result, and is logged.
    await working
