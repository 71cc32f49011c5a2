"""Importance decays once for each day, and what nobody used is forgotten, not lost."""

import pytest
from ledgers import HERE, Handler, context_of, handle, queue

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Memory
from hippocampe.extraction.jobs.runner import MAX_ATTEMPTS
from hippocampe.store import job_runs

pytestmark = pytest.mark.usefixtures("hashed")


@pytest.fixture
def hippo(open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:32")


def keep(hippo: Hippocampe, content: str, **more: object) -> str:
    return hippo.remember(content, scope=HERE, **more).memory.id  # pyright: ignore[reportArgumentType]


def importance(hippo: Hippocampe, id: str) -> float:
    return hippo.get(id, scope=HERE).importance


def test_importance_halves(hippo: Hippocampe, clock: FakeClock) -> None:
    id = keep(hippo, "le four chauffe", importance=0.8)
    before = hippo.get(id, scope=HERE)
    hippo.update_settings(scope=HERE, decay_half_life_days=10)
    for _ in range(10):
        clock.advance(days=1)
        assert [run.outcome for run in hippo.run_jobs(scope=HERE)] == ["1 lowered"]
        # Neither a second run nor a restart in between lowers it twice.
        lowered = importance(hippo, id)
        queue(hippo, "decay")
        hippo.run_jobs(scope=HERE)
        assert importance(hippo, id) == pytest.approx(lowered, rel=1e-6)
    assert importance(hippo, id) == pytest.approx(0.4, rel=1e-3)
    assert hippo.get(id, scope=HERE).updated_at == before.updated_at


def test_a_pause_of_the_process_and_of_the_setting(
    open_hippo: Opener, hippo: Hippocampe, clock: FakeClock
) -> None:
    id = keep(hippo, "le four chauffe", importance=0.8)
    hippo.update_settings(scope=HERE, decay_half_life_days=10)
    clock.advance(days=10)
    hippo.run_jobs(scope=HERE)
    assert importance(hippo, id) == pytest.approx(0.4, rel=1e-3)
    hippo.close()
    clock.advance(days=60)
    hippo = open_hippo(embedder="hashed:32")
    hippo.update_settings(scope=HERE, decay_half_life_days=60)
    # The run of 60 days ago is still known.
    hippo.run_jobs(scope=HERE)
    assert importance(hippo, id) == pytest.approx(0.2, rel=1e-3)


def test_a_clock_that_ran_ahead_lowers_once(hippo: Hippocampe, clock: FakeClock) -> None:
    id = keep(hippo, "le four chauffe", importance=0.8)
    hippo.update_settings(scope=HERE, decay_half_life_days=10)
    clock.advance(days=10)
    hippo.run_jobs(scope=HERE)
    clock.advance(days=-10)
    queue(hippo, "decay")
    hippo.run_jobs(scope=HERE)
    clock.advance(days=10)
    queue(hippo, "decay")
    hippo.run_jobs(scope=HERE)
    assert importance(hippo, id) == pytest.approx(0.4, rel=1e-3)


def test_access_pauses_decay(hippo: Hippocampe, clock: FakeClock) -> None:
    used = keep(hippo, "le four chauffe", importance=0.8)
    unused = keep(hippo, "la barque est verte", importance=0.8)
    hippo.update_settings(scope=HERE, decay_half_life_days=10)
    hippo.run_jobs(scope=HERE)
    clock.advance(days=10)
    context_of(hippo).accesses.add([used])
    hippo.run_jobs(scope=HERE)
    assert importance(hippo, used) == pytest.approx(0.8, rel=1e-3)
    assert importance(hippo, unused) == pytest.approx(0.4, rel=1e-3)


EXEMPT: dict[str, dict[str, object]] = {
    "Léa est la sœur de Nino": {"type": "identity"},
    "Nino veut apprendre le tuba": {"type": "goal"},
    "Comprendre les échecs": {"collection": "goal", "category": "understanding"},
    "Acheter du pain": {"type": "todo"},
    "Le thé est vert": {"key": "boisson"},
}


def test_what_neither_decays_nor_is_pruned(hippo: Hippocampe, clock: FakeClock) -> None:
    kept = {
        keep(hippo, content, importance=0.3, **more): content for content, more in EXEMPT.items()
    }
    hippo.update_settings(scope=HERE, decay_half_life_days=1, prune_below=0.9)
    clock.advance(days=100)
    runs = hippo.run_jobs(scope=HERE)
    assert [run.outcome for run in runs] == ["0 lowered", "0 forgotten"]
    for id in kept:
        memory = hippo.get(id, scope=HERE)
        assert (memory.importance, memory.current) == (0.3, True)


def test_pruned_and_restored(hippo: Hippocampe, clock: FakeClock) -> None:
    low = keep(hippo, "le four chauffe", importance=0.1)
    high = keep(hippo, "la barque est verte", importance=0.5)
    used = keep(hippo, "Nino nage le mardi", importance=0.1)
    hippo.update_settings(scope=HERE, prune_below=0.2)
    clock.advance(days=89)
    context_of(hippo).accesses.add([used])
    assert [run.outcome for run in hippo.run_jobs(scope=HERE)] == ["0 forgotten"]
    clock.advance(days=2)
    assert [run.outcome for run in hippo.run_jobs(scope=HERE)] == ["1 forgotten"]
    gone = hippo.get(low, scope=HERE)
    assert gone.forgotten_reason == "pruned: importance below 0.2, not used for 90 days"
    assert hippo.get(high, scope=HERE).current
    assert hippo.get(used, scope=HERE).current
    assert low not in {item.id for item in hippo.recall("four", scope=HERE)}
    assert hippo.verify().ok

    restored = hippo.restore(low, scope=HERE)
    assert isinstance(restored, Memory)
    clock.advance(days=1)
    hippo.run_jobs(scope=HERE)
    assert hippo.get(low, scope=HERE).current


def test_a_decay_that_fails_lowers_nothing(
    hippo: Hippocampe, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = keep(hippo, "le four chauffe", importance=0.8)
    hippo.update_settings(scope=HERE, decay_half_life_days=10)
    clock.advance(days=10)
    real = job_runs.finish
    monkeypatch.setattr(job_runs, "finish", Handler(*[ValueError()] * MAX_ATTEMPTS))
    assert [run.state for run in hippo.run_jobs(scope=HERE)] == ["failed"]
    assert importance(hippo, id) == 0.8
    monkeypatch.setattr(job_runs, "finish", real)
    clock.advance(minutes=1)
    assert [run.state for run in hippo.run_jobs(scope=HERE)] == ["done"]
    assert importance(hippo, id) == pytest.approx(0.4, rel=1e-3)


def test_other_spaces_are_left_alone(hippo: Hippocampe, clock: FakeClock) -> None:
    other = HERE.__class__(space="other")
    id = hippo.remember("le four chauffe", scope=other, importance=0.1).memory.id
    hippo.update_settings(scope=HERE, decay_half_life_days=1, prune_below=0.9)
    clock.advance(days=100)
    hippo.run_jobs(scope=HERE)
    assert hippo.run_jobs(scope=other) == []
    assert hippo.get(id, scope=other).importance == 0.1


def test_a_handler_is_told_its_run(hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch) -> None:
    handle(monkeypatch, "compact", lambda context, run: f"{run.payload['channel']} done")
    queue(hippo, "compact", channel="lobby")
    assert [run.outcome for run in hippo.run_jobs(scope=HERE)] == ["lobby done"]
