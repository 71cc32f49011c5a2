"""The log of injections, with the reasons of each."""

from starlette.responses import Response

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage

router = page_router()
PAGE_SIZE = 50


@router.get("/retrievals")
async def retrievals_page(page: ReadPage, cursor: str | None = None) -> Response:
    """The latest injections, or those before one."""
    found = await page.hippo.retrievals(scope=page.scope, limit=PAGE_SIZE + 1, cursor=cursor)
    shown = found[:PAGE_SIZE]
    following = shown[-1].id if len(found) > PAGE_SIZE else None
    return page.render("retrievals/page.html", retrievals=shown, following=following)


@router.get("/retrievals/{id}")
async def retrieval_page(page: ReadPage, id: str) -> Response:
    """One injection: the text, the items, the rejected candidates with reasons, and the timing."""
    logged = await page.hippo.retrieval(id, scope=page.scope)
    return page.render("retrievals/one.html", logged=logged)


@router.get("/retrievals/{id}/why")
async def why(page: ReadPage, id: str) -> Response:
    """The rebuilt text and candidates; this takes longer than the rest of the page."""
    logged = await page.hippo.retrieval(id, scope=page.scope)
    rebuilt = await page.hippo.replay(id, scope=page.scope)
    return page.part(
        "retrievals/why.html",
        logged=logged,
        text=rebuilt.text,
        exact=rebuilt.tokens == logged.tokens_added,
        items={each.recollection.id: each.recollection for each in rebuilt.trace.considered},
        threshold=page.settings.auto_retrieve_min_score,
    )
