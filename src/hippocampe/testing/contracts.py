"""Contracts: test classes for implementations of `Index` and `Embedder`.

Subclass one in a test module and define the fixture it names:

    class TestMyIndex(IndexContract):
        @pytest.fixture
        def index(self):
            with closing(MyIndex(dimensions=self.DIMENSIONS)) as index:
                yield index
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from hippocampe.errors import IndexUnavailable
from hippocampe.protocols import (
    KINDS,
    Embedder,
    Filter,
    Index,
    OwnIndex,
    Point,
    Search,
    Vector,
    Vectors,
)

NOW = 1_700_000_000.0
"""The present of every contract, in seconds since the epoch."""
HERE = Filter(space="home", collections=("memory",), now=NOW)
"""The memories of the space that most contracts search."""


def point_id(number: int) -> str:
    """A UUID that sorts as `number` does."""
    return str(UUID(int=(7 << 76) | (2 << 62) | number))


def unit(*components: float, dimensions: int = 8) -> Vector:
    """A vector of length 1: the components given, then zeros."""
    vector = np.zeros(dimensions, dtype=np.float32)
    vector[: len(components)] = components
    return vector / np.float32(np.linalg.norm(vector))


def point(number: int, text: str = "une phrase", dense: Vector | None = None) -> Point:
    """A memory of the space `home`; change the rest with `dataclasses.replace`."""
    return Point(
        id=point_id(number),
        dense=unit(1.0) if dense is None else dense,
        text=text,
        space="home",
        collection="memory",
        at=NOW - 100.0,
        type="fact",
    )


class SharedIndexContract:
    """The contract of every `Index`, over a fixture `index`: an empty one of `DIMENSIONS` dimensions."""

    DIMENSIONS = 8

    def found(self, index: Index, where: Filter, text: str = "phrase") -> set[int]:
        """The numbers of the points found by vector; asserts that words find the same ones."""
        near = {hit.id for hit in index.nearest("memory", unit(1.0), limit=100, where=where)}
        matching = {hit.id for hit in index.matching("memory", text, limit=100, where=where)}
        assert near == matching
        return {UUID(found).int & 0xFFFF for found in near}

    def matches(self, index: Index, text: str) -> set[int]:
        """The numbers of the points of the space `home` that a text finds by its words."""
        hits = index.matching("memory", text, limit=100, where=HERE)
        return {UUID(hit.id).int & 0xFFFF for hit in hits}

    def test_empty_index_finds_nothing(self, index: Index) -> None:
        for kind in KINDS:
            assert index.nearest(kind, unit(1.0), limit=5, where=HERE) == []
            assert index.matching(kind, "phrase", limit=5, where=HERE) == []
            assert list(index.ids(kind)) == []
            assert index.count(kind) == 0

    def test_nothing_applied_changes_nothing(self, index: Index) -> None:
        index.apply("memory", [])
        index.apply("memory", [], [point_id(1)])
        index.flush()
        assert index.count("memory") == 0

    def test_own_write_is_visible_at_once(self, index: Index) -> None:
        for number in range(5):
            index.apply("memory", [point(number)])
            assert self.found(index, HERE) == set(range(number + 1))

    def test_kinds_are_apart(self, index: Index) -> None:
        index.apply("turn", [replace(point(1), collection="turn")])
        assert self.found(index, HERE) == set()
        there = replace(HERE, collections=("turn",))
        assert [hit.id for hit in index.nearest("turn", unit(1.0), limit=5, where=there)] == [
            point_id(1)
        ]
        assert (index.count("memory"), index.count("turn")) == (0, 1)

    def test_nearest_is_sorted_by_cosine(self, index: Index) -> None:
        index.apply("memory", [point(n, dense=unit(1.0, n / 4.0)) for n in range(9)])
        hits = index.nearest("memory", unit(1.0), limit=4, where=HERE)
        assert [hit.id for hit in hits] == [point_id(n) for n in range(4)]
        expected = [float(unit(1.0) @ unit(1.0, n / 4.0)) for n in range(4)]
        assert [hit.score for hit in hits] == pytest.approx(expected, abs=2e-3)

    def test_several_searches_at_once(self, index: Index) -> None:
        index.apply("memory", [point(n, dense=unit(1.0, n / 4.0)) for n in range(9)])
        index.apply("turn", [replace(point(20, "le merle"), collection="turn")])
        there = replace(HERE, collections=("turn",))
        searches = [
            Search("memory", HERE, 3, unit(1.0)),
            Search("turn", there, 5, text="un merle"),
            Search("memory", replace(HERE, space=""), 5, unit(1.0)),
            Search("memory", HERE, 5, text=""),
            Search("live", HERE, 5, text="phrase"),
        ]
        found = index.search(searches)
        assert [[UUID(hit.id).int & 0xFFFF for hit in hits] for hits in found] == [
            *([0, 1, 2], [20], [], [], [])
        ]
        assert found[0] == index.nearest("memory", unit(1.0), limit=3, where=HERE)
        assert index.search([]) == []

    def test_opposite_vectors_are_found_with_negative_scores(self, index: Index) -> None:
        index.apply("memory", [point(1, dense=unit(-1.0)), point(2, dense=unit(0.0, 1.0))])
        hits = index.nearest("memory", unit(1.0), limit=5, where=HERE)
        assert [hit.score for hit in hits] == pytest.approx([0.0, -1.0], abs=2e-3)

    def test_rare_words_weigh_more(self, index: Index) -> None:
        index.apply("memory", [point(n, "le chat de la voisine dort") for n in range(20)])
        index.apply("memory", [point(50, "le perroquet de la voisine dort")])
        hits = index.matching("memory", "le chat ou le perroquet", limit=3, where=HERE)
        assert hits[0].id == point_id(50)
        assert hits[0].score > hits[1].score > 0

    def test_space_is_a_wall(self, index: Index) -> None:
        spaces = ("home", "Home", "home ", "hom", "été", "*")
        index.apply("memory", [replace(point(n), space=s) for n, s in enumerate(spaces)])
        for number, space in enumerate(spaces):
            assert self.found(index, replace(HERE, space=space)) == {number}
        assert self.found(index, replace(HERE, space="nowhere")) == set()

    @pytest.mark.parametrize(
        "other", [{"space": "away"}, {"collection": "goal"}, {"expires_at": NOW - 1}]
    )
    def test_later_points_are_isolated_too(self, index: Index, other: dict[str, Any]) -> None:
        index.apply("memory", [point(1), point(2)])
        assert self.found(index, HERE) == {1, 2}
        index.apply("memory", [replace(point(3), **other), replace(point(2), **other)])
        assert self.found(index, HERE) == {1}
        index.apply("memory", [], [point_id(3)])
        assert self.found(index, HERE) == {1}

    def test_empty_space_matches_nothing(self, index: Index) -> None:
        index.apply("memory", [point(1), replace(point(2), space="")])
        assert self.found(index, replace(HERE, space="")) == set()

    def test_empty_choices_match_nothing(self, index: Index) -> None:
        index.apply("memory", [replace(point(1), subjects=("ski",))])
        assert self.found(index, HERE) == {1}
        assert self.found(index, replace(HERE, collections=())) == set()
        assert self.found(index, replace(HERE, types=())) == set()
        assert self.found(index, replace(HERE, subjects=())) == set()

    def test_collections_match_any(self, index: Index) -> None:
        names = ("memory", "self", "goal", "summary")
        index.apply("memory", [replace(point(n), collection=c) for n, c in enumerate(names)])
        assert self.found(index, replace(HERE, collections=("self",))) == {1}
        assert self.found(index, replace(HERE, collections=("memory", "goal"))) == {0, 2}

    def test_types_match_any(self, index: Index) -> None:
        types = ("fact", "todo", "event", None)
        index.apply("memory", [replace(point(n), type=t) for n, t in enumerate(types)])
        assert self.found(index, replace(HERE, types=("todo",))) == {1}
        assert self.found(index, replace(HERE, types=("todo", "fact", "identity"))) == {0, 1}
        assert self.found(index, HERE) == {0, 1, 2, 3}

    def test_subjects_match_any(self, index: Index) -> None:
        subjects = (("ski", "david"), ("david",), (), ("ski",))
        index.apply("memory", [replace(point(n), subjects=s) for n, s in enumerate(subjects)])
        assert self.found(index, replace(HERE, subjects=("ski",))) == {0, 3}
        assert self.found(index, replace(HERE, subjects=("ski", "david"))) == {0, 1, 3}
        assert self.found(index, replace(HERE, subjects=("skis",))) == set()

    def test_category_user_and_channel_match_exactly(self, index: Index) -> None:
        index.apply(
            "memory",
            [
                replace(point(0), category="capability", channel="lobby", user="ana"),
                replace(point(1), category="limitation", channel="lobby", user="Ana"),
                replace(point(2), category="capability", user="bob"),
                point(3),
            ],
        )
        assert self.found(index, replace(HERE, category="capability")) == {0, 2}
        assert self.found(index, replace(HERE, channel="lobby")) == {0, 1}
        assert self.found(index, replace(HERE, category="capability", channel="lobby")) == {0}
        assert self.found(index, replace(HERE, user="ana")) == {0}
        assert self.found(index, replace(HERE, user="bob", channel="lobby")) == set()

    def test_window_includes_since_and_excludes_until(self, index: Index) -> None:
        index.apply("memory", [replace(point(n), at=NOW - 10.0 + n) for n in range(5)])
        assert self.found(index, replace(HERE, since=NOW - 8.0)) == {2, 3, 4}
        assert self.found(index, replace(HERE, until=NOW - 8.0)) == {0, 1}
        assert self.found(index, replace(HERE, since=NOW - 9.0, until=NOW - 7.0)) == {1, 2}
        assert self.found(index, replace(HERE, since=NOW, until=NOW - 20.0)) == set()

    def test_window_tells_milliseconds_apart(self, index: Index) -> None:
        index.apply("memory", [replace(point(n), at=NOW + n / 1000) for n in range(3)])
        assert self.found(index, replace(HERE, since=NOW + 0.001, until=NOW + 0.002)) == {1}

    def test_expired_points_are_never_found(self, index: Index) -> None:
        times = (None, NOW + 1.0, NOW, NOW - 1.0)
        index.apply("memory", [replace(point(n), expires_at=t) for n, t in enumerate(times)])
        assert self.found(index, HERE) == {0, 1}
        assert self.found(index, replace(HERE, now=NOW + 1.0)) == {0}
        assert self.found(index, replace(HERE, now=NOW + 1e10)) == {0}
        assert self.found(index, replace(HERE, now=NOW - 2.0)) == {0, 1, 2, 3}

    def test_times_before_1970_work(self, index: Index) -> None:
        index.apply("memory", [replace(point(1), at=-1e9), point(2)])
        assert self.found(index, replace(HERE, until=0.0)) == {1}

    def test_same_id_replaces_everything(self, index: Index) -> None:
        index.apply("memory", [replace(point(1, "une phrase", unit(0.0, 1.0)), channel="lobby")])
        index.apply("memory", [replace(point(1, "un perroquet"), subjects=("oiseau",))])
        assert index.count("memory") == 1
        assert self.matches(index, "phrase") == set()
        assert self.matches(index, "perroquet") == {1}
        [hit] = index.nearest("memory", unit(1.0), limit=5, where=HERE)
        assert hit.score == pytest.approx(1.0, abs=2e-3)
        assert self.found(index, replace(HERE, channel="lobby"), "perroquet") == set()
        assert self.found(index, replace(HERE, subjects=("oiseau",)), "perroquet") == {1}

    def test_last_of_one_id_in_one_call_stays(self, index: Index) -> None:
        index.apply("memory", [point(1, "le chat"), point(2, "la phrase"), point(1, "le chien")])
        assert index.count("memory") == 2
        assert self.matches(index, "chat") == set()
        assert self.matches(index, "chien") == {1}

    def test_moving_to_another_space_leaves_nothing(self, index: Index) -> None:
        index.apply("memory", [point(1)])
        index.apply("memory", [replace(point(1), space="away")])
        assert self.found(index, HERE) == set()
        assert self.found(index, replace(HERE, space="away")) == {1}

    def test_removed_points_are_gone(self, index: Index) -> None:
        index.apply("memory", [point(n) for n in range(4)])
        index.apply("memory", [point(4)], [point_id(0), point_id(2), point_id(99)])
        assert self.found(index, HERE) == {1, 3, 4}
        assert set(index.ids("memory")) == {point_id(n) for n in (1, 3, 4)}
        index.apply("memory", [point(0)])
        assert self.found(index, HERE) == {0, 1, 3, 4}

    def test_ids_lists_each_once(self, index: Index) -> None:
        index.apply("memory", [replace(point(n), expires_at=NOW - 1) for n in range(2500)])
        index.apply("memory", [point(n) for n in range(1000, 1200)])
        ids = list(index.ids("memory"))
        assert len(ids) == len(set(ids)) == index.count("memory") == 2500
        assert point_id(2499) in ids

    def test_limit(self, index: Index) -> None:
        index.apply("memory", [point(n) for n in range(30)])
        for limit in (0, 1, 7, 30):
            assert len(index.nearest("memory", unit(1.0), limit=limit, where=HERE)) == limit
            assert len(index.matching("memory", "phrase", limit=limit, where=HERE)) == limit
        assert len(index.nearest("memory", unit(1.0), limit=1000, where=HERE)) == 30

    def test_equals_are_sorted_by_id(self, index: Index) -> None:
        index.apply("memory", [point((n * 7) % 20) for n in range(20)])
        expected = [point_id(n) for n in range(20)]
        for _ in range(3):
            near = index.nearest("memory", unit(1.0), limit=50, where=HERE)
            matching = index.matching("memory", "phrase", limit=50, where=HERE)
            assert [hit.id for hit in near] == [hit.id for hit in matching] == expected

    @pytest.mark.parametrize("text", ["HOTEL", "hôtel", "Hôtel", "ho\u0302tel"])
    def test_accents_and_case_are_folded(self, index: Index, text: str) -> None:
        index.apply("memory", [point(1, "une nuit à l'Hôtel"), point(2, "une nuit dehors")])
        assert self.matches(index, text) == {1}

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("Mickael part en vacance", "les vacances"),
            ("nous mangions des pommes", "manger une pomme"),
            ("elle a acheté des chevaux", "acheter"),
            ("Nina is running in the parks", "run in a park"),
            ("the cats were sleeping", "cat sleep"),
            ("il m'a dit I love hiking", "who loves hikes"),
        ],
    )
    def test_stems_of_both_languages(self, index: Index, text: str, query: str) -> None:
        index.apply("memory", [point(1, text), point(2, "rien du tout")])
        assert self.matches(index, query) == {1}

    def test_a_megabyte_of_text(self, index: Index) -> None:
        text = "".join(f"mot{n % 5000} " for n in range(130_000)) + "zanzibar"
        assert len(text) > 1_000_000
        index.apply("memory", [point(1, text), point(2, "zanzibar en mai")])
        assert self.matches(index, "mot4999") == {1}
        assert self.matches(index, "zanzibar") == {1, 2}
        index.matching("memory", text, limit=5, where=HERE)

    @pytest.mark.parametrize("text", ["", "   ", "🎉🎉", "?!…", "\u200b", "\x00"])
    def test_text_without_words_is_found_by_vector_only(self, index: Index, text: str) -> None:
        index.apply("memory", [point(1, text)])
        assert self.matches(index, "phrase") == set()
        assert self.matches(index, text) <= {1}
        assert len(index.nearest("memory", unit(1.0), limit=5, where=HERE)) == 1

    def test_words_beside_emoji_are_found(self, index: Index) -> None:
        index.apply("memory", [point(1, "🎉bravo🎉 pour le ski⛷️"), point(2, "👨‍👩‍👧 famille")])
        assert self.matches(index, "bravo") == {1}
        assert self.matches(index, "famille 🎉") == {2} | self.matches(index, "🎉")

    def test_words_that_nobody_used_match_nothing(self, index: Index) -> None:
        index.apply("memory", [point(1)])
        assert self.matches(index, "xylophone") == set()

    def test_strange_labels(self, index: Index) -> None:
        label = "é 🎉 \"' \\ {} [] . * \u202e"
        index.apply("memory", [replace(point(1), space=label, channel=label, subjects=(label,))])
        where = replace(HERE, space=label, channel=label, subjects=(label,))
        assert self.found(index, where) == {1}

    def test_readers_and_a_writer_at_once(self, index: Index) -> None:
        index.apply("memory", [point(n) for n in range(10)])
        done = threading.Event()

        def read() -> int:
            fewest = 10
            while not done.is_set():
                hits = index.nearest("memory", unit(1.0), limit=100, where=HERE)
                fewest = min(fewest, len(hits))
            return fewest

        with ThreadPoolExecutor(4) as readers:
            reading = [readers.submit(read) for _ in range(4)]
            for number in range(10, 60):
                index.apply("memory", [point(number)], [point_id(number - 1)])
            done.set()
            assert [future.result() for future in reading] == [10] * 4
        assert index.count("memory") == 10

    def numbers(self, index: Index) -> set[int]:
        """The numbers of all indexed memories."""
        return {UUID(id).int & 0xFFFF_FFFF for id in index.ids("memory")}

    def fill(self, index: Any, points: Sequence[Point], *, graph: bool) -> None:
        """Index points, with a graph where the engine builds one on request."""
        index.apply("memory", points)

    @pytest.mark.parametrize("graph", [False, True])
    def test_what_was_stored_does_not_differ(self, index: Index, graph: bool) -> None:
        points = [
            replace(
                point(n, f"la {n}e phrase du merle", unit(1.0, n / 7.0, 0.3)),
                collection=("memory", "goal")[n % 2],
                expires_at=None if n % 3 else NOW + n,
                at=NOW - n / 3,
                type=None if n % 5 else "fact",
                category=None if n % 4 else "habit",
                subjects=("merle", f"n{n}")[: n % 3],
                user=None if n % 6 else "camille",
                channel=f"salon{n % 2}",
            )
            for n in range(40)
        ]
        self.fill(index, points[:30], graph=graph)
        index.apply("memory", points[25:], [point_id(3)])
        # Stores keep half precision.
        halves = [
            replace(each, dense=each.dense.astype(np.float16).astype(np.float32)) for each in points
        ]
        assert list(index.differing("memory", halves)) == [point_id(3)]
        assert list(index.differing("turn", [replace(halves[0], id="m1")])) == []
        index.flush()
        assert list(index.damaged_files(stop=lambda: False)) == []

    @pytest.mark.parametrize(
        "other",
        [
            {"dense": unit(1.0, 0.05)},
            {"text": "un perroquet"},
            {"space": "away"},
            {"collection": "goal"},
            {"at": NOW - 101.0},
            {"type": "todo"},
            {"category": "habit"},
            {"subjects": ("ski", "merle")},
            {"user": "camille"},
            {"channel": "salon"},
            {"expires_at": NOW + 1.0},
        ],
        ids=lambda other: next(iter(other)),
    )
    def test_a_point_that_differs_is_named(self, index: Index, other: dict[str, Any]) -> None:
        index.apply("memory", [replace(point(n), subjects=("ski",)) for n in range(250)])
        stored = [replace(point(n), subjects=("ski",)) for n in range(250)]
        stored[170] = replace(stored[170], **other)
        assert list(index.differing("memory", stored)) == [point_id(170)]

    def test_order_of_subjects_is_no_difference(self, index: Index) -> None:
        index.apply("memory", [replace(point(1), subjects=("ski", "merle"))])
        stored = [replace(point(1), subjects=("merle", "ski"))]
        assert list(index.differing("memory", stored)) == []

    def test_ids_that_are_not_uuids_are_skipped(self, index: Index) -> None:
        index.apply("memory", [replace(point(1), id="m1"), point(2)], ["m3"])
        assert self.numbers(index) == {2}


class IndexContract(SharedIndexContract):
    """The contract of an index in files of this process, in generations; see `SharedIndexContract`."""

    def fill(self, index: Any, points: Sequence[Point], *, graph: bool) -> None:
        """Index points in a new generation."""
        target = index.start_generation("memory")
        index.build(target, dimensions=self.DIMENSIONS, points=points, graph=graph)
        index.adopt_generation("memory")

    def build(self, index: OwnIndex, target: Path, numbers: range, *, graph: bool = False) -> int:
        """Build a generation of numbered points."""
        points = [point(number, f"phrase {number}") for number in numbers]
        return index.build(target, dimensions=self.DIMENSIONS, points=points, graph=graph)

    @pytest.mark.parametrize("graph", [False, True])
    def test_generation_replaces_the_current_one(self, index: OwnIndex, graph: bool) -> None:
        index.apply("memory", [point(n) for n in range(5)])
        target = index.start_generation("memory")
        assert self.build(index, target, range(3, 20), graph=graph) == 17
        assert self.found(index, HERE) == set(range(5))
        index.adopt_generation("memory")
        assert self.found(index, HERE) == self.numbers(index) == set(range(3, 20))
        assert index.ungraphed("memory") in ((0,) if graph else (0, 17))

    def test_changes_since_the_start_win_over_the_snapshot(self, index: OwnIndex) -> None:
        index.apply("memory", [point(n) for n in range(5)])
        target = index.start_generation("memory")
        index.apply("memory", [point(0, "un perroquet"), point(9, "un merle")], [point_id(1)])
        self.build(index, target, range(5), graph=True)
        index.apply("memory", [point(9, "un merle")], [point_id(2)])
        index.adopt_generation("memory")
        assert self.numbers(index) == {0, 3, 4, 9}
        assert self.matches(index, "perroquet") == {0}
        assert index.ungraphed("memory") in (0, 2)

    def test_removal_before_the_first_point_is_recorded(self, index: OwnIndex) -> None:
        target = index.start_generation("memory")
        index.apply("memory", [], [point_id(1)])
        self.build(index, target, range(3))
        index.adopt_generation("memory")
        assert self.numbers(index) == {0, 2}

    def test_many_changes_since_the_start(self, index: OwnIndex) -> None:
        index.apply("memory", [point(n) for n in range(300)])
        target = index.start_generation("memory")
        self.build(index, target, range(300))
        removed = [point_id(n) for n in range(250)]
        index.apply("memory", [point(n) for n in range(300, 2700)], removed)
        index.adopt_generation("memory")
        assert self.numbers(index) == set(range(250, 2700))

    @pytest.mark.parametrize("graph", [False, True])
    def test_empty_generation(self, index: OwnIndex, graph: bool) -> None:
        index.apply("memory", [point(n) for n in range(3)])
        assert self.build(index, index.start_generation("memory"), range(0), graph=graph) == 0
        index.adopt_generation("memory")
        assert index.count("memory") == index.ungraphed("memory") == 0
        assert index.nearest("memory", unit(1.0), limit=5, where=HERE) == []
        index.apply("memory", [point(1)])
        assert self.numbers(index) == {1}

    def test_abandoned_generation_changes_nothing(self, index: OwnIndex) -> None:
        index.apply("memory", [point(n) for n in range(3)])
        index.abandon_generation("memory")
        self.build(index, index.start_generation("memory"), range(9))
        index.abandon_generation("memory")
        with pytest.raises(IndexUnavailable, match="start_generation"):
            index.adopt_generation("memory")
        assert self.numbers(index) == {0, 1, 2}

    def test_generation_that_was_not_built_is_refused(self, index: OwnIndex) -> None:
        index.apply("memory", [point(n) for n in range(3)])
        index.start_generation("memory")
        with pytest.raises(IndexUnavailable):
            index.adopt_generation("memory")
        assert self.numbers(index) == {0, 1, 2}
        self.build(index, index.start_generation("memory"), range(4))
        index.adopt_generation("memory")
        assert self.numbers(index) == {0, 1, 2, 3}

    def test_a_used_kind_is_not_unused(self, index: OwnIndex) -> None:
        assert index.is_unused("live")
        index.apply("live", [point(1)])
        assert not index.is_unused("live")

    def test_read_ahead_stops_on_request(self, index: OwnIndex) -> None:
        index.apply("memory", [point(1)])
        index.read_ahead(stop=lambda: True)
        index.read_ahead(stop=lambda: False)
        assert self.found(index, HERE) == {1}

    def test_nothing_is_lost_while_generations_are_swapped(self, index: OwnIndex) -> None:
        index.apply("memory", [point(n, f"phrase {n}") for n in range(100)])
        done = threading.Event()
        written = [100]

        def read() -> None:
            while not done.is_set():
                hits = index.nearest("memory", unit(1.0), limit=5000, where=HERE)
                assert {point_id(n) for n in range(100)} <= {hit.id for hit in hits}
                sleep(0.005)  # An engine may hold the GIL: leave some to the other threads.

        def write() -> None:
            while not done.is_set():
                number = written[0]
                removed = [point_id(number - 1)] if number % 3 == 0 and number > 100 else []
                index.apply("memory", [point(number)], removed)
                near = index.nearest("memory", unit(1.0), limit=5000, where=HERE)
                assert point_id(number) in {hit.id for hit in near}
                written[0] += 1
                sleep(0.005)

        with ThreadPoolExecutor(5) as threads:
            working = [threads.submit(work) for work in (read, read, read, read, write)]
            try:
                for graph in (True, False):
                    target = index.start_generation("memory")
                    # A snapshot as another process takes it: all ids indexed at one instant.
                    points = [point(number) for number in self.numbers(index)]
                    index.build(target, dimensions=self.DIMENSIONS, points=points, graph=graph)
                    index.adopt_generation("memory")
            finally:
                done.set()
            for future in working:
                future.result()
        assert self.numbers(index) == {
            n
            for n in range(written[0])
            if n < 100 or (n + 1) % 3 or n + 1 >= written[0] or n + 1 == 100
        }


_SENTENCES = (
    "Camille a planté un cerisier derrière la grange",
    "The ferry to the island leaves at noon",
    "Le chat de la voisine s'appelle Moustache",
)

_AWKWARD = {
    "empty": "",
    "blank": " \n\t ",
    "nul": "\x00",
    "controls": "\x1b[31mred\x07\x7f\x9f",
    "lone surrogate": "a\ud800b",
    "only surrogates": "\udfff\ud800",
    "emoji": "👩‍👩‍👧 🎉",
    "right to left": "\u202eمرحبا",
    "zero width": "\u200b\ufeff",
    "combining": "e" + "\u0301" * 200,
    "one word": "a" * 5_000,
    "long": "Il pleut sur le port. " * 50_000,
}


def _assert_unit(vectors: Vectors, rows: int, columns: int) -> None:
    assert vectors.shape == (rows, columns)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)


class EmbedderContract:
    """The contract of every `Embedder`. Subclass it in a test module and give it an `embedder` fixture."""

    def test_says_what_it_is(self, embedder: Embedder) -> None:
        assert embedder.model.strip() == embedder.model != ""
        assert embedder.dimensions > 0
        assert 0.0 < embedder.dedup_threshold < 1.0

    def test_gives_one_unit_vector_per_text(self, embedder: Embedder) -> None:
        _assert_unit(embedder.embed(_SENTENCES), len(_SENTENCES), embedder.dimensions)

    def test_no_text_gives_no_vector(self, embedder: Embedder) -> None:
        assert embedder.embed([]).shape == (0, embedder.dimensions)

    def test_a_text_has_the_same_vector_alone_and_in_company(self, embedder: Embedder) -> None:
        together = embedder.embed(_SENTENCES)
        alone = np.vstack([embedder.embed([sentence]) for sentence in _SENTENCES])
        assert np.allclose(together, alone, atol=1e-4)

    def test_different_texts_have_different_vectors(self, embedder: Embedder) -> None:
        vectors = embedder.embed(_SENTENCES)
        assert np.triu(vectors @ vectors.T, k=1).max() < 0.99

    def test_many_texts_keep_their_order(self, embedder: Embedder) -> None:
        texts = [f"billet numéro {number} pour le bal" for number in range(300)]
        vectors = embedder.embed(texts)
        _assert_unit(vectors, len(texts), embedder.dimensions)
        for row in (0, 127, 128, 299):
            assert np.allclose(vectors[row], embedder.embed([texts[row]])[0], atol=1e-4)

    def test_a_query_comes_with_its_words(self, embedder: Embedder) -> None:
        words = ("cerisier", "grange")
        query, vectors = embedder.embed_query("où est le cerisier ?", words)
        _assert_unit(query[np.newaxis], 1, embedder.dimensions)
        _assert_unit(vectors, len(words), embedder.dimensions)
        assert np.allclose(vectors, embedder.embed(words), atol=1e-4)

    def test_a_query_needs_no_words(self, embedder: Embedder) -> None:
        query, vectors = embedder.embed_query("où est le cerisier ?")
        _assert_unit(query[np.newaxis], 1, embedder.dimensions)
        assert vectors.shape == (0, embedder.dimensions)

    @pytest.mark.parametrize("text", _AWKWARD.values(), ids=_AWKWARD.keys())
    def test_any_string_can_be_embedded(self, embedder: Embedder, text: str) -> None:
        _assert_unit(embedder.embed([text]), 1, embedder.dimensions)
        query, words = embedder.embed_query(text, [text])
        _assert_unit(query[np.newaxis], 1, embedder.dimensions)
        _assert_unit(words, 1, embedder.dimensions)

    def test_an_awkward_text_leaves_its_neighbours_alone(self, embedder: Embedder) -> None:
        mixed = embedder.embed([_SENTENCES[0], _AWKWARD["lone surrogate"], _SENTENCES[1]])
        assert np.allclose(mixed[[0, 2]], embedder.embed(_SENTENCES[:2]), atol=1e-4)

    def test_many_threads_get_their_own_vectors(self, embedder: Embedder) -> None:
        texts = [f"la {number}e lettre de Camille" for number in range(64)]
        expected = embedder.embed(texts)
        with ThreadPoolExecutor(16) as pool:
            found = [vector for vector, _ in pool.map(embedder.embed_query, texts)]
        # A service may turn a query a little away from the same text as a document.
        assert (np.vstack(found) @ expected.T).argmax(axis=1).tolist() == list(range(len(texts)))
