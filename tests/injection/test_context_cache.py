"""The always-on context is cached for a minute, and never beyond a change."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event

from conftest import FakeClock
from hippocampe import Hippocampe, Scope
from hippocampe.folder import maintenance
from hippocampe.injection.context_cache import MAX_AGE, MAX_KEYS, ContextCache
from hippocampe.store import memories
from hippocampe.types import Memory, Recollection

NOW = datetime(2026, 1, 17, tzinfo=UTC)
ITEMS = [("recent", Recollection("1", "memory", "on garde le vieux four", 0.0), None)]


def test_what_is_kept_is_given_while_it_is_fresh() -> None:
    cache = ContextCache()
    assert cache.get("key", 0, NOW) is None
    cache.put("key", 0, NOW, ITEMS)
    assert cache.get("key", 0, NOW + MAX_AGE / 2) is ITEMS
    assert cache.get("other", 0, NOW) is None


def test_a_change_or_time_makes_it_old() -> None:
    cache = ContextCache()
    cache.put("key", 3, NOW, ITEMS)
    assert cache.get("key", 4, NOW) is None
    assert cache.get("key", 3, NOW + MAX_AGE) is None
    assert cache.get("key", 3, NOW - timedelta(microseconds=1)) is None


def test_it_stays_small() -> None:
    cache = ContextCache()
    for number in range(3 * MAX_KEYS):
        cache.put(number, 0, NOW, ITEMS)
    assert sum(cache.get(number, 0, NOW) is ITEMS for number in range(3 * MAX_KEYS)) <= MAX_KEYS


def test_every_change_of_a_memory_is_seen_by_the_next_turn(
    hippo: Hippocampe, clock: FakeClock
) -> None:
    scope = Scope(user="dev", channel="lobby")

    def given(channel: str) -> str:
        return hippo.before_turn("bonjour", scope=Scope(user="dev", channel=channel)).text

    memory = hippo.remember("on garde le vieux four", scope=scope, type="decision").memory
    assert "le vieux four" in given("a")
    hippo.edit(memory.id, content="on garde le vieux moulin", scope=scope)
    assert "le vieux moulin" in given("b")
    hippo.delete(memory.id, scope=scope, reason="essai")
    assert given("c") == ""
    hippo.restore(memory.id, scope=scope)
    assert "le vieux moulin" in given("d")
    hippo.forget("le vieux moulin", scope=scope)
    assert given("e") == ""
    short = hippo.remember("on loue le gîte", scope=scope, type="decision", ttl="1h").memory
    clock.advance(minutes=59, seconds=59)
    assert "le gîte" in given("f")
    clock.advance(seconds=2)
    assert given("g") == ""
    hippo.erase(scope=scope, id=short.id)
    assert given("h") == ""


@pytest.fixture
def large(hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch) -> Hippocampe:
    """Thousands of memories that are neither identities, nor important, nor recent."""
    # Nobody opens it again.
    monkeypatch.setattr(maintenance, "REDERIVING_SECONDS", 0)
    old = datetime.now(UTC) - timedelta(days=300)
    made = [
        Memory(f"{n}", "default", f"la barque {n}", created_at=old, updated_at=old)
        for n in range(5_000)
    ]
    with hippo._context.corpus.store.write() as connection:  # pyright: ignore[reportPrivateUsage]
        memories.add(connection, made, [memory.content for memory in made])
    return hippo


@pytest.mark.parametrize("channel_scope", [False, True])
@pytest.mark.parametrize("message", ["la barque", "je suis mickael", "que sais-tu de moi ?"])
def test_no_turn_reads_a_space_whole(large: Hippocampe, message: str, channel_scope: bool) -> None:
    scope = Scope(user="mickael", channel="lobby")
    large.update_settings(scope=scope, channel_scope=channel_scope)
    assert steps(large, lambda: large.before_turn(message, scope=scope)) < 20_000


@pytest.mark.parametrize(
    "narrowed", [{"types": ["goal"]}, {"subjects": ["lune"]}, {"since": "2020-01-01T00:00:00Z"}]
)
def test_no_recall_reads_a_space_whole(large: Hippocampe, narrowed: dict[str, Any]) -> None:
    scope = Scope()
    assert steps(large, lambda: large.recall("la barque", scope=scope, **narrowed)) < 20_000


def test_the_latest_messages_are_read_alone(hippo: Hippocampe, clock: FakeClock) -> None:
    talk = [(f"la barque {number}", f"la voile {number}") for number in range(150)]
    for asked, said in talk:
        clock.advance(minutes=1)
        hippo.after_turn(asked, said, scope=Scope(channel="lobby"))
    few = steps(hippo, lambda: hippo.messages(scope=Scope(), limit=5))
    many = steps(hippo, lambda: hippo.messages(scope=Scope(), limit=300))
    assert 10 * few < many


def steps(hippo: Hippocampe, call: Callable[[], object]) -> int:
    """About how many steps the database takes for a call: some ten for each row it looks at."""
    engine = hippo._context.corpus.store.engine  # pyright: ignore[reportPrivateUsage]
    hundreds: list[None] = []

    def watch(driver: sqlite3.Connection, *_: object) -> None:
        driver.set_progress_handler(lambda: hundreds.append(None), 100)

    event.listen(engine, "checkout", watch)
    try:
        call()
    finally:
        event.remove(engine, "checkout", watch)
    return 100 * len(hundreds)
