from dataclasses import replace

import numpy as np
import pytest

from hippocampe.embed.word_space import Floats, WordVectors
from hippocampe.language import questions
from hippocampe.retrieval import fusion, scoring, signals
from hippocampe.retrieval.late_interaction import Texts
from hippocampe.retrieval.measured import CandidateFeatures, QueryFeatures
from hippocampe.retrieval.signals import SIGNALS

VECTORS = np.eye(6, dtype=np.float32)


def probability(measured: Floats) -> Floats:
    return scoring.score(measured)[0]


def query(*words: int, asks: frozenset[str] = frozenset(), named: str = "") -> QueryFeatures:
    names = (*(f"w{word}" for word in words[:-1]), named or f"w{words[-1]}")
    return QueryFeatures(names, VECTORS[list(words)], np.ones(len(words), dtype=np.float32), asks)


def candidates(*rows: list[int], around: tuple[list[int], ...] = ()) -> CandidateFeatures:
    n, everything = len(rows), [*rows, *around]
    total = len(everything)
    return CandidateFeatures(
        dense=np.full(n, 0.3, dtype=np.float32),
        window=np.full(n, np.nan, dtype=np.float32),
        bm25=np.zeros(n, dtype=np.float32),
        vectors=WordVectors.of(VECTORS),
        texts=Texts(
            np.array([word for row in everything for word in row], dtype=np.int64),
            np.cumsum([0, *map(len, everything)]),
        ),
        neighbours=np.full((n, 4), -1),
        question=np.zeros(total, dtype=bool),
        number=np.zeros(total, dtype=bool),
        date=np.zeros(total, dtype=bool),
        authors=[None] * n,
        session=np.full(n, -1),
        at=np.full(n, np.nan),
        importance=np.full(n, np.nan, dtype=np.float32),
        uses=np.full(n, np.nan, dtype=np.float32),
        place=np.zeros(n, dtype=bool),
        topics=np.zeros(sum(map(len, everything)), np.uint64),
        values=np.zeros(n, np.int64),
        names=np.zeros(n, np.int64),
    )


def column(measured: signals.Floats, name: str) -> list[float]:
    return measured[:, SIGNALS.index(name)].tolist()


def test_fusing_adds_weighted_reciprocal_ranks() -> None:
    rankings = {"words": ["a", "b"], "meaning": ["b", "c"]}
    assert fusion.fuse(rankings, {}) == ["b", "a", "c"]
    assert fusion.fuse(rankings, {"words": 0.0}) == ["b", "c", "a"]
    assert fusion.fuse({}, {}) == []


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("When did she leave?", {"when"}),
        ("Depuis combien de temps ?", {"when", "number"}),
        ("How many dogs do I have?", {"number", "first_person"}),
        ("Où habite David ?", {"where"}),
        ("In which town does she work?", {"where"}),
        ("Thé ou café ?", set[str]()),
        ("qu'est-ce que j'aime", {"first_person"}),
        ("Which US states did they see?", set[str]()),
        ("Did he tell us?", {"first_person"}),
    ],
)
def test_what_is_asked(question: str, asked: set[str]) -> None:
    assert questions.asks(question) == asked


def test_rare_words_weigh_more_and_weights_stay_positive() -> None:
    weights = signals.rarity(np.array([0, 1, 50, 100]), 100)
    assert (np.diff(weights) < 0).all()
    assert weights[-1] > 0
    assert signals.rarity(np.array([5]), 3)[0] > 0


def test_words_of_a_small_space_weigh_as_in_a_usual_one() -> None:
    assert signals.rarity(np.array([0, 1]), 1) == pytest.approx(
        signals.rarity(np.array([0, 1]), signals.MIN_DOCUMENTS)
    )
    known, unknown = signals.rarity(np.array([1, 0]), 1)
    assert known > unknown / 2


