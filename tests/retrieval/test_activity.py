"""What happened in a space by day, and its memories as a graph."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.types import Day, GraphEdge

HERE = Scope(user="dev", channel="lobby")
AWAY = Scope(space="away", user="dev", channel="lobby")


@pytest.fixture
def hippo(hashed: None, open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:32")


def filled(days: list[Day]) -> dict[date, Day]:
    return {day.date: day for day in days if day != Day(day.date)}


class TestActivity:
    def test_every_day_has_a_row_in_the_timezone_of_the_space(
        self, hippo: Hippocampe, clock: FakeClock
    ) -> None:
        hippo.update_settings(scope=HERE, timezone="Pacific/Auckland")
        clock.now = datetime(2026, 1, 17, 10, 59, tzinfo=UTC)  # 23:59 on the 17th
        hippo.remember("Zoé joue du tuba", scope=HERE)
        clock.advance(minutes=2)
        hippo.remember("Je parle anglais", scope=HERE, collection="self", category="capability")
        hippo.remember("Owen a un voilier", scope=AWAY)
        hippo.after_turn("Bonjour", "Salut", scope=HERE)
        days = hippo.activity(scope=HERE, days=4)
        assert [day.date for day in days] == [date(2026, 1, day) for day in (15, 16, 17, 18)]
        assert [(day.memories, day.messages) for day in days] == [(0, 0), (0, 0), (1, 0), (1, 2)]
        assert [dict(day.categories) for day in days] == [{}, {}, {}, {"self/capability": 1}]

    def test_turns_are_counted_with_what_they_were_given(
        self, hippo: Hippocampe, clock: FakeClock
    ) -> None:
        hippo.update_settings(scope=HERE, hook_timeout_ms=10_000)
        hippo.remember("On garde PostgreSQL", scope=HERE, type="decision")
        given = hippo.before_turn("on garde quoi ?", scope=HERE)
        hippo.before_turn("consigne", scope=HERE, role="system")
        again = hippo.before_turn("on garde quoi ?", scope=HERE)
        assert given.tokens and not again.tokens
        (today,) = hippo.activity(scope=HERE, days=1)
        assert (today.injections, today.tokens) == (1, given.tokens)
        assert today.took_ms_p50 == min(given.took_ms, again.took_ms)
        assert today.took_ms_p95 == max(given.took_ms, again.took_ms)

    def test_a_day_of_twenty_three_hours(self, hippo: Hippocampe, clock: FakeClock) -> None:
        clock.now = datetime(2026, 3, 29, 21, 59, tzinfo=UTC)  # 23:59, after the hour that was lost
        hippo.remember("Zoé joue du tuba", scope=HERE)
        clock.advance(minutes=2)
        hippo.remember("Owen a un voilier", scope=HERE)
        assert {at: day.memories for at, day in filled(hippo.activity(scope=HERE)).items()} == {
            date(2026, 3, 29): 1,
            date(2026, 3, 30): 1,
        }


class TestCosts:
    def test_calls_are_summed_by_day_purpose_and_model(
        self, hippo: Hippocampe, clock: FakeClock
    ) -> None:
        call: dict[str, Any] = {"input_tokens": 100, "output_tokens": 10}
        hippo.record_usage(scope=HERE, model="m", purpose="chat", price=0.5, **call)
        clock.advance(days=1)
        for price in (0.25, None):
            hippo.record_usage(
                scope=HERE, model="m", purpose="chat", price=price, injected_tokens=40, **call
            )
        hippo.record_usage(scope=HERE, model="n", purpose="digest", **call)
        hippo.record_usage(scope=AWAY, model="m", purpose="chat", price=9, **call)
        costs = hippo.costs(scope=HERE, days=2)
        assert [(each.date.day, each.purpose, each.model, each.calls) for each in costs] == [
            (17, "chat", "m", 1),
            (18, "chat", "m", 2),
            (18, "digest", "n", 1),
        ]
        assert (costs[1].input_tokens, costs[1].output_tokens) == (200, 20)
        assert (costs[1].injected_tokens, costs[1].price) == (80, 0.25)
        assert costs[2].price is None
        assert len(hippo.costs(scope=HERE, days=1)) == 2


class TestGraph:
    def test_memories_and_subjects_are_nodes(self, hippo: Hippocampe) -> None:
        old = hippo.remember("Zoé habite à Lyon", scope=HERE, subjects=["Musique"]).memory
        new = hippo.remember("Zoé habite à Brest", scope=HERE, replaces=[old.id]).memory
        tuba = hippo.remember("Le tuba " + "brille " * 40, scope=HERE, type="event").memory
        hippo.remember("Owen a un voilier", scope=AWAY)
        hippo.associate(tuba.id, new.id, "part_of", scope=HERE)
        graph = hippo.graph(scope=HERE)
        nodes = {node.id: node for node in graph.nodes}
        assert old.id not in nodes
        assert nodes[new.id].label == "Zoé habite à Brest"
        assert nodes[new.id].created_at == new.created_at
        assert "musique" in nodes[new.id].subjects
        assert nodes["subject:musique"].type == "subject"
        label = nodes[tuba.id].label
        assert label.endswith("brille…") and len(label) <= 121
        assert GraphEdge(tuba.id, new.id, "part_of") in graph.edges
        assert GraphEdge(new.id, "subject:musique", "about") in graph.edges
        assert {end for e in graph.edges for end in (e.source, e.target)} <= nodes.keys()

    def test_the_most_important_come_first(self, hippo: Hippocampe) -> None:
        for number in range(6):
            hippo.remember(f"Le four numéro {number}", scope=HERE, importance=number / 10)
        graph = hippo.graph(scope=HERE, limit=2)
        memories = [node.label for node in graph.nodes if node.type != "subject"]
        assert memories == ["Le four numéro 5", "Le four numéro 4"]


class TestMessages:
    def test_by_id_and_live(self, hippo: Hippocampe) -> None:
        hippo.after_turn("Où est le tuba ?", "Dans la grange.", scope=HERE)
        heard = hippo.observe("Le ferry part à midi", scope=HERE)
        assert heard is not None
        asked, answered, _ = hippo.messages(scope=HERE)
        assert hippo.messages(scope=HERE, ids=[answered.id, asked.id]) == [asked, answered]
        assert hippo.messages(scope=HERE, ids=[]) == []
        assert hippo.messages(scope=AWAY, ids=[asked.id]) == []
        assert hippo.messages(scope=HERE, live=True) == [heard]


class TestRetrievals:
    def test_one_by_its_id_and_page_by_page(self, hippo: Hippocampe, clock: FakeClock) -> None:
        turns = [hippo.before_turn(f"le tuba {n} ?", scope=HERE).id for n in range(5)]
        first = hippo.retrievals(scope=HERE, limit=2)
        second = hippo.retrievals(scope=HERE, limit=9, cursor=first[-1].id)
        assert [each.id for each in (*first, *second)] == turns[::-1]
        assert hippo.retrieval(turns[3], scope=HERE) == first[1]
        clock.advance(days=2)
        assert hippo.activity(scope=HERE, days=1)[0].injections == 0
        assert clock.now - first[0].created_at < timedelta(days=3)
