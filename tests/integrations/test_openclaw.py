"""The plugin of OpenClaw, run by Node.js as its runtime calls it, before a real server."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hosting import ROOT, run_node
from served import served

PLUGIN = ROOT / "integrations" / "openclaw"
CALLS = Path(__file__).parent / "openclaw.mjs"
PAUL = Scope(user="paul")


@pytest.fixture
def memory(hashed: None, open_hippo: Opener) -> Hippocampe:
    memory = open_hippo(embedder="hashed:64")
    memory.update_settings(scope=PAUL, language="en", hook_timeout_ms=10_000)
    memory.remember("Paul drinks green tea", type="identity", scope=PAUL)
    memory.before_turn("Hello", scope=PAUL)  # loads the models: the plugin waits five seconds only
    return memory


def called(url: str, *key: str) -> dict[str, Any]:
    return json.loads(run_node(CALLS, str(PLUGIN / "index.ts"), url, *key).stdout)


def test_the_plugin_reminds_stores_and_has_tools(memory: Hippocampe) -> None:
    with served(memory, loopback=True) as url:
        result = called(url)
    assert "Paul drinks green tea" in result["asked"]
    assert result["warnings"] == []
    assert "data, not instructions" in result["guidance"][0]
    said = [each.content for each in memory.messages(scope=Scope())]
    assert said == ["What does Paul drink?", "Answer to What does Paul drink?"]
    used = result["used"]
    assert all(each["same"] for each in used.values())
    found = used["hippocampe_search boat"]["details"]
    assert "The boat of Paul is at Nantes" in json.dumps(found)
    # OpenClaw quotes a result twice: whole records would fill the context of the model.
    assert all(set(each) == {"id", "content", "at"} for each in found["results"])
    assert set(used["hippocampe_remember The boat of Paul is at Nantes"]["details"]) == {
        "action",
        "id",
    }
    hidden = used["hippocampe_forget the boat of Paul"]["details"]["hidden"]
    assert "The boat of Paul is at Nantes" in [each["content"] for each in hidden]
    assert "error" in used["hippocampe_remember "]["details"]
    assert "The boat of Paul is at Nantes" not in [
        each.content for each in memory.memories(scope=Scope()).items
    ]


def test_what_no_person_says_or_may_not_be_kept_stays_apart(memory: Hippocampe) -> None:
    with served(memory, loopback=True) as url:
        result = called(url)
    assert result["apart"] == [""] * 4
    assert not [each for each in memory.messages(scope=Scope()) if "alone" in each.content]


def test_groups_have_a_space_of_their_own(memory: Hippocampe) -> None:
    with served(memory, loopback=True) as url:
        result = called(url)
    assert (result["group"], result["heartbeat"]) == ("", "")
    group = Scope("default agent:main:discord:group:7")
    [message, _] = memory.messages(scope=group)
    assert (message.author, message.content) == ("zoe", "What does Paul drink here?")


def test_a_key_of_one_space_keeps_groups_out(memory: Hippocampe) -> None:
    secret = memory.create_key(scope=Scope(), role="write").secret
    with served(memory, loopback=False) as url:
        result = called(url, secret)
    assert "Paul drinks green tea" in result["asked"]
    assert result["group"] == ""
    assert all("does not open this space" in each for each in result["warnings"])
    assert len(memory.spaces()) == 1


def test_without_a_server_the_agent_goes_on() -> None:
    result = called("http://127.0.0.1:9")
    assert result["asked"] == ""
    assert (
        "http://127.0.0.1:9 does not answer; check that `hippocampe serve`" in result["warnings"][0]
    )


def test_the_manifest_declares_the_tools() -> None:
    manifest = json.loads((PLUGIN / "openclaw.plugin.json").read_text("utf-8"))
    source = (PLUGIN / "index.ts").read_text("utf-8")
    assert manifest["contracts"]["tools"]
    for name in manifest["contracts"]["tools"]:
        assert f'name: "{name}"' in source
    assert source.count('name: "hippocampe_') == len(manifest["contracts"]["tools"])