def test_a_better_match_is_more_relevant() -> None:
    found = candidates([0, 1], [0, 4], [4, 5])
    scores = probability(signals.measure(query(0, 1), found))
    assert scores[0] > scores[1] > scores[2]
    assert ((scores > 0) & (scores < 1)).all()


def test_order_of_candidates_does_not_matter() -> None:
    rows = [[0, 1], [0, 4, 2], [4, 5], [1]]
    ahead = probability(signals.measure(query(0, 1), candidates(*rows)))
    behind = probability(signals.measure(query(0, 1), candidates(*rows[::-1])))
    assert np.allclose(ahead, behind[::-1], atol=1e-5)


def test_a_neighbour_lends_its_words() -> None:
    found = candidates([4], [4], around=([0],))
    beside = np.full((2, 4), -1)
    beside[0, 1] = 2
    measured = signals.measure(query(0, 1), replace(found, neighbours=beside))
    assert column(measured, "late") == [0, 0]
    assert column(measured, "before")[0] == pytest.approx(0.5)
    assert np.isnan(column(measured, "before")[1])


def test_what_a_source_lacks_adds_nothing() -> None:
    measured = signals.measure(query(0, 1), candidates([0, 1], [4]))
    assert np.isnan(column(measured, "before")).all()
    named = {reason.name for reason in scoring.explain(measured, 0)}
    assert named.isdisjoint({"before", "session", "importance", "in_window"})


def test_facts_and_turns_stand_in_one_list() -> None:
    found = candidates([0, 1], [0, 1], [4, 5], around=([0],))
    beside = np.full((3, 4), -1)
    beside[1, 1] = 3
    mixed = replace(
        found, neighbours=beside, importance=np.array([0.9, np.nan, np.nan], dtype=np.float32)
    )
    scores = probability(signals.measure(query(0, 1), mixed))
    assert np.isfinite(scores).all()
    assert scores[:2].min() > scores[2]


def test_the_speaker_who_is_named_is_told_from_others() -> None:
    found = replace(candidates([0], [0], [0]), authors=["Ana Ruiz", "Bob", None])
    measured = signals.measure(query(0, 1, named="ana"), found)
    assert column(measured, "named") == [1, 0, 0]
    assert column(measured, "other_named") == [0, 1, 1]


def test_who_asks_about_themselves_is_brief_only_beside_long_answers() -> None:
    asked = query(0, 1, asks=frozenset({"first_person"}))
    talk = signals.measure(asked, candidates([0, 2], [0] * 9, [0] * 4))
    assert not any(column(talk, "length_if_first_person"))
    long = signals.measure(asked, candidates([0, 2] * 9, [0] * 400, [0] * 90))
    assert column(long, "length_if_first_person") == column(long, "length")
    assert not any(
        column(signals.measure(query(0, 1), candidates([0], [0] * 400)), "length_if_first_person")
    )


def test_dates_matter_when_a_date_is_asked() -> None:
    found = replace(candidates([0], [0]), date=np.array([True, False]))
    asked = signals.measure(query(0, 1, asks=frozenset({"when"})), found)
    assert (column(asked, "date_asked"), column(asked, "date_missing")) == ([1, 0], [0, 1])
    assert not any(column(signals.measure(query(0, 1), found), "date_asked"))


def test_places_matter_when_a_place_is_asked() -> None:
    found = replace(candidates([0], [0]), place=np.array([True, False]))
    asked = signals.measure(query(0, 1, asks=frozenset({"where"})), found)
    assert (column(asked, "place_asked"), column(asked, "place_missing")) == ([1, 0], [0, 1])
    other = signals.measure(query(0, 1), found)
    assert not any(column(other, "place_asked") + column(other, "place_missing"))


def of_topics(found: CandidateFeatures, *topics: int) -> CandidateFeatures:
    """Candidates whose word n speaks of the nth of these topics."""
    return replace(found, topics=np.array(topics, np.uint64)[found.texts.ids])


