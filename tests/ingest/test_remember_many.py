"""Many statements at once come out as the same statements one by one."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.ingest import remember_many
from hippocampe.types import Remembered


@pytest.fixture
def hippo(hashed: None, open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:64")


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remember_many, "BATCH", 3)


ITEMS: list[dict[str, Any]] = [
    {"content": "David habite à Ordizan", "subjects": ["famille"], "type": "identity"},
    {"content": "Camille élève des abeilles", "importance": 0.3},
    {"content": "David habite à Toulouse"},
    {"content": "camille eleve des abeilles !", "subjects": ["ruches"], "evidence": ["m1"]},
    {"content": "Mickael s'est cassé l'épaule"},
    {"content": "Mickael s'est cassé l'épaule le 10 janvier 2026"},
    {"content": "thé", "key": "boisson"},
    {"content": "café", "key": "boisson"},
    {"content": "Camille adore son très vieux vélo rouge"},
    {"content": "Camille répare son très vieux vélo rouge"},
    {"content": "dev = Owen"},
    {"content": "dev habite à Pau"},
    {"content": "Owen habite à Lyon", "ttl": "7d"},
    {"content": "Un abri", "collection": "self", "category": "context", "key": "home"},
    {"content": "Un jardin", "key": "home"},
    {"content": "David habite à Lourdes", "occurred_at": "2026-01-01T10:00:00+01:00"},
    {"content": "Ma carte est 4111 1111 1111 1111"},
    {"content": "Le cidre est au frais", "key": "frigo"},
    {"content": "Le cidre est au frais"},
    {"content": "Le lait est au frais"},
    {"content": "le lait est au frais", "key": "lait"},
]
"""Corrections, doubles, details, keys, aliases and reviews within one batch."""


def plain(results: list[Remembered]) -> list[dict[str, Any]]:
    """Results without what no two runs share: ids as positions, no times."""
    position: dict[str, int] = {}
    for number, result in enumerate(results):
        position.setdefault(result.memory.id, number)
    return [
        {
            "memory": replace(
                result.memory,
                id=str(position[result.memory.id]),
                created_at=result.memory.created_at.min,
                updated_at=result.memory.updated_at.min,
                last_accessed_at=None,
                expires_at=None,
            ),
            "expires": result.memory.expires_at is not None,
            "action": result.action,
            "replaced": [position[id] for id in result.replaced],
            "similarity": result.similarity and round(result.similarity, 3),
            "reason": result.reason,
        }
        for result in results
    ]


def state(hippo: Hippocampe, scope: Scope) -> object:
    stats = hippo.stats(scope=scope)
    reviews = {(r.memory.content, r.other.content, r.reason) for r in hippo.reviews(scope=scope)}
    found = [item.content for item in hippo.recall("où habite David ?", scope=scope)]
    counts = (stats.memories, stats.superseded, stats.facts, stats.reviews, stats.indexed)
    return counts, reviews, found


@pytest.mark.parametrize("batch", [128, 3])
def test_a_batch_is_as_one_after_the_other(
    hashed: None,
    open_hippo: Opener,
    tmp_path: Path,
    scope: Scope,
    batch: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remember_many, "BATCH", batch)
    one_by_one = open_hippo(tmp_path / "one", embedder="hashed:64")
    expected = [one_by_one.remember(**item, scope=scope) for item in ITEMS]
    many = open_hippo(tmp_path / "many", embedder="hashed:64")
    results = many.remember_many(ITEMS, scope=scope)
    assert plain(results) == plain(expected)
    assert {result.action for result in results} == {"inserted", "updated", "reinforced"}
    assert state(many, scope) == state(one_by_one, scope)
    assert many.verify().ok
    last = {result.memory.id: result.memory for result in results}
    for id, memory in last.items():
        stored = many.get(id, scope=scope)
        assert (stored.content, stored.subjects, stored.key) == (
            memory.content,
            memory.subjects,
            memory.key,
        )


def test_a_batch_corrects_what_was_there(hippo: Hippocampe, scope: Scope) -> None:
    old = hippo.remember("David habite à Pau", scope=scope).memory
    again = hippo.remember("Camille élève des abeilles", scope=scope).memory
    results = hippo.remember_many(
        [{"content": "Camille élève des abeilles"}, "David habite à Lyon"],
        scope=scope,
    )
    assert [result.action for result in results] == ["reinforced", "updated"]
    assert results[0].memory.id == again.id
    assert results[1].replaced == (old.id,)
    assert hippo.verify().ok


def test_everything_is_found_after_opening_again(open_hippo: Opener, hashed: None) -> None:
    scope = Scope(user="dev")
    hippo = open_hippo(embedder="hashed:64")
    hippo.remember_many(ITEMS, scope=scope)
    before = state(hippo, scope)
    hippo.close()
    hippo = open_hippo(embedder="hashed:64")
    assert state(hippo, scope) == before
    assert hippo.verify().ok


REFUSED: dict[str, tuple[Any, str]] = {
    "one mapping": ({"content": "a"}, "list of texts or mappings"),
    "text": ("Camille", "list of texts or mappings"),
    "none": (None, "list of texts or mappings"),
    "a list of numbers": ([4], r"item 1: must be a text or a mapping"),
    "an empty text": (["Camille", " "], "item 2: content is empty"),
    "no content": ([{"content": "a"}, {"type": "fact"}], "item 2: content is missing"),
    "unknown argument": (
        [{"content": "a"}, {"content": "b", "subject": "c"}],
        "item 2: unknown argument 'subject': did you mean 'subjects'",
    ),
    "scope of an item": ([{"content": "a", "scope": Scope()}], "item 1: unknown argument 'scope'"),
    "name that is no text": ([{"content": "a", 3: 4}], "item 1: unknown argument 3"),
    "bad value": ([{"content": "a"}, {"content": "b", "importance": 4}], "item 2: importance"),
    "bad content": ([{"content": "a"}, {"content": None}], "item 2: content must be text"),
}


@pytest.mark.parametrize(("items", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_all_items_are_checked_first(
    hippo: Hippocampe, scope: Scope, small_batches: None, items: Any, message: str
) -> None:
    if isinstance(items, list) and isinstance(items[0], Mapping):
        items = [{"content": f"Le voisin numéro {number}"} for number in range(7)] + items
        message = message.replace("item 1", "item 8").replace("item 2", "item 9")
    with pytest.raises(InvalidInput, match=message):
        hippo.remember_many(items, scope=scope)
    assert hippo.recent(scope=scope) == []


@pytest.mark.parametrize(
    ("late", "error"),
    [
        ({"content": "b", "replaces": ["0198a000-0000-7000-8000-000000000000"]}, NotFound),
        ({"content": "b", "collection": "self"}, InvalidInput),
    ],
)
def test_what_is_seen_late_stops_after_the_batches_before(
    hippo: Hippocampe,
    scope: Scope,
    small_batches: None,
    late: dict[str, Any],
    error: type[Exception],
) -> None:
    items = [{"content": f"Le voisin {name} est là"} for name in ("Paul", "Inès", "Léo", "Zoé")]
    told: list[tuple[str, int, int]] = []
    with pytest.raises(error, match=r"item 5: .* Items 1 to 3 are stored"):
        hippo.remember_many([*items, late], scope=scope, progress=lambda *args: told.append(args))
    assert told == [("remembering", 3, 5)]
    assert len(hippo.recent(scope=scope)) == 3
    assert hippo.verify().ok


def test_progress_counts_what_is_stored(
    hippo: Hippocampe, scope: Scope, small_batches: None
) -> None:
    told: list[tuple[str, int, int]] = []
    items = ({"content": f"Le voisin numéro {number}"} for number in range(7))
    results = hippo.remember_many(items, scope=scope, progress=lambda *args: told.append(args))
    assert told == [("remembering", done, 7) for done in (3, 6, 7)]
    assert len(results) == 7
    assert hippo.remember_many([], scope=scope) == []


def test_an_item_that_expired_is_not_reinforced(
    hippo: Hippocampe, scope: Scope, clock: FakeClock
) -> None:
    hippo.remember("Owen dort chez Camille", scope=scope, ttl="1h")
    clock.advance(hours=2)
    (result,) = hippo.remember_many([{"content": "Owen dort chez Camille"}], scope=scope)
    assert result.action == "inserted"
