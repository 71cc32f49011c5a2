"""Routers of pages: errors are rendered as pages, or as messages in the open page."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from hippocampe.errors import HippocampeError, InvalidInput
from hippocampe.server.dashboard.visit import visiting, visitor
from hippocampe.server.http import problems
from hippocampe.server.http.faults import MAX_FAULTS, MAX_NAME
from hippocampe.server.http.sessions import SAFE_METHODS

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route that answers an error with a page; a request for a part of a page gets a problem, shown in the
    page."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except HippocampeError as exc:
                return await _shown(request, problems.of_error(exc))
            except RequestValidationError as exc:
                wrong = {str(each["loc"][-1])[:MAX_NAME] for each in exc.errors()}
                names = ", ".join(sorted(wrong)[:MAX_FAULTS])
                problem = problems.of_error(InvalidInput(f"these fields cannot be used: {names}."))
                return await _shown(request, problem)
            except HTTPException as exc:
                return await _shown(request, problems.of_status(exc.status_code, str(exc.detail)))

        return handled


def page_router(**options: Any) -> APIRouter:
    """A router whose routes are pages."""
    return APIRouter(
        include_in_schema=False,
        route_class=PageRoute,
        default_response_class=HTMLResponse,
        **options,
    )


async def refused(request: Request, error: Exception) -> Response:
    """Errors of HTTP itself: a page for a browser's navigation, a problem for programs."""
    assert isinstance(error, HTTPException)
    navigation = request.method == "GET" and "text/html" in request.headers.get("accept", "")
    if not navigation:
        return await problems.refused(request, error)
    shown = await _shown(request, problems.of_status(error.status_code, str(error.detail)))
    shown.headers.update(problems.headers_of(request, error) or {})
    return shown


async def _shown(request: Request, problem: problems.Problem) -> Response:
    page = await visitor(request)
    problem = replace(problem, detail=page.error(problem.detail))
    if "hx-request" in request.headers:
        return problems.response(problem)
    framed = False
    # Who may read the space keeps the menu; a request that the gate did not see has no key in its state.
    if request.method in SAFE_METHODS and hasattr(request.state, "key"):
        with suppress(HippocampeError, HTTPException):
            page, framed = await visiting("read")(request, page), True
    return page.render("problem.html", status=problem.status, problem=problem, framed=framed)
