"""The log of turns: what it holds, what it never holds, when it is written, and what leaves it."""

import math
import struct
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from uuid6 import uuid7

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.engine import context
from hippocampe.errors import InvalidInput, StoreFull
from hippocampe.retrieval import log as retrieval_log
from hippocampe.store.retrievals import Line
from hippocampe.store.schema import retrieval, retrieval_item
from hippocampe.types import Considered, Injection, Recollection, Trace

SIGNALS = struct.pack("<3f", 7.25, math.nan, 2 / 3)


@pytest.fixture
def hippo(open_hippo: Opener, hashed: None) -> Hippocampe:
    return open_hippo(embedder="hashed:32")


def parts_of(hippo: Hippocampe) -> context.Context:
    return hippo._context  # pyright: ignore[reportPrivateUsage]


def buffer_of(hippo: Hippocampe) -> retrieval_log.RetrievalBuffer:
    return hippo._turns.retrievals  # pyright: ignore[reportPrivateUsage]


def found(content: str, *, id: str | None = None, kind: str = "memory") -> Recollection:
    return Recollection(id or str(uuid7()), kind, content, 0.75)


def injection(considered: Sequence[Considered] = (), **more: Any) -> Injection:
    trace = Trace(tuple(considered), **more)
    given = tuple(each.recollection for each in considered if each.outcome == "injected")
    return Injection(str(uuid7()), "…", given, tokens=12 * len(given), took_ms=3.5, trace=trace)


def line(considered: Considered) -> Line:
    """As a turn logs it: only what was searched for has signals."""
    item = considered.recollection
    signals = SIGNALS if considered.path == "search" else b""
    return item.id, item.kind, item.score, considered.path, considered.outcome, signals


def note(
    hippo: Hippocampe, message: str, *considered: Considered, scope: Scope, **more: Any
) -> Injection:
    made = injection(considered, **more)
    lines = tuple(line(each) for each in considered)
    retrieval_log.record(
        parts_of(hippo).corpus.store, buffer_of(hippo), made, lines, scope=scope, message=message
    )
    return made


def written(hippo: Hippocampe) -> int:
    with parts_of(hippo).corpus.store.read() as connection:
        return connection.execute(select(func.count()).select_from(retrieval)).scalar_one()


def test_a_turn_is_logged_with_everything_but_content(
    hippo: Hippocampe, scope: Scope, clock: FakeClock
) -> None:
    considered = (
        Considered(found("Ana = Anaïs"), "identity", "injected"),
        Considered(found("le four chauffe", kind="turn"), "search", "injected"),
        Considered(found("Recette du pain", kind="note"), "context", "injected"),
        Considered(found("il pleut", kind="live"), "search", "below_threshold"),
        Considered(found("rien"), "recent", "no_room"),
    )
    stages = {"search": 2.5, "render": 0.25}
    at = clock.now
    made = note(
        hippo, "où est le pain ?", *considered, scope=scope, stages=stages, missing=("notes",)
    )
    (logged,) = hippo.retrievals(scope=scope)
    assert (logged.id, logged.space, logged.user) == (made.id, "default", "dev")
    assert (logged.channel, logged.message_preview) == ("lobby", "où est le pain ?")
    assert (logged.memories_injected, logged.notes_injected, logged.tokens_added) == (2, 1, 36)
    assert (logged.took_ms, logged.stages, logged.missing) == (3.5, stages, ("notes",))
    assert logged.skipped is None
    assert timedelta() < logged.created_at - at < timedelta(seconds=1)
    assert [(i.id, i.kind, i.path, i.outcome, i.score) for i in logged.items] == [
        (c.recollection.id, c.recollection.kind, c.path, c.outcome, 0.75) for c in considered
    ]
    assert [item.signals for item in logged.items] == [
        {},
        {"late": 7.25, "phrase": 0.6667},
        {},
        {"late": 7.25, "phrase": 0.6667},
        {},
    ]


