"""A summary repeats exchanges: it is injected only where a search finds nothing else."""

from datetime import UTC, datetime, timedelta

import pytest

from hippocampe.injection.channel_history import Channel
from hippocampe.injection.selection import Candidate, select
from hippocampe.types import Outcome, Recollection, Route, Settings

NOW = datetime(2026, 1, 20, 11, tzinfo=UTC)


def candidate(kind: str, score: float, path: Route = "search") -> Candidate:
    return Candidate(path, Recollection(f"{kind} {path}", kind, f"a {kind}", score), None)


@pytest.mark.parametrize(
    ("candidates", "outcome"),
    [
        ([candidate("summary", 0.9), candidate("turn", 0.5)], "too_similar"),
        ([candidate("summary", 0.9), candidate("memory", 0.05)], "injected"),
        ([candidate("summary", 0.9), candidate("memory", 0.9, "important")], "injected"),
        ([candidate("summary", 0.0, "recent"), candidate("turn", 0.5)], "injected"),
    ],
)
def test_a_found_summary_is_a_fallback(candidates: list[Candidate], outcome: Outcome) -> None:
    channel = Channel()
    with channel.lock:
        channel.begin(NOW, depth=5, session=timedelta(minutes=30))
        select(candidates, channel, Settings())
    (summary,) = (each for each in candidates if each.item.kind == "summary")
    assert summary.outcome == outcome
