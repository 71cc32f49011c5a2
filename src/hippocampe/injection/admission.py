"""Admission control: the number of concurrent turns, and the order of the waiting ones.

A search holds the interpreter lock, so more than two concurrent turns only slow each other down. The newest
waiting turn runs next: first come, first served would start every turn just before its deadline once the queue
is full, and serve none in time. A turn that can no longer meet its deadline is refused at once.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

FIRST_EXPECTED = 0.02
"""Expected seconds of a turn before any was measured."""
SMOOTHING = 0.1
"""Weight of the latest turn in the moving average."""
MAX_GROWTH = 4.0
"""An outlier is clipped to this many times the average: one cold turn does not predict the next."""


@dataclass(slots=True, eq=False)
class Place:
    """The place of one turn; times are seconds on the clock of its `Admission`.

    Attributes:
        latest: The latest start that meets its deadline.
        started: Its start.
    """

    latest: float
    state: Literal["waiting", "running", "refused"] = "waiting"
    started: float = 0.0
    decided: threading.Event = field(default_factory=threading.Event)


class Admission:
    """Limits the number of concurrent turns. Thread-safe.

    Args:
        limit: Concurrent turns.
        clock: Seconds, monotonic.
    """

    def __init__(self, limit: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self.limit = limit
        self.expected = FIRST_EXPECTED
        """Moving average of the seconds of a turn."""
        self._clock = clock
        self._running = 0
        self._waiting: list[Place] = []
        self._lock = threading.Lock()

    @property
    def crowded(self) -> bool:
        """Return whether turns wait for a place."""
        return bool(self._waiting)

    def enter(self, deadline: float) -> Place | None:
        """Wait for a place; None if the turn can no longer meet its deadline.

        The caller must `leave` the place when the turn ends.
        """
        place = self.ask(deadline)
        if place.state == "waiting":
            place.decided.wait(max(0.0, place.latest - self._clock()))
            self.give_up(place)
        return place if place.state == "running" else None

    def ask(self, deadline: float) -> Place:
        """Request a place without waiting: running if one is free, else waiting or refused."""
        now = self._clock()
        # Half of the time always wait: when the machine is busy with other work, turns are slow for
        # a while, and refusing all of them at once would hide that the load has ended.
        place = Place(deadline - min(self.expected, (deadline - now) / 2))
        with self._lock:
            if self._running < self.limit:
                self._start(place)
            elif now <= place.latest:
                self._waiting.append(place)
            else:
                place.state = "refused"
        return place

    def give_up(self, place: Place) -> None:
        """Refuse a place that is still waiting."""
        with self._lock:
            if place.state == "waiting":
                self._waiting.remove(place)
                place.state = "refused"

    def leave(self, place: Place) -> None:
        """Free a running place for the newest turn that can still meet its deadline."""
        with self._lock:
            took = min(self._clock() - place.started, MAX_GROWTH * self.expected)
            self.expected += SMOOTHING * (took - self.expected)
            self._running -= 1
            now = self._clock()
            while self._waiting:
                place = self._waiting.pop()
                if now <= place.latest:
                    self._start(place)
                    return
                place.state = "refused"
                place.decided.set()

    def _start(self, place: Place) -> None:
        self._running += 1
        place.state, place.started = "running", self._clock()
        place.decided.set()
