"""What a shard of Qdrant Edge is made of: its files, its configuration, points, filters, errors."""

import json
import logging
import os
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Literal

import qdrant_edge as engine

from hippocampe.errors import HippocampeError, IndexUnavailable
from hippocampe.index.bm25 import sparse_document
from hippocampe.protocols import KINDS, Filter, Point

log = logging.getLogger("hippocampe")

MANIFEST = "manifest.json"
FORMAT = 3
LARGE_BATCH = 1000
# Readers wait for the batch that is being written: 100 points take 10-15 ms, 1000 take 200.
SMALL_BATCH = 100
# Beyond these rounds writes come faster than they are copied; the rest is copied under the lock.
CATCH_UP_ROUNDS = 20
# What a filter leaves is scanned, exactly, up to this many points (2-4 ms).
_SCAN_POINTS = 16_000
# A space that is so small a part of a graph has links of its own in it: at building, the engine links
# the points of an indexed value where too few of the others' links would join them.
_OWN_LINKS = 16
# A larger part has none, and where it is less than half of clustered points, the paths of the graph
# break: recall@20 of a space of 22,000 in 60,000 was .66. A scan of so many takes 3 ms.
_SCAN_POINTS_OF_MANY = 32_000
_MANY = 4
# Of more, ACORN looks one neighbour further (.999, 5 ms).
_NARROW = engine.AcornSearchParams(enable=True, max_selectivity=0.5)
# Candidates a graph search keeps at least: recall@20 of .965 over 100,000 points in 1.1 ms.
_SEARCH_WIDTH = 96
# A graph is searched, and what it holds is scanned, by vectors of a byte per dimension: half of the
# time of float16, a third where a space is scanned. The best are then scored by their own vectors.
_BY_OWN_VECTOR = engine.QuantizationSearchParams(rescore=True)
# What a filter leaves is searched text by text, and not by the lists of each word, if it is so small a
# part of a graph's points: in a space of 20,000 of a million, that takes 2 ms instead of 5.
_SCAN_TEXTS = 18
# Of few points always; the engine's own default.
_SCAN_FEW_TEXTS = 5_000
Route = Literal["graph", "graph of neighbours' neighbours", "scan"]
"""How what a filter leaves is searched by meaning, if it is more than is always scanned."""
# What no search reads.
_UNSEARCHED = {"payload_storage", "vector_storage-bm25"}
_NUMBERS = ("at", "expires_at")
# Marks the points that the graph holds. The engine's own `indexed_vectors_count` cannot tell: it
# adds up dense and sparse vectors, and replaced ones still count. Not a boolean: `MatchValue(True)`
# never matches one.
_MARK = "search"
# Space and collection in one, since every condition is checked for every point that a search meets:
# in one field for what never expires, in another for the rest, whose time is looked at too.
_LASTING, _PASSING = "lasting", "passing"
_KEYWORDS = (_LASTING, _PASSING, "type", "category", "subjects", "user", "channel", _MARK)
COVERED = engine.CountRequest(
    filter=engine.Filter(must=[engine.FieldCondition(_MARK, match=engine.MatchValue("graph"))])
)
_REMEDY = "Nothing is lost, the store holds the truth: rebuild the index (`hippocampe reindex`)."


# The engine takes UUIDs only, and gives them back in this form.
_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def can_hold(id: str) -> bool:
    """Whether the engine can hold a point of this id."""
    return _ID.fullmatch(id) is not None


def holdable(points: Iterable[Point]) -> Iterator[Point]:
    """The points that the engine can hold; the others are logged, once for all."""
    refused: list[str] = []
    for point in points:
        if can_hold(point.id):
            yield point
        else:
            refused.append(point.id)
    if refused:
        log.warning(
            "%d items cannot be searched for, because their ids are no UUIDs (%r, …): erase them by id",
            len(refused),
            refused[0],
        )


@contextmanager
def engine_errors(what: str) -> Generator[None, None, None]:
    """Translate what the engine raises; it knows no narrower type than `Exception`."""
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
    dimensions: int
    model: str
    generations: dict[str, str]
    format: int = FORMAT


def read_manifest(folder: Path) -> Manifest | None:
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
    temporary = folder / f"{MANIFEST}.new"
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(asdict(manifest), file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / MANIFEST)


def _config(dimensions: int, points: int = 0) -> engine.EdgeConfig:
    # Cold: a file is mapped and read where a search goes, and not whole at opening.
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
        full_scan_threshold=max(_SCAN_FEW_TEXTS, points // _SCAN_TEXTS),
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
            full_scan_threshold=_SCAN_POINTS * dimensions * 2 // 1024,
        ),
        optimizers=engine.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=1),
        wal_enabled=False,
    )


