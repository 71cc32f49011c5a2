"""What each channel was already given, so that nothing is said twice while it is still in sight.

In memory only, and bounded: a restart forgets it, and something may then be said again. Pure.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from hippocampe.consolidation.decide import Verdict, decide
from hippocampe.protocols import Vector, Vectors
from hippocampe.types import Outcome, Recollection, Scope

MAX_CHANNELS = 1_000
"""Channels that are remembered; those unused for longest are forgotten first. With 100 vectors of
512 dimensions in each, they take 100 MB."""
MAX_GIVEN_IDS = 4_000
"""Ids that are remembered of one channel, however far back: a longer window is obeyed at once."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What was given. Vectors that are kept are halved; those of the turn itself are compared most."""

    id: str
    turn: int
    content: str
    vector: NDArray[np.floating]


@dataclass(slots=True)
class Channel:
    """One channel. Hold `lock` from `begin` to `end`, or `give_up`, of a turn.

    Attributes:
        turn: How many turns were served.
        active_at: When it was last served or heard.
        last_given: By id, the turn in which it was last given or said, the oldest first.
        waiting: By speaker, messages of a burst that may go on.
    """

    turn: int = 0
    active_at: datetime | None = None
    last_given: dict[str, int] = field(default_factory=dict[str, int])
    waiting: dict[str | None, list[str]] = field(default_factory=dict[str | None, list[str]])
    lock: threading.Lock = field(default_factory=threading.Lock)
    _before: deque[_Said] = field(default_factory=deque[_Said])
    _now: deque[_Said] = field(default_factory=deque[_Said])
    _compared: tuple[list[_Said], Vectors] | None = None
    _given_now: set[str] = field(default_factory=set[str])
    _out_of_sight: int = 0

    def begin(self, at: datetime, *, depth: int, session: timedelta) -> None:
        """Begin a turn.

        Args:
            at: When.
            depth: What was given so many turns ago is out of sight.
            session: After so much silence everything is: whoever comes back begins anew.
        """
        if self.active_at is not None and at - self.active_at > session:
            self.last_given.clear()
            self._before.clear()
            self._now.clear()
        self.active_at = at
        self.turn += 1
        self._out_of_sight = self.turn - depth

    def refused(
        self, item: Recollection, vector: Vector | None, threshold: float
    ) -> Outcome | None:
        """Why an item need not be given now; None when it is news.

        Two texts that differ in a name or a number are not the same, however alike they look.
        """
        if self.last_given.get(item.id, 0) > max(0, self._out_of_sight):
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
            before = [
                said
                for said in self._before
                if said.turn > self._out_of_sight and len(said.vector) == len(vector)
            ]
            matrix = np.array([said.vector for said in before], np.float32)
            self._compared = before, matrix.reshape(len(before), len(vector))
        before, matrix = self._compared
        cosines: list[float] = (matrix @ vector).tolist()
        alike = [said for said, cosine in zip(before, cosines, strict=True) if cosine > threshold]
        return alike + [said for said in self._now if float(said.vector @ vector) > threshold]

    def give(self, item: Recollection, vector: Vector | None, most: int) -> None:
        """Note that an item is given in this turn; of at most `most` texts the vector is kept."""
        self._note(item.id)
        self._given_now.add(item.id)
        if vector is not None and most:
            # A copy, since a vector is a view of those of everything that was found.
            self._now.append(_Said(item.id, self.turn, item.content, vector.copy()))
        while len(self._before) + len(self._now) > most:
            (self._before or self._now).popleft()
            self._compared = None

    def end(self, no_room: Sequence[Recollection]) -> None:
        """End a turn: what found no room was not given after all."""
        self._end({item.id for item in no_room})

    def give_up(self) -> None:
        """End a turn that failed: nothing was given in it."""
        self._end(set(self._given_now))

    def _end(self, not_given: Set[str]) -> None:
        self._compared = None
        for id in not_given:
            self.last_given.pop(id, None)
        self._before += (
            replace(said, vector=said.vector.astype(np.float16))
            for said in self._now
            if said.id not in not_given
        )
        self._now.clear()
        self._given_now.clear()

    def heard(self, id: str, at: datetime) -> None:
        """Note a turn of talk that the channel itself has just had. Takes the lock."""
        with self.lock:
            self.active_at = at
            self._note(id)

    def _note(self, id: str) -> None:
        self.last_given.pop(id, None)
        # What is said before the first turn counts as said in it.
        self.last_given[id] = max(self.turn, 1)
        if len(self.last_given) > MAX_GIVEN_IDS:
            del self.last_given[next(iter(self.last_given))]


class ChannelHistories:
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
            while len(self._channels) > MAX_CHANNELS:
                self._channels.popitem(last=False)
        return found

    def forget(self, space: str) -> None:
        """Drop the state of a space's channels: what they were given may be gone."""
        with self._lock:
            for name in [name for name in self._channels if name[0] == space]:
                del self._channels[name]
