"""Anthropic's memory tool with the official client, before a scripted model."""

import asyncio
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.tools import BetaLocalFilesystemMemoryTool, ToolError

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.config import UPSTREAM_URL
from hippocampe.integrations.anthropic import AsyncMemoryTool, MemoryTool
from hosting import examples
from model_server import ModelServer
from served import served

FILES = Scope("files")


@pytest.fixture
def memory(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Hippocampe:
    monkeypatch.setenv(UPSTREAM_URL, server.openai_url)
    return open_hippo(embedder="hashed:64")


def script(server: ModelServer) -> None:
    boat = "/memories/boat.md"
    server.call("memory", command="view", path="/memories")
    server.call("memory", command="create", path=boat, file_text="# Boat\nAt Nantes\n")
    server.call("memory", command="str_replace", path=boat, old_str="Nantes", new_str="Brest")
    server.call("memory", command="view", path="/memories/known/paul.md")
    server.say("I wrote it down.")


def test_claude_keeps_files(
    memory: Hippocampe,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script(server)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec("\n".join(examples("anthropic.md")), names)
    names["client"].close()
    names["hippo"].close()
    assert capsys.readouterr().out == "I wrote it down.\n"
    results = [request.results[0].text for request in server.requests[1:]]
    assert "/memories/known/paul.md" in results[0]
    assert results[1] == "File created successfully at: /memories/boat.md"
    assert "\tAt Brest" in results[2]
    assert "- Paul drinks green tea" in results[3]
    [file] = memory.memories(scope=FILES).items
    assert (file.content, len(memory.history(file.id, scope=FILES).versions)) == (
        "# Boat\nAt Brest",
        2,
    )
    assert [each.content for each in memory.memories(scope=Scope()).items] == [
        "Paul drinks green tea"
    ]


def test_the_asynchronous_client(memory: Hippocampe, server: ModelServer) -> None:
    script(server)

    async def ask() -> str:
        async with anthropic.AsyncAnthropic() as client:
            runner = client.beta.messages.tool_runner(
                model="claude-sonnet-5",
                max_tokens=99,
                messages=[{"role": "user", "content": "Remember: the boat is at Nantes."}],
                tools=[AsyncMemoryTool(memory)],
            )
            message: Any = await runner.until_done()
            return message.content[0].text

    assert asyncio.run(ask()) == "I wrote it down."
    assert memory.memories(scope=FILES).items[0].content == "# Boat\nAt Brest"


COMMANDS: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/a/one.md", "file_text": "un\ndeux\ntrois"},
    {"command": "create", "path": "/memories/a/one.md", "file_text": "again"},
    {"command": "create", "path": "/memories/two.md", "file_text": "un\ndeux\ntrois"},
    {"command": "view", "path": "/memories/a/one.md"},
    {"command": "view", "path": "/memories/a/one.md", "view_range": [2, -1]},
    {"command": "view", "path": "/memories/none.md"},
    {"command": "view", "path": "/memories/../etc/passwd"},
    {"command": "view", "path": "/etc/passwd"},
    {"command": "str_replace", "path": "/memories/two.md", "old_str": "deux", "new_str": "2\n2"},
    {"command": "str_replace", "path": "/memories/two.md", "old_str": "none", "new_str": "2"},
    {"command": "str_replace", "path": "/memories/two.md", "old_str": "n", "new_str": "2"},
    {"command": "str_replace", "path": "/memories/two.md", "old_str": "2", "new_str": "3"},
    {"command": "str_replace", "path": "/memories/none.md", "old_str": "2", "new_str": "3"},
    {"command": "insert", "path": "/memories/two.md", "insert_line": 0, "insert_text": "zéro\n"},
    {"command": "insert", "path": "/memories/two.md", "insert_line": 99, "insert_text": "x"},
    {"command": "rename", "old_path": "/memories/two.md", "new_path": "/memories/a/one.md"},
    {"command": "rename", "old_path": "/memories/two.md", "new_path": "/memories/b/2.md"},
    {"command": "rename", "old_path": "/memories/none.md", "new_path": "/memories/c.md"},
    {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/c"},
    {"command": "view", "path": "/memories/c/one.md"},
    {"command": "delete", "path": "/memories/none.md"},
    {"command": "delete", "path": "/memories"},
    {"command": "delete", "path": "/memories/c"},
    {"command": "view", "path": "/memories/c/one.md"},
]


def test_commands_answer_as_those_of_the_file_system(memory: Hippocampe, tmp_path: Path) -> None:
    ours, theirs = MemoryTool(memory), BetaLocalFilesystemMemoryTool(str(tmp_path / "theirs"))
    for command in COMMANDS:
        assert answer(ours, command) == answer(theirs, command), command
    theirs.clear_all_memory()
    assert ours.clear_all_memory() == "All memory cleared"
    assert memory.memories(scope=FILES).items == ()


def answer(tool: Any, command: dict[str, Any]) -> str:
    """The answer without sizes of folders, which differ."""
    try:
        text = tool.call(command)
    except ToolError as exc:
        return f"error: {str(exc).rstrip('.')}"
    return "\n".join(line for line in text.splitlines() if "\t/memories" not in line)


def test_read_only_and_empty_files(memory: Hippocampe) -> None:
    memory.remember("Paul drinks green tea", scope=Scope(), subjects=["paul"])
    tool = MemoryTool(memory, known=Scope())
    create = {"command": "create", "path": "/memories/known/x.md", "file_text": "x"}
    assert "read-only" in answer(tool, create)
    assert "created" in answer(tool, create | {"path": "/memories/empty", "file_text": ""})
    assert answer(tool, {"command": "view", "path": "/memories/empty"}).endswith("     1\t")
    assert "characters" in answer(tool, create | {"path": f"/memories/{'x' * 300}"})


def test_a_thread_at_the_provider_is_one_conversation(
    memory: Hippocampe, server: ModelServer
) -> None:
    memory.remember("The boat is at Nantes", scope=Scope(user="paul"))
    script(server)
    who = {"X-Hippocampe-User": "paul"}
    with (
        served(memory, loopback=True) as url,
        anthropic.Anthropic(base_url=url, default_headers=who) as client,
    ):
        client.beta.messages.tool_runner(
            model="claude-sonnet-5",
            max_tokens=99,
            messages=[{"role": "user", "content": "Where is the boat?"}],
            tools=[MemoryTool(memory, known=Scope())],
        ).until_done()
    first, *later = server.requests
    assert first.body["thread"] == {"type": "create"}
    assert "The boat is at Nantes" in first.body["messages"][0]["content"]
    assert all(len(each.body["messages"]) == 1 for each in later)
    said = [each.content for each in memory.messages(scope=Scope())]
    assert tuple(said[:2]) == ("Where is the boat?", "I wrote it down.")
    assert len(memory.retrievals(scope=Scope())) == 1
