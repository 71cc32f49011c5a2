"""The tools of an assistant that works for one person, each a verb: search everything, index, forget."""

from collections.abc import Mapping
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel

from hippocampe.companion.memory_tools import FactType
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.api.arguments import Body, Step, arguments_of
from hippocampe.server.mcp.answers import Forgotten, Found, Stored, answers_for
from hippocampe.server.mcp.caller import SOURCE, Caller
from hippocampe.server.mcp.tool import MemoryTool, arguments_model
from hippocampe.types import Receipt, Remembered
from hippocampe.verbs import VERBS

_RESULTS: Mapping[object, type[BaseModel]] = {Remembered: Stored, Receipt: Forgotten}
_LIMIT = {"ge": 1, "le": 50, "description": "At most this many, 1 to 50."}


def _tool(
    name: str, verb: Step, title: str, description: str, /, **arguments: Mapping[str, Any]
) -> MemoryTool:
    """Make a tool of a verb.

    Args:
        title: Its name for people.
        description: Its effect and when to call it, for the model.
        arguments: The arguments that a model may set, and what differs from their declaration.
    """
    declared = VERBS[verb.__name__]
    fields = arguments_of(verb, **arguments)
    effect = "deletes" if declared.operation == "delete_memory" else "adds"

    async def run(caller: Caller, arguments: Body) -> tuple[str, BaseModel]:
        scope = caller.scope if declared.writes else caller.everywhere
        call = getattr(caller.memory, declared.name)
        result = await call(**arguments.arguments(), scope=scope)
        return (await answers_for(caller)).answer(result)

    return MemoryTool(
        name,
        title,
        description,
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
        "Search the memory",
        "Search facts, past conversations and notes together, by meaning and words, best first. Call it "
        "when someone refers to something said or done before, when you lack context on a theme that "
        "was talked about, or when you are not sure: ask the memory before you ask the person.",
        query={},
        limit={**_LIMIT, "default": 5},
        min_score={"type": float, "ge": 0, "le": 1, "default": 0.3},
        collections={
            "type": list[Literal["memory", "self", "goal", "summary", "turn", "live", "note"]],
            "default": ["memory", "summary", "turn", "live", "note"],
            "min_length": 1,
            "max_length": 7,
            "description": "Where to search. memory: facts; summary: of past talk; turn: past exchanges; live: "
            "overheard since the last digest; note: the person's notes; self and goal: statements about you.",
        },
    ),
    _tool(
        "memory__about",
        Hippocampe.about,
        "List what is known about somebody",
        'List the facts about one person, place or thing, the most important first. Call it for "what do you '
        'know about X?" or "about me?"; memory__search answers a question instead.',
        name={
            "min_length": 1,
            "description": "Its name, one or a few words. Leave it out for the person who speaks.",
        },
        limit={**_LIMIT, "default": 20},
    ),
    _tool(
        "memory__index",
        Hippocampe.remember,
        "Index a text",
        "Store one statement worth finding again later. A statement that contradicts an older one "
        "replaces it, and one that is known already is not stored twice. Never for passwords or keys.",
        content={
            "description": "One statement, clear on its own: whole sentences, with names and dates."
        },
        type={
            "type": FactType | None,
            "description": "What it is; it sets the importance. Default: fact.",
        },
        subjects={"description": "A few keywords: people, places, themes."},
        importance={
            "ge": 0,
            "le": 1,
            "description": "How much it matters, 0 to 1, only if it is more or less than usual for its type.",
        },
        source={
            "default": SOURCE,
            "description": "Where it comes from, if not from this conversation: the e-mail of 3 May, a web page.",
        },
        ttl={
            "description": "How long it holds, for what passes: 12h, 7d, 2w. Leave it out for what lasts."
        },
    ),
    _tool(
        "memory__forget",
        Hippocampe.forget,
        "Forget a topic",
        "Forget everything about a topic in all searches: facts, past conversations, messages. Call it only "
        "when the person asks to forget something; with a wide topic, first with dry_run.",
        topic={},
        dry_run={},
    ),
    _tool(
        "memory__search_text",
        Hippocampe.search_text,
        "Search messages by words",
        "Find messages of past conversations that contain all the given words, newest first: names, "
        "numbers, exact wordings. memory__search finds by meaning instead.",
        query={
            "description": 'Words that must all occur; "quoted words" match as a phrase, word* as a prefix.'
        },
        limit=_LIMIT,
        channel={"description": "Only messages of this conversation."},
        since={"description": "Earliest time, ISO 8601 with an offset."},
        until={"description": "Before this time, ISO 8601 with an offset."},
    ),
)
