"""LlamaIndex, Google's ADK, the Microsoft Agent Framework and Strands, with their packages and a scripted model."""

import json
from collections.abc import Callable

import pytest

from hippocampe import Scope
from hosting import Host, check_prefix
from model_server import Answer, ModelRequest

Find = Callable[[str], Host]
QUESTION = "What do I drink in the morning?"
ADK = """
from google.adk.memory.memory_entry import MemoryEntry

async def more() -> None:
    service, app = HippocampeMemoryService(hippo), {"app_name": "demo", "user_id": "paul"}
    sessions = await runner.session_service.list_sessions(**app)
    session = await runner.session_service.get_session(session_id=sessions.sessions[0].id, **app)
    for _ in range(2):
        await service.add_session_to_memory(session)
    boat = types.Content(role="user", parts=[types.Part(text="The boat of Paul is at Nantes")])
    await service.add_memory(memories=[MemoryEntry(content=boat)], **app)
    [best, *_] = (await service.search_memory(query="boat", **app)).memories
    assert best.content.parts[0].text == "The boat of Paul is at Nantes", best
    await service.delete_memory(memory_id=best.id, **app)
    left = (await service.search_memory(query="boat", **app)).memories
    assert best.id not in [each.id for each in left]
    assert "hippocampe-memory" not in str(session)

asyncio.run(more())
hippo.close()
"""
LLAMA = """
blocks = memory.memory_blocks
from llama_index.core.base.llms.types import ChatMessage

async def flushed() -> None:
    history = await memory.aget_all()
    for _ in range(2):
        await blocks[0].aput(history, from_short_term_memory=True, session_id="kitchen")
    # LlamaIndex has dropped what the first message was given.
    asked = ChatMessage(role="user", content="And what do I drink in the morning, again?")
    assert "green tea" in await blocks[0].aget([*history, asked], session_id="kitchen")

asyncio.run(flushed())
hippo.close()
"""
STRANDS = """
import asyncio
from strands.memory import AddMessagesContext

async def more() -> None:
    manager = agent.memory_manager if hasattr(agent, "memory_manager") else None
    for _ in range(2):
        await store.add_messages(agent.messages, AddMessagesContext())
    id = await store.add("The boat of Paul is at Nantes", {"row": 3, "nested": {}})
    [best, *_] = await store.search("boat", {"max_search_results": 2})
    assert (best.content, best.metadata["id"]) == ("The boat of Paul is at Nantes", id)

asyncio.run(more())
assert "green tea" not in str(agent.messages)
hippo.close()
"""


def brain(request: ModelRequest) -> Answer:
    return Answer(f"Answer {sum(each.role == 'user' for each in request.messages)}")


@pytest.mark.parametrize(
    ("page", "more", "kept"),
    [
        ("llama-index.md", LLAMA, False),
        ("google-adk.md", ADK, True),
        ("agent-framework.md", "hippo.close()", True),
        ("strands.md", STRANDS, False),
    ],
)
def test_an_agent_remembers(host: Find, page: str, more: str, kept: bool) -> None:
    found = host("agents")
    found.server.brain = brain
    shown = found.page(page, more).splitlines()
    assert shown[:3] == ["Answer 1", "Answer 2", "Answer 3"]
    requests = [each.body for each in found.server.requests]
    assert "Paul drinks green tea" in json.dumps(requests[0])
    check_prefix(requests, kept=kept)
    # Without them, the last message has memories, and the history is the host's own.
    earlier = [each.text for request in found.server.requests for each in request.messages[:-1]]
    assert kept == ("green tea" in " ".join(earlier))
    said = [each.content for each in found.memory.messages(scope=Scope(), limit=100)]
    stored = [each for each in said if each == QUESTION]
    assert stored == [QUESTION]
    assert said.count("Thanks") == 1
    users = {each.author for each in found.memory.messages(scope=Scope()) if each.role == "user"}
    assert users == {"paul"}
