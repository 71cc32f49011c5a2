"""The ledger of background jobs: running, waiting and failed runs."""

from typing import get_args

from starlette.responses import Response

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, ReadPage
from hippocampe.types import JOBS, JobState

router = page_router()
MOST = 200
STATES: tuple[JobState, ...] = get_args(JobState)


@router.get("/jobs")
async def jobs_page(page: ReadPage, state: str = "", job: str = "") -> Response:
    """The matching runs of the space, newest first."""
    state, job = state if state in STATES else "", job if job in JOBS else ""
    runs = await page.hippo.jobs(
        scope=page.scope, job=job or None, states=[state] if state else None, limit=MOST
    )
    return page.render(
        "jobs/page.html",
        names=JOBS,
        states=STATES,
        state=state,
        job=job,
        runs=runs,
    )


@router.post("/jobs/run")
async def run_now(page: AdminPage) -> Response:
    """Run the due jobs now."""
    ran = await page.hippo.run_jobs(scope=page.scope)
    ended = page.count("{number} run ended.", "{number} runs ended.", len(ran))
    text = ended if ran else page.say("Nothing was due.")
    return page.part(toast=text, changed="jobs")


@router.post("/jobs/{id}/retry")
async def retry(page: AdminPage, id: str) -> Response:
    """Make a run due now, with all its attempts available again."""
    await page.hippo.retry_job(id, scope=page.scope)
    return page.part(toast=page.say("The run is due now."), changed="jobs")
