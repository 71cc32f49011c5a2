"""What each channel was already given, so that nothing is said twice while it is still in sight.

In memory only, and bounded: a restart forgets it, and something may then be said again. Pure.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from hippocampe.decide import Verdict, decide
from hippocampe.protocols import Vector
from hippocampe.types import Outcome, Recollection, Scope

MOST_CHANNELS = 10_000
"""Channels that are remembered; those unused for longest are forgotten first."""


@dataclass(slots=True)
class _Said:
    id: str
    turn: int
    content: str
    vector: Vector


@dataclass(slots=True)
class Channel:
    """One channel: hold `lock` around what reads and then writes it.

    Attributes:
        turn: How many turns were served.
        last_given: By id, the turn in which it was given or said.
        waiting: By speaker, messages of a burst that may go on.
    """

    turn: int = 0
    last_given: dict[str, int] = field(default_factory=dict[str, int])
    waiting: dict[str | None, list[str]] = field(default_factory=dict[str | None, list[str]])
    lock: threading.Lock = field(default_factory=threading.Lock)
    _said: deque[_Said] = field(default_factory=deque[_Said])

    def begin(self, depth: int) -> None:
        """Begin a turn; what is further back than `depth` turns is forgotten."""
        self.turn += 1
        oldest = self.turn - depth
        self.last_given = {id: turn for id, turn in self.last_given.items() if turn > oldest}
        while self._said and self._said[0].turn <= oldest:
            self._said.popleft()

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
        for said in self._said:
            alike = len(said.vector) == len(vector) and float(said.vector @ vector) > threshold
            if alike and decide(item.content, said.content).verdict is not Verdict.RELATED:
                return "too_similar"
        return None

    def give(self, item: Recollection, vector: Vector | None, most: int) -> None:
        """Note that an item is given in this turn; of at most `most` texts the vector is kept."""
        self.last_given[item.id] = self.turn
        if vector is not None and most:
            self._said.append(_Said(item.id, self.turn, item.content, vector))
        while len(self._said) > most:
            self._said.popleft()

    def take_back(self, items: Sequence[Recollection]) -> None:
        """Undo `give` for what then found no room."""
        ids = {item.id for item in items}
        for id in ids:
            self.last_given.pop(id, None)
        kept = [said for said in self._said if said.id not in ids or said.turn != self.turn]
        self._said = deque(kept)

    def heard(self, id: str) -> None:
        """Note a turn of talk that the channel itself has just had."""
        self.last_given[id] = self.turn


class Given:
    """What was given, by space and channel. Thread-safe."""

    def __init__(self) -> None:
        self._channels: OrderedDict[tuple[str, str | None], Channel] = OrderedDict()
        self._lock = threading.Lock()

    def channel(self, scope: Scope) -> Channel:
        """The state of a scope's channel."""
        name = (scope.space, scope.channel)
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
