"""The tools of a companion: facts about the world, statements about itself, and its goals."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from hippocampe.errors import NotFound
from hippocampe.server.mcp.answers import (
    Deleted,
    Found,
    Item,
    Stored,
    Writer,
    of_memory,
    of_recollection,
)
from hippocampe.server.mcp.caller import Caller
from hippocampe.server.mcp.tool import Arguments, MemoryTool
from hippocampe.types import MAX_CONTENT_CHARACTERS, MAX_LABEL_CHARACTERS

MAX_RESULTS = 10
MAX_RECENT = 20
SETTLED_SCORE = 0.35
"""Least cosine of a limitation or a request that a new capability may settle."""
SETTLED_LIMIT = 5
SOURCE = "mcp"

Query = Annotated[
    str,
    Field(min_length=1, max_length=4_000, description="A question, or a few words."),
]
Id = Annotated[
    str, Field(min_length=1, max_length=200, description="The id, exactly as a search gave it.")
]
Reason = Annotated[
    str, Field(min_length=1, max_length=1_000, description="Why; it is kept in the history.")
]
Content = Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_CHARACTERS)]
Subjects = Annotated[
    list[Annotated[str, Field(max_length=MAX_LABEL_CHARACTERS)]],
    Field(max_length=32, description="A few keywords: people, places, themes."),
]
TimeToLive = Annotated[
    str | None,
    Field(
        max_length=20,
        description="How long it holds, for what passes: 12h, 7d, 2w. Leave it out for what lasts.",
    ),
]
SelfCategory = Literal["context", "capability", "limitation", "preference", "relation"]
GoalCategory = Literal["capability_request", "understanding", "connection"]


class Search(Arguments):
    query: Query


class Recent(Arguments):
    limit: int = Field(default=MAX_RESULTS, ge=1, le=MAX_RECENT, description="How many.")


class NewMemory(Arguments):
    content: Content = Field(
        description="One whole sentence in the third person, with names: it must be clear on its own."
    )
    subjects: Subjects = Field(default=[])
    ttl: TimeToLive = None
    replaces: list[Id] = Field(
        default=[], max_length=32, description="Ids of memories that this one makes out of date."
    )


class Deletion(Arguments):
    id: Id
    reason: Reason


class SelfSearch(Arguments):
    query: Query
    category: SelfCategory | None = Field(
        default=None, description="Only this kind; leave it out for all."
    )


class NewSelf(Arguments):
    content: Content = Field(description="One whole sentence in the first person.")
    category: SelfCategory = Field(
        description="context: where you are and come from; capability: what you can do; limitation: what "
        "you cannot do; preference: what you like; relation: your bond with someone."
    )


class NewGoal(Arguments):
    content: Content = Field(description="One whole sentence in the first person.")
    category: GoalCategory = Field(
        description="capability_request: to be able to do something; understanding: to understand "
        "something; connection: to be closer to someone."
    )


def writer(caller: Caller) -> Writer:
    """Writes in the language of the caller's space."""
    return Writer(caller.memory.settings(scope=caller.scope))


def _search_memories(caller: Caller, given: Search) -> tuple[str, Found]:
    found = caller.memory.recall(given.query, scope=caller.scope, limit=MAX_RESULTS)
    return writer(caller).found(list(map(of_recollection, found)))


def _get_recent_memories(caller: Caller, given: Recent) -> tuple[str, Found]:
    page = caller.memory.memories(scope=caller.scope, collection="memory", limit=given.limit)
    return writer(caller).found(list(map(of_memory, page.items)))


def _store_memory(caller: Caller, given: NewMemory) -> tuple[str, Stored]:
    stored = caller.memory.remember(
        given.content,
        scope=caller.scope,
        subjects=given.subjects,
        source=SOURCE,
        replaces=given.replaces,
        **({} if given.ttl is None else {"ttl": given.ttl}),
    )
    return writer(caller).stored(stored)


def _search_self(caller: Caller, given: SelfSearch) -> tuple[str, Found]:
    found = caller.memory.recall(
        given.query,
        scope=caller.own_scope,
        limit=MAX_RESULTS,
        collections=("self",),
        category=given.category,
    )
    return writer(caller).found(list(map(of_recollection, found)))


def _store_self(caller: Caller, given: NewSelf) -> tuple[str, Stored]:
    stored = caller.memory.remember(
        given.content,
        scope=caller.own_scope,
        collection="self",
        category=given.category,
        source=SOURCE,
    )
    settled = _settled_by(caller, given.content) if given.category == "capability" else []
    return writer(caller).stored(stored, settled)


