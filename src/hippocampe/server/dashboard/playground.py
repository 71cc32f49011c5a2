"""The playground: a preview of the injection for a message, with reasons and without side effects."""

from datetime import datetime
from zoneinfo import ZoneInfo

from starlette.responses import Response

from hippocampe.errors import InvalidInput
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Text, Visit
from hippocampe.types import Scope

router = page_router(prefix="/playground")
MOST_LEFT_OUT = 30


@router.get("")
async def playground(
    page: ReadPage, message: str = "", user: str = "", channel: str = ""
) -> Response:
    """The form."""
    return page.render(
        "playground.html",
        message=message,
        user=user,
        channel=channel,
        users=tuple(await page.hippo.users(scope=page.scope)),
    )


@router.post("")
async def tried(
    page: ReadPage, message: Text = "", user: Text = "", channel: Text = "", at: Text = ""
) -> Response:
    """The previewed injection."""
    scope = Scope(page.scope.space, user.strip() or None, channel.strip() or None)
    moment = _moment(page, at)
    injection = await page.hippo.preview(message, scope=scope, at=moment)
    return page.part(
        "playground/result.html",
        injection=injection,
        considered=list(injection.trace.considered),
        most=MOST_LEFT_OUT,
        threshold=page.settings.auto_retrieve_min_score,
        moment=moment,
    )


def _moment(page: Visit, text: str) -> datetime | None:
    """Parse a time of the form, in the timezone of the space."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(page.settings.timezone))
    except ValueError as exc:
        raise InvalidInput(f"{text[:20]!r} is not a time: write it like 2026-01-17T10:23.") from exc
