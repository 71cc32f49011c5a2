"""The numbers of the learnt model: evidence says what it says, and storing keeps the model."""

import random

import numpy as np
import pytest

from hippocampe.language.statement import parse
from hippocampe.updates.alignment import align
from hippocampe.updates.evidence import Evidence, common_subsequence, evidence_of
from hippocampe.updates.learnt import OUTCOMES, load_model, log_softmax


def told(old: str, new: str) -> Evidence:
    return evidence_of(align(parse(old), parse(new)), 0.6)


def test_probabilities_add_up_to_one() -> None:
    model = load_model()
    evidence = [told("Le marché est le mardi", "Le marché est désormais le jeudi")]
    logits = np.array([[2, 1, 0, -1, 0.5]], np.float32)
    for shares in (model.by_evidence(evidence), model.by_both(evidence, logits)):
        assert shares.shape == (1, len(OUTCOMES))
        assert shares.sum() == pytest.approx(1.0, abs=1e-4)


def test_the_weights_say_where_they_are_from() -> None:
    model = load_model()
    assert model.provenance["program"] == "benchmarks/learn_decide.py"
    assert model.provenance["measured"]
    assert set(model.thresholds) == {"merge", "careful", "review", "read"}
    assert set(model.names) == set(told("a b", "b a"))


def test_the_cosine_of_another_embedder_counts_as_average() -> None:
    model = load_model()
    assert model.cosine(0.9, model.embedder) == 0.9
    assert model.cosine(0.9, "other") == model.cosine(0.1, "other")


@pytest.mark.parametrize(
    ("old", "new", "name", "value"),
    [
        ("Anna lives in Lille", "Anna lives in Lyon", "one_substituted", 1),
        ("Anna lives in Lille", "Anna lives happily in Lyon", "one_substituted", 0),
        ("Anna lives in Lille", "Anna lives in Lyon", "one_word", 0),
        ("the cat is black", "the cat is white", "one_word", 1),
        ("number 41 is taken", "number 42 is taken", "one_word", 1),
        ("the code is 41", "the code is 42", "one_word", 0),
        ("Anna lives in Lille", "Paul lives in Lille", "other_name", 1),
        ("Anna lives in Lille", "she lives in Lille", "other_name", 0),
        ("Tal is the uncle of Ryder", "Ryder is the uncle of Tal", "names_moved", 1),
        ("Anna lives in Lille", "Lille is where Anna lives", "names_moved", 1),
        ("Anna lives in Lille", "Anna moved to Lyon", "names_moved", 0),
        ("Anna lives in Lille", "In Lille lives Anna", "names_moved", 0),
        ("Born in Lille, died in Metz", "Born in Metz, died in Lille", "names_moved", 1),
        ("Anna smokes", "Anna no longer smokes", "other_polarity", 1),
        ("Anna smokes", "Anna has quit smoking", "other_polarity", 1),
        ("Anna fume", "Anna veut fumer", "hedged", 1),
        ("Anna a un vélo", "Anna a dit adieu à son vélo", "hedged", 0),
        ("Anna has a bike", "Anna said goodbye to her bike", "hedged", 0),
        ("Anna court", "Anna ne court plus", "other_polarity", 1),
        ("Anna wants to run", "Anna runs", "no_longer_hedged", 1),
        ("Anna wants to run", "Anna hopes to run", "no_longer_hedged", 0),
        ("the train leaves at 8 am", "the train leaves at 9 am", "other_value", 1),
        ("the train leaves at 8 am", "the train leaves on Monday", "other_value", 0),
        ("le cours est le lundi", "le cours est désormais le mardi", "change", 1),
        ("I like tea", "my brother likes tea", "same_subject", 0),
        ("Anna plays the tuba", "Anna plays the tuba", "covered", 1),
    ],
)
def test_evidence_says_what_it_is_named(old: str, new: str, name: str, value: float) -> None:
    assert told(old, new)[name] == value


def test_probabilities_of_large_logits_are_finite() -> None:
    assert np.exp(log_softmax(np.array([[500.0, -500.0]], np.float32))).tolist() == [[1.0, 0.0]]


def test_the_longest_common_subsequence() -> None:
    def by_table(ours: list[str], theirs: list[str]) -> int:
        before = [0] * (len(theirs) + 1)
        for one in ours:
            row = [0]
            for at, other in enumerate(theirs):
                row.append(before[at] + 1 if one == other else max(before[at + 1], row[at]))
            before = row
        return before[-1]

    chance = random.Random(5)
    for _ in range(300):
        ours, theirs = (
            [chance.choice("abcdef") for _ in range(chance.randrange(most))] for most in (90, 30)
        )
        assert common_subsequence(ours, theirs) == by_table(ours, theirs)
