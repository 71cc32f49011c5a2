"""The trees of the learnt model are evaluated without walking them, and the evidence is what it says."""

import random

import numpy as np

from hippocampe.updates.evidence import _common_subsequence
from hippocampe.updates.learnt import LEAVES, Trees, load_model


def test_a_tree_reaches_the_leaf_that_its_nodes_lead_to() -> None:
    leaves = np.zeros((2, LEAVES), np.float32)
    leaves[0, :3] = 1.0, 2.0, 4.0
    leaves[1, 0] = 0.5
    trees = Trees(
        # The first tree asks for 0, and on its left for 1; the second has one leaf.
        feature=np.array([0, 1, 0]),
        threshold=np.array([0.0, 5.0, np.inf], np.float32),
        right=np.array([0b11111100, 0b11111110, 0b1], np.uint8),
        first=np.array([0, 2]),
        leaves=leaves,
        base=np.array([10.0, 20.0], np.float32),
    )
    evidence = np.array([[-1, 5], [0, 6], [1, 5], [1, 9]], np.float32)
    assert trees.logits(evidence).tolist() == [[11, 20.5], [12, 20.5], [14, 20.5], [14, 20.5]]


def test_the_shipped_trees_send_each_pair_to_one_leaf() -> None:
    trees = load_model().trees
    assert len(trees.first) % len(trees.base) == 0
    assert set(np.diff([*trees.first, len(trees.feature)])) <= set(range(1, LEAVES))
    assert trees.feature.max() < len(load_model().names)


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
        assert _common_subsequence(ours, theirs) == by_table(ours, theirs)
