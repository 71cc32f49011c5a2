"""An OpenAI-compatible server for one GGUF model of the Qwen family, for `companion.py`.

    python benchmarks/model_server.py model.gguf [--port 8080] [--threads 1] [--free]

Needs Python 3.12 and the package `inferna`, whose own server has no tools. Serves
`/v1/chat/completions` with tools, streamed or not, one request at a time. When a tool is required, a grammar
admits only calls with valid arguments, as in llama.cpp's server; with `--free` nothing is enforced, as in
Ollama.
"""

import argparse
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

from inferna._internal.structured import CompiledResponseFormat
from inferna.api import LLM, GenerationConfig
from inferna.utils.json_schema_to_grammar import json_schema_to_grammar

CONTEXT = 8_192
"""Tokens of prompt and answer together."""
MAX_TOKENS = 256
"""Tokens of one answer: a small model may repeat itself without an end."""
PENALTY = 1.1
"""As the model's makers advise: without, a small model repeats a sentence without an end."""
SLOTS = 3
"""Prompts whose start stays read, so that modes and languages can alternate."""
REUSED = 0.6
"""Share of a prompt that a slot must have read to be used for it."""
CALL, END = "<tool_call>", "</tool_call>"
TOOLS = """

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{tools}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""
"""As in the chat template of Qwen2.5."""


def text_of(content: object) -> str:
    """The text of a message, which may come in parts."""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content if isinstance(content, str) else ""


def rendered(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> str:
    """The prompt, by the chat template of Qwen2.5."""
    system = [text_of(each["content"]) for each in messages if each["role"] in SYSTEM]
    first = "\n\n".join(system)
    if tools:
        first += TOOLS.format(tools="\n".join(json.dumps(t, ensure_ascii=False) for t in tools))
    turns = [("system", first)] if first else []
    for message in messages:
        if message["role"] in SYSTEM:
            continue
        role, text = message["role"], text_of(message.get("content"))
        if role == "tool":
            role, text = "user", f"<tool_response>\n{text}\n</tool_response>"
        for call in message.get("tool_calls") or []:
            function = call["function"]
            said = f'{{"name": "{function["name"]}", "arguments": {function["arguments"]}}}'
            text = f"{text}\n{CALL}\n{said}\n{END}".lstrip()
        if turns and turns[-1][0] == role == "user":
            turns[-1] = (role, f"{turns[-1][1]}\n{text}")
        else:
            turns.append((role, text))
    said = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
    return said + "<|im_start|>assistant\n"


SYSTEM = ("system", "developer")


def inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """A JSON schema without references, names and texts."""
    if isinstance(schema, list):
        return [inlined(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    definitions = schema.get("$defs", definitions)
    if reference := schema.get("$ref"):
        return inlined(definitions[reference.rpartition("/")[2]], definitions)
    left_out = ("$defs", "title", "description", "default") if "type" in schema else ("$defs",)
    return {
        name: {of: inlined(each, definitions) for of, each in value.items()}
        if name == "properties"
        else inlined(value, definitions)
        for name, value in schema.items()
        if name not in left_out
    }


def one_call(tools: list[dict[str, Any]]) -> dict[str, Any]:
    """The schema of a call of one of the tools."""
    calls = [
        {
            "type": "object",
            "properties": {
                "name": {"const": tool["function"]["name"]},
                "arguments": inlined(tool["function"]["parameters"], {}),
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    return calls[0] if len(calls) == 1 else {"oneOf": calls}


def called(text: str) -> tuple[str, list[dict[str, Any]]]:
    """The text before the calls, and the calls. What cannot be read as a call remains text."""
    before, *rest = text.split(CALL)
    calls: list[dict[str, Any]] = []
    for part in rest:
        try:
            call, _ = json.JSONDecoder().raw_decode(part.partition(END)[0].strip())
            arguments = json.dumps(call["arguments"], ensure_ascii=False)
            function = {"name": str(call["name"]), "arguments": arguments}
        except (ValueError, KeyError, TypeError):
            before += part
            continue
        calls.append({"id": f"call_{uuid4().hex}", "type": "function", "function": function})
    return before.strip(), calls


class Served:
    """The model behind the server."""

    def __init__(self, path: Path, threads: int, free: bool, show: bool = False) -> None:
        self.name, self.free, self.show, self.lock = path.stem, free, show, Lock()
        self.settings = {
            "temperature": 0.0,
            "repeat_penalty": PENALTY,
            "n_ctx": CONTEXT,
            "n_batch": 512,
        }
        self.threads = threads
        config = GenerationConfig(**self.settings)
        self.slots = [(LLM(str(path), config=config), "") for _ in range(SLOTS)]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The choice and the usage for a request."""
        tools = request.get("tools") or []
        prompt = rendered(request["messages"], tools)
        required = tools and request.get("tool_choice") not in (None, "auto", "none")
        wanted: CompiledResponseFormat | None = None
        if required and not self.free:
            prompt += f"{CALL}\n"
            schema = one_call(chosen(tools, request["tool_choice"]))
            # Not by response_format=, which sorts the fields of the answer: the name must come first.
            wanted = CompiledResponseFormat(json_schema_to_grammar(schema), "root", json.loads)
        limit = request.get("max_completion_tokens") or request.get("max_tokens") or MAX_TOKENS
        config = GenerationConfig(**self.settings, max_tokens=min(limit, MAX_TOKENS))
        with self.lock:
            text = "".join(self.generated(prompt, config, wanted))
        if self.show:
            print(text, flush=True)
        if wanted:
            text = f"{CALL}\n{text}"
        count = self.slots[0][0].vocab.tokenize
        inputs = len(count(prompt, add_special=False, parse_special=True))
        outputs = len(count(text, add_special=False, parse_special=True))
        said, calls = called(text)
        message = {"role": "assistant", "content": said or None}
        if calls:
            message["tool_calls"] = calls
        return {
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": "tool_calls" if calls else "stop",
                }
            ],
            "usage": {
                "prompt_tokens": inputs,
                "completion_tokens": outputs,
                "total_tokens": inputs + outputs,
            },
        }

    def generated(
        self, prompt: str, config: GenerationConfig, wanted: CompiledResponseFormat | None
    ) -> Iterator[str]:
        """The text, by the slot that has read most of the prompt, or else the one unused for longest."""
        shared = [alike(prompt, read) for _, read in self.slots]
        best = max(range(SLOTS), key=shared.__getitem__)
        llm, _ = self.slots.pop(best if shared[best] > len(prompt) * REUSED else 0)
        self.slots.append((llm, prompt))
        llm._ensure_context(0, config).set_n_threads(self.threads, self.threads)
        yield from llm._generate_stream(prompt, config, _compiled_format=wanted)


def alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def chosen(tools: list[dict[str, Any]], choice: object) -> list[dict[str, Any]]:
    """The tools that a choice admits."""
    if isinstance(choice, dict) and "function" in choice:
        return [tool for tool in tools if tool["function"]["name"] == choice["function"]["name"]]
    return tools


def chunks(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An answer as a stream; the arguments of calls come in pieces."""
    choice = answer["choices"][0]
    message = choice["message"]
    yield delta({"role": "assistant", "content": message["content"]})
    for index, call in enumerate(message.get("tool_calls", [])):
        arguments = call["function"]["arguments"]
        started = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        yield delta({"tool_calls": [started]})
        for at in range(0, len(arguments), 20):
            piece = {"index": index, "function": {"arguments": arguments[at : at + 20]}}
            yield delta({"tool_calls": [piece]})
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {"choices": [], "usage": answer["usage"]}


def delta(given: dict[str, Any]) -> dict[str, Any]:
    """One piece of a stream."""
    return {"choices": [{"index": 0, "delta": given, "finish_reason": None}]}


class Handler(BaseHTTPRequestHandler):
    """`POST /v1/chat/completions` and `GET /v1/models`."""

    served: Served

    def do_GET(self) -> None:
        """The name of the model."""
        self.send(json.dumps({"object": "list", "data": [{"id": self.served.name}]}))

    def do_POST(self) -> None:
        """One answer."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.served.answer(request)
        head = {
            "id": uuid4().hex,
            "created": int(time.time()),
            "model": self.served.name,
        }
        if not request.get("stream"):
            self.send(json.dumps({**head, "object": "chat.completion", **answer}))
            return
        parts = [{**head, "object": "chat.completion.chunk", **each} for each in chunks(answer)]
        lines = [f"data: {json.dumps(each, ensure_ascii=False)}\n\n" for each in parts]
        self.send("".join([*lines, "data: [DONE]\n\n"]), "text/event-stream")

    def send(self, text: str, kind: str = "application/json") -> None:
        """Answer with a text."""
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: requests have the text of conversations."""


def main() -> None:
    """Serve until it is stopped."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--threads", type=int, default=1, help="fewer than the idle cores")
    parser.add_argument("--free", action="store_true", help="enforce no form of the answer")
    parser.add_argument("--show", action="store_true", help="print what the model writes")
    options = parser.parse_args()
    Handler.served = Served(options.model, options.threads, options.free, options.show)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    print(f"HIPPOCAMPE_MODEL=openai-chat:{options.model.stem}", flush=True)
    print(f"OPENAI_BASE_URL=http://127.0.0.1:{options.port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
