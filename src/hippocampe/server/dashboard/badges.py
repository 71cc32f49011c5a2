"""The numbers of the menu: what waits on each page."""

from starlette.responses import Response

from hippocampe.server.dashboard.menu import MENU
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage

router = page_router()


@router.get("/menu/badges")
async def badges(page: ReadPage) -> Response:
    """Count what waits on each page; loaded after the page, since counts of a large space take longer."""
    stats = await page.hippo.stats(scope=page.scope)
    waiting = {each.name: each.badge(stats) for each in MENU if each.badge and page.may(each.role)}
    return page.part("badges.html", waiting=waiting)
