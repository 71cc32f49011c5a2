import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hippocampe.embed import word_space
from hippocampe.embed.word_space import WordSpace, WordVectors
from hippocampe.retrieval import late_interaction
from hippocampe.retrieval.late_interaction import Texts

# Five words: two near one another (0 and 1, cosine .8), the others apart.
VECTORS = np.array(
    [[1, 0, 0, 0], [0.8, 0.6, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]], dtype=np.float32
)

KNOWN = WordVectors.of(VECTORS)


def texts(*rows: list[int]) -> Texts:
    return Texts(
        np.array([word for row in rows for word in row], dtype=np.int64),
        np.cumsum([0, *map(len, rows)]),
    )


def match(
    query: list[int], rarity: list[float], documents: Texts, *literal: int
) -> late_interaction.Matches:
    only = np.array([word in literal for word in query])
    weights = np.array(rarity, dtype=np.float32)
    return late_interaction.match(KNOWN[query], weights, only, KNOWN, documents, len(documents))


def test_each_query_word_takes_its_best_match() -> None:
    found = match([0, 2], [1, 1], texts([1, 3], [0, 1, 2], [], [3]))
    assert np.allclose(found.words, [[0.8, 0], [1, 1], [0, 0], [0, 0]], atol=1e-3)


def test_vague_matches_count_for_nothing() -> None:
    weak = np.array([[1.0, 0], [0.39, 0.92]], dtype=np.float32)
    one = np.ones(1, dtype=np.float32)
    found = late_interaction.match(
        weak[:1], one, np.zeros(1, bool), WordVectors.of(weak), texts([1]), 1
    )
    assert found.words[0, 0] == 0


def test_a_literal_word_only_matches_itself() -> None:
    assert match([0], [1], texts([1], [0]), 0).words[:, 0].tolist() == [0, 1]


def test_late_is_the_share_of_rarity_met() -> None:
    met = np.array([[1, 0], [0, 1], [0.8, 0]], dtype=np.float32)
    shares = late_interaction.late(met, np.array([3, 1], dtype=np.float32))
    assert np.allclose(shares, [0.75, 0.25, 0.75 * 0.8**3])


def test_a_passage_holds_words_that_stand_close() -> None:
    close = [0, 2] + [3] * 60
    apart = [0] + [3] * 60 + [2]
    found = match([0, 2], [1, 1], texts(close, apart))
    assert np.allclose(found.passages, [1.0, 0.5])


def test_a_passage_never_reaches_into_the_next_text() -> None:
    assert np.allclose(match([0, 2], [1, 1], texts([0], [2])).passages, [0.5, 0.5])


def test_phrases_are_pairs_in_order_within_a_text() -> None:
    found = match([0, 2], [1, 1], texts([3, 0, 2], [2, 0], [0], [2]))
    assert np.allclose(found.phrases, [1, 0, 0, 0])


def test_mass_adds_up_what_every_word_meets() -> None:
    assert np.allclose(match([0], [2], texts([0, 0, 3], [1], [])).mass, [2, 0.8**3, 0], atol=2e-3)


def test_only_the_first_texts_are_read_closely() -> None:
    one = np.ones(1, dtype=np.float32)
    found = late_interaction.match(VECTORS[:1], one, np.zeros(1, bool), KNOWN, texts([0], [0]), 1)
    assert (len(found.words), len(found.passages), len(found.mass)) == (2, 1, 1)


@given(st.lists(st.lists(st.integers(0, 4), max_size=40), min_size=1, max_size=12))
def test_agrees_with_a_plain_loop(rows: list[list[int]]) -> None:
    query, rarity = [0, 2, 4], [2.0, 1.0, 0.5]
    held = KNOWN[np.arange(len(KNOWN))]
    found = match(query, rarity, texts(*rows))
    for number, row in enumerate(rows):
        for column, word in enumerate(query):
            cosines = [float(held[word] @ held[other]) for other in row]
            best = max((c for c in cosines if c >= late_interaction.FLOOR), default=0.0)
            assert found.words[number, column] == pytest.approx(best, abs=1e-5)


def test_a_byte_per_dimension_is_nearly_a_vector() -> None:
    chance = np.random.default_rng(7)
    vectors = chance.normal(size=(300, 128)).astype(np.float32)
    vectors[100:200] = vectors[:100] + 0.5 * vectors[100:200]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    known, every = WordVectors.of(vectors), np.arange(300)
    cosines = known.cosines(known[every], every)
    assert np.abs(cosines - vectors @ vectors.T).max() < 0.01
    assert np.diag(cosines) == pytest.approx(1.0, abs=1e-5)


def test_a_space_without_projection_keeps_every_dimension() -> None:
    space = WordSpace(np.ones(4, dtype=np.float32))
    assert np.allclose(space.place(VECTORS[:1] + 1), VECTORS[:1])


def test_the_default_embedder_has_a_shipped_space_and_others_none() -> None:
    from hippocampe.embed.local import DIMENSIONS, MODEL

    space = word_space.shipped(MODEL)
    assert space is not None
    assert space.place(np.ones((3, DIMENSIONS), dtype=np.float32)).shape == (3, 128)
    assert word_space.shipped("no such model") is None
