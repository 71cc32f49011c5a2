"""The index in a Qdrant server or cluster, shared by many processes.

One collection has the points of all kinds and spaces. The space is its tenant: the server stores the points of a
space together and builds a graph for each space only. The store is the truth: what the server misses while it is
down stays in the outbox.

A point of no kind marks a collection as filled, and names its database. It is lost with the collection, so that no
process takes an empty or half-filled collection for a whole one, even if the process that made it has died.
"""

import hashlib
import re
import socket
import ssl
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from secrets import token_hex
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import grpc
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from hippocampe.config import Config
from hippocampe.errors import EmbedderMismatch, HippocampeError, IndexUnavailable
from hippocampe.index import encoding
from hippocampe.index.bm25 import sparse_query
from hippocampe.index.points import agreeing, check_dimensions, indexable
from hippocampe.protocols import KINDS, Filter, Hit, Point, Search, Vector, is_point_id
from hippocampe.store.driver import parts

Answer = TypeVar("Answer")

PORT, GRPC_PORT = 6333, 6334
SEARCH_SECONDS: Final = 2
WRITE_SECONDS: Final = 20
CHANGE_SECONDS: Final = 60
"""Time limits of a search, a write, and a change of the collection."""
DURABLE_SECONDS = 10.0
"""Time after which the server has its writes on disk: it flushes every 5 seconds."""
HANDSHAKE_SECONDS: Final = 1
"""Time limit of a connection that only tells whether a server uses TLS."""
REST_SECONDS: Final = 0.5
"""After all nodes failed, calls fail at once for this long, so that turns do not wait for a server that is down."""
OLDEST: Final = (1, 13)
"""The oldest version of the server with all that is used."""
FORMAT: Final = 1
BATCH: Final = 256
PAGE: Final = 2_000
_MARK: Final = "6f0f5e9c-5d0c-4c52-9d2b-3f6d1f6a7f10"
"""The id of the point that says how far the collection is filled, in its `_STATE`."""
_STATE: Final = "state"
_FILLED: Final = "filled"
_DATABASE: Final = "database"
_KEYWORDS = ("kind", "lasting", "passing", "type", "category", "subjects", "user", "channel")
_NUMBERS = ("at", "expires_at")
_TRANSIENT = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_KEY_REFUSED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
_NOT_FOUND: Final = 404
_LAST = re.compile(r"^.*\blast error: ([A-Z_]+: )?", re.DOTALL)
"""The words of gRPC before the reason: "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:6334: …"."""
_REMEDY = "Nothing is lost, the store holds the truth."
_ABSENT = "Nothing is lost, the store holds the truth: check that Qdrant runs, and qdrant_url."
_REFUSED = "Nothing is lost, the store holds the truth: check qdrant_key."


