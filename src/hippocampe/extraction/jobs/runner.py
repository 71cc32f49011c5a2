"""Run the jobs of the ledger, one at a time, in a background thread or by hand."""

import threading
import time
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus, Retired
from hippocampe.errors import (
    BudgetSpent,
    EmbedderUnavailable,
    HippocampeError,
    IndexUnavailable,
    ModelUnavailable,
    StoreError,
)
from hippocampe.extraction.jobs import schedule
from hippocampe.extraction.jobs.work import JOBS
from hippocampe.store import job_runs
from hippocampe.store.store import Store
from hippocampe.types import JobRun
from hippocampe.validation import check_choice

BEAT_SECONDS = 1.0
"""Poll interval for due runs."""
SHARED_BEAT_SECONDS = 5.0
"""The same where many processes poll one database: the one that queues a run starts it at once."""
SCHEDULE_SECONDS = 15.0
"""Poll interval of the schedule; longer, because it reads more."""
BACK_OFF = (timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10), timedelta(hours=1))
"""Back-off of a run after its first failure, its second, and so on."""
MAX_ATTEMPTS = len(BACK_OFF) + 1
"""Failures after which a run is parked."""
OUTAGE_SECONDS = (30, 600)
"""Back-off during an outage: the first and the longest interval; it doubles each time."""
LEASE = timedelta(minutes=2)
"""In a shared database, time after which a run of a process that died may be taken back."""
KEPT = timedelta(days=30)
"""Retention of finished runs."""
TIDY_EVERY = timedelta(days=1)
OUTAGES = (ModelUnavailable, BudgetSpent, EmbedderUnavailable, IndexUnavailable, StoreError)
"""Errors that do not count as an attempt of a run: it is retried for as long as they last."""
INTERRUPTED = "the process ended during the run"


