"""The companion's statements about itself and its goals, by category."""

from dataclasses import dataclass

from starlette.responses import Response

from hippocampe.companion.self_knowledge import KINDS
from hippocampe.server.dashboard import drawing
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage

router = page_router()
DAYS = 30
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Group:
    """A category with its number of memories, and the numbers learnt on each of the latest days."""

    name: str
    many: int
    learnt: int
    line: str


@router.get("/brain")
async def brain_page(page: ReadPage) -> Response:
    """The page; its parts load later."""
    return page.render("brain/page.html", section="brain")


@router.get("/brain/groups")
async def groups(page: ReadPage) -> Response:
    """The categories of self and of goals."""
    stats = await page.hippo.stats(scope=page.scope)
    activity = await page.hippo.activity(scope=page.scope, days=DAYS)

    def group(name: str) -> Group:
        learnt = [day.categories.get(name, 0) for day in activity]
        return Group(name, stats.categories.get(name, 0), sum(learnt), drawing.line(learnt))

    found: dict[str, list[Group]] = {"self": [], "goal": []}
    for collection, category in KINDS:
        found[collection].append(group(f"{collection}/{category}"))
    return page.part("brain/groups.html", groups=found, days=DAYS)


@router.get("/brain/{collection}/{category}")
async def members(
    page: ReadPage, collection: str, category: str, cursor: str | None = None
) -> Response:
    """The memories of a category, newest first."""
    found = await page.hippo.memories(
        scope=page.scope, collection=collection, category=category, limit=PAGE_SIZE, cursor=cursor
    )
    return page.part("brain/members.html", path=f"/brain/{collection}/{category}", found=found)
