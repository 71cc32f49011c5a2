"""Install a wheel as people do, in an empty environment, and use what it gives: `python .ci/installed.py WHEEL [PYTHON]`.

Uses uv and pipx, those that are there, or pip. The program remembers, shows its demo, and serves a client of MCP.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

INSTALLERS = {
    "pipx": ["pipx", "install", "--quiet"],
    "uv": ["uv", "tool", "install", "--quiet"],
}
FACT, QUESTION = "David lives in Ordizan", "Where does David live?"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "installed", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
SEARCH = {
    "jsonrpc": "2.0",
    "id": 3,
    "method": "tools/call",
    "params": {"name": "search_memories", "arguments": {"query": QUESTION}},
}


def main(wheel: str, python: str | None = None) -> None:
    """Check a wheel with a Python, by default that of each installer."""
    path = str(Path(wheel).resolve())
    chosen = ["--python", python] if python else []
    there = [name for name in INSTALLERS if shutil.which(name)]
    for name in INSTALLERS.keys() - {*there}:
        print(f"{name} is not there: the wheel is not tried with it")
    for name in there or ["pip"]:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            environment = os.environ | {
                "PIPX_HOME": f"{folder}/tools",
                "PIPX_BIN_DIR": f"{folder}/bin",
                "UV_TOOL_DIR": f"{folder}/tools",
                "UV_TOOL_BIN_DIR": f"{folder}/bin",
                "HIPPOCAMPE_FOLDER": f"{folder}/data",
            }
            started = time.monotonic()
            if name == "pip":
                run([python or sys.executable, "-m", "venv", folder], environment)
                run([f"{folder}/bin/pip", "install", "--quiet", path], environment)
            else:
                run([*INSTALLERS[name], *chosen, path], environment)
            print(f"{name}: installed in {time.monotonic() - started:.1f} s")
            program = f"{folder}/bin/hippocampe"
            use(program, environment)
            talk([program, "mcp"], environment)
            if name == "uv":
                once = ["uvx", "--quiet", *chosen, "--from", path, "hippocampe", "mcp"]
                talk(once, environment)


def use(program: str, environment: dict[str, str]) -> None:
    """Use the command line."""
    print(run([program, "--version"], environment).strip())
    run([program, "remember", FACT], environment)
    found = json.loads(run([program, "recall", QUESTION, "--json"], environment))
    assert found[0]["content"] == FACT, found
    shown = run(
        [program, "demo", "--folder", f"{environment['HIPPOCAMPE_FOLDER']}-demo"], environment
    )
    print(shown.rstrip().rpartition("\n")[2])


def talk(line: list[str], environment: dict[str, str]) -> None:
    """Be a client of the MCP server over standard input and output: list its tools, and call one."""
    started = time.monotonic()
    with subprocess.Popen(
        line, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        for message in (HELLO, READY, LIST, SEARCH):
            server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        answers = {}
        for answer in map(json.loads, server.stdout):
            answers[answer.get("id")] = answer.get("result")
            if answers.keys() >= {LIST["id"], SEARCH["id"]}:
                break
        server.stdin.close()
        server.wait(timeout=60)
    tools = {tool["name"] for tool in answers[LIST["id"]]["tools"]}
    assert {"search_memories", "memory__search"} <= tools, tools
    assert FACT in json.dumps(answers[SEARCH["id"]]), answers
    print(f"{Path(line[0]).name} mcp: answers after {time.monotonic() - started:.1f} s")


def run(line: list[str], environment: dict[str, str]) -> str:
    """Run a program; return what it printed."""
    return subprocess.run(
        line, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8", timeout=600
    ).stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