def test_a_skipped_turn_is_logged_with_the_reason(hippo: Hippocampe, scope: Scope) -> None:
    note(hippo, "redémarrage", scope=scope, skipped="system")
    (logged,) = hippo.retrievals(scope=scope)
    assert (logged.skipped, logged.items, logged.tokens_added) == ("system", (), 0)


def test_noting_writes_nothing(hippo: Hippocampe, scope: Scope) -> None:
    note(hippo, "bonjour", scope=scope)
    assert written(hippo) == 0
    hippo.flush()
    assert written(hippo) == 1
    hippo.flush()
    assert written(hippo) == 1


def test_what_waits_is_written_at_close(
    hippo: Hippocampe, open_hippo: Opener, scope: Scope
) -> None:
    made = note(hippo, "bonjour", scope=scope)
    hippo.close()
    again = open_hippo(embedder="hashed:32")
    assert [each.id for each in again.retrievals(scope=scope)] == [made.id]


@pytest.mark.usefixtures("hashed")
def test_the_background_writes(open_hippo: Opener, scope: Scope) -> None:
    hippo = open_hippo(embedder="hashed:32", background=True, flush_seconds=0.02)
    note(hippo, "bonjour", scope=scope)
    end = time.monotonic() + 30
    while not written(hippo) and time.monotonic() < end:
        time.sleep(0.02)
    assert written(hippo) == 1


def test_the_newest_come_first(hippo: Hippocampe, scope: Scope, clock: FakeClock) -> None:
    for number in range(5):
        note(hippo, f"message {number}", Considered(found("x"), "search", "injected"), scope=scope)
        clock.advance(minutes=1)
    shown = [each.message_preview for each in hippo.retrievals(scope=scope, limit=3)]
    assert shown == ["message 4", "message 3", "message 2"]
    since = clock.now - timedelta(minutes=2, seconds=30)
    assert len(hippo.retrievals(scope=scope, since=since)) == 2
    assert all(len(each.items) == 1 for each in hippo.retrievals(scope=scope))


