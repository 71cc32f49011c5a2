"""What a turn is given: the examples of the design, bursts, settings, faults, a long conversation."""

import asyncio
import logging
import random
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from children import child
from conftest import DEFAULTS, FakeClock, Opener, read_at_once
from hashed import HashedEmbedder
from hippocampe import Config, Hippocampe, Scope, with_injection
from hippocampe.aio import AsyncHippocampe
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.errors import (
    EmbedderUnavailable,
    IndexUnavailable,
    NotesUnavailable,
    StoreBusy,
    StoreError,
)
from hippocampe.injection import channel_history, warmup
from hippocampe.injection import turn as turn_step
from hippocampe.injection.channel_history import Channel, ChannelHistories
from hippocampe.injection.turn_state import TurnState
from hippocampe.notes import sync
from hippocampe.protocols import Vectors
from hippocampe.retrieval import candidates, recall, request
from hippocampe.types import Injection, Recollection, Settings

HASHED = "hashed:64"
NOW = datetime(2026, 1, 17, 10, 23, tzinfo=UTC)
LOBBY = Scope(user="dev", channel="lobby")
PHONE = Scope(user="dev", channel="whatsapp")
DAVID = Scope(user="david", channel="lobby")


@pytest.fixture
def hippo(open_hippo: Opener, hashed: None) -> Hippocampe:
    """A memory that knows nothing of meaning, and is in no hurry."""
    return unhurried(open_hippo(embedder=HASHED))


@pytest.fixture
def meaning(open_hippo: Opener) -> Hippocampe:
    """A memory with the bundled embedder."""
    return unhurried(open_hippo())


def unhurried(hippo: Hippocampe) -> Hippocampe:
    """No test must fail because the machine is busy; those of the deadline set their own."""
    hippo.update_settings(scope=LOBBY, hook_timeout_ms=10_000)
    return hippo


def parts_of(hippo: Hippocampe) -> Context:
    return hippo._context  # pyright: ignore[reportPrivateUsage]


def turns_of(hippo: Hippocampe) -> TurnState:
    return hippo._turns  # pyright: ignore[reportPrivateUsage]


def outcomes(turn: Injection) -> dict[str, str]:
    return {each.recollection.content: each.outcome for each in turn.trace.considered}


def begin(channel: Channel) -> None:
    channel.begin(NOW, depth=100, session=timedelta(minutes=15))


def paths(turn: Injection) -> dict[str, str]:
    return {each.recollection.content: each.path for each in turn.trace.considered}


def contents(turn: Injection) -> set[str]:
    return {item.content for item in turn.items}


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, float]], None]:
    """Give what a search finds the scores of a test: by content, 0 for what is not named."""
    find = recall.find

    def give(scores: Mapping[str, float]) -> None:
        def found(*given: Any) -> recall.Found:
            result = find(*given)
            items = [replace(item, score=scores.get(item.content, 0.0)) for item in result.items]
            items.sort(key=lambda item: -item.score)
            return replace(result, items=items)

        monkeypatch.setattr(recall, "find", found)

    return give


class TestExamples:
    """Those of the design, with the bundled embedder."""

    def test_a_decision_is_remembered_and_changed(
        self, meaning: Hippocampe, clock: FakeClock
    ) -> None:
        meaning.remember("L'utilisateur s'appelle Mickael", scope=LOBBY, type="identity")
        old = meaning.remember(
            "Décision : on utilise PostgreSQL pour la persistance", scope=LOBBY, type="decision"
        )
        meaning.after_turn(
            "parlons de la réplication PostgreSQL", "Logique ou physique ?", scope=LOBBY
        )
        clock.advance(days=1)
        asked = meaning.before_turn(
            "Salut, tu te souviens de ce qu'on a dit hier sur PostgreSQL?", scope=LOBBY
        )
        for known in ("s'appelle Mickael", "on utilise PostgreSQL", "réplication PostgreSQL"):
            assert known in asked.text
        system = {"role": "system", "content": "Worker #42 completed"}
        assert meaning.before_turn(system, scope=LOBBY).text == ""

        burst = ["En fait", "j'ai changé d'avis", "on va utiliser MySQL à la place"]
        elsewhere = meaning.before_turn(burst, scope=PHONE)
        assert "on utilise PostgreSQL" in elsewhere.text
        new = meaning.remember(
            "Décision : on utilise MySQL", scope=PHONE, type="decision", replaces=[old.memory.id]
        )
        assert new.replaced == (old.memory.id,)
        later = meaning.before_turn("on utilise quelle base ?", scope=Scope(channel="bureau"))
        assert "MySQL" in later.text
        assert "PostgreSQL" not in " ".join(m.content for m in later.items if m.kind == "memory")

    def test_who_says_their_name_is_known(self, meaning: Hippocampe, clock: FakeClock) -> None:
        meaning.remember("mickael aime le ski", scope=LOBBY, subjects=["mickael", "ski"])
        meaning.remember("David joue du tuba", scope=LOBBY, subjects=["david"])
        clock.advance(days=30)
        given = meaning.before_turn("je suis mickael", scope=PHONE)
        assert "mickael aime le ski" in given.text
        assert "tuba" not in given.text

    def test_an_open_question_is_answered_by_what_is_recent(
        self, meaning: Hippocampe, clock: FakeClock
    ) -> None:
        meaning.remember("dev s'appelle en réalité Mickael", scope=LOBBY)
        meaning.remember("Mickael part en vacances en Grèce", scope=LOBBY)
        meaning.remember("Le PSG a gagné 3-0", scope=LOBBY)
        meaning.after_turn("il faut arroser les tomates", "Je note.", scope=LOBBY)
        clock.advance(days=2)
        given = meaning.before_turn("on a parlé de quoi avant ?", scope=PHONE)
        for known in ("Mickael part en vacances en Grèce", "PSG", "tomates"):
            assert known in given.text

    @pytest.mark.usefixtures("reading")
    def test_talk_of_three_weeks_ago(self, meaning: Hippocampe, clock: FakeClock) -> None:
        clock.advance(days=-21)
        meaning.after_turn("le devis de la serre est trop cher", "On attend mars ?", scope=LOBBY)
        meaning.after_turn("tu as vu le match ?", "Oui, 3-0.", scope=LOBBY)
        clock.advance(days=14)
        meaning.after_turn("la serre a résisté au vent", "Tant mieux.", scope=LOBBY)
        clock.advance(days=7)
        given = meaning.before_turn(
            "qu'est-ce qu'on avait dit sur la serre il y a 3 semaines ?", scope=PHONE
        )
        assert "le devis de la serre est trop cher" in given.text
        assert "match" not in given.text

    def test_a_live_extract_of_the_lobby(self, meaning: Hippocampe, clock: FakeClock) -> None:
        meaning.observe("je pars en Grèce demain", scope=DAVID)
        clock.advance(minutes=10)
        given = meaning.before_turn("qu'est-ce que j'ai raté ?", scope=PHONE)
        assert "[Contexte live : extraits pertinents du Lobby, pas une conversation complète]" in (
            given.text
        )
        assert "• david (17/01 11:23) : je pars en Grèce demain" in given.text


