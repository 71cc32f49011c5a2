"""The tools of an assistant that works for one person, each a verb: search everything, index, forget."""

from collections.abc import Mapping
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel

from hippocampe.companion.memory_tools import FactType
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.api.arguments import Step, arguments_of
from hippocampe.server.mcp.answers import Forgotten, Found, Stored, writer
from hippocampe.server.mcp.caller import SOURCE, Caller
from hippocampe.server.mcp.tool import WORDS, Arguments, MemoryTool, arguments_model
from hippocampe.types import Receipt, Remembered
from hippocampe.verbs import VERBS

_RESULTS: Mapping[object, type[BaseModel]] = {Remembered: Stored, Receipt: Forgotten}
_LIMIT = {"ge": 1, "le": 50, "description": "At most this many, 1 to 50."}


def _tool(name: str, verb: Step, **arguments: Mapping[str, Any]) -> MemoryTool[Arguments]:
    """Make a tool of a verb.

    Args:
        arguments: The arguments that a model may set, and what differs from their declaration.
    """
    declared, words = VERBS[verb.__name__], WORDS[name]
    fields = arguments_of(verb, **arguments)
    for each in arguments.keys() & words.keys():
        fields[each][1]["description"] = words[each]
    effect = "deletes" if declared.operation == "delete_memory" else "adds"

    async def run(caller: Caller, arguments: Arguments) -> tuple[str, BaseModel]:
        scope = caller.scope if declared.writes else caller.everywhere
        call = getattr(caller.memory, declared.name)
        result = await call(**arguments.arguments(), scope=scope)
        return (await writer(caller)).answer(result)

    return MemoryTool(
        name,
        words["title"],
        words["description"],
        effect if declared.writes else "reads",
        arguments_model(name, {each: fields[each] for each in arguments}),
        _RESULTS.get(get_type_hints(verb)["return"], Found),
        run,
        declared.name,
    )


TOOLS = (
    _tool(
        "memory__search",
        Hippocampe.recall,
        query={},
        limit={**_LIMIT, "default": 5},
        min_score={"type": float, "ge": 0, "le": 1, "default": 0.3},
        collections={
            "type": list[Literal["memory", "self", "goal", "summary", "turn", "live", "note"]],
            "default": ["memory", "summary", "turn", "live", "note"],
            "min_length": 1,
            "max_length": 7,
        },
    ),
    _tool(
        "memory__index",
        Hippocampe.remember,
        content={},
        type={"type": FactType | None},
        subjects={},
        importance={"ge": 0, "le": 1},
        source={"default": SOURCE},
        ttl={},
    ),
    _tool(
        "memory__forget",
        Hippocampe.forget,
        topic={},
        dry_run={},
    ),
    _tool(
        "memory__search_text",
        Hippocampe.search_text,
        query={},
        limit=_LIMIT,
        channel={},
        since={},
        until={},
    ),
)
