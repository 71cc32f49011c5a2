"""Points and filters as a Qdrant server takes them."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, cast

from qdrant_client import models

from hippocampe.index import points
from hippocampe.index.bm25 import sparse_document
from hippocampe.language.text_cache import of_texts
from hippocampe.protocols import Filter, Point


def point_of(kind: str, point: Point) -> models.PointStruct:
    """Encode a point."""
    indices, values = sparse_document(point.text)
    return models.PointStruct(
        id=point.id,
        vector={
            "dense": point.dense.tolist(),
            "bm25": models.SparseVector(indices=list(indices), values=list(values)),
        },
        payload=payload_of(kind, point),
    )


def payload_of(kind: str, point: Point) -> dict[str, Any]:
    """The payload of a point."""
    name = partial(name_digest, point.space)
    return points.payload(point, _drawer(kind, point.collection), name, kind=kind)


def name_digest(space: str, name: str) -> str:
    """The digest of a name, which the server stores instead: filters only compare names, and nobody can read it."""
    return hashlib.blake2b(f"{space}\0{name}".encode(), digest_size=12).hexdigest()


def answered(record: models.Record) -> points.Answered:
    """Decode a record of the server."""
    vectors = cast("dict[str, Any]", record.vector or {})
    terms = vectors.get("bm25") or models.SparseVector(indices=[], values=[])
    return points.Answered(
        vectors.get("dense") or (), terms.indices, terms.values, record.payload or {}
    )


def of_kind(kind: str) -> models.Filter:
    """The condition for all points of a kind."""
    return models.Filter(must=[_any_of("kind", (kind,))])


@of_texts
@lru_cache(maxsize=16)  # Cached for recall, which searches each kind twice with the same filter.
def condition(kind: str, where: Filter) -> models.Filter | None:
    """The server's form of a filter; None when nothing can match."""
    required = points.required(where, partial(name_digest, where.space))
    if required is None:
        return None
    must: list[models.Condition] = [_any_of("space", (where.space,))]
    must += [_any_of(field, values) for field, values in required.items()]
    if where.ids is not None:
        must.append(models.HasIdCondition(has_id=sorted(where.ids)))
    if where.since is not None or where.until is not None:
        window = models.Range(gte=where.since, lt=where.until)
        must.append(models.FieldCondition(key="at", range=window))
    drawers = tuple(_drawer(kind, collection) for collection in where.collections)
    unexpired = models.FieldCondition(key="expires_at", range=models.Range(gt=where.now))
    expiring = models.Filter(must=[_any_of(points.EXPIRING, drawers), unexpired])
    return models.Filter(must=must, should=[_any_of(points.LASTING, drawers), expiring])


def _drawer(kind: str, collection: str) -> str:
    return f"{kind}/{collection}"


def _any_of(name: str, values: Sequence[str]) -> models.FieldCondition:
    match = (
        models.MatchValue(value=values[0]) if len(values) == 1 else models.MatchAny(any=[*values])
    )
    return models.FieldCondition(key=name, match=match)
