"""The state of the index relative to the store, and of the process that builds its graphs."""

import subprocess
import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class IndexPosition:
    """How far the index follows the outbox of the store."""

    applied: int = 0
    """The position up to which the index has every change, durable or not."""
    flushed: int = 0
    """The position up to which the index has every change durably."""
    behind: bool = False
    """Whether the index missed a change, so that the outbox must be replayed."""
    incomplete: bool = False
    """Whether a full disk stopped what brings the index up to date at opening."""
    damaged: bool = False
    """Whether the index must be built again."""
    keep_outbox: bool = False
    """Whether an index that is being filled still needs the outbox rows."""


@dataclass(slots=True)
class GraphBuilder:
    """The child process that builds a graph, one at a time."""

    building: threading.RLock = field(default_factory=threading.RLock)
    """Held while a new generation of the index is made; taken before the store's write lock."""
    process: "subprocess.Popen[str] | None" = None
    stopped: bool = False
    """Set at closing: no new build may start."""

    def started(self, process: "subprocess.Popen[str]") -> None:
        """Note the process that builds, and kill it if closing has begun."""
        self.process = process
        if self.stopped:
            process.kill()

    def stop(self) -> None:
        """Kill the running build and refuse new ones."""
        self.stopped = True
        if self.process is not None:
            self.process.kill()
