"""Private RPC for `hippocampe.remote`, the Python client of the same version. Other clients use REST."""

import asyncio
import functools
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from hippocampe import __version__
from hippocampe.errors import HippocampeError
from hippocampe.hippocampe import Hippocampe
from hippocampe.remote.calls import decode_arguments, takes_progress
from hippocampe.server import problems
from hippocampe.server.access import ROLES, scope_of
from hippocampe.server.door import Door
from hippocampe.types import ApiKey, Role
from hippocampe.validation import check_scope
from hippocampe.wire import encode

router = APIRouter(prefix="/api/verbs", include_in_schema=False)
LINES = "application/x-ndjson"

OF_A_ROLE: Mapping[Role, frozenset[str]] = {
    "read": frozenset(
        {
            *("recall", "recent", "memories", "users", "subjects", "get", "history", "neighbours"),
            *("reviews", "facts", "before_turn", "messages", "search_text", "notes", "settings"),
            *("retrievals", "jobs", "names", "usage", "check_budget", "now", "stats"),
            *("preview", "replay", "retrieval", "activity", "graph", "costs"),
        }
    ),
    "write": frozenset(
        {
            *("remember", "remember_many", "edit", "delete", "restore", "associate", "settle"),
            *("set_fact", "delete_fact", "observe", "after_turn", "extract", "forget"),
            "record_usage",
        }
    ),
    "admin": frozenset(
        {
            "update_settings",
            "digest",
            "compact",
            "expire",
            "run_jobs",
            "retry_job",
            "erase",
            "audit",
        }
    ),
}
"""The verbs on one space, by the role that a key needs."""
OF_ALL_SPACES = frozenset(
    {"spaces", "create_key", "keys", "revoke_key", "verify", "reindex", "flush", "vitals"}
)
"""Verbs on the whole store. A key opens one space, so they need a request without one."""
ON_FILES = frozenset({"backup", "export_to", "import_from"})
"""Verbs on files of the server's machine: only for programs of its user, through the socket of the data folder."""
CHANGING: Mapping[str, str] = {"notes": "refresh"}
"""Verbs that read, each with the argument that makes it write, which needs the role `write`."""


@router.get("")
async def greet(request: Request) -> dict[str, str | None]:
    """The version of the server, and the space of the key."""
    key: ApiKey | None = request.state.key
    return {"version": __version__, "space": None if key is None else key.space}


@router.post("/{verb}")
async def call(
    request: Request,
    hippo: Door,
    verb: str,
    arguments: Annotated[list[Any], Body()],
    named: Annotated[dict[str, Any], Body()],
) -> Response:
    """Execute a verb: `{"result": …}`, or line by line with progress."""
    key: ApiKey | None = request.state.key
    role = _needed(verb, key)
    decoded = decode_arguments(Hippocampe, verb, arguments, named)
    if decoded.get(CHANGING.get(verb, "")):
        role = "write"
    scope = decoded.get("scope")
    scope_of(key, role, None if scope is None else check_scope(scope).space)
    step = functools.partial(getattr(hippo, verb), **decoded)
    if request.headers.get("accept") == LINES and takes_progress(Hippocampe, verb):
        return StreamingResponse(_told(step), media_type=LINES)
    # Encoding evaluates lazy parts of the result, which takes a moment.
    return JSONResponse({"result": await asyncio.to_thread(encode, await step())})


def _needed(verb: str, key: ApiKey | None) -> Role:
    """The role that a verb needs.

    Raises:
        HTTPException: There is no such verb, or no role of a key allows it.
    """
    if verb in ON_FILES:
        raise HTTPException(
            403,
            f"{verb} uses files of the server's machine: run it there, as the user that runs the server.",
        )
    if verb in OF_ALL_SPACES:
        if key is not None:
            raise HTTPException(
                403,
                f"{verb} concerns all spaces and a key opens one: run it on the server's machine.",
            )
        return "admin"
    for role in ROLES:
        if verb in OF_A_ROLE[role]:
            return role
    raise HTTPException(404, "there is no such verb: install the version of the server.")


async def _told(step: Callable[..., Any]) -> AsyncGenerator[str]:
    """Stream lines of JSON: progress while the verb works, then the result or the problem."""
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
    # An error that is not a `HippocampeError` ends the stream without a result, and is logged.
    await working
