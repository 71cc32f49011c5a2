"""Endpoints that move a whole space: import and export. Files are in a private folder."""

import re
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse

from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.hippocampe import IMPORT_FORMATS
from hippocampe.server.api.arguments import Says
from hippocampe.server.http.dependencies import AdminScope, HasKey, Hippo
from hippocampe.server.http.files import MAX_NAME_CHARACTERS, plain_name, receive, sent_file
from hippocampe.system import temporary
from hippocampe.types import Imported

router = APIRouter(prefix="/api", tags=["Talk"])
LINES, ZIP = "application/jsonl", "application/zip"
_EXPORTS = {"hippocampe": ("jsonl", LINES), "okf": ("zip", ZIP)}
MAX_IMPORT_BYTES = 2**30
"""Largest import: years of talk; exports of whole spaces are smaller."""
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
    scope: AdminScope,
    has_key: HasKey,
    format: Annotated[
        str | None,
        Query(
            description=f"{', '.join(f'`{each}`' for each in IMPORT_FORMATS)}; default: detected."
        ),
    ] = None,
    timezone: Annotated[str, Query(description="Timezone of times without one.")] = "Europe/Paris",
    name: Annotated[
        str, Query(description="The name of the file: a chat of WhatsApp has its channel from it.")
    ] = "import",
    one_space: Annotated[
        bool, Query(description="Skip and report messages that name another space.")
    ] = False,
    dry_run: Annotated[
        bool, Query(description="Store nothing, and answer what would be added.")
    ] = False,
) -> Imported:
    """Import exported conversations, or an export of a space. Idempotent.

    With a key, messages that name another space are skipped and reported.
    """
    # It is removed at once: the end of a server that stops would cancel a later removal.
    with temporary.folder_of(hippo.sync.config.folder) as folder:
        path = Path(folder) / plain_name(name)
        try:
            await receive(request, path)
            return await hippo.import_from(
                path,
                scope=scope,
                format=format,
                timezone=timezone,
                one_space=one_space or has_key,
                dry_run=dry_run,
            )
        except (InvalidInput, UnreadableFile) as exc:
            # The path is on this server.
            raise type(exc)(str(exc).replace(str(path), "the file")) from exc


@router.get(
    "/export",
    response_class=FileResponse,
    responses={
        200: {
            "description": "JSON Lines or a zip, which `POST /api/import` reads back.",
            "content": {
                LINES: {"schema": {"type": "string"}},
                ZIP: {"schema": {"type": "string", "format": "binary"}},
            },
        }
    },
)
async def export_space(
    hippo: Hippo,
    scope: AdminScope,
    format: Annotated[
        str,
        Says({"enum": [*_EXPORTS]}),
        Query(description="JSON Lines, or a zip of Markdown files in Open Knowledge Format."),
    ] = "hippocampe",
    of_user: Annotated[
        str | None, Query(description="Only the memories and exchanges of this user.")
    ] = None,
) -> FileResponse:
    """Export the whole space, or what one user said, as JSON Lines or Markdown."""
    # The verb refuses any other.
    ending, media_type = _EXPORTS.get(format, ("", ""))
    return await sent_file(
        hippo.sync.config.folder,
        export_name(scope.space, ending),
        lambda path: hippo.export_to(path, scope=scope, format=format, user=of_user),
        media_type,
    )


def export_name(space: str, ending: str) -> str:
    """A file name for the export of a space, valid on every system: a space may be named `../../x`, or `con`."""
    plain = re.sub(r"\W+", "-", space[:MAX_NAME_CHARACTERS]).strip("-")
    return f"hippocampe-{plain}.{ending}" if plain else f"hippocampe.{ending}"
