"""Conversations under way: one per user and channel, closed after some minutes without a message."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Lock

from hippocampe.aio import AsyncHippocampe
from hippocampe.companion.expressions import listed
from hippocampe.companion.removals import may_quote, removals
from hippocampe.types import Message, Scope, Settings
from hippocampe.validation import MAX_LIMIT

MAX_SESSIONS = 1_000
"""Sessions kept in RAM; others are restored from the store."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message and its answer.

    `reminder` is what the model was reminded of, `reminded` the ids of its items. It stays in the
    requests of the session, because items are not given again while the model still sees them; it is
    never stored.
    """

    at: datetime
    message: str
    expression: str
    reply: str
    reminder: str = ""
    reminded: frozenset[str] = frozenset()


@dataclass(slots=True)
class Session:
    """The conversation of one user; hold `turn` while answering."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    exchanges: list[Exchange] | None = None
    """None until they are read from the store."""
    waiting: int = 0
    fresh: bool = False
    """True once reminders were dropped, so that their other items may be given again."""

    def add(self, exchange: Exchange, *, keep: int) -> None:
        """Append an exchange; drop the oldest ones."""
        self.exchanges = [*(self.exchanges or ()), exchange][-keep:]


class Sessions:
    """The sessions of one companion. Used by one event loop; erasures come from any thread."""

    def __init__(self, hippo: AsyncHippocampe) -> None:
        self._hippo = hippo
        self._sessions: OrderedDict[Scope, Session] = OrderedDict()
        self._changing = Lock()
        if hippo.sync.owns:  # another process tells nobody
            hippo.sync.erasures.add(self.erased)

    def of(self, scope: Scope) -> Session:
        """The session of a user on a channel."""
        with self._changing:
            session = self._sessions.setdefault(scope, Session())
            self._sessions.move_to_end(scope)
            if len(self._sessions) > MAX_SESSIONS:
                for other, each in list(self._sessions.items())[:-MAX_SESSIONS]:
                    if not each.turn.locked() and not each.waiting:
                        del self._sessions[other]
        return session

    def erased(self, space: str) -> None:
        """Drop the exchanges of a space, which may have been erased; the next message reads them from the store."""
        with self._changing:
            for scope, session in list(self._sessions.items()):
                if scope.space == space:
                    # A turn under way ends with the old one; the next one waits for it.
                    self._sessions[scope] = Session(session.turn)

    async def exchanges(
        self, session: Session, scope: Scope, settings: Settings, now: datetime
    ) -> list[Exchange]:
        """The exchanges of the session that are not forgotten, oldest first; none once it has timed out.

        After a restart they are read from the store.
        """
        if session.exchanges is None:
            session.exchanges = await self._stored(scope, settings)
        elif session.exchanges:
            await self._drop_hidden(session, scope)
        timeout = timedelta(minutes=settings.session_timeout_minutes)
        last = session.exchanges[-1].at if session.exchanges else None
        # A clock that was moved back must not keep a session for ever.
        if last is None or not timedelta() <= abs(now - last) < timeout:
            session.exchanges = []
        return session.exchanges

    async def _drop_hidden(self, session: Session, scope: Scope) -> None:
        """Drop the exchanges that were forgotten or erased since, and the reminders, which may quote what was."""
        known = session.exchanges or []
        messages = await self._hippo.messages(
            scope=scope, since=known[0].at, limit=MAX_LIMIT, working=True
        )
        shown = {message.at for message in messages}
        lost = any(each.at not in shown for each in known)
        removed = await removals(self._hippo, scope, known[0].at)
        session.exchanges = [
            replace(each, reminder="", reminded=frozenset())
            if lost or may_quote(each.at, each.reminded, removed)
            else each
            for each in known
            if each.at in shown
        ]
        session.fresh |= session.exchanges != known

    async def _stored(self, scope: Scope, settings: Settings) -> list[Exchange]:
        messages = await self._hippo.messages(
            scope=scope, limit=2 * settings.recent_messages, working=True
        )
        timeout = timedelta(minutes=settings.session_timeout_minutes)
        found: list[Exchange] = []
        question: Message | None = None
        for message in messages:
            if message.role == "user":
                question = message if message.author == scope.user else None
            elif message.role == "assistant" and question is not None:
                if found and question.at - found[-1].at >= timeout:
                    found.clear()
                found.append(
                    Exchange(
                        question.at, question.content, listed(message.expression), message.content
                    )
                )
                question = None
        return found
