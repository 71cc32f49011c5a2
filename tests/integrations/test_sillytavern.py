"""The extension of SillyTavern in a real browser, on an origin that the server lists."""

import json
import shutil
from pathlib import Path
from typing import Any

from conftest import Opener
from hippocampe import Scope
from hosting import ROOT
from served import served
from site_of_files import site

EXTENSION = ROOT / "integrations" / "sillytavern"
PAGE = """<!doctype html><title>SillyTavern</title><div id="extensions_settings2"></div>
<script>
const listeners = {}
const state = {
  chatId: "Eko - 2026", name1: "Paul", name2: "Eko", chat: [], extensionSettings: {}, saved: 0,
  saveSettingsDebounced: () => state.saved++,
  eventSource: { on: (name, listener) => (listeners[name] = listener) },
  event_types: { MESSAGE_RECEIVED: "message_received" },
}
globalThis.SillyTavern = { getContext: () => state }
let sent = 0
async function generate(said, type = "normal") {
  state.chat.push({ is_user: true, name: "Paul", mes: said, send_date: String(sent++) })
  const messages = [...state.chat]
  await hippocampeInterceptor(messages, 8192, () => {}, type)
  state.chat.push({ is_user: false, name: "Eko", mes: `Answer to ${said}`, swipe_id: 0, send_date: String(sent++) })
  await listeners.message_received(state.chat.length - 1, type)
  return messages.map((each) => each.mes)
}
</script>
<script type="module" src="index.js"></script>"""


def test_a_character_remembers(
    hashed: None, open_hippo: Opener, tmp_path: Path, chromium: Any
) -> None:
    folder = tmp_path / "site"
    shutil.copytree(EXTENSION, folder)
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    with site(folder) as origin:
        memory = open_hippo(embedder="hashed:64", allowed_origins=(origin,))
        paul = Scope(user="Paul")
        memory.update_settings(scope=paul, hook_timeout_ms=10_000)
        memory.before_turn(
            "Bonjour", scope=paul
        )  # loads the models: the page waits five seconds only
        memory.remember("Paul boit du thé vert", type="identity", scope=paul)
        secret = memory.create_key(scope=Scope(), role="write").secret
        with served(memory, loopback=True) as url:
            page = chromium.new_page()
            page.goto(origin)
            page.wait_for_function("globalThis.hippocampeInterceptor !== undefined")
            # Without a key nothing is read, and the generation goes on.
            page.fill("input[name=hippocampe_url]", url)
            assert page.evaluate("generate('Bonjour')") == ["Bonjour"]
            page.fill("input[name=hippocampe_key]", secret)
            page.dispatch_event("input[name=hippocampe_key]", "change")
            first = page.evaluate("generate('Que boit Paul ?')")
            second = page.evaluate("generate('Merci')")
            swipe = "Object.assign(state.chat.at(-1), { mes: 'Avec plaisir', send_date: 'later' })"
            page.evaluate(swipe)
            page.evaluate("listeners.message_received(state.chat.length - 1, 'swipe')")
            quiet = page.evaluate("generate('Résume', 'quiet')")
            kept = page.evaluate("state.chat.map((each) => each.mes)")
            # Another exchange in the place of a deleted one is stored; the message of a command is not.
            page.evaluate("state.chat.splice(-2)")
            page.evaluate("generate('Je pars à Lyon')")
            page.evaluate("generate('Par une commande', 'command')")
            classes = page.locator("input[name=hippocampe_url]").get_attribute("class")
            # A page that was loaded again has lost what it was given.
            chat = page.evaluate("state.chat")
            page.reload()
            page.wait_for_function("globalThis.hippocampeInterceptor !== undefined")
            page.fill("input[name=hippocampe_url]", url)
            page.dispatch_event("input[name=hippocampe_url]", "change")
            page.fill("input[name=hippocampe_key]", secret)
            page.dispatch_event("input[name=hippocampe_key]", "change")
            page.evaluate("(chat) => { state.chat = chat; sent = 100 }", chat)
            again = page.evaluate("generate('Dis-moi ce que boit Paul')")
            page.close()
    assert "Paul boit du thé vert" in first[-1]
    assert first[-1].endswith("Que boit Paul ?")
    assert second[: len(first)] == first, "earlier injections stay where they were"
    assert not any("hippocampe-memory" in each for each in (*quiet, *kept))
    said = [(each.author, each.content) for each in memory.messages(scope=Scope())]
    assert said[:2] == [("Paul", "Que boit Paul ?"), ("Eko", "Answer to Que boit Paul ?")]
    contents = [content for _, content in said]
    assert said[2:4] == [("Paul", "Merci"), ("Eko", "Avec plaisir")]
    assert "Answer to Je pars à Lyon" in contents
    assert "Answer to Par une commande" not in contents
    assert classes == "text_pole"
    assert "Paul boit du thé vert" in again[-1]
    assert {each.channel for each in memory.messages(scope=Scope())} == {"Eko - 2026"}


def test_the_manifest_names_the_interceptor() -> None:
    manifest = json.loads((EXTENSION / "manifest.json").read_text("utf-8"))
    source = (EXTENSION / manifest["js"]).read_text("utf-8")
    assert f"globalThis.{manifest['generate_interceptor']} = async" in source
