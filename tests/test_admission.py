"""Which turns run under load, on a simulated clock: nothing here waits."""

import heapq
import random
import threading
from itertools import count

import pytest

from hippocampe.admission import Admission, Place

RUN = 0.033
"""Seconds that a simulated turn runs, on average."""
HASTE = 0.1
"""Seconds from a turn's arrival to its deadline."""


class Simulated:
    """Turns that arrive and end on a clock moved from one event to the next."""

    def __init__(self, limit: int) -> None:
        self.now = 0.0
        self.admission = Admission(limit, clock=lambda: self.now)
        self.served = 0
        self.late = 0
        self.answered: list[float] = []
        self._chance = random.Random(5)
        self._events: list[tuple[float, int, Place]] = []
        self._order = count()
        self._open: list[tuple[float, Place]] = []
        self._arrived: dict[Place, float] = {}

    def run(self, per_second: float, seconds: float) -> None:
        arrivals = [each / per_second for each in range(int(per_second * seconds))]
        for arrival in arrivals:
            self._until(arrival)
            place = self.admission.ask(arrival + HASTE)
            self._arrived[place] = arrival
            self._open.append((arrival, place))
            self._settle()
        self._until(float("inf"))

    def _until(self, moment: float) -> None:
        while True:
            gives_up = [
                (max(self.now, place.latest), place)
                for _, place in self._open
                if place.state == "waiting"
            ]
            times = [each for each, _ in gives_up] + [each for each, _, _ in self._events]
            if not times or min(times) > moment:
                break
            self.now = min(times)
            if self._events and self._events[0][0] == self.now:
                _, _, place = heapq.heappop(self._events)
                answered = self.now - self._arrived[place]
                in_time = answered <= HASTE
                self.served += in_time
                self.late += not in_time
                self.answered.append(answered)
                self.admission.leave(place)
            else:
                self.admission.give_up(min(gives_up, key=lambda each: each[0])[1])
            self._settle()
        self.now = max(self.now, moment) if moment != float("inf") else self.now

    def _settle(self) -> None:
        """Schedule the end of what has just started, note what was refused."""
        for arrival, place in self._open:
            if place.state == "running":
                took = RUN * self._chance.lognormvariate(0.0, 0.4)
                heapq.heappush(self._events, (self.now + took, next(self._order), place))
            elif place.state == "refused":
                self.answered.append(self.now - arrival)
        self._open = [each for each in self._open if each[1].state == "waiting"]


CAPACITY = 2 / (RUN * 1.083)
"""Turns a second that two places serve: the mean of the log-normal run is 1.083 times its median."""


def test_under_twice_the_load_most_of_the_capacity_is_served_in_time() -> None:
    simulated = Simulated(2)
    simulated.run(2 * CAPACITY, 60)
    assert simulated.served >= 0.9 * CAPACITY * 60
    assert simulated.late <= 0.02 * simulated.served
    assert len(simulated.answered) == int(2 * CAPACITY * 60)
    assert max(simulated.answered) <= 4 * HASTE


def test_below_the_capacity_hardly_any_turn_is_refused() -> None:
    simulated = Simulated(2)
    simulated.run(0.6 * CAPACITY, 60)
    assert simulated.served >= 0.99 * 0.6 * CAPACITY * 60


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_newest_runs_next_and_the_hopeless_are_refused() -> None:
    clock = Clock()
    admission = Admission(1, clock)
    running = admission.ask(clock.now + 1)
    older, newer, hopeless = (admission.ask(clock.now + left) for left in (1.0, 1.0, 0.1))
    too_late = admission.ask(clock.now - 0.01)
    states = [each.state for each in (running, older, newer, hopeless, too_late)]
    assert states == ["running", "waiting", "waiting", "waiting", "refused"]
    clock.now += 0.2
    admission.leave(running)
    assert [each.state for each in (older, newer, hopeless)] == ["waiting", "running", "refused"]
    admission.leave(newer)
    assert older.state == "running"
    admission.leave(older)
    assert admission.ask(clock.now).state == "running"


def test_a_free_place_is_given_whatever_is_left() -> None:
    admission = Admission(2, Clock())
    assert admission.enter(deadline=0.0) is not None


def test_one_slow_run_does_not_refuse_the_next_ones() -> None:
    clock = Clock()
    admission = Admission(1, clock)
    for _ in range(50):
        place = admission.ask(clock.now + 1)
        clock.now += 0.02
        admission.leave(place)
    slow = admission.ask(clock.now + 1)
    clock.now += 10
    admission.leave(slow)
    assert admission.expected == pytest.approx(0.026, rel=0.02)  # pyright: ignore[reportUnknownMemberType]


def test_threads_wait_for_their_place() -> None:
    admission = Admission(1)
    running = admission.enter(deadline=float("inf"))
    assert running is not None
    given: list[Place | None] = []
    waiter = threading.Thread(target=lambda: given.append(admission.enter(running.started + 60)))
    waiter.start()
    while not admission._waiting:  # pyright: ignore[reportPrivateUsage]
        pass
    admission.leave(running)
    waiter.join()
    assert given[0] is not None
    assert given[0].state == "running"
