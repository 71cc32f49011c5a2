"""The state of the index relative to the store: the deliveries, the pending rows, and the build of its graphs."""

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from hippocampe.store.outbox import Pending


@dataclass(slots=True)
class Deliveries:
    """The state of the index, and of the rows of the outbox: by number, as monotonic times."""

    delivered: dict[int, float] = field(default_factory=dict[int, float])
    """The time when this process gave them to the index."""
    seen: dict[int, float] = field(default_factory=dict[int, float])
    """The time when it first saw those that other processes wrote."""
    kept: bool = False
    """True if an index that is being filled still needs the rows."""
    behind: bool = False
    """True if the index missed a change of this process, so that the outbox must be replayed."""
    incomplete: bool = False
    """True if a full disk stopped the update of the index at opening, or rows could not be embedded."""
    damaged: bool = False
    """True if the index must be rebuilt."""
    recognised: bool = False
    """True once a shared index is known to be that of the database."""


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


@dataclass(slots=True)
class PendingRows:
    """The queue of rows that are stored at once and indexed in the background."""

    rows: dict[tuple[str, str], Pending] = field(default_factory=dict[tuple[str, str], Pending])
    """The outbox row of each, by kind and id. Change it under the store's write lock."""
    embedding: threading.Lock = field(default_factory=threading.Lock)
    """Held while embedding the rows; taken before the store's write lock."""
    progressed: threading.Condition = field(default_factory=threading.Condition)
    """Notified when rows were indexed, or indexing failed."""
    worker: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="hippocampe-waiting")
    )
    """The thread that embeds them."""

    def notify(self) -> None:
        """Wake those who wait for progress."""
        with self.progressed:
            self.progressed.notify_all()
