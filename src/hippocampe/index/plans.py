"""Search parameters for the engine: filters, and one search plan per space.

Thresholds, tuned for qdrant-edge 0.9.0 and vectors of 512 dimensions. `benchmarks/latency.py`
measures the times (`--sizes`, `--spaces`); `test_graph_finds_what_a_scan_finds` guards the recall.

| constant | meaning | measured |
|---|---|---|
| `SCAN_POINTS` | a filtered subset up to this size is scanned exactly | 2-4 ms |
| `OWN_LINKS_SHARE` | a space this many times smaller than its index is searched by graph: the engine links the points of a rare keyword value among themselves | 1 ms |
| `SCAN_SHARE`, `SCAN_POINTS_OF_SHARE` | a larger space without such links is scanned, up to this size and share: the links between its points are too few | 3 ms; by graph recall@20 was .66 for 22,000 of 60,000 points |
| `ACORN_SELECTIVITY` | any other space is searched by graph with ACORN, which also looks at neighbours of neighbours | 5 ms, recall@20 .999 |
| `SEARCH_WIDTH` | candidates that a graph search keeps, at least | 1.1 ms, recall@20 .965 over 100,000 points |
| `SCAN_TEXTS_SHARE` | a subset this many times smaller than its graph is matched text by text, not by posting lists | 2 ms instead of 5 for 20,000 of a million |
| `SCAN_TEXTS` | subsets up to this size always are | the engine's default |

All dense searches compare int8 vectors (half the time of float16, a third for a scan) and rescore
the best with the original vectors.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import qdrant_edge as engine

from hippocampe.index import points
from hippocampe.language.text_cache import of_texts
from hippocampe.protocols import Filter

SCAN_POINTS = 16_000
OWN_LINKS_SHARE = 16
SCAN_SHARE = 4
SCAN_POINTS_OF_SHARE = 32_000
ACORN_SELECTIVITY = 0.5
SEARCH_WIDTH = 96
SCAN_TEXTS_SHARE = 18
SCAN_TEXTS = 5_000

SearchPlan = Literal["graph", "acorn", "scan"]
"""The algorithm of a dense search in a subset of more than `SCAN_POINTS` points."""
DEFAULT_PLAN: SearchPlan = "acorn"

_ACORN = engine.AcornSearchParams(enable=True, max_selectivity=ACORN_SELECTIVITY)
_RESCORE = engine.QuantizationSearchParams(rescore=True)


def choose_plan(shard: engine.EdgeShard, space: str) -> SearchPlan:
    """Choose the fastest plan with enough recall for all points of a space."""
    # Estimates, from the index of the payload field.
    in_space = engine.FieldCondition("space", match=engine.MatchValue(space))
    inside = shard.count(engine.CountRequest(exact=False, filter=engine.Filter(must=[in_space])))
    total = shard.count(engine.CountRequest(exact=False))
    if total >= OWN_LINKS_SHARE * inside:
        return "graph"
    if total >= SCAN_SHARE * inside and inside <= SCAN_POINTS_OF_SHARE:
        return "scan"
    return "acorn"


def parameters(plan: SearchPlan, limit: int) -> engine.SearchParams:
    """The engine's parameters for a plan."""
    return engine.SearchParams(
        exact=plan == "scan",
        hnsw_ef=max(SEARCH_WIDTH, 3 * limit // 2),
        acorn=None if plan == "graph" else _ACORN,
        quantization=_RESCORE,
    )


def holds_only(shard: engine.EdgeShard, partitions: Sequence[str]) -> bool:
    """Return whether every point is in one of these partitions and never expires."""
    lasting = _any_of(points.LASTING, partitions)
    # An estimate first: the exact count takes 2 ms per 100,000 points.
    estimate = engine.CountRequest(exact=False, filter=engine.Filter(must=[lasting]))
    if shard.count(estimate) < shard.count(engine.CountRequest(exact=False)):
        return False
    others = engine.CountRequest(exact=True, filter=engine.Filter(must_not=[lasting]))
    return shard.count(others) == 0


@of_texts
@lru_cache(maxsize=16)  # Cached for recall, which searches each kind twice with the same filter.
def condition(where: Filter) -> engine.Filter | None:
    """The engine's form of a filter; None when nothing can match."""
    required = points.required(where)
    if required is None:
        return None
    must: list[engine.ConditionType] = [
        _any_of(field, values) for field, values in required.items()
    ]
    if where.ids is not None:
        must.append(engine.HasIdCondition({*where.ids}))
    if where.since is not None or where.until is not None:
        window = engine.RangeFloat(gte=where.since, lt=where.until)
        must.append(engine.FieldCondition("at", range=window))
    partitions = partitions_of(where)
    unexpired = engine.FieldCondition("expires_at", range=engine.RangeFloat(gt=where.now))
    expiring = engine.Filter(must=[_any_of(points.EXPIRING, partitions), unexpired])
    return engine.Filter(must=must, should=[_any_of(points.LASTING, partitions), expiring])


def partitions_of(where: Filter) -> tuple[str, ...]:
    """The partitions that a filter searches."""
    return tuple(partition(where.space, collection) for collection in where.collections)


def partition(space: str, collection: str) -> str:
    """A collection of a space, as one keyword: the engine checks each condition for each point that it meets."""
    return f"{collection} {space}"


def _any_of(name: str, values: Sequence[str]) -> engine.FieldCondition:
    match = engine.MatchValue(values[0]) if len(values) == 1 else engine.MatchAny([*values])
    return engine.FieldCondition(name, match=match)
