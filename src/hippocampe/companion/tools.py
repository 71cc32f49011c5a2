"""The tools of memory for the model of a companion: text as results; a usage error asks it to try again."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_ai import FunctionToolset, ModelRetry, RunContext, Tool

from hippocampe.companion.memory_tools import (
    COMPANION_TOOLS,
    CompanionTool,
    Outcome,
    StoreOutcome,
    replaced_label,
    schema_of,
    speaker_of,
    stored_text,
    wordings,
)
from hippocampe.companion.replies import Searched
from hippocampe.companion.turn import Turn
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.language.humanize import date_and_time
from hippocampe.language.i18n import translate
from hippocampe.language.sanitize import quote
from hippocampe.types import Memory, Recollection, Settings


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


@cache
def description(name: str, language: str) -> str:
    """The text on a tool and its arguments that the model reads."""
    wording = dict(wordings(language)[name])
    form = cast("str", wordings(language)["argument"])
    first = wording.pop("description")
    return " ".join([first, *(form.format(name=each, text=text) for each, text in wording.items())])


@cache
def toolset(language: str) -> FunctionToolset[Turn]:
    """The ten tools that read and write memory, described in a language."""
    return FunctionToolset([_tool(each, language) for each in COMPANION_TOOLS], max_retries=3)


def _tool(tool: CompanionTool, language: str) -> Tool[Turn]:
    fields: dict[str, Any] = {
        name: (each.annotation, ... if each.default is each.empty else each.default)
        for name, each in tool.parameters.items()
    }
    arguments = create_model(tool.name, __base__=_Arguments, **fields)
    return Tool[Turn].from_schema(
        _asks_again(tool, arguments),
        name=tool.name,
        description=description(tool.name, language),
        json_schema=schema_of(arguments),
        takes_ctx=True,
    )


def _asks_again(tool: CompanionTool, arguments: type[BaseModel]) -> Callable[..., Any]:
    async def asking(context: RunContext[Turn], /, **named: Any) -> str:
        turn = context.deps
        try:
            values = dict(arguments.model_validate(named))
        except ValidationError as exc:
            found = exc.errors(include_url=False, include_context=False, include_input=False)
            faults = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found)
            raise ModelRetry("; ".join(faults)) from exc
        # Small models repeat a search until their requests are spent: a tool is taken away when its
        # call is repeated. What was stored or deleted since makes the same call another one.
        call = (tool.name, repr(values), len(turn.touched))
        if call in turn.calls:
            turn.withdrawn.add(tool.name)
            return translate(
                "You made this call already: use other words, or answer with respond.",
                turn.settings.language,
            )
        try:
            outcome = await tool.run(turn.access, **values)
        except (InvalidInput, NotFound) as exc:
            raise ModelRetry(str(exc)) from exc
        turn.calls.add(call)
        await _record(turn, tool.name, str(values.get("query", "")), outcome)
        return _text(turn, outcome, category=bool(values.get("category")))

    return asking


async def _record(turn: Turn, tool: str, query: str, outcome: Outcome) -> None:
    """Record an outcome in the turn, for its reply."""
    if isinstance(outcome, StoreOutcome):
        await turn.learn(outcome.stored)
    elif isinstance(outcome, Memory):
        turn.touched.append(outcome)
    else:
        found = tuple(
            each
            if isinstance(each, Recollection)
            else Recollection(each.id, each.collection, each.content, 1.0, each)
            for each in outcome
        )
        turn.searched.append(Searched(tool, query, found))


def _text(turn: Turn, outcome: Outcome, *, category: bool) -> str:
    """An outcome as the model reads it; `category`: whether a search was bounded to one."""
    language = turn.settings.language
    if isinstance(outcome, StoreOutcome):
        return stored_text(outcome.stored, language, _lines(outcome.may_settle, turn.settings))
    if isinstance(outcome, Memory):
        return translate("Forgotten: {content}", language).format(content=quote(outcome.content))
    if outcome:
        return "\n".join(_lines(outcome, turn.settings))
    if category:
        return translate("Nothing in this category: search without category.", language)
    return translate(
        "Nothing found. Search with other words, or say that you do not know.", language
    )


def _lines(items: Sequence[Memory | Recollection], settings: Settings) -> list[str]:
    memories = [each.memory if isinstance(each, Recollection) else each for each in items]
    return [_line(memory, settings) for memory in memories if memory is not None]


def _line(memory: Memory, settings: Settings) -> str:
    label, content = memory.category or memory.type, quote(memory.content)
    if memory.superseded_at is not None:
        when = date_and_time(
            memory.superseded_at, timezone=settings.timezone, language=settings.language
        )
        label = replaced_label(label, when, settings.language)
    if speaker := speaker_of(memory):
        content = f"{speaker}: {content}"
    return f"- [{label}] (id: {memory.id}) {content}"
