"""Questions: their vectors come nearer to what answers them."""

from pathlib import Path

import numpy as np
import pytest

from hippocampe.embed.local import LocalEmbedder
from hippocampe.embed.questions import asks_for_several, towards_answers

WORLDS = Path(__file__).parents[2] / "benchmarks" / "data" / "reader"
"""Memories and questions in other words, from which nothing is learnt."""
FIRST = 3


def test_more_answers_are_among_the_nearest_texts() -> None:
    embedder = LocalEmbedder()
    found = {"plain": 0, "moved": 0}
    for path in sorted(WORLDS.glob("world-*.tsv")):
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
        ids = [row[1] for row in rows if row[0] == "M"]
        texts = embedder.embed([row[3] for row in rows if row[0] == "M"])
        for _, _, question, answers in (row for row in rows if row[0] == "Q"):
            plain, moved = embedder.embed([question])[0], embedder.embed_query(question)[0]
            for name, vector in (("plain", plain), ("moved", moved)):
                nearest = {ids[row] for row in np.argsort(-(texts @ vector))[:FIRST]}
                found[name] += not nearest.isdisjoint(answers.split())
    assert found["moved"] > 1.05 * found["plain"]


def test_a_moved_question_keeps_its_length() -> None:
    plain = LocalEmbedder().embed(["où travaille Nadia ?"])[0]
    moved = towards_answers(plain)
    assert moved @ moved == pytest.approx(1.0, abs=1e-5)
    assert 0.3 < moved @ plain < 0.99


@pytest.mark.parametrize(
    ("message", "several"),
    [
        ("qui ne peut pas manger quoi dans la bande ?", True),
        ("tous les codes de la maison", True),
        ("everything planned for the last week of august", True),
        ("where does everyone work and since when", True),
        ("où travaille Nadia ?", False),
        ("code du garage", False),
        ("when does Tom land", False),
        ("j'ai mal dormi cette nuit", False),
    ],
)
def test_a_message_asks_for_one_text_or_for_several(message: str, several: bool) -> None:
    question, _ = LocalEmbedder().embed_query(message)
    assert asks_for_several(question) is several