class TestOpenQuestions:
    def test_a_time_narrows_the_talk(self, hippo: Hippocampe, clock: FakeClock) -> None:
        hippo.after_turn("le four est en panne", "Zut.", scope=LOBBY)
        clock.advance(days=1)
        hippo.after_turn("le plombier passe à midi", "Noté.", scope=LOBBY)
        clock.advance(hours=3)
        given = hippo.before_turn("on a parlé de quoi hier ?", scope=PHONE)
        assert "four" in given.text
        assert "plombier" not in given.text

    def test_a_person_is_told_what_is_known_of_them_first(self, hippo: Hippocampe) -> None:
        hippo.remember("dev = Mickael", scope=LOBBY)
        for number in range(15):
            hippo.remember(f"Zoé a {number} chats", scope=LOBBY, importance=0.9, subjects=["zoe"])
        hippo.remember("Mickael a peur des hauteurs", scope=LOBBY, importance=0.1)
        given = hippo.before_turn("que sais-tu de moi ?", scope=PHONE)
        considered = [each.recollection.content for each in given.trace.considered]
        assert "Mickael a peur des hauteurs" in considered[:2]
        assert "Mickael a peur des hauteurs" in given.text

    def test_a_question_with_a_topic_is_searched_for(self, hippo: Hippocampe) -> None:
        hippo.after_turn("le four est en panne", "Zut.", scope=LOBBY)
        given = hippo.before_turn("on a dit quoi sur le grenier ?", scope=PHONE)
        assert set(paths(given).values()) <= {"search"}

    def test_the_companion_is_no_topic(self, hippo: Hippocampe) -> None:
        hippo.after_turn("le four est en panne", "Zut.", scope=LOBBY)
        hippo.update_settings(scope=LOBBY, companion_names=["Gaston"])
        assert "four" in hippo.before_turn("Gaston, on a parlé de quoi ?", scope=PHONE).text
        assert "four" not in hippo.before_turn("Eko, on a parlé de quoi ?", scope=DAVID).text


