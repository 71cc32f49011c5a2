"""The tools of the companion. Each returns text for the model; a usage error asks the model to retry."""

import tomllib
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, wraps
from importlib.resources import files
from typing import Any, Concatenate, ParamSpec, cast

from pydantic_ai import FunctionToolset, ModelRetry, RunContext, Tool

from hippocampe.companion.turn import Turn
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.language.i18n import translate
from hippocampe.types import Memory, Recollection, Remembered

P = ParamSpec("P")

MAX_RESULTS = 10
MAX_RECENT = 20
SETTLED_SCORE = 0.35
"""Least cosine of a limitation or a request that a new capability may settle."""
SETTLED_LIMIT = 5


async def search_memories(context: RunContext[Turn], query: str) -> str:
    """Search facts: at most ten, best first."""
    turn = context.deps
    found = await turn.hippo.recall(query, scope=turn.scope, limit=MAX_RESULTS)
    return _listed(turn, _memories(found))


async def get_recent_memories(context: RunContext[Turn], limit: int = 10) -> str:
    """The newest facts, 1 to 20."""
    turn = context.deps
    page = await turn.hippo.memories(
        scope=turn.scope, collection="memory", limit=min(max(limit, 1), MAX_RECENT)
    )
    return _listed(turn, page.items)


async def store_memory(
    context: RunContext[Turn],
    content: str,
    subjects: list[str] | None = None,
    ttl: str | None = None,
    replaces: list[str] | None = None,
) -> str:
    """Store a fact."""
    turn = context.deps
    stored = await turn.hippo.remember(
        content,
        scope=turn.scope,
        subjects=subjects or (),
        ttl=ttl or None,
        replaces=replaces or (),
        source="chat",
    )
    return _stored(turn, stored)


async def delete_memory(context: RunContext[Turn], id: str, reason: str) -> str:
    """Delete a fact."""
    return await _delete(context.deps, id, reason, "memory")


async def search_self(context: RunContext[Turn], query: str, category: str | None = None) -> str:
    """Search statements of the companion about itself."""
    turn = context.deps
    found = await turn.hippo.recall(
        query,
        scope=turn.own_scope,
        limit=MAX_RESULTS,
        collections=("self",),
        category=category or None,
    )
    if category and not found:
        return translate("Nothing in this category: search without category.", _language(turn))
    return _listed(turn, _memories(found))


async def store_self(context: RunContext[Turn], content: str, category: str) -> str:
    """Store a statement of the companion about itself."""
    turn = context.deps
    stored = await turn.hippo.remember(
        content, scope=turn.own_scope, collection="self", category=category, source="chat"
    )
    answer = _stored(turn, stored)
    if category == "capability" and (settled := await _settled_by(turn, stored.memory)):
        notice = translate("It may settle these; delete those that it does:", _language(turn))
        answer = f"{answer}\n{notice}\n{_listed(turn, settled)}"
    return answer


async def delete_self(context: RunContext[Turn], id: str, reason: str) -> str:
    """Delete a statement of the companion about itself."""
    return await _delete(context.deps, id, reason, "self")


async def search_goals(context: RunContext[Turn], query: str) -> str:
    """Search the goals of the companion."""
    turn = context.deps
    found = await turn.hippo.recall(
        query, scope=turn.own_scope, limit=MAX_RESULTS, collections=("goal",)
    )
    return _listed(turn, _memories(found))


async def store_goal(context: RunContext[Turn], content: str, category: str) -> str:
    """Store a goal of the companion."""
    turn = context.deps
    stored = await turn.hippo.remember(
        content,
        scope=turn.own_scope,
        collection="goal",
        category=category,
        type="goal",
        source="chat",
    )
    return _stored(turn, stored)


async def delete_goal(context: RunContext[Turn], id: str, reason: str) -> str:
    """Delete a goal of the companion."""
    return await _delete(context.deps, id, reason, "goal")


