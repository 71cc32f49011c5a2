"""A week of two busy rooms: 5 people, 500 messages, digests at the fixed hours, restarts, a day without
the model and a kill; at the end the memory is checked statement by statement."""

import random
import re
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from children import child
from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.types import Memory
from model_server import Answer, Call, ModelRequest, ModelServer

PARIS = ZoneInfo("Europe/Paris")
MONDAY = datetime(2026, 1, 12, tzinfo=PARIS)
HOURS = (2, 6, 10, 14, 18, 22)
PEOPLE = ("ana", "bob", "chloe", "david", "emma")
ROOMS = ("lobby", "garden")
MESSAGES = 500
OUTAGE_DAY, KILL_AT, RESTART_HOUR = 3, timedelta(days=4, hours=14), 10
HERE = Scope()
OPTIONS = {"embedder": "hashed:64", "model": "openai-chat:test", "model_timeout": 5.0}


@dataclass(frozen=True)
class Fact:
    """What somebody says in the week, what is to be remembered of it, and what becomes of that.

    `at` is a day and an hour; `corrects` begins the known memory that it names as replaced.
    """

    at: tuple[int, int]
    by: str
    said: str
    statement: str
    ttl: str | None = None
    type: str = "fact"
    corrects: str | None = None
    end: str = "current"


FACTS = (
    # Durable facts, some said twice.
    Fact((0, 9), "ana", "ça y est, j'ai un chien, Gribouille !", "Ana a un chien nommé Gribouille"),
    Fact((2, 11), "ana", "Gribouille a mangé ma chaussure", "Ana a un chien nommé Gribouille"),
    Fact((0, 12), "bob", "mon frère Hugo est luthier", "Le frère de Bob, Hugo, est luthier"),
    Fact((1, 8), "emma", "I'm allergic to hazelnuts btw", "Emma is allergic to hazelnuts"),
    Fact((3, 20), "emma", "no hazelnuts for me, remember", "Emma is allergic to hazelnuts"),
    Fact((1, 15), "chloe", "je joue de la harpe depuis dix ans", "Chloe joue de la harpe"),
    Fact((3, 9), "david", "my daughter Iris is six today", "David has a daughter called Iris"),
    Fact((3, 16), "chloe", "ma soeur Judith ouvre une librairie", "La soeur de Chloe, Judith, ouvre une librairie"),
    Fact((4, 13), "bob", "je préfère le thé fumé", "Bob préfère le thé fumé", type="preference"),
    Fact((5, 10), "david", "we decided to paint the fence green", "David decided to paint the fence green", type="decision"),
    Fact((6, 21), "emma", "my car is an old blue Saab", "Emma has an old blue Saab"),
    # Corrections that the rules see.
    Fact((0, 10), "bob", "je vis à Lyon depuis peu", "Bob habite à Lyon", end="superseded"),
    Fact((2, 19), "bob", "je déménage à Brest !", "Bob habite à Brest", end="superseded"),
    Fact((5, 17), "bob", "finalement je suis à Nantes", "Bob habite à Nantes"),
    Fact((1, 18), "emma", "Leeds is home now", "Emma lives in Leeds", end="superseded"),
    Fact((4, 19), "emma", "packed up, York is home", "Emma lives in York"),
    Fact((1, 10), "david", "je bosse chez Airbus", "David travaille chez Airbus", end="superseded"),
    Fact((6, 9), "david", "nouveau boulot, chez Thales", "David travaille chez Thales"),
    # Corrections that only the model sees.
    Fact((2, 9), "ana", "la fête, ce sera samedi", "La fête des voisins a lieu le 17 janvier", type="event", end="superseded"),
    Fact((3, 13), "ana", "la fête est décalée d'un jour", "La fête des voisins a lieu le 18 janvier", type="event", corrects="La fête"),
    # Temporary states.
    Fact((0, 15), "bob", "je suis enrhumé", "Bob est enrhumé", ttl="2d", type="observation", end="expired"),
    Fact((1, 20), "chloe", "I'm on a train until tomorrow", "Chloe is on a train", ttl="1d", type="observation", end="expired"),
    Fact((3, 7), "david", "my back hurts today", "David's back hurts", ttl="12h", type="observation", end="never"),
    Fact((2, 8), "ana", "je pars en Grèce dix jours", "Ana est en Grèce", ttl="10d", type="observation"),
    Fact((5, 12), "emma", "exams all week, so tired", "Emma has exams", ttl="7d", type="observation"),
)  # fmt: skip
TOLD = {fact.said: fact for fact in FACTS}

