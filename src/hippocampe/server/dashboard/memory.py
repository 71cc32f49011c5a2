"""The memory page: facts, search, auto-retrieval, notes."""

from starlette.responses import Response

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.search import asked_of, form
from hippocampe.server.dashboard.visit import ReadPage

router = page_router()


@router.get("/memory")
async def memory(page: ReadPage) -> Response:
    """The four parts, which load separately."""
    return page.render("memory.html", section="memory", asked=asked_of(page), form=await form(page))