def test_a_log_is_of_its_space_and_of_a_channel_if_asked(hippo: Hippocampe, scope: Scope) -> None:
    note(hippo, "ici", scope=scope)
    note(hippo, "à côté", scope=Scope(channel="jardin"))
    note(hippo, "ailleurs", scope=Scope(space="autre", channel="lobby"))
    assert {each.message_preview for each in hippo.retrievals(scope=scope)} == {"ici", "à côté"}
    only = hippo.retrievals(scope=scope, channel_only=True)
    assert [each.message_preview for each in only] == ["ici"]
    assert hippo.retrievals(scope=Scope(space="vide")) == []


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 1_001}, {"since": "hier"}])
def test_bad_arguments_are_refused(hippo: Hippocampe, scope: Scope, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        hippo.retrievals(scope=scope, **wrong)


def test_one_channel_needs_a_name(hippo: Hippocampe) -> None:
    for read in (hippo.retrievals, hippo.recent):
        with pytest.raises(InvalidInput, match="channel_only needs a scope that names a channel"):
            read(scope=Scope(user="dev"), channel_only=True)


# What is shown of a message


def test_a_preview_is_one_short_line_cut_between_words() -> None:
    assert retrieval_log.preview("bon\x00jour\n  à\ttous ") == "bonjour à tous"
    long = retrieval_log.preview("anticonstitutionnellement " * 20)
    assert len(long) <= retrieval_log.PREVIEW_CHARACTERS + 1
    assert long == " ".join(["anticonstitutionnellement"] * 4) + "…"
    assert retrieval_log.preview("x" * 120) == "x" * 120
    assert retrieval_log.preview("x" * 121) == "…"


def test_secrets_are_masked_before_the_cut(hippo: Hippocampe, scope: Scope) -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBg\n" * 300 + "-----END PRIVATE KEY-----"
    note(hippo, f"mon mot de passe est tr0mbone! et ma clé {key}", scope=scope)
    (logged,) = hippo.retrievals(scope=scope)
    assert "tr0mbone" not in logged.message_preview
    assert "MIIE" not in logged.message_preview
    assert "[secret: password]" in logged.message_preview


def test_what_is_no_valid_text_does_not_stop_the_log(hippo: Hippocampe, scope: Scope) -> None:
    note(hippo, "coupé \ud83d", scope=scope)
    note(hippo, "bonjour", scope=scope)
    assert [each.message_preview for each in hippo.retrievals(scope=scope)] == [
        "bonjour",
        "coupé ?",
    ]


# Too many, and a store that is down


def test_the_oldest_are_dropped_and_counted(hippo: Hippocampe, scope: Scope) -> None:
    for number in range(retrieval_log.MAX_BUFFERED + 3):
        note(hippo, f"message {number}", scope=scope)
    assert hippo.stats(scope=scope).retrievals_dropped == 3
    logged = hippo.retrievals(scope=scope, limit=1_000)
    assert len(logged) == retrieval_log.MAX_BUFFERED
    assert logged[-1].message_preview == "message 3"


def test_what_another_process_erased_is_dropped_of_its_space_alone(
    hippo: Hippocampe, scope: Scope
) -> None:
    away = Scope(space="away")
    for at in (scope, away, scope):
        note(hippo, "où est le tuba ?", scope=at)
    buffer_of(hippo).drop(scope.space, None)
    assert hippo.stats(scope=scope).retrievals_dropped == 2
    assert (len(hippo.retrievals(scope=scope)), len(hippo.retrievals(scope=away))) == (0, 1)


def test_what_could_not_be_written_is_written_later(
    hippo: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(retrieval_log.MAX_BUFFERED):
        note(hippo, f"message {number}", scope=scope)

    def full(**_: Any) -> Any:
        # Meanwhile another turn is served.
        note(hippo, "le dernier", scope=scope)
        raise StoreFull("the disk is full.")

    with monkeypatch.context() as broken:
        broken.setattr(parts_of(hippo).corpus.store, "write", full)
        assert hippo.retrievals(scope=scope) == []
    logged = hippo.retrievals(scope=scope, limit=1_000)
    assert len(logged) == retrieval_log.MAX_BUFFERED
    assert logged[0].message_preview == "le dernier"
    assert logged[-1].message_preview == "message 1"
    assert hippo.stats(scope=scope).retrievals_dropped == 1


def test_the_same_injection_is_logged_once(hippo: Hippocampe, scope: Scope) -> None:
    made = injection([Considered(found("x"), "search", "injected")])
    for _ in range(2):
        for _ in range(2):
            retrieval_log.record(
                parts_of(hippo).corpus.store,
                buffer_of(hippo),
                made,
                (),
                scope=scope,
                message="bonjour",
            )
        assert len(hippo.retrievals(scope=scope)) == 1


def test_many_threads_lose_nothing(hippo: Hippocampe, scope: Scope) -> None:
    def turns(thread: int) -> None:
        for number in range(20):
            made = Considered(found("x"), "search", "injected")
            note(hippo, f"message {thread} {number}", made, scope=scope)
            if number % 5 == 0:
                hippo.retrievals(scope=scope, limit=1)

    threads = [threading.Thread(target=turns, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    logged = hippo.retrievals(scope=scope, limit=1_000)
    assert len({each.message_preview for each in logged}) == len(logged) == 160


# What leaves the log


def test_what_is_old_goes_by_itself(
    hippo: Hippocampe, open_hippo: Opener, scope: Scope, clock: FakeClock
) -> None:
    other = Scope(space="autre")
    hippo.update_settings(scope=other, retrieval_days=3)
    for where in (scope, other):
        note(hippo, "ancien", Considered(found("x"), "search", "injected"), scope=where)
    hippo.flush()
    clock.advance(days=4)
    note(hippo, "nouveau", scope=other)
    hippo.flush()
    retrieval_log.expire(parts_of(hippo).corpus)
    assert [each.message_preview for each in hippo.retrievals(scope=other)] == ["nouveau"]
    assert [each.message_preview for each in hippo.retrievals(scope=scope)] == ["ancien"]
    with parts_of(hippo).corpus.store.read() as connection:
        items = connection.execute(select(func.count()).select_from(retrieval_item)).scalar_one()
    assert items == 1
    clock.advance(days=27)
    hippo.close()
    assert open_hippo(embedder="hashed:32").retrievals(scope=scope) == []


@pytest.mark.parametrize("waiting", [True, False])
def test_an_erased_memory_leaves_no_trace_in_the_log(
    hippo: Hippocampe, scope: Scope, waiting: bool
) -> None:
    memory = hippo.remember("Zéphyrine habite à Quimper", scope=scope).memory
    shown = found(memory.content, id=memory.id)
    note(hippo, "où part-elle ?", Considered(shown, "search", "no_room"), scope=scope)
    kept = note(hippo, "où est le pain ?", scope=scope)
    if not waiting:
        hippo.flush()
        hippo.backup()
    hippo.erase(id=memory.id, scope=scope)
    assert [each.id for each in hippo.retrievals(scope=scope)] == [kept.id]
    assert hippo.verify(absent=["Zéphyrine", "part-elle"]).ok


def test_nothing_is_on_its_way_to_the_log_during_an_erasure(
    hippo: Hippocampe, scope: Scope
) -> None:
    note(hippo, "bonjour", scope=scope)
    store, buffer = parts_of(hippo).corpus.store, buffer_of(hippo)
    with store.exclusive():
        writer = threading.Thread(target=retrieval_log.flush, args=(store, buffer))
        writer.start()
        time.sleep(0.1)
        assert len(buffer) == 1
    writer.join()
    assert len(buffer) == 0
    assert written(hippo) == 1


def test_an_erased_subject_leaves_no_message_that_names_it(hippo: Hippocampe, scope: Scope) -> None:
    hippo.remember("Zéphyrine habite à Quimper", scope=scope)
    note(hippo, "tu as vu zephyrine ?", scope=scope)
    cut = note(hippo, "mot " * 29 + "Zéphyrine", scope=scope)
    kept = note(hippo, "tu as vu Rose ?", scope=scope)
    hippo.flush()
    hippo.backup()
    hippo.erase(subject="Zéphyrine", scope=scope)
    assert [each.id for each in hippo.retrievals(scope=scope)] == [kept.id, cut.id]
    assert hippo.verify(absent=["Zéphy", "zephy"]).ok


def test_an_erased_message_is_not_shown_by_the_log(hippo: Hippocampe, scope: Scope) -> None:
    said = "Pascaline a gagné " + "au loto, " * 20
    note(hippo, said, scope=scope)
    kept = note(hippo, "bravo", scope=scope)
    turn = hippo.after_turn(said, "Bravo !", scope=scope)
    hippo.erase(id=turn, scope=scope)
    assert [each.id for each in hippo.retrievals(scope=scope)] == [kept.id]
    assert hippo.verify(absent=["Pascaline"]).ok


def test_an_erased_user_and_space_take_their_turns_along(hippo: Hippocampe, scope: Scope) -> None:
    other = Scope(space="autre", user="dev")
    for where in (scope, Scope(user="ana"), other):
        note(hippo, "bonjour", scope=where)
    hippo.erase(user="dev", scope=scope)
    assert [each.user for each in hippo.retrievals(scope=scope)] == ["ana"]
    hippo.erase(whole_space=True, scope=scope)
    assert hippo.retrievals(scope=scope) == []
    assert [each.user for each in hippo.retrievals(scope=other)] == ["dev"]


def test_a_forgotten_memory_is_not_quoted(hippo: Hippocampe, scope: Scope, folder: Path) -> None:
    memory = hippo.remember("Barnabé ronfle", scope=scope).memory
    shown = Considered(found(memory.content, id=memory.id), "search", "injected")
    note(hippo, "qui fait ce bruit ?", shown, scope=scope)
    hippo.delete(memory.id, scope=scope, reason="pas gentil")
    (logged,) = hippo.retrievals(scope=scope)
    assert [item.id for item in logged.items] == [memory.id]
    assert "Barnabé" not in repr(logged)
