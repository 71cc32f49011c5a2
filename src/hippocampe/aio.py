"""Offer the same verbs as coroutines, run in worker threads, so that the event loop is never blocked."""

import asyncio
import os
from collections.abc import Callable
from typing import Any, Self, TypeVar

from hippocampe.config import Config
from hippocampe.hippocampe import Hippocampe, Verbs, folder_given
from hippocampe.system.workers import Workers
from hippocampe.types import Injection
from hippocampe.verbs import Awaited, Verb

T = TypeVar("T")


class AsyncHippocampe(Verbs, Awaited):
    """`Hippocampe` for asynchronous hosts: the same verbs, arguments, results and errors.

    A call that is cancelled goes on to its end in its thread, so what it stores may be stored. `close` ends
    `remember_many` after its current transaction.

    Args:
        sync: The memory that does the work, in this process or through another one.
        workers: The threads of each lane; default: those of the event loop.
    """

    def __init__(self, sync: Hippocampe, *, workers: Workers | None = None) -> None:
        if isinstance(sync, Config | str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise folder_given()
        self.sync = sync
        self.workers = workers

    @classmethod
    async def open(cls, where: Config | str | os.PathLike[str], **options: Any) -> Self:
        """Open a data folder; the arguments are those of `Hippocampe.open`."""
        return cls(await asyncio.to_thread(Hippocampe.open, where, **options))

    @property
    def owns(self) -> bool:
        """True if this process has the folder open itself, instead of using the process that owns it."""
        return self.sync.owns

    async def _awaited(self, verb: Verb, /, *arguments: Any, **named: Any) -> Any:
        if verb.name == "before_turn" and self.sync.owns:
            return await self._turn(*arguments, **named)
        # By name: the memory may be in another process.
        return await self._in_lane(verb.lane, getattr(self.sync, verb.name), *arguments, **named)

    async def _turn(self, /, *arguments: Any, **named: Any) -> Injection:
        """`before_turn` that sleeps in the event loop, so that waiting for a burst occupies no worker thread."""
        begin, end = self.sync._begin_turn, self.sync._end_turn  # pyright: ignore[reportPrivateUsage]
        begun = await self._in_lane("turn", begin, *arguments, **named)
        if isinstance(begun, Injection):
            return begun
        await asyncio.sleep(begun.wait_seconds)
        return await self._in_lane("turn", end, begun, scope=named["scope"])

    async def _in_lane(self, lane: str, call: Callable[..., T], /, *args: Any, **named: Any) -> T:
        if self.workers is None:
            return await asyncio.to_thread(call, *args, **named)
        return await self.workers.run(lane, call, *args, **named)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
