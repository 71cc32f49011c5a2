"""Sessions: one per user, fifteen minutes, in order per user, at once across users."""

import asyncio
import gc
import inspect
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import timedelta

import pytest

from conftest import MODEL, FakeClock, Meet, Opener
from hippocampe import Hippocampe, ModelUnavailable, Scope
from hippocampe.companion import AsyncCompanion, Companion
from hippocampe.companion.sessions import Exchange
from model_server import Answer, Call, ModelRequest, ModelServer
from served import served

DEV = Scope(user="dev", channel="lobby")


def echo(request: ModelRequest) -> Answer:
    return Answer(calls=(Call("respond", {"expression": "happy", "message": "oui"}),))


def said(server: ModelServer) -> list[str]:
    """What the users said in the last request, without reminders."""
    texts = [each.text for each in server.requests[-1].messages if each.role == "user"]
    return [
        json.loads(line)["message"]
        for text in texts
        for line in text.splitlines()
        if line.startswith("{")
    ]


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    server.brain = echo
    return server


def ask(companion: Companion, message: str, user: str = "dev", channel: str = "lobby") -> None:
    companion.ask(message, user=user, channel=channel)


def test_a_session_has_a_history(companion: Companion, server: ModelServer) -> None:
    ask(companion, "un")
    ask(companion, "deux")
    assert said(server) == ["un", "deux"]


def test_it_closes_after_fifteen_minutes(
    companion: Companion, server: ModelServer, clock: FakeClock
) -> None:
    ask(companion, "un")
    clock.advance(minutes=14)
    ask(companion, "deux")
    clock.advance(minutes=14)
    ask(companion, "trois")
    assert said(server) == ["un", "deux", "trois"]
    clock.advance(minutes=16)
    ask(companion, "quatre")
    assert said(server) == ["quatre"]


def test_the_setting_counts(
    hippo: Hippocampe, companion: Companion, server: ModelServer, clock: FakeClock
) -> None:
    hippo.update_settings(scope=DEV, session_timeout_minutes=60)
    ask(companion, "un")
    clock.advance(minutes=59)
    ask(companion, "deux")
    assert said(server) == ["un", "deux"]


def test_each_user_has_one(companion: Companion, server: ModelServer) -> None:
    ask(companion, "un", user="ana")
    ask(companion, "deux", user="bob")
    assert said(server) == ["deux"]
    ask(companion, "trois", user="ana")
    assert said(server) == ["un", "trois"]


def test_spaces_never_meet(companion: Companion, server: ModelServer) -> None:
    companion.ask("un", user="ana", channel="lobby", space="here")
    companion.ask("deux", user="ana", channel="lobby", space="there")
    assert said(server) == ["deux"]


def test_a_restart_restores_it(
    hippo: Hippocampe,
    meet: Meet,
    open_hippo: Opener,
    server: ModelServer,
    clock: FakeClock,
) -> None:
    first = meet()
    ask(first, "un")
    ask(first, "deux", user="bob")
    ask(first, "trois")
    first.close()
    hippo.close()
    again = open_hippo()
    clock.advance(minutes=10)
    ask(meet(again), "quatre")
    assert said(server) == ["un", "trois", "quatre"]


def test_a_late_restart_does_not(
    hippo: Hippocampe, meet: Meet, server: ModelServer, clock: FakeClock
) -> None:
    ask(meet(), "un")
    clock.advance(minutes=16)
    ask(meet(), "deux")
    assert said(server) == ["deux"]


def exchanges(word: str) -> list[Exchange]:
    """The exchanges with a word that any session of this process holds."""
    gc.collect()
    found = [each for each in gc.get_objects() if isinstance(each, Exchange)]
    return [each for each in found if word in each.message]


def test_an_erased_exchange_leaves_the_memory_of_the_process(
    hippo: Hippocampe, companion: Companion, server: ModelServer
) -> None:
    ask(companion, "Où est Anglibroz ?")
    ask(companion, "un")
    ask(companion, "deux", user="ana")
    assert exchanges("Anglibroz")
    hippo.erase(subject="Anglibroz", scope=DEV)
    assert not exchanges("Anglibroz")
    ask(companion, "trois")
    assert said(server) == ["un", "trois"]
    ask(companion, "quatre", user="ana")
    assert said(server) == ["deux", "quatre"]


def test_an_erasure_during_an_answer_leaves_the_session_in_order(
    hippo: Hippocampe, companion: Companion, server: ModelServer
) -> None:
    ask(companion, "Où est Anglibroz ?")

    def erasing(request: ModelRequest) -> Answer:
        server.brain = echo
        hippo.erase(subject="Anglibroz", scope=DEV)
        return echo(request)

    server.brain = erasing
    ask(companion, "un")
    assert not exchanges("Anglibroz")
    ask(companion, "deux")
    assert said(server) == ["un", "deux"]


