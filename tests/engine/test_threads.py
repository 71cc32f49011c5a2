"""One open memory, many threads."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import Opener
from hippocampe import Scope

THREADS = 16
SECONDS = 4


@pytest.mark.usefixtures("hashed")
def test_a_message_observed_by_many_threads_is_stored_once(open_hippo: Opener) -> None:
    hippo = open_hippo(embedder="hashed:32")
    scope = Scope(user="david", channel="lobby")
    start = threading.Barrier(8, timeout=30)

    def observe(_: int) -> set[str]:
        ids: set[str] = set()
        for number in range(10):
            start.wait()
            ids.add(hippo.observe("le bus arrive", scope=scope, external_id=f"m{number}").id)
        return ids

    with ThreadPoolExecutor(8) as pool:
        seen = set[str]().union(*pool.map(observe, range(8)))
    assert seen == {message.id for message in hippo.messages(scope=scope)}
    assert len(seen) == 10


@pytest.mark.usefixtures("hashed")
def test_sixteen_threads_lose_and_double_nothing(open_hippo: Opener) -> None:
    hippo = open_hippo(embedder="hashed:32", background=True, flush_seconds=0.05)
    end = time.monotonic() + SECONDS
    shared = hippo.remember("le phare est allumé", scope=Scope()).memory
    counting = threading.Lock()
    reinforced: Counter[str] = Counter()

    def work(thread: int) -> list[str]:
        scope = Scope(user=f"user{thread}", channel=f"channel{thread % 4}")
        said: list[str] = []
        number = 0
        while time.monotonic() < end:
            name = f"colis{thread}x{number}"
            done = hippo.remember(f"{name} attend", scope=scope)
            assert done.action == "inserted"
            said.append(done.memory.content)
            assert hippo.recall(name, scope=scope, mode="text", limit=1)[0].id == done.memory.id
            if number % 3 == 0:
                hippo.after_turn(f"où est {name} ?", "au port", scope=scope)
                hippo.recall(f"port {name}", scope=scope, collections=["turn", "memory"])
            if number % 5 == 0:
                hippo.remember("le phare est allumé", scope=scope)
                hippo.set_fact("compteur", name, scope=scope)
                with counting:
                    reinforced["phare"] += 1
            number += 1
        return said

    with ThreadPoolExecutor(THREADS) as pool:
        said = [content for lines in pool.map(work, range(THREADS)) for content in lines]
    everyone = Scope()
    assert len(said) >= THREADS
    kept = Counter(
        memory.content
        for thread in range(4)
        for memory in hippo.recent(
            1_000, scope=Scope(channel=f"channel{thread}"), channel_only=True
        )
    )
    assert all(kept[content] == 1 for content in said)
    assert hippo.stats(scope=everyone).memories["memory"] == len(said) + 2
    assert list(hippo.facts(scope=everyone)) == ["compteur"]
    assert hippo.get(shared.id, scope=everyone).access_count >= reinforced["phare"]
    assert hippo.verify().ok