def _settled_by(caller: Caller, capability: str) -> list[Item]:
    """Limitations and capability requests that a new capability may settle."""
    return [
        of_recollection(each)
        for collection, category in (("self", "limitation"), ("goal", "capability_request"))
        for each in caller.memory.recall(
            capability,
            scope=caller.own_scope,
            limit=SETTLED_LIMIT,
            collections=(collection,),
            category=category,
            min_score=SETTLED_SCORE,
            mode="semantic",
        )
    ]


def _search_goals(caller: Caller, given: Search) -> tuple[str, Found]:
    found = caller.memory.recall(
        given.query, scope=caller.own_scope, limit=MAX_RESULTS, collections=("goal",)
    )
    return writer(caller).found(list(map(of_recollection, found)))


def _store_goal(caller: Caller, given: NewGoal) -> tuple[str, Stored]:
    stored = caller.memory.remember(
        given.content,
        scope=caller.own_scope,
        collection="goal",
        category=given.category,
        type="goal",
        source=SOURCE,
    )
    return writer(caller).stored(stored)


def _deletes(collection: str, name: str, title: str, description: str) -> MemoryTool[Deletion]:
    """The tool that deletes from one collection."""

    def delete(caller: Caller, given: Deletion) -> tuple[str, BaseModel]:
        try:
            memory = caller.memory.get(given.id, scope=caller.scope)
        except NotFound as exc:
            raise NotFound("nothing has this id: search first, and copy an id exactly.") from exc
        if memory.collection != collection:
            raise NotFound(
                f"this id is in {memory.collection}, not in {collection}: use the tool that deletes there."
            )
        if not memory.current:
            raise NotFound("this is deleted or replaced already: search for what is current.")
        scope = caller.scope if collection == "memory" else caller.own_scope
        return writer(caller).deleted(
            caller.memory.delete(given.id, scope=scope, reason=given.reason)
        )

    return MemoryTool(name, title, description, "deletes", Deletion, Deleted, delete)


TOOLS = (
    MemoryTool(
        "search_memories",
        "Search memories",
        "Search facts about people and the world by meaning and words; the ten best, each with its id. "
        "Call it before you answer about anything that may have been said before, and before you "
        "delete or replace a fact.",
        "reads",
        Search,
        Found,
        _search_memories,
    ),
    MemoryTool(
        "get_recent_memories",
        "Recent memories",
        "The facts learnt last, newest first, each with its id.",
        "reads",
        Recent,
        Found,
        _get_recent_memories,
    ),
    MemoryTool(
        "store_memory",
        "Store a memory",
        "Store one lasting fact: a preference, a decision, an event, who someone is. A fact that "
        "contradicts an older one replaces it, and one that is known already is not stored twice. Not for "
        "small talk, and never for passwords or keys.",
        "adds",
        NewMemory,
        Stored,
        _store_memory,
    ),
    _deletes(
        "memory",
        "delete_memory",
        "Delete a memory",
        "Delete a fact that someone asks to forget, or that is wrong. First find its id with "
        "search_memories. For a fact that changed, store the new one instead.",
    ),
    MemoryTool(
        "search_self",
        "Search what you know about yourself",
        "Search your own statements about yourself: what you can and cannot do, what you like, where you "
        "come from, your bonds.",
        "reads",
        SelfSearch,
        Found,
        _search_self,
    ),
    MemoryTool(
        "store_self",
        "Store something about yourself",
        "Store something that you learnt about yourself. The answer to a new capability names limitations "
        "and requests that it may settle: delete those that it does.",
        "adds",
        NewSelf,
        Stored,
        _store_self,
    ),
    _deletes(
        "self",
        "delete_self",
        "Delete something about yourself",
        "Delete something about yourself that is no longer true. First find its id with search_self.",
    ),
    MemoryTool(
        "search_goals",
        "Search your goals",
        "Search what you want: abilities to ask for, things to understand, people to know better.",
        "reads",
        Search,
        Found,
        _search_goals,
    ),
    MemoryTool(
        "store_goal",
        "Store a goal",
        "Store something that you want: an ability, an understanding, a closer bond. Not a task of the "
        "person: that is a memory.",
        "adds",
        NewGoal,
        Stored,
        _store_goal,
    ),
    _deletes(
        "goal",
        "delete_goal",
        "Delete a goal",
        "Delete a goal that is reached or given up. First find its id with search_goals.",
    ),
)