def create(path: Path, dimensions: int) -> engine.EdgeShard:
    path.mkdir(parents=True)
    shard = engine.EdgeShard.create(str(path), _config(dimensions))
    create = engine.UpdateOperation.create_field_index
    shard.update(create("space", engine.KeywordIndexParams(is_tenant=True)))
    for name in _KEYWORDS:
        shard.update(create(name, engine.KeywordIndexParams()))
    for name in _NUMBERS:
        shard.update(create(name, engine.FloatIndexParams()))
    return shard


def load(path: Path, dimensions: int, points: int = 0) -> engine.EdgeShard:
    """Open a shard; a graph built in it then is one for so many `points`."""
    return engine.EdgeShard.load(str(path), _config(dimensions, points))


def searched(path: Path) -> Iterator[Path]:
    """The files of a shard that searches read."""
    for each in path.rglob("*"):
        if _UNSEARCHED.isdisjoint(each.parts) and each.is_file():
            yield each


def upserts(
    points: Sequence[Point], size: int, *, graphed: bool = False
) -> Iterator[engine.UpdateOperation]:
    for start in range(0, len(points), size):
        batch = [_encode(point, graphed=graphed) for point in points[start : start + size]]
        yield engine.UpdateOperation.upsert_points(batch)


def _encode(point: Point, *, graphed: bool) -> engine.Point:
    indices, values = sparse_document(point.text)
    payload = {
        "space": point.space,
        _LASTING if point.expires_at is None else _PASSING: drawer(point.space, point.collection),
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


def copy(ids: Iterable[str], source: engine.EdgeShard | None, target: engine.EdgeShard) -> None:
    """Make `target` hold of these ids what `source` holds, removals included."""
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
        target.update(engine.UpdateOperation.upsert_points(points))
        target.update(engine.UpdateOperation.delete_points([*(set(batch) - present)]))


def route(shard: engine.EdgeShard, space: str) -> Route:
    """How a space is searched by meaning when nothing narrows it: the fastest that finds enough."""
    # Estimates, from the index of the field.
    of_space = engine.FieldCondition("space", match=engine.MatchValue(space))
    inside = shard.count(engine.CountRequest(exact=False, filter=engine.Filter(must=[of_space])))
    total = shard.count(engine.CountRequest(exact=False))
    if total >= _OWN_LINKS * inside:
        return "graph"
    if total >= _MANY * inside and inside <= _SCAN_POINTS_OF_MANY:
        return "scan"
    return "graph of neighbours' neighbours"


def is_whole(shard: engine.EdgeShard, drawers: Sequence[str]) -> bool:
    """Whether every point lies in these drawers and never expires."""
    lasting = _any(_LASTING, drawers)
    # An estimate from the index of the field, before the 2 ms that counting 100,000 points takes.
    about = engine.CountRequest(exact=False, filter=engine.Filter(must=[lasting]))
    if shard.count(about) < shard.count(engine.CountRequest(exact=False)):
        return False
    others = engine.CountRequest(exact=True, filter=engine.Filter(must_not=[lasting]))
    return shard.count(others) == 0


def parameters(route: Route, limit: int) -> engine.SearchParams:
    """What tells the engine how to search."""
    return engine.SearchParams(
        exact=route == "scan",
        hnsw_ef=max(_SEARCH_WIDTH, 3 * limit // 2),
        acorn=None if route == "graph" else _NARROW,
        quantization=_BY_OWN_VECTOR,
    )


@lru_cache(maxsize=16)  # a kind is searched by meaning and by words, with the same filter
def condition(where: Filter) -> engine.Filter | None:
    """The engine's form of a filter; None when nothing can match."""
    if not where.space or not where.collections:
        return None
    any_of = {
        "type": where.types,
        "subjects": where.subjects,
        "category": None if where.category is None else (where.category,),
        "user": None if where.user is None else (where.user,),
        "channel": None if where.channel is None else (where.channel,),
    }
    must: list[engine.ConditionType] = []
    for name, values in any_of.items():
        if values is None:
            continue
        if not values:
            return None
        must.append(_any(name, values))
    if where.ids is not None:
        if not where.ids:
            return None
        must.append(engine.HasIdCondition({*where.ids}))
    if where.since is not None or where.until is not None:
        window = engine.RangeFloat(gte=where.since, lt=where.until)
        must.append(engine.FieldCondition("at", range=window))
    later = engine.FieldCondition("expires_at", range=engine.RangeFloat(gt=where.now))
    passing = engine.Filter(must=[_any(_PASSING, drawers(where)), later])
    return engine.Filter(must=must, should=[_any(_LASTING, drawers(where)), passing])


def drawers(where: Filter) -> tuple[str, ...]:
    """The drawers that a filter leaves."""
    return tuple(drawer(where.space, collection) for collection in where.collections)


def drawer(space: str, collection: str) -> str:
    """Space and collection in one."""
    return f"{collection} {space}"


def _any(name: str, values: Sequence[str]) -> engine.FieldCondition:
    match = engine.MatchValue(values[0]) if len(values) == 1 else engine.MatchAny([*values])
    return engine.FieldCondition(name, match=match)
