"""A call of every tool of MCP with every argument, and the call of the library that it makes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from hippocampe import Scope
from hippocampe.types import Memory, Page, Receipt, Remembered
from verb_cases import ME, SINCE, UNTIL
from verb_doors import Server

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
    reason = {"reason": "faux"}
    return [
        ToolCall(
            "store_memory",
            {
                "content": "Le four est réparé",
                "subjects": ["four"],
                "ttl": "7d",
                "replaces": [ids["port"]],
            },
            "remember",
            {
                "content": "Le four est réparé",
                "scope": ME,
                "subjects": ["four"],
                "ttl": "7d",
                "replaces": [ids["port"]],
                "source": "mcp",
            },
        ),
        ToolCall(
            "memory__index",
            {"content": "Inès a un piano", "type": "event", "subjects": ["inès"], "ttl": "2w"},
            "remember",
            {
                "content": "Inès a un piano",
                "scope": ME,
                "type": "event",
                "subjects": ["inès"],
                "ttl": "2w",
                "source": "mcp",
            },
        ),
        ToolCall(
            "store_self",
            able,
            "remember",
            {**able, "scope": OWN, "collection": "self", "source": "mcp"},
        ),
        ToolCall(
            "store_goal",
            aim,
            "remember",
            {**aim, "scope": OWN, "collection": "goal", "type": "goal", "source": "mcp"},
        ),
        ToolCall(
            "search_memories",
            {"query": "le voilier rouge"},
            "recall",
            {"query": "le voilier rouge", "scope": ME},
        ),
        ToolCall(
            "get_recent_memories",
            {"limit": 2},
            "memories",
            {"scope": ME, "collection": "memory", "limit": 2},
        ),
        ToolCall(
            "search_self",
            {"query": "lire les images", "category": "capability"},
            "recall",
            {
                "query": "lire les images",
                "scope": OWN,
                "collections": ["self"],
                "category": "capability",
            },
        ),
        ToolCall(
            "search_goals",
            {"query": "lire les images"},
            "recall",
            {"query": "lire les images", "scope": OWN, "collections": ["goal"]},
        ),
        ToolCall(
            "memory__search",
            {"query": "le voilier", "limit": 2, "min_score": 0.001, "collections": ["memory"]},
            "recall",
            {
                "query": "le voilier",
                "scope": EVERYWHERE,
                "limit": 2,
                "min_score": 0.001,
                "collections": ["memory"],
            },
        ),
        ToolCall("memory__search_text", words, "search_text", {**words, "scope": EVERYWHERE}),
        ToolCall(
            "delete_memory",
            {"id": ids["lyon"], **reason},
            "delete",
            {"id": ids["lyon"], "scope": ME, **reason},
        ),
        ToolCall(
            "delete_goal",
            {"id": ids["goal"], **reason},
            "delete",
            {"id": ids["goal"], "scope": OWN, **reason},
        ),
        ToolCall(
            "delete_self",
            {"id": ids["self"], **reason},
            "delete",
            {"id": ids["self"], "scope": OWN, **reason},
        ),
        ToolCall(
            "memory__forget",
            {"topic": "le voilier rouge", "dry_run": True},
            "forget",
            {"topic": "le voilier rouge", "scope": ME, "dry_run": True},
        ),
    ]


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
