"""A call of every tool of MCP with every argument, and the call of the library that it makes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from hippocampe import Scope
from hippocampe.server.mcp import assistant_tools
from hippocampe.server.mcp.tool import MemoryTool
from hippocampe.types import Memory, Page, Receipt, Remembered
from hippocampe.verbs import VERBS
from verb_arguments import ARGUMENTS, ME, SINCE, UNTIL
from verb_doors import Server, typed

OWN = Scope(space=ME.space, channel=ME.channel)
"""The scope of the assistant's statements about itself."""
EVERYWHERE = Scope(space=ME.space, user=ME.user)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool, and the same call of the library."""

    tool: str
    arguments: dict[str, Any]
    verb: str
    named: dict[str, Any]


def tool_calls(ids: Mapping[str, str]) -> list[ToolCall]:
    """Calls of every tool, in an order in which one leaves what the next ones need."""
    able = {"content": "je sais lire les images", "category": "capability"}
    aim = {"content": "je veux voir la mer", "category": "understanding"}
    times = {"since": SINCE.isoformat(), "until": UNTIL.isoformat()}
    words = {"query": "rendez-vous num*", "limit": 2, "channel": "lobby", **times}
    told = {"importance": 0.7, "source": "le courriel du 3 mai", "type": "event"}
    stored = {"content": "Le four est réparé", "subjects": ["four"], "ttl": "7d", **told}
    indexed = {"content": "Inès a un piano", "subjects": ["inès"], "ttl": "2w", **told}
    learnt = {"query": "lire les images"}
    found = {"query": "le voilier", "limit": 2, "min_score": 0.001, "collections": ["memory"]}

    def call(tool: str, verb: str, arguments: dict[str, Any], **more: Any) -> ToolCall:
        """A call whose arguments are those of the verb, but for some that the tool adds."""
        return ToolCall(tool, arguments, verb, {"scope": ME, **arguments, **more})

    def delete(tool: str, name: str, scope: Scope) -> ToolCall:
        return call(tool, "delete", {"id": ids[name], "reason": "faux"}, scope=scope)

    deleted = delete("delete_memory", "lyon", ME)
    calls = [
        call("store_memory", "remember", {**stored, "replaces": [ids["port"]]}),
        call("memory__index", "remember", indexed),
        call("store_self", "remember", able, scope=OWN, collection="self", source="mcp"),
        call(
            "store_goal", "remember", aim, scope=OWN, collection="goal", type="goal", source="mcp"
        ),
        call("search_memories", "recall", {"query": "le voilier rouge"}),
        call("get_recent_memories", "memories", {"limit": 2}, collection="memory"),
        call(
            "search_self",
            "recall",
            {**learnt, "category": "capability"},
            scope=OWN,
            collections=["self"],
        ),
        call("search_goals", "recall", learnt, scope=OWN, collections=["goal"]),
        call("memory__search", "recall", found, scope=EVERYWHERE),
        call("memory__search_text", "search_text", words, scope=EVERYWHERE),
        replace(deleted, arguments={**deleted.arguments, "said": True, "confirmed": True}),
        delete("delete_goal", "goal", OWN),
        delete("delete_self", "self", OWN),
        call("memory__forget", "forget", {"topic": "le voilier rouge", "dry_run": True}),
    ]
    made = {each.tool for each in calls}
    others = [_called(tool) for tool in assistant_tools.TOOLS if tool.name not in made]
    return [*others, *calls]


def _called(tool: MemoryTool) -> ToolCall:
    """A call of a tool that has the arguments of its verb."""
    arguments = {name: typed(ARGUMENTS[name]) for name in tool.arguments.model_fields}
    scope = ME if VERBS[tool.verb].writes else EVERYWHERE
    return ToolCall(tool.name, arguments, tool.verb, {"scope": scope, **arguments})


async def call_tools(server: Server, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
    """The structured results of tools, over HTTP with the official client."""
    url = f"{server.url}/mcp?space={ME.space}&user={ME.user}&channel={ME.channel}"
    answers: list[Any] = []
    async with (
        httpx2.AsyncClient(timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        for tool, arguments in calls:
            done = await client.call_tool(tool, arguments)
            assert not done.is_error, (tool, done.content)
            answers.append(done.structured_content)
    return answers


def seen(answer: dict[str, Any]) -> dict[str, Any]:
    """What the answer of a tool says of the result of the library."""
    told = {name: answer[name] for name in ("id", "action", "counts", "dry_run") if name in answer}
    if "action" in answer:
        told["replaced"] = answer["replaced"]
    if "items" in answer:
        told["items"] = [[each["id"], each["kind"], each["content"]] for each in answer["items"]]
    return told


def outline(result: Any) -> dict[str, Any]:
    """The same of the result of the library."""
    if isinstance(result, Remembered):
        return {
            "id": result.memory.id,
            "action": result.action,
            "replaced": list(result.replaced),
        }
    if isinstance(result, Memory):
        return {"id": result.id}
    if isinstance(result, Receipt):
        items = [[each.id, each.kind, each.content] for each in result.items]
        return {"counts": dict(result.counts), "dry_run": result.dry_run, "items": items}
    items = result.items if isinstance(result, Page) else result
    return {"items": [[each.id, _kind(each), each.content] for each in items]}


def _kind(item: Any) -> str:
    return getattr(item, "kind", None) or getattr(item, "collection", "message")
