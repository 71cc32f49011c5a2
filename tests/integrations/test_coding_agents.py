"""Hooks of Codex, of the Gemini CLI and of OpenCode: the real program, with the JSON of each agent."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hosting import BOAT_QUESTION as PROMPT
from hosting import ROOT, memory_of_a_boat, run_node


@pytest.fixture
def memory(hashed: None, open_hippo: Opener) -> Hippocampe:
    return memory_of_a_boat(open_hippo)


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


def test_gemini_puts_the_context_of_the_start_before_the_prompt(
    memory: Hippocampe, folder: Path, tmp_path: Path
) -> None:
    start = {"hook_event_name": "SessionStart", "source": "startup", "cwd": str(tmp_path)}
    context = hook("session-start", start, folder)["hookSpecificOutput"]["additionalContext"]
    escaped = context.replace("<", "&lt;").replace(">", "&gt;")
    prompt = f"<hook_context>{escaped}</hook_context>\n\nMerci <b>"
    event = {"session_id": "s", "timestamp": "t1", "cwd": str(tmp_path), "prompt": prompt}
    assert hook("prompt-submit", {**event, "hook_event_name": "BeforeAgent"}, folder) == {}
    hook("stop", {**event, "hook_event_name": "AfterAgent", "prompt_response": "Oui."}, folder)
    said = [each.content for each in memory.messages(scope=Scope())]
    assert said == ["Merci <b>", "Oui."]


def event(n: int, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": f"t{n}", "type": "event_msg", "payload": payload}


def item(n: int, kind: str, *parts: dict[str, Any]) -> dict[str, Any]:
    content = {"type": kind, "id": f"i{n}", "content": parts}
    return event(n, {"type": "item_completed", "turn_id": "1", "item": content})


ROLLOUTS = {
    "before 0.149": [
        event(1, {"type": "user_message", "message": "Bonjour"}),
        event(2, {"type": "agent_message", "message": "Bonjour !"}),
        event(3, {"type": "user_message", "message": PROMPT}),
        event(4, {"type": "token_count", "info": None}),
        event(5, {"type": "agent_message", "message": "Je regarde."}),
        event(6, {"type": "task_complete"}),
    ],
    "0.171": [
        item(1, "UserMessage", {"type": "text", "text": "Bonjour", "text_elements": []}),
        item(2, "AgentMessage", {"type": "Text", "text": "Bonjour !"}),
        item(3, "UserMessage", {"type": "text", "text": PROMPT}, {"type": "local_image"}),
        item(4, "Reasoning"),
        item(5, "AgentMessage", {"type": "Text", "text": "Je regarde."}),
        event(6, {"type": "task_complete", "last_agent_message": "À Nantes."}),
    ],
}


@pytest.mark.parametrize("version", ROLLOUTS)
def test_codex(memory: Hippocampe, folder: Path, tmp_path: Path, version: str) -> None:
    rollout = tmp_path / "rollout.jsonl"
    meta = {"timestamp": "t0", "type": "session_meta", "payload": {"id": "s"}}
    context = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}
    model = {"timestamp": "t3", "type": "response_item", "payload": context}
    lines = [json.dumps(each) for each in (meta, model, *ROLLOUTS[version])]
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
const sessions = { ses_1: [], ses_2: [], task: [] }
const warnings = []
const client = {
  app: { log: async ({ body }) => warnings.push(body.message) },
  tui: { showToast: async ({ body }) => warnings.push(body.message) },
  session: {
    get: async ({ path }) => ({ data: { parentID: path.id === "task" ? "ses_1" : undefined } }),
    messages: async ({ path }) => ({ data: sessions[path.id] }),
  },
}
let plugin = await Hippocampe({ client, directory: process.cwd() })
const sizes = []
async function turn(sessionID, prompt) {
  const history = sessions[sessionID]
  const output = { message: { id: `msg_${history.length}`, role: "user" }, parts: [text(prompt)] }
  await plugin["chat.message"]({ sessionID }, output)
  sizes.push(output.parts.length)
  history.push({ info: output.message, parts: output.parts })
  history.push({ info: { id: "a", role: "assistant" }, parts: [{ type: "tool" }, text("À Nantes.")] })
  await plugin.event({ event: { type: "session.idle", properties: { sessionID } } })
}
for (const [sessionID, prompt] of %s) {
  if (prompt === "compacted") await plugin.event({ event: { type: "session.compacted", properties: { sessionID } } })
  else if (prompt === "restarted") plugin = await Hippocampe({ client, directory: process.cwd() })
  else await turn(sessionID, prompt)
}
await plugin.event({ event: { type: "server.connected" } })
console.log(JSON.stringify({ sizes, warnings, given: sessions.ses_1[0].parts[0], last: sessions.ses_1[0].parts.at(-1) }))
"""


def opencode(command: Path, *turns: tuple[str, str]) -> dict[str, Any]:
    """What the plugin does in some turns, each a session and a prompt, `compacted` or `restarted`."""
    plugin = ROOT / "integrations" / "opencode" / "hippocampe.js"
    script = command.parent / "talk.mjs"
    script.write_text(OPENCODE % (json.dumps(plugin.as_uri()), json.dumps(turns)), "utf-8")
    environment = {"PATH": "/usr/bin:/bin", "HIPPOCAMPE_COMMAND": str(command)}
    return json.loads(run_node(script, cwd=command.parent, env=environment).stdout)


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_opencode(memory: Hippocampe, folder: Path, tmp_path: Path) -> None:
    run = f'exec {sys.executable} -m hippocampe "$@" --folder {folder}'
    command = program(tmp_path / "hippocampe", run)
    result = opencode(
        command, ("ses_1", PROMPT), ("ses_1", "Merci"), ("task", "Cherche le voilier")
    )
    assert "Nantes" in result["given"]["text"]
    assert result["given"]["synthetic"]
    assert result["given"]["id"].startswith("prt_000000000000")
    assert result["last"] == {"type": "text", "text": PROMPT}
    assert result["sizes"][2] == 1
    assert result["warnings"] == []
    said = [each.content for each in memory.messages(scope=Scope())]
    assert said == [PROMPT, "À Nantes.", "Merci", "À Nantes."]


def test_opencode_says_how_a_session_starts(tmp_path: Path) -> None:
    told = tmp_path / "told"
    command = program(tmp_path / "hippocampe", f"cat >> {told}; echo >> {told}")
    again = [("ses_1", each) for each in ("Deux", "compacted", "Trois", "restarted", "Quatre")]
    opencode(command, ("ses_1", "Un"), *again, ("ses_2", "Cinq"))
    events = [json.loads(line) for line in told.read_text("utf-8").splitlines()]
    assert [each["source"] for each in events if "source" in each] == [
        "startup",
        "compact",
        "resume",
        "startup",
    ]


def test_opencode_warns_once(tmp_path: Path) -> None:
    command = program(tmp_path / "hippocampe", "cat > /dev/null; echo hippocampe: Éteint. >&2")
    warnings = ["hippocampe: Éteint."] * 2  # In the log, and on the screen.
    assert opencode(command, ("ses_1", "Un"))["warnings"] == warnings
    command.unlink()
    log, shown = opencode(command, ("ses_1", "Un"))["warnings"]
    assert log == shown
    assert "cannot be started (ENOENT)" in shown
