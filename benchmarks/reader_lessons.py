"""What the reader learns from, in one file, so that `reader_fit.py` needs nothing of the product.

The file is JSON, with `worlds` and `pairs`. A world is there several times, each time with other names: `texts` has the
lines of each time, and a question, `[times, [[user, content], ...], right, others, near]`, its message of each time, the
positions of the texts that answer it, those of others, the nearest first, and how many of these are near misses. A pair
is `[old, new, outcome, weight]`.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

import numpy as np

from hippocampe.embed import open_embedder
from reader_data import Candidate, Pair, World, more_pairs
from reader_names import renamed

TIMES_RENAMED: Final = 3
SEVERAL: Final = 3
"""Times that questions with several answers are read, and those of `PLAIN` worlds."""
PLAIN: Final = "-[23][0-9][0-9]"
"""The end of the names of worlds whose questions have words of their answers, and of those of software and offices."""
OTHERS: Final = 40
"""Texts that a question is read with in turn, besides the right ones."""
NEAR_MISSES: Final = 2
"""Near misses that are always read with a question without an answer."""

Ranked = Sequence[Sequence[Candidate]]


def store(
    path: Path, known: Sequence[tuple[World, Ranked]], found: Sequence[Pair], seed: int = 1
) -> dict[str, int]:
    """Write the file, and count what is in it.

    Args:
        path: The file.
        known: The worlds to learn from, each with what `recall` found for its questions.
        found: The pairs to learn from, to which others are added.
        seed: Of the other names.
    """
    chance = random.Random(seed)
    users = {text.user for world, _ in known for text in world.texts.values()}
    names = sorted(user for user in users if user.isalpha())
    worlds = [_world(world, ranked, names, chance) for world, ranked in known]
    embedder = open_embedder("local")
    made = more_pairs(
        found, [world for world, _ in known], lambda texts: np.array(embedder.embed(list(texts)))
    )
    pairs = [[each.old, each.new, each.label, each.weight] for each in (*found, *made)]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump({"worlds": worlds, "pairs": pairs}, file, ensure_ascii=False)
    count = sum(len(world["questions"]) for world in worlds)
    return {"worlds": len(worlds), "questions": count, "pairs": len(pairs)}


def _world(
    world: World, ranked: Ranked, names: Sequence[str], chance: random.Random
) -> dict[str, Any]:
    """A world with its own names and with others; of each question, what `recall` found first among the other texts."""
    all_names = [world, *(renamed(world, names, chance) for _ in range(TIMES_RENAMED))]
    places = {id: at for at, id in enumerate(world.texts)}
    plain = fnmatch(world.name, f"*{PLAIN}")
    questions: list[list[Any]] = []
    for at, (question, results) in enumerate(zip(world.questions, ranked, strict=True)):
        existing = world.known_at(question)
        right = [id for id in question.answers if id in existing]
        if question.kind in "QA" and not right:
            continue
        near = [id for id in question.near if id in existing][:NEAR_MISSES]
        rest = [each.id for each in results] + random.Random(0).sample(existing, len(existing))
        others = [id for id in dict.fromkeys([*near, *rest]) if id not in question.answers]
        asked = [each.questions[at] for each in all_names]
        questions.append(
            [
                SEVERAL if plain or len(right) > 1 else 1,
                [[each.user, each.content] for each in asked],
                [places[id] for id in right],
                [places[id] for id in others[:OTHERS]],
                len(near),
            ]
        )
    texts = [[text.line for text in each.texts.values()] for each in all_names]
    return {"name": world.name, "texts": texts, "questions": questions}
