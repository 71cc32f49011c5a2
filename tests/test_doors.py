"""From a new folder to a memory that answers, by each door of README, with the lines that its pages give to copy."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from children import interpreter, stopping
from model_server import Answer, Call, ModelRequest, ModelServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="lines of a POSIX shell")
MOST_SECONDS = 60
"""Seconds for a door on a busy machine; the promise of README is five minutes with reading."""
CHAT = (
    "12/01/2026, 10:23 - Nina: Le voilier est amarré à Trentemoult\n"
    "12/01/2026, 10:24 - Owen: Et la clé est sous le pot bleu\n"
)
ASK = """
from openai import OpenAI
said = OpenAI().chat.completions.create(
    model="m", messages=[{"role": "user", "content": "Where does David live?"}], user="paul"
)
print(said.choices[0].message.content)
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
SEARCH = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "memory__search", "arguments": {"query": "Where does David live?"}},
}


@contextmanager
def started(line: str, elsewhere: Path) -> Iterator[str]:
    """A server that a line of a shell starts, and its address."""
    with running(line, elsewhere) as (_, printed):
        said = next(printed)
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found, said
        yield found[0]


@contextmanager
def running(line: str, elsewhere: Path) -> Iterator[tuple[IO[str], IO[str]]]:
    """What a line of a shell starts, until the end of the block: what it reads and what it prints."""
    with subprocess.Popen(
        f"exec {line}",
        shell=True,
        cwd=elsewhere,
        env=bare(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield process.stdin, process.stdout
        finally:
            process.terminate()


def bare() -> dict[str, str]:
    """The environment of a shell that does not know this installation."""
    own = str(Path(sys.executable).parent)
    path = [each for each in os.environ["PATH"].split(os.pathsep) if each != own]
    return {**os.environ, "PATH": os.pathsep.join(path)}


def lines(address: str, page: str) -> list[str]:
    """What a page gives to copy."""
    shown = httpx.get(address + page, headers={"Accept-Language": "en"}, timeout=60).text
    return [html.unescape(each) for each in re.findall(r'data-copy="([^"]*)"', shown)]


def the(found: list[str], part: str) -> str:
    (one,) = [each for each in found if part in each]
    return one


def typed(line: str, elsewhere: Path, said: str = "") -> str:
    """What a shell prints for a line, in a folder of no importance."""
    begun = time.monotonic()
    done = subprocess.run(
        line,
        shell=True,
        cwd=elsewhere,
        env=bare(),
        input=said,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    print(f"{time.monotonic() - begun:5.1f} s  {line.splitlines()[0][:100]}")
    assert done.returncode == 0, (line, done.stderr)
    return done.stdout


def companion(request: ModelRequest) -> Answer:
    """The answers of a model to a companion, which speaks by a tool."""
    if any(tool.name == "respond" for tool in request.tools):
        said = {"expression": "happy", "message": "In Toulouse."}
        return Answer(calls=(Call("respond", said),))
    return Answer(calls=(Call("answer", {"statements": []}),))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of a memory; the process that a program started for it ends with the test."""
    with stopping(tmp_path / "my memory"):
        yield tmp_path / "my memory"


def test_each_door_from_a_new_folder(folder: Path, tmp_path: Path) -> None:
    # Lines to copy name the interpreter that printed them: this one, which starts in no time.
    python = interpreter(tmp_path / "bin" / "python")
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    (elsewhere / "chat.txt").write_text(CHAT, "utf-8")
    first = f"{python} -m hippocampe serve --port 0 --folder '{folder}'"
    with started(first, elsewhere) as address:
        # A busy machine needs more than the deadline of a turn.
        patience = {"hook_timeout_ms": 10_000}
        httpx.patch(f"{address}/api/memory/settings", json=patience, timeout=60).raise_for_status()
        begin = lines(address, "/overview")
        typed(the(begin, " import "), elsewhere)
        overview = httpx.get(address + "/overview", timeout=60).text
        assert "Trentemoult" in overview or "remembers nothing yet" not in overview
        given = lines(address, "/connect")
        assert the(begin, " mcp ") == the(given, " mcp ")
        typed(the(given, " remember "), elsewhere)
        assert "Toulouse" in typed(the(given, " recall "), elsewhere)
        program = the(given, "import Hippocampe")
        assert "Toulouse" in typed(f"'{python}' -", elsewhere, program)
        if shutil.which("curl"):
            assert "Toulouse" in typed(the(given, "curl"), elsewhere)
        with running(the(given, " mcp "), elsewhere) as (requests, answers):
            requests.writelines(json.dumps(each) + "\n" for each in (INITIALIZE, READY, SEARCH))
            requests.flush()
            assert json.loads(next(answers))["id"] == 1
            assert "Toulouse" in next(answers)
        hooks: dict[str, Any] = json.loads(the(given, "UserPromptSubmit"))["hooks"]
        hook = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
        event = {
            "hook_event_name": "UserPromptSubmit",
            "cwd": str(elsewhere),
            "prompt": "Where does David live?",
        }
        assert "Toulouse" in typed(hook, elsewhere, json.dumps(event))
        chat = the(given, " chat ")
        serve = the(given, " serve ")
        assert serve == the(begin, " serve ")
    with ModelServer() as model:
        model.say("In Toulouse.")
        line = re.sub(r"upstream_url=\S+", f"upstream_url={model.openai_url}", serve)
        with started(line, elsewhere) as address:
            export = the(lines(address, "/connect"), "OPENAI_BASE_URL")
            said = typed(f"{export} && '{python}' -", elsewhere, ASK)
        assert said == "In Toulouse.\n"
        assert "David moved to Toulouse" in str(model.requests[-1])
    with ModelServer() as model:
        model.brain = companion
        # The last of the three ways to a model, as the chat without one shows it.
        ways = [each.strip() for each in typed(f"{chat} 2>&1 || true", elsewhere).splitlines()]
        name, server, key = [each for each in ways if each.startswith("export ")][-3:]
        named = [name.replace("NAME", "m"), server.replace("https://…", model.openai_url)]
        unfilled = typed(" && ".join([*named, key, f"{chat} 2>&1"]), elsewhere, "Hello\n")
        assert "error: the key of the model cannot be sent" in unfilled
        line = " && ".join([*named, key.replace("…", "sk-1"), chat])
        said = typed(line, elsewhere, "Where does David live?\n/why\n")
        assert "› In Toulouse." in said
        assert re.search(r"\d\.\d\d .+Toulouse", said)
        assert "Toulouse" in str(model.requests[0])
