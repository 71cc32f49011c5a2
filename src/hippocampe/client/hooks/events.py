"""Answer the events of a coding agent."""

import json
import os
import sys

from hippocampe.client.hooks.client import HookFailed, call
from hippocampe.client.hooks.options import Options, parse
from hippocampe.client.hooks.transcript import is_object, last_exchange
from hippocampe.language.fence import fenced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MOST_BYTES = 8 * 2**20


def run(typed: "Sequence[str]") -> bool:
    """Execute a command line after `hook`; False if it is not one: then help is due.

    The exit code of an event is always 0: an agent takes a failing hook for a refusal.
    """
    if not typed or typed[0] not in EVENTS or "--help" in typed or "-h" in typed:
        return False
    options = parse(typed[1:])
    if options is None:
        _warn("the options cannot be used: see hippocampe hook --help.")
    else:
        answer(typed[0], options)
    return True


def answer(event: str, options: Options) -> None:
    """Read the event from standard input and print the answer."""
    try:
        if options.ambiguous:
            raise HookFailed(
                "both a folder and HIPPOCAMPE_URL are given, and they may hold different memories: leave one "
                "out."
            )
        payload = _read()
        if context := fenced(EVENTS[event](payload, options)):
            name = payload.get("hook_event_name") or DEFAULT_NAMES[event]
            output = {"hookEventName": name, "additionalContext": context}
            print(json.dumps({"hookSpecificOutput": output}))
    except HookFailed as exc:
        _warn(str(exc))
    except (OSError, ValueError, KeyError, TypeError) as exc:
        # Only the kind of error, never text of the user.
        _warn(f"{event} failed ({type(exc).__name__}): run hippocampe doctor.")


def _prompt_submit(payload: "dict[str, Any]", options: Options) -> str:
    prompt = _prompt(payload)
    if not prompt:
        return ""
    channel = options.channel_of(_project(payload))
    return call(options, channel, "before_turn", "text", {"message": prompt})


def _session_start(payload: "dict[str, Any]", options: Options) -> str:
    channel = options.channel_of(_project(payload))
    # Injections before a new or compacted context are no longer in it.
    body = {"message": channel, "fresh": payload.get("source") != "resume"}
    return call(options, channel, "before_turn", "text", body)


def _stop(payload: "dict[str, Any]", options: Options) -> str:
    id, prompt, reply = _given(payload) or _read_exchange(payload)
    reply = str(payload.get("last_assistant_message") or "").strip() or reply
    exchange = {
        "user_message": prompt,
        "reply": reply,
        "external_id": f"{payload.get('session_id')}:{id}",
    }
    call(options, options.channel_of(_project(payload)), "after_turn", "", exchange)
    return ""


def _given(payload: "dict[str, Any]") -> "tuple[str, str, str | None] | None":
    """The exchange that the event itself has, as that of the Gemini CLI."""
    prompt = _prompt(payload)
    reply = str(payload.get("prompt_response") or "").strip()
    return (str(payload.get("timestamp")), prompt, reply) if prompt and reply else None


def _prompt(payload: "dict[str, Any]") -> str:
    """The prompt of the user, without the context of the session's start that the Gemini CLI puts before it."""
    prompt = str(payload.get("prompt") or "").strip()
    if prompt.startswith("<hook_context>"):
        # It escapes the tags inside, so that the first closing tag is its own.
        _, closing, rest = prompt.partition("</hook_context>")
        return rest.strip() if closing else prompt
    return prompt


def _read_exchange(payload: "dict[str, Any]") -> tuple[str, str, str | None]:
    path = payload.get("transcript_path")
    if not path:
        raise HookFailed("the agent named no transcript: nothing was stored.")
    try:
        found = last_exchange(str(path))
    except OSError as exc:
        raise HookFailed(
            f"the transcript that the agent named cannot be read ({exc.strerror}): nothing was stored."
        ) from exc
    if found is None:
        raise HookFailed(
            "the transcript has no prompt that this version can read: nothing was stored."
        )
    return found


EVENTS = {"prompt-submit": _prompt_submit, "session-start": _session_start, "stop": _stop}
DEFAULT_NAMES = {"prompt-submit": "UserPromptSubmit", "session-start": "SessionStart"}


def _read() -> "dict[str, Any]":
    try:
        payload = json.loads(sys.stdin.buffer.read(MOST_BYTES))
    except ValueError:
        payload = None
    if not is_object(payload):
        raise HookFailed(
            "standard input is not the JSON object that an agent gives its hooks: let the agent run this command."
        )
    return payload


def _project(payload: "dict[str, Any]") -> str:
    named = os.environ.get("CLAUDE_PROJECT_DIR") or os.environ.get("GEMINI_PROJECT_DIR")
    return named or str(payload.get("cwd") or os.getcwd())


def _warn(message: str) -> None:
    print(f"hippocampe: {message}", file=sys.stderr)
