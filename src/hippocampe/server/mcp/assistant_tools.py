"""The tools of an assistant that works for one person: search everything, index, forget."""

from typing import Literal

from pydantic import Field

from hippocampe.server.mcp.answers import Forgotten, Found, Stored, of_message, of_recollection
from hippocampe.server.mcp.caller import Caller
from hippocampe.server.mcp.companion_tools import (
    SOURCE,
    Content,
    Query,
    Subjects,
    TimeToLive,
    writer,
)
from hippocampe.server.mcp.tool import Arguments, MemoryTool
from hippocampe.types import UNSET

MIN_SCORE = 0.3
MAX_RESULTS = 50
Collection = Literal["memory", "self", "goal", "summary", "turn", "live", "note"]
Type = Literal["identity", "goal", "decision", "todo", "preference", "fact", "event", "observation"]


class Search(Arguments):
    query: Query
    limit: int = Field(default=5, ge=1, le=MAX_RESULTS, description="At most this many.")
    min_score: float = Field(
        default=MIN_SCORE, ge=0, le=1, description="Leave out results less likely to be relevant."
    )
    collections: list[Collection] = Field(
        default=["memory", "summary", "turn", "live", "note"],
        min_length=1,
        max_length=7,
        description="Where to search. memory: facts; summary: of past talk; turn: past exchanges; live: "
        "overheard since the last digest; note: the person's notes; self and goal: statements about you.",
    )


class NewText(Arguments):
    content: Content = Field(
        description="One statement, clear on its own: whole sentences, with names and dates."
    )
    type: Type | None = Field(
        default=None, description="What it is; it sets the importance. Default: fact."
    )
    subjects: Subjects = Field(default=[])
    ttl: TimeToLive = None


class Topic(Arguments):
    topic: str = Field(
        min_length=1, max_length=4_000, description="What to forget, as narrow as meant."
    )
    dry_run: bool = Field(default=False, description="Only list what would be forgotten.")


class TextSearch(Arguments):
    query: str = Field(
        min_length=1,
        max_length=4_000,
        description='Words that must all occur; "quoted words" match as a phrase, word* as a prefix.',
    )
    limit: int = Field(default=20, ge=1, le=MAX_RESULTS, description="At most this many.")
    channel: str | None = Field(
        default=None, max_length=200, description="Only messages of this conversation."
    )
    since: str | None = Field(
        default=None, max_length=40, description="Earliest time, ISO 8601 with an offset."
    )
    until: str | None = Field(
        default=None, max_length=40, description="Before this time, ISO 8601 with an offset."
    )


def _search(caller: Caller, given: Search) -> tuple[str, Found]:
    found = caller.memory.recall(
        given.query,
        scope=caller.everywhere,
        limit=given.limit,
        collections=given.collections,
        min_score=given.min_score,
    )
    return writer(caller).found(list(map(of_recollection, found)))


def _index(caller: Caller, given: NewText) -> tuple[str, Stored]:
    stored = caller.memory.remember(
        given.content,
        scope=caller.scope,
        type=given.type,
        subjects=given.subjects,
        source=SOURCE,
        ttl=UNSET if given.ttl is None else given.ttl,
    )
    return writer(caller).stored(stored)


def _forget(caller: Caller, given: Topic) -> tuple[str, Forgotten]:
    receipt = caller.memory.forget(given.topic, scope=caller.scope, dry_run=given.dry_run)
    return writer(caller).forgotten(receipt)


def _search_text(caller: Caller, given: TextSearch) -> tuple[str, Found]:
    found = caller.memory.search_text(
        given.query,
        scope=caller.everywhere,
        channel=given.channel,
        since=given.since,
        until=given.until,
        limit=given.limit,
    )
    return writer(caller).found(list(map(of_message, found)))


TOOLS = (
    MemoryTool(
        "memory__search",
        "Search the memory",
        "Search facts, past conversations and notes together, by meaning and words, best first. Call it "
        "when someone refers to something said or done before, when you lack context on a theme that "
        "was talked about, or when you are not sure: ask the memory before you ask the person.",
        "reads",
        Search,
        Found,
        _search,
    ),
    MemoryTool(
        "memory__index",
        "Index a text",
        "Store one statement worth finding again later. A statement that contradicts an older one "
        "replaces it, and one that is known already is not stored twice. Never for passwords or keys.",
        "adds",
        NewText,
        Stored,
        _index,
    ),
    MemoryTool(
        "memory__forget",
        "Forget a topic",
        "Hide everything about a topic from all searches: facts, past conversations, messages. Call it only "
        "when the person asks to forget something; with a wide topic, first with dry_run.",
        "deletes",
        Topic,
        Forgotten,
        _forget,
    ),
    MemoryTool(
        "memory__search_text",
        "Search messages by words",
        "Find messages of past conversations that contain all the given words, newest first: names, "
        "numbers, exact wordings. memory__search finds by meaning instead.",
        "reads",
        TextSearch,
        Found,
        _search_text,
    ),
)
