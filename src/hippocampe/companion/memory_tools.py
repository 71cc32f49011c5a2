"""The ten tools of a companion on facts, on itself and on its goals, for its own model and for MCP clients."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any, Literal, cast

from pydantic import BaseModel

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.language.i18n import translate
from hippocampe.language.lexicon import load
from hippocampe.language.secrets import MASKED
from hippocampe.language.speakers import unnamed_speaker
from hippocampe.language.statement import parse
from hippocampe.types import Memory, Recollection, Remembered, Scope

MAX_RESULTS = 10
MAX_RECENT = 20
MOST_AT_ONCE = 5
"""More items are hidden only when the person confirms."""
SETTLED_SCORE = 0.35
"""Cosine above which a limitation or a request is named as one that a capability may settle."""
SETTLED_LIMIT = 5

Effect = Literal["reads", "adds", "deletes"]
FactType = Literal[
    "identity", "goal", "decision", "todo", "preference", "fact", "event", "observation"
]
"""A type of memory, as a model names it."""
Wording = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Access:
    """A memory as the tools use it."""

    hippo: AsyncHippocampe
    scope: Scope
    source: str

    @property
    def own_scope(self) -> Scope:
        """The scope of the companion's own statements: "I can read" is not about the user."""
        return Scope(space=self.scope.space, channel=self.scope.channel)


@dataclass(frozen=True, slots=True)
class StoreOutcome:
    """A stored statement, with the limitations and requests that a new capability may settle."""

    stored: Remembered
    may_settle: Sequence[Recollection] = ()


def speaker_of(memory: Memory) -> str:
    """The user who told a memory that does not name them, "I live in Pau"; empty for others."""
    return unnamed_speaker(memory.content, memory.user, memory.subjects, memory.collection)


def replaced_label(label: str, when: str, language: str) -> str:
    """The label of a memory that a newer one replaced: it no longer holds."""
    return translate("{when}, replaced {then}", language).format(when=label, then=when)


def stored_text(stored: Remembered, language: str, may_settle: Sequence[str] = ()) -> str:
    """The outcome of a store, as a model reads it, with the lines of what it may settle."""
    texts = {
        "inserted": translate("Stored (id: {id}).", language),
        "updated": translate("Stored (id: {id}). It replaces what was known before.", language),
        "reinforced": translate("This was known already (id: {id}).", language),
    }
    text = texts[stored.action].format(id=stored.memory.id)
    if MASKED in stored.memory.content:
        text += " " + translate("A secret in it was masked.", language)
    if not may_settle:
        return text
    notice = translate("It may settle these; forget those that it does:", language)
    return "\n".join((text, notice, *may_settle))


Outcome = Sequence[Memory | Recollection] | StoreOutcome | Memory
"""The result of a tool: items found, best or newest first; a statement stored; or a memory deleted."""


async def search_memories(access: Access, query: str) -> Outcome:
    """Search facts: at most ten, best first."""
    return await access.hippo.recall(query, scope=access.scope, limit=MAX_RESULTS)


async def get_recent_memories(access: Access, limit: int = MAX_RESULTS) -> Outcome:
    """The newest facts, 1 to 20."""
    number = min(max(limit, 1), MAX_RECENT)
    page = await access.hippo.memories(scope=access.scope, collection="memory", limit=number)
    return page.items


async def store_memory(
    access: Access,
    content: str,
    subjects: list[str] | None = None,
    ttl: str | None = None,
    replaces: list[str] | None = None,
    type: FactType | None = None,
    importance: float | None = None,
    source: str | None = None,
) -> Outcome:
    """Store a fact."""
    lasts: dict[str, Any] = {"ttl": ttl} if ttl else {}
    stored = await access.hippo.remember(
        content,
        scope=access.scope,
        subjects=subjects or (),
        replaces=replaces or (),
        type=type,
        importance=importance,
        source=source or access.source,
        **lasts,
    )
    return StoreOutcome(stored)


async def delete_memory(
    access: Access, id: str, reason: str, said: bool = False, confirmed: bool = False
) -> Outcome:
    """Delete a fact; with `said`, hide what was said about it too, if it is little or the person confirmed it."""
    memory = await _found(access, id, "memory")
    if said:
        # "I" in the topic is the person who told the fact, not the caller.
        topic, scope = memory.content, replace(access.scope, user=memory.user)
        about = await access.hippo.forget(topic, scope=scope, dry_run=True)
        if len(about.ids) > MOST_AT_ONCE and not confirmed:
            raise InvalidInput(
                f"{len(about.ids)} memories and exchanges would be forgotten: ask the person first; if they agree, "
                "call again with confirmed true. Nothing was forgotten yet."
            )
        await access.hippo.delete(id, scope=access.scope, reason=reason)
        await access.hippo.forget(topic, scope=scope)
        return memory
    return await _delete(access, id, reason, "memory")


async def search_self(access: Access, query: str, category: str | None = None) -> Outcome:
    """Search statements of the companion about itself."""
    return await _search_own(access, query, "self", category or None)


async def store_self(access: Access, content: str, category: str) -> StoreOutcome:
    """Store a statement of the companion about itself."""
    stored = await _store_own(access, content, "self", category)
    settled = await _settled_by(access, stored.memory) if category == "capability" else ()
    return StoreOutcome(stored, settled)


