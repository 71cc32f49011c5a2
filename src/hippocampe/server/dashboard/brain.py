"""The companion's statements about itself and its goals, by category."""

from starlette.responses import Response

from hippocampe.companion.self_knowledge import KINDS
from hippocampe.server.dashboard import drawing
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage

router = page_router()
DAYS = 30
PAGE_SIZE = 50


@router.get("/brain")
async def brain_page(page: ReadPage) -> Response:
    """The page; its parts load later."""
    return page.render("brain/page.html")


@router.get("/brain/groups")
async def groups(page: ReadPage) -> Response:
    """The categories of self and of goals."""
    stats = await page.hippo.stats(scope=page.scope)
    activity = await page.hippo.activity(scope=page.scope, days=DAYS)
    names = {kind: "/".join(kind) for kind in KINDS}
    groups = {
        collection: {
            names[kind]: [day.categories.get(names[kind], 0) for day in activity]
            for kind in KINDS
            if kind[0] == collection
        }
        for collection in ("self", "goal")
    }
    return page.part(
        "brain/groups.html", groups=groups, many=stats.categories, line=drawing.line, days=DAYS
    )


@router.get("/brain/{collection}/{category}")
async def members(
    page: ReadPage, collection: str, category: str, cursor: str | None = None
) -> Response:
    """The memories of a category, newest first."""
    found = await page.hippo.memories(
        scope=page.scope, collection=collection, category=category, limit=PAGE_SIZE, cursor=cursor
    )
    return page.part("brain/members.html", path=f"/brain/{collection}/{category}", found=found)
