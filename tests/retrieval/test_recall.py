"""Reading: what may be found, in which order, and why."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.errors import InvalidInput, StoreFull
from hippocampe.store import embeddings, statements
from hippocampe.types import Mode, Recollection

MODES: tuple[Mode, ...] = ("hybrid", "semantic", "text")


def texts(items: list[Recollection]) -> list[str]:
    return [item.content for item in items]


@pytest.fixture
def told(hippo: Hippocampe, scope: Scope) -> Hippocampe:
    """A small world, in both languages."""
    hippo.remember("Camille élève des abeilles", scope=scope, subjects=["camille", "ruches"])
    hippo.remember(
        "Owen sailed to the Azores",
        scope=Scope(user="iris", channel="whatsapp"),
        type="event",
        subjects=["owen"],
        occurred_at=datetime(2025, 3, 12, tzinfo=UTC),
    )
    hippo.remember("Iris préfère le thé au café", scope=scope, type="preference", subjects=["iris"])
    hippo.remember(
        "Acheter du sucre pour les ruches", scope=scope, type="todo", subjects=["ruches"]
    )
    hippo.remember(
        "Eko sait raconter des contes", scope=scope, collection="self", category="capability"
    )
    hippo.remember("Eko ne sait pas compter", scope=scope, collection="self", category="limitation")
    return hippo


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("Camille élève quoi comme abeilles ?", "Camille élève des abeilles"),
        ("when did Owen sail to the Azores?", "Owen sailed to the Azores"),
        ("thé ou café ?", "Iris préfère le thé au café"),
    ],
)
def test_the_answer_comes_first(
    told: Hippocampe, scope: Scope, mode: Mode, query: str, best: str
) -> None:
    found = told.recall(query, scope=scope, mode=mode)
    assert found[0].content == best
    assert all(0 <= item.score <= 1 for item in found)
    assert [item.score for item in found] == sorted((i.score for i in found), reverse=True)


def test_meaning_needs_no_common_word(told: Hippocampe, scope: Scope) -> None:
    found = told.recall("who has been on a boat in the Atlantic?", scope=scope, mode="semantic")
    assert found[0].content == "Owen sailed to the Azores"


def test_text_needs_a_common_word(told: Hippocampe, scope: Scope) -> None:
    assert told.recall("apiculture", scope=scope, mode="text") == []
    assert texts(told.recall("ABEILLE", scope=scope, mode="text")) == ["Camille élève des abeilles"]


def test_what_is_found_says_what_it_is(told: Hippocampe, scope: Scope) -> None:
    item = told.recall("Azores", scope=scope)[0]
    assert (item.kind, item.channel, item.author) == ("memory", "whatsapp", "iris")
    assert item.at == datetime(2025, 3, 12, tzinfo=UTC)
    assert item.memory == told.get(item.id, scope=scope)
    assert (item.external_ids, item.why) == ((), ())


# Filters


def test_collections(told: Hippocampe, scope: Scope) -> None:
    found = told.recall("que sait faire Eko ?", scope=scope, collections=["self"])
    assert set(texts(found)) == {"Eko sait raconter des contes", "Eko ne sait pas compter"}
    assert {item.kind for item in found} == {"self"}
    both = told.recall("Eko et Camille", scope=scope, collections=["self", "memory"])
    assert {item.kind for item in both} == {"self", "memory"}
    assert "Eko ne sait pas compter" not in texts(told.recall("compter", scope=scope))


def test_no_collection_holds_nothing(told: Hippocampe, scope: Scope) -> None:
    assert told.recall("Camille", scope=scope, collections=[]) == []


def test_category(told: Hippocampe, scope: Scope) -> None:
    found = told.recall("Eko", scope=scope, collections=["self"], category="limitation")
    assert texts(found) == ["Eko ne sait pas compter"]


@pytest.mark.parametrize("mode", MODES)
def test_types(told: Hippocampe, scope: Scope, mode: Mode) -> None:
    found = told.recall("les ruches de sucre", scope=scope, types=["todo", "event"], mode=mode)
    assert "Acheter du sucre pour les ruches" in texts(found)
    assert set(texts(found)) <= {"Acheter du sucre pour les ruches", "Owen sailed to the Azores"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["ruches", "RUCHES"])
def test_subjects(told: Hippocampe, scope: Scope, mode: Mode, name: str) -> None:
    found = told.recall("du sucre, des abeilles", scope=scope, subjects=[name], mode=mode)
    assert set(texts(found)) == {"Camille élève des abeilles", "Acheter du sucre pour les ruches"}


@pytest.mark.parametrize("nothing", [{"subjects": []}, {"types": []}])
def test_an_empty_filter_matches_nothing(
    told: Hippocampe, scope: Scope, nothing: dict[str, list[str]]
) -> None:
    assert told.recall("Camille", scope=scope, **nothing) == []


@pytest.mark.parametrize("mode", MODES)
def test_since_and_until_look_at_when_it_happened(
    told: Hippocampe, scope: Scope, mode: Mode
) -> None:
    march = datetime(2025, 3, 12, tzinfo=UTC)
    query = "Owen sailed to the Azores ; Camille élève des abeilles"

    def found(**limits: datetime) -> list[str]:
        return texts(told.recall(query, scope=scope, mode=mode, **limits))

    assert found(until=march + timedelta(days=1)) == ["Owen sailed to the Azores"]
    assert found(since=march, until=march + timedelta(days=1)) == ["Owen sailed to the Azores"]
    assert found(until=march) == []
    late = found(since=march + timedelta(microseconds=1))
    assert "Owen sailed to the Azores" not in late
    assert "Camille élève des abeilles" in late


def test_min_score_leaves_out_what_is_below(told: Hippocampe, scope: Scope) -> None:
    found = told.recall("Camille élève des abeilles", scope=scope)
    middle = found[1].score
    above = told.recall("Camille élève des abeilles", scope=scope, min_score=middle)
    assert texts(above) == texts([item for item in found if item.score >= middle])


def test_limit_keeps_the_best(told: Hippocampe, scope: Scope) -> None:
    everything = told.recall("Camille et ses abeilles", scope=scope, limit=50)
    assert len(everything) == 4
    for limit in (1, 2, 3):
        few = told.recall("Camille et ses abeilles", scope=scope, limit=limit)
        assert [item.id for item in few] == [item.id for item in everything[:limit]]


@pytest.mark.parametrize("mode", MODES)
def test_the_order_is_always_the_same(told: Hippocampe, scope: Scope, mode: Mode) -> None:
    orders = {
        tuple(item.id for item in told.recall("que fait Camille ?", scope=scope, mode=mode))
        for _ in range(5)
    }
    assert len(orders) == 1


def test_channels_are_crossed(told: Hippocampe) -> None:
    found = told.recall("Azores", scope=Scope(user="dev", channel="mission_control"))
    assert found[0].content == "Owen sailed to the Azores"


@pytest.mark.parametrize("mode", MODES)
def test_no_other_space_is_seen(told: Hippocampe, scope: Scope, mode: Mode) -> None:
    there = Scope(space="ailleurs", user="dev", channel="lobby")
    assert told.recall("abeilles", scope=there, mode=mode) == []
    told.remember("Nora vend du miel et des abeilles", scope=there)
    told.after_turn("des abeilles !", "du miel !", scope=there)
    everywhere = ["memory", "turn", "live", "summary"]
    assert texts(told.recall("abeilles", scope=there, mode=mode)) == [
        "Nora vend du miel et des abeilles"
    ]
    here = told.recall("abeilles", scope=scope, mode=mode, collections=everywhere, limit=50)
    assert not {"Nora vend du miel et des abeilles"} & set(texts(here))
    assert "turn" not in {item.kind for item in here}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "collection", ["memory", "self", "goal", "summary", "turn", "live", "note"]
)
def test_an_empty_space_answers_nothing(
    hippo: Hippocampe, scope: Scope, mode: Mode, collection: str
) -> None:
    assert hippo.recall("où est Owen ?", scope=scope, mode=mode, collections=[collection]) == []


@pytest.mark.parametrize("query", ["!!!", "🐝", "…", "le la les", "مرحبا", "a" * 500, "x " * 3_000])
@pytest.mark.parametrize("mode", MODES)
def test_any_query_is_answered(told: Hippocampe, scope: Scope, mode: Mode, query: str) -> None:
    found = told.recall(query, scope=scope, mode=mode)
    assert len(found) <= 10


# What the query says


@pytest.fixture
def renamed(hippo: Hippocampe, scope: Scope) -> Hippocampe:
    hippo.remember("dev = Mickael", scope=scope)
    hippo.remember("Mickael part en Grèce au printemps", scope=scope)
    hippo.remember("Camille part en Norvège au printemps", scope=scope)
    hippo.remember("Owen reste au port", scope=scope)
    return hippo


def test_a_statement_of_two_names_is_found_by_either(renamed: Hippocampe) -> None:
    anyone = Scope()
    for name in ("dev", "Mickael"):
        assert "dev = Mickael" in texts(renamed.recall(name, scope=anyone, limit=2))


def test_other_names_are_added(renamed: Hippocampe) -> None:
    anyone = Scope()
    found = texts(renamed.recall("où part dev ?", scope=anyone))
    greece = found.index("Mickael part en Grèce au printemps")
    assert greece < found.index("Camille part en Norvège au printemps")
    words = renamed.recall("où va dev ?", scope=anyone, mode="text")
    assert "Mickael part en Grèce au printemps" in texts(words)


def test_i_is_who_speaks(renamed: Hippocampe) -> None:
    words = renamed.recall("où est-ce que je vais ?", scope=Scope(user="dev"), mode="text")
    assert "Mickael part en Grèce au printemps" in texts(words)


@pytest.mark.parametrize(
    ("query", "days"),
    [("qu'a-t-on mangé il y a 3 semaines ?", 21), ("what did we eat yesterday?", 1)],
)
def test_what_happened_then_is_among_the_candidates(
    hippo: Hippocampe, scope: Scope, clock: FakeClock, tmp_path: Path, query: str, days: int
) -> None:
    """None of its words or meaning would bring it there: 150 others are nearer."""
    talk = [
        {
            "author": "dev",
            "content": f"we eat, on a mangé le plat numéro {number}",
            "at": (clock.now - timedelta(days=200 + number)).isoformat(),
        }
        for number in range(150)
    ]
    then = {"author": "dev", "content": "Zoé repeint le garage", "external_id": "then"}
    then["channel"] = "not beside them"
    talk.append(then | {"at": (clock.now - timedelta(days=days)).isoformat()})
    (tmp_path / "talk.jsonl").write_text("\n".join(map(json.dumps, talk)))
    hippo.import_from(tmp_path / "talk.jsonl", scope=scope)
    everywhen = "qu'a-t-on mangé ? what did we eat?"
    without = hippo.recall(everywhen, scope=scope, limit=90, collections=["turn"])
    assert ("then",) not in {item.external_ids for item in without}
    found = hippo.recall(query, scope=scope, limit=120, collections=["turn"])
    assert ("then",) in {item.external_ids for item in found}


def test_what_is_said_two_turns_later_is_among_the_candidates(
    hippo: Hippocampe, scope: Scope, clock: FakeClock, tmp_path: Path
) -> None:
    """None of its words or meaning would bring it there: 150 others are nearer."""
    talk = [
        {"author": "dev", "content": f"on a mangé le plat numéro {number}", "channel": f"c{number}"}
        for number in range(150)
    ]
    talk += [
        {"author": "nina", "content": "ah bon", "channel": "c7"},
        {
            "author": "dev",
            "content": "Zoé repeint le garage",
            "channel": "c7",
            "external_id": "late",
        },
    ]
    start = clock.now - timedelta(days=2)
    for number, line in enumerate(talk):
        line["at"] = (start + timedelta(seconds=number)).isoformat()
    (tmp_path / "talk.jsonl").write_text("\n".join(map(json.dumps, talk)))
    hippo.import_from(tmp_path / "talk.jsonl", scope=scope)
    found = hippo.recall(
        "a-t-on mangé le plat numéro 7 ?", scope=scope, limit=120, collections=["turn"]
    )
    assert ("late",) in {item.external_ids for item in found}


def test_a_time_in_the_query_leaves_nothing_out(told: Hippocampe, scope: Scope) -> None:
    found = told.recall("Camille et ses abeilles, hier", scope=scope)
    assert "Owen sailed to the Azores" in texts(found)


# Graph, explanations, access


def test_what_is_linked_to_the_best_is_reached(
    hashed: None, open_hippo: Opener, scope: Scope
) -> None:
    hippo = open_hippo(embedder="hashed:64")
    best = hippo.remember("Owen a perdu les clés du voilier", scope=scope).memory
    linked = hippo.remember("Zoé repeint le garage", scope=scope, importance=0.0).memory
    further = hippo.remember("Le chien dort dehors", scope=scope, importance=0.0).memory
    for number in range(115):
        hippo.remember(f"le voilier numéro {number} a des clés", scope=scope, importance=0.9)
    query = "qui a perdu les clés du voilier ?"
    before = {item.id for item in hippo.recall(query, scope=scope, limit=100)}
    assert best.id in before
    assert not {linked.id, further.id} & before
    hippo.associate(best.id, linked.id, "caused_by", scope=scope)
    hippo.associate(linked.id, further.id, "part_of", scope=scope)
    after = hippo.recall(query, scope=scope, limit=1_000)
    assert {linked.id, further.id} <= {item.id for item in after}


def test_every_signal_is_explained(told: Hippocampe, scope: Scope) -> None:
    plain = told.recall("Camille et ses abeilles", scope=scope)
    told_why = told.recall("Camille et ses abeilles", scope=scope, explain=True)
    assert [item.id for item in told_why] == [item.id for item in plain]
    assert not any(item.why for item in plain)
    for item in told_why:
        names = [signal.name for signal in item.why]
        assert len(names) == len(set(names)) >= 5
        assert all(signal.rank is None or signal.rank >= 1 for signal in item.why)
    contributions = [sum(signal.contribution for signal in item.why) for item in told_why]
    assert contributions == sorted(contributions, reverse=True)


def test_recalls_are_counted_in_batches(told: Hippocampe, scope: Scope, clock: FakeClock) -> None:
    first = told.recall("abeilles", scope=scope, limit=1)[0]
    told.recall("abeilles", scope=scope, limit=1)
    told.recall("abeilles", scope=scope, limit=1, peek=True)
    assert told.get(first.id, scope=scope).access_count == 0
    clock.advance(hours=1)
    told.flush()
    counted = told.get(first.id, scope=scope)
    assert counted.access_count == 2
    assert counted.last_accessed_at is not None
    assert clock.now - counted.last_accessed_at < timedelta(minutes=1)
    told.flush()
    assert told.get(first.id, scope=scope).access_count == 2


def test_recalls_that_could_not_be_counted_are_counted_later(
    told: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: Any) -> Any:
        raise StoreFull("the disk is full.")

    first = told.recall("abeilles", scope=scope, limit=1)[0]
    told.flush()
    told.recall("abeilles", scope=scope, limit=1)
    with monkeypatch.context() as broken:
        broken.setattr(told._context.corpus.store, "write", full)  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(StoreFull):
            told.flush()
    told.recall("abeilles", scope=scope, limit=1)
    told.flush()
    assert told.get(first.id, scope=scope).access_count == 3


@pytest.mark.parametrize("mode", MODES)
def test_what_is_over_is_never_shown(
    hippo: Hippocampe, scope: Scope, clock: FakeClock, mode: Mode
) -> None:
    hippo.remember("Owen dort chez Camille", scope=scope, ttl="1h")
    hippo.remember("Owen a un voilier", scope=scope)
    clock.advance(minutes=59)
    assert len(hippo.recall("Owen dort", scope=scope, mode=mode)) == 2
    clock.advance(minutes=2)
    assert texts(hippo.recall("Owen dort", scope=scope, mode=mode)) == ["Owen a un voilier"]
    assert hippo.stats(scope=scope).memories == {"memory": 1}


# Talk


def test_a_turn_is_found_with_its_neighbours(
    hippo: Hippocampe, scope: Scope, clock: FakeClock
) -> None:
    ids = []
    for said, reply in [
        ("Tu connais un bon fromager ?", "Oui, celui de la place."),
        ("Il a du brebis ?", "Un brebis des Pyrénées, très sec."),
        ("Merci !", "Avec plaisir."),
    ]:
        ids.append(hippo.after_turn(said, reply, scope=scope, assistant="eko"))
        clock.advance(minutes=1)
    found = hippo.recall("du fromage de brebis", scope=scope, collections=["turn"])
    best = next(item for item in found if item.id == ids[1])
    assert (best.kind, best.author, best.channel, best.memory) == ("turn", "dev", "lobby", None)
    assert best.content == "Il a du brebis ?\neko: Un brebis des Pyrénées, très sec."
    assert [message.content for message in hippo.messages(scope=scope)][:2] == [
        "Tu connais un bon fromager ?",
        "Oui, celui de la place.",
    ]


def test_memory_filters_leave_talk_out(hippo: Hippocampe, scope: Scope) -> None:
    hippo.after_turn("Du fromage ?", "Du brebis.", scope=scope)
    for filters in ({"types": ["fact"]}, {"subjects": ["brebis"]}):
        assert hippo.recall("brebis", scope=scope, collections=["turn", "memory"], **filters) == []


@pytest.fixture
def rooms(hippo: Hippocampe, clock: FakeClock) -> Hippocampe:
    """The same said by two people in two rooms, as memories, turns and live messages."""
    hippo.update_settings(scope=Scope(), live_rooms=["kitchen", "garden"])
    for user in ("ana", "bob"):
        for channel in ("kitchen", "garden"):
            where = Scope(user=user, channel=channel)
            hippo.remember(f"{user} répare la pompe ({channel})", scope=where, subjects=[channel])
            hippo.after_turn(f"la pompe de {user} est dans {channel}", None, scope=where)
            hippo.observe(f"{user} observe la pompe de {channel}", scope=where)
            clock.advance(minutes=1)
    first, *others = (item.id for item in hippo.recent(scope=Scope()))
    for other in others:
        hippo.associate(first, other, "part_of", scope=Scope())
    return hippo


@pytest.mark.parametrize("mode", MODES)
def test_user_and_channel_narrow_a_recall(rooms: Hippocampe, mode: Mode) -> None:
    def found(**filters: str) -> set[tuple[str, str | None, str | None]]:
        items = rooms.recall(
            "la pompe",
            scope=Scope(user="ana", channel="kitchen"),
            collections=["memory", "turn", "live"],
            mode=mode,
            limit=50,
            **filters,
        )
        return {(item.kind, item.author, item.channel) for item in items}

    kinds, people, places = ("memory", "turn", "live"), ("ana", "bob"), ("kitchen", "garden")
    assert found() == {(k, u, c) for k in kinds for u in people for c in places}
    assert found(user="bob") == {(k, "bob", c) for k in kinds for c in places}
    assert found(channel="garden") == {(k, u, "garden") for k in kinds for u in people}
    assert found(user="ana", channel="garden") == {(k, "ana", "garden") for k in kinds}
    assert found(user="Ana") == set()


def test_user_and_channel_narrow_a_search_of_messages(rooms: Hippocampe) -> None:
    def found(scope: Scope, **filters: str) -> list[tuple[str | None, str | None]]:
        return [
            (each.author, each.channel)
            for each in rooms.search_text('"la pompe de"', scope=scope, **filters)
            if not each.live
        ]

    assert found(Scope(), user="bob") == [("bob", "garden"), ("bob", "kitchen")]
    assert found(Scope(), channel="kitchen") == [("bob", "kitchen"), ("ana", "kitchen")]
    assert found(Scope(user="ana", channel="kitchen"), user="bob", channel="garden") == [
        ("bob", "garden")
    ]
    assert found(Scope(), user="nobody") == []


@pytest.mark.parametrize("label", ["user", "channel"])
def test_an_empty_label_is_refused(hippo: Hippocampe, scope: Scope, label: str) -> None:
    for search in (hippo.recall, hippo.search_text):
        with pytest.raises(InvalidInput, match=label):
            search("pompe", scope=scope, **{label: ""})


def test_live_messages_are_found(hippo: Hippocampe, scope: Scope, clock: FakeClock) -> None:
    said = hippo.observe("je pars en Grèce demain", scope=scope, external_id="w1")
    again = hippo.observe("je pars en Grèce demain", scope=scope, external_id="w1")
    assert again == said
    assert said.live
    (item,) = hippo.recall("qui part en Grèce ?", scope=scope, collections=["live"])
    assert (item.id, item.kind, item.author, item.external_ids) == (said.id, "live", "dev", ("w1",))
    assert hippo.stats(scope=scope).live == 1


def test_messages_of_a_channel(hippo: Hippocampe, scope: Scope, clock: FakeClock) -> None:
    for number in range(5):
        hippo.after_turn(f"question {number}", None, scope=scope)
        clock.advance(minutes=1)
    hippo.after_turn("ailleurs", None, scope=Scope(user="dev", channel="whatsapp"))
    last = hippo.messages(scope=scope, limit=2)
    assert [message.content for message in last] == ["question 3", "question 4"]
    assert len(hippo.messages(scope=Scope(user="dev"))) == 6
    some = hippo.messages(scope=scope, since=last[0].at, until=last[1].at)
    assert [message.content for message in some] == ["question 3"]


def test_words_of_messages(hippo: Hippocampe, scope: Scope, clock: FakeClock) -> None:
    for said in ["Le goûter est prêt", "Un gouter d'anniversaire", "Le chat dort"]:
        hippo.after_turn(said, None, scope=scope)
        clock.advance(minutes=1)

    def found(query: str, **limits: object) -> list[str]:
        return [m.content for m in hippo.search_text(query, scope=scope, **limits)]

    assert found("GOUTER") == ["Un gouter d'anniversaire", "Le goûter est prêt"]
    assert found("goûter prêt") == ["Le goûter est prêt"]
    assert found('"est prêt"') == ["Le goûter est prêt"]
    assert found('"prêt est"') == []
    assert found("annivers*") == ["Un gouter d'anniversaire"]
    assert found("annivers") == []
    assert found("gouter", limit=1) == ["Un gouter d'anniversaire"]
    assert found('gouter AND (NEAR" OR') == []
    assert hippo.search_text("gouter", scope=Scope(space="ailleurs")) == []


def test_recent_is_newest_first(told: Hippocampe, scope: Scope, clock: FakeClock) -> None:
    newest = [memory.content for memory in told.recent(2, scope=scope)]
    assert newest == ["Acheter du sucre pour les ruches", "Iris préfère le thé au café"]
    there = Scope(user="dev", channel="whatsapp")
    only = told.recent(scope=there, channel_only=True)
    assert [memory.content for memory in only] == ["Owen sailed to the Azores"]
    clock.advance(hours=1)
    since = clock.now
    told.remember("Nora chante", scope=scope)
    assert [memory.content for memory in told.recent(scope=scope, since=since)] == ["Nora chante"]
    with pytest.raises(InvalidInput, match="names a channel"):
        told.recent(scope=Scope(), channel_only=True)


# Aliases


def test_aliases_are_read_again_only_after_a_change(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aliases = hippo._context.corpus.aliases  # pyright: ignore[reportPrivateUsage]
    reads: list[str] = []
    read = statements.aliases

    def noted(connection: Any, space: str) -> dict[str, frozenset[str]]:
        reads.append(space)
        return read(connection, space)

    monkeypatch.setattr(statements, "aliases", noted)
    assert aliases.of("default") == {}
    alias = hippo.remember("dev = Mickael", scope=scope).memory
    both = {"dev": {"mickael"}, "mickael": {"dev"}}
    assert aliases.of("default") == both
    reads.clear()
    for _ in range(3):
        hippo.recall("où est dev ?", scope=scope)
        hippo.after_turn("où est dev ?", "au port", scope=scope)
        hippo.observe("le bus arrive", scope=scope)
    assert reads == []
    hippo.export_to(tmp_path / "all.jsonl", scope=scope)
    hippo.delete(alias.id, scope=scope, reason="faux")
    assert aliases.of("default") == {}
    hippo.restore(alias.id, scope=scope)
    assert aliases.of("default") == both
    hippo.edit(alias.id, content="dev = Camille", scope=scope)
    assert aliases.of("default") == {"dev": {"camille"}, "camille": {"dev"}}
    hippo.erase(id=alias.id, scope=scope)
    assert aliases.of("default") == {}
    assert aliases.of("autre") == {}
    hippo.import_from(tmp_path / "all.jsonl", scope=Scope(space="autre"), format="hippocampe")
    assert aliases.of("autre") == both


# Word counts


def counted(hippo: Hippocampe, word: str) -> tuple[int, int]:
    """In how many items of the default space a word occurs, and how many there are."""
    lexicon = hippo._context.corpus.vocabulary  # pyright: ignore[reportPrivateUsage]
    found, items = lexicon.frequencies("default", lexicon.ids([word]))
    return int(found.sum()), items


@pytest.mark.usefixtures("hashed")
def test_writers_go_on_while_a_space_is_counted(
    open_hippo: Opener, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    hippo.remember("le phare est rouge", scope=scope)
    hippo._context.corpus.vocabulary.forget()  # pyright: ignore[reportPrivateUsage]
    reading, go_on = threading.Event(), threading.Event()
    read = embeddings.word_lists

    def slow(*given: Any) -> Iterator[list[bytes]]:
        yield from read(*given)
        reading.set()
        assert go_on.wait(30)

    monkeypatch.setattr(embeddings, "word_lists", slow)
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(counted, hippo, "phare")
        assert reading.wait(30)
        writing = pool.submit(hippo.remember, "un phare au large", scope=scope)
        try:
            # Its nomination asks about no space, so nothing but the counts could hold it up.
            assert writing.result(timeout=20).action == "inserted"
        finally:
            go_on.set()
        assert asked.result() == (2, 2)
    assert counted(hippo, "phare") == (2, 2)


@pytest.mark.usefixtures("hashed")
def test_what_is_committed_while_a_space_is_counted_is_counted_once(
    open_hippo: Opener, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    hippo.remember("le phare est rouge", scope=scope)
    hippo._context.corpus.vocabulary.forget()  # pyright: ignore[reportPrivateUsage]
    count = Vocabulary.count
    with ThreadPoolExecutor(1) as pool:

        def late(self: Vocabulary, *given: Any) -> None:
            # Committed, and not counted yet: whoever asks now must wait or be corrected.
            asked.append(pool.submit(counted, hippo, "phare"))
            wait(asked, timeout=0.3)
            count(self, *given)

        asked: list[Future[tuple[int, int]]] = []
        with monkeypatch.context() as patched:
            patched.setattr(Vocabulary, "count", late)
            hippo.remember("un phare au large", scope=scope)
        assert [each.result() for each in asked] == [(2, 2)]
    assert counted(hippo, "phare") == (2, 2)


def test_counts_of_spaces_asked_long_ago_make_room(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    lexicon = hippo._context.corpus.vocabulary  # pyright: ignore[reportPrivateUsage]
    kept = lexicon._counts  # pyright: ignore[reportPrivateUsage]
    names = [f"space {number}" for number in range(5)]
    for name in names:
        hippo.remember("Owen répare le voilier", scope=Scope(space=name))
    asked = {name: texts(hippo.recall("voilier", scope=Scope(space=name))) for name in names}
    size = next(iter(kept.values())).of_word.nbytes
    monkeypatch.setattr("hippocampe.engine.vocabulary.COUNTS_BYTES", 3 * size)
    for name in (*names, names[3]):
        assert texts(hippo.recall("voilier", scope=Scope(space=name))) == asked[name]
    assert list(kept) == [names[2], names[4], names[3]]


def test_the_spaces_served_last_are_made_ready(
    open_hippo: Opener, scope: Scope, tmp_path: Path
) -> None:
    first = open_hippo(tmp_path / "served")
    for name in ("old", "new", "old"):
        first.before_turn("où est le voilier ?", scope=Scope(space=name))
    first.close()
    second = open_hippo(tmp_path / "served", background=True)
    second._opened.wait()  # pyright: ignore[reportPrivateUsage]
    lexicon = second._context.corpus.vocabulary  # pyright: ignore[reportPrivateUsage]
    assert list(lexicon._counts) == ["old", "new"]  # pyright: ignore[reportPrivateUsage]


class TestAsOf:
    def test_recall_finds_what_was_known_at_a_time(
        self, hippo: Hippocampe, scope: Scope, clock: FakeClock
    ) -> None:
        hippo.remember("David lives in Ordizan", scope=scope, metadata={"source": "crm"})
        hidden = hippo.remember("David plays the harp", scope=scope).memory
        clock.advance(hours=1)
        before = clock()
        clock.advance(hours=1)
        moved = hippo.remember("David moved to Toulouse", scope=scope)
        assert moved.action == "updated"
        hippo.delete(hidden.id, scope=scope, reason="wrong")

        def found(query: str, **more: Any) -> list[str]:
            return texts(hippo.recall(query, scope=scope, **more))

        where = "Where does David live?"
        assert found(where)[0] == "David moved to Toulouse"
        then = found(where, as_of=before)
        assert then[0] == "David lives in Ordizan"
        assert "David moved to Toulouse" not in then
        assert found(where, as_of=before.isoformat()) == then
        assert "David plays the harp" in found("what does David play?", as_of=before)
        assert "David plays the harp" not in found("what does David play?")
        assert found(where, as_of=before, metadata={"source": "crm"}) == ["David lives in Ordizan"]
        assert found(where, as_of=before - timedelta(days=1)) == []

    def test_what_expired_since_is_found_and_does_not_count_as_used(
        self, hippo: Hippocampe, scope: Scope, clock: FakeClock
    ) -> None:
        memory = hippo.remember("Le four est en panne", scope=scope, ttl="2h").memory
        clock.advance(hours=1)
        before = clock()
        clock.advance(days=1)
        (found,) = hippo.recall("le four", scope=scope, as_of=before, explain=True)
        assert found.id == memory.id
        assert found.why
        assert hippo.recall("le four", scope=scope) == []
        hippo.flush()
        assert hippo.get(memory.id, scope=scope).access_count == 0

    @pytest.mark.parametrize("at", ["9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z"])
    @pytest.mark.parametrize(
        "query", ["le four d'hier et de demain", "yesterday's and tomorrow's four"]
    )
    def test_an_end_of_the_calendar_is_a_time(
        self, hippo: Hippocampe, scope: Scope, at: str, query: str
    ) -> None:
        hippo.remember("Le four est réparé", scope=scope)
        found = texts(hippo.recall(query, scope=scope, as_of=at))
        assert found == (["Le four est réparé"] if at > "2" else [])

    def test_a_time_that_is_none_is_refused(self, hippo: Hippocampe, scope: Scope) -> None:
        with pytest.raises(InvalidInput, match="as_of"):
            hippo.recall("le four", scope=scope, as_of="yesterday")


@pytest.mark.usefixtures("hashed")
def test_changed_texts_are_counted_once(open_hippo: Opener, scope: Scope) -> None:
    hippo = open_hippo(embedder="hashed:32")
    lamp = hippo.remember("le phare est rouge", scope=scope).memory.id
    turn = hippo.after_turn("où est le phare ?", "au large", scope=scope, external_id="1")
    assert counted(hippo, "phare") == (2, 2)
    hippo.edit(lamp, content="le phare est vert", scope=scope)
    for id in (lamp, turn):
        hippo.delete(id, scope=scope, reason="faux")
        hippo.restore(id, scope=scope)
    hippo.after_turn("où est le phare ?", "au port", scope=scope, external_id="1")
    now = counted(hippo, "phare"), counted(hippo, "rouge"), counted(hippo, "port")
    assert now == ((2, 2), (0, 2), (1, 2))
    hippo.close()
    again = open_hippo(embedder="hashed:32")
    assert now == (counted(again, "phare"), counted(again, "rouge"), counted(again, "port"))
