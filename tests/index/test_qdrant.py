"""The index in a Qdrant server: the contract, and what it does when the server is away."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import qdrant
from hippocampe.index.qdrant import QdrantIndex, ServerOptions
from hippocampe.testing import IndexContract
from qdrant import Node


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with qdrant.running() as [node]:
        yield node


def open_index(node: Node, folder: Path, model: str) -> QdrantIndex:
    options = ServerOptions(
        collection="test",
        urls=(node.url,),
        key=None,
        replicas=1,
        shards=1,
        quantized=False,
        on_disk=False,
        folder=folder,
    )
    return QdrantIndex.open(options, dimensions=IndexContract.DIMENSIONS, model=model)


class TestQdrantContract(IndexContract):
    """The contract on one server."""

    @pytest.fixture
    def index(
        self, node: Node, tmp_path: Path, request: pytest.FixtureRequest
    ) -> Iterator[QdrantIndex]:
        with closing(open_index(node, tmp_path / "index", request.node.nodeid)) as opened:
            yield opened
