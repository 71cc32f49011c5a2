"""The ledger of background jobs: running, waiting and failed runs."""

from typing import Any, get_args

from starlette.responses import Response

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, ReadPage
from hippocampe.types import JOBS, JobState

router = page_router()
MOST = 200
STATES: tuple[JobState, ...] = get_args(JobState)


@router.get("/jobs")
async def jobs_page(page: ReadPage, state: str = "", job: str = "") -> Response:
    """The runs of the space."""
    return page.render(
        "jobs/page.html",
        section="jobs",
        names=JOBS,
        states=STATES,
        **_filters(state, job),
    )


@router.get("/jobs/list")
async def jobs_list(page: ReadPage, state: str = "", job: str = "") -> Response:
    """The matching runs, newest first."""
    chosen = _filters(state, job)
    runs = await page.hippo.jobs(
        scope=page.scope,
        job=chosen["job"] or None,
        states=[chosen["state"]] if chosen["state"] else None,
        limit=MOST,
    )
    return page.part("jobs/list.html", runs=runs, **chosen)


def _filters(state: str, job: str) -> dict[str, Any]:
    return {"state": state if state in STATES else "", "job": job if job in JOBS else ""}


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
