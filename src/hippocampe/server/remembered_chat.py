"""Memory around one chat completion: what is put before it, what is stored after it."""

import asyncio
import json
import logging
from datetime import timedelta

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import BudgetSpent, HippocampeError
from hippocampe.injection import tokens
from hippocampe.injection.channel_history import Reminder
from hippocampe.model.prices import price_of
from hippocampe.server.chat_completions import Answer, Json, conversation
from hippocampe.types import Scope

log = logging.getLogger("hippocampe")

FRESH = timedelta(minutes=15)
"""A message that comes again within it is a retry, and gets what it got before."""


class RememberedChat:
    """One request for a chat completion.

    No error of memory gets out, except that a budget is spent.

    Args:
        hippo: The memory.
        scope: Who speaks. Without a channel, each conversation is a channel of its own: a new one does
            not show the model what another has shown.
        asked: The request.
        url: The base URL of the model.
    """

    def __init__(self, hippo: AsyncHippocampe, scope: Scope, asked: Json, url: str) -> None:
        self._hippo = hippo
        self._asked = asked
        self._url = url
        self._talk = conversation(asked)
        if self._talk is not None and scope.channel is None:
            scope = Scope(scope.space, scope.user, f"chat-{self._talk.opening[:12]}")
        self._scope = scope
        self._added = 0

    async def reminded(self, body: bytes) -> bytes:
        """The request with what memory knows put before what the user said; as it is if that is nothing.

        What was put before earlier messages of the conversation is put there again: the client does
        not have it, and it is not selected again while the model sees it.

        Raises:
            BudgetSpent: The daily budget of the space is spent.
        """
        try:
            await self._hippo.check_budget(scope=self._scope)
            if self._talk is None:
                return body
            await self._remind()
        except BudgetSpent:
            raise
        except HippocampeError as exc:
            log.warning("a chat is passed on without memory: %s", type(exc).__name__)
            return body
        assert self._talk is not None
        kept = dict(self._hippo.sync.channels.channel(self._scope).reminders)
        messages, used = self._talk.with_reminders({name: kept[name].text for name in kept})
        self._added = sum(kept[name].tokens for name in used)
        return json.dumps({**self._asked, "messages": messages}).encode() if used else body

    async def _remind(self) -> None:
        """Select what the message needs, once: a retry and calls of tools are of the same turn."""
        assert self._talk is not None
        channel = self._hippo.sync.channels.channel(self._scope)
        now, name = await self._hippo.now(), self._talk.name
        known = channel.reminders.get(name)
        if known is not None and (self._talk.continued or now - known.at < FRESH):
            return
        injection = await self._hippo.before_turn(
            self._talk.said, scope=self._scope, fresh=self._talk.begins
        )
        channel = self._hippo.sync.channels.channel(self._scope)
        channel.remind(name, Reminder(injection.text, injection.tokens, now))

    async def ended(self, answer: Answer) -> None:
        """Store the exchange, unless the model calls tools first, and what the answer cost."""
        try:
            if self._talk is not None and answer.text.strip() and not answer.calls:
                await self._hippo.after_turn(
                    self._talk.said,
                    answer.text,
                    scope=self._scope,
                    tool_results=self._talk.results,
                )
        except HippocampeError as exc:
            log.warning("a chat could not be stored: %s", type(exc).__name__)
        try:
            await self._record(answer)
        except HippocampeError as exc:
            log.warning("the cost of a chat could not be recorded: %s", type(exc).__name__)

    async def _record(self, answer: Answer) -> None:
        asked, answered = answer.input_tokens, answer.output_tokens
        if asked is None or answered is None:
            # A stream says it only if the client wants it.
            said = "\n".join(self._talk.texts()) if self._talk is not None else ""
            asked = await asyncio.to_thread(_tokens, said) + self._added
            answered = await asyncio.to_thread(_tokens, answer.text)
        model = answer.model or str(self._asked.get("model"))
        price = await asyncio.to_thread(price_of, model, asked, answered, url=self._url)
        await self._hippo.record_usage(
            scope=self._scope,
            model=model,
            purpose="proxy",
            input_tokens=asked,
            output_tokens=answered,
            injected_tokens=self._added,
            price=price,
        )


def _tokens(text: str) -> int:
    # JSON can hold lone surrogates.
    return tokens.count(text.encode("utf-8", "replace").decode())
