"""Run the model on one message: tools, at most five requests, a final `respond`."""

import json
import logging
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field
from pydantic_ai import Agent, RunContext, ToolOutput
from pydantic_ai.exceptions import UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import UsageLimits
from pydantic_core import from_json

from hippocampe.companion import tools
from hippocampe.companion.attending import Attend, Finish, last_prompt, with_reminders
from hippocampe.companion.expressions import DEFAULT_EXPRESSION, Expression, listed
from hippocampe.companion.replies import TextStreamed, ToolCalled, ToolReturned
from hippocampe.companion.self_knowledge import KINDS
from hippocampe.companion.sessions import Exchange
from hippocampe.companion.turn import Turn
from hippocampe.language.humanize import date_and_time
from hippocampe.language.i18n import translate
from hippocampe.language.prompts import prompt
from hippocampe.model.connection import request_settings, translated
from hippocampe.types import Settings

log = logging.getLogger("hippocampe")

MAX_TURNS = 5
"""Requests to the model for one message."""
MAX_OUTPUT_TOKENS = 2_000
OWN_CATEGORIES: list[Any] = [category for _, category in KINDS]

_SECTIONS = {
    "agentic": ("format", "memory", "tools", "answer"),
    "hybrid": ("format", "memory", "tools", "answer"),
    "systematic": ("format", "memory", "systematic"),
}


Face = Annotated[Expression, BeforeValidator(listed)]
"""An expression: its schema lists the set, and another word of a model becomes one of it."""


@dataclass
class Respond:
    """The final answer in the modes with tools."""

    expression: Face
    message: str


@dataclass
class Noticed:
    """A fact in a systematic answer."""

    content: str
    subjects: list[str]
    ttl: str | None = None


@dataclass
class OwnStatement:
    """A statement of the companion about itself or a goal, in a systematic answer."""

    category: Annotated[str, Field(json_schema_extra={"enum": OWN_CATEGORIES})]
    content: str


