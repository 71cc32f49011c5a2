"""How a language model uses memory as the companion, and in extraction.

    HIPPOCAMPE_MODEL=openai-chat:NAME OPENAI_BASE_URL=URL OPENAI_API_KEY=any python benchmarks/companion.py
        [--modes agentic hybrid systematic] [--tasks "ask" ...] [--show] [--out results.json]

Plays short conversations (`data/companion.toml`), each in a space of its own, in each mode of the companion. The
model and its server are those of the environment, as for a user. Background extraction is off in conversations;
exchanges are extracted by call.
"""

import json
import re
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import common
from hippocampe import Config, Hippocampe, Scope
from hippocampe.companion import Companion, Reply, TextStreamed, ToolCalled, ToolReturned
from hippocampe.errors import InvalidAnswer, ModelUnavailable
from hippocampe.types import Memory

DATA = Path(__file__).parent / "data" / "companion.toml"
MODES = ("agentic", "hybrid", "systematic")
TIMEOUT = 600.0
"""Seconds for one request: a model on two cores reads 30 tokens a second."""
PATIENCE = 10_000
"""Milliseconds for an injection, which must not be dropped because the model uses the machine."""
REFUSED = '{"error"'
"""How the answer to a call with wrong arguments begins, by Pydantic AI."""
FIGURES = (
    *("steps", "passed", "responded", "requests", "tool calls", "refused calls", "errors"),
    *("tools wanted", "right tool", "facts", "facts stored", "wrong memories"),
    *("nothing to store", "nothing stored", "passing", "passing stored with an end"),
    *("to remove", "removed", "questions", "right answers"),
    *("milliseconds", "input tokens", "output tokens"),
)
Show = Callable[[str], None]
Counts = Counter[str]


def current(hippo: Hippocampe, space: str) -> dict[str, Memory]:
    """The memories of a space."""
    return {each.id: each for each in hippo.memories(scope=Scope(space), limit=50).items}


def says(pattern: str, text: str) -> bool:
    """Whether a text has what is wanted."""
    return re.search(pattern, text, re.IGNORECASE) is not None


def play(
    hippo: Hippocampe, conversation: dict[str, Any], mode: str, space: str, show: Show
) -> Iterator[Counts]:
    """The measurements of each step of a conversation."""
    language = conversation["language"]
    hippo.update_settings(
        scope=Scope(space), companion_mode=mode, language=language, hook_timeout_ms=PATIENCE
    )
    for planted in conversation.get("planted", []):
        user = None if "collection" in planted else conversation["user"]
        hippo.remember(**planted, scope=Scope(space, user=user))
    with Companion(hippo) as companion:
        for step in conversation["steps"]:
            yield measured(hippo, companion, conversation["user"], step, mode, space, show)


def measured(
    hippo: Hippocampe,
    companion: Companion,
    user: str,
    step: dict[str, Any],
    mode: str,
    space: str,
    show: Show,
) -> Counts:
    """The measurements of one step."""
    found: Counts = Counter(steps=1)
    before, started = current(hippo, space), time.perf_counter()
    called, reply = list[str](), Reply("", "", complete=False)
    show(f"\n[{mode}] {user}: {step['say']}")
    stream = companion.stream(
        step["say"], user=user, channel=step.get("channel", "lobby"), space=space
    )
    try:
        for event in stream:
            if isinstance(event, ToolCalled):
                called.append(event.name)
                show(f"  {event.name} {json.dumps(event.arguments, ensure_ascii=False)}")
            elif isinstance(event, ToolReturned):
                found["refused calls"] += event.text.startswith(REFUSED)
                show(f"    → {event.text}")
            elif not isinstance(event, TextStreamed):
                reply = event
    except ModelUnavailable as exc:
        found["errors"] += 1
        show(f"  {exc}")
    found["milliseconds"] = round((time.perf_counter() - started) * 1000)
    after = current(hippo, space)
    new = [each for id, each in after.items() if id not in before]
    show(f"  = {reply.message!r} complete={reply.complete}; {reply.usage}")
    for each in new:
        show(f"  + [{each.collection}] {each.content} (until {each.expires_at})")
    found += judged(step, reply, called, new, list(after.values()), mode)
    found["responded"] = reply.complete
    found["tool calls"] = len(called)
    found["requests"] = reply.usage.turns
    found["input tokens"] = reply.usage.input_tokens
    found["output tokens"] = reply.usage.output_tokens
    return found


