"""The verbs of the library for `hippocampe.remote`, whose calls look like local ones.

Programs in other languages use the other endpoints: this one follows the library from version to version.
"""

import asyncio
import functools
import inspect
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Body, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from hippocampe import __version__
from hippocampe.errors import HippocampeError, InvalidInput
from hippocampe.hippocampe import Hippocampe
from hippocampe.server import problems
from hippocampe.server.access import ROLES
from hippocampe.server.door import Door
from hippocampe.types import ApiKey, Role
from hippocampe.wire import decode, encode

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
"""The verbs of one space, by the role that a key needs."""
OF_ALL_SPACES = frozenset(
    {"spaces", "create_key", "keys", "revoke_key", "verify", "reindex", "flush", "vitals"}
)
"""Verbs on the whole store: a key opens one space, so they need a request without one."""
ON_FILES = frozenset({"backup", "export_to", "import_from"})
"""Verbs on files of the server's machine: for programs of its user, through the socket of the data folder."""


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
    """Execute a verb: `{"result": …}`, or line by line if the client wants to see progress."""
    key: ApiKey | None = request.state.key
    _check_allowed(verb, key)
    signature, hints = _form(verb)
    decoded = _decoded(verb, signature, hints, arguments, named, key)
    step = functools.partial(getattr(hippo, verb), **decoded)
    if request.headers.get("accept") == LINES and "progress" in signature.parameters:
        return StreamingResponse(_told(step), media_type=LINES)
    # Encoding looks at lazy parts of the result, which takes a moment.
    return JSONResponse({"result": await asyncio.to_thread(encode, await step())})


def _check_allowed(verb: str, key: ApiKey | None) -> None:
    if verb in ON_FILES:
        raise HTTPException(
            403,
            f"{verb} uses files of the server's machine: run it there, as the user that runs the "
            "server.",
        )
    if verb in OF_ALL_SPACES:
        if key is not None:
            raise HTTPException(
                403,
                f"{verb} concerns all spaces and a key opens one: run it on the server's machine.",
            )
    else:
        needed = next((role for role in ROLES if verb in OF_A_ROLE[role]), None)
        if needed is None:
            raise HTTPException(404, "there is no such verb: install the version of the server.")
        if key is not None and ROLES.index(key.role) < ROLES.index(needed):
            raise HTTPException(
                403, f"{verb} needs a key with the role {needed}; this one has {key.role}."
            )


def _decoded(
    verb: str,
    signature: inspect.Signature,
    hints: dict[str, Any],
    arguments: list[Any],
    named: dict[str, Any],
    key: ApiKey | None,
) -> dict[str, Any]:
    """The arguments of a verb by name.

    Raises:
        InvalidInput: The arguments are not those of the verb.
        HTTPException: The key does not open the space.
    """
    try:
        given = signature.bind(*arguments, **named).arguments
        decoded = {name: decode(hints.get(name, Any), each) for name, each in given.items()}
        # Arguments of any name, of `update_settings`.
        decoded |= decoded.pop("changes", {})
    except (TypeError, ValueError) as exc:
        raise InvalidInput(
            f"the arguments are not those of {verb}: install the version of the server."
        ) from exc
    space = getattr(decoded.get("scope"), "space", None)
    if key is not None and space not in (None, key.space):
        raise HTTPException(403, "the key does not open this space.")
    return decoded


@functools.cache
def _form(verb: str) -> tuple[inspect.Signature, dict[str, Any]]:
    """The signature of a verb, without `self`, and the types of its arguments."""
    step = getattr(Hippocampe, verb)
    signature = inspect.signature(step)
    return signature.replace(parameters=[*signature.parameters.values()][1:]), get_type_hints(step)


async def _told(step: Callable[..., Any]) -> AsyncGenerator[str]:
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