class Runner:
    """Queues the scheduled jobs, and executes the due runs.

    Runs are serial, also those by hand: two runs never work on the same talk.

    Args:
        context: Returns the context that serves now.
    """

    def __init__(self, context: Callable[[], Context]) -> None:
        self._context = context
        self._one_at_a_time = threading.Lock()
        self._stopping = threading.Event()
        self._awake = threading.Event()
        self._thread: threading.Thread | None = None
        self._looked_at: set[str | None] = set()
        self._tidied_at: datetime | None = None
        self._outages: dict[tuple[str, str | None], tuple[int, str]] = {}
        """Consecutive attempts that met an outage, and the name of the outage: by job, and by space for a spent
        budget."""

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="hippocampe-jobs", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Poll at once: a run was queued."""
        self._awake.set()

    def stop(self) -> None:
        """Stop; a run under way is requeued at the next open. Closes the language model. Idempotent."""
        self._stopping.set()
        self._awake.set()
        model = self._context().language_model
        if model is not None:
            # Cancels the calls under way, which may take minutes.
            model.close()
        if self._thread is not None:
            self._thread.join()
        with self._one_at_a_time:
            """Note that a run by hand has ended."""

    def _run(self) -> None:
        look_at = time.monotonic()
        while not self._stopping.is_set():
            self._awake.clear()
            scheduling = time.monotonic() >= look_at
            if scheduling:
                look_at = time.monotonic() + SCHEDULE_SECONDS
            beat = partial(self._beat, scheduling=scheduling)
            self._context().corpus.outages.attempt("jobs", beat)
            shared = self._context().corpus.store.shared
            self._awake.wait(SHARED_BEAT_SECONDS if shared else BEAT_SECONDS)

    def _beat(self, *, scheduling: bool) -> None:
        context = self._context()
        try:
            if scheduling:
                self._prepare(context, None)
            while self._run_next(context, None) is not None:
                pass
        except Retired:
            # The next round gets the new context.
            return
        except (HippocampeError, OSError):
            if not self._stopping.is_set():
                raise

    def run_due(self, context: Context, *, space: str, job: str | None = None) -> list[JobRun]:
        """Queue the scheduled jobs of a space, execute all due runs; return them with their outcomes.

        Args:
            job: Execute only this one, a scheduled one also before it is due.

        Raises:
            InvalidInput: There is no such job.
            Retired: The embedder was changed; the run under way waits for the next call.
            StoreError: The ledger cannot be written.
        """
        if job is None:
            self._prepare(context, space)
        else:
            check_choice("job", job, JOBS)
        if job in schedule.SCHEDULED:
            store = context.corpus.store
            with store.scheduling(), store.write() as connection:
                job_runs.ask(connection, job, space, store.now())
        ended: list[JobRun] = []
        while (run := self._run_next(context, space, job)) is not None:
            ended.append(run)
        return ended

    def _prepare(self, context: Context, space: str | None) -> None:
        with self._one_at_a_time:
            if self._stopping.is_set():
                return
            starting = not self._looked_at & {None, space}
            store = context.corpus.store
            # One digest per space, however many processes look at the schedule.
            with store.scheduling():
                due = schedule.due(context, jobs=JOBS.keys(), starting=starting, space=space)
                now = store.now()
                tidying = self._tidied_at is None or abs(now - self._tidied_at) >= TIDY_EVERY
                if due or tidying:
                    with store.write(durable=bool(due)) as connection:
                        for job, of in due:
                            job_runs.add(connection, job, of, due_at=now)
                        if tidying:
                            job_runs.remove_done(connection, now - KEPT)
                    self._tidied_at = now if tidying else self._tidied_at
            self._looked_at.add(space)

    def _run_next(
        self, context: Context, space: str | None, job: str | None = None
    ) -> JobRun | None:
        """Execute the run that has been due longest, if any; return it with its outcome."""
        corpus = context.corpus
        with self._one_at_a_time:
            if self._stopping.is_set():
                return None
            corpus.check_serving()
            self._take_back(corpus.store)
            run = self._claim(corpus.store, space, JOBS.keys() if job is None else (job,))
            if run is None:
                return None
            with corpus.store.fenced(run.space), self._leased(corpus.store, run):
                return self._execute(context, run)

    def _claim(self, store: Store, space: str | None, jobs: Collection[str]) -> JobRun | None:
        """Claim the run of some jobs that has been due longest, if any."""
        now = store.now()
        if not store.shared:
            # A write transaction only if there is something to claim.
            with store.read() as connection:
                run = job_runs.due(connection, now, jobs=jobs, space=space)
            if run is None:
                return None
        with store.write(durable=False) as connection:
            run = job_runs.due(connection, now, jobs=jobs, space=space)
            if run is not None:
                leased = LEASE if store.shared else None
                job_runs.claim(connection, run.id, now, leased=leased)
        return run

    @contextmanager
    def _leased(self, store: Store, run: JobRun) -> Generator[None]:
        """Keep a run from other processes of a shared database, for as long as this one lives."""
        if not store.shared:
            yield
            return
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(LEASE.total_seconds() / 3):
                with suppress(StoreError), store.write(durable=False) as connection:
                    job_runs.lease(connection, run.id, LEASE)

        renewing = threading.Thread(target=renew, name="hippocampe-lease", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            ended.set()
            renewing.join()

    def _take_back(self, store: Store) -> None:
        """Requeue runs that a dead process left as running."""
        with store.read() as connection:
            died = job_runs.abandoned(connection, leased=store.shared)
        if died:
            with store.write() as connection:
                for run in died:
                    values: dict[str, Any] = {"state": "waiting", "error": INTERRUPTED}
                    if run.attempts >= MAX_ATTEMPTS:
                        # This run may be the one that kills the process.
                        values |= {"state": "parked", "ended_at": store.now()}
                    elif store.shared:
                        # By the clock that finds due runs, not by that of the lease.
                        values["due_at"] = store.now()
                    # Only if no other process took it back meanwhile.
                    job_runs.take_back(connection, run.id, leased=store.shared, **values)

    def _execute(self, context: Context, run: JobRun) -> JobRun:
        """Do the work of a claimed run, and store its outcome."""
        corpus = context.corpus
        outcome: str | None = None

        def work() -> None:
            nonlocal outcome
            outcome = JOBS[run.job](context, run)

        try:
            error = corpus.outages.attempt(f"job {run.job}", work, passing=(Retired, *OUTAGES))
        except OUTAGES as exc:
            error = exc
        except BaseException:
            self._release(corpus.store, run)
            raise
        if error is None:
            self._succeed(corpus, run, outcome)
        elif self._stopping.is_set() or corpus.retired:
            self._release(corpus.store, run)
        elif isinstance(error, OUTAGES):
            self._put_off(corpus, run, error)
        else:
            self._fail(corpus.store, run, error)
        with corpus.store.read() as connection:
            return job_runs.get(connection, run.space, run.id) or run

    def _release(self, store: Store, run: JobRun) -> None:
        """Undo a claim."""
        with store.write(from_reserve=True) as connection:
            job_runs.leave(
                connection, run.id, state="waiting", attempts=run.attempts, due_at=run.due_at
            )

    def _succeed(self, corpus: Corpus, run: JobRun, outcome: str | None) -> None:
        with corpus.store.write(from_reserve=True) as connection:
            done = {"state": "done", "outcome": outcome, "error": None}
            job_runs.leave(connection, run.id, **done, ended_at=corpus.store.now())
        for space in (None, run.space):
            if (run.job, space) in self._outages:
                _, name = self._outages.pop((run.job, space))
                corpus.outages.works(name)

    def _fail(self, store: Store, run: JobRun, error: Exception) -> None:
        reason = _spelled(error)
        now = store.now()
        with store.write(from_reserve=True) as connection:
            if run.attempts + 1 >= MAX_ATTEMPTS:
                job_runs.leave(connection, run.id, state="parked", error=reason, ended_at=now)
            else:
                due_at = now + BACK_OFF[run.attempts]
                job_runs.leave(connection, run.id, state="failed", error=reason, due_at=due_at)

    def _put_off(self, corpus: Corpus, run: JobRun, error: HippocampeError) -> None:
        """Postpone a run, and with it all runs that would meet the same outage."""
        space = run.space if isinstance(error, BudgetSpent) else None
        before, _ = self._outages.get((run.job, space), (0, ""))
        name = _name(run, error)
        self._outages[run.job, space] = before + 1, name
        corpus.outages.failed(name, error)
        first, most = OUTAGE_SECONDS
        until = corpus.store.now() + timedelta(seconds=min(first * 2 ** min(before, 10), most))
        with corpus.store.write(from_reserve=True) as connection:
            job_runs.leave(
                connection,
                run.id,
                state="failed",
                attempts=run.attempts,
                error=_spelled(error),
                due_at=until,
            )
            job_runs.put_off(connection, run.job, space, until)


def _name(run: JobRun, error: HippocampeError) -> str:
    """The name of the failing part, for the log."""
    if isinstance(error, BudgetSpent):
        return f"budget of space {run.space}"
    return "language model" if isinstance(error, ModelUnavailable) else f"job {run.job}"


def _spelled(error: Exception) -> str:
    """An error as text for the ledger. Only errors of this package are known to quote no user text."""
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, HippocampeError) else name
