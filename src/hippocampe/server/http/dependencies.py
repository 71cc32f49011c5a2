"""Dependencies of the endpoints: values from their application and their request.

They are coroutines: FastAPI runs a plain function in a thread, which costs more than all of it.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Query, Request
from fastapi.dependencies.utils import get_flat_params
from starlette.datastructures import QueryParams

from hippocampe.aio import AsyncHippocampe
from hippocampe.server.http.access import scope_of
from hippocampe.types import Role, Scope

MAX_SHOWN = 100
"""Characters of the unknown parameters that an error names."""


def _label(description: str) -> Any:
    return Query(description=description, max_length=200)


def _needs(role: Role) -> Callable[..., Coroutine[Any, Any, Scope]]:
    """Make a dependency: the scope of a request, whose key must have a role or a higher one.

    Without `space`, it is the space of the key, or `default`.
    """

    async def scope(
        request: Request,
        space: Annotated[str | None, _label("The space; default: that of the key.")] = None,
        user: Annotated[str | None, _label("Who speaks.")] = None,
        channel: Annotated[str | None, _label("The channel.")] = None,
    ) -> Scope:
        found = scope_of(request.state.key, role, space, user, channel)
        _check_parameters(request)
        return found

    return scope


def _check_parameters(request: Request) -> None:
    """Refuse unknown parameters: a misspelt filter would be ignored."""
    known = {each.alias for each in get_flat_params(request.scope["route"].dependant)}
    unknown = QueryParams(request.scope["query_string"]).keys() - known
    if unknown:
        raise HTTPException(
            422,
            f"unknown in the query: {', '.join(sorted(unknown))[:MAX_SHOWN]}. Choose from {', '.join(sorted(known))}.",
        )


async def _hippo(request: Request) -> AsyncHippocampe:
    return request.app.state.hippo


async def _has_key(request: Request) -> bool:
    return request.state.key is not None


Hippo = Annotated[AsyncHippocampe, Depends(_hippo)]
ReadScope = Annotated[Scope, Depends(_needs("read"))]
WriteScope = Annotated[Scope, Depends(_needs("write"))]
AdminScope = Annotated[Scope, Depends(_needs("admin"))]
SCOPES: Mapping[Role, Any] = {"read": ReadScope, "write": WriteScope, "admin": AdminScope}
HasKey = Annotated[bool, Depends(_has_key)]
"""True for a request with a key, which restricts it to one space."""
