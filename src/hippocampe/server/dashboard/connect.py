"""The ways into this memory, each with lines to copy: commands, Python, HTTP, MCP, the proxy, hooks."""

import json
import os
import shlex
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from hippocampe.language.i18n import translate
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Visit
from hippocampe.system.command_line import install_line
from hippocampe.types import Scope

router = page_router()
UPSTREAM = "http://127.0.0.1:11434/v1"
"""The example of an upstream: Ollama, which needs no key."""
HOOKS = {"SessionStart": "session-start", "UserPromptSubmit": "prompt-submit", "Stop": "stop"}
"""The commands of `hook` by the event of a coding agent."""
HOOK_SECONDS = 15


@router.get("/connect")
async def connect(page: ReadPage) -> Response:
    """The lines for programs of all kinds."""
    return page.render("connect.html", **doors(page))


def doors(page: Visit) -> dict[str, Any]:
    """The lines of the page by template variable."""
    config = page.hippo.sync.config
    # With plain spaces, since it is typed.
    question = translate("Where does David live?", page.language)
    return {
        "hooks": json.dumps({"hooks": _hooks(page)}, indent=2, ensure_ascii=False),
        "proxied": (config.upstream_url or config.upstream_anthropic_url) is not None,
        "anthropic_only": config.upstream_url is None,
        "upstream": UPSTREAM,
        "question": question,
        "call": _call(page, question),
        "companion": None if find_spec("pydantic_ai") else install_line("companion"),
    }


def vault_lines(page: Visit) -> list[str]:
    """The line that starts a server which reads the notes of a vault."""
    # The method of Path raises where there is no home.
    vault = os.path.expanduser("~/vault")  # noqa: PTH111
    return [page.serving("notes_folder", vault)]


def _call(page: Visit, question: str) -> str:
    """A request that asks."""
    space = (
        "" if page.scope.space == Scope().space else f"?{urlencode({'space': page.scope.space})}"
    )
    headers = ["Content-Type: application/json"]
    if page.key is not None:
        headers.append("Authorization: Bearer hippo_…")
    body = json.dumps({"query": question}, ensure_ascii=False)
    named = [each for header in headers for each in ("-H", header)]
    return shlex.join(["curl", f"{page.address}/api/recall{space}", *named, "-d", body])


def _hooks(page: Visit) -> dict[str, Any]:
    def hook(name: str) -> dict[str, Any]:
        return {
            "type": "command",
            "command": page.command("hook", name),
            "timeout": HOOK_SECONDS,
        }

    return {event: [{"hooks": [hook(name)]}] for event, name in HOOKS.items()}
