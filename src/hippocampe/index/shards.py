"""Shards of Qdrant Edge: files, configuration, encoding of points, errors."""

import ctypes
import json
import logging
import os
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

import qdrant_edge as engine

from hippocampe.errors import HippocampeError, IndexUnavailable
from hippocampe.index import plans
from hippocampe.index.bm25 import sparse_document
from hippocampe.index.points import EXPIRING, LASTING, Answered, agreeing, payload
from hippocampe.protocols import KINDS, Filter, Point
from hippocampe.system import free_space, private
from hippocampe.system.free_space import FLOOR

log = logging.getLogger("hippocampe")

MANIFEST = "manifest.json"
FORMAT = 3
LARGE_BATCH = 1000
# Readers wait for the batch being written: 100 points take 10-15 ms, 1000 take 200.
SMALL_BATCH = 100
FLUSHED_BYTES = 256
"""Disk space of a flush per changed point: 180 bytes were measured."""
_UNSEARCHED = {"payload_storage", "vector_storage-bm25"}
_NUMBERS = ("at", "expires_at")
# Marks the points in the graph. The engine's `indexed_vectors_count` adds up dense and sparse
# vectors and still counts replaced ones. Not a boolean: `MatchValue(True)` never matches.
_MARK = "search"
_KEYWORDS = (
    *(LASTING, EXPIRING, "type", "category", "subjects", "user", "channel"),
    _MARK,
)
_INDEXED: "Mapping[str, engine.KeywordIndexParams | engine.FloatIndexParams]" = {
    "space": engine.KeywordIndexParams(is_tenant=True),
    **{name: engine.KeywordIndexParams() for name in _KEYWORDS},
    **{name: engine.FloatIndexParams() for name in _NUMBERS},
}
INDEXED_POINTS = 64
"""Points from which fields are indexed. Indexes take 22 MB of cache and 25 ms to make, 75 MB and 45 ms to open; without
them, a search of 64 points takes 0.07 ms longer."""
COVERED = engine.CountRequest(
    filter=engine.Filter(must=[engine.FieldCondition(_MARK, match=engine.MatchValue("graph"))])
)
_CHECKSUMS = "checksums.json"
# The engine writes these files once, when a generation is built. It writes the others in place, and
# a search of their points reveals damage.
_WRITTEN_ONCE = (
    *("*.bin", "*.json", "*.info", "id_tracker.mappings"),
    *("matrix.dat", "quantized.data", "inverted_index.dat"),
)
_WRITTEN_AGAIN = {"edge_config.json", "segment.json", "deleted.bin"}
_FIELDS = "payload_index"
# If damaged, they make the engine ask for so much memory that the system kills the process.
_READ_AT_LOADING = (".json", ".info", ".mappings", "graph.bin")
_REMEDY = "Nothing is lost, the store holds the truth: rebuild the index (`hippocampe reindex`)."


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
        # A shard has few segments, and searches compute one after the other.
        max_search_threads=1,
    )


def create(path: Path, dimensions: int) -> engine.EdgeShard:
    """Create an empty shard."""
    private.make_folder(path)
    return engine.EdgeShard.create(str(path), _config(dimensions))


def index_fields(shard: engine.EdgeShard, path: Path) -> bool:
    """Index the fields of a shard that filters read, once it has `INDEXED_POINTS`; return whether they are.

    Raises:
        StoreFull: The disk has too little free space.
    """
    info = shard.info()
    if info.points_count < INDEXED_POINTS:
        return False
    missing = _INDEXED.keys() - info.payload_schema.keys()
    if missing:
        free_space.check(path, keep=FLOOR)
    for name in sorted(missing):
        shard.update(engine.UpdateOperation.create_field_index(name, _INDEXED[name]))
    return True


def load(path: Path, dimensions: int, points: int = 0) -> engine.EdgeShard:
    """Open a shard; `points` is the expected size, if a graph will be built in it.

    Raises:
        StoreFull: Opening it takes space that the disk does not have.
    """
    if needed := free_space.to_open(path):
        free_space.check(path, needed, keep=FLOOR)
    return engine.EdgeShard.load(str(path), _config(dimensions, points))


def flush(shard: engine.EdgeShard, path: Path, changes: int) -> None:
    """Make a shard durable, and its new files private.

    Args:
        changes: Points changed since the last flush.

    Raises:
        StoreFull: The disk has too little free space.
    """
    free_space.check(path, changes * FLUSHED_BYTES, keep=FLOOR)
    shard.flush()
    private.restrict(path)


