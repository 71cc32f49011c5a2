"""The index in a Qdrant server: the contract, and what it does when the server is away."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import trustme
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

import qdrant
from hippocampe.config import Config
from hippocampe.errors import EmbedderMismatch, IndexUnavailable
from hippocampe.index.qdrant import GRPC_PORT, PORT, QdrantIndex
from hippocampe.protocols import KINDS, Filter
from hippocampe.testing.contracts import SharedIndexContract, point
from qdrant import Node


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with qdrant.running() as [node]:
        yield node


def open_index(node: Node, folder: Path, model: str, key: str | None = None) -> QdrantIndex:
    config = Config(
        folder,
        database_url="postgresql://localhost/memory",
        qdrant_url=node.url,
        qdrant_key=key,
        qdrant_collection="test",
        qdrant_quantized=False,
    )
    return QdrantIndex.open(config, dimensions=SharedIndexContract.DIMENSIONS, model=model)


def test_a_key_in_a_network_without_tls_is_no_warning(node: Node, tmp_path: Path) -> None:
    with closing(open_index(node, tmp_path / "index", "keyed", key="secret")) as opened:
        assert opened.count("memory") == 0


def test_a_key_that_is_refused_and_a_server_that_is_away_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT__SERVICE__API_KEY", "right")
    with qdrant.running() as [guarded]:
        with pytest.raises(IndexUnavailable, match="check qdrant_key"):
            open_index(guarded, tmp_path, "guarded", key="wrong")
        with closing(open_index(guarded, tmp_path, "guarded", key="right")) as opened:
            assert opened.count("memory") == 0
            guarded.kill()
            for _ in range(2):
                with pytest.raises(
                    # The second call is not sent, and gives the reason of the first, which may meet the open connection.
                    IndexUnavailable,
                    match=r"(refused|Socket closed).* check that Qdrant runs, and qdrant_url",
                ) as error:
                    opened.count("memory")
                assert "last error" not in str(error.value)


def test_a_url_without_tls_of_a_server_with_it_is_refused_and_the_reverse(
    node: Node, tmp_path: Path
) -> None:
    answering = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(answering)

    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def refused() -> str:
        server = await asyncio.start_server(close, "127.0.0.1", 0, ssl=answering)
        async with server:
            port = server.sockets[0].getsockname()[1] - (GRPC_PORT - PORT)
            return await asyncio.to_thread(refusal, f"http://127.0.0.1:{port}")

    def refusal(url: str) -> str:
        config = Config(tmp_path, database_url="postgresql://localhost/memory", qdrant_url=url)
        with pytest.raises(IndexUnavailable) as error:
            QdrantIndex.open(config, dimensions=SharedIndexContract.DIMENSIONS, model="secure")
        return str(error.value)

    assert "expects TLS: write https://" in asyncio.run(refused())
    assert "does not use TLS: write http://" in refusal(node.url.replace("http:", "https:"))


def test_a_collection_that_was_deleted_is_made_again_and_new(node: Node, tmp_path: Path) -> None:
    with (
        closing(open_index(node, tmp_path / "index", "lost")) as opened,
        closing(QdrantClient(node.url, check_compatibility=False)) as client,
    ):
        assert opened.is_new()
        token = opened.start_filling()
        assert opened.is_new()
        assert opened.end_filling(token, "here")
        assert not opened.is_new()
        # The mark is no item.
        assert [opened.count(kind) for kind in KINDS] == [0] * len(KINDS)
        assert list(opened.ids("memory")) == []
        token = opened.start_filling()
        client.delete_collection(opened.collection)
        where = Filter(space="default", collections=("",), now=0.0)
        assert opened.matching("memory", "abeilles", limit=3, where=where) == []
        assert opened.is_new()
        # That of the old collection does not mark the new one.
        assert not opened.end_filling(token, "here")
        assert opened.is_new()


def test_the_reason_why_no_collection_could_be_made_is_named(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_index(node, tmp_path, "full")) as opened:

        def fail(_: QdrantIndex, server: QdrantClient) -> None:
            reason = b'{"status":{"error":"No space left on device"}}'
            raise UnexpectedResponse(500, "Internal", reason, httpx.Headers())

        monkeypatch.setattr(QdrantIndex, "_create", fail)
        with pytest.raises(IndexUnavailable, match="No space left on device"):
            opened.empty()


def test_a_collection_behind_an_alias_is_emptied_too(node: Node, tmp_path: Path) -> None:
    with (
        closing(open_index(node, tmp_path / "index", "moved")) as index,
        closing(open_index(node, tmp_path / "index", "restored")) as restored,
        closing(QdrantClient(node.url, check_compatibility=False)) as client,
    ):
        restored.apply("memory", [point(1)])
        client.delete_collection(index.collection)
        named = models.CreateAlias(collection_name=restored.collection, alias_name=index.collection)
        client.update_collection_aliases([models.CreateAliasOperation(create_alias=named)])
        index.apply("memory", [point(2)])
        assert index.count("memory") == 2
        index.empty()
        assert index.count("memory") == 0
        assert not client.collection_exists(restored.collection)
        index.remove()


def test_a_limit_of_the_server_on_writes_is_named(node: Node, tmp_path: Path) -> None:
    with closing(open_index(node, tmp_path, "limited")) as index:
        index.apply("memory", [point(1)])
        with closing(QdrantClient(node.url, check_compatibility=False)) as client:
            strict = models.StrictModeConfig(enabled=True, write_rate_limit=1)
            client.update_collection(index.collection, strict_mode_config=strict)
        with pytest.raises(IndexUnavailable, match="rate limit exceeded.*Nothing is lost"):
            for number in range(3):
                index.apply("memory", [point(number)])


@pytest.mark.parametrize(
    ("distance", "modifier"),
    [(models.Distance.EUCLID, models.Modifier.IDF), (models.Distance.COSINE, None)],
)
def test_a_collection_that_scores_otherwise_is_refused(
    node: Node, tmp_path: Path, distance: models.Distance, modifier: models.Modifier | None
) -> None:
    with (
        closing(open_index(node, tmp_path / "index", "foreign")) as opened,
        closing(QdrantClient(node.url, check_compatibility=False)) as client,
    ):
        client.delete_collection(opened.collection)
        client.create_collection(
            opened.collection,
            {"dense": models.VectorParams(size=SharedIndexContract.DIMENSIONS, distance=distance)},
            sparse_vectors_config={"bm25": models.SparseVectorParams(modifier=modifier)},
        )
        with pytest.raises(IndexUnavailable, match="was not made by this version of Hippocampe"):
            open_index(node, tmp_path / "other", "foreign")
        opened.remove()


def test_a_collection_of_other_dimensions_is_refused_with_a_remedy(
    node: Node, tmp_path: Path
) -> None:
    with closing(open_index(node, tmp_path / "index", "sized")) as opened:
        with pytest.raises(EmbedderMismatch, match=r"of 7 as.* qdrant_collection.* delete"):
            QdrantIndex.open(opened._config, dimensions=7, model=opened._model)
        opened.remove()


def test_of_two_that_fill_a_collection_the_last_to_begin_marks_it(
    node: Node, tmp_path: Path
) -> None:
    with (
        closing(open_index(node, tmp_path / "one", "twice")) as one,
        closing(open_index(node, tmp_path / "other", "twice")) as other,
    ):
        first, second = one.start_filling(), other.start_filling()
        assert one.end_filling(first, "here")
        assert one.is_new()
        assert other.end_filling(second, "here")
        assert not one.is_new()


class TestQdrantContract(SharedIndexContract):
    """The contract on one server."""

    @pytest.fixture
    def index(
        self, node: Node, tmp_path: Path, request: pytest.FixtureRequest
    ) -> Iterator[QdrantIndex]:
        with closing(open_index(node, tmp_path / "index", request.node.nodeid)) as opened:
            yield opened
