"""Expensive counts are kept for a while and made once; cheap ones are made each time."""

import asyncio

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.server.http import served as serving
from hippocampe.server.http.served import EXPENSIVE_SECONDS, SHARE, CountCache, ServedMemory

COST = 0.2


class Count:
    """A count that says how often it was made."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.made = 0

    async def __call__(self) -> tuple[int, float]:
        self.made += 1
        made = self.made
        await asyncio.sleep(0.01)
        return made, self.seconds


def test_an_expensive_count_is_kept_and_made_once() -> None:
    now = 0.0

    async def ask() -> None:
        nonlocal now
        counts, count = CountCache(lambda: now), Count(COST)
        assert await counts.get("a", count) == 1
        now = COST / SHARE - 0.1
        assert await counts.get("a", count) == 1
        assert await counts.get("b", count) == 2
        now += 0.2
        asking = [asyncio.create_task(counts.get("a", count)) for _ in range(5)]
        await asyncio.sleep(0)
        asking[0].cancel()
        assert await asyncio.gather(*asking[1:]) == [3] * 4
        counts.clear()
        assert await counts.get("a", count) == 4

    asyncio.run(ask())


def test_a_cheap_count_is_made_each_time() -> None:
    async def ask() -> None:
        counts, count = CountCache(lambda: 0.0), Count(EXPENSIVE_SECONDS / 2)
        assert [await counts.get("a", count) for _ in range(3)] == [1, 2, 3]

    asyncio.run(ask())


def test_a_count_that_became_cheap_or_fails_is_not_kept() -> None:
    now = 0.0

    async def ask() -> None:
        nonlocal now
        counts, count = CountCache(lambda: now), Count(COST)
        assert await counts.get("a", count) == 1
        now, count.seconds = 100.0, 0.0
        assert [await counts.get("a", count) for _ in range(2)] == [2, 3]

        async def failing() -> tuple[int, float]:
            raise ValueError("down")

        count.seconds = COST
        await counts.get("a", count)
        now = 200.0
        with pytest.raises(ValueError, match="down"):
            await counts.get("a", failing)
        assert await counts.get("a", count) == 5

    asyncio.run(ask())


def test_a_clearing_drops_what_is_being_counted() -> None:
    async def ask() -> None:
        counts, count = CountCache(lambda: 0.0), Count(COST)
        asking = asyncio.create_task(counts.get("a", count))
        await asyncio.sleep(0)
        counts.clear()
        assert await asking == 1
        assert await counts.get("a", count) == 2

    asyncio.run(ask())


def test_counts_of_spaces_are_apart_and_gone_after_an_erasure(
    memory: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "EXPENSIVE_SECONDS", 0.0)
    monkeypatch.setattr(serving, "SHARE", 1e-6)
    home, work = Scope(space="home"), Scope(space="work")

    async def ask() -> None:
        served = ServedMemory(memory)
        await served.remember("Owen a un voilier", scope=home, subjects=["owen"])
        assert await served.subjects(scope=home) == {"owen": 1}
        assert await served.subjects(scope=work) == {}
        await served.remember("Nina a un chat", scope=home, subjects=["nina"])
        assert await served.subjects(scope=home) == {"owen": 1}
        await served.erase(scope=home, subject="owen")
        assert await served.subjects(scope=home) == {"nina": 1}
        served.release()

    asyncio.run(ask())


def test_a_digest_makes_counts_anew(memory: Hippocampe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "EXPENSIVE_SECONDS", 0.0)
    monkeypatch.setattr(serving, "SHARE", 1e-6)
    here = Scope(user="nina", channel="lobby")

    async def ask() -> list[int]:
        served = ServedMemory(memory)
        await served.observe("Quelqu'un a vu mes clés ?", scope=here)
        before = await served.stats(scope=here)
        await served.digest(scope=here)
        after = await served.stats(scope=here)
        served.release()
        return [before.live, after.live]

    assert asyncio.run(ask()) == [1, 0]


def test_what_a_person_decides_makes_counts_anew(
    memory: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "EXPENSIVE_SECONDS", 0.0)
    monkeypatch.setattr(serving, "SHARE", 1e-6)
    rose = Scope(user="rose")

    async def ask() -> None:
        served = ServedMemory(memory)
        older = await served.remember("Rose peint son petit bateau en bois", scope=rose)
        newer = await served.remember("Rose vend son petit bateau en bois", scope=rose)
        assert (await served.stats(scope=rose)).reviews == 1
        await served.settle(newer.memory.id, older.memory.id, scope=rose)
        assert (await served.stats(scope=rose)).reviews == 0
        await served.delete(newer.memory.id, scope=rose, reason="sold")
        assert (await served.stats(scope=rose)).forgotten == 1
        await served.restore(newer.memory.id, scope=rose)
        assert (await served.stats(scope=rose)).forgotten == 0
        served.release()

    asyncio.run(ask())
