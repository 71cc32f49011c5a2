"""The learnt decision: its vetoes, its reasons, its determinism, and that nothing is lost."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.language.reading.statement import read
from hippocampe.updates.alignment import align
from hippocampe.updates.decide import Decision, Verdict, decide
from hippocampe.updates.evidence import evidence_of
from hippocampe.updates.learnt import OUTCOMES, from_arrays, load_model, to_arrays
from hippocampe.updates.weighing import Side, Weighed, conclude, weigh, worth_weighing

SCOPE = Scope(space="s")
THRESHOLDS = {"merge": 0.7, "careful": 0.8, "review": 0.2, "read": 0.03}
SURE = {"update": 0.9, "same": 0.9, "detail": 0.9}


def side(text: str) -> Side:
    """A statement whose words are all unlike each other."""
    reading = read(text)
    vectors = [np.eye(64, dtype=np.float32)[hash_of(word)] for word in reading.words]
    return Side(reading, np.array(vectors, np.float32).reshape(-1, 64))


def hash_of(word: str) -> int:
    return sum(map(ord, word)) % 64


def concluded(old: str, new: str, shares: Mapping[str, float]) -> tuple[Verdict, str]:
    ours, theirs = side(old), side(new)
    aligned = align(ours.reading, theirs.reading, ours.vectors, theirs.vectors)
    told = evidence_of(aligned, 0.6, ours.vectors, theirs.vectors)
    shares = {"separate": 1 - sum(shares.values()), **shares}
    share = np.array([shares.get(outcome, 0.0) for outcome in OUTCOMES], np.float32)
    decision = conclude(aligned, told, share, decide(new, old), THRESHOLDS)
    return decision.verdict, decision.reason


def test_a_likely_update_replaces_and_names_both_values() -> None:
    verdict, reason = concluded(
        "La piscine ferme à 19 h", "La piscine ferme à 21 h", {"update": 0.8}
    )
    assert verdict is Verdict.UPDATED
    assert "19:00" in reason
    assert "21:00" in reason
    assert "80%" in reason


def test_what_is_not_sure_is_listed_and_the_unlikely_is_not() -> None:
    old, new = "La piscine ferme à 19 h", "La piscine ferme à 21 h"
    assert concluded(old, new, {"update": 0.5})[0] is Verdict.UNSURE
    assert concluded(old, new, {"update": 0.1})[0] in (Verdict.RELATED, Verdict.APART)


def test_saying_the_same_needs_most_of_the_share() -> None:
    shares = {"update": 0.3, "same": 0.35, "detail": 0.2}
    assert concluded("La piscine ferme tard", "La piscine ferme à 21 h", shares)[0] is (
        Verdict.UPDATED
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Le club se réunit le lundi", "Le club se réunit le mardi ?"),
        ("Le club se réunit le lundi", "Je crois que le club se réunit le mardi"),
        ("The club meets on Mondays", "Apparently the club meets on Tuesdays"),
        ("Je suis allergique au pollen", "Ma sœur est allergique au pollen"),
        ("Paul et Inès sont mariés", "Paul et Inès ont failli divorcer"),
        ("Mark smokes", "Mark nearly quit smoking"),
        ("j'habite à Nantes", "j'habite au troisième étage"),
        ("Marc fume", "Marc ne fume plus à la maison"),
        ("Zoé a 3 enfants et un chien", "Zoé a 4 enfants"),
        ("Hugo est développeur chez Capgemini", "Hugo est commercial chez Capgemini"),
    ],
)
def test_however_likely_these_are_listed(old: str, new: str) -> None:
    assert concluded(old, new, {"update": 0.99})[0] is Verdict.UNSURE


def test_the_model_is_deterministic_and_survives_storing(tmp_path: Path) -> None:
    model = load_model()
    ours, theirs = side("Le marché est le mardi"), side("Le marché est désormais le jeudi")
    rule = decide(theirs.reading.text, ours.reading.text)
    told = evidence_of(
        align(ours.reading, theirs.reading, ours.vectors, theirs.vectors), 0.8,
        ours.vectors, theirs.vectors,
    )  # fmt: skip
    shares = model.probabilities([told])
    assert shares.sum(axis=1) == pytest.approx(1.0, abs=1e-4)
    again = from_arrays(to_arrays(model, {"program": "none"}))
    assert np.array_equal(shares, again.probabilities([told]))
    olds = [Weighed(ours, 0.8, rule)] * 2
    (first, second) = weigh(olds, theirs, model, unread)
    assert first == second == weigh(olds, theirs, again, unread)[0]


def unread(pairs: Sequence[tuple[str, str]]) -> None:
    """No reader is there."""


def test_what_may_merge_is_read_and_the_reader_counts() -> None:
    model = load_model()
    ours, theirs = side("Le marché est le mardi"), side("Le marché est désormais le jeudi")
    rule = Decision(Verdict.RELATED, "weighed", "no rule")
    asked: list[Sequence[tuple[str, str]]] = []

    def merging(column: int) -> float:
        def read(pairs: Sequence[tuple[str, str]]) -> np.ndarray:
            asked.append(pairs)
            return np.eye(len(OUTCOMES), dtype=np.float32)[[column]] * 12

        (decision,) = weigh([Weighed(ours, 0.8, rule)], theirs, model, read)
        return decision.probability or 0.0

    update, separate = merging(OUTCOMES.index("update")), merging(OUTCOMES.index("separate"))
    assert update > separate
    assert asked == [[("Le marché est le mardi", "Le marché est désormais le jeudi")]] * 2
    sure = replace(model, thresholds={**model.thresholds, "read": 1.1})
    assert weigh([Weighed(ours, 0.8, rule)], theirs, sure, unexpected)


def unexpected(pairs: Sequence[tuple[str, str]]) -> None:
    pytest.fail(f"read {pairs}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "On se retrouve au bar pour l'anniversaire de Léa",
            "finalement l'anniv de Léa c'est chez elle",
        ),
        ("I get up at six to feed the hens", "now the hens get their feed at eight, I sleep in"),
    ],
)
def test_a_correction_in_other_words_is_noticed(
    hippo: Hippocampe, reading: None, old: str, new: str
) -> None:
    first = hippo.remember(old, scope=SCOPE)
    second = hippo.remember(new, scope=SCOPE)
    listed = [{each.memory.id, each.other.id} for each in hippo.reviews(scope=SCOPE)]
    asked = {first.memory.id, second.memory.id} in listed
    assert second.replaced == (first.memory.id,) or asked


def test_the_weights_say_where_they_are_from() -> None:
    source = Path(__file__).parents[2] / "src" / "hippocampe" / "data" / "decide.npz"
    with np.load(source) as held:
        about = json.loads(bytes(held["about"]).decode())
    assert about["provenance"]["program"] == "benchmarks/learn_decide.py"
    assert about["provenance"]["measured"]
    assert set(THRESHOLDS) == set(about["thresholds"]) == set(about["joint_thresholds"])


LOSSLESS = [
    ("Gontran fait du judo et de l'aviron", "Gontran a arrêté l'aviron"),
    ("Eudes habite à Toulon", "Il paraît qu'Eudes a quitté Toulon"),
    ("The museum is free", "I think the museum is not free any more"),
]


@pytest.mark.parametrize(("old", "new"), LOSSLESS)
def test_what_changes_in_part_or_is_doubted_loses_nothing(
    hippo: Hippocampe, old: str, new: str
) -> None:
    first = hippo.remember(old, scope=SCOPE)
    second = hippo.remember(new, scope=SCOPE)
    assert second.action == "inserted"
    current = {memory.id for memory in hippo.recent(scope=SCOPE)}
    assert {first.memory.id, second.memory.id} <= current
    pairs = [{each.memory.id, each.other.id} for each in hippo.reviews(scope=SCOPE)]
    assert {first.memory.id, second.memory.id} in pairs


def test_a_correction_in_the_other_language_counts(hippo: Hippocampe) -> None:
    first = hippo.remember("Le vol de Léa pour Oslo part à 7 h 40.", scope=SCOPE)
    second = hippo.remember("Léa's flight to Oslo now leaves at 9:15.", scope=SCOPE)
    listed = [{each.memory.id, each.other.id} for each in hippo.reviews(scope=SCOPE)]
    asked = {first.memory.id, second.memory.id} in listed
    assert second.replaced == (first.memory.id,) or asked


def test_statements_that_are_far_are_weighed_only_with_a_common_keyword() -> None:
    new = {"covid", "fini", "test"}
    assert worth_weighing("g le covid", new, 0.25)
    assert worth_weighing("on part en Grèce", new, 0.4)
    assert not worth_weighing("on part en Grèce", new, 0.25)
    assert not worth_weighing("g le covid", new, 0.19)


def test_a_correction_that_is_far_is_seen_by_its_common_word(hippo: Hippocampe) -> None:
    old, new = "g le covid", "test négatif, c fini le covid pour moi"
    first, second = hippo._context.corpus.vocabulary.embedder.embed([old, new])
    assert first @ second < 0.35
    stored = hippo.remember(old, scope=SCOPE).memory
    corrected = hippo.remember(new, scope=SCOPE)
    pending = [review.other.id for review in hippo.reviews(scope=SCOPE)]
    assert stored.id in (*corrected.replaced, *pending)


@pytest.mark.parametrize("bare", ["👍", "::", "...", "?"])
def test_a_statement_without_words_stops_nothing(hippo: Hippocampe, bare: str) -> None:
    for each in (bare, "ok", "it is", f"{bare} {bare}", "le la les", bare):
        hippo.remember(each, scope=SCOPE)
    rule = decide("Le marché est le jeudi", bare)
    market = side("Le marché est le jeudi")
    assert weigh([Weighed(side(bare), 0.8, rule)], market, load_model(), unread) == [rule]
    assert weigh([Weighed(market, 0.8, rule)], side(bare), load_model(), unread) == [rule]


@pytest.mark.parametrize("other", ["Camille a 34 ans", "Camille joue du violoncelle"])
def test_two_names_for_one_person_ask_nothing_about_her(hippo: Hippocampe, other: str) -> None:
    rule = decide(other, "cam = Camille")
    assert weigh(
        [Weighed(side("cam = Camille"), 0.8, rule)], side(other), load_model(), unread
    ) == [rule]
    for each in ("cam = Camille", other, "Camille se fait appeler cam"):
        hippo.remember(each, scope=SCOPE)
    assert hippo.reviews(scope=SCOPE) == []


def test_a_new_statement_asks_about_one_old_one_at_most(hippo: Hippocampe) -> None:
    """Many are alike, because they are about the same people; the model weighs the nearest only."""
    waiting = 0
    for each in (
        "Camille prête son hachoir à manivelle à Owen",
        "Owen garde Pistache pendant les vacances de Camille",
        "Camille et Owen dînent au Phare Noir avec Margaret",
        "Owen a rendu le hachoir de Camille",
        "Margaret a oublié son écharpe verte chez Camille",
        "Camille garde les clés de la cave d'Owen",
        "Camille prend sa douche chez Owen",
    ):
        hippo.remember(each, scope=SCOPE)
        # A pair of a replaced memory moves on to it, and is not one more.
        before, waiting = waiting, len(hippo.reviews(scope=SCOPE))
        assert waiting <= before + 1


def test_of_several_doubtful_pairs_the_likeliest_is_listed(hippo: Hippocampe) -> None:
    for old in ("Le vol d'Ines pour Brest part à 8 h", "Le train d'Ines pour Brest part à 9 h"):
        hippo.remember(old, scope=SCOPE)
    before = len(hippo.reviews(scope=SCOPE))
    new = hippo.remember("Je crois que le vol d'Ines pour Brest part à 7 h", scope=SCOPE).memory
    listed = [
        each for each in hippo.reviews(scope=SCOPE) if new.id in (each.memory.id, each.other.id)
    ]
    assert len(listed) == len(hippo.reviews(scope=SCOPE)) - before == 1
