"""Install a wheel as people do, in an empty environment, and use what it gives: `python .ci/installed.py WHEEL [PYTHON]`.

Needs uv. The wheel is installed as a tool; then the program speaks MCP as a client starts it, and serves a demo.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def main(wheel: str, python: str | None = None) -> None:
    """Check a wheel with a Python, by default the one of uv."""
    path = str(Path(wheel).resolve())
    chosen = ["--python", python] if python else []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        tools = {"UV_TOOL_DIR": f"{folder}/tools", "UV_TOOL_BIN_DIR": f"{folder}/bin"}
        data = {"HIPPOCAMPE_FOLDER": f"{folder}/data"}
        environment = os.environ | tools | data
        started = time.monotonic()
        run(["uv", "tool", "install", "--quiet", *chosen, path], environment)
        print(f"installed in {time.monotonic() - started:.1f} s")
        program = f"{folder}/bin/hippocampe"
        print(run([program, "--version"], environment).strip())
        run([program, "remember", "David lives in Ordizan"], environment)
        found = json.loads(
            run([program, "recall", "Where does David live?", "--json"], environment)
        )
        assert found[0]["content"] == "David lives in Ordizan", found
        for line in (
            [program, "mcp"],
            ["uvx", "--quiet", *chosen, "--from", path, "hippocampe", "mcp"],
        ):
            started = time.monotonic()
            tools_of = names(line, environment)
            assert {"search_memories", "memory__search"} <= tools_of, tools_of
            print(
                f"{Path(line[0]).name} {line[-1]}: first list of tools after {time.monotonic() - started:.1f} s"
            )


def run(line: list[str], environment: dict[str, str]) -> str:
    """Run a program; return what it printed."""
    return subprocess.run(
        line, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8", timeout=600
    ).stdout


def names(line: list[str], environment: dict[str, str]) -> set[str]:
    """The tools of an MCP server over standard input and output."""
    with subprocess.Popen(
        line,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        for message in (HELLO, READY, LIST):
            server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        for answer in map(json.loads, server.stdout):
            if answer.get("id") == LIST["id"]:
                server.stdin.close()
                server.wait(timeout=60)
                return {tool["name"] for tool in answer["result"]["tools"]}
    raise AssertionError("the server ended without an answer.")


if __name__ == "__main__":
    main(*sys.argv[1:])
