"""Points and filters as a Qdrant server takes them."""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast, overload

import numpy as np
from qdrant_client import models

from hippocampe.index.bm25 import sparse_document
from hippocampe.protocols import Filter, Point, is_point_id

log = logging.getLogger("hippocampe")

LASTING, EXPIRING = "lasting", "passing"
"""The field of the drawer of a point that never expires, for which no time is compared; and that of one that does."""
# Two roundings to half precision: of the stored vector, and of the server's, which it normalises.
_ROUNDED = 2.0**-9
_TINY = 1e-5


def indexable(points: Iterable[Point]) -> Iterator[Point]:
    """The points whose id a server accepts; the others are logged in one line."""
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
    payload = {
        "space": point.space,
        "kind": kind,
        LASTING if point.expires_at is None else EXPIRING: _drawer(kind, point.collection),
        "type": point.type,
        "category": point.category,
        "subjects": [name_digest(point.space, name) for name in point.subjects],
        "user": name_digest(point.space, point.user),
        "channel": name_digest(point.space, point.channel),
        "at": point.at,
        "expires_at": point.expires_at,
    }
    return {name: value for name, value in payload.items() if value is not None}


@overload
def name_digest(space: str, name: str) -> str: ...
@overload
def name_digest(space: str, name: None) -> None: ...
def name_digest(space: str, name: str | None) -> str | None:
    """The digest of a name, which the server stores instead: filters only compare names, and nobody can read it."""
    if name is None:
        return None
    return hashlib.blake2b(f"{space}\0{name}".encode(), digest_size=12).hexdigest()


def is_same(kind: str, point: Point, record: models.Record) -> bool:
    """Return whether a record of the server is a stored point, within half precision."""
    vectors = cast("dict[str, Any]", record.vector) if isinstance(record.vector, dict) else {}
    if _unordered(record.payload or {}) != _unordered(payload_of(kind, point)):
        return False
    dense, terms = vectors.get("dense"), vectors.get("bm25")
    if dense is None or len(dense) != len(point.dense):
        return False
    held = _terms(terms.indices, terms.values) if terms is not None else {}
    if held != _terms(*sparse_document(point.text)):
        return False
    wanted = point.dense / max(float(np.linalg.norm(point.dense)), 1e-9)
    off = np.abs(np.array(dense, np.float32) - wanted)
    return bool((off <= _ROUNDED * np.abs(wanted) + _TINY).all())


def _unordered(payload: dict[str, Any]) -> dict[str, Any]:
    return payload | {"subjects": sorted(payload.get("subjects") or ())}


def _terms(indices: Sequence[int], values: Sequence[float]) -> dict[int, float]:
    return dict(zip(indices, np.array(values, np.float32).tolist(), strict=True))


def of_kind(kind: str) -> models.Filter:
    """The condition for all points of a kind."""
    return models.Filter(must=[_any_of("kind", (kind,))])


@lru_cache(maxsize=16)  # Cached for recall, which searches each kind twice with the same filter.
def condition(kind: str, where: Filter) -> models.Filter | None:
    """The server's form of a filter; None when nothing can match."""
    if not where.space or not where.collections:
        return None
    any_of = {
        "type": where.types,
        "subjects": _digests(where.space, where.subjects),
        "category": None if where.category is None else (where.category,),
        "user": _digests(where.space, None if where.user is None else (where.user,)),
        "channel": _digests(where.space, None if where.channel is None else (where.channel,)),
    }
    must: list[models.Condition] = [_any_of("space", (where.space,))]
    for name, values in any_of.items():
        if values is None:
            continue
        if not values:
            return None
        must.append(_any_of(name, values))
    if where.ids is not None:
        if not where.ids:
            return None
        must.append(models.HasIdCondition(has_id=sorted(where.ids)))
    if where.since is not None or where.until is not None:
        window = models.Range(gte=where.since, lt=where.until)
        must.append(models.FieldCondition(key="at", range=window))
    drawers = tuple(_drawer(kind, collection) for collection in where.collections)
    unexpired = models.FieldCondition(key="expires_at", range=models.Range(gt=where.now))
    expiring = models.Filter(must=[_any_of(EXPIRING, drawers), unexpired])
    return models.Filter(must=must, should=[_any_of(LASTING, drawers), expiring])


def _digests(space: str, names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(name_digest(space, name) for name in names)


def _drawer(kind: str, collection: str) -> str:
    return f"{kind}/{collection}"


def _any_of(name: str, values: Sequence[str]) -> models.FieldCondition:
    match = (
        models.MatchValue(value=values[0]) if len(values) == 1 else models.MatchAny(any=[*values])
    )
    return models.FieldCondition(key=name, match=match)
