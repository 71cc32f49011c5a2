"""Bring data in and out: import of a file that is dropped on the page, with its preview and progress; export, backup."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from fastapi import HTTPException
from starlette.responses import FileResponse, Response

from hippocampe.aio import AsyncHippocampe
from hippocampe.cells import Divided, located
from hippocampe.errors import HippocampeError, InvalidInput, NotFound, UnreadableFile
from hippocampe.hippocampe import IMPORT_FORMATS, ImportPreview, preview_import
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, Visit
from hippocampe.server.http.files import plain_name, receive, sent_file
from hippocampe.system import temporary
from hippocampe.types import Imported, Scope

MOST = 8
"""Most files that wait for a decision, over all readers; the oldest is dropped."""


@dataclass(slots=True)
class Importing:
    """A file that was sent by a page.

    Attributes:
        arguments: Those of `import_from`.
        read: Messages or rows that the import has read.
    """

    name: str
    preview: ImportPreview
    folder: "tempfile.TemporaryDirectory[str]"
    arguments: Mapping[str, Any]
    task: asyncio.Task[None] | None = None
    read: int = 0
    done: Imported | None = None
    error: str | None = None

    @property
    def started(self) -> bool:
        """True if the import was started."""
        return self.task is not None

    @property
    def total(self) -> int:
        """The number of messages or rows to read."""
        return max(sum(self.preview.counts.values()), 1)

    @property
    def ended(self) -> bool:
        """True if the import has ended."""
        return self.done is not None or self.error is not None


class Imports:
    """The imports of a server by token. Their files are in private folders, removed at the end."""

    def __init__(self) -> None:
        self._files = dict[str, Importing]()

    async def add(
        self,
        name: str,
        folder: "tempfile.TemporaryDirectory[str]",
        *,
        hippo: AsyncHippocampe,
        scope: Scope,
        **how: Any,
    ) -> str:
        """Preview a file of a folder, which this takes over; return the token of the import.

        Args:
            how: Further arguments of `import_from`.

        Raises:
            InvalidInput: The file is in no known format.
            UnreadableFile: It cannot be read.
        """
        path = Path(folder.name) / name
        arguments: dict[str, Any] = {"path": path, "scope": scope, **how}
        try:
            found = await asyncio.to_thread(
                preview_import, path, format=how["format"], timezone=how["timezone"]
            )
            tried = await hippo.import_from(**arguments, dry_run=True)
        except (InvalidInput, UnreadableFile) as exc:
            folder.cleanup()
            raise type(exc)(_without_folder(exc, path)) from exc
        token = token_urlsafe(16)
        found = replace(found, known=tried.known)
        self._files[token] = Importing(name, found, folder, arguments)
        waiting = [each for each, file in self._files.items() if not file.started or file.ended]
        for old in waiting[: max(len(self._files) - MOST, 0)]:
            self._files.pop(old).folder.cleanup()
        return token

    def of(self, token: str, scope: Scope) -> Importing:
        """An import of a space.

        Raises:
            NotFound: There is none, or no longer.
        """
        found = self._files.get(token)
        if found is None or found.arguments["scope"].space != scope.space:
            raise NotFound("this file is not waiting any more: choose it again.")
        return found

    def start(self, token: str, hippo: AsyncHippocampe, scope: Scope) -> None:
        """Start an import in the background, once."""
        file = self.of(token, scope)
        if not file.started:
            file.task = asyncio.create_task(_run(file, hippo))

    def drop(self, token: str, scope: Scope) -> None:
        """Remove a file whose import was not started."""
        if not self.of(token, scope).started:
            self._files.pop(token).folder.cleanup()


async def _run(file: Importing, hippo: AsyncHippocampe) -> None:
    def progress(what: str, done: int, total: int) -> None:
        if what == "importing":
            file.read = done

    try:
        file.done = await hippo.import_from(**file.arguments, progress=progress)
    except HippocampeError as exc:
        file.error = _without_folder(exc, file.arguments["path"])
    finally:
        await asyncio.to_thread(file.folder.cleanup)


def _without_folder(error: Exception, path: Path) -> str:
    """The text of an error with the name of the file, whose folder is on this server."""
    return str(error).replace(str(path), path.name)


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
    return page.render("data/page.html", formats=IMPORT_FORMATS, cells=_cells(page))


@router.post("/preview")
async def preview(page: AdminPage, name: str = "", format: str = "") -> Response:
    """Take a file as the body, and show what an import would bring."""
    folder = temporary.folder_of(Path(page.folder))
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
    cell = "" if (found := located(Path(page.folder))) is None else f"-cell-{found[1]}"
    name = f"hippocampe-{page.now:%Y-%m-%d}{cell}.db"
    return await sent_file(Path(page.folder), name, page.hippo.backup, "application/vnd.sqlite3")


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
