"""Endpoints that move a whole space: import and export. Files are in a private folder."""

import asyncio
import re
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.hippocampe import IMPORT_FORMATS
from hippocampe.server.http.dependencies import Admin, HasKey, Hippo
from hippocampe.system import free_space
from hippocampe.types import Imported

router = APIRouter(prefix="/api", tags=["Talk"])
LINES = "application/jsonl"
MAX_IMPORT_BYTES = 2**30
"""Largest import: years of talk; exports of whole spaces are smaller."""
MAX_NAME_CHARACTERS = 50
"""Longest name: file systems limit it to 255 bytes, and a character takes up to 4."""
_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file as it is.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post("/import", openapi_extra=_FILE)
async def import_file(
    request: Request,
    hippo: Hippo,
    scope: Admin,
    has_key: HasKey,
    format: Annotated[
        str | None,
        Query(
            description=f"{', '.join(f'`{each}`' for each in IMPORT_FORMATS)}; default: detected."
        ),
    ] = None,
    timezone: Annotated[str, Query(description="Timezone of times without one.")] = "Europe/Paris",
) -> Imported:
    """Import exported conversations, or an export of a space. Idempotent.

    With a key, messages that name another space are skipped and reported.
    """
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="hippocampe-import-"))
    path = folder / "import"
    try:
        await _receive(request, path)
        return await hippo.import_from(
            path, scope=scope, format=format, timezone=timezone, one_space=has_key
        )
    except (InvalidInput, UnreadableFile) as exc:
        # The path is on this server.
        raise type(exc)(str(exc).replace(str(path), "the file")) from exc
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _receive(request: Request, path: Path) -> None:
    try:
        file = await asyncio.to_thread(path.open, "wb")
        try:
            async for piece in request.stream():
                await asyncio.to_thread(file.write, piece)
        finally:
            await asyncio.to_thread(file.close)
    except OSError as exc:
        raise free_space.refusal(exc, "the file cannot be received") from exc


class _Sent(FileResponse):
    """A file that is removed with its folder after it was sent."""

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            shutil.rmtree(Path(self.path).parent, ignore_errors=True)


@router.get(
    "/export",
    response_class=FileResponse,
    responses={
        200: {
            "description": "JSON Lines, which `POST /api/import` reads back.",
            "content": {LINES: {"schema": {"type": "string"}}},
        }
    },
)
async def export_space(hippo: Hippo, scope: Admin) -> FileResponse:
    """Export the whole space as JSON Lines."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="hippocampe-export-"))
    path = folder / "space.jsonl"
    try:
        await hippo.export_to(path, scope=scope)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return _Sent(path, media_type=LINES, filename=export_name(scope.space))


def export_name(space: str) -> str:
    """A file name for the export of a space, valid on every system: a space may be named `../../x`, or `con`."""
    plain = re.sub(r"\W+", "-", space[:MAX_NAME_CHARACTERS]).strip("-")
    return f"hippocampe-{plain}.jsonl" if plain else "hippocampe.jsonl"
