"""Files that a request sends or gets. They are in private folders of this server."""

import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
from fastapi import Request
from fastapi.responses import FileResponse
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from hippocampe.system import free_space
from hippocampe.system.temporary import prefix

MAX_NAME_CHARACTERS = 50
"""Longest name: file systems limit it to 255 bytes, and a character takes up to 4."""


async def receive(request: Request, path: Path) -> None:
    """Write the body of a request to a file.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        async with await anyio.open_file(path, "wb") as file:
            async for piece in request.stream():
                await file.write(piece)
    except OSError as exc:
        raise free_space.refusal(exc, "the file cannot be received") from exc


class SentFile(FileResponse):
    """A file that is removed with its folder after it was sent."""

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            shutil.rmtree(Path(self.path).parent, ignore_errors=True)


async def sent_file(
    data: Path, name: str, make: Callable[[Path], Awaitable[object]], media_type: str
) -> SentFile:
    """Make a file from a data folder in a private folder, and send it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix(data)))
    try:
        await make(folder / name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return SentFile(folder / name, media_type=media_type, filename=name)


def plain_name(name: str) -> str:
    """The name of a file that was sent, valid on every system and without a folder."""
    plain = "".join(each for each in name if each.isprintable() and each not in '/\\:*?"<>|')
    return plain.strip(". ")[-MAX_NAME_CHARACTERS:] or "import"
