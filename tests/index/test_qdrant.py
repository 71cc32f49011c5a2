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


def open_index(node: Node, folder: Path, model: str, key: str | None = None) -> QdrantIndex:
    options = ServerOptions(
        collection="test",
        urls=(node.url,),
        key=key,
        replicas=1,
        shards=1,
        quantized=False,
        on_disk=False,
        folder=folder,
    )
    return QdrantIndex.open(options, dimensions=IndexContract.DIMENSIONS, model=model)


def test_a_key_in_a_network_without_tls_is_no_warning(node: Node, tmp_path: Path) -> None:
    with closing(open_index(node, tmp_path / "index", "keyed", key="secret")) as opened:
        assert opened.count("memory") == 0


class TestQdrantContract(IndexContract):
    """The contract on one server."""

    @pytest.fixture
    def index(
        self, node: Node, tmp_path: Path, request: pytest.FixtureRequest
    ) -> Iterator[QdrantIndex]:
        with closing(open_index(node, tmp_path / "index", request.node.nodeid)) as opened:
            yield opened
