"""A process that dies during a run leaves a run that is done once by the next."""

from pathlib import Path

import pytest
from ledgers import HERE, Handler, context_of, handle, queue, run_of

from children import child
from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.extraction.jobs.runner import INTERRUPTED, MAX_ATTEMPTS
from hippocampe.store import job_runs

pytestmark = pytest.mark.usefixtures("hashed")

WORKER = """
import time
from hippocampe.extraction.jobs.work import JOBS
from hippocampe.store import job_runs, message_rows

def digest(context, run):
    with context.writer.change() as change:
        heard = [message.id for message in message_rows.live(change.connection, run.space)]
        message_rows.end_live(change.connection, heard)
        job_runs.finish(change.connection, run.id, "lost", context.corpus.store.now())
        print(run.id, flush=True)
        time.sleep(300)

JOBS["digest"] = digest
with Hippocampe.open(Config(folder=folder, embedder="hashed:32", background=False)) as hippo:
    hippo.observe("le four chauffe", scope=scope)
    with hippo._context.corpus.store.write() as connection:
        job_runs.add(connection, "digest", "default", due_at=hippo._context.corpus.store.now())
hippo = Hippocampe.open(Config(folder=folder, embedder="hashed:32"))
time.sleep(300)
"""


def test_killed_in_the_middle(
    folder: Path, open_hippo: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    with child(WORKER, folder) as worker:
        assert worker.stdout is not None
        id = worker.stdout.readline().strip()
        worker.kill()
    handle(monkeypatch, "digest", work := Handler())
    hippo = open_hippo(embedder="hashed:32")
    stopped = run_of(hippo, id)
    assert (stopped.state, stopped.attempts, stopped.outcome) == ("running", 1, None)
    assert hippo.stats(scope=HERE).live == 1
    [run] = hippo.run_jobs(scope=HERE)
    assert (run.id, run.state, run.attempts, run.outcome) == (id, "done", 2, "3 counted")
    assert work.ran == [id]
    # It was queued at the real present, which is long after the test's clock: no second one.
    assert len(hippo.jobs(scope=HERE)) == 1


def crash(hippo: Hippocampe, id: str) -> None:
    context = context_of(hippo)
    with context.corpus.store.write() as connection:
        assert job_runs.claim(connection, id, context.corpus.store.now())


def test_a_run_that_ends_the_process_again_and_again_is_parked(
    open_hippo: Opener, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, scope: Scope
) -> None:
    handle(monkeypatch, "extract", Handler())
    hippo = open_hippo(embedder="hashed:32")
    other, id = queue(hippo, "extract"), queue(hippo, "extract")
    for _ in range(MAX_ATTEMPTS):
        crash(hippo, id)
        hippo.close()
        hippo = open_hippo(embedder="hashed:32")
        # Only what is due for longest is looked at: the other run.
        with context_of(hippo).corpus.store.write() as connection:
            job_runs.change(connection, id, due_at=clock.now.replace(year=2027))
        hippo.run_jobs(scope=Scope(space="nobody"))
    assert (run_of(hippo, id).state, run_of(hippo, id).error) == ("parked", INTERRUPTED)
    assert [run.id for run in hippo.run_jobs(scope=HERE)] == [other]