@pytest.mark.parametrize("removed", ["delete", "forget", "erase"])
@pytest.mark.parametrize("joins", [False, True])
def test_no_reminder_quotes_what_was_removed_meanwhile(
    hippo: Hippocampe, meet: Meet, server: ModelServer, removed: str, joins: bool
) -> None:
    # Processes that share a database hear of a change a moment later.
    joins &= hippo.config.database_url is None
    with Hippocampe.open(hippo.config) if joins else nullcontext(hippo) as memory:
        companion = meet(memory)
        tuba = hippo.remember("Zoé joue du tuba", scope=DEV).memory.id
        hippo.remember("Le chat de Paul s'appelle Biscuit", scope=DEV)
        ask(companion, "De quoi joue Zoé ?")
        ask(companion, "Comment s'appelle le chat de Paul ?")
        ask(companion, "Et toi, ça va ?")
        seen = str(server.requests[-1].body)
        assert "tuba" in seen
        assert "Biscuit" in seen
        if removed == "delete":
            hippo.delete(tuba, scope=DEV, reason="faux")
        elif removed == "erase":
            hippo.erase(id=tuba, scope=DEV)
        else:
            hippo.forget("le tuba de Zoé", scope=DEV)
        ask(companion, "Et le chat de Paul ?")
        seen = str(server.requests[-1].body)
        assert "tuba" not in seen
        assert "Biscuit" in seen


def test_a_key_that_may_not_read_what_was_removed_keeps_no_reminder(
    hippo: Hippocampe, meet: Meet, server: ModelServer
) -> None:
    secret = hippo.create_key(scope=DEV, role="write").secret
    with (
        served(hippo, loopback=False) as url,
        Hippocampe.connect(url, key=secret) as memory,
    ):
        companion = meet(memory)
        tuba = hippo.remember("Zoé joue du tuba", scope=DEV).memory.id
        ask(companion, "De quoi joue Zoé ?")
        assert "tuba" in str(server.requests[-1].body)
        hippo.erase(id=tuba, scope=DEV)
        ask(companion, "Et toi, ça va ?")
        assert "tuba" not in str(server.requests[-1].body)
        assert said(server) == ["De quoi joue Zoé ?", "Et toi, ça va ?"]


def test_it_keeps_the_recent_messages(
    hippo: Hippocampe, companion: Companion, server: ModelServer
) -> None:
    hippo.update_settings(scope=DEV, recent_messages=3)
    for number in range(6):
        ask(companion, f"numéro {number}")
    assert said(server) == [f"numéro {number}" for number in (2, 3, 4, 5)]


def test_users_are_served_at_once_and_each_in_order(hippo: Hippocampe, server: ModelServer) -> None:
    """Two users wait for each other in the model: this ends only if they are served together."""
    together = threading.Barrier(2, timeout=20)
    order: list[str] = []

    def brain(request: ModelRequest) -> Answer:
        order.append(json.loads(request.asked)["message"])
        if "ensemble" in request.asked:
            together.wait()
        return echo(request)

    server.brain = brain

    async def talk() -> None:
        async with AsyncCompanion(hippo, model=MODEL) as companion:
            await asyncio.gather(
                *(companion.ask(f"{user} ensemble", user=user) for user in ("ana", "bob"))
            )
            order.clear()
            await asyncio.gather(
                *(companion.ask(f"message {number}", user="ana") for number in range(5))
            )

    asyncio.run(talk())
    assert order == [f"message {number}" for number in range(5)]


def test_many_users_at_once(hippo: Hippocampe, server: ModelServer) -> None:
    async def talk() -> None:
        async with AsyncCompanion(hippo, model=MODEL) as companion:
            for _ in range(2):
                await asyncio.gather(
                    *(
                        companion.ask(f"je suis u{number}", user=f"u{number}", channel="lobby")
                        for number in range(10)
                    )
                )

    asyncio.run(talk())
    messages = hippo.messages(scope=DEV, limit=100)
    assert len(messages) == 40
    for request in server.requests:
        speakers = {
            f"u{number}" for number in range(10) if f'"from": "u{number}"' in str(request.messages)
        }
        assert len(speakers) == 1


def test_a_closed_companion_says_so(companion: Companion) -> None:
    companion.close()
    companion.close()
    with pytest.raises(Exception, match="closed"):
        ask(companion, "un")


def test_a_clock_moved_back_closes_nothing_recent(
    companion: Companion, server: ModelServer, clock: FakeClock
) -> None:
    ask(companion, "un")
    clock.now -= timedelta(minutes=5)
    ask(companion, "deux")
    assert said(server) == ["un", "deux"]
    clock.now -= timedelta(hours=5)
    ask(companion, "trois")
    assert said(server) == ["trois"]


def test_closing_ends_an_answer_under_way(
    hippo: Hippocampe, companion: Companion, server: ModelServer
) -> None:
    server.brain = lambda _: Answer(delay=60)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask, companion, "tu dors ?")
        ends = time.monotonic() + 20
        while not server.requests and time.monotonic() < ends:
            time.sleep(0.02)
        companion.close()
        with pytest.raises(ModelUnavailable, match="closed"):
            asking.result(20)
    assert [each.content for each in hippo.messages(scope=DEV)] == ["tu dors ?"]


@pytest.mark.parametrize("name", ["ask", "stream", "deep_recall"])
def test_both_doors_take_the_same(name: str) -> None:
    one, other = (inspect.signature(getattr(door, name)) for door in (Companion, AsyncCompanion))
    assert one.parameters == other.parameters


def test_both_doors_have_the_same_verbs() -> None:
    public = [
        {name for name in vars(door) if not name.startswith("_")}
        for door in (Companion, AsyncCompanion)
    ]
    assert public[0] == public[1]
