"""Bring data in and out: import of a file that is dropped on the page, export, backup."""

import asyncio
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastapi import HTTPException
from starlette.responses import FileResponse, Response

from hippocampe.cells import Divided, located
from hippocampe.hippocampe import IMPORT_FORMATS
from hippocampe.server.dashboard.importing import Imports
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, Visit
from hippocampe.server.http.files import SentFile, plain_name, receive

PREFIX = "/data"
PREVIEW = f"{PREFIX}/preview"
"""The path that takes a file."""
router = page_router(prefix=PREFIX)
FIRST_NAMES = 12
"""Names of people and channels that a preview lists."""
FIRST_PROBLEMS = 50


@router.get("")
async def data_page(page: AdminPage) -> Response:
    """The page."""
    return page.render("data/page.html", section="data", formats=IMPORT_FORMATS, cells=_cells(page))


@router.post("/preview")
async def preview(page: AdminPage, name: str = "", format: str = "") -> Response:
    """Take a file as the body, and show what an import would bring."""
    folder = tempfile.TemporaryDirectory(prefix="hippocampe-import-", ignore_cleanup_errors=True)
    plain = plain_name(name)
    await receive(page.request, Path(folder.name) / plain)
    token = await imports(page).add(
        plain,
        folder,
        hippo=page.hippo,
        scope=page.scope,
        timezone=page.timezone,
        format=format or None,
        one_space=page.key is not None,
    )
    return _shown(page, token)


@router.post("/import/{token}")
async def start(page: AdminPage, token: str) -> Response:
    """Import a file, and show the progress."""
    imports(page).start(token, page.hippo, page.scope)
    return _shown(page, token)


@router.get("/import/{token}")
async def progress(page: AdminPage, token: str) -> Response:
    """The progress of an import."""
    return _shown(page, token)


@router.post("/discard/{token}")
async def discard(page: AdminPage, token: str) -> Response:
    """Remove a file instead of importing it."""
    imports(page).drop(token, page.scope)
    return Response(headers={"HX-Redirect": PREFIX})


@router.get("/backup")
async def backup(page: AdminPage) -> FileResponse:
    """A copy of the whole database, or of that of the cell, which no key opens."""
    if page.key is not None:
        raise HTTPException(403, page.say("A backup has all spaces: it is made on the server."))
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="hippocampe-backup-"))
    try:
        cell = "" if (found := located(Path(page.folder))) is None else f"-cell-{found[1]}"
        made = await page.hippo.backup(folder / f"hippocampe-{page.now:%Y-%m-%d}{cell}.db")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return SentFile(made, media_type="application/vnd.sqlite3", filename=made.name)


def _cells(page: Visit) -> Mapping[int, Sequence[str]]:
    """The spaces of each cell of a divided folder, that of the page first; empty if it is not divided."""
    if page.key is not None or (found := located(Path(page.folder))) is None:
        return {}
    root, own = found
    division = Divided(root).read()
    numbers = sorted(range(division.count), key=lambda cell: (cell != own, cell))
    return {
        cell: [space for space in page.spaces if division.cell_of(space) == cell]
        for cell in numbers
    }


def _shown(page: Visit, token: str) -> Response:
    file = imports(page).of(token, page.scope)
    channels = list(file.preview.channels)
    return page.part(
        "data/import.html",
        token=token,
        file=file,
        program=file.preview.programs,
        names=FIRST_NAMES,
        problems=(file.done or file.preview).problems,
        most_problems=FIRST_PROBLEMS,
        # The channel to look at afterwards, if it is one.
        brought=channels[0] if len(channels) == 1 else "",
    )


def imports(page: Visit) -> Imports:
    """The imports of the server of a page."""
    return page.request.app.state.imports
