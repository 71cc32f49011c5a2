"""Points and filters as every engine takes them: ids, payload fields, terms, vectors, and the fields that must match."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hippocampe.errors import EmbedderMismatch
from hippocampe.index.bm25 import sparse_document
from hippocampe.protocols import Filter, Hit, Index, Point, Search, is_point_id

log = logging.getLogger("hippocampe")

LASTING, EXPIRING = "lasting", "passing"
"""The field with the drawer of a point that never expires, for which no time is compared; and that of one that does."""
# Two roundings to half precision: of the stored vector, and of the engine's, which it normalises.
_ROUNDED = 2.0**-9
_TINY = 1e-5


def indexable(points: Iterable[Point]) -> Iterator[Point]:
    """The points whose id an engine accepts; the others are logged in one line."""
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


def check_dimensions(points: Iterable[Point], dimensions: int, model: str) -> None:
    """Refuse vectors of other dimensions than those of the index, which a model gave."""
    for point in points:
        if point.dense.shape != (dimensions,):
            raise EmbedderMismatch(
                f"a vector of shape {point.dense.shape} cannot be indexed among vectors of "
                f"{dimensions} dimensions: embed it with {model}."
            )


def payload(
    point: Point, drawer: str, name: Callable[[str], str] = str, **more: str
) -> dict[str, Any]:
    """The fields of a point, without those that have no value.

    Args:
        drawer: Where it is: its collection, with what else a filter always gives.
        name: How the engine stores the names of subjects, users and channels.
    """
    fields = {
        "space": point.space,
        **more,
        LASTING if point.expires_at is None else EXPIRING: drawer,
        "type": point.type,
        "category": point.category,
        "subjects": [name(each) for each in point.subjects],
        "user": None if point.user is None else name(point.user),
        "channel": None if point.channel is None else name(point.channel),
        "at": point.at,
        "expires_at": point.expires_at,
    }
    return {field: value for field, value in fields.items() if value is not None}


def required(where: Filter, name: Callable[[str], str] = str) -> Mapping[str, Sequence[str]] | None:
    """The fields that must match one of some values; None when nothing can match.

    Args:
        name: How the engine stores the names of subjects, users and channels.
    """
    if not where.space or not where.collections or where.ids == frozenset():
        return None
    any_of: dict[str, Sequence[str] | None] = {
        "type": where.types,
        "subjects": None if where.subjects is None else [name(each) for each in where.subjects],
        "category": None if where.category is None else (where.category,),
        "user": None if where.user is None else (name(where.user),),
        "channel": None if where.channel is None else (name(where.channel),),
    }
    given = {field: values for field, values in any_of.items() if values is not None}
    return given if all(given.values()) else None


class Answered(NamedTuple):
    """A point as an engine returns it: its vectors and its payload."""

    dense: Sequence[float]
    indices: Sequence[int]
    weights: Sequence[float]
    payload: Mapping[str, Any]


def agreeing(
    points: Sequence[Point],
    answered: Mapping[str, Answered],
    payload_of: Callable[[Point], Mapping[str, Any]],
) -> set[str]:
    """The ids of the points that an engine returns as they are stored, vectors within half precision."""
    known = [
        point
        for point in points
        if (found := answered.get(point.id)) and len(found.dense) == len(point.dense)
    ]
    if not known:
        return set()
    held = np.array([answered[point.id].dense for point in known], np.float32)
    dense = np.stack([point.dense for point in known]).astype(np.float32)
    dense /= np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-9)
    near = (np.abs(held - dense) <= _ROUNDED * np.abs(dense) + _TINY).all(axis=1)
    return {
        point.id
        for point, (_, indices, weights, fields), same in zip(
            known, (answered[point.id] for point in known), near, strict=True
        )
        if same
        and _terms(indices, weights) == _terms(*sparse_document(point.text))
        and _unordered(fields) == _unordered(payload_of(point))
    }


def _unordered(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A payload whose subjects are in one order: engines store them in any."""
    return {**fields, "subjects": sorted(fields.get("subjects") or ())}


def _terms(indices: Sequence[int], weights: Sequence[float]) -> dict[int, float]:
    return dict(zip(indices, np.array(weights, np.float32).tolist(), strict=True))


def one_by_one(index: Index, searches: Sequence[Search]) -> list[list[Hit]]:
    """The hits of several searches of an index in this process, where together they would take as long."""
    return [
        index.matching(each.kind, each.text, limit=each.limit, where=each.where)
        if each.vector is None
        else index.nearest(each.kind, each.vector, limit=each.limit, where=each.where)
        for each in searches
    ]
