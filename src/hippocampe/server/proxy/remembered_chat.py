"""Memory for one chat of the proxy: inject before the answer, store after it."""

import asyncio
import json
import logging
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from hippocampe.aio import AsyncHippocampe
from hippocampe.embed import tokens
from hippocampe.errors import BudgetSpent, HippocampeError
from hippocampe.integrations.branches import store_exchange
from hippocampe.integrations.conversation import Conversation
from hippocampe.integrations.reminders import Reminders
from hippocampe.integrations.turns import channel_of
from hippocampe.model.prices import price_of
from hippocampe.server.proxy.protocols import Answer, ClientProtocol, Json
from hippocampe.types import Scope

log = logging.getLogger("hippocampe")

MEMORY_SECONDS = 2.0
"""Time limit for memory in a chat, on top of the deadline of its injection."""
MAX_COUNTED = 500_000
"""Characters whose tokens are counted: 16 million take ten seconds and a gigabyte."""
MAX_THREADS = 10_000
MAX_THREAD_CHARACTERS = 32 * 2**20
"""Most characters of all threads together; the least recently used one is evicted."""
THOUGHTS = re.compile(
    r"""\A\s*<(think|thinking)>.*?(?:</\1>|\Z)|\A(?:(?!<think(?:ing)?>).)*?(?<![`'"])</think(?:ing)?>""",
    re.DOTALL,
)
"""The thoughts of a model whose server leaves them in the text of the answer, which may be cut before their end.

Some servers have the opening tag in the prompt, so that only the closing one comes; a quoted one is no end."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation whose history the provider stores, so that a request has only its latest part.

    Attributes:
        channel: The channel of its first request.
        answers: Its number of answers: the same words after another answer are not a retry.
        message: The user's message while the model calls tools to answer it; else empty.
        results: Results of tools since.
    """

    channel: str | None
    answers: int
    message: str = ""
    results: tuple[str, ...] = ()

    @property
    def characters(self) -> int:
        """Its size in characters."""
        return len(self.message) + sum(map(len, self.results))


class Threads:
    """The threads by user and id of the provider. In memory only: after a restart, a thread begins again.

    Attributes:
        turns: Locks by speaker and message: models that are asked the same at once share its injection.
    """

    def __init__(self) -> None:
        self.turns = WeakValueDictionary[tuple[Scope, str], asyncio.Lock]()
        self._threads: OrderedDict[tuple[str, str | None, str], Thread] = OrderedDict()
        self._characters = 0
        self._changing = threading.Lock()

    def find(self, scope: Scope, id: str | None) -> Thread | None:
        """The thread of an id of a response or a conversation."""
        return None if id is None else self._threads.get((scope.space, scope.user, id))

    def keep(self, scope: Scope, id: str, thread: Thread) -> None:
        """Store the state of a thread."""
        name = (scope.space, scope.user, id)
        with self._changing:
            if (before := self._threads.pop(name, None)) is not None:
                self._characters -= before.characters
            self._threads[name] = thread
            self._characters += thread.characters
            while len(self._threads) > MAX_THREADS or self._characters > MAX_THREAD_CHARACTERS:
                _, dropped = self._threads.popitem(last=False)
                self._characters -= dropped.characters

    def erased(self, space: str) -> None:
        """Drop the texts of a space, which may include erased ones: those exchanges are not stored."""
        with self._changing:
            for name, thread in list(self._threads.items()):
                if name[0] == space:
                    self._characters -= thread.characters
                    self._threads[name] = Thread(thread.channel, thread.answers)


