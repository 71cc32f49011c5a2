"""Shards of Qdrant Edge: files, configuration, encoding of points, errors."""

import ctypes
import json
import logging
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import qdrant_edge as engine

from hippocampe.errors import HippocampeError, IndexUnavailable
from hippocampe.index import plans
from hippocampe.index.bm25 import sparse_document
from hippocampe.protocols import KINDS, Point, is_point_id
from hippocampe.system import free_space, private
from hippocampe.system.free_space import FLOOR

log = logging.getLogger("hippocampe")

MANIFEST = "manifest.json"
FORMAT = 3
LARGE_BATCH = 1000
# Readers wait for the batch being written: 100 points take 10-15 ms, 1000 take 200.
SMALL_BATCH = 100
FLUSHED_BYTES = 256
"""Bytes per changed point that a flush may take on the disk: 180 were measured."""
_UNSEARCHED = {"payload_storage", "vector_storage-bm25"}
_NUMBERS = ("at", "expires_at")
# Marks the points in the graph. The engine's `indexed_vectors_count` adds up dense and sparse
# vectors and still counts replaced ones. Not a boolean: `MatchValue(True)` never matches.
_MARK = "search"
_KEYWORDS = (
    *(plans.LASTING, plans.EXPIRING, "type", "category", "subjects", "user", "channel"),
    _MARK,
)
COVERED = engine.CountRequest(
    filter=engine.Filter(must=[engine.FieldCondition(_MARK, match=engine.MatchValue("graph"))])
)
_REMEDY = "Nothing is lost, the store holds the truth: rebuild the index (`hippocampe reindex`)."


def indexable(points: Iterable[Point]) -> Iterator[Point]:
    """The points whose id the engine accepts; the others are logged in one line."""
    refused: list[str] = []
    for point in points:
        if is_point_id(point.id):
            yield point
        else:
            refused.append(point.id)
    if refused:
        log.warning(
            "%d items are not searchable, because their ids are not UUIDs (%r, …): erase them by id",
            len(refused),
            refused[0],
        )


@contextmanager
def engine_errors(what: str) -> Generator[None, None, None]:
    """Translate the engine's errors: plain `Exception`, or a Rust panic (a `BaseException`)."""
    try:
        yield
    except HippocampeError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__module__ != "pyo3_runtime":
            raise
        raise IndexUnavailable(f"{what}: {error}. {_REMEDY}") from error


@dataclass(frozen=True, slots=True)
class Manifest:
    """The current generation of each kind, and the embedder of the vectors."""

    dimensions: int
    model: str
    generations: dict[str, str]
    format: int = FORMAT


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest; None for an empty folder."""
    path = folder / MANIFEST
    if not path.exists():
        if any((folder / kind).exists() for kind in KINDS):
            raise ValueError(f"{path} is missing")
        return None
    manifest = Manifest(**json.loads(path.read_bytes()))
    if manifest.format != FORMAT:
        raise ValueError(f"{path} is of format {manifest.format}, this version reads {FORMAT}")
    if not manifest.generations.keys() <= set(KINDS):
        raise ValueError(f"{path} names unknown kinds of points")
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest atomically and durably."""
    text = json.dumps(asdict(manifest), indent=2)
    private.replace_text(folder / MANIFEST, text, durable=True)


def _config(dimensions: int, points: int = 0) -> engine.EdgeConfig:
    # Cold: files are mapped and read on demand, not loaded at opening.
    cold = engine.Memory.Cold
    dense = engine.EdgeVectorParams(
        size=dimensions,
        distance=engine.Distance.Cosine,
        datatype=engine.VectorStorageDatatype.Float16,
        memory=cold,
        quantization_config=engine.ScalarQuantizationConfig(
            engine.ScalarType.Int8, quantile=0.99, memory=cold
        ),
    )
    sparse = engine.EdgeSparseVectorParams(
        full_scan_threshold=max(plans.SCAN_TEXTS, points // plans.SCAN_TEXTS_SHARE),
        modifier=engine.Modifier.Idf,
        memory=cold,
    )
    return engine.EdgeConfig(
        vectors={"dense": dense},
        sparse_vectors={"bm25": sparse},
        hnsw_config=engine.HnswIndexConfig(
            m=16,
            ef_construct=128,
            memory=cold,
            # Kilobytes of float16 vectors.
            full_scan_threshold=plans.SCAN_POINTS * dimensions * 2 // 1024,
        ),
        optimizers=engine.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=1),
        wal_enabled=False,
    )


