"""Deep recall: a model searches memory in several steps and selects the results that answer, with reasons."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from pydantic_ai import Agent, ModelRetry, RunContext, ToolOutput, capture_run_messages
from pydantic_ai.exceptions import UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.usage import UsageLimits

from hippocampe.aio import AsyncHippocampe
from hippocampe.companion.attending import Finish
from hippocampe.errors import InvalidInput
from hippocampe.language.humanize import clock_label
from hippocampe.language.prompts import prompt
from hippocampe.language.sanitize import quote, quote_label
from hippocampe.model.connection import request_settings, translated
from hippocampe.types import Message, Recollection, Scope, Settings

MAX_STEPS = 6
"""Requests to the model for one question."""
MAX_FOUND = 10
MAX_LINE_CHARACTERS = 600
MAX_OUTPUT_TOKENS = 2_000

Where = Literal["facts", "talk", "notes"]
_COLLECTIONS: dict[Where, tuple[str, ...]] = {
    "facts": ("memory", "self", "goal", "summary"),
    "talk": ("turn", "live"),
    "notes": ("note",),
}


@dataclass(frozen=True, slots=True)
class Curated:
    """A selected result of a deep recall, with the reason for it."""

    recollection: Recollection
    reason: str


@dataclass(frozen=True, slots=True)
class DeepRecall:
    """The results of a deep recall, most useful first.

    `summary` is a short answer that rests on them, empty if there is none; `searches` are the queries
    that were made; `complete` is False if the model did not finish within its steps.
    """

    items: tuple[Curated, ...]
    summary: str
    searches: tuple[str, ...]
    complete: bool = True


@dataclass
class Selected:
    """One selected result: its short id and the reason."""

    id: str
    reason: str


@dataclass
class Keep:
    """The final answer of the branch."""

    kept: list[Selected]
    summary: str


@dataclass(slots=True)
class _Branch:
    hippo: AsyncHippocampe
    scope: Scope
    settings: Settings
    seen: dict[str, Recollection] = field(default_factory=dict[str, Recollection])
    ids: dict[str, str] = field(default_factory=dict[str, str])
    searches: list[str] = field(default_factory=list[str])

    async def show(self, found: Sequence[Recollection]) -> str:
        """List results under short ids, which models copy without errors."""
        now = await self.hippo.now()
        lines: list[str] = []
        for each in found:
            short = self.ids.setdefault(each.id, f"r{len(self.ids) + 1}")
            self.seen[short] = each
            at = (
                clock_label(each.at, self.settings.timezone, self.settings.language, now=now)
                if each.at
                else ""
            )
            excerpt = quote(each.content)[:MAX_LINE_CHARACTERS]
            lines.append(
                f"- {short} [{each.kind}] {at} {quote_label(each.author or '')}: {excerpt}"
            )
        return "\n".join(lines) or "-"


async def search(context: RunContext[_Branch], query: str, where: Where = "facts") -> str:
    """Search by meaning and words: at most ten results, best first.

    Args:
        query: A question or a few words.
        where: `facts`, `talk` (past exchanges) or `notes`.
    """
    branch = context.deps
    branch.searches.append(query)
    try:
        found = await branch.hippo.recall(
            query, scope=branch.scope, limit=MAX_FOUND, collections=_COLLECTIONS[where]
        )
    except InvalidInput as exc:
        raise ModelRetry(str(exc)) from exc
    return await branch.show(found)


async def search_words(context: RunContext[_Branch], words: str) -> str:
    """Find messages that contain all of these words, newest first. Quotes mean a phrase.

    Args:
        words: One or more exact words.
    """
    branch = context.deps
    branch.searches.append(words)
    scope = Scope(space=branch.scope.space, user=branch.scope.user)
    try:
        found = await branch.hippo.search_text(words, scope=scope, limit=MAX_FOUND)
    except InvalidInput as exc:
        raise ModelRetry(str(exc)) from exc
    return await branch.show([_recollection(each) for each in found])


async def recall_deeply(
    model: Model, hippo: AsyncHippocampe, question: str, scope: Scope, *, timeout: float
) -> tuple[DeepRecall, list[ModelResponse]]:
    """Search for a question in several steps.

    Args:
        scope: The space, and the user who asks.
        timeout: Seconds for one attempt at a request.

    Returns:
        What was found, and the answers of the model, which have the cost.

    Raises:
        ModelUnavailable: The model cannot be reached.
    """
    settings = await hippo.settings(scope=scope)
    branch = _Branch(hippo, scope, settings)
    answer, complete = Keep([], ""), True
    with capture_run_messages() as messages, translated():
        try:
            result = await _agent(settings.language).run(
                question,
                model=model,
                deps=branch,
                model_settings={**request_settings(timeout), "max_tokens": MAX_OUTPUT_TOKENS},
                usage_limits=UsageLimits(request_limit=MAX_STEPS),
            )
            answer = result.output
        except (UsageLimitExceeded, UnexpectedModelBehavior):
            complete = False
    responses = [each for each in messages if isinstance(each, ModelResponse)]
    items = {
        each.id: Curated(branch.seen[each.id], each.reason.strip())
        for each in answer.kept
        if each.id in branch.seen
    }
    found = DeepRecall(
        tuple(items.values()), answer.summary.strip(), tuple(branch.searches), complete
    )
    return found, responses


@cache
def _agent(language: str) -> Agent[_Branch, Keep]:
    return Agent(
        deps_type=_Branch,
        output_type=ToolOutput(Keep, name="keep", max_retries=2),
        instructions=prompt("companion/deep_recall", language),
        tools=[search, search_words],
        capabilities=[Finish(MAX_STEPS)],
        retries=2,
    )


def _recollection(message: Message) -> Recollection:
    return Recollection(
        message.id,
        "live" if message.live else "message",
        message.content,
        1.0,
        channel=message.channel,
        author=message.author,
        at=message.at,
    )