class QdrantIndex:
    """The `Index` Protocol on a Qdrant server, of the form that the configuration gives to its collection."""

    def __init__(self, config: Config, *, dimensions: int, model: str) -> None:
        self._config = config
        self._dimensions = dimensions
        self._model = model
        digest = hashlib.blake2b(model.encode(), digest_size=6).hexdigest()
        self.collection = f"{config.qdrant_collection}-{digest}"
        self._nodes = [_connect(url, config.qdrant_key) for url in config.qdrant_urls]
        self._preferred = 0
        self._ready = False
        self._resting_until = 0.0
        self._unreached = ""
        self._closed = False

    @classmethod
    def open(cls, config: Config, *, dimensions: int, model: str) -> "QdrantIndex":
        """Connect; create the collection if it is missing. A server that is down is awaited by later calls.

        Raises:
            EmbedderMismatch: The collection has vectors of other dimensions.
            IndexUnavailable: The server or the collection is of a version that cannot be used, the server refused the key,
                or the URL has the wrong scheme.
        """
        index = cls(config, dimensions=dimensions, model=model)
        try:
            index._call("the collection cannot be opened", lambda node: node.get_collections())
        except BaseException as exc:
            if not (isinstance(exc, IndexUnavailable) and index._resting_until):
                index.close()
                raise
        return index

    # Reads

    def nearest(self, kind: str, vector: Vector, *, limit: int, where: Filter) -> list[Hit]:
        return self.search([Search(kind, where, limit, vector)])[0]

    def matching(self, kind: str, text: str, *, limit: int, where: Filter) -> list[Hit]:
        return self.search([Search(kind, where, limit, text=text)])[0]

    def search(self, searches: Sequence[Search]) -> list[list[Hit]]:
        """Return the hits of several searches, in one round trip."""
        requests = {
            number: made for number, each in enumerate(searches) if (made := _request(each))
        }
        found: list[list[Hit]] = [[] for _ in searches]
        if not requests:
            self._check_open()
            return found
        answers = self._call(
            "points cannot be searched",
            lambda node: node.query_batch_points(
                self.collection, [*requests.values()], timeout=SEARCH_SECONDS
            ),
        )
        for number, answer in zip(requests, answers, strict=True):
            hits = sorted((-point.score, str(point.id)) for point in answer.points)
            found[number] = [Hit(id, -below) for below, id in hits]
        return found

    def ids(self, kind: str) -> Iterator[str]:
        offset: Any = None
        while True:
            records, offset = self._call(
                f"points of kind {kind!r} cannot be listed",
                lambda node, offset=offset: node.scroll(
                    self.collection,
                    scroll_filter=encoding.of_kind(kind),
                    limit=PAGE,
                    offset=offset,
                    with_payload=False,
                    timeout=WRITE_SECONDS,
                ),
            )
            yield from (str(record.id) for record in records)
            if offset is None:
                return

    def count(self, kind: str) -> int:
        return self._call(
            f"points of kind {kind!r} cannot be counted",
            lambda node: node.count(
                self.collection, count_filter=encoding.of_kind(kind), exact=True
            ),
        ).count

    def is_new(self) -> bool:
        """Return whether nobody has filled the collection since it was made."""
        return self._mark().get(_STATE) != _FILLED

    def is_of(self, database: str) -> bool:
        """Return whether the collection was filled from a database, or earlier than the mark named one."""
        return self._mark().get(_DATABASE) in (None, database)

    def differing(self, kind: str, points: Iterable[Point]) -> Iterator[str]:
        """Compare stored points with those of the server; yield the ids that differ."""
        remaining = iter(points)
        while batch := list(islice(remaining, BATCH)):
            known = [point for point in batch if is_point_id(point.id)]
            records = self._call(
                f"points of kind {kind!r} cannot be read",
                lambda node, known=known: node.retrieve(
                    self.collection,
                    [point.id for point in known],
                    with_payload=True,
                    with_vectors=True,
                    timeout=WRITE_SECONDS,
                ),
            )
            held = {str(record.id): encoding.answered(record) for record in records}
            same = agreeing(known, held, partial(encoding.payload_of, kind))
            yield from (point.id for point in known if point.id not in same)

    def damaged_files(self, *, stop: Callable[[], bool]) -> Iterator[str]:
        """Yield nothing: the server checks its files."""
        return iter(())

    # Writes

    def apply(self, kind: str, points: Sequence[Point], removed: Sequence[str] = ()) -> None:
        check_dimensions(points, self._dimensions, self._model)
        last = {point.id: point for point in indexable(points)}
        gone = [id for id in removed if is_point_id(id)]
        operations: list[Any] = [
            _upsert([encoding.point_of(kind, each) for each in batch])
            for batch in parts(list(last.values()), BATCH)
        ]
        operations += [
            models.DeleteOperation(delete=models.PointIdsList(points=[*batch]))
            for batch in parts(gone, PAGE)
        ]
        self._check_open()
        for operation in operations:
            self._write(f"points of kind {kind!r} cannot be indexed", operation)

    def _write(self, what: str, operation: Any) -> None:
        self._call(
            what,
            lambda node: node.batch_update_points(
                self.collection,
                [operation],
                wait=True,
                ordering=models.WriteOrdering.MEDIUM,
                timeout=WRITE_SECONDS,
            ),
        )

    def flush(self) -> float:
        """See `Index.flush`: the server does so by itself."""
        self._check_open()
        return time.monotonic() - DURABLE_SECONDS

    def close(self) -> None:
        """Close the connections; later calls raise `IndexUnavailable`."""
        self._closed = True
        for node in self._nodes:
            with suppress(Exception):
                node.close()

    def remove(self) -> None:
        """Delete the collection, whose files the server removes; the next call makes an empty one."""
        self._call("the collection cannot be deleted", self._remove)
        self._ready = False

    def _remove(self, node: QdrantClient) -> None:
        # The server takes an alias for a collection, except to delete it, which does nothing then.
        aliased = {each.alias_name: each.collection_name for each in node.get_aliases().aliases}
        name = aliased.get(self.collection, self.collection)
        node.delete_collection(name, timeout=CHANGE_SECONDS)

    def empty(self) -> None:
        """Delete the collection, and make an empty one."""
        self.remove()
        self.count(KINDS[0])

    # The mark of a filled collection

    def start_filling(self) -> str:
        """Mark the collection as incomplete; return the token for `end_filling`."""
        token = token_hex(8)
        self._put_state(token)
        return token

    def end_filling(self, token: str, database: str) -> bool:
        """Mark the collection as filled, if it is still the one that was filled.

        Args:
            database: The identity of the database that it was filled from.

        Returns:
            False if it was lost meanwhile, so that the new one has to be filled. If another process began to fill it
            too, that one sets the mark.
        """
        mark = self._mark()
        if mark.get(_STATE) == token:
            self._put_state(_FILLED, database)
        return bool(mark)

    def _mark(self) -> Mapping[str, Any]:
        """`_STATE`, which is `_FILLED` or the token of the last filling, and `_DATABASE`; empty for a collection that
        nobody began to fill."""
        records = self._call(
            "the collection cannot be opened",
            lambda node: node.retrieve(
                self.collection, [_MARK], with_payload=True, timeout=WRITE_SECONDS
            ),
        )
        return records[0].payload or {} if records else {}

    def _put_state(self, state: str, database: str | None = None) -> None:
        payload = {_STATE: state} if database is None else {_STATE: state, _DATABASE: database}
        mark = models.PointStruct(id=_MARK, vector={}, payload=payload)
        self._write("the collection cannot be opened", _upsert([mark]))

    # The server

    def _check_open(self) -> None:
        if self._closed:
            raise IndexUnavailable("the index cannot be used: it was closed. Open it again.")

    def _call(self, what: str, ask: Callable[[QdrantClient], Answer]) -> Answer:
        """Ask a node, and the others if it does not answer; prepare the collection first, and again if it was lost.

        Raises:
            IndexUnavailable: None answered, one refused, or a URL has the wrong scheme.
        """
        self._check_open()
        if time.monotonic() < self._resting_until:
            raise IndexUnavailable(f"{what}: {self._unreached}. {_ABSENT}")
        reasons: list[str] = []
        # Twice: a connection that the server closed fails once.
        for attempt in range(2 * len(self._nodes)):
            number = (self._preferred + attempt) % len(self._nodes)
            try:
                with _translated(what):
                    if not self._ready:
                        self._prepare(self._nodes[number])
                        self._ready = True
                    answer = ask(self._nodes[number])
            except _Unreachable as exc:
                self._check_open()
                if isinstance(exc, _Missing):
                    # The server lost its disk, or somebody deleted the collection.
                    self._ready = False
                elif not self._ready:
                    _check_scheme(self._config.qdrant_urls[number])
                reasons.append(f"{self._config.qdrant_urls[number]}: {exc}")
                continue
            self._preferred = number
            return answer
        self._unreached = reasons[0]
        self._resting_until = time.monotonic() + REST_SECONDS
        raise IndexUnavailable(f"{what}: {self._unreached}. {_ABSENT}")

    def _prepare(self, node: QdrantClient) -> None:
        """Check the server and the collection; create the collection if it is missing."""
        version = node.info().version
        if tuple(int(part) for part in version.split("-")[0].split(".")[:2]) < OLDEST:
            raise IndexUnavailable(
                f"Qdrant {version} is too old: {'.'.join(map(str, OLDEST))} or later is needed. "
                "Upgrade the server."
            )
        if not node.collection_exists(self.collection):
            try:
                self._create(node)
            except (UnexpectedResponse, grpc.RpcError):
                # Unless another process made it meanwhile: the disk of the server is full, for example.
                if not node.collection_exists(self.collection):
                    raise
        found = node.get_collection(self.collection).config
        vectors = found.params.vectors
        dense = vectors.get("dense") if isinstance(vectors, dict) else None
        sparse = (found.params.sparse_vectors or {}).get("bm25")
        # Other distances are other scores, which the server accepts all the same.
        if (
            dense is None
            or dense.distance != models.Distance.COSINE
            or sparse is None
            or sparse.modifier != models.Modifier.IDF
        ):
            raise IndexUnavailable(
                f"the collection {self.collection} in Qdrant was not made by this version of Hippocampe: "
                "delete it, then run `hippocampe reindex`."
            )
        if dense.size != self._dimensions:
            raise EmbedderMismatch(
                f"the collection {self.collection} in Qdrant has vectors of {dense.size} dimensions, "
                f"not of {self._dimensions} as {self._model}: another program uses this name, or the embedder has "
                "changed. Choose another qdrant_collection, or delete that one: the next start fills it from the store."
            )
        self._index_fields(node)

    def _create(self, node: QdrantClient) -> None:
        config = self._config
        quantization = models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(
                type=models.ScalarType.INT8, quantile=0.99, always_ram=True
            )
        )
        node.create_collection(
            self.collection,
            vectors_config={
                "dense": models.VectorParams(
                    size=self._dimensions,
                    distance=models.Distance.COSINE,
                    datatype=models.Datatype.FLOAT16,
                    on_disk=config.qdrant_on_disk,
                )
            },
            sparse_vectors_config={
                "bm25": models.SparseVectorParams(
                    modifier=models.Modifier.IDF,
                    index=models.SparseIndexParams(on_disk=config.qdrant_on_disk),
                )
            },
            # No graph over all spaces: no search leaves its space.
            hnsw_config=models.HnswConfigDiff(m=0, payload_m=16, on_disk=config.qdrant_on_disk),
            quantization_config=quantization if config.qdrant_quantized else None,
            shard_number=config.qdrant_shards,
            replication_factor=config.qdrant_replicas,
            write_consistency_factor=1,
            on_disk_payload=True,
            timeout=CHANGE_SECONDS,
        )

    def _index_fields(self, node: QdrantClient) -> None:
        held = node.get_collection(self.collection).payload_schema
        wanted: dict[str, Any] = {
            "space": models.KeywordIndexParams(
                type=models.KeywordIndexType.KEYWORD, is_tenant=True
            ),
            **dict.fromkeys(_KEYWORDS, models.PayloadSchemaType.KEYWORD),
            **dict.fromkeys(_NUMBERS, models.PayloadSchemaType.FLOAT),
        }
        for name, schema in wanted.items():
            if name not in held:
                node.create_payload_index(
                    self.collection, name, schema, wait=True, timeout=CHANGE_SECONDS
                )