def create(path: Path, dimensions: int) -> engine.EdgeShard:
    """Create an empty shard with its payload indexes."""
    private.make_folder(path)
    shard = engine.EdgeShard.create(str(path), _config(dimensions))
    create = engine.UpdateOperation.create_field_index
    shard.update(create("space", engine.KeywordIndexParams(is_tenant=True)))
    for name in _KEYWORDS:
        shard.update(create(name, engine.KeywordIndexParams()))
    for name in _NUMBERS:
        shard.update(create(name, engine.FloatIndexParams()))
    return shard


def load(path: Path, dimensions: int, points: int = 0) -> engine.EdgeShard:
    """Open a shard; `points` is the expected size, if a graph will be built in it.

    Raises:
        StoreFull: Opening it takes space that the disk does not have.
    """
    if needed := free_space.to_open(path):
        free_space.check(path, needed, keep=FLOOR)
    return engine.EdgeShard.load(str(path), _config(dimensions, points))


def flush(shard: engine.EdgeShard, path: Path, changes: int) -> None:
    """Make a shard durable, and private the files that this adds.

    Args:
        shard: The shard.
        path: Its folder.
        changes: Points changed since the last flush.

    Raises:
        StoreFull: The disk has too little free space.
    """
    free_space.check(path, changes * FLUSHED_BYTES, keep=FLOOR)
    shard.flush()
    private.restrict(path)


def never_free(shard: engine.EdgeShard) -> None:
    """Keep a shard until the process ends: freeing it flushes it, and kills it on a full disk."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(shard))


def searched_files(path: Path) -> Iterator[Path]:
    """The files of a shard that searches read."""
    for each in path.rglob("*"):
        if _UNSEARCHED.isdisjoint(each.parts) and each.is_file():
            yield each


def upserts(
    points: Sequence[Point], size: int, *, graphed: bool = False
) -> Iterator[engine.UpdateOperation]:
    """Encode points as upsert operations of at most `size` points each."""
    for start in range(0, len(points), size):
        batch = [_encode(point, graphed=graphed) for point in points[start : start + size]]
        yield engine.UpdateOperation.upsert_points(batch)


def _encode(point: Point, *, graphed: bool) -> engine.Point:
    indices, values = sparse_document(point.text)
    payload = {
        "space": point.space,
        plans.LASTING if point.expires_at is None else plans.EXPIRING: plans.partition(
            point.space, point.collection
        ),
        "type": point.type,
        "category": point.category,
        "subjects": list(point.subjects),
        "user": point.user,
        "channel": point.channel,
        "at": point.at,
        "expires_at": point.expires_at,
        _MARK: "graph" if graphed else None,
    }
    return engine.Point(
        point.id,
        {
            "dense": point.dense.tolist(),
            "bm25": engine.SparseVector(list(indices), list(values)),
        },
        {name: value for name, value in payload.items() if value is not None},
    )


def copy(
    ids: Iterable[str], source: engine.EdgeShard | None, target: engine.EdgeShard, folder: Path
) -> None:
    """Copy the points of these ids from `source` to `target`; delete those `source` lacks.

    Args:
        ids: The ids.
        source: The shard that has them; None if there is none.
        target: The shard to change.
        folder: The folder of `target`.

    Raises:
        StoreFull: The disk has too little free space; some points may have been copied.
    """
    remaining = iter(ids)
    while batch := list(islice(remaining, LARGE_BATCH)):
        records = source.retrieve([*batch], with_payload=True, with_vector=True) if source else []
        present = {str(record.id) for record in records}
        points = [
            engine.Point(
                record.id,
                record.vector or {},
                {name: value for name, value in (record.payload or {}).items() if name != _MARK},
            )
            for record in records
        ]
        free_space.check(folder, keep=FLOOR)
        target.update(engine.UpdateOperation.upsert_points(points))
        target.update(engine.UpdateOperation.delete_points([*(set(batch) - present)]))
