"""The tools of a companion for MCP clients: their names, and their use where no prompt explains it."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel

from hippocampe.companion.memory_tools import (
    COMPANION_TOOLS,
    MAX_RECENT,
    CompanionTool,
    FactType,
    StoreOutcome,
    wordings,
)
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.api.arguments import Body, Fields, arguments_of
from hippocampe.server.mcp.answers import Deleted, Found, Stored, answers_for, of_item
from hippocampe.server.mcp.caller import Caller
from hippocampe.server.mcp.tool import MemoryTool, arguments_model
from hippocampe.types import CATEGORIES, Memory

TITLES = {
    "search_memories": "Search memories",
    "get_recent_memories": "Recent memories",
    "store_memory": "Store a memory",
    "delete_memory": "Delete a memory",
    "search_self": "Search what you know about yourself",
    "store_self": "Store something about yourself",
    "delete_self": "Delete something about yourself",
    "search_goals": "Search your goals",
    "store_goal": "Store a goal",
    "delete_goal": "Delete a goal",
}
USES = {
    "search_memories": "Call it before you answer about anything that may have been said before, and before you "
    "delete or replace a fact.",
    "get_recent_memories": "Newest first, each with its id.",
    "store_memory": "For what lasts: a preference, a decision, an event, who someone is. A fact that contradicts an "
    "older one replaces it, and one that is known already is not stored twice. Not for small talk, and never for "
    "passwords or keys.",
    "delete_memory": "For a fact that changed, store the new one instead.",
    "store_self": "The answer to a new capability names limitations and requests that it may settle: delete those "
    "that it does.",
    "search_self": "Abilities and limits, likes, origins, bonds.",
    "search_goals": "Abilities to ask for, things to understand, people to know better.",
    "store_goal": "Not a task of the person: that is a memory.",
}
"""The use of a tool, after its description: the prompt of a companion explains it, a client of MCP has none."""

_ARGUMENTS: Fields = {
    **arguments_of(Hippocampe.recall),
    **arguments_of(Hippocampe.remember),
    **arguments_of(Hippocampe.delete),
    "limit": (int, {"ge": 1, "le": MAX_RECENT}),
    "type": (FactType, {}),
    "importance": (float, {"ge": 0, "le": 1}),
    "said": (bool, {}),
    "confirmed": (bool, {}),
}
"""The arguments of the verbs that the tools call, by name."""
_RESULTS: Mapping[str, type[BaseModel]] = {"reads": Found, "adds": Stored, "deletes": Deleted}


def _tool(tool: CompanionTool) -> MemoryTool:
    wording = wordings("en")[tool.name]

    async def run(caller: Caller, arguments: Body) -> tuple[str, BaseModel]:
        outcome = await tool.run(caller.access, **dict(arguments))
        answers = await answers_for(caller)
        if isinstance(outcome, StoreOutcome):
            return answers.stored(outcome.stored, list(map(of_item, outcome.may_settle)))
        if isinstance(outcome, Memory):
            return answers.deleted(outcome)
        return answers.answer(outcome)

    return MemoryTool(
        tool.name,
        TITLES[tool.name],
        " ".join(filter(None, (wording["description"], USES.get(tool.name)))),
        tool.effect,
        arguments_model(tool.name, _arguments(tool, wording)),
        _RESULTS[tool.effect],
        run,
    )


def _arguments(tool: CompanionTool, wording: Mapping[str, str]) -> Fields:
    """The arguments of a tool: those of its verb, with its own defaults and wording."""
    fields: Fields = {}
    for name, parameter in tool.parameters.items():
        kind, field = _ARGUMENTS[name]
        if name == "category":
            kind = cast("Any", Literal[*sorted(CATEGORIES[tool.collection])])
        field = {each: value for each, value in field.items() if not each.startswith("default")}
        if parameter.default is not parameter.empty:
            field["default"] = parameter.default
        if name in wording:
            field["description"] = wording[name]
        fields[name] = (kind | None if parameter.default is None else kind, field)
    return fields


TOOLS = tuple(map(_tool, COMPANION_TOOLS))
