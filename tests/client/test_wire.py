"""Values as JSON, and back."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from hippocampe import Memory, Recollection, Scope, Settings
from hippocampe.client.wire import decode, encode
from hippocampe.types import UNSET, Considered, Day, Injection, Review, Signal, Trace

AT = datetime(2026, 1, 17, 10, 23, 1, 5, tzinfo=UTC)
MEMORY = Memory(
    "1",
    "default",
    "Nina aime le thé",
    subjects=("nina",),
    created_at=AT,
    updated_at=AT,
    metadata={"a": 1, "b": None, "c": True, "d": 0.5},
)
FOUND = Recollection(
    "1", "memory", "Nina aime le thé", 1.0, memory=MEMORY, why=(Signal("dense", 0.5, None, 0.1),)
)
TRACE = Trace((Considered(FOUND, "search", "injected"),), {"embed": 1.5}, ("notes",), None)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (None, None),
        (str, "é\u2028"),
        (int, 3),
        (float, 3.0),
        (datetime, AT),
        (date, date(2026, 1, 17)),
        (Day, Day(date(2026, 1, 17), memories=3)),
        (timedelta, timedelta(days=1, microseconds=3)),
        (Path, Path("/a b")),
        (Scope, Scope("maison", user="dev")),
        (Memory, MEMORY),
        (Memory | Recollection, MEMORY),
        (Memory | Recollection, FOUND),
        (Memory | None, None),
        (list[Recollection], [FOUND, FOUND]),
        (dict[str, Memory], {"clé": MEMORY}),
        (Injection, Injection("1", "texte", (FOUND,), 3, 1.0, TRACE)),
        (Review, Review(MEMORY, MEMORY, "why")),
        (Settings, Settings(category_ttl={"self/preference": "90d"}, live_rooms=("a", "b"))),
        (tuple[tuple[int, str], ...], ((1, "a"), (2, "b"))),
        (tuple[str, ...], ()),
        (Mapping[str, tuple[str, ...]], {"a": ("b",)}),
        (Sequence[str] | None, ("a",)),
        (str | Mapping[str, Any] | Sequence[str], {"content": "a"}),
        (str | timedelta | None, timedelta(hours=1)),
        (datetime | str | None, "2026-01-17"),
        (Literal["fr", "en"], "fr"),
    ],
)
def test_a_value_comes_back_as_it_was(kind: Any, value: Any) -> None:
    back = decode(kind, json.loads(json.dumps(encode(value))))
    assert back == value
    assert type(back) is type(value)


def test_what_a_later_version_adds_is_ignored() -> None:
    assert decode(Scope, {"space": "a", "mood": "good"}) == Scope("a")


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Literal["fr", "en"], ["fr"]),
        (Literal["fr", "en"], {"fr": 1}),
        (int, "three"),
        (str, 3),
        (Sequence[str], "a"),
        (timedelta, {"hours": 1}),
        (Scope, "default"),
    ],
)
def test_what_does_not_fit_is_left_to_the_verb(kind: Any, data: Any) -> None:
    assert decode(kind, data) == data


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(TypeError, match="Unset has no form"):
        encode(UNSET)


def test_what_is_left_out_is_not_sent() -> None:
    assert encode([{"content": "a", "ttl": UNSET}]) == [{"content": "a"}]
