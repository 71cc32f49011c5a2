"""The companion: an agent over one memory, for hosts in Python."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from hippocampe.aio import AsyncHippocampe
from hippocampe.companion.replies import Event, Reply
from hippocampe.companion.self_knowledge import KINDS
from hippocampe.companion.sessions import Exchange, Session, Sessions
from hippocampe.errors import HippocampeError, ModelUnavailable
from hippocampe.hippocampe import Hippocampe
from hippocampe.language.person import is_first_person
from hippocampe.language.secrets import mask
from hippocampe.language.small_talk import is_small_talk
from hippocampe.system.loop_thread import LoopThread
from hippocampe.types import MAX_MESSAGE_CHARACTERS, Scope, last_results
from hippocampe.validation import clean_text, redact

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.toolsets import AbstractToolset

    from hippocampe.companion.agent import Outcome
    from hippocampe.companion.deep_recall import DeepRecall
    from hippocampe.companion.turn import Turn

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger("hippocampe")


@dataclass(slots=True)
class _Question:
    """A message waiting for its answer."""

    message: str
    scope: Scope
    at: datetime | None = None
    stored: bool = False


class AsyncCompanion:
    """An agent that remembers, for asynchronous hosts.

    The messages of a user on a channel are answered one after the other, those of several users at
    once. Use one instance in one event loop.

    Args:
        hippo: The open memory; the caller closes it.
        model: The language model, as Pydantic AI names it, or one of its models. Default: that of
            the `Config`.
        fallback_model: Used when the model fails. Default: that of the `Config`.
        toolsets: Further tools for the model, as Pydantic AI toolsets. Facts are extracted from
            their results too.
    """

    def __init__(
        self,
        hippo: Hippocampe | AsyncHippocampe,
        *,
        model: "str | Model | None" = None,
        fallback_model: str | None = None,
        toolsets: "Sequence[AbstractToolset[Any]]" = (),
    ) -> None:
        self.hippo = hippo if isinstance(hippo, AsyncHippocampe) else AsyncHippocampe(hippo)
        config = self.hippo.sync.config
        self._model = model or config.model
        self._fallback = fallback_model or config.fallback_model
        self._timeout = config.model_timeout
        self._refuses_secrets = config.refuse_secrets
        self._toolsets = tuple(toolsets)
        self._connected: Model | None = None
        self._opened: AsyncExitStack | None = None
        self._connecting = asyncio.Lock()
        self._sessions = Sessions(self.hippo)

    async def ask(
        self,
        message: str,
        *,
        user: str | None = None,
        channel: str | None = None,
        space: str = "default",
    ) -> Reply:
        """Answer a message.

        Args:
            message: What the user says.
            user: The speaker.
            channel: The channel.
            space: The isolation boundary.

        Raises:
            ModelUnavailable: No model is configured, or it cannot be reached. The message is kept.
            BudgetSpent: The daily budget of the space is spent. The message is kept.
            InvalidInput: The message is empty or contains a secret that is refused, or a label cannot be used.
        """
        reply: Reply | None = None
        async with aclosing(
            self.stream(message, user=user, channel=channel, space=space)
        ) as events:
            async for event in events:
                if isinstance(event, Reply):
                    reply = event
        assert reply is not None
        return reply

    async def stream(
        self,
        message: str,
        *,
        user: str | None = None,
        channel: str | None = None,
        space: str = "default",
    ) -> AsyncGenerator[Event]:
        """Answer a message, and yield events: tools, pieces of text, then the `Reply`.

        The arguments and errors are those of `ask`. The exchange is stored before the `Reply` is
        yielded; if the caller stops reading, the message is stored without the answer.
        """
        scope = Scope(space=space, user=user, channel=channel)
        message = clean_text(message, what="message", limit=MAX_MESSAGE_CHARACTERS)
        if self._refuses_secrets:
            redact(message, refuse=True, what="message")
        session = self._sessions.of(scope)
        session.waiting += 1
        question = _Question(message, scope)
        try:
            async with session.turn, aclosing(self._answer(question, session)) as events:
                async for event in events:
                    yield event
        finally:
            session.waiting -= 1
            if not question.stored:
                await asyncio.shield(self._keep(question))

    async def _keep(self, question: "_Question") -> None:
        """Store a message that was not answered."""
        try:
            await self.hippo.after_turn(question.message, None, scope=question.scope)
        except HippocampeError as exc:
            log.warning("a message without an answer could not be stored: %s", exc)

    async def _answer(self, question: "_Question", session: Session) -> AsyncGenerator[Event]:
        model = await self._connect()
        from hippocampe.companion import agent
        from hippocampe.companion.turn import Turn, remind

        message, scope = question.message, question.scope
        await self.hippo.check_budget(scope=scope)
        settings = await self.hippo.settings(scope=scope)
        now = question.at = await self.hippo.now()
        exchanges = await self._sessions.exchanges(session, scope, settings, now)
        turn = Turn(self.hippo, scope, settings)
        already = frozenset[str]().union(*(each.reminded for each in exchanges))
        await remind(turn, message, already=already, fresh=session.fresh)
        session.fresh = False
        running = agent.run(
            model,
            turn,
            agent.spoken(message, now, settings, scope.user),
            agent.history(exchanges, settings, scope.user),
            timeout=self._timeout,
            toolsets=self._toolsets,
        )
        outcome: Outcome | None = None
        async with aclosing(running) as events:
            async for event in events:
                if isinstance(event, agent.Outcome):
                    outcome = event
                else:
                    yield event
        assert outcome is not None
        reply = await self._store(turn, question, outcome)
        reminded = frozenset(item.id for item in turn.injected)
        exchange = Exchange(now, message, reply.expression, reply.message, turn.reminder, reminded)
        session.add(exchange, keep=settings.recent_messages)
        yield reply

    async def _store(self, turn: "Turn", question: "_Question", outcome: "Outcome") -> Reply:
        """Store the exchange, the facts of a systematic answer, and the cost."""
        from hippocampe.companion.turn import record_run

        # Mark it before writing: the writing thread goes on when this task is cancelled.
        question.stored = True
        # Only a message of the user is refused: the answer is given already.
        storable = mask if self._refuses_secrets else str
        await self.hippo.after_turn(
            question.message,
            storable(outcome.message),
            scope=turn.scope,
            # Identifies the exchange of the session in the store.
            at=question.at,
            tool_results=[*map(storable, last_results(turn.results))],
            expression=outcome.expression,
        )
        substantial = not is_small_talk(question.message, names=turn.settings.companion_names)
        if turn.injection is not None and turn.injection.forgetting is not None:
            substantial = False
        for noticed in outcome.noticed if substantial else ():
            await _notice(turn, noticed.content, noticed.subjects, noticed.ttl)
        for own in outcome.own if substantial else ():
            await _grow(turn, own.category, own.content)
        usage = await record_run(
            self.hippo,
            turn.scope,
            "chat",
            turn.responses,
            model=str(self._model),
            injected=turn.injected_tokens,
        )
        return Reply(
            outcome.expression,
            outcome.message,
            tuple(turn.touched),
            turn.injected,
            usage,
            outcome.complete,
            turn.injection,
            tuple(turn.searched),
            turn.replaced,
        )

    async def deep_recall(
        self,
        question: str,
        *,
        user: str | None = None,
        channel: str | None = None,
        space: str = "default",
    ) -> "DeepRecall":
        """Search memory in several steps with the model, for a question that one search does not answer.

        Nothing is stored. It takes seconds; `recall` takes milliseconds.

        Args:
            question: The question.
            user: Who asks.
            channel: The channel.
            space: The isolation boundary.

        Raises:
            ModelUnavailable: No model is configured, or it cannot be reached.
            BudgetSpent: The daily budget of the space is spent.
            InvalidInput: The question is empty or a label cannot be used.
        """
        scope = Scope(space=space, user=user, channel=channel)
        question = clean_text(question, what="question", limit=MAX_MESSAGE_CHARACTERS)
        model = await self._connect()
        from hippocampe.companion.deep_recall import recall_deeply
        from hippocampe.companion.turn import record_run

        await self.hippo.check_budget(scope=scope)
        found, responses = await recall_deeply(
            model, self.hippo, question, scope, timeout=self._timeout
        )
        await record_run(self.hippo, scope, "deep_recall", responses, model=str(self._model))
        return found

    async def _connect(self) -> "Model":
        async with self._connecting:
            if self._connected is None:
                model = self._model
                if model is None:
                    raise ModelUnavailable(
                        "the companion has no language model: set HIPPOCAMPE_MODEL, such as "
                        "openai:gpt-5-mini, or give model=. Memory works without it."
                    )
                try:
                    # It loads Pydantic AI, which takes a second.
                    await asyncio.to_thread(import_module, "hippocampe.companion.agent")
                except ImportError as exc:
                    raise ModelUnavailable(
                        "the companion cannot answer: install the extra `companion` beside `server`."
                    ) from exc
                if isinstance(model, str):
                    from hippocampe.model.connection import connect

                    model = connect(model, self._fallback)
                self._opened = AsyncExitStack()
                self._connected = await self._opened.enter_async_context(model)
            return self._connected

    async def close(self) -> None:
        """Release the connections; the memory stays open."""
        if self._opened is not None:
            await self._opened.aclose()
            self._opened = self._connected = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _notice(turn: "Turn", content: str, subjects: Sequence[str], ttl: str | None) -> None:
    try:
        stored = await turn.hippo.remember(
            content, scope=turn.scope, subjects=subjects, ttl=ttl, source="chat"
        )
    except HippocampeError as exc:
        log.warning("a fact of the answer could not be stored: %s", type(exc).__name__)
        return
    await turn.learn(stored)


async def _grow(turn: "Turn", category: str, content: str) -> None:
    """Store what the companion says of itself or wants, and delete the statement that it contradicts."""
    from hippocampe.companion import memory_tools

    collection = next((name for name, each in KINDS if each == category), None)
    if collection is None or not is_first_person(content):
        # A fact about the person, or no category: small models confuse them.
        return
    store = memory_tools.store_self if collection == "self" else memory_tools.store_goal
    try:
        stored = await store(turn.access, content, category)
        await turn.learn(stored.stored)
        turn.touched += await memory_tools.delete_contradicted(turn.access, stored.stored.memory)
    except HippocampeError as exc:
        log.warning("a statement of the companion could not be stored: %s", type(exc).__name__)


def _waited(
    step: Callable[Concatenate[AsyncCompanion, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["Companion", P], T]:
    """Make a synchronous method of an asynchronous one."""

    @wraps(step)
    def call(self: "Companion", /, *args: P.args, **named: P.kwargs) -> T:
        return self._loop.run(lambda: step(self._companion, *args, **named))  # pyright: ignore[reportPrivateUsage]

    return call


def _iterated(
    step: Callable[Concatenate[AsyncCompanion, P], AsyncGenerator[T]],
) -> Callable[Concatenate["Companion", P], Generator[T]]:
    """Make a synchronous generator of an asynchronous one."""

    @wraps(step)
    def call(self: "Companion", /, *args: P.args, **named: P.kwargs) -> Generator[T]:
        loop, companion = self._loop, self._companion  # pyright: ignore[reportPrivateUsage]
        events = step(companion, *args, **named)
        try:
            while True:
                try:
                    yield loop.run(lambda: anext(events))
                except StopAsyncIteration:
                    return
        finally:
            # The companion was closed meanwhile, which ended the answer.
            with suppress(ModelUnavailable):
                loop.run(events.aclose)

    return call


class Companion:
    """`AsyncCompanion` for synchronous hosts: the same arguments, results and errors. Thread-safe.

    Close it, or use it as a context manager; the memory stays open.
    """

    def __init__(
        self,
        hippo: Hippocampe,
        *,
        model: "str | Model | None" = None,
        fallback_model: str | None = None,
        toolsets: "Sequence[AbstractToolset[Any]]" = (),
    ) -> None:
        self._companion = AsyncCompanion(
            hippo, model=model, fallback_model=fallback_model, toolsets=toolsets
        )
        self._loop = LoopThread(
            "hippocampe-companion",
            lambda: ModelUnavailable("this companion was closed: start another one."),
        )

    ask = _waited(AsyncCompanion.ask)
    stream = _iterated(AsyncCompanion.stream)
    deep_recall = _waited(AsyncCompanion.deep_recall)

    def close(self) -> None:
        """End the answers under way and release the connections. Idempotent."""
        self._loop.close(self._companion.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
