"""Dependencies of the endpoints: values from their application and their request.

They are coroutines: FastAPI runs a plain function in a thread, which costs more than all of it.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request

from hippocampe.aio import AsyncHippocampe
from hippocampe.server.http.access import has_key, needs
from hippocampe.types import Role, Scope


async def _hippo(request: Request) -> AsyncHippocampe:
    return request.app.state.hippo


Hippo = Annotated[AsyncHippocampe, Depends(_hippo)]
Reader = Annotated[Scope, Depends(needs("read"))]
Writer = Annotated[Scope, Depends(needs("write"))]
Admin = Annotated[Scope, Depends(needs("admin"))]
SCOPES: Mapping[Role, Any] = {"read": Reader, "write": Writer, "admin": Admin}
HasKey = Annotated[bool, Depends(has_key)]
"""True for a request with a key, which restricts it to one space."""