@dataclass
class RespondAndRemember:
    """The final answer in systematic mode."""

    message: str
    memories: list[Noticed]
    expression: Face = DEFAULT_EXPRESSION
    about_me: list[OwnStatement] = field(default_factory=list[OwnStatement])


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run.

    `complete` is False for the best answer so far.
    """

    expression: str
    message: str
    noticed: tuple[Noticed, ...]
    own: tuple[OwnStatement, ...]
    complete: bool


def instructions(mode: str, language: str) -> str:
    """The prompt of a mode: format, tools and rules, but no persona; the persona is learnt in `self`."""
    return "\n\n".join(prompt(f"companion/{name}", language) for name in _SECTIONS[mode])


async def run(
    model: Model,
    turn: Turn,
    request: str,
    history: Sequence[ModelMessage],
    *,
    timeout: float,
    toolsets: Sequence[AbstractToolset[Any]] = (),
) -> AsyncGenerator[ToolCalled | ToolReturned | TextStreamed | Outcome]:
    """Answer one message; the last item is an `Outcome`.

    Args:
        turn: Who speaks; its reminder goes into the requests only.
        request: The message, in the format of the prompt.
        timeout: Seconds for one attempt at a request.

    Raises:
        ModelUnavailable: The model cannot be reached.
    """
    mode, language = turn.settings.companion_mode, turn.settings.language
    agent = _agent(mode, language)
    written = _Written()
    complete, answer = False, None
    with translated():
        try:
            async with agent.run_stream_events(
                request,
                model=model,
                deps=turn,
                message_history=list(history),
                model_settings={**request_settings(timeout), "max_tokens": MAX_OUTPUT_TOKENS},
                usage_limits=UsageLimits(request_limit=MAX_TURNS),
                toolsets=[] if mode == "systematic" else list(toolsets),
            ) as events:
                async for event in events:
                    if isinstance(event, AgentRunResultEvent):
                        complete, answer = True, event.result.output
                    elif (shown := _shown(event, written)) is not None:
                        yield shown
        except (UsageLimitExceeded, UnexpectedModelBehavior) as exc:
            log.warning(
                "the model did not answer with respond within %d turns (%s): its best answer so "
                "far is used",
                MAX_TURNS,
                type(exc).__name__,
            )
    expression, message = DEFAULT_EXPRESSION, written.message or _last_text(turn.responses)
    noticed: tuple[Noticed, ...] = ()
    own: tuple[OwnStatement, ...] = ()
    if isinstance(answer, Respond | RespondAndRemember):
        expression, message = answer.expression, answer.message.strip()
    if isinstance(answer, RespondAndRemember):
        noticed, own = tuple(answer.memories), tuple(answer.about_me)
    if not message:
        complete = False
        message = translate("I could not find an answer in time. Could you ask again?", language)
    yield Outcome(expression, message, noticed, own, complete)


@cache
def _agent(mode: str, language: str) -> Agent[Turn, Any]:
    output = RespondAndRemember if mode == "systematic" else Respond
    return Agent(
        deps_type=Turn,
        output_type=ToolOutput(
            output,
            name="respond",
            description=tools.description("respond", language),
            max_retries=MAX_TURNS - 1,
        ),
        instructions=instructions(mode, language),
        toolsets=[] if mode == "systematic" else [tools.toolset(language)],
        capabilities=[_Remind(), Finish(MAX_TURNS)],
        retries=3,
    )


class _Remind(Attend):
    """Puts the reminder before the message, in the request only."""

    def turn_of(self, ctx: RunContext[Turn]) -> Turn:
        return ctx.deps

    async def before_model_request(
        self, ctx: RunContext[Turn], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        messages, reminder = request_context.messages, ctx.deps.reminder
        last = last_prompt(messages)
        reminded = with_reminders(messages, lambda part: reminder if part is last else None)
        return replace(request_context, messages=reminded)


class _Written:
    """Parses the arguments of `respond` as they stream in."""

    def __init__(self) -> None:
        self._arguments = ""
        self._index: int | None = None
        self.message = ""
        self._restart = False

    def start(self, index: int, part: ToolCallPart) -> TextStreamed | None:
        self._index, self._arguments = index, ""
        self._restart = bool(self.message)
        self.message = ""
        return self.add(index, part.args)

    def add(self, index: int, piece: str | dict[str, Any] | None) -> TextStreamed | None:
        if index != self._index:
            return None
        if isinstance(piece, dict):
            arguments: object = piece
        else:
            self._arguments += piece or ""
            try:
                arguments = from_json(self._arguments, allow_partial="trailing-strings")
            except ValueError:
                return None
        message = (
            cast("dict[str, Any]", arguments).get("message")
            if isinstance(arguments, dict)
            else None
        )
        if not isinstance(message, str) or not message.startswith(self.message):
            return None
        text, self.message = message[len(self.message) :], message
        if not text:
            return None
        restart, self._restart = self._restart, False
        return TextStreamed(text, restart)


def _shown(
    event: AgentStreamEvent, written: _Written
) -> ToolCalled | ToolReturned | TextStreamed | None:
    if isinstance(event, PartStartEvent):
        if isinstance(event.part, ToolCallPart) and event.part.tool_name == "respond":
            return written.start(event.index, event.part)
    elif isinstance(event, PartDeltaEvent):
        if isinstance(event.delta, ToolCallPartDelta):
            return written.add(event.index, event.delta.args_delta)
    elif isinstance(event, FunctionToolCallEvent):
        try:
            arguments = event.part.args_as_dict()
        except ValueError:
            arguments = {}
        return ToolCalled(event.part.tool_name, arguments)
    elif isinstance(event, FunctionToolResultEvent):
        return ToolReturned(event.part.tool_name, event.part.model_response_str())
    return None


def _last_text(responses: Sequence[ModelResponse]) -> str:
    texts = (
        "\n".join(part.content for part in each.parts if isinstance(part, TextPart)).strip()
        for each in reversed(responses)
    )
    return next(filter(None, texts), "")


def spoken(message: str, at: datetime, settings: Settings, user: str | None) -> str:
    """A message in the format of the prompt."""
    time = date_and_time(at, timezone=settings.timezone, language=settings.language)
    return json.dumps({"from": user, "message": message, "time": time}, ensure_ascii=False)


def history(
    exchanges: Sequence[Exchange], settings: Settings, user: str | None
) -> list[ModelMessage]:
    """The earlier exchanges of a session, with their reminders, as the model saw them."""
    messages: list[ModelMessage] = []
    for number, exchange in enumerate(exchanges):
        request = spoken(exchange.message, exchange.at, settings, user)
        prompts = [UserPromptPart(text) for text in (exchange.reminder, request) if text]
        arguments: dict[str, Any] = {"expression": exchange.expression, "message": exchange.reply}
        if settings.companion_mode == "systematic":
            arguments |= {"memories": [], "about_me": []}
        id = f"respond-{number}"
        messages += [
            ModelRequest(prompts),
            ModelResponse([ToolCallPart("respond", arguments, tool_call_id=id)]),
            ModelRequest([ToolReturnPart("respond", "Final result processed.", tool_call_id=id)]),
        ]
    return messages
