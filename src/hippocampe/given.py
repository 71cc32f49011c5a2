"""What each channel was already given, so that nothing is said twice while it is still in sight.

In memory only, and bounded: a restart forgets it, and something may then be said again. Pure.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hippocampe.decide import Verdict, decide
from hippocampe.protocols import Vector, Vectors
from hippocampe.types import Outcome, Recollection, Scope

MOST_CHANNELS = 1_000
"""Channels that are remembered; those unused for longest are forgotten first. With 100 vectors of
512 dimensions in each, they take 100 MB."""
MOST_GIVEN = 10_000
"""Ids that are remembered of one channel."""


@dataclass(frozen=True, slots=True)
class _Said:
    id: str
    turn: int
    content: str
    vector: NDArray[np.float16]


@dataclass(slots=True)
class Channel:
    """One channel. Hold `lock` from `begin` to `end` of a turn.

    Attributes:
        turn: How many turns were served.
        last_given: By id, the turn in which it was last given or said, the oldest first.
        waiting: By speaker, messages of a burst that may go on.
    """

    turn: int = 0
    last_given: dict[str, int] = field(default_factory=dict[str, int])
    waiting: dict[str | None, list[str]] = field(default_factory=dict[str | None, list[str]])
    lock: threading.Lock = field(default_factory=threading.Lock)
    _before: deque[_Said] = field(default_factory=deque[_Said])
    _now: deque[_Said] = field(default_factory=deque[_Said])
    _compared: tuple[list[_Said], Vectors] | None = None

    def begin(self, depth: int) -> None:
        """Begin a turn; what is further back than `depth` turns is forgotten."""
        self.turn += 1
        oldest = self.turn - depth
        self.last_given = {id: turn for id, turn in self.last_given.items() if turn > oldest}
        self._before += self._now
        self._now.clear()
        while self._before and self._before[0].turn <= oldest:
            self._before.popleft()

    def refused(
        self, item: Recollection, vector: Vector | None, threshold: float
    ) -> Outcome | None:
        """Why an item need not be given now; None when it is news.

        Two texts that differ in a name or a number are not the same, however alike they look.
        """
        if item.id in self.last_given:
            return "already_known"
        if vector is None:
            return None
        for said in self._alike(vector, threshold):
            if decide(item.content, said.content).verdict is not Verdict.RELATED:
                return "too_similar"
        return None

    def _alike(self, vector: Vector, threshold: float) -> list[_Said]:
        if self._compared is None:
            # One product for all that earlier turns were given, in the space of this embedder.
            before = [said for said in self._before if len(said.vector) == len(vector)]
            matrix = np.array([said.vector for said in before], np.float32)
            self._compared = before, matrix.reshape(len(before), len(vector))
        before, matrix = self._compared
        cosines: list[float] = (matrix @ vector).tolist()
        alike = [said for said, cosine in zip(before, cosines, strict=True) if cosine > threshold]
        return alike + [said for said in self._now if float(said.vector @ vector) > threshold]

    def give(self, item: Recollection, vector: Vector | None, most: int) -> None:
        """Note that an item is given in this turn; of at most `most` texts the vector is kept."""
        self._note(item.id)
        if vector is not None and most:
            # A copy, since a vector is a view of those of everything that was found.
            self._now.append(_Said(item.id, self.turn, item.content, vector.astype(np.float16)))
        while len(self._before) + len(self._now) > most:
            (self._before or self._now).popleft()
            self._compared = None

    def end(self, no_room: Sequence[Recollection]) -> None:
        """End a turn: what found no room was not given after all."""
        self._compared = None
        ids = {item.id for item in no_room}
        for id in ids:
            self.last_given.pop(id, None)
        self._now = deque(said for said in self._now if said.id not in ids)

    def heard(self, id: str) -> None:
        """Note a turn of talk that the channel itself has just had. Takes the lock."""
        with self.lock:
            self._note(id)

    def _note(self, id: str) -> None:
        self.last_given.pop(id, None)
        self.last_given[id] = self.turn
        if len(self.last_given) > MOST_GIVEN:
            del self.last_given[next(iter(self.last_given))]


class Given:
    """What was given, by space and channel. Thread-safe."""

    def __init__(self) -> None:
        self._channels: OrderedDict[tuple[str, str | None, str | None], Channel] = OrderedDict()
        self._lock = threading.Lock()

    def channel(self, scope: Scope) -> Channel:
        """The state of a scope's channel; those who name none have one each."""
        name = (scope.space, scope.channel, scope.user if scope.channel is None else None)
        with self._lock:
            found = self._channels.pop(name, None) or Channel()
            self._channels[name] = found
            while len(self._channels) > MOST_CHANNELS:
                self._channels.popitem(last=False)
        return found

    def forget(self, space: str) -> None:
        """Drop the state of a space's channels: what they were given may be gone."""
        with self._lock:
            for name in [name for name in self._channels if name[0] == space]:
                del self._channels[name]
