"""The Gemini CLI itself, with the hooks of the documentation and a scripted model."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hosting import BOAT_QUESTION as PROMPT
from hosting import ROOT, check_prefix, memory_of_a_boat, run_node
from missing import missing

CLI = ROOT / "tests/node/node_modules/@google/gemini-cli/bundle/gemini.js"

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="a shell script stands for the command"
)


class Model(ThreadingHTTPServer):
    """A scripted model of the Gemini API, which always says the same.

    Attributes:
        requests: The bodies of the requests.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.requests: list[dict[str, Any]] = []


class Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert isinstance(self.server, Model)
        self.server.requests.append(body)
        content = {"role": "model", "parts": [{"text": "À Nantes."}]}
        answer = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(answer)}\r\n\r\n".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as model:
        threading.Thread(target=model.serve_forever, args=(0.02,), daemon=True).start()
        yield model
        model.shutdown()


@pytest.fixture
def memory(hashed: None, open_hippo: Opener) -> Hippocampe:
    return memory_of_a_boat(open_hippo)


def ask(prompt: str, *options: str, model: Model, folder: Path, home: Path) -> None:
    """Run the program once, as a user who has followed the page of the hooks."""
    if not CLI.exists():
        missing("the Gemini CLI (make clients)")
    page = (ROOT / "docs/hooks.md").read_text("utf-8")
    found = re.search(r"## Gemini CLI.*?```json\n(.*?)```", page, re.S)
    assert found
    hooks = json.loads(found[1])
    del hooks["hooks"][
        "SessionStart"
    ]  # Covered elsewhere; without it, a resumed session keeps its first message.
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        **hooks,
    }
    for name in (".gemini", "bin", "boat"):
        (home / name).mkdir(exist_ok=True)
    (home / ".gemini/settings.json").write_text(json.dumps(settings), "utf-8")
    command = home / "bin/hippocampe"
    script = f'#!/bin/sh\nexec {sys.executable} -m hippocampe "$@" --folder {folder}\n'
    command.write_text(script, "utf-8")
    command.chmod(0o755)
    done = run_node(
        CLI,
        *options,
        "-p",
        prompt,
        cwd=home / "boat",
        env={
            "PATH": f"{home}/bin:{os.environ['PATH']}",
            "HOME": str(home),
            "GEMINI_API_KEY": "test-key",
            "GEMINI_MODEL": "gemini-2.5-flash",
            "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{model.server_port}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        },
        stdin=subprocess.DEVNULL,
    )
    assert "hippocampe: " not in done.stderr


def test_two_conversations(memory: Hippocampe, model: Model, folder: Path, tmp_path: Path) -> None:
    ask(PROMPT, model=model, folder=folder, home=tmp_path)
    ask("Merci", "--resume", "latest", model=model, folder=folder, home=tmp_path)
    first, _ = model.requests
    assert "Nantes" in json.dumps(first["contents"])
    # The parameters are the program's own, and may differ.
    check_prefix([{"contents": each["contents"]} for each in model.requests])
    said = [each.content for each in memory.messages(scope=Scope())]
    assert said == [PROMPT, "À Nantes.", "Merci", "À Nantes."]
