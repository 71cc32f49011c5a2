"""Time spent in each stage of a call."""

import math
import time


class Stopwatch:
    """Measures consecutive stages.

    Attributes:
        spent: Milliseconds by stage, in the order in which they first ended.
    """

    def __init__(self) -> None:
        self.started = self._last = time.perf_counter()
        self.spent: dict[str, float] = {}

    def end(self, stage: str) -> None:
        """Add the time since the previous stage ended to this stage."""
        now = time.perf_counter()
        self.spent[stage] = self.spent.get(stage, 0.0) + (now - self._last) * 1000
        self._last = now

    def seconds_left(self) -> float:
        """Seconds until the deadline of the call; infinite without one."""
        return math.inf

    def total(self) -> float:
        """Milliseconds since the start."""
        return (time.perf_counter() - self.started) * 1000