CHATTER = (
    "ok {}", "lol {}", "mdr {}", "quelqu'un a vu le match {} ?", "il pleut encore, {} fois",
    "haha number {}", "who wants coffee {}?", "nice one {}", "regardez https://photos.example/{}",
    "on mange quoi ce soir ? {}", "same here {}", "pas faux {}", "what a day, take {}", "bonne nuit {}",
)  # fmt: skip


@dataclass(frozen=True)
class Said:
    at: datetime
    by: str
    room: str
    text: str


def the_week() -> list[Said]:
    chance = random.Random(12)
    said = [
        Said(MONDAY + timedelta(days=f.at[0], hours=f.at[1]), f.by, ROOMS[n % 2], f.said)
        for n, f in enumerate(FACTS)
    ]
    for number in range(MESSAGES - len(FACTS)):
        at = MONDAY + timedelta(seconds=chance.uniform(0, 7 * 86_400))
        text = chance.choice(CHATTER).format(number)
        said.append(Said(at, chance.choice(PEOPLE), chance.choice(ROOMS), text))
    return sorted(said, key=lambda each: each.at)


def digests() -> Iterator[datetime]:
    for day in range(7):
        yield from (MONDAY + timedelta(days=day, hours=hour) for hour in HOURS)
    yield MONDAY + timedelta(days=7, hours=2)


def section(request: ModelRequest, tag: str) -> list[tuple[str, str]]:
    """The lines of a tag: short id and text."""
    found = re.search(rf"<{tag}>\n(.*?)\n?</{tag}>", request.asked, re.S)
    assert found
    lines = (re.fullmatch(r"\[(\w+)\] (.*)", line) for line in found[1].splitlines())
    return [(line[1], line[2]) for line in lines if line]


@dataclass
class Brain:
    """Extracts the planted facts from what it is shown, and nothing else."""

    down: bool = False
    dying: threading.Event | None = None
    """Set at the second request; its answer is then never read."""
    gone: threading.Event = field(default_factory=threading.Event)
    asked: int = 0
    shown: Counter[str] = field(default_factory=Counter[str])
    """How often each message was in a request whose answer was read."""

    def __call__(self, request: ModelRequest) -> Answer:
        if self.down:
            return Answer("overloaded", status=503, retry_after=0.01)
        messages = [
            (id, re.split(r"\d\d:\d\d: ", line, maxsplit=1)[1])
            for id, line in section(request, "messages")
        ]
        self.asked += 1
        if self.dying is not None and self.asked == 2:
            self.dying.set()
            self.gone.wait(20)
        else:
            self.shown.update(text for _, text in messages)
        known = section(request, "known")
        facts = [(id, TOLD[text]) for id, text in messages if text in TOLD]
        stated = [self._statement(id, fact, known) for id, fact in facts]
        return Answer(calls=(Call("answer", {"statements": stated}),))

    def _statement(self, id: str, fact: Fact, known: list[tuple[str, str]]) -> dict[str, Any]:
        old = [id for id, text in known if fact.corrects and text.startswith(fact.corrects)]
        return {
            "content": fact.statement,
            "type": fact.type,
            "ttl": fact.ttl,
            "evidence": [id],
            "replaces": old,
        }


DYING = """
from datetime import datetime
hippo = Hippocampe.open(
    Config(folder=folder, embedder="hashed:64", model="openai-chat:test", background=False),
    clock=lambda: datetime.fromisoformat(sys.argv[2]),
)
hippo.run_jobs(scope=scope)
"""


def killed_in_the_middle(brain: Brain, folder: Path, now: datetime) -> None:
    brain.asked, brain.dying = 0, threading.Event()
    with child(DYING, folder, now.isoformat()) as process:
        assert brain.dying.wait(60)
        process.kill()
        process.wait()
    brain.gone.set()
    brain.dying = None