async def delete_self(access: Access, id: str, reason: str) -> Outcome:
    """Delete a statement of the companion about itself."""
    return await _delete(access, id, reason, "self")


async def search_goals(access: Access, query: str) -> Outcome:
    """Search the goals of the companion."""
    return await _search_own(access, query, "goal")


async def store_goal(access: Access, content: str, category: str) -> StoreOutcome:
    """Store a goal of the companion."""
    return StoreOutcome(await _store_own(access, content, "goal", category, type="goal"))


async def delete_goal(access: Access, id: str, reason: str) -> Outcome:
    """Delete a goal of the companion."""
    return await _delete(access, id, reason, "goal")


async def _search_own(
    access: Access, query: str, collection: str, category: str | None = None
) -> Outcome:
    return await access.hippo.recall(
        query,
        scope=access.own_scope,
        limit=MAX_RESULTS,
        collections=(collection,),
        category=category,
    )


async def _store_own(
    access: Access, content: str, collection: str, category: str, type: str | None = None
) -> Remembered:
    return await access.hippo.remember(
        content,
        scope=access.own_scope,
        collection=collection,
        category=category,
        type=type,
        source=access.source,
    )


async def _delete(access: Access, id: str, reason: str, collection: str) -> Memory:
    await _found(access, id, collection)
    scope = access.scope if collection == "memory" else access.own_scope
    return cast(Memory, await access.hippo.delete(id, scope=scope, reason=reason))


async def _found(access: Access, id: str, collection: str) -> Memory:
    """A current memory of a collection.

    Raises:
        NotFound: There is none of this id.
    """
    scope = access.scope if collection == "memory" else access.own_scope
    try:
        memory = await access.hippo.get(id, scope=scope)
    except NotFound as exc:
        raise NotFound(
            "no memory has this id: search first, and copy an id exactly. Exchanges are forgotten by their topic."
        ) from exc
    if memory.collection != collection:
        raise NotFound(
            f"this id is in {memory.collection}, not in {collection}: use the tool that forgets there."
        )
    if not memory.current:
        raise NotFound("this is forgotten or replaced already: search for what is current.")
    return memory


async def _settled_by(access: Access, capability: Memory) -> list[Recollection]:
    """Limitations and capability requests that a new capability may settle."""
    found: list[Recollection] = []
    for collection, category in (("self", "limitation"), ("goal", "capability_request")):
        found += await access.hippo.recall(
            capability.content,
            scope=access.own_scope,
            limit=SETTLED_LIMIT,
            collections=(collection,),
            category=category,
            min_score=SETTLED_SCORE,
            mode="semantic",
        )
    return found


OPPOSITE = {"capability": "limitation", "limitation": "capability"}


async def delete_contradicted(access: Access, stored: Memory) -> list[Memory]:
    """Delete the limitations that a new capability negates word for word, and the other way round.

    For a model that has no tools to do so: "I can read the lobby" ends "I cannot read the lobby".
    """
    opposite = OPPOSITE.get(stored.category or "")
    if opposite is None:
        return []
    found = await access.hippo.recall(
        stored.content,
        scope=access.own_scope,
        limit=SETTLED_LIMIT,
        collections=("self",),
        category=opposite,
    )
    reason = f"now: {stored.content}"
    ended = [
        await access.hippo.delete(item.id, scope=access.own_scope, reason=reason)
        for item in found
        if _negates(item.content, stored.content)
    ]
    return cast("list[Memory]", ended)


def _negates(one: str, other: str) -> bool:
    """Return whether two statements differ by a negation only."""
    first, second = parse(one), parse(other)
    same = {word.norm for word in first.core} == {word.norm for word in second.core}
    return same and bool(first.negations) != bool(second.negations)


@dataclass(frozen=True, slots=True)
class CompanionTool:
    """A tool.

    Attributes:
        run: Executes it. Its parameters after the first are the arguments of the tool.
    """

    effect: Effect
    collection: str
    run: Callable[..., Awaitable[Outcome]]

    @property
    def name(self) -> str:
        """Its name."""
        return cast("str", cast("Any", self.run).__name__)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Its arguments, by name."""
        _, *parameters = signature(self.run).parameters.values()
        return {each.name: each for each in parameters}


COMPANION_TOOLS = (
    CompanionTool("reads", "memory", search_memories),
    CompanionTool("reads", "memory", get_recent_memories),
    CompanionTool("adds", "memory", store_memory),
    CompanionTool("deletes", "memory", delete_memory),
    CompanionTool("reads", "self", search_self),
    CompanionTool("adds", "self", store_self),
    CompanionTool("deletes", "self", delete_self),
    CompanionTool("reads", "goal", search_goals),
    CompanionTool("adds", "goal", store_goal),
    CompanionTool("deletes", "goal", delete_goal),
)
NAMES = frozenset(tool.name for tool in COMPANION_TOOLS)


def wordings(language: str) -> Mapping[str, Wording]:
    """The description of each tool, and those of its arguments by their names."""
    return load(language, "tools")


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model, without the titles that repeat the names of the fields."""
    return cast("dict[str, Any]", _untitled(model.model_json_schema()))


def _untitled(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_untitled(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _untitled(each)
        for name, each in cast("dict[str, Any]", schema).items()
        if not (name == "title" and isinstance(each, str))
    }
