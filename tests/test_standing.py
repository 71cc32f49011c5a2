"""What stands whatever is asked is kept for a moment, and never beyond a change."""

import sqlite3
from datetime import UTC, datetime, timedelta

from conftest import FakeClock
from hippocampe import Hippocampe, Scope
from hippocampe.standing import FRESH, MOST_KEYS, Standing
from hippocampe.store import memories
from hippocampe.types import Memory, Recollection

NOW = datetime(2026, 1, 17, tzinfo=UTC)
STANDS = [("recent", Recollection("1", "memory", "on garde le vieux four", 0.0), None)]


def test_what_is_kept_is_given_while_it_is_fresh() -> None:
    standing = Standing()
    assert standing.get("key", 0, NOW) is None
    standing.keep("key", 0, NOW, STANDS)
    assert standing.get("key", 0, NOW + FRESH / 2) is STANDS
    assert standing.get("other", 0, NOW) is None


def test_a_change_or_time_makes_it_old() -> None:
    standing = Standing()
    standing.keep("key", 3, NOW, STANDS)
    assert standing.get("key", 4, NOW) is None
    assert standing.get("key", 3, NOW + FRESH) is None
    assert standing.get("key", 3, NOW - timedelta(microseconds=1)) is None


def test_it_stays_small() -> None:
    standing = Standing()
    for number in range(3 * MOST_KEYS):
        standing.keep(number, 0, NOW, STANDS)
    assert (
        sum(standing.get(number, 0, NOW) is STANDS for number in range(3 * MOST_KEYS)) <= MOST_KEYS
    )


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
    assert "le gîte" in given("f")
    clock.advance(hours=2)
    assert given("g") == ""
    hippo.erase(scope=scope, id=short.id)
    assert given("h") == ""


def test_a_space_without_identities_is_not_read_whole(hippo: Hippocampe) -> None:
    """Nor one whose memories are neither important nor recent."""
    now = datetime.now(UTC)
    old = now - timedelta(days=300)
    parts = hippo._parts  # pyright: ignore[reportPrivateUsage]
    made = [
        Memory(
            str(number), "default", f"la barque {number}", "memory", "fact", importance=0.6,
            source="test", created_at=old, updated_at=old,
        )
        for number in range(5_000)
    ]  # fmt: skip
    with parts.store.write() as connection:
        memories.add(connection, made)
    thousands: list[int] = []
    with parts.store.read() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.set_progress_handler(lambda: thousands.append(1), 1_000)
        since = now - timedelta(hours=6)
        found = memories.standing(
            connection, "default", now, least=0.8, since=since, until=now, channel=None, limit=6
        )
        driver.set_progress_handler(None, 0)
    assert not any(found.values())
    assert len(thousands) < 3, "thousands of steps of the database"
