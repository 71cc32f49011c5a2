"""Endpoints on background work: jobs, costs of language models, notes."""

from typing import Annotated

from fastapi import APIRouter, Query

from hippocampe.server.http.door import Admin, Door, Reader, Writer
from hippocampe.types import JobRun, JobState, ModelUsage, Note

router = APIRouter(prefix="/api", tags=["background"])


@router.get("/jobs")
async def list_jobs(
    hippo: Door,
    scope: Reader,
    job: str | None = None,
    state: Annotated[list[JobState] | None, Query()] = None,
    limit: int = 50,
) -> list[JobRun]:
    """The runs of background jobs, newest first."""
    return await hippo.jobs(scope=scope, job=job, states=state, limit=limit)


@router.post("/jobs/run")
async def run_jobs(hippo: Door, scope: Admin) -> list[JobRun]:
    """Run all due jobs now, and return their outcomes."""
    return await hippo.run_jobs(scope=scope)


@router.post("/jobs/{id}/retry")
async def retry_job(hippo: Door, scope: Admin, id: str) -> JobRun:
    """Make a failed or parked run due now, with all its attempts available again."""
    return await hippo.retry_job(id, scope=scope)


@router.get("/usage")
async def list_usage(
    hippo: Door, scope: Reader, since: str | None = None, limit: int = 100
) -> list[ModelUsage]:
    """The calls of language models, newest first, with their tokens and prices."""
    return await hippo.usage(scope=scope, since=since, limit=limit)


@router.get("/notes")
async def list_notes(hippo: Door, scope: Reader) -> list[Note]:
    """The notes by path, as of the last refresh."""
    return await hippo.notes(scope=scope)


@router.post("/notes/refresh")
async def refresh_notes(hippo: Door, scope: Writer) -> list[Note]:
    """Read changed notes now."""
    return await hippo.notes(scope=scope, refresh=True)
