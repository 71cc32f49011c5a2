"""The memory page: facts and search."""

from starlette.responses import Response

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.search import asked_of, form
from hippocampe.server.dashboard.visit import ReadPage

router = page_router()


@router.get("/memory")
async def memory(page: ReadPage) -> Response:
    """The parts, which load separately."""
    return page.render("memory.html", section="memory", asked=asked_of(page), form=await form(page))
