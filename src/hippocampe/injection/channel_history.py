"""The items already injected for each person in each channel, so that none is injected twice within the window.

In memory only, and bounded: after a restart an item may be injected again.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from hippocampe.protocols import Vector, Vectors
from hippocampe.system.recent import Recent
from hippocampe.types import Outcome, Recollection, Scope
from hippocampe.updates.decide import Verdict, decide

MAX_CHANNELS = 1_000
"""Cached channels, least recently used evicted first. With 100 vectors of 512 dimensions each, they
take 100 MB."""
MAX_REMINDERS = 100
"""Cached injections per channel, for hosts whose messages do not contain them."""
MAX_EXCHANGED = 1_000
"""Cached exchanges per channel, 300 bytes each, for hosts whose users edit a message."""
MAX_TOLD = 100
"""Texts per channel whose vectors are cached as injected by other processes."""
Told = tuple[str, str, Vector | None]
"""An item that another process injected: its id, its content, and its vector if it has one."""
MAX_INJECTED_IDS = 4_000
"""Cached ids per channel. Independent of the window setting, so that raising it takes effect at once."""


@dataclass(frozen=True, slots=True)
class _Injected:
    """An injected text. Vectors of earlier turns are float16, those of this turn float32."""

    id: str
    turn: int
    content: str
    vector: NDArray[np.floating]
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Reminder:
    """An injection as the model received it, with its length in tokens and its time."""

    text: str
    tokens: int
    at: datetime


@dataclass(slots=True)
class Exchanged:
    """A stored exchange of a conversation.

    Attributes:
        opening: Identifies the conversation.
        left: Whether the conversation no longer has it.
    """

    opening: str
    turn_id: str
    external_id: str | None
    left: bool = False


@dataclass(slots=True)
class Channel:
    """The history of one person in one channel. Hold `lock` from `begin` to `end`, or `give_up`, of a turn.

    Attributes:
        turn: Number of turns served.
        active_at: Time of the last turn or talk.
        last_injected: By id, the turn in which it was last injected, oldest first.
        last_heard: By id of a turn of talk, the turn in which it was spoken, oldest first.
        waiting: The messages of a burst not served yet.
        reminders: By message, the injection that came with it, oldest first.
        exchanges: Stored exchanges, by the history up to their message, oldest first.
    """

    turn: int = 0
    active_at: datetime | None = None
    last_injected: Recent[str, int] = field(default_factory=lambda: Recent(MAX_INJECTED_IDS))
    last_heard: Recent[str, int] = field(default_factory=lambda: Recent(MAX_INJECTED_IDS))
    waiting: list[str] | None = None
    reminders: OrderedDict[str, Reminder] = field(default_factory=OrderedDict[str, Reminder])
    exchanges: Recent[str, Exchanged] = field(default_factory=lambda: Recent(MAX_EXCHANGED))
    lock: threading.Lock = field(default_factory=threading.Lock)
    _before: deque[_Injected] = field(default_factory=deque[_Injected])
    _now: deque[_Injected] = field(default_factory=deque[_Injected])
    _compared: tuple[list[_Injected], Vectors] | None = None
    _injected_now: set[str] = field(default_factory=set[str])
    _window_start: int = 0

    def begin(self, at: datetime, *, depth: int, session: timedelta, keep: bool = True) -> None:
        """Begin a turn.

        Args:
            at: The time of the turn.
            depth: Size of the window in turns; earlier items may be injected again.
            session: Silence after which the history is cleared.
            keep: Whether the model still has the injections of earlier turns.
        """
        silent = self.active_at is not None and at - self.active_at > session
        if silent:
            self.last_heard.clear()
        if silent or not keep:
            self.last_injected.clear()
            self._before.clear()
            self._now.clear()
        self.active_at = at
        self.turn += 1
        self._window_start = self.turn - depth

    def refused(
        self, item: Recollection, vector: Vector | None, threshold: float
    ) -> Outcome | None:
        """The reason not to inject an item now; None if it is new.

        Similar texts that differ in a name, a number or the time of their event are not duplicates.
        """
        last = max(self.last_injected.get(item.id, 0), self.last_heard.get(item.id, 0))
        if last > max(0, self._window_start):
            return "already_known"
        if vector is None:
            return None
        occurred_at = _occurred_at(item)
        for injected in self._alike(vector, threshold):
            if occurred_at and injected.occurred_at and occurred_at != injected.occurred_at:
                continue
            if decide(item.content, injected.content).verdict is not Verdict.RELATED:
                return "too_similar"
        return None

    def _alike(self, vector: Vector, threshold: float) -> list[_Injected]:
        if self._compared is None:
            # One matrix product for all earlier texts with vectors of this embedder.
            before = [
                injected
                for injected in self._before
                if injected.turn > self._window_start and len(injected.vector) == len(vector)
            ]
            matrix = np.array([injected.vector for injected in before], np.float32)
            self._compared = before, matrix.reshape(len(before), len(vector))
        before, matrix = self._compared
        cosines: list[float] = (matrix @ vector).tolist()
        alike = [
            injected for injected, cosine in zip(before, cosines, strict=True) if cosine > threshold
        ]
        return alike + [
            injected for injected in self._now if float(injected.vector @ vector) > threshold
        ]

    def give(self, item: Recollection, vector: Vector | None, most: int) -> None:
        """Record an item as injected in this turn; the latest `most` vectors stay."""
        self.last_injected[item.id] = self._spoken
        self._injected_now.add(item.id)
        if vector is not None and most:
            # A copy: the vector is a view of the results, which would all stay in memory.
            self._now.append(
                _Injected(item.id, self.turn, item.content, vector.copy(), _occurred_at(item))
            )
        while len(self._before) + len(self._now) > most:
            (self._before or self._now).popleft()
            self._compared = None

    def give_up(self) -> None:
        """Cancel a turn that failed: nothing was injected."""
        self.end(set(self._injected_now))

    def end(self, withheld: Set[str]) -> None:
        """End a turn; some items, such as those without room, were not injected."""
        self._compared = None
        for id in withheld:
            self.last_injected.pop(id, None)
        self._before += (
            replace(injected, vector=injected.vector.astype(np.float16))
            for injected in self._now
            if injected.id not in withheld
        )
        self._now.clear()
        self._injected_now.clear()

    def remind(self, message: str, text: str, tokens: int, at: datetime) -> None:
        """Cache the injection of a message.

        Beyond the limit, half of them leave at once: each removal changes the messages before the last one, and
        so empties the cache of the provider.
        """
        self.reminders[message] = Reminder(text, tokens, at)
        if len(self.reminders) > MAX_REMINDERS:
            for _ in range(MAX_REMINDERS // 2):
                self.reminders.popitem(last=False)

    def heard(self, id: str, at: datetime) -> None:
        """Record a turn of talk that took place in the channel itself. Takes the lock."""
        with self.lock:
            self.active_at = at
            self.last_heard[id] = self._spoken

    def told(self, items: Sequence[Told], at: datetime, *, served: bool) -> None:
        """Record what another process injected in a turn, or a turn of talk that it heard. Takes the lock."""
        with self.lock:
            self.active_at = at
            self.turn += served
            self._compared = None
            for id, content, vector in items:
                (self.last_injected if served else self.last_heard)[id] = self._spoken
                if served and vector is not None:
                    half = vector.astype(np.float16)
                    self._before.append(_Injected(id, self.turn, content, half))
            while len(self._before) > MAX_TOLD:
                self._before.popleft()

    def copy(self) -> "Channel":
        """A copy for a turn that leaves no trace. Takes the lock."""
        with self.lock:
            return Channel(
                turn=self.turn,
                active_at=self.active_at,
                last_injected=Recent(MAX_INJECTED_IDS, self.last_injected.items()),
                last_heard=Recent(MAX_INJECTED_IDS, self.last_heard.items()),
                _before=deque(self._before),
            )

    @property
    def _spoken(self) -> int:
        """The turn that goes on; talk before the first one counts as part of it."""
        return max(self.turn, 1)


class ChannelHistories:
    """The histories by space, channel and user, evicted least recently used first. Thread-safe."""

    def __init__(self) -> None:
        self._channels = Recent[tuple[str, str | None, str | None], Channel](MAX_CHANNELS)
        self._lock = threading.Lock()
        self.tell: Callable[[Scope, str, Sequence[tuple[str, str]]], None] = _tell_nobody
        """Broadcasts an event to the other processes: the scope, what happened (`given`, `heard`, `restarted`), and
        the items as (kind, id)."""

    def channel(self, scope: Scope) -> Channel:
        """The history of the user of a scope in its channel: items injected for others do not count."""
        name = _name(scope)
        with self._lock:
            found = self._channels[name] = self._channels.get(name) or Channel()
        return found

    def copy(self, scope: Scope) -> Channel:
        """A copy of the history of a scope; nothing changes."""
        with self._lock:
            found = self._channels.get(_name(scope))
        return Channel() if found is None else found.copy()

    def restart(self, scope: Scope, *, told: bool = False) -> None:
        """Drop the history of a scope, whose reader has lost its earlier injections.

        Args:
            told: Whether another process said so.
        """
        with self._lock:
            self._channels.pop(_name(scope), None)
        if not told:
            self.tell(scope, "restarted", ())

    def forget(self, space: str) -> None:
        """Drop the histories of a space, since items may have been erased."""
        with self._lock:
            for name in [name for name in self._channels if name[0] == space]:
                del self._channels[name]


def _tell_nobody(scope: Scope, what: str, items: Sequence[tuple[str, str]]) -> None:
    """One process has the data folder: no other serves its people."""


def _name(scope: Scope) -> tuple[str, str | None, str | None]:
    return scope.space, scope.channel, scope.user


def _occurred_at(item: Recollection) -> datetime | None:
    return item.memory.occurred_at if item.memory else None