def test_a_word_of_the_same_topic_covers_as_the_word_itself_does() -> None:
    found = of_topics(candidates([4], [5], [0], [5]), 2, 0, 0, 0, 2, 4)
    measured = signals.measure(replace(query(0), topics=(2,)), found)
    covered = column(measured, "covered")
    assert 0 < covered[0] <= 1
    assert covered[1] == covered[3] == 0
    assert covered[2] == pytest.approx(1)
    assert column(measured, "late")[:2] == [0, 0]
    scores = probability(measured)
    assert scores[0] > scores[1]


def test_a_topic_that_few_candidates_share_covers_more() -> None:
    rare = of_topics(candidates([4], [5], [5], [5]), 2, 0, 0, 0, 2, 4)
    common = of_topics(candidates([4], [4], [4], [5]), 2, 0, 0, 0, 2, 4)
    asked = replace(query(0), topics=(2,))
    best, worse = (column(signals.measure(asked, found), "covered")[0] for found in (rare, common))
    assert best > worse > 0


def test_small_talk_shows_and_covers_nothing() -> None:
    found = of_topics(candidates([4], [5]), 1, 0, 0, 0, 1, 0)
    measured = signals.measure(replace(query(0, 1), topics=(1, 0)), found)
    assert column(measured, "chatter") == [0.5, 0.5]
    assert column(measured, "covered") == [0, 0]


def test_what_only_repeats_the_query_answers_nothing() -> None:
    measured = signals.measure(query(0, 1), candidates([0, 0], [0, 4], [0, 1], []))
    assert column(measured, "says_no_more") == pytest.approx([0.5, 0, 0, 1])


def test_the_best_is_told_by_how_far_ahead_it_is() -> None:
    measured = signals.measure(query(0, 1), candidates([0, 1], [0], [4]))
    assert column(measured, "ahead") == pytest.approx([0.5, -0.5, -1])
    lone = column(signals.measure(query(0), candidates([0])), "ahead")
    assert lone == pytest.approx([1.3 - signals.LONE_RUNNER_UP])


def test_memories_are_weighed_as_statements() -> None:
    found = candidates([0, 4], [4, 5], [0, 5])
    alone = signals.measure(query(0, 1), found)
    kept = signals.measure(query(0, 1), replace(found, importance=np.array([np.nan, 0.6, np.nan])))
    shares = scoring.blend(kept)
    assert shares.sum(axis=1) == pytest.approx([1, 1, 1])
    statement = scoring.WEIGHT_KINDS.index("statement")
    assert (shares[:, statement] > 0).tolist() == [False, True, False]
    model = scoring.load_model()
    apart = scoring.own_log_odds(model, kept) - scoring.own_log_odds(model, alone)
    assert apart[[0, 2]] == pytest.approx([0, 0], abs=1e-5)
    assert apart[1] != pytest.approx(0, abs=1e-5)


def test_the_best_of_equals_is_less_sure_than_one_clear_answer() -> None:
    model = scoring.load_model()
    added: list[float] = []
    for found in (candidates([0, 1], *[[4]] * 119), candidates(*[[0, 1]] * 40, *[[4]] * 80)):
        measured = signals.measure(query(0, 1), found)
        odds = scoring.own_log_odds(model, measured)
        others = np.log(np.exp(odds[1:]).sum() + np.exp(scoring.NO_RIVAL_LOG_ODDS))
        assert scoring.rival_log_odds(odds)[0] == pytest.approx(others, abs=1e-4)
        reason = {each.name: each for each in scoring.explain(measured, 0)}["rivals"]
        assert reason.value == pytest.approx(others, abs=1e-4)
        score = probability(measured)[0]
        assert np.log(score / (1 - score)) == pytest.approx(odds[0] + reason.contribution, abs=1e-3)
        added.append(reason.contribution)
    clear, equals = added
    assert clear > equals + 0.5


