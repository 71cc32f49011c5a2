"""The state of the index relative to the store, and of the process that builds its graphs."""

import subprocess
import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class IndexPosition:
    """Progress of the index through the outbox of the store."""

    applied: int = 0
    """The outbox position up to which every change is applied, durable or not."""
    flushed: int = 0
    """The outbox position up to which every change is durable."""
    behind: bool = False
    """True if the index missed a change, so that the outbox must be replayed."""
    incomplete: bool = False
    """True if a full disk stopped the update of the index at opening."""
    damaged: bool = False
    """True if the index must be rebuilt."""
    keep_outbox: bool = False
    """True if an index that is being filled still needs the outbox rows."""


@dataclass(slots=True)
class GraphBuilder:
    """The child process that builds a graph, one at a time."""

    building: threading.RLock = field(default_factory=threading.RLock)
    """Held while a new generation of the index is built; taken before the store's write lock."""
    process: "subprocess.Popen[str] | None" = None
    stopped: bool = False
    """Set at closing: no new build may start."""

    def started(self, process: "subprocess.Popen[str]") -> None:
        """Register the build process, and kill it if closing has begun."""
        self.process = process
        if self.stopped:
            process.kill()

    def stop(self) -> None:
        """Kill the running build and refuse new ones."""
        self.stopped = True
        if self.process is not None:
            self.process.kill()