def live(hippo: Hippocampe) -> int:
    return hippo.stats(scope=HERE).live


@pytest.mark.usefixtures("hashed")
def test_a_week_of_a_busy_room(
    server: ModelServer, folder: Path, open_hippo: Opener, clock: FakeClock
) -> None:
    server.brain = brain = Brain()
    clock.now = MONDAY

    def opened() -> Hippocampe:
        hippo = open_hippo(**OPTIONS)
        # Talk is embedded in batches, as in a host; jobs only run when told.
        hippo._context.corpus.config = replace(hippo._context.corpus.config, background=True)
        return hippo

    hippo = opened()
    hippo.update_settings(scope=HERE, live_rooms=ROOMS)
    ids: dict[str, str] = {}
    said, digested, failed = the_week(), 0, 0
    for at in digests():
        while said and said[0].at < at:
            each = said.pop(0)
            clock.now = each.at
            where = Scope(user=each.by, channel=each.room)
            kept = hippo.observe(each.text, scope=where)
            assert kept is not None
            ids[kept.id] = each.text
            if len(ids) % 100 == 0:
                assert hippo.observe(f"eko, {each.text}", scope=where) is None
        clock.now = at
        before = live(hippo)
        if at - MONDAY == KILL_AT:
            hippo.close()
            killed_in_the_middle(brain, folder, at)
            hippo = opened()
            assert 0 < live(hippo) < before
        brain.down = (at - MONDAY).days == OUTAGE_DAY
        runs = [run for run in hippo.run_jobs(scope=HERE) if run.job == "digest"]
        assert [run.state for run in runs] == ["failed" if brain.down else "done"]
        failed += brain.down
        digested += before - live(hippo)
        assert (live(hippo) == 0) == (not brain.down)
        if at.hour == RESTART_HOUR:
            hippo.close()
            hippo = opened()
    assert (said, failed, digested) == ([], 6, MESSAGES)
    assert server.errors == []
    # Each message was read once; those of parts that hold only small talk, not at all.
    assert set(brain.shown.values()) == {1}
    assert brain.shown.keys() <= set(ids.values())
    assert brain.shown.keys() >= TOLD.keys()
    check(hippo, ids)


def check(hippo: Hippocampe, ids: dict[str, str]) -> None:
    """Compare the memory with the plan, statement by statement."""
    by_state = {
        state: hippo.memories(scope=HERE, state=state, limit=1_000).items
        for state in ("current", "superseded", "forgotten")
    }
    stored: dict[str, Memory] = {}
    for state, memories in by_state.items():
        for memory in memories:
            assert memory.content not in stored, f"{memory.content!r} is there twice"
            stored[memory.content] = memory
            ends = {fact.end for fact in FACTS if fact.statement == memory.content}
            assert ends == {"expired" if state == "forgotten" else state}, memory.content
    assert stored.keys() == {fact.statement for fact in FACTS if fact.end != "never"}
    for content, memory in stored.items():
        facts = [fact for fact in FACTS if fact.statement == content]
        assert [ids[id] for id in memory.evidence] == [fact.said for fact in facts]
        assert (memory.user, memory.type, memory.source) == (facts[0].by, facts[0].type, "digest")
        assert (memory.expires_at is None) == (facts[0].ttl is None)
        said_at = MONDAY + timedelta(days=facts[0].at[0], hours=facts[0].at[1])
        assert memory.occurred_at is not None
        assert abs(memory.occurred_at - said_at) < timedelta(seconds=1)
    homes = {memory.content for memory in by_state["current"] if "habite" in memory.content}
    assert homes == {"Bob habite à Nantes"}
    moved = hippo.history(stored["Bob habite à Nantes"].id, scope=HERE).versions
    assert [each.content.split()[-1] for each in moved] == ["Lyon", "Brest", "Nantes"]
    found = hippo.recall("Bob est enrhumé", scope=HERE, limit=100)
    assert "Bob est enrhumé" not in {item.content for item in found}
    assert hippo.verify().ok
