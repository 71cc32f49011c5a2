"""Errors as problem details (RFC 9457): what failed, why, and what to do."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from hippocampe import errors
from hippocampe.client.wire import KIND
from hippocampe.server.http.faults import faults

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = "1"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
INCOMPLETE = "the body is not complete."
"""The error of a request whose client disconnected while it sent the body: a line of the log, no failure."""
STATUS: dict[type[errors.HippocampeError], HTTPStatus] = {
    errors.InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.UnreadableFile: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.StoreFull: HTTPStatus.INSUFFICIENT_STORAGE,
    errors.StoreReadOnly: HTTPStatus.CONFLICT,
    errors.StoreCorrupt: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.StoreTooNew: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.StoreError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.FolderInUse: HTTPStatus.CONFLICT,
    errors.SpaceElsewhere: HTTPStatus.MISDIRECTED_REQUEST,
    errors.ServerUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.NotesUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.IndexUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.EmbedderMismatch: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.EmbedderError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.BudgetSpent: HTTPStatus.PAYMENT_REQUIRED,
    errors.InvalidAnswer: HTTPStatus.BAD_GATEWAY,
    errors.ModelError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.Overloaded: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""The status of an error; a missing one has the status of its nearest base class."""


_CLEARER = {
    "Not Found": "there is no endpoint at this path: see /openapi.json.",
    "Method Not Allowed": "the endpoint does not have this method: see /openapi.json.",
    "There was an error parsing the body": "the body cannot be read: send JSON in UTF-8.",
}
"""Errors of HTTP itself by what the framework says; an item that an endpoint does not find is a `NotFound`."""


BLANK: Final = "about:blank"
"""The type of the errors of HTTP itself (RFC 9457)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why a request failed.

    Attributes:
        type: `urn:hippocampe:` and the class of the error, or `about:blank` for errors of HTTP itself.
        title: The kind of error in words.
        status: The HTTP status.
        detail: What failed, why, and what to do.
    """

    type: str
    title: str
    status: int
    detail: str


RESPONSES: dict[int | str, dict[str, Any]] = {
    name: {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": TypeAdapter(Problem).json_schema()}},
    }
    for name, description in (("422", "The request cannot be used."), ("default", "It failed."))
}
"""The errors in the OpenAPI document."""


def of_error(error: errors.HippocampeError) -> Problem:
    """The problem of an error of the library."""
    kind = type(error)
    status = next(
        (STATUS[base] for base in kind.__mro__ if base in STATUS), HTTPStatus.INTERNAL_SERVER_ERROR
    )
    title = re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).capitalize()
    return Problem(f"{KIND}{kind.__name__}", title, status, str(error))


def of_status(status: int, detail: str) -> Problem:
    """The problem of an HTTP status."""
    return Problem(BLANK, HTTPStatus(status).phrase, status, detail)


def response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """A problem as a response. Its text is ASCII, so that any message can be sent."""
    more = dict(headers or {})
    if problem.status == HTTPStatus.SERVICE_UNAVAILABLE:
        more.setdefault("Retry-After", RETRY_SECONDS)
    return Response(json.dumps(asdict(problem)), problem.status, more, MEDIA_TYPE)


EXPECTED = (errors.HippocampeError, HTTPException, ClientDisconnect)
"""The errors that say by themselves why a request failed."""


def of_expected(error: Exception, headers: Mapping[str, str] | None = None) -> Response:
    """The response to one of the `EXPECTED` errors; a disconnected client does not get it."""
    if isinstance(error, errors.HippocampeError):
        return response(of_error(error), headers)
    if isinstance(error, HTTPException):
        return response(of_status(error.status_code, error.detail), error.headers)
    return response(of_status(400, INCOMPLETE))


def install(app: FastAPI) -> None:
    """Answer every error of an application with a problem."""
    for kind, handler in (
        (errors.HippocampeError, _failed),
        (RequestValidationError, _unusable),
        (HTTPException, refused),
        (ClientDisconnect, _failed),
        (Exception, _broken),
    ):
        app.add_exception_handler(kind, handler)


async def _failed(request: Request, error: Exception) -> Response:
    return of_expected(error)


async def _unusable(request: Request, error: Exception) -> Response:
    """A malformed request: the place and the reason, never the values."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(each["type"] == "model_attributes_type" and each["loc"] == ("body",) for each in found):
        # Without the header, the body is read as bytes.
        reason = (
            "the body is no JSON object: send one, with the header Content-Type: application/json"
        )
    elif broken := next((each for each in found if each["type"] == "json_invalid"), None):
        reason = f"the body is no JSON at character {broken['loc'][-1]}: {broken['ctx']['error']}"
    else:
        reason = faults(found)
    detail = f"the request cannot be used: {reason}. See /openapi.json for its form."
    return response(of_error(errors.InvalidInput(detail)))


async def refused(request: Request, error: Exception) -> Response:
    """An error of HTTP itself, as a problem."""
    assert isinstance(error, HTTPException)
    detail = _CLEARER.get(error.detail, error.detail)
    return response(of_status(error.status_code, detail), headers_of(request, error))


def headers_of(request: Request, error: HTTPException) -> Mapping[str, str] | None:
    """The headers of an error of HTTP itself.

    A route knows only its own methods; others may serve the same path.
    """
    if error.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
        return error.headers
    methods = _allowed(request)
    if not methods or request.method in methods:
        # A mounted application has refused the method, and has named its own ones.
        return error.headers
    return {"Allow": ", ".join(methods)}


async def _broken(request: Request, error: Exception) -> Response:
    return response(of_status(500, "the server failed: report it with the traceback in its log."))


def _allowed(request: Request) -> list[str]:
    """The methods that the path of a request allows, over all routes."""
    routes: list[BaseRoute] = request.app.routes
    found = [
        method
        for method in METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes
        )
    ]
    return ["HEAD", *found] if "GET" in found else found
