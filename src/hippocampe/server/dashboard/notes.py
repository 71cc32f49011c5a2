"""Notes: those always injected, those that can be found, and the state of the vault."""

from starlette.responses import Response

from hippocampe.server.dashboard.connect import vault_lines
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Visit, WritePage

router = page_router(prefix="/notes")
SHOWN = 200
EXCERPT = 500
"""Displayed characters of a note: as many as an injection quotes."""


@router.get("")
async def notes_page(page: ReadPage) -> Response:
    """The page; its list loads later."""
    return page.render("notes/page.html")


@router.get("/list")
async def notes(page: ReadPage) -> Response:
    """The notes as of the last refresh."""
    return await _shown(page, refresh=False)


@router.post("/refresh")
async def refresh(page: WritePage) -> Response:
    """Read the changed notes first."""
    return await _shown(page, refresh=True)


async def _shown(page: Visit, *, refresh: bool) -> Response:
    config = page.hippo.sync.config
    configured = (
        config.notes_space == page.scope.space
        and (config.notes_folder or config.obsidian_url) is not None
    )
    found = await page.hippo.notes(scope=page.scope, refresh=refresh) if configured else []
    outages = (await page.hippo.stats(scope=page.scope)).outages.get("notes", 0)
    settings = await page.hippo.settings(scope=page.scope)
    tag = settings.obsidian_context_tag.lstrip("#").casefold()
    paths = {each.path for each in found}
    return page.part(
        "notes/list.html",
        configured=configured,
        vault_lines=[] if configured else vault_lines(page),
        folder=config.notes_folder is not None,
        notes=found[:SHOWN],
        total=len(found),
        excerpt=EXCERPT,
        fixed=settings.obsidian_context_notes,
        absent=[path for path in settings.obsidian_context_notes if path not in paths],
        tagged={each.path for each in found if tag in {name.casefold() for name in each.tags}},
        settings=settings,
        outages=outages if page.key is None else 0,
        refreshed=refresh,
    )
