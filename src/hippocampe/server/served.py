"""The memory as the server calls it: in bounded threads, and counted."""

from collections.abc import Sequence

from hippocampe.aio import AsyncHippocampe
from hippocampe.config import Config
from hippocampe.hippocampe import Hippocampe
from hippocampe.injection.incoming import HostMessage
from hippocampe.server.metrics import Metrics
from hippocampe.system.workers import Lane, Workers
from hippocampe.types import Injection, Scope

LANES = {
    # Turns wait inside, within their deadline, for one of the few places that run.
    "turn": Lane(threads=64, waiting=64),
    # More would only take the interpreter from the turns.
    "read": Lane(threads=4, waiting=60),
    "write": Lane(threads=2, waiting=62),
    # They wait for models and child processes.
    "long": Lane(threads=4, waiting=12),
}


class ServedMemory(AsyncHippocampe):
    """A memory whose calls are bounded by kind, and whose turns are counted.

    Args:
        hippo: The open memory; who opened it closes it.
    """

    def __init__(self, hippo: Hippocampe) -> None:
        workers = Workers(LANES)
        super().__init__(hippo, workers=workers)
        self.metrics = Metrics(self)
        self._workers = workers

    @property
    def config(self) -> Config:
        """The configuration that the memory was opened with."""
        return self.sync.config

    async def before_turn(
        self,
        message: HostMessage | Sequence[HostMessage],
        *,
        scope: Scope,
        role: str = "user",
        fresh: bool = False,
    ) -> Injection:
        injection = await super().before_turn(message, scope=scope, role=role, fresh=fresh)
        self.metrics.turn(injection)
        return injection

    def release(self) -> None:
        """Drop the calls that wait; the memory stays open."""
        self._workers.close()
