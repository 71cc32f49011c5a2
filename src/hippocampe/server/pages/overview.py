"""The overview: what was given just now, what was learnt, what waits for a decision."""

from starlette.responses import Response

from hippocampe.server.pages.routing import page_router
from hippocampe.server.pages.visit import ReadPage

router = page_router()


@router.get("/overview")
async def overview(page: ReadPage) -> Response:
    """The first page."""
    stats = await page.hippo.stats(scope=page.scope)
    return page.render("overview.html", section="overview", stats=stats)
