"""The extra's models are downloads, so a package of a few lines stands in for it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hippocampe.embed import open_embedder
from hippocampe.errors import EmbedderUnavailable
from hippocampe.protocols import Embedder
from hippocampe.testing import EmbedderContract

STAND_IN = """
import zlib
import numpy as np

class TextEmbedding:
    def __init__(self, model_name):
        if model_name == "no/such-model":
            raise ValueError("Model no/such-model is not supported in TextEmbedding.")

    def passage_embed(self, texts):
        for text in texts:
            seed = zlib.crc32(text.encode())
            yield np.random.default_rng(seed).normal(0.0, 3.0, 16).astype(np.float32)

    def query_embed(self, texts):
        for row in self.passage_embed(texts):
            yield row + np.float32(0.1)
"""


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fastembed.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "fastembed", raising=False)


@pytest.fixture
def embedder() -> Iterator[Embedder]:
    yield open_embedder("fastembed:some/e5-model")
    sys.modules.pop("fastembed", None)


class TestFastEmbedder(EmbedderContract):
    pass


def test_it_is_named_after_its_model(embedder: Embedder) -> None:
    assert embedder.model == "fastembed:some/e5-model"
    assert embedder.dedup_threshold == 0.90


def test_queries_and_documents_are_told_apart(embedder: Embedder) -> None:
    query, words = embedder.embed_query("le phare", ["le phare"])
    assert np.array_equal(words, embedder.embed(["le phare"]))
    assert not np.allclose(query, words[0])


def test_an_unknown_model_is_explained() -> None:
    with pytest.raises(EmbedderUnavailable, match=r"not supported.*check the model's name"):
        open_embedder("fastembed:no/such-model").embed(["bonjour"])
