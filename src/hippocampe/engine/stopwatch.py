"""How long each stage of something took. Pure."""

import time


class Stopwatch:
    """A clock that is read at the end of each stage.

    Attributes:
        spent: Milliseconds by stage, in the order in which they first ended.
    """

    def __init__(self) -> None:
        self.started = self._last = time.perf_counter()
        self.spent: dict[str, float] = {}

    def end(self, stage: str) -> None:
        """Count the time since the last reading to a stage."""
        now = time.perf_counter()
        self.spent[stage] = self.spent.get(stage, 0.0) + (now - self._last) * 1000
        self._last = now

    def total(self) -> float:
        """Milliseconds since the beginning."""
        return (time.perf_counter() - self.started) * 1000
