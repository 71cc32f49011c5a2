"""Dependencies of the endpoints: values from their application and their request.

They are coroutines: FastAPI runs a plain function in a thread, which costs more than all of it.
"""

from typing import Annotated

from fastapi import Depends, Request

from hippocampe.aio import AsyncHippocampe
from hippocampe.server.http.access import bound, needs
from hippocampe.types import Scope


async def _door(request: Request) -> AsyncHippocampe:
    return request.app.state.hippo


Door = Annotated[AsyncHippocampe, Depends(_door)]
Reader = Annotated[Scope, Depends(needs("read"))]
Writer = Annotated[Scope, Depends(needs("write"))]
Admin = Annotated[Scope, Depends(needs("admin"))]
Bound = Annotated[bool, Depends(bound)]