def never_free(shard: engine.EdgeShard) -> None:
    """Keep a shard until the process ends: freeing it flushes, which kills the process on a full disk."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(shard))


def write_checksums(path: Path, *, indexed: bool) -> None:
    """Write the checksums of the immutable files of a built generation; `indexed`: whether its fields are."""
    files = {file for pattern in _WRITTEN_ONCE for file in path.rglob(pattern)}
    named = {
        file.relative_to(path).as_posix(): _checksum(file)
        for file in sorted(files)
        if file.name not in _WRITTEN_AGAIN and (indexed or file.parent.name != _FIELDS)
    }
    with open(path / _CHECKSUMS, "w", encoding="utf-8", opener=private.opener) as file:
        json.dump(named, file)
        file.flush()
        os.fsync(file.fileno())


def damaged_files(
    path: Path, *, loading: bool = False, stop: Callable[[], bool] = lambda: False
) -> Iterator[str]:
    """Compare the files of a generation, or those read at `loading`, with their checksums; yield the damaged ones."""
    checksums = path / _CHECKSUMS
    if not checksums.exists():
        # Filled by writes instead of built from the store.
        return
    try:
        named: dict[str, int] = dict(json.loads(checksums.read_bytes()))
    except ValueError:
        yield _CHECKSUMS
        return
    for name, expected in named.items():
        if stop():
            return
        if loading and not name.endswith(_READ_AT_LOADING):
            continue
        try:
            damaged = _checksum(path / name) != expected
        except OSError:
            damaged = True
        if damaged:
            yield name


def _checksum(path: Path) -> int:
    total, block = 0, memoryview(bytearray(1 << 20))
    with path.open("rb", buffering=0) as file:
        while read := file.readinto(block):
            total = zlib.crc32(block[:read], total)
    return total


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
    payload = _payload(point)
    if graphed:
        payload[_MARK] = "graph"
    return engine.Point(
        point.id,
        {
            "dense": point.dense.tolist(),
            "bm25": engine.SparseVector(list(indices), list(values)),
        },
        payload,
    )


def _payload(point: Point) -> dict[str, Any]:
    return payload(point, plans.partition(point.space, point.collection))


def differing(shard: engine.EdgeShard, points: Sequence[Point]) -> list[str]:
    """The ids of the points for which a shard's answers differ.

    Compared are the vectors, the terms and the payload that it returns, and the points that its filters find.
    """
    ids: list[engine.PointId] = [point.id for point in points]
    records = shard.retrieve(ids, with_payload=True, with_vector=True)
    held = {str(record.id): _answered(record) for record in records}
    sound = agreeing(points, held, _payload) & _filtered(shard, points)
    return [point.id for point in points if point.id not in sound]


def _answered(record: engine.Record) -> Answered:
    vectors = record.vector if isinstance(record.vector, dict) else {}
    dense, sparse = vectors.get("dense"), vectors.get("bm25")
    terms = sparse if isinstance(sparse, engine.SparseVector) else engine.SparseVector([], [])
    return Answered(
        cast("list[float]", dense) if isinstance(dense, list) else (),
        *(terms.indices, terms.values, _unmarked(record)),
    )


def _unmarked(record: engine.Record) -> dict[str, Any]:
    """The payload of a point, without the mark of those in the graph."""
    return {name: value for name, value in (record.payload or {}).items() if name != _MARK}


def _filtered(shard: engine.EdgeShard, points: Sequence[Point]) -> set[str]:
    """The points found by a filter on all their fields, one query for points with equal fields."""
    groups: dict[Filter, list[Point]] = {}
    for point in points:
        fields = Filter(
            space=point.space,
            collections=(point.collection,),
            # Before any expiry.
            now=0.0,
            types=None if point.type is None else (point.type,),
            category=point.category,
            user=point.user,
            channel=point.channel,
            subjects=() if point.subjects else None,
        )
        groups.setdefault(fields, []).append(point)
    found: set[str] = set()
    for fields, some in groups.items():
        times = [point.at for point in some]
        subjects = dict.fromkeys(name for point in some for name in point.subjects)
        where = replace(
            fields,
            since=min(times),
            until=max(times) + 1.0,
            subjects=tuple(subjects) or None,
            ids=frozenset(point.id for point in some),
        )
        records, _ = shard.scroll(
            engine.ScrollRequest(
                limit=len(some),
                filter=plans.condition(where),
                with_payload=False,
                with_vector=False,
            )
        )
        found.update(str(record.id) for record in records)
    return found


def copy(
    ids: Iterable[str], source: engine.EdgeShard | None, target: engine.EdgeShard, folder: Path
) -> None:
    """Copy the points of these ids from `source` to `target`; delete those `source` lacks.

    Args:
        source: The shard that has them; None if there is none.
        folder: The folder of `target`.

    Raises:
        StoreFull: The disk has too little free space; some points may have been copied.
    """
    remaining = iter(ids)
    while batch := list(islice(remaining, LARGE_BATCH)):
        records = source.retrieve([*batch], with_payload=True, with_vector=True) if source else []
        present = {str(record.id) for record in records}
        points = [
            engine.Point(record.id, record.vector or {}, _unmarked(record)) for record in records
        ]
        free_space.check(folder, keep=FLOOR)
        target.update(engine.UpdateOperation.upsert_points(points))
        target.update(engine.UpdateOperation.delete_points([*(set(batch) - present)]))