class RememberedChat:
    """One request for an answer of a model.

    Errors of memory are not raised, except a spent budget.

    Args:
        scope: The speaker. Without a channel, each conversation is a channel of its own: a new one does not
            repeat the injections of another.
        threads: Conversations whose history the provider stores.
        url: The base URL of the model.
    """

    def __init__(
        self,
        hippo: AsyncHippocampe,
        scope: Scope,
        asked: Json,
        *,
        protocol: ClientProtocol,
        threads: Threads,
        url: str,
    ) -> None:
        self._hippo = hippo
        self._asked = asked
        self._protocol = protocol
        self._threads = threads
        self._url = url
        self._talk = talk = protocol.conversation(asked)
        self._message = ""
        self._results: tuple[str, ...] = ()
        self._answers = 0
        if talk is not None:
            thread = threads.find(scope, talk.continues)
            self._answers = 0 if thread is None else thread.answers
            if scope.channel is None:
                channel = channel_of(talk) if thread is None else thread.channel
                scope = Scope(scope.space, scope.user, channel)
            self._message, self._results = talk.message, talk.results
            if thread is not None and not talk.names:
                self._message, self._results = thread.message, (*thread.results, *talk.results)
        self._scope = scope
        self._added = 0

    async def reminded(self, body: bytes) -> bytes:
        """The request with an injection before the user's message; unchanged without one.

        Injections into earlier messages of the conversation are repeated there, unless the setting
        `keep_injections` is off: the client does not have them, and what comes before the last message stays the
        same from one request to the next.

        Raises:
            BudgetSpent: The daily budget of the space is spent.
        """
        talk, keep = self._talk, True
        try:
            async with asyncio.timeout(MEMORY_SECONDS) as deadline:
                await self._hippo.check_budget(scope=self._scope)
                if talk is None or not talk.names:
                    return body
                settings = await self._hippo.settings(scope=self._scope)
                keep = settings.keep_injections
                deadline.reschedule((deadline.when() or 0) + settings.hook_timeout_ms / 1000)
                if talk.message:
                    await self._remind(talk)
        except BudgetSpent:
            raise
        except (HippocampeError, TimeoutError) as exc:
            # Earlier injections stay, so that the provider's cache does too.
            log.warning("a chat was forwarded without new memory: %s", type(exc).__name__)
        if talk is None or not talk.names:
            return body
        used = self._reminders(talk).found(keep=keep)
        if not used:
            return body
        self._added = sum(each.tokens for each in used.values())
        texts = {position: each.text for position, each in used.items()}
        return json.dumps(self._protocol.reminded(self._asked, texts)).encode()

    def _reminders(self, talk: Conversation) -> Reminders:
        return Reminders(self._hippo.sync, talk, self._scope, f"-{self._answers}")

    async def _remind(self, talk: Conversation) -> None:
        """Select the injection of the message, once."""
        reminders = self._reminders(talk)
        async with self._threads.turns.setdefault((self._scope, self._message), asyncio.Lock()):
            now = await self._hippo.now()
            if not reminders.known(now):
                injection = await self._hippo.before_turn(
                    self._message, scope=self._scope, fresh=talk.begins
                )
                reminders.add(injection, now)

    async def ended(self, answer: Answer) -> None:
        """Store the exchange, unless the model calls tools first or fails, and the cost of the answer."""
        text = THOUGHTS.sub("", answer.text).strip()
        goes_on = answer.calls and bool(self._message)
        if answer.id is not None and not answer.failed:
            thread = Thread(self._scope.channel, self._answers + 1)
            if goes_on:
                thread = replace(thread, message=self._message, results=self._results)
            self._threads.keep(self._scope, answer.id, thread)
        try:
            if self._talk and self._message and text and not goes_on and not answer.failed:
                reminders = self._reminders(self._talk)
                in_lane = self._hippo._in_lane  # pyright: ignore[reportPrivateUsage]
                await in_lane(
                    "write", store_exchange, reminders, self._message, text, results=self._results
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
            # A stream reports usage only at the client's request.
            messages = self._talk.messages if self._talk is not None else ()
            text = "\n".join(each.text for each in messages)
            asked = await asyncio.to_thread(count_tokens, text) + self._added
            answered = await asyncio.to_thread(count_tokens, answer.text)
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


def count_tokens(text: str) -> int:
    """The number of tokens of a text; of a longer one than `MAX_COUNTED`, an estimate from its beginning."""
    counted = text[:MAX_COUNTED]
    # JSON can contain lone surrogates.
    found = tokens.count(counted.encode("utf-8", "replace").decode())
    return found if len(counted) == len(text) else found * len(text) // MAX_COUNTED