def test_a_few_rivals_change_little() -> None:
    measured = signals.measure(query(0, 1), candidates([0, 1], [4]))
    taken = scoring.explain(measured, 0)
    assert abs({each.name: each for each in taken}["rivals"].contribution) < 0.1


def test_the_time_spoken_of_lifts_what_was_then() -> None:
    found = replace(candidates([0], [0], [0]), at=np.array([50.0, 500.0, np.nan]) * 86_400)
    asked = replace(query(0, 1), window=(0.0, 100.0 * 86_400))
    measured = signals.measure(asked, found)
    assert column(measured, "in_window")[:2] == pytest.approx([0.9, 0])
    scores = probability(measured)
    assert scores[0] > scores[1]
    assert scores[1] == pytest.approx(scores[2], abs=1e-6)


def test_a_time_that_all_share_lifts_none() -> None:
    day = 86_400.0
    found = replace(candidates(*[[0]] * 20), at=np.arange(20.0) * day)
    asked = replace(query(0, 1), window=(0.0, 100 * day))
    assert not any(column(signals.measure(asked, found), "in_window"))


def test_a_window_is_soft_at_its_end() -> None:
    day = 86_400.0
    found = replace(candidates(*[[0]] * 20), at=np.arange(20.0) * 30 * day)
    asked = replace(query(0, 1), window=(30 * day, 59 * day))
    inside = column(signals.measure(asked, found), "in_window")
    assert inside[0] == inside[3] == 0.0
    assert inside[1] > inside[2] > 0.5
    asked = replace(asked, window=(30 * day, 31 * day))
    assert column(signals.measure(asked, found), "in_window")[2] == 0.0


def test_importance_breaks_ties() -> None:
    found = replace(candidates([0], [0]), importance=np.array([1.0, 0.3], dtype=np.float32))
    scores = probability(signals.measure(query(0, 1), found))
    assert scores[0] > scores[1]


def test_sessions_lend_the_strength_of_other_turns() -> None:
    found = replace(candidates([0, 1], [4], [4]), session=np.array([7, 7, 8]))
    measured = signals.measure(query(0, 1), found)
    own = 1 / (1 + 0.25 * np.log1p(2))
    assert column(measured, "session") == pytest.approx([0, own, 0])


def test_contributions_tell_candidates_apart_exactly() -> None:
    measured = signals.measure(query(0, 1), candidates([0, 1], [0, 4], [4, 5]))
    scores = probability(measured)
    odds = np.log(scores / (1 - scores))
    added = [
        sum(reason.contribution for reason in scoring.explain(measured, row)) for row in range(3)
    ]
    assert np.allclose(odds - odds[0], np.array(added) - added[0], atol=1e-3)


def test_explanations_rank_the_candidates_signal_by_signal() -> None:
    measured = signals.measure(query(0, 1), candidates([4, 5], [0, 4], [0, 1]))
    late = [{r.name: r for r in scoring.explain(measured, row)}["late"] for row in range(3)]
    assert [reason.rank for reason in late] == [3, 2, 1]


def test_one_candidate_and_empty_texts_are_scored() -> None:
    assert np.isfinite(probability(signals.measure(query(0), candidates([])))).all()
    assert np.isfinite(probability(signals.measure(query(0), candidates([], [0])))).all()


def test_the_weights_say_where_they_come_from() -> None:
    import json
    from importlib import resources

    entries = json.loads((resources.files("hippocampe") / "data" / "rank.json").read_text())
    assert {"program", "collections", "licences", "date"} <= set(entries["provenance"])
    assert set(entries["signals"]) == set(SIGNALS)


def test_a_better_match_never_counts_against_a_candidate() -> None:
    matches = SIGNALS[: SIGNALS.index("length")]
    assert (scoring.load_model().weights[:, : len(matches)] >= 0).all()


def test_a_few_candidates_are_measured_against_what_is_usual() -> None:
    few = signals.measure(query(0, 1), candidates([0, 1], [4]))
    best, other = probability(few)
    assert best > 0.3 > 5 * other
