"""n8n and Home Assistant: their requests, as they send them, to a real server."""

import asyncio
import json
from typing import Any

import httpx
import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.config import UPSTREAM_URL
from model_server import Answer, Call, ModelRequest, ModelServer
from served import served

QUESTION = "Que boit Paul le matin ?"
PAUL = Scope(user="paul")
Json = dict[str, Any]


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    monkeypatch.setenv(UPSTREAM_URL, server.openai_url)
    memory = open_hippo(embedder="hashed:64")
    memory.remember("Paul boit du thé vert le matin", type="identity", scope=PAUL)
    return memory


def test_the_http_nodes_of_n8n(memory: Hippocampe) -> None:
    key = memory.create_key(scope=Scope(), role="write").secret
    headers = {"Authorization": f"Bearer {key}", "User-Agent": "axios/1.12.0", "Accept": "*/*"}
    where = {"user": "paul", "channel": "4f1c"}
    with served(memory, loopback=False) as url, httpx.Client(headers=headers, timeout=30) as node:
        before = node.post(f"{url}/api/before_turn", params=where, json={"message": QUESTION})
        assert "thé vert" in before.json()["text"]
        exchange = {"user_message": QUESTION, "reply": "Du thé vert."}
        node.post(f"{url}/api/after_turn", params=where, json=exchange).raise_for_status()
    [message, _] = memory.messages(scope=Scope())
    assert (message.author, message.channel) == ("paul", "4f1c")


def test_the_mcp_node_of_n8n(memory: Hippocampe) -> None:
    key = memory.create_key(scope=Scope(), role="write").secret
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    client = {"name": "@n8n/n8n-nodes-langchain.mcpClientTool", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "clientInfo": client}
    with served(memory, loopback=False) as url, httpx.Client(headers=headers, timeout=30) as node:

        def send(method: str, id: int | None = None, **params: Any) -> Json:
            body = {"jsonrpc": "2.0", "method": method, "params": params}
            sent = body if id is None else {**body, "id": id}
            answer = node.post(f"{url}/mcp?tools=assistant&user=paul", json=sent)
            assert answer.status_code == (202 if id is None else 200)
            text = answer.text
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                text = next(line[5:] for line in text.splitlines() if line.startswith("data:"))
            return json.loads(text) if text else {}

        assert send("initialize", 1, **hello)["result"]["serverInfo"]
        node.headers["MCP-Protocol-Version"] = "2025-06-18"
        send("notifications/initialized")
        names = {each["name"] for each in send("tools/list", 2)["result"]["tools"]}
        assert "memory__search" in names
        found = send("tools/call", 3, name="memory__search", arguments={"query": QUESTION})
        assert "thé vert" in json.dumps(found, ensure_ascii=False)


def test_the_mcp_integration_of_home_assistant(memory: Hippocampe) -> None:
    async def ask(url: str) -> str:
        async with (
            httpx2.AsyncClient() as client,
            streamable_http_client(f"{url}/mcp?tools=assistant&user=paul", http_client=client) as (
                read,
                write,
            ),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = await session.list_tools()
            assert all(each.input_schema["type"] == "object" for each in tools.tools)
            found = await session.call_tool("memory__search", {"query": QUESTION})
            return str(found.content)

    with served(memory, loopback=True) as url:
        assert "thé vert" in asyncio.run(ask(url))


def test_a_conversation_agent_of_home_assistant(memory: Hippocampe, server: ModelServer) -> None:
    """It streams, offers the tools of the house, and sends the history of its conversation each time.

    It gives the id of the conversation as the user: the address names the speaker.
    """

    def brain(request: ModelRequest) -> Answer:
        if request.tools and not request.results and "lampe" in request.asked:
            return Answer(calls=(Call("HassTurnOn", {"name": "lampe"}),))
        return Answer("C'est fait." if request.results else "Du thé vert.")

    server.brain = brain
    parameters = {"type": "object", "properties": {"name": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "HassTurnOn", "parameters": parameters}}
    history: list[Json] = [{"role": "system", "content": "Tu es la voix de la maison."}]
    key = memory.create_key(scope=Scope(), role="write").secret
    with served(memory, loopback=False) as url:

        def ask() -> Json:
            body = {
                "model": "m",
                "messages": history,
                "tools": [tool],
                "stream": True,
                "user": "01M8EW8FY0PVPKHNEWR4R0YX33",
            }
            headers = {"Authorization": f"Bearer {key}"}
            answer = httpx.post(
                f"{url}/as/paul/v1/chat/completions", json=body, headers=headers, timeout=30
            )
            events = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
            deltas = [json.loads(each)["choices"] for each in events]
            parts = [each[0]["delta"] for each in deltas if each]
            calls = [call for each in parts for call in each.get("tool_calls") or []]
            text = "".join(each.get("content") or "" for each in parts)
            return {"text": text, "call": calls[0]["id"] if calls else None}

        history.append({"role": "user", "content": QUESTION})
        assert ask()["text"] == "Du thé vert."
        history.append({"role": "assistant", "content": "Du thé vert."})
        history.append({"role": "user", "content": "Allume la lampe"})
        call = ask()["call"]
        function = {"name": "HassTurnOn", "arguments": '{"name": "lampe"}'}
        calls = [{"id": call, "type": "function", "function": function}]
        history.append({"role": "assistant", "content": None, "tool_calls": calls})
        history.append({"role": "tool", "tool_call_id": call, "content": '{"success": true}'})
        assert ask()["text"] == "C'est fait."
    assert "thé vert" in server.requests[0].asked
    said = [each for each in memory.messages(scope=Scope()) if each.role != "tool"]
    assert [each.content for each in said] == [
        *(QUESTION, "Du thé vert.", "Allume la lampe", "C'est fait."),
    ]
    assert {each.author for each in said if each.role == "user"} == {"paul"}
