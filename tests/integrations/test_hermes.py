"""The Hermes Agent with its plugin, before a scripted model."""

import json
import re
from collections.abc import Callable

from hippocampe import Scope
from hosting import ROOT, Host, check_prefix
from model_server import Answer, Call, ModelRequest

PAGE = ROOT / "docs" / "integrations" / "hermes.md"
TALK = """
import os
from run_agent import AIAgent
from agent.memory_manager import MemoryManager

agent = AIAgent(
    base_url=os.environ["OPENAI_BASE_URL"], api_key="test-key", model="scripted", provider="custom",
    api_mode="chat_completions", quiet_mode=True, enabled_toolsets=["memory"], session_id="kitchen",
    skip_context_files=True, platform="cli", user_id="paul",
)
[provider] = agent._memory_manager.providers
history = []
for text in ("What do I drink in the morning?", "Where is my boat?", "Thanks"):
    result = agent.run_conversation(text, conversation_history=history)
    history = result["messages"]
    print(result["final_response"])
agent._memory_manager.flush_pending(timeout=20)
print(provider.handle_tool_call("hippocampe_search", {"text": "boat"}))
print(provider.handle_tool_call("hippocampe_remember", {"text": ""}))
print(provider.handle_tool_call("hippocampe_forget", {"text": "my boat"}))
print(provider.handle_tool_call("none", {}))
other = type(provider)()
other.initialize("sub", hermes_home=os.environ["HERMES_HOME"], agent_context="subagent", user_id="paul")
other.sync_turn("from a subagent", "not stored")
other.save_config({"space": "work", "key": "hippo_x", "folder": ""}, os.environ["HERMES_HOME"])
other.shutdown()
print(open(os.path.join(os.environ["HERMES_HOME"], "hippocampe.json")).read().split())
agent.shutdown_memory_provider()
"""


def brain(request: ModelRequest) -> Answer:
    """A model that searches for one question."""
    if "boat" in request.asked and not request.results:
        return Answer(calls=(Call("hippocampe_search", {"text": "boat"}),))
    found = request.results[0].text if request.results else ""
    return Answer(
        f"Answer {len(request.messages)}. {'Nantes' if 'Nantes' in found else ''}".strip()
    )


def test_hermes_remembers(host: Callable[..., Host]) -> None:
    found = host("hermes")
    found.server.brain = brain
    paul = Scope(user="paul")
    found.memory.remember("Paul drinks green tea in the morning", type="identity", scope=paul)
    found.memory.remember("The boat of Paul is at Nantes", scope=paul)
    home = found.folder / "hermes"
    plugin = home / "plugins" / "hippocampe"
    plugin.mkdir(parents=True)
    text = PAGE.read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.S)
    [manifest, config] = re.findall(r"```yaml\n(.*?)```", text, re.S)
    (plugin / "__init__.py").write_text(code, encoding="utf-8")
    (plugin / "plugin.yaml").write_text(manifest, encoding="utf-8")
    (home / "config.yaml").write_text(config, encoding="utf-8")
    folder = str(found.folder / "data")
    shown = found.run(TALK, HERMES_HOME=str(home), HIPPOCAMPE_FOLDER=folder, HOME=str(home))
    *lines, searched, empty, forgotten, unknown, settings = shown.splitlines()[-8:]
    assert lines[1].endswith("Nantes")
    assert json.loads(searched)["results"][0]["content"] == "The boat of Paul is at Nantes"
    assert "error" in json.loads(empty)
    assert [each["content"] for each in json.loads(forgotten)["hidden"]]
    assert "error" in json.loads(unknown)
    assert settings == str(["{", '"space":', '"work"', "}"])
    requests = [each for each in found.server.requests if each.tools]
    assert "Paul drinks green tea" in requests[0].asked
    check_prefix([each.body for each in requests])
    said = [each.content for each in found.memory.messages(scope=Scope(), limit=100)]
    assert "What do I drink in the morning?" in said
    assert "from a subagent" not in said
    assert {each.channel for each in found.memory.messages(scope=Scope())} == {"kitchen"}