def _upsert(points: list[models.PointStruct]) -> models.UpsertOperation:
    return models.UpsertOperation(upsert=models.PointsList(points=points))


def _request(search: Search) -> models.QueryRequest | None:
    """The server's form of a search; None when nothing can match."""
    condition = encoding.condition(search.kind, search.where)
    if condition is None or search.limit < 1:
        return None
    query: Any
    if search.vector is not None:
        query = search.vector.tolist()
    else:
        indices, values = sparse_query(search.text)
        if not indices:
            return None
        query = models.SparseVector(indices=list(indices), values=list(values))
    return models.QueryRequest(
        query=query,
        using="bm25" if search.vector is None else "dense",
        filter=condition,
        limit=search.limit,
        with_payload=False,
    )


class _Unreachable(IndexUnavailable):
    """A node did not answer; another one, or a later call, may."""


class _Missing(_Unreachable):
    """A node has no collection; the next attempt makes it."""


@contextmanager
def _translated(what: str) -> Generator[None]:
    """Turn the errors of the client into ours: `_Unreachable` with the reason alone, others with all that is said."""
    missing = refused = False
    try:
        yield
        return
    except HippocampeError:
        raise
    except grpc.RpcError as exc:
        cause = exc
        transient = isinstance(exc, grpc.Call) and exc.code() in _TRANSIENT
        missing = isinstance(exc, grpc.Call) and exc.code() == grpc.StatusCode.NOT_FOUND
        refused = isinstance(exc, grpc.Call) and exc.code() in _KEY_REFUSED
        reason = _LAST.sub("", str(exc.details())) if isinstance(exc, grpc.Call) else exc
    except UnexpectedResponse as exc:
        cause, reason, transient = exc, exc, (exc.status_code or 0) >= 500
        missing = exc.status_code == _NOT_FOUND
        refused = exc.status_code in (401, 403)
    except QdrantException as exc:
        # A limit of the server, on requests in a time.
        cause, reason, transient = exc, exc, False
    except (ApiException, OSError, ValueError, RuntimeError) as exc:
        cause, reason, transient = exc, exc, True
    if missing:
        raise _Missing(str(reason)) from cause
    if transient:
        raise _Unreachable(str(reason)) from cause
    raise IndexUnavailable(f"{what}: {reason}. {_REFUSED if refused else _REMEDY}") from cause


