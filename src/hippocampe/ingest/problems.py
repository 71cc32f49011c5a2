"""The problems of an import: the first ones, and the number of the others."""

from dataclasses import dataclass, field

MAX_PROBLEMS = 1_000
"""Listed problems. Nobody reads more, and a file can have one in each line."""


@dataclass(slots=True)
class Problems:
    """Collects problems in bounded memory."""

    _first: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    _more: int = 0
    _last: int = 0

    def add(self, line: int, reason: str) -> None:
        """Add the problem with a line."""
        if len(self._first) < MAX_PROBLEMS:
            self._first.append((line, reason))
        else:
            self._more, self._last = self._more + 1, line

    def listed(self) -> tuple[tuple[int, str], ...]:
        """The problems by line; the last entry counts the unlisted ones."""
        if not self._more:
            return tuple(self._first)
        return (*self._first, (self._last, f"{self._more:,} more problems, up to this line."))
