"""A server that is killed in the middle of writes: nothing acknowledged is lost, and its clients go on."""

import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import cast

from hippocampe import Config, Hippocampe, Scope
from hippocampe.client.joining import join_or_start, take_over
from hippocampe.system.owner import read_owner

KILLS = int(os.environ.get("HIPPOCAMPE_TEST_KILLS", "3"))
WRITERS = 3
ME = Scope(user="dev", channel="lobby")


class Writer(threading.Thread):
    """A program of its own connection, which writes facts and turns until it is told to stop."""

    def __init__(self, config: Config, number: int, stop: threading.Event) -> None:
        super().__init__()
        self.acknowledged: list[str] = []
        self.turns: list[str] = []
        self.failed: Exception | None = None
        self._config, self._number, self._stop_asked = config, number, stop

    def run(self) -> None:
        """Write, and keep what was acknowledged."""
        try:
            with cast("Hippocampe", join_or_start(self._config)) as hippo:
                for count in range(100_000):
                    if self._stop_asked.is_set():
                        return
                    key = f"{self._number}/{count}"
                    hippo.set_fact(key, f"valeur {key}", scope=ME)
                    self.acknowledged.append(key)
                    self.turns.append(hippo.after_turn(f"message {key}", "bien", scope=ME))
        except Exception as exc:  # noqa: BLE001
            self.failed = exc


def test_nothing_acknowledged_is_lost(folder: Path) -> None:
    config = Config(folder, embedder="local")
    stop = threading.Event()
    writers = [Writer(config, number, stop) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    chance = random.Random(0)
    killed: set[int] = set()
    ends = time.monotonic() + 60 * KILLS
    written = 0
    while len(killed) < KILLS:
        assert time.monotonic() < ends
        time.sleep(0.05)
        owner = read_owner(folder)
        now = sum(len(writer.acknowledged) for writer in writers)
        if owner is None or owner.pid in killed or now < written + 5:
            continue
        time.sleep(chance.random() / 5)
        os.kill(owner.pid, signal.SIGKILL)
        killed.add(owner.pid)
        written = now
    # They go on after the last one.
    while sum(len(writer.acknowledged) for writer in writers) < written + 5:
        assert time.monotonic() < ends
        time.sleep(0.05)
    stop.set()
    for writer in writers:
        writer.join()

    assert [writer.failed for writer in writers] == [None] * WRITERS
    # Each of them started an owner; one that is late takes the folder when the first has left.
    with take_over(folder, lambda: Hippocampe.open(config, join=False), patience=60) as hippo:
        facts = hippo.facts(scope=ME)
        for writer in writers:
            assert facts.keys() >= set(writer.acknowledged)
        asked = [each for each in hippo.messages(scope=ME, limit=1_000) if each.role == "user"]
        # Nor is an exchange stored twice.
        assert len(asked) == len({each.content for each in asked})
        assert hippo.verify().ok
