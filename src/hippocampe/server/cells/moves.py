"""Move a space to another cell while it is read.

At any instant one copy is in force, and the division says which:

1. The division marks the space as `moving`: its cell refuses writes, which the router holds back.
2. Its cell writes the rows to a file, and the target stores them in one transaction.
3. The division gives the space to the target, and marks the other copy as `stale`: writes go on.
4. The other copy is removed from the files of the first cell, and the mark is removed.

After a crash or a failure, a space that was `moving` is where it was, and the target's copy is `stale`.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any

import httpx

from hippocampe.cells import FOLDER, Divided, hashed
from hippocampe.errors import HippocampeError, InvalidInput, ServerUnavailable, StoreError

log = logging.getLogger("hippocampe.cells")
PREFIX = "moving-"
SPREAD = 100
"""Fewest spaces of one `spread`."""
TIDY_SECONDS = 60.0
"""Interval at which the removal of stale copies is tried again."""
Ask = Callable[[int, str, dict[str, Any] | None], Awaitable[httpx.Response]]
"""Sends a request of the router to a cell: its number, the name of the step, and the arguments; without, it reads."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A space that was moved; its writes waited for `seconds`."""

    space: str
    source: int
    target: int
    rows: int
    seconds: float


class Mover:
    """Moves spaces, one at a time.

    Args:
        notes_space: The space of the notes, which stays: its cell reads them. None without notes.
    """

    def __init__(self, divided: Divided, ask: Ask, notes_space: str | None) -> None:
        self._divided = divided
        self._ask = ask
        self._notes_space = notes_space
        self._moving = asyncio.Lock()

    async def move(self, space: str, target: int) -> Moved:
        """Move a space.

        Raises:
            InvalidInput: There is no such cell, or the space cannot be moved; it stays where it is.
            HippocampeError: A cell failed; the space stays where it is.
        """
        async with self._moving:
            division = self._divided.settled()
            source = division.cell_of(space)
            if not 0 <= target < division.count:
                raise InvalidInput(f"there is no cell {target}: choose 0 to {division.count - 1}.")
            if space == self._notes_space:
                raise InvalidInput(
                    f"the notes belong to space {space!r}, and its cell reads them: it cannot be moved."
                )
            if source == target:
                return Moved(space, source, target, 0, 0.0)
            if space in division.stale:
                await self._tidy([division.stale[space]])
            moved = await self._moved(space, source, target)
            await self._try_tidy([source])
            return moved

    async def spread(self) -> list[Moved]:
        """Move half of the spaces that are not in the cell that their name hashes to, so that the caller can show progress.

        After them each cell writes its files again, which takes minutes for a million memories: so all the moves cost
        a few of these, however many spaces there are.

        Returns:
            The moves; none if each space is where its name hashes to.

        Raises:
            HippocampeError: A cell failed; the moves before it are done.
        """
        async with self._moving:
            division = self._divided.settled()
            await self._tidy(division.stale.values())
            found: list[tuple[str, int]] = []
            for cell in range(division.count):
                spaces = await self._step(cell, "spaces", None)
                found += [(space, cell) for space in spaces if division.cell_of(space) == cell]
            astray = [
                (space, cell, target)
                for space, cell in sorted(found)
                if (target := hashed(space, division.count)) != cell and space != self._notes_space
            ]
            try:
                return [
                    await self._moved(*each) for each in astray[: max(SPREAD, len(astray) // 2)]
                ]
            finally:
                await self._try_tidy(self._divided.read().stale.values())

    async def _moved(self, space: str, source: int, target: int) -> Moved:
        started = time.monotonic()
        try:
            rows = await self._copied(space, source, target)
            moved = self._divided.read().having(space, target)
            self._divided.write(moved.settled(space, stale=source))
        except BaseException:
            # Where the disk has no room for the division either, `tidy` does it later.
            with suppress(StoreError):
                self._divided.settled()
            raise
        seconds = time.monotonic() - started
        log.info("space %r moved from cell %d to cell %d", space, source, target)
        return Moved(space, source, target, rows, round(seconds, 3))

    async def _copied(self, space: str, source: int, target: int) -> int:
        """Copy the rows, and leave the space marked as `moving`."""
        division = self._divided.read()
        self._divided.write(replace(division, moving={**division.moving, space: target}))
        path = self._divided.root / FOLDER / f"{PREFIX}{token_hex(8)}.db"
        where = {"space": space, "path": str(path)}
        try:
            await self._step(source, "copy-out", where)
            return await self._step(target, "copy-in", where)
        finally:
            for each in path.parent.glob(f"{path.name}*"):
                each.unlink(missing_ok=True)

    async def stay_tidy(self) -> None:
        """Remove stale copies, now and whenever a cell could not: its disk was full, or it was away. Never returns."""
        while True:
            with suppress(StoreError, OSError):
                await self.tidy()
            await asyncio.sleep(TIDY_SECONDS)

    async def tidy(self) -> None:
        """Remove stale copies, also of moves that were interrupted; those of a cell that fails stay."""
        async with self._moving:
            for path in (self._divided.root / FOLDER).glob(f"{PREFIX}*"):
                path.unlink(missing_ok=True)
            for cell in set(self._divided.settled().stale.values()):
                await self._try_tidy([cell])

    async def _try_tidy(self, cells: Iterable[int]) -> None:
        try:
            await self._tidy(cells)
        except HippocampeError as exc:
            log.warning("copies of moved spaces stay, which cannot be erased meanwhile: %s", exc)

    async def _tidy(self, cells: Iterable[int]) -> None:
        """Remove the stale copies of some cells, those of a cell at once: it then writes its files again once."""
        for cell in sorted(set(cells)):
            stale = self._divided.read().stale
            spaces = [space for space, at in stale.items() if at == cell]
            await self._step(cell, "remove", {"spaces": spaces})
            division = self._divided.read()
            left = {name: at for name, at in division.stale.items() if name not in spaces}
            self._divided.write(replace(division, stale=left))

    async def _step(self, cell: int, name: str, arguments: dict[str, Any] | None) -> Any:
        try:
            response = await self._ask(cell, name, arguments)
            content = json.loads(await response.aread())
        except (httpx.HTTPError, ValueError) as exc:
            raise ServerUnavailable(f"cell {cell} failed during {name}: try again.") from exc
        if response.status_code >= 400:
            raise ServerUnavailable(f"cell {cell} failed during {name}: {content['detail']}")
        return content
