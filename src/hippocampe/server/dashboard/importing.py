"""Imports from a page: the file that was sent, its preview, the progress of its import, the result."""

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import HippocampeError, InvalidInput, NotFound, UnreadableFile
from hippocampe.hippocampe import ImportPreview, preview_import
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
    started: bool = False
    read: int = 0
    done: Imported | None = None
    error: str | None = None

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
        self._tasks: set[asyncio.Task[None]] = set()

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
        if file.started:
            return
        file.started = True
        task = asyncio.create_task(_run(file, hippo))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

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
