"""The chat: talk beside what memory gave for it and why, what it learnt or replaced, and what it cost."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from importlib.util import find_spec
from typing import Any

from starlette.responses import Response

from hippocampe.companion import AsyncCompanion, Reply, TextStreamed
from hippocampe.companion.alone import serve_alone
from hippocampe.errors import HippocampeError, InvalidInput
from hippocampe.presentation.model_ways import model_ways
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Text, Visit, WritePage
from hippocampe.server.http.events import EventStream, sent
from hippocampe.system.command_line import install_line
from hippocampe.system.login import login_name
from hippocampe.types import Memory, Scope

router = page_router(prefix="/chat")
CHANNEL = "chat"
"""The channel, the one of the chat in a terminal: both go on with one conversation."""
EXCHANGE = "chat/exchange.html"
EARLIER = 20
"""Messages shown of the conversation so far."""
LOOKS = 10
"""Looks for what a model learns in the background, each a few seconds after the other."""


@router.get("")
async def chat_page(page: ReadPage, user: str = "") -> Response:
    """The conversation so far, and the field for the next message; without a model, the ways to get one."""
    speaker = _speaker(page, user)
    earlier = await page.hippo.messages(scope=speaker, limit=EARLIER)
    return page.render(
        "chat/page.html",
        speaker=speaker,
        users=tuple(await page.hippo.users(scope=page.scope)),
        earlier=[each for each in earlier if each.channel == CHANNEL],
        model=page.hippo.sync.config.model,
        **_ways(page),
    )


@router.post("")
async def say(page: WritePage, message: Text = "", user: Text = "") -> Response:
    """Serve a message with memory alone: what a model would be given, and what was learnt."""
    scope = _speaker(page, user)
    served = await asyncio.to_thread(serve_alone, page.hippo.sync, _said(message), scope=scope)
    return page.part(
        EXCHANGE,
        changed="memory-changed",
        message=message,
        user=scope.user or "",
        reply=served.reply,
        stored=served.stored,
        failed=None,
    )


@router.post("/answer")
async def answer(page: WritePage, message: Text = "", user: Text = "") -> Response:
    """Let the companion answer a message: events with the text as it is written, then the exchange."""
    return EventStream(_answered(page, _said(message), _speaker(page, user)))


@router.get("/learnt")
async def learnt(page: ReadPage, since: datetime, user: str = "", look: int = 1) -> Response:
    """The memories that a model made of the talk in the background since a time."""
    scope = _speaker(page, user)
    found, waiting = await asyncio.gather(
        page.hippo.memories(scope=scope, collection="memory", channel=CHANNEL, since=since),
        page.hippo.jobs(scope=page.scope, job="extract", states=("waiting", "running"), limit=1),
    )
    made = [each for each in found.items if each.source == "extraction"]
    former = await asyncio.gather(*(former_of(page, each) for each in made))
    return page.part(
        "chat/learnt.html",
        made=tuple(zip(made, former, strict=True)),
        since=since,
        user=user,
        next=look + 1 if waiting and look < LOOKS else None,
    )


async def _answered(page: Visit, message: str, scope: Scope) -> AsyncGenerator[bytes]:
    """The events of an answer. An error is part of the talk: the message is kept."""
    reply, failed = None, None
    try:
        companion: AsyncCompanion = page.request.app.state.companion
        events = companion.stream(
            message, user=scope.user, channel=scope.channel, space=scope.space
        )
        async with aclosing(events):
            async for event in events:
                if isinstance(event, TextStreamed):
                    yield sent("text", event)
                elif isinstance(event, Reply):
                    reply = event
    except HippocampeError as exc:
        failed = str(exc)
    html = page.html(
        EXCHANGE,
        message=message,
        user=scope.user or "",
        reply=reply,
        stored=None,
        failed=failed,
    )
    yield sent("exchange", {"html": html})


async def former_of(page: Visit, memory: Memory) -> list[Memory]:
    """The memories that one replaced."""
    versions = (await page.hippo.history(memory.id, scope=page.scope)).versions
    return [each for each in versions if each.superseded_by == memory.id]


def _said(message: str) -> str:
    if not message.strip():
        raise InvalidInput("the message is empty: write something first.")
    return message


def _speaker(page: Visit, user: str) -> Scope:
    """The speaker: by default the user of this machine, as in a terminal, or the label of the key."""
    default = login_name() if page.key is None else page.key.label
    return Scope(page.scope.space, user.strip() or default or None, CHANNEL)


def _ways(page: Visit) -> dict[str, Any]:
    """The lines that give this server a model, and its missing package."""
    ways = model_ways(page) if page.hippo.sync.config.model is None else ()
    lines: dict[str, str] = {}
    for way in ways:
        variables = [f"{name}={value}" for name, value in way.variables.items()]
        start = " ".join([*variables, page.serving("model", way.model)])
        lines[way.says] = "\n".join([*way.before, start])
    missing = find_spec("pydantic_ai") is None
    return {"ways": lines, "install": install_line("companion") if missing else None}