TOOLS = (
    search_memories,
    get_recent_memories,
    store_memory,
    delete_memory,
    search_self,
    store_self,
    delete_self,
    search_goals,
    store_goal,
    delete_goal,
)
NAMES = frozenset(tool.__name__ for tool in TOOLS)


@cache
def descriptions(language: str) -> dict[str, str]:
    """The descriptions of the tools, as the model reads them."""
    path = files("hippocampe.companion") / "prompts" / language / "tools.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def toolset(language: str) -> FunctionToolset[Turn]:
    """The ten tools that read and write memory, described in a language."""
    described = descriptions(language)
    return FunctionToolset(
        [
            Tool(
                _asks_again(cast("Any", tool)),
                name=tool.__name__,
                description=described[tool.__name__],
            )
            for tool in TOOLS
        ],
        max_retries=3,
    )


def _asks_again(
    tool: Callable[Concatenate[RunContext[Turn], P], Awaitable[str]],
) -> Callable[Concatenate[RunContext[Turn], P], Awaitable[str]]:
    @wraps(tool)
    async def asking(context: RunContext[Turn], *args: P.args, **kwargs: P.kwargs) -> str:
        turn = context.deps
        # Small models repeat a search until their requests are spent: a tool is taken away when its
        # call is repeated. What was stored or deleted since makes the same call another one.
        call = (tool.__name__, repr((args, kwargs)), len(turn.touched))
        if call in turn.calls:
            turn.withdrawn.add(tool.__name__)
            return translate(
                "You made this call already: use other words, or answer with respond.",
                _language(turn),
            )
        try:
            answer = await tool(context, *args, **kwargs)
        except (InvalidInput, NotFound) as exc:
            raise ModelRetry(str(exc)) from exc
        turn.calls.add(call)
        return answer

    return asking


def note_result(turn: Turn, name: str, result: object) -> None:
    """Record the result of a tool of the host; results of memory's own tools are not news."""
    if name not in NAMES and (text := result if isinstance(result, str) else str(result)):
        turn.results.append(text)


async def _delete(turn: Turn, id: str, reason: str, collection: str) -> str:
    scope = turn.scope if collection == "memory" else turn.own_scope
    try:
        memory = await turn.hippo.get(id, scope=scope)
    except NotFound as exc:
        raise NotFound(f"nothing has the id {id!r}: search first, and copy an id exactly.") from exc
    if memory.collection != collection:
        raise NotFound(
            f"{id!r} is in {memory.collection!r}, not in {collection!r}: use the other delete tool."
        )
    turn.touched.append(await turn.hippo.delete(id, scope=scope, reason=reason))
    return translate("Deleted: {content}", _language(turn)).format(content=memory.content)


async def _settled_by(turn: Turn, capability: Memory) -> list[Memory]:
    """Limitations and capability requests that a new capability may settle."""
    found: list[Recollection] = []
    for collection, category in (("self", "limitation"), ("goal", "capability_request")):
        found += await turn.hippo.recall(
            capability.content,
            scope=turn.own_scope,
            limit=SETTLED_LIMIT,
            collections=(collection,),
            category=category,
            min_score=SETTLED_SCORE,
            mode="semantic",
        )
    return _memories(found)


def _stored(turn: Turn, stored: Remembered) -> str:
    turn.touched.append(stored.memory)
    language = _language(turn)
    said = {
        "inserted": translate("Stored (id: {id}).", language),
        "updated": translate("Stored (id: {id}). It replaces what was known before.", language),
        "reinforced": translate("This was known already (id: {id}).", language),
    }
    return said[stored.action].format(id=stored.memory.id)


def _memories(found: Sequence[Recollection]) -> list[Memory]:
    return [each.memory for each in found if each.memory is not None]


def _listed(turn: Turn, memories: Sequence[Memory]) -> str:
    if not memories:
        return translate(
            "Nothing found. Search with other words, or say that you do not know.", _language(turn)
        )
    return "\n".join(
        f"- [{memory.category or memory.type}] (id: {memory.id}) {memory.content}"
        for memory in memories
    )


def _language(turn: Turn) -> str:
    return turn.settings.language