def judged(
    step: dict[str, Any],
    reply: Reply,
    called: Sequence[str],
    new: Sequence[Memory],
    held: Sequence[Memory],
    mode: str,
) -> Counts:
    """What a step wanted, and what it got."""
    found: Counts = Counter()
    wanted = step.get("new")
    right = [each for each in new if wanted and says(wanted, each.content)]
    found["wrong memories"] = len(new) - len(right)
    if wanted:
        found["facts"], found["facts stored"] = 1, bool(right)
    else:
        found["nothing to store"], found["nothing stored"] = 1, not new
    if step.get("passing"):
        found["passing"], found["passing stored with an end"] = 1, any(m.expires_at for m in right)
    if gone := step.get("gone"):
        found["to remove"] = 1
        found["removed"] = not any(says(gone, each.content) for each in held)
    if answer := step.get("answer"):
        found["questions"], found["right answers"] = 1, says(answer, reply.message)
    if (tool := step.get("tool")) and mode != "systematic":
        found["tools wanted"], found["right tool"] = 1, tool in called
    wants = [("facts", "facts stored"), ("to remove", "removed"), ("questions", "right answers")]
    good = all(found[got] == found[want] for want, got in wants)
    found["passed"] = good and not found["wrong memories"]
    return found


def extracted(hippo: Hippocampe, exchange: dict[str, Any], space: str, show: Show) -> Counts:
    """The measurements of the extraction of one exchange."""
    found: Counts = Counter(exchanges=1)
    hippo.update_settings(scope=Scope(space), language=exchange["language"])
    scope = Scope(space, user=exchange["user"], channel="lobby")
    turn = hippo.after_turn(exchange["say"], exchange["reply"], scope=scope)
    started = time.perf_counter()
    show(f"\n[extraction] {exchange['user']}: {exchange['say']}")
    try:
        stored = [each.memory for each in hippo.extract(turn, scope=scope).remembered]
        found["valid answers"] = 1
    except (InvalidAnswer, ModelUnavailable) as exc:
        stored = []
        show(f"  {exc}")
    found["milliseconds"] = round((time.perf_counter() - started) * 1000)
    for each in stored:
        show(f"  + [{each.type}] {each.content} (until {each.expires_at})")
    used = hippo.usage(scope=scope)
    found["input tokens"] = sum(each.input_tokens for each in used)
    found["output tokens"] = sum(each.output_tokens for each in used)
    wanted = exchange.get("new")
    right = [each for each in stored if wanted and says(wanted, each.content)]
    found["wrong memories"] = len(stored) - len(right)
    if wanted:
        found["facts"], found["facts stored"] = 1, bool(right)
    else:
        found["nothing to store"], found["nothing stored"] = 1, not stored
    return found


def run(modes: Sequence[str], tasks: Sequence[str], show: Show) -> dict[str, Any]:
    """Every conversation in every mode, then the extraction. Those of a language come together."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    conversations = sorted(data["conversation"], key=lambda each: each["language"])
    found: dict[str, Any] = {"conversations": 0, "modes": {}}
    with tempfile.TemporaryDirectory() as folder:
        config = Config(Path(folder), background=False, model_timeout=TIMEOUT)
        found["model"] = (config.model or "").rpartition("/")[2]
        with Hippocampe.open(config) as hippo:
            for mode in modes:
                by_task = defaultdict[str, Counts](Counter)
                played = [each for each in conversations if not tasks or each["task"] in tasks]
                found["conversations"] = len(played)
                for number, each in enumerate(played):
                    for step in play(hippo, each, mode, f"{mode}-{number}", show):
                        by_task[each["task"]].update(step)
                found["modes"][mode] = summed(by_task)
            if not tasks or "extraction" in tasks:
                total: Counts = Counter()
                for number, each in enumerate(
                    sorted(data["exchange"], key=lambda e: e["language"])
                ):
                    total.update(extracted(hippo, each, f"extraction-{number}", show))
                found["extraction"] = dict(total)
    return found


def summed(by_task: dict[str, Counts]) -> dict[str, Any]:
    """The sums of a mode, whole and by task."""
    whole: Counts = Counter()
    for each in by_task.values():
        whole.update(each)
    figures = {task: {name: of[name] for name in FIGURES} for task, of in by_task.items()}
    return {"whole": {name: whole[name] for name in FIGURES}, "tasks": figures}


def main() -> None:
    """Play, print and save."""
    parser = common.arguments(__doc__)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--tasks", nargs="+", default=[], help="these only, or extraction")
    parser.add_argument("--show", action="store_true", help="print the conversations")
    options = parser.parse_args()

    def show(line: str) -> None:
        if options.show:
            print(line, file=sys.stderr, flush=True)

    found = run(options.modes, options.tasks, show)
    print(json.dumps(found, indent=1))
    common.save(options.out, "companion", found)


if __name__ == "__main__":
    main()
