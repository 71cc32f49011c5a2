"""The Vercel AI SDK: the code of its page, run by Node.js before a real server and a scripted model."""

import json
import re
from pathlib import Path

import pytest

from conftest import Opener
from hippocampe import Scope
from hosting import ROOT, check_prefix, run_node
from missing import missing
from model_server import Answer, Call, ModelRequest, ModelServer
from proxying import FACT, QUESTION, knowing, stored
from served import served

MODULES = ROOT / "tests" / "node" / "node_modules"
TALK = """
const messages = []
for (const text of process.argv.slice(2)) {
  messages.push({ id: text, role: "user", parts: [{ type: "text", text }] })
  const body = JSON.stringify({ id: "chat-17", messages })
  const sent = await answer(new Request("http://site", { method: "POST", body }), "Zoé")
  const deltas = (await sent.text()).matchAll(/"delta":"(.*?)"/g)
  const reply = [...deltas].map((each) => each[1]).join("")
  messages.push({ id: `answer to ${text}`, role: "assistant", parts: [{ type: "text", text: reply }] })
}
console.log(JSON.stringify([...messages.map((each) => each.parts[0].text), await ask("Cherche", "Zoé")]))
"""


def brain(request: ModelRequest) -> Answer:
    """A model that searches the memory where it has the tool."""
    if request.tools and not request.results:
        return Answer(calls=(Call("memory__search", {"query": QUESTION}),))
    return Answer("Il boit du thé." if request.tools else "Du thé vert.")


def test_the_page(
    hashed: None,
    open_hippo: Opener,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    if not (MODULES / "@ai-sdk" / "mcp").is_dir():
        missing("the Vercel AI SDK (make clients)")
    server.brain = brain
    memory = knowing(open_hippo, server, monkeypatch)
    key = memory.create_key(scope=Scope(), role="write").secret
    page = (ROOT / "docs" / "integrations" / "vercel-ai.md").read_text("utf-8")
    code = "\n".join(re.findall(r"```js\n(.*?)```", page, re.S))
    (tmp_path / "node_modules").symlink_to(MODULES)
    said = (QUESTION, "Et le soir ?", "Merci")
    with served(memory, loopback=False) as url:
        script = tmp_path / "page.mjs"
        script.write_text(code.replace("http://127.0.0.1:8765", url) + TALK, "utf-8")
        done = run_node(script, *said, env={"HIPPOCAMPE_KEY": key})
    replied = [each for text in said for each in (text, "Du thé vert.")]
    assert json.loads(done.stdout) == [*replied, "Il boit du thé."]
    *talk, _, last = server.requests
    assert all(FACT in each.messages[0].text for each in talk)
    check_prefix([each.body for each in talk])
    assert last.protocol == "anthropic"
    assert FACT in last.results[0].text
    assert stored(memory, 8)[:6] == replied
    assert {each.author for each in memory.messages(scope=Scope()) if each.role == "user"} == {
        "Zoé"
    }