class TestWhatIsSaid:
    @pytest.mark.parametrize(
        "message",
        [
            {"role": "system", "content": "le four chauffe"},
            {"role": "developer", "content": "le four chauffe"},
            {"source": "system", "content": "le four chauffe"},
            [{"role": "System", "content": "le four chauffe"}, {"role": "tool", "content": "ok"}],
        ],
    )
    def test_the_system_is_not_served(self, hippo: Hippocampe, message: Any) -> None:
        hippo.remember("le four chauffe", scope=LOBBY, importance=1.0)
        turn = hippo.before_turn(message, scope=LOBBY)
        assert (turn.text, turn.items, turn.tokens) == ("", (), 0)
        assert turn.trace.skipped == "a message of the system"
        assert hippo.before_turn("le four chauffe", scope=LOBBY, role="system").text == ""
        assert hippo.retrievals(scope=LOBBY)[0].skipped == "a message of the system"
        # It was no turn, so that nothing is known yet.
        assert "le four chauffe" in hippo.before_turn("bonjour", scope=LOBBY).text

    def test_a_system_message_in_a_burst_is_left_out(
        self, hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = queries(monkeypatch)
        burst = ["où est", {"role": "system", "content": "redémarrage"}, {"content": "la clef ?"}]
        hippo.before_turn(burst, scope=LOBBY)
        assert asked == ["où est la clef ?"]

    def test_parts_of_a_message_are_read(
        self, hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = queries(monkeypatch)
        image = {"type": "image_url", "image_url": {"url": "data:…"}}
        said = {"role": "user", "content": [{"type": "text", "text": "où est-ce ?"}, image]}
        hippo.before_turn(said, scope=LOBBY)
        assert asked == ["où est-ce ?"]

    def test_what_was_injected_is_no_part_of_the_question(
        self, hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hippo.remember("le four chauffe", scope=LOBBY, importance=1.0)
        first = hippo.before_turn("bonjour", scope=LOBBY)
        asked = queries(monkeypatch)
        sent = with_injection([{"role": "user", "content": "ça va ?"}], first)
        hippo.before_turn(sent[-1], scope=LOBBY)
        assert asked == ["ça va ?"]

    @pytest.mark.parametrize(
        "message",
        [
            *(None, 3, 2.5, True, "", "   ", b"bytes", [], {}, (), object(), [None, 4, [["a"]]]),
            *({"role": "user"}, {"content": None}, {"content": 7}, {"content": [[], None, 3]}),
            *({"content": [{"text": 4}, {}]}, {"role": None, "content": ""}, [{}, {"role": []}]),
            *(
                "\ud800",
                "\udfff où ?",
                "\x00\x01",
                "🙂",
                "�",
                "?" * 50,
                "'\"; DROP TABLE memory;--",
            ),
            *("a" * 1_000_000, "où est la clef ? " * 60_000, ["mot"] * 10_000),
            "<hippocampe-memory>\n" * 2_000,
        ],
        ids=lambda value: type(value).__name__ if type(value) is object else repr(value)[:30],
    )
    def test_nothing_raises(self, hippo: Hippocampe, message: Any) -> None:
        hippo.remember("le four chauffe", scope=LOBBY, importance=1.0)
        turn = hippo.before_turn(message, scope=LOBBY)
        assert isinstance(turn.text, str)
        assert hippo.stats(scope=LOBBY).outages == {}
        # The log takes it, and what comes next.
        assert "le four chauffe" in hippo.before_turn("et là ?", scope=PHONE).text or turn.text
        assert len(hippo.retrievals(scope=LOBBY)) == 2

    def test_of_a_long_text_both_ends_are_read(
        self, hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = queries(monkeypatch)
        hippo.before_turn("début " + "x" * 50_000 + " fin", scope=LOBBY)
        assert asked[0].startswith("début ")
        assert asked[0].endswith(" fin")
        assert len(asked[0]) <= request.MAX_QUERY_CHARACTERS

    def test_a_closed_memory_says_so(self, hippo: Hippocampe) -> None:
        hippo.close()
        with pytest.raises(StoreError, match="closed"):
            hippo.before_turn("bonjour", scope=LOBBY)


def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are searched for from now on."""
    asked: list[str] = []
    find = recall.find

    def noted(corpus: Corpus, text: str, *more: Any) -> recall.Found:
        asked.append(text)
        return find(corpus, text, *more)

    monkeypatch.setattr(recall, "find", noted)
    return asked


class TestBursts:
    def test_three_calls_make_one_turn(
        self, hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hippo.update_settings(scope=LOBBY, coalesce_ms=1_000)
        hippo.remember("le four chauffe", scope=LOBBY, importance=1.0)
        asked = queries(monkeypatch)
        said = ["En fait", "j'ai changé d'avis", "on prend le train"]
        with ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(hippo.before_turn, text, scope=LOBBY) for text in said]
            turns = [each.result() for each in waiting]
        served = [turn for turn in turns if turn.trace.skipped is None]
        assert [turn.text != "" for turn in turns].count(True) == len(served) == 1
        assert {turn.trace.skipped for turn in turns} == {None, "joined to a later message"}
        assert [sorted(text.split()) for text in asked] == [sorted(" ".join(said).split())]
        assert len(hippo.retrievals(scope=LOBBY)) == 1

    def test_speakers_and_channels_are_not_joined(
        self, hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hippo.update_settings(scope=LOBBY, coalesce_ms=200)
        asked = queries(monkeypatch)
        with ThreadPoolExecutor(3) as pool:
            for scope, text in ((LOBBY, "un"), (DAVID, "deux"), (PHONE, "trois")):
                pool.submit(hippo.before_turn, text, scope=scope)
        assert sorted(asked) == ["deux", "trois", "un"]

    def test_the_wait_is_not_counted(self, hippo: Hippocampe) -> None:
        hippo.update_settings(scope=LOBBY, coalesce_ms=2_000, hook_timeout_ms=2_000)
        hippo.remember("le four chauffe", scope=LOBBY, importance=1.0)
        turn = hippo.before_turn("bonjour", scope=LOBBY)
        assert "le four chauffe" in turn.text
        assert turn.trace.missing == ()

    def test_awaited_bursts_take_no_thread(self, hippo: Hippocampe) -> None:
        hippo.update_settings(scope=LOBBY, coalesce_ms=1_000)
        hippo.remember("le four chauffe", scope=LOBBY, importance=1.0)

        async def talk() -> tuple[list[Injection], str]:
            loop = asyncio.get_running_loop()
            loop.set_default_executor(ThreadPoolExecutor(1))
            door = AsyncHippocampe(hippo)
            waiting = [
                asyncio.create_task(door.before_turn("le four ?", scope=Scope(channel=name)))
                for name in "abcdefgh"
            ]
            await asyncio.sleep(0.3)
            # The only thread is free meanwhile.
            done = (await door.facts(scope=LOBBY), any(each.done() for each in waiting))
            return await asyncio.gather(*waiting), repr(done)

        began = time.monotonic()
        turns, meanwhile = asyncio.run(talk())
        assert meanwhile == "({}, False)"
        assert all(contents(turn) == {"le four chauffe"} for turn in turns)
        assert time.monotonic() - began < 8


class TestLoading:
    """The deadline of a turn runs once what it needs is loaded."""

    @pytest.fixture
    def slow(self, hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
        """A memory not asked yet, whose model loads until the event is set."""
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        hippo.update_settings(scope=LOBBY, hook_timeout_ms=2_000)
        loaded = threading.Event()
        monkeypatch.setattr(warmup, "preload", lambda _: loaded.wait(30))
        return loaded

    def test_the_first_turn_waits_for_it(self, hippo: Hippocampe, slow: threading.Event) -> None:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(anew, hippo)
            threading.Timer(0.5, slow.set).start()
            turn = waiting.result()
        assert contents(turn) == {"on garde le vieux four"}
        assert turn.trace.missing == ()
        assert turn.trace.stages["loading"] >= 400
        assert "loading" not in anew(hippo).trace.stages

    def test_the_first_turn_is_served_after_another_that_nobody_gets(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Which compiles statements and reads files: that took more than the deadline of the first turn."""
        served: list[str] = []
        serve = turn_step.Turn.serve

        def noting(turn: turn_step.Turn, channel: Channel) -> Any:
            served.append(turn.text)
            return serve(turn, channel)

        monkeypatch.setattr(turn_step.Turn, "serve", noting)
        monkeypatch.setattr(warmup, "_rehearsed", threading.Event())
        with Hippocampe.open(Config(folder, embedder="local", background=False)) as hippo:
            hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
            for _ in range(2):
                anew(hippo)
            assert len(served) == 3
            assert served[0] == "on garde le vieux four?"
            assert len(hippo.retrievals(scope=LOBBY)) == 2

    @pytest.mark.parametrize(
        ("told", "asked"),
        [
            ("Lea plays the oboe", "What does Lea play?"),
            ("Léa joue du hautbois", "Léa joue quoi ?"),
        ],
    )
    def test_a_turn_in_an_empty_memory_does_not_stand_for_one_that_finds_something(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, told: str, asked: str
    ) -> None:
        for each in ("_rehearsed", "_rehearsed_empty"):
            monkeypatch.setattr(warmup, each, threading.Event())
        with Hippocampe.open(Config(folder, embedder="local", background=False)) as hippo:
            assert hippo.before_turn(asked, scope=LOBBY).text == ""
            assert warmup._rehearsed_empty.is_set() and not warmup._rehearsed.is_set()  # pyright: ignore[reportPrivateUsage]
            hippo.remember(told, scope=LOBBY)
            assert told in hippo.before_turn(asked, scope=LOBBY).text
            assert warmup._rehearsed.is_set()  # pyright: ignore[reportPrivateUsage]

    def test_it_waits_once_and_not_for_ever(
        self, hippo: Hippocampe, slow: threading.Event, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(warmup, "LOADING_SECONDS", 0.3)
        try:
            first, second = anew(hippo), anew(hippo)
        finally:
            slow.set()
        assert first.trace.stages["loading"] >= 290
        assert second.trace.stages["loading"] < 290
        assert contents(first) == contents(second) == {"on garde le vieux four"}


class TestPaths:
    def test_each_path_says_what_it_brought(
        self, hippo: Hippocampe, clock: FakeClock, scored: Callable[[Mapping[str, float]], None]
    ) -> None:
        hippo.remember("Ana dirige la chorale", scope=LOBBY, type="identity", importance=0.2)
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        hippo.remember("la clef est sous le pot", scope=LOBBY)
        clock.advance(hours=7)
        hippo.remember("le facteur est passé", scope=LOBBY)
        scored({"la clef est sous le pot": 0.9})
        turn = hippo.before_turn("où est la clef ?", scope=PHONE)
        assert paths(turn) == {
            "la clef est sous le pot": "search",
            "Ana dirige la chorale": "identity",
            "on garde le vieux four": "important",
            "le facteur est passé": "recent",
        }
        assert set(outcomes(turn).values()) == {"injected"}
        assert contents(turn) == set(paths(turn))
        assert turn.trace.considered[0].recollection.score == 0.9
        assert turn.trace.considered[0].recollection.why
        assert {"analyse", "search", "context", "gather", "choose", "render"} <= set(
            turn.trace.stages
        )
        assert 0 < turn.tokens <= 800
        assert turn.trace.missing == ()

    def test_the_relevance_decides_what_a_search_brings(
        self, hippo: Hippocampe, scored: Callable[[Mapping[str, float]], None], clock: FakeClock
    ) -> None:
        said = [f"le four numéro {number} chauffe" for number in range(8)]
        for content in said:
            hippo.remember(content, scope=LOBBY)
        clock.advance(days=1)
        scored({content: 0.9 - number / 10 for number, content in enumerate(said)})
        turn = hippo.before_turn("quel four chauffe ?", scope=PHONE)
        assert contents(turn) == set(said[:4])
        assert outcomes(turn)[said[4]] == "too_many"
        assert outcomes(turn)[said[7]] == "below_threshold"
        hippo.update_settings(scope=LOBBY, auto_retrieve_max_results=2)
        assert contents(hippo.before_turn("quel four ?", scope=DAVID)) == set(said[:2])
        hippo.update_settings(
            scope=LOBBY, auto_retrieve_max_results=10, auto_retrieve_min_score=0.75
        )
        assert contents(hippo.before_turn("quel four ?", scope=Scope(channel="a"))) == set(said[:2])

    def test_live_talk_has_its_own_room(
        self, hippo: Hippocampe, scored: Callable[[Mapping[str, float]], None]
    ) -> None:
        said = [f"le bus {number} arrive" for number in range(9)]
        for content in said:
            hippo.observe(content, scope=DAVID)
        scored(dict.fromkeys(said, 0.8))
        hippo.update_settings(scope=LOBBY, live_limit=6, auto_retrieve_max_results=1)
        assert len(hippo.before_turn("quel bus ?", scope=PHONE).items) == 6
        hippo.update_settings(scope=LOBBY, live_limit=0)
        assert hippo.before_turn("quel bus ?", scope=Scope(channel="a")).items == ()

    def test_what_is_too_weak_an_answer_may_stand_for_itself(
        self, hippo: Hippocampe, scored: Callable[[Mapping[str, float]], None]
    ) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        scored({"on garde le vieux four": 0.1})
        (each,) = hippo.before_turn("et le four ?", scope=PHONE).trace.considered
        assert (each.path, each.outcome, each.recollection.score) == ("important", "injected", 0.1)

    def test_the_most_that_goes_in(self, hippo: Hippocampe) -> None:
        for number in range(6):
            hippo.remember(f"règle {number} du phare", scope=LOBBY, type="decision")
        hippo.update_settings(scope=LOBBY, max_injection_count=2)
        turn = hippo.before_turn("bonjour", scope=PHONE)
        assert len(turn.items) == 2
        assert sorted(outcomes(turn).values()) == ["injected"] * 2 + ["too_many"] * 4

    def test_what_has_no_relevance_has_a_limit_of_its_own(
        self, hippo: Hippocampe, scored: Callable[[Mapping[str, float]], None]
    ) -> None:
        found = [f"le four numéro {number} chauffe" for number in range(3)]
        rules = [f"règle {number} du phare" for number in range(4)]
        for content in (*found, *rules):
            hippo.remember(content, scope=LOBBY, type="decision" if content in rules else "fact")
        hippo.update_settings(scope=LOBBY, auto_retrieve_max_results=1, recent_hours=0)
        scored({content: 0.9 - place / 10 for place, content in enumerate(found)})
        hippo.update_settings(scope=LOBBY, always_on_limit=6)
        turn = hippo.before_turn("quel four ?", scope=PHONE)
        assert [each.part for each in turn.trace.considered if each.outcome == "injected"] == [
            "search",
            "always_on",
            "always_on",
        ]
        assert found[0] in contents(turn)
        hippo.update_settings(scope=LOBBY, always_on_limit=0)
        assert contents(hippo.before_turn("quel four ?", scope=Scope(channel="a"))) == {found[0]}

    def test_a_search_that_has_its_fill_does_not_cost_a_rule_its_place(
        self, hippo: Hippocampe, scored: Callable[[Mapping[str, float]], None]
    ) -> None:
        rules = [f"règle {number} du phare" for number in range(3)]
        for content in rules:
            hippo.remember(content, scope=LOBBY, type="decision")
        hippo.update_settings(scope=LOBBY, auto_retrieve_max_results=1, recent_hours=0)
        scored({content: 0.9 - place / 10 for place, content in enumerate(rules)})
        turn = hippo.before_turn("quelle règle ?", scope=PHONE)
        assert contents(turn) == set(rules)
        assert [each.part for each in turn.trace.considered] == ["search", "always_on", "always_on"]

    def test_the_most_that_is_told_of_somebody(self, hippo: Hippocampe) -> None:
        for number in range(12):
            hippo.remember(f"Owen a la manie {number}", scope=LOBBY, subjects=["owen"])
        hippo.update_settings(scope=LOBBY, recent_hours=0, auto_retrieve_max_results=1)
        asked = "que sais-tu sur Owen ?"
        hippo.update_settings(scope=LOBBY, always_on_limit=5)
        turn = hippo.before_turn(asked, scope=PHONE)
        parts = [each.part for each in turn.trace.considered if each.outcome == "injected"]
        assert parts.count("always_on") == 5
        assert parts.count("search") <= 1

    def test_what_finds_no_room_may_come_next_time(self, hippo: Hippocampe) -> None:
        long = "la règle du phare est que chacun monte à son tour par l'escalier de pierre"
        for number in range(5):
            hippo.remember(f"{long} numéro {number}", scope=LOBBY, type="decision")
        hippo.update_settings(scope=LOBBY, injection_token_budget=110)
        seen: set[str] = set()
        for _ in range(5):
            turn = hippo.before_turn("bonjour", scope=PHONE)
            assert turn.tokens <= 110
            assert seen.isdisjoint(contents(turn))
            seen |= contents(turn)
        assert len(seen) == 5

    def test_channels_are_crossed_unless_the_space_says_no(self, hippo: Hippocampe) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        hippo.remember("on vend la barque", scope=PHONE, type="decision")
        hippo.after_turn("je repeins le mur", "En bleu ?", scope=LOBBY)
        both = {"on garde le vieux four", "on vend la barque"}
        assert contents(hippo.before_turn("bonjour", scope=PHONE)) == both
        hippo.update_settings(scope=LOBBY, channel_scope=True)
        garage = Scope(user="ana", channel="garage")
        assert hippo.before_turn("on a parlé de quoi ?", scope=garage).items == ()
        hippo.update_settings(scope=LOBBY, context_window_depth=1)
        assert contents(hippo.before_turn("bonjour", scope=PHONE)) == {"on vend la barque"}

    def test_spaces_are_never_crossed(self, hippo: Hippocampe) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        hippo.after_turn("je repeins le mur", "En bleu ?", scope=LOBBY)
        other = replace(LOBBY, space="autre")
        for text in ("on a parlé de quoi ?", "que sais-tu de moi ?", "on garde le vieux four"):
            turn = hippo.before_turn(text, scope=other)
            assert (turn.items, list(turn.trace.considered)) == ((), [])

    def test_it_can_be_switched_off(self, hippo: Hippocampe) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        hippo.update_settings(scope=LOBBY, auto_retrieve_enabled=False)
        turn = hippo.before_turn("le four ?", scope=PHONE)
        assert (turn.text, turn.trace.skipped) == ("", "switched off")
        hippo.update_settings(scope=LOBBY, auto_retrieve_enabled=True)
        assert "le vieux four" in hippo.before_turn("le four ?", scope=PHONE).text

    def test_use_is_counted(self, hippo: Hippocampe) -> None:
        kept = hippo.remember("on garde le vieux four", scope=LOBBY, type="decision").memory
        hippo.before_turn("bonjour", scope=PHONE)
        hippo.before_turn("bonjour", scope=PHONE)
        hippo.flush()
        assert hippo.get(kept.id, scope=LOBBY).access_count == 1

    def test_notes_that_are_named_go_in(
        self, open_hippo: Opener, hashed: None, tmp_path: Path
    ) -> None:
        vault = tmp_path / "vault"
        vault.mkdir()
        (vault / "Jardin.md").write_text("La serre ouvre à huit heures.", encoding="utf-8")
        hippo = unhurried(open_hippo(embedder=HASHED, notes_folder=vault))
        hippo.update_settings(scope=LOBBY, obsidian_context_notes=["jardin"])
        turn = hippo.before_turn("bonjour", scope=LOBBY)
        assert "Jardin: La serre ouvre à huit heures." in turn.text
        assert paths(turn)["Jardin: La serre ouvre à huit heures."] in ("context", "search")
        assert hippo.retrievals(scope=LOBBY)[0].notes_injected == 1
        hippo.update_settings(scope=LOBBY, obsidian_context_enabled=False)
        assert hippo.before_turn("la serre ?", scope=PHONE).trace.considered[:] == ()


class TestWhatWasGiven:
    def test_nothing_is_given_twice_while_in_sight(self, hippo: Hippocampe) -> None:
        hippo.update_settings(scope=LOBBY, context_window_depth=3)
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        given = [bool(hippo.before_turn("bonjour", scope=PHONE).items) for _ in range(7)]
        assert given == [True, False, False, True, False, False, True]

    def test_whoever_comes_back_later_begins_anew(
        self, hippo: Hippocampe, clock: FakeClock
    ) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        assert hippo.before_turn("bonjour", scope=PHONE).items
        clock.advance(minutes=14)
        hippo.after_turn("bonjour", "Salut !", scope=PHONE)
        clock.advance(minutes=14)
        assert not hippo.before_turn("tu es là ?", scope=PHONE).items
        clock.advance(minutes=16)
        assert hippo.before_turn("bonjour", scope=PHONE).items

    def test_a_host_without_earlier_injections_is_given_them_again(self, hippo: Hippocampe) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        hippo.after_turn("je repeins le mur", "En bleu ?", scope=LOBBY)
        for _ in range(2):
            turn = hippo.before_turn("on a parlé de quoi ?", scope=LOBBY, keep=False)
            assert outcomes(turn) == {
                "on garde le vieux four": "injected",
                "je repeins le mur\nassistant: En bleu ?": "already_known",
            }
        assert not hippo.before_turn("on a parlé de quoi ?", scope=LOBBY).items
        hippo.update_settings(scope=LOBBY, keep_injections=False)
        assert hippo.before_turn("on a parlé de quoi ?", scope=LOBBY).items
        assert not hippo.before_turn("on a parlé de quoi ?", scope=LOBBY, keep=True).items

    def test_a_longer_window_is_obeyed_at_once(self, hippo: Hippocampe) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        hippo.update_settings(scope=LOBBY, context_window_depth=1)
        for _ in range(2):
            assert hippo.before_turn("bonjour", scope=PHONE).items
        hippo.update_settings(scope=LOBBY, context_window_depth=2)
        assert not hippo.before_turn("bonjour", scope=PHONE).items

    def test_another_person_and_another_channel_are_given_it_too(self, hippo: Hippocampe) -> None:
        hippo.update_settings(scope=LOBBY, shared_memories=True)
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        for scope in (LOBBY, DAVID, PHONE, Scope(user="dev"), Scope(user="david")):
            assert "le vieux four" in hippo.before_turn("bonjour", scope=scope).text
            again = hippo.before_turn("bonjour", scope=scope)
            assert outcomes(again) == {"on garde le vieux four": "already_known"}

    def test_what_says_the_same_is_given_once(self, hippo: Hippocampe) -> None:
        hippo.update_settings(scope=LOBBY, semantic_threshold=0.7)
        hippo.set_fact("cuisine", "on garde le vieux four", scope=LOBBY)
        hippo.set_fact("travaux", "On garde le vieux FOUR", scope=LOBBY)
        turn = hippo.before_turn("bonjour", scope=PHONE)
        assert sorted(outcomes(turn).values()) == ["injected", "too_similar"]
        # In the turns that follow too.
        again = hippo.before_turn("bonjour", scope=PHONE)
        assert sorted(outcomes(again).values()) == ["already_known", "too_similar"]
        hippo.update_settings(scope=LOBBY, max_semantic_buffer=0)
        assert len(anew(hippo).items) == 2

    def test_a_turn_just_said_does_not_come_back(self, hippo: Hippocampe) -> None:
        hippo.after_turn("je repeins le mur", "En bleu ?", scope=LOBBY)
        (each,) = hippo.before_turn("on a parlé de quoi ?", scope=LOBBY).trace.considered
        assert each.outcome == "already_known"
        assert "je repeins le mur" in hippo.before_turn("on a parlé de quoi ?", scope=PHONE).text
        hippo.update_settings(scope=LOBBY, context_window_depth=1)
        assert "je repeins le mur" in hippo.before_turn("on a parlé de quoi ?", scope=LOBBY).text

    def test_an_erased_space_starts_anew(self, hippo: Hippocampe) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        hippo.before_turn("bonjour", scope=PHONE)
        hippo.erase(whole_space=True, scope=LOBBY)
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        assert hippo.before_turn("bonjour", scope=PHONE).items

    def test_the_state_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(channel_history, "MAX_CHANNELS", 3)
        monkeypatch.setattr(channel_history, "MAX_INJECTED_IDS", 10)
        state = ChannelHistories()
        first = state.channel(Scope(channel="0"))
        for number in range(50):
            first.heard(str(number), NOW)
        assert list(first.last_heard) == [str(number) for number in range(40, 50)]
        for number in (1, 2):
            state.channel(Scope(channel=str(number)))
        assert state.channel(Scope(channel="0")) is first
        state.channel(Scope(channel="3"))
        assert state.channel(Scope(channel="0")) is first
        assert state.channel(Scope(channel="1")) is not None
        assert state.channel(Scope(channel="0")) is first

    def test_texts_are_compared_with_the_latest_only(self) -> None:
        embedder = HashedEmbedder(32)
        channel = Channel()

        def item(number: int) -> tuple[Recollection, Any]:
            content = f"le bateau {'abcdefgh'[number]} rentre"
            return Recollection(str(number), "memory", content, 1.0), embedder.embed([content])[0]

        for number in range(6):
            begin(channel)
            channel.give(*item(number), 3)
            channel.end(set())
        begin(channel)
        for number, expected in ((0, None), (2, None), (3, "too_similar"), (5, "too_similar")):
            known, vector = item(number)
            assert channel.refused(replace(known, id="new"), vector, 0.99) == expected
        other = HashedEmbedder(16).embed(["le bateau d rentre"])[0]
        channel.end(set())
        assert channel.refused(
            Recollection("x", "memory", "le bateau d rentre", 1), other, 0.9
        ) is (None)

    def test_alike_but_of_another_name_is_news(self) -> None:
        embedder = HashedEmbedder(32)
        channel = Channel()
        begin(channel)
        (vector,) = embedder.embed(["David habite à Paris"])
        channel.give(Recollection("1", "memory", "David habite à Paris", 1.0), vector, 100)
        other = Recollection("2", "memory", "Mickael habite à Paris", 1.0)
        same = Recollection("3", "memory", "david habite à paris !", 1.0)
        assert channel.refused(other, vector, 0.85) is None
        assert channel.refused(same, vector, 0.85) == "too_similar"

    def test_two_threads_of_a_channel_share_nothing_twice(self, hippo: Hippocampe) -> None:
        hippo.update_settings(scope=LOBBY, context_window_depth=1_000)
        for number in range(6):
            hippo.remember(f"règle {number} du phare", scope=LOBBY, type="decision")

        def talk(thread: int) -> list[str]:
            seen: list[str] = []
            for number in range(15):
                turn = hippo.before_turn(f"la règle {number} ?", scope=LOBBY)
                seen += [item.id for item in turn.items]
                hippo.after_turn(f"message {thread} {number}", "oui", scope=LOBBY)
            return seen

        with ThreadPoolExecutor(2) as pool:
            seen = [id for ids in pool.map(talk, range(2)) for id in ids]
        assert len(seen) == len(set(seen)) >= 6
        assert hippo.stats(scope=LOBBY).outages == {}


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="hippocampe")
    return caplog


def lines(logged: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(each.levelname, each.getMessage().split(",")[0]) for each in logged.records]


class Broken(HashedEmbedder):
    """An embedder with a fault that a test chooses."""

    def __init__(self) -> None:
        super().__init__(64)
        self.fault: Callable[[], None] = lambda: None

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.fault()
        return super().embed(texts)


@pytest.fixture
def broken(hippo: Hippocampe) -> Broken:
    hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
    parts_of(hippo).corpus.vocabulary.embedder = embedder = Broken()
    return embedder


def anew(hippo: Hippocampe) -> Injection:
    """A turn in a channel of its own, so that nothing is known there."""
    return hippo.before_turn("le four ?", scope=Scope(channel=str(time.monotonic())))


class TestFaults:
    @pytest.fixture(autouse=True)
    def short_deadline(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Here deadlines are short, but not so short that a busy machine misses them."""

        def defaults(config: Config) -> Settings:
            return replace(DEFAULTS(config), hook_timeout_ms=1_000)

        monkeypatch.setattr("hippocampe.engine.settings.defaults", defaults)

    def test_an_index_that_is_down(
        self,
        hippo: Hippocampe,
        monkeypatch: pytest.MonkeyPatch,
        logged: pytest.LogCaptureFixture,
    ) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")

        def down(*_: object, **__: object) -> None:
            raise IndexUnavailable("no such shard")

        with monkeypatch.context() as broken:
            broken.setattr(type(parts_of(hippo).corpus.index), "nearest", down)
            for _ in range(3):
                turn = anew(hippo)
                assert contents(turn) == {"on garde le vieux four"}
                assert turn.trace.missing == ("index down",)
        assert anew(hippo).trace.missing == ()
        assert lines(logged) == [("WARNING", "index failed"), ("INFO", "index works again")]
        assert hippo.stats(scope=LOBBY).outages == {"index": 1}
        assert hippo.retrievals(scope=LOBBY)[1].missing == ("index down",)

    def test_an_embedder_that_is_down(
        self, hippo: Hippocampe, broken: Broken, logged: pytest.LogCaptureFixture
    ) -> None:
        def down() -> None:
            raise EmbedderUnavailable("refused")

        broken.fault = down
        for _ in range(3):
            turn = anew(hippo)
            assert contents(turn) == {"on garde le vieux four"}
            assert turn.trace.missing == ("embedder down",)
            # Words still find it, and say so.
            assert turn.trace.considered[0].recollection.score > 0
        broken.fault = lambda: None
        assert anew(hippo).trace.missing == ()
        assert lines(logged) == [("WARNING", "embedder failed"), ("INFO", "embedder works again")]
        assert hippo.stats(scope=LOBBY).outages == {"embedder": 1}

    def test_an_embedder_that_is_late(
        self, hippo: Hippocampe, broken: Broken, logged: pytest.LogCaptureFixture
    ) -> None:
        read_at_once(hippo)
        hippo.update_settings(scope=LOBBY, hook_timeout_ms=400)
        release = threading.Event()
        broken.fault = lambda: release.wait(30) and None  # pyright: ignore[reportAttributeAccessIssue]
        try:
            # More than the threads that search, which all hang.
            for _ in range(10):
                turn = anew(hippo)
                assert contents(turn) == {"on garde le vieux four"}
                assert turn.trace.missing == ("search late",)
                assert turn.took_ms < 5_000
        finally:
            release.set()
        hippo.update_settings(scope=LOBBY, hook_timeout_ms=10_000)
        end = time.monotonic() + 30
        while anew(hippo).trace.missing and time.monotonic() < end:
            time.sleep(0.05)
        assert lines(logged) == [("WARNING", "search failed"), ("INFO", "search works again")]
        assert hippo.stats(scope=LOBBY).outages == {"search": 1}

    def test_a_search_that_outlives_its_index_says_nothing(
        self, hippo: Hippocampe, broken: Broken, logged: pytest.LogCaptureFixture
    ) -> None:
        read_at_once(hippo)
        hippo.update_settings(scope=LOBBY, hook_timeout_ms=400)
        release = threading.Event()
        broken.fault = lambda: release.wait(30) and None  # pyright: ignore[reportAttributeAccessIssue]
        try:
            assert anew(hippo).trace.missing == ("search late",)
            hippo.close()
        finally:
            release.set()
        turns_of(hippo).search_pool.shutdown(wait=True)
        assert lines(logged) == []

    def test_too_many_turns_are_refused_and_no_part_is_down(
        self, hippo: Hippocampe, broken: Broken, logged: pytest.LogCaptureFixture
    ) -> None:
        turns = turns_of(hippo).admission
        for _ in range(turns.limit):
            assert turns.enter(deadline=0.0) is not None
        hippo.update_settings(scope=LOBBY, hook_timeout_ms=30)
        for _ in range(3):
            turn = anew(hippo)
            assert (turn.text, turn.items, turn.trace.skipped) == ("", (), "overloaded")
        assert lines(logged) == [("WARNING", "overload: too many turns at once")]
        assert hippo.stats(scope=LOBBY).outages == {"overload": 1}

    def test_a_turn_waits_for_its_place(self, hippo: Hippocampe, broken: Broken) -> None:
        turns = turns_of(hippo).admission
        held = [turns.enter(deadline=0.0) for _ in range(turns.limit)]
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(anew, hippo)
            while not turns._waiting:  # pyright: ignore[reportPrivateUsage]
                time.sleep(0.001)
            assert held[0] is not None
            turns.leave(held[0])
            turn = waiting.result()
        assert contents(turn) == {"on garde le vieux four"}
        assert turn.trace.stages["queue"] > 0

    def test_a_search_that_is_left_behind_stops(
        self, hippo: Hippocampe, broken: Broken, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read_at_once(hippo)
        hippo.update_settings(scope=LOBBY, hook_timeout_ms=50)
        release = threading.Event()
        broken.fault = lambda: release.wait(30) and None  # pyright: ignore[reportAttributeAccessIssue]
        gathered: list[object] = []
        monkeypatch.setattr(candidates, "search", lambda *_: gathered.append(1))
        assert anew(hippo).trace.missing == ("search late",)
        release.set()
        turns_of(hippo).search_pool.shutdown(wait=True)
        assert gathered == []

    def test_a_database_that_another_process_writes_to(
        self, hippo: Hippocampe, folder: Path
    ) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        other = sqlite3.connect(folder / "hippocampe.db", isolation_level=None)
        try:
            other.execute("BEGIN EXCLUSIVE")
            turn = anew(hippo)
        finally:
            other.close()
        assert contents(turn) == {"on garde le vieux four"}
        assert turn.trace.missing == ()

    def test_a_store_that_cannot_be_read(
        self,
        hippo: Hippocampe,
        monkeypatch: pytest.MonkeyPatch,
        logged: pytest.LogCaptureFixture,
    ) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        anew(hippo)
        store = parts_of(hippo).corpus.store

        @contextmanager
        def locked() -> Iterator[None]:
            raise StoreBusy("locked")
            yield

        with monkeypatch.context() as broken:
            broken.setattr(type(store), "read", lambda _: locked())
            parts_of(hippo).corpus.settings.clear()
            # What stood a moment ago would still be served.
            assert contents(anew(hippo)) == {"on garde le vieux four"}
            parts_of(hippo).corpus.store.memory_changes += 1
            parts_of(hippo).corpus.settings.clear()
            for _ in range(2):
                turn = anew(hippo)
                assert turn.text == ""
                assert turn.trace.missing == ("settings down", "search down", "context down")
        assert contents(anew(hippo)) == {"on garde le vieux four"}
        # All of them read the store.
        assert lines(logged) == [("WARNING", "settings failed"), ("INFO", "settings works again")]
        outages = dict.fromkeys(("settings", "search", "context"), 1)
        assert hippo.stats(scope=LOBBY).outages == outages

    def test_a_store_that_does_not_answer(
        self, hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hippo.update_settings(scope=LOBBY, hook_timeout_ms=150)
        # Load the word counts of the space.
        hippo.recall("four", scope=LOBBY)
        store, release = parts_of(hippo).corpus.store, threading.Event()
        read = type(store).read

        def slow(self: Any, **named: Any) -> Any:
            release.wait(30)
            return read(self, **named)

        try:
            with monkeypatch.context() as broken:
                broken.setattr(type(store), "read", slow)
                turn = anew(hippo)
                parts_of(hippo).corpus.settings.clear()
                first = anew(hippo)
        finally:
            release.set()
        assert turn.trace.missing == ("search late", "context late")
        assert first.trace.missing == ("settings late", "search late", "context late")
        assert max(turn.took_ms, first.took_ms) < 5_000

    def test_one_path_that_breaks_leaves_the_other(
        self,
        hippo: Hippocampe,
        monkeypatch: pytest.MonkeyPatch,
        logged: pytest.LogCaptureFixture,
    ) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")

        def fails(*_: object) -> None:
            raise ZeroDivisionError("secret")

        monkeypatch.setattr(recall, "find", fails)
        turn = anew(hippo)
        assert contents(turn) == {"on garde le vieux four"}
        assert turn.trace.missing == ("search down",)
        assert "secret" not in logged.records[0].getMessage()

    def test_a_fault_that_nobody_thought_of(
        self,
        hippo: Hippocampe,
        monkeypatch: pytest.MonkeyPatch,
        logged: pytest.LogCaptureFixture,
    ) -> None:
        hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
        with monkeypatch.context() as broken:
            broken.setattr(turn_step, "render_for", None)
            for _ in range(2):
                turn = hippo.before_turn("le four ?", scope=PHONE)
                assert (turn.text, turn.trace.skipped) == ("", "failed")
        # Nothing was given by a turn that failed.
        assert contents(hippo.before_turn("le four ?", scope=PHONE)) == {"on garde le vieux four"}
        assert lines(logged) == [
            ("WARNING", "before_turn failed"),
            ("INFO", "before_turn works again"),
        ]

    def test_notes_that_are_down(
        self,
        open_hippo: Opener,
        hashed: None,
        tmp_path: Path,
        logged: pytest.LogCaptureFixture,
    ) -> None:
        vault = tmp_path / "vault"
        vault.mkdir()
        (vault / "Jardin.md").write_text("La serre ouvre à huit heures. #hippocampe")
        hippo = unhurried(open_hippo(embedder=HASHED, notes_folder=vault))
        vault.rename(tmp_path / "away")
        kept = hippo._note_sync  # pyright: ignore[reportPrivateUsage]
        assert isinstance(kept, sync.NoteSync)
        with pytest.raises(NotesUnavailable):
            hippo.notes(scope=LOBBY, refresh=True)
        outages = parts_of(hippo).corpus.outages
        for _ in range(2):
            outages.attempt("notes", lambda: kept.refresh(hippo._context.writer))
            turn = anew(hippo)
            # What was read last goes on serving.
            assert "La serre ouvre" in turn.text
            assert turn.trace.missing == ("notes down",)
        (tmp_path / "away").rename(vault)
        outages.attempt("notes", lambda: kept.refresh(hippo._context.writer))
        assert anew(hippo).trace.missing == ()
        assert lines(logged) == [("WARNING", "notes failed"), ("INFO", "notes works again")]


class TestAfterwards:
    """`after_turn` stores at once and indexes behind."""

    @pytest.fixture
    def behind(self, open_hippo: Opener, hashed: None) -> Hippocampe:
        return open_hippo(embedder=HASHED, background=True, flush_seconds=3_600)

    def test_it_does_not_wait_for_the_embedder(self, behind: Hippocampe) -> None:
        behind.flush()
        parts_of(behind).corpus.vocabulary.embedder = embedder = Broken()
        release, asked = threading.Event(), threading.Event()

        def hang() -> None:
            asked.set()
            release.wait(30)

        embedder.fault = hang
        try:
            id = behind.after_turn("je repeins le mur", "En bleu ?", scope=LOBBY)
            seen = behind.observe("le bus arrive", scope=DAVID)
            assert asked.wait(30)
            assert len(behind.messages(scope=LOBBY)) == 3
            assert behind.stats(scope=LOBBY).indexed["turn"] == 0
        finally:
            release.set()
        behind.flush()
        found = behind.recall("repeins le mur", scope=PHONE, collections=["turn"], mode="text")
        assert [item.id for item in found] == [id]
        live = behind.recall("le bus", scope=PHONE, collections=["live"], mode="text")
        assert [item.id for item in live] == [seen.id]
        assert behind.verify().ok

    def test_what_was_stored_is_found_however_slow_the_embedder(self, behind: Hippocampe) -> None:
        behind.flush()
        parts_of(behind).corpus.vocabulary.embedder = embedder = Broken()
        embedder.fault = lambda: time.sleep(1.2)
        id = behind.after_turn("je repeins le mur", "En bleu ?", scope=LOBBY)
        found = behind.recall("repeins le mur", scope=PHONE, collections=["turn"], mode="text")
        assert [item.id for item in found] == [id]

    def test_a_recall_waits_for_nothing_that_is_stored_later(self, behind: Hippocampe) -> None:
        behind.flush()
        parts_of(behind).corpus.vocabulary.embedder = embedder = Broken()
        embedder.fault = lambda: time.sleep(0.05)
        stop = threading.Event()

        def talk() -> None:
            while not stop.is_set():
                behind.after_turn("le bateau rentre", "Bien.", scope=LOBBY)

        with ThreadPoolExecutor(1) as pool:
            talking = pool.submit(talk)
            try:
                for _ in range(5):
                    behind.recall("le bateau", scope=PHONE, collections=["turn"], mode="text")
            finally:
                stop.set()
            talking.result()

    def test_a_recall_does_not_wait_for_an_embedder_that_is_down(self, behind: Hippocampe) -> None:
        behind.flush()
        parts_of(behind).corpus.vocabulary.embedder = embedder = Broken()
        release = threading.Event()

        def down() -> None:
            release.wait(30)
            raise EmbedderUnavailable("refused")

        embedder.fault = down
        behind.after_turn("je repeins le mur", "En bleu ?", scope=LOBBY)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(
                behind.recall, "le mur", scope=PHONE, collections=["turn"], mode="text"
            )
            release.set()
            assert asked.result() == []
        assert behind.recall("le mur", scope=PHONE, collections=["turn"], mode="text") == []
        assert behind.stats(scope=LOBBY).outages["embedder"] >= 1

    def test_an_embedder_that_is_down_loses_nothing(
        self, behind: Hippocampe, logged: pytest.LogCaptureFixture
    ) -> None:
        behind.flush()
        parts_of(behind).corpus.vocabulary.embedder = embedder = Broken()

        def down() -> None:
            raise EmbedderUnavailable("refused")

        embedder.fault = down
        for number in range(3):
            behind.after_turn(f"le bateau {number} rentre", "Bien.", scope=LOBBY)
        behind.flush()
        assert behind.stats(scope=LOBBY).turns == 3
        assert behind.stats(scope=LOBBY).indexed["turn"] == 0
        assert behind.verify().ok
        embedder.fault = lambda: None
        behind.after_turn("le bateau 3 rentre", "Bien.", scope=LOBBY)
        behind.flush()
        assert behind.stats(scope=LOBBY).indexed["turn"] == 4
        assert lines(logged) == [("WARNING", "embedder failed"), ("INFO", "embedder works again")]

    def test_a_killed_process_loses_nothing(
        self, folder: Path, open_hippo: Opener, hashed: None
    ) -> None:
        script = """
import threading
hippo = Hippocampe.open(Config(folder=folder, embedder="hashed:64"))
hippo.flush()
hippo._context.corpus.vocabulary.embedder.embed = lambda texts: threading.Event().wait()
for number in range(3):
    print(hippo.after_turn(f"le bateau {number} rentre", "Bien.", scope=scope), flush=True)
threading.Event().wait()
"""
        with child(script, folder) as process:
            assert process.stdout is not None
            ids = {process.stdout.readline().strip() for _ in range(3)}
            process.kill()
        hippo = open_hippo(embedder=HASHED)
        found = hippo.recall("bateau rentre", scope=LOBBY, collections=["turn"], mode="text")
        assert {item.id for item in found} == ids
        assert hippo.verify().ok


def test_a_change_of_embedder_is_not_noticed(
    hippo: Hippocampe, logged: pytest.LogCaptureFixture
) -> None:
    hippo.update_settings(scope=LOBBY, context_window_depth=1)
    hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
    stop = threading.Event()

    def talk() -> list[Injection]:
        turns: list[Injection] = []
        while not stop.is_set():
            turns.append(hippo.before_turn("le four ?", scope=PHONE))
        return turns

    with ThreadPoolExecutor(1) as pool:
        talking = pool.submit(talk)
        try:
            hippo.reindex(embedder="hashed:32")
        finally:
            stop.set()
        turns = talking.result()
    assert all(contents(turn) == {"on garde le vieux four"} for turn in turns)
    assert all(turn.trace.missing == () for turn in turns)
    assert lines(logged) == []


def test_the_log_explains_each_turn(hippo: Hippocampe) -> None:
    hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
    hippo.after_turn("je repeins le mur", "En bleu ?", scope=LOBBY)
    made = hippo.before_turn("on a parlé du mur ?", scope=PHONE)
    (logged,) = hippo.retrievals(scope=LOBBY)
    assert (logged.id, logged.channel) == (made.id, "whatsapp")
    assert (logged.tokens_added, logged.took_ms) == (made.tokens, made.took_ms)
    assert logged.stages == dict(made.trace.stages)
    assert [(item.id, item.path, item.outcome, item.score) for item in logged.items] == [
        (
            each.recollection.id,
            each.path,
            each.outcome,
            each.recollection.score,
        )
        for each in made.trace.considered
    ]
    assert any(item.signals for item in logged.items)


def test_the_awaited_door_serves_turns(folder: Path, hashed: None) -> None:
    async def talk() -> str:
        config = Config(folder, embedder=HASHED)
        async with await AsyncHippocampe.open(config) as hippo:
            await hippo.flush()
            await hippo.update_settings(scope=LOBBY, hook_timeout_ms=10_000)
            await hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
            turn = await hippo.before_turn("bonjour", scope=PHONE)
            await hippo.after_turn("bonjour", "Salut !", scope=PHONE)
            return turn.text

    assert "on garde le vieux four" in asyncio.run(talk())


def test_hundreds_of_turns(hippo: Hippocampe, clock: FakeClock) -> None:
    """Three channels: nothing twice in the window, a small state, and each setting obeyed at once."""
    chance = random.Random(11)
    hippo.update_settings(scope=LOBBY, session_timeout_minutes=1_440)
    things = ["four", "phare", "bateau", "mur", "jardin", "vélo", "toit", "quai", "piano", "puits"]
    people = ["Ana", "David", "Zoé", "Owen", "Inès"]
    for thing in things:
        for person in people:
            hippo.remember(f"{person} répare le {thing}", scope=LOBBY, importance=chance.random())
    scopes = [LOBBY, PHONE, Scope(user="ana", channel="garage")]
    last: dict[tuple[str | None, str], int] = {}
    turns: defaultdict[str | None, int] = defaultdict(int)
    depth, most, budget, on = 20, 20, 800, True
    for number in range(200):
        clock.advance(seconds=50)
        scope = chance.choice(scopes)
        if number % 25 == 24:
            depth, most = chance.choice((2, 5, 20)), chance.choice((1, 5, 20))
            budget, on = chance.choice((100, 300, 800)), chance.random() < 0.9
            hippo.update_settings(
                scope=LOBBY,
                context_window_depth=depth,
                max_injection_count=most,
                injection_token_budget=budget,
                auto_retrieve_enabled=on,
            )
        text = f"{chance.choice(people)} et le {chance.choice(things)} ?"
        if number % 40 == 0:
            text = chance.choice(("on a parlé de quoi ?", "que sais-tu de moi ?"))
        turn = hippo.before_turn(text, scope=scope)
        assert len(turn.items) <= most
        assert turn.tokens <= budget
        assert (turn.trace.skipped is None) == on
        if not on:
            assert turn.items == ()
            continue
        now = turns[scope.channel] = turns[scope.channel] + 1
        for item in turn.items:
            before = last.get((scope.channel, item.id))
            assert before is None or now - before >= depth, (number, item.content)
            last[scope.channel, item.id] = now
        if number % 5 == 0:
            id = hippo.after_turn(text, f"Oui, {number}.", scope=scope)
            last[scope.channel, id] = now
    assert len(last) > 100
    state = turns_of(hippo).channels
    for scope in scopes:
        channel = state.channel(scope)
        assert len(channel.last_injected) <= 20 * 21
        kept = [*channel._before, *channel._now]  # pyright: ignore[reportPrivateUsage]
        assert len(kept) <= 100
        assert all(said.vector.base is None for said in kept)
    assert hippo.stats(scope=LOBBY).outages == {}


class TestLive:
    def test_the_ten_best_of_a_busy_day_come_and_the_noise_does_not(
        self, meaning: Hippocampe
    ) -> None:
        said = (
            "je pars en Grèce demain",
            "ok",
            "lol",
            "quelqu'un a vu mes clés ?",
            "j'ai mal au dos depuis ce matin",
            "le serveur de prod est tombé à 10h",
            "je l'ai relancé, ça remarche",
            "mdr",
            "bonne nuit",
        )
        for content in said:
            meaning.observe(content, scope=DAVID)
        for message, expected in (
            ("David part quand en Grèce ?", {"je pars en Grèce demain"}),
            ("qui a mal au dos ?", {"j'ai mal au dos depuis ce matin"}),
            ("il s'est passé quoi avec la prod ?", {"le serveur de prod est tombé à 10h"}),
            ("quelle est la capitale du Pérou ?", set[str]()),
            ("raconte-moi une blague", set[str]()),
        ):
            scope = Scope(user="dev", channel=f"chat {message}"[:100])
            given = {each.content for each in meaning.before_turn(message, scope=scope).items}
            assert given == expected, message


def test_a_model_that_lost_its_context_is_given_everything_again(hippo: Hippocampe) -> None:
    hippo.remember("on garde le vieux four", scope=LOBBY, type="decision")
    first = hippo.before_turn("et le four ?", scope=LOBBY)
    assert first.items
    assert hippo.before_turn("et le four ?", scope=LOBBY).text == ""
    assert hippo.before_turn("et le four ?", scope=PHONE, fresh=True).text
    assert hippo.before_turn("et le four ?", scope=LOBBY).text == ""
    again = hippo.before_turn("et le four ?", scope=LOBBY, fresh=True)
    assert [each.id for each in again.items] == [each.id for each in first.items]
    awaited = AsyncHippocampe(hippo).before_turn("et le four ?", scope=LOBBY, fresh=True)
    assert asyncio.run(awaited).items