def _check_scheme(url: str) -> None:
    """Refuse `http` for a server that expects TLS, and the reverse: neither side names the mismatch.

    Raises:
        IndexUnavailable: The URL has the wrong scheme.
    """
    parts = urlsplit(url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Only the handshake matters: nothing is sent.
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = (parts.hostname, (parts.port or PORT) + (GRPC_PORT - PORT))
    try:
        with socket.create_connection(address, HANDSHAKE_SECONDS) as raw, context.wrap_socket(raw):
            secure = True
    except OSError as exc:
        if not isinstance(exc, ssl.SSLError) or exc.reason != "WRONG_VERSION_NUMBER":
            return
        secure = False
    if secure and parts.scheme == "http":
        raise IndexUnavailable(
            f"the Qdrant server at {url} expects TLS: write https:// in qdrant_url."
        )
    if not secure and parts.scheme == "https":
        raise IndexUnavailable(
            f"the Qdrant server at {url} does not use TLS: write http:// in qdrant_url, or turn TLS on there."
        )


def _connect(url: str, key: str | None) -> QdrantClient:
    parts = urlsplit(url)
    port = parts.port or PORT
    with warnings.catch_warnings():
        # The operator chose the scheme of the URL, and a network of containers needs no TLS.
        warnings.filterwarnings("ignore", "Api key is used with an insecure connection")
        return QdrantClient(
            host=parts.hostname,
            port=port,
            grpc_port=port + (GRPC_PORT - PORT),
            https=parts.scheme == "https",
            api_key=key,
            prefer_grpc=True,
            # Nothing needs inference, for which the client searches each value of each point otherwise.
            cloud_inference=True,
            timeout=SEARCH_SECONDS,
            check_compatibility=False,
            grpc_options={
                # A node that comes back is tried again within a second.
                "grpc.initial_reconnect_backoff_ms": 100,
                "grpc.max_reconnect_backoff_ms": 1_000,
                "grpc.keepalive_time_ms": 30_000,
            },
        )
