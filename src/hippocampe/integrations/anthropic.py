# pyright: basic
"""Anthropic's memory tool over a space: `tools=[MemoryTool(hippo)]`."""

import asyncio
from collections.abc import Callable
from typing import Any

from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import HippocampeError
from hippocampe.hippocampe import Hippocampe
from hippocampe.integrations.files import Files
from hippocampe.types import Scope

SPACE = "files"
"""The default space: of the files alone, since rules could supersede one by a statement without a key."""


class MemoryTool(BetaAbstractMemoryTool):
    """The files that Claude keeps below `/memories`, in a space.

    Args:
        hippo: The open memory; the caller closes it.
        scope: The space of the files, which nothing else writes to, and the user.
        known: A scope whose memories Claude sees too, one read-only file for each subject.
        cache_control: Passed to the declaration of the tool.
    """

    def __init__(
        self,
        hippo: Hippocampe | AsyncHippocampe,
        *,
        scope: Scope | None = None,
        known: Scope | None = None,
        cache_control: Any = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = Files(hippo, scope=scope or Scope(SPACE), known=known)

    def view(self, command: Any) -> str:
        return _told(lambda: self._files.view(command.path, command.view_range))

    def create(self, command: Any) -> str:
        return _told(lambda: self._files.create(command.path, command.file_text))

    def str_replace(self, command: Any) -> str:
        return _told(
            lambda: self._files.str_replace(command.path, command.old_str, command.new_str or "")
        )

    def insert(self, command: Any) -> str:
        return _told(
            lambda: self._files.insert(command.path, command.insert_line, command.insert_text)
        )

    def delete(self, command: Any) -> str:
        return _told(lambda: self._files.delete(command.path))

    def rename(self, command: Any) -> str:
        return _told(lambda: self._files.rename(command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        """Delete all files; `restore` brings each back."""
        self._files.remove()
        return "All memory cleared"


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """`MemoryTool` for the asynchronous client; the arguments are the same."""

    def __init__(self, hippo: Hippocampe | AsyncHippocampe, **options: Any) -> None:
        self._tool = MemoryTool(hippo, **options)
        super().__init__(cache_control=options.get("cache_control"))

    async def view(self, command: Any) -> str:
        return await asyncio.to_thread(self._tool.view, command)

    async def create(self, command: Any) -> str:
        return await asyncio.to_thread(self._tool.create, command)

    async def str_replace(self, command: Any) -> str:
        return await asyncio.to_thread(self._tool.str_replace, command)

    async def insert(self, command: Any) -> str:
        return await asyncio.to_thread(self._tool.insert, command)

    async def delete(self, command: Any) -> str:
        return await asyncio.to_thread(self._tool.delete, command)

    async def rename(self, command: Any) -> str:
        return await asyncio.to_thread(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        """Delete all files; `restore` brings each back."""
        return await asyncio.to_thread(self._tool.clear_all_memory)


def _told(command: Callable[[], str]) -> str:
    """The result of a command; a failure is told to the model."""
    try:
        return command()
    except HippocampeError as exc:
        raise ToolError(str(exc)) from exc
