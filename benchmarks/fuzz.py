"""Mutated exports, requests and hostile texts: what a reader, the server or the injected block does not survive.

    python benchmarks/fuzz.py [--seconds 60] [--seed 0] [--target NAME ...] [--out results.json]

Each target gets the same share of the processor time. Exports of every format are made here and mutated,
as bytes and as JSON; the block is rendered from texts made of its own grammar; streams of models are parsed whole and in
pieces; requests to each endpoint of
the server are made from its OpenAPI description, with values that it does not expect. A case fails if it ends in
another error than those of Hippocampe, takes more than `SLOW` seconds of the processor, or breaks a rule
that its target checks. A finding has the number of its case: `--target NAME --only NUMBER` runs it again.

The random mutations are those of the standard library: a seed gives the same cases on every machine and
version of Python. A fuzzer that is guided by coverage needs a compiler and an instrumented interpreter.
"""

import io
import json
import random
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote as quote_path

from starlette.testclient import TestClient

import common
from hippocampe import Config, Hippocampe, Scope, with_injection, without_injections
from hippocampe.errors import HippocampeError
from hippocampe.ingest.formats.record import Problem, TalkMessage
from hippocampe.ingest.formats.registry import read_file
from hippocampe.injection.render import render
from hippocampe.language.fence import BULLET, CLOSING, OPENING
from hippocampe.language.markers import MARK, without_injection
from hippocampe.language.sanitize import quote, quote_label
from hippocampe.language.secrets import mask
from hippocampe.server.app import create_app
from hippocampe.server.proxy.protocols import PROTOCOLS
from hippocampe.types import MAX_LABEL_CHARACTERS, MAX_MESSAGE_CHARACTERS, Memory, Recollection

SLOW = 5.0
"""Seconds of the processor that no case may take: a thousand times more than usual."""
LARGE = 0.02
"""Share of the cases that are repeated to a hundred times their size, which shows quadratic time."""
VERIFIED = 200
"""Cases after which the store and the index of the imports are compared."""
MAX_FINDINGS = 50
NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
PIECES = [
    *("<hippocampe-memory>", "</hippocampe-memory>", "< / hippocampe-memory >", "&lt;/hippocampe-memory&gt;"),
    *("\\u003c/hippocampe-memory\\u003e", "<hippo", "campe-memory>", "</HIPPOCAMPE_memory>", "hippocampe-memory"),
    *("[Mémoire : faits que tu connais]", "[Memory: facts you know]", "[INST]", "[/INST]", "[", "]", "(", ")"),
    *("• ", "‣ ", "·", "<|im_start|>", "<|im_end|>", "|>", "<", ">", "‹", "›", "＜", "＞", "〈", "〉", "［", "］"),
    *("system:", "System :", "user: ", "assistant:\n", "Human: ", "SYSTEM:", "ѕуѕtеm:", "**system**: "),
    *("```", "~~~", "`", "~", "#", "##", "### Instruction:", "<!--", "-->", "<?", "<![CDATA[", "<tool_call>"),
    *("\n", "\r\n", "\r", "\n\n", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\t", " ", "\u00a0", "\u3000"),
    *("\u200b", "\u200d", "\u202e", "\u2066", "\u00ad", "\ufeff", "\ufe0f", "\u0301", "\x00", "\x1b[2J"),
    *("\U000e0041", "\U000e0100", "\ud800", "𝗵", "а", "е", "İ", "ß", "ﬃ", "👩‍👩‍👧", "\u1160", "\u3164", "…", "."),
    *("a", "David ", "je pars", "demain", "pin 1234 ", "password is abc1! ", "12/01/2026, 10:23 - ", "http://a:b@"),
    *(": ", " = ", "/", "«", "»", "“", '"', "'", "\\", "{", "}", ",", "0", "1e999", "null", "%s", "{0}"),
]  # fmt: skip
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1e308, -0.0, 10**18, 10**40, "", " ", "\x00", "\ud800", "a" * 300, [], {}),
    *([[]], [None], {"": None}, "9" * 5_000, "2026-13-45T99:99:99", "NaN", 253402300800, -(10**12), "٣", "1e5"),
]  # fmt: skip


class Broken(Exception):
    """A rule of a target that a case breaks."""


def require(held: bool, rule: str) -> None:
    """Raise `Broken` if a rule does not hold."""
    if not held:
        raise Broken(rule)


def text(choose: random.Random, most: int = 12) -> str:
    """A text made of the pieces of the grammar."""
    made = "".join(choose.choices(PIECES, k=choose.randint(0, most)))
    return made * 100 if choose.random() < LARGE else made


# Exports


def said(choose: random.Random) -> str:
    return choose.choice(common.sentences(1, choose.randrange(10_000))) + text(choose, 3)


def jsonl(choose: random.Random) -> Any:
    return [
        {
            "content": said(choose),
            "author": choose.choice(("David", "eko")),
            "role": choose.choice(("user", "assistant", None)),
            "channel": choose.choice(("lobby", text(choose, 2), None)),
            "at": (NOW + timedelta(minutes=number)).isoformat(),
            "space": choose.choice((None, None, "fuzz")),
            "external_id": str(number),
            "reply_to": choose.choice((None, "1")),
        }
        for number in range(choose.randint(1, 6))
    ]


def whatsapp(choose: random.Random) -> str:
    stamp = choose.choice(
        ("17/01/2026, 10:{:02} - ", "[17/01/2026 à 10:{:02}:12] ", "1/17/26, 10:{:02} PM - ")
    )
    mark = choose.choice(("", "\u200e"))
    bodies = [said(choose), "<Média omis>", "IMG-1.jpg (fichier joint)", text(choose)]
    lines = (
        f"{mark}{stamp.format(minute)}{choose.choice(('David', '~ Léa', text(choose, 2)))}: "
        f"{choose.choice(bodies)}"
        for minute in range(choose.randint(1, 8))
    )
    return "\n".join(lines)


def chatgpt(choose: random.Random) -> Any:
    nodes: dict[str, Any] = {"n0": {"id": "n0", "parent": None, "children": ["n1"]}}
    for number in range(1, choose.randint(2, 6)):
        nodes[f"n{number}"] = {
            "id": f"n{number}",
            "parent": f"n{number - 1}",
            "children": [f"n{number + 1}"],
            "message": {
                "id": f"m{number}",
                "author": {"role": ("user", "assistant")[number % 2]},
                "create_time": NOW.timestamp() + number,
                "content": {"content_type": "text", "parts": [said(choose)]},
                "metadata": {},
                "recipient": "all",
            },
        }
    at = NOW.timestamp()
    return [{"title": text(choose, 2), "create_time": at, "mapping": nodes, "current_node": "n1"}]


def claude(choose: random.Random) -> Any:
    messages = [
        {
            "uuid": f"u{number}",
            "parent_message_uuid": f"u{number - 1}",
            "sender": ("human", "assistant")[number % 2],
            "text": said(choose),
            "content": [{"type": "text", "text": said(choose)}],
            "created_at": NOW.isoformat(),
        }
        for number in range(choose.randint(1, 6))
    ]
    return [
        {
            "uuid": "c",
            "name": text(choose, 2),
            "created_at": NOW.isoformat(),
            "chat_messages": messages,
        }
    ]


def telegram(choose: random.Random) -> Any:
    messages = [
        {
            "id": number,
            "type": "message",
            "date": "2026-01-17T10:23:00",
            "date_unixtime": str(int(NOW.timestamp())),
            "from": choose.choice(("David", text(choose, 2))),
            "from_id": "user1",
            "text": choose.choice(
                (said(choose), [said(choose), {"type": "bold", "text": text(choose)}])
            ),
            "reply_to_message_id": 1,
        }
        for number in range(choose.randint(1, 6))
    ]
    chat = {"name": text(choose, 2), "type": "personal_chat", "id": 42, "messages": messages}
    return chat if choose.random() < 0.5 else {"chats": {"list": [chat]}}


def archived(choose: random.Random, exported: Sequence[Any]) -> Any:
    """The header and some rows of an export of a space."""
    rows = choose.sample(exported[1:], k=min(len(exported) - 1, choose.randint(1, 8)))
    rows = json.loads(json.dumps(rows))
    for row in rows:
        if "content" in row and choose.random() < 0.5:
            row["content"] = said(choose)
    return [exported[0], *rows]


def mutated_json(choose: random.Random, value: Any) -> Any:
    """The value with one node replaced, removed or doubled."""
    inner = isinstance(value, dict | list) and value
    if not inner or choose.random() < 0.12:
        return choose.choice((choose.choice(ODD), text(choose), value, [value] * 3, {"a": value}))
    copied = value.copy()
    place = choose.choice([*copied] if isinstance(copied, dict) else range(len(copied)))
    match choose.random():
        case low if low < 0.1:
            del copied[place]
        case low if low < 0.2 and isinstance(copied, list):
            copied.insert(place, copied[choose.randrange(len(copied))])
        case low if low < 0.25 and isinstance(copied, dict):
            copied[text(choose, 2)] = choose.choice(ODD)
        case _:
            copied[place] = mutated_json(choose, copied[place])
    return copied


def mutated_bytes(choose: random.Random, content: bytes) -> bytes:
    """The bytes with a few cut, doubled, replaced or inserted."""
    for _ in range(choose.choice((0, 0, 1, 1, 2, 5))):
        start = choose.randrange(len(content) + 1)
        end = min(len(content), start + choose.choice((1, 2, 8, 64, 1_000)))
        piece = choose.choice(PIECES).encode(errors="surrogatepass")
        match choose.randrange(7):
            case 0:
                content = content[:start] + content[end:]
            case 1:
                content = (
                    content[:start] + content[start:end] * choose.randint(2, 9) + content[end:]
                )
            case 2:
                content = content[:start] + piece + content[start:]
            case 3:
                content = content[:start] + choose.randbytes(end - start) + content[end:]
            case 4:
                content = content[:start]
            case 5:
                other = choose.randrange(len(content) + 1)
                content = content[:start] + content[other : other + 500] + content[start:]
            case _:
                content = content[:start] + piece * choose.choice((10, 3_000)) + content[start:]
    if choose.random() < 0.02:
        encoding = choose.choice(("utf-16", "utf-8-sig", "latin-1"))
        content = content.decode(errors="replace").encode(encoding, errors="replace")
    return content


@dataclass
class Imports:
    """Reads mutated exports, and imports some of them."""

    folder: Path
    hippo: Hippocampe
    exported: list[Any]
    cases: int = 0
    makers: dict[str, Callable[[random.Random], Any]] = field(
        default_factory=lambda: {
            "jsonl": jsonl,
            "whatsapp": whatsapp,
            "chatgpt": chatgpt,
            "claude": claude,
            "telegram": telegram,
        }
    )

    def content(self, choose: random.Random, format: str) -> bytes:
        """A mutated export."""
        maker = self.makers.get(format, lambda choose: archived(choose, self.exported))
        value = maker(choose)
        if isinstance(value, str):
            return mutated_bytes(choose, value.encode(errors="surrogatepass"))
        for _ in range(choose.choice((0, 1, 1, 2, 4))):
            value = mutated_json(choose, value)
        ascii = choose.random() < 0.5
        if format in ("jsonl", "hippocampe") and isinstance(value, list):
            written = "\n".join(json.dumps(each, ensure_ascii=ascii) for each in value)
        else:
            written = json.dumps(value, ensure_ascii=ascii, indent=choose.choice((None, 1)))
        return mutated_bytes(choose, written.encode(errors="surrogatepass"))

    def run(self, choose: random.Random, format: str) -> None:
        """Read one export twice; import it if it is an archive, and now and then any."""
        named = choose.choice((format, None))
        if format == "zip":
            format = choose.choice([*self.makers])
            named = choose.choice((format, None))
            path = self._zipped(choose, format)
        else:
            path = self.folder / choose.choice(("export", "WhatsApp Chat with David.txt"))
            path.write_bytes(self.content(choose, format))
        if format != "hippocampe":
            first = self._read(path, named)
            require(first == self._read(path, named), "two readings of a file differ")
        if format == "hippocampe" or choose.random() < 0.05:
            self._import(choose, path, named)

    def _zipped(self, choose: random.Random, format: str) -> Path:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", choose.choice((0, zipfile.ZIP_DEFLATED))) as archive:
            for _ in range(choose.randint(1, 3)):
                names = (
                    "conversations.json",
                    "result.json",
                    "_chat.txt",
                    "a/WhatsApp.txt",
                    "../_chat.txt",
                )
                archive.writestr(choose.choice(names), self.content(choose, format))
        path = self.folder / "export.zip"
        path.write_bytes(mutated_bytes(choose, packed.getvalue()))
        return path

    def _read(self, path: Path, format: str | None) -> list[Any]:
        items: list[Any] = []
        try:
            for item in read_file(path, format=format):
                items.append(item)
                if isinstance(item, TalkMessage):
                    check_message(item)
                elif isinstance(item, Problem):
                    require(len(item.reason) < 500, "a long reason of a problem")
        except HippocampeError as exc:
            require(len(str(exc)) < 1_000, "a long error")
            items.append(type(exc))
        return items

    def _import(self, choose: random.Random, path: Path, format: str | None) -> None:
        self.cases += 1
        scope = Scope(space=choose.choice(("fuzz", "other")))
        try:
            self.hippo.import_from(path, scope=scope, format=format)
        except HippocampeError as exc:
            require(len(str(exc)) < 1_000, "a long error")
        page = self.hippo.memories(scope=scope, state="all", limit=20)
        self.hippo.messages(scope=scope)
        self.hippo.recall("David part demain", scope=scope, collections=["memory", "turn"])
        for memory in page.items[:2]:
            self.hippo.history(memory.id, scope=scope)
        missing = self.hippo.before_turn("Où part David ?", scope=scope).trace.missing
        require(not any("down" in each for each in missing), "a part was lost")
        if self.cases % VERIFIED == 0:
            require(self.hippo.verify().ok, "the store and the index differ")


def check_message(message: TalkMessage) -> None:
    """What every reader promises of a message."""
    content = message.content
    require(bool(content.strip()) and "\x00" not in content, "a blank message or one with NUL")
    require(len(content) <= MAX_MESSAGE_CHARACTERS, "a message that is too long")
    content.encode()
    Scope(user=message.author, channel=message.channel, space=message.space or "default")
    require(message.role in (None, "user", "assistant"), "an unknown role")
    require(message.at is None or message.at.tzinfo is UTC, "a time that is not in UTC")
    for identifier in (message.external_id, message.reply_to):
        require(identifier is None or 0 < len(identifier) <= MAX_LABEL_CHARACTERS, "a bad id")


# The block


def label(choose: random.Random) -> str | None:
    return choose.choice((None, "David", text(choose, 4)))


def recollection(choose: random.Random, number: int) -> Recollection:
    """One thing that memory knows, in words of somebody who wants to leave the block."""
    kind = choose.choice(("memory", "self", "goal", "summary", "turn", "live", "note"))
    content = text(choose, 30)
    memory = None
    if kind in ("memory", "self", "goal", "summary"):
        memory = Memory(
            id=str(number),
            space="default",
            content=content,
            collection=kind,
            key=label(choose),
            user=label(choose),
            created_at=NOW - timedelta(hours=number),
            updated_at=NOW,
            superseded_at=choose.choice((None, NOW)),
        )
    return Recollection(
        id=str(number),
        kind=kind,
        content=content,
        score=0.5,
        memory=memory,
        channel=label(choose),
        author=label(choose),
        at=choose.choice((None, NOW - timedelta(days=number))),
    )


def block(choose: random.Random) -> str:
    """A rendered injection, whose grammar is checked."""
    language = choose.choice(("fr", "en"))
    items = [recollection(choose, number) for number in range(choose.randint(1, 6))]
    budget = choose.choice((60, 200, 800, 10_000))
    rendered = render(
        items,
        language=language,
        now=NOW,
        timezone="Europe/Paris",
        budget=budget,
        count=lambda line: len(line.encode(errors="replace")) // 4 + 1,
    )
    require(len(rendered.shown) + len(rendered.no_room) == len(items), "an item was lost")
    require(rendered.tokens <= budget, "more tokens than the budget")
    if rendered.text:
        check_block(rendered.text, len(rendered.shown))
    return rendered.text


def check_block(rendered: str, shown: int) -> None:
    """The grammar that `render` promises."""
    lines = rendered.split("\n")
    require(lines == rendered.splitlines(), "another line end than LF")
    require((lines[0], lines[-1]) == (OPENING, CLOSING), "no fence")
    require(len(MARK.findall(rendered)) == 2, "a fence inside the block")
    inside = lines[2:-2]
    bullets = [line for line in inside if line.startswith(BULLET)]
    headers = [line for line in inside if not line.startswith(BULLET)]
    require(len(bullets) == shown, "a line for each item, and only those")
    require(len(headers) <= shown, "more headers than items")
    for header in headers:
        plain = header.startswith("[") and header.endswith("]")
        require(plain and not set("[]") & set(header[1:-1]), "a header of another form")
    for line in bullets:
        require(BULLET.strip() not in line[1:], "a bullet inside a line")
        require(not any(each in line for each in ("```", "~~~", "<|", "|>")), "a fence or a token")
    require(all(each.isprintable() for each in lines), "an invisible character")


def run_block(choose: random.Random) -> None:
    """Render items, and quote one text twice."""
    block(choose)
    quoted = quote(text(choose, 40))
    require(quote(quoted) == quoted, "a quoted text changes when it is quoted again")
    named = quote_label(text(choose, 10))
    require(quote_label(named) == named, "a quoted name changes when it is quoted again")
    require(not set("()=[]:/\n") & set(named), "a name that ends the head of its line")


def run_messages(choose: random.Random) -> None:
    """Put a block into messages and take it out: nothing else changes."""
    plain = [piece for piece in PIECES if "hippo" not in piece.lower() and "campe" not in piece]

    def written() -> Any:
        whole = "a" + "".join(choose.choices(plain, k=choose.randint(0, 8))) + "z"
        whole = choose.choice(("", "\n", " ", "\n\n\n")) + whole + choose.choice(("", "\n", "\n\n"))
        if choose.random() < 0.6:
            return whole
        kind = choose.choice(("text", "input_text"))
        return [{"type": kind, "text": whole}, {"type": "image_url", "image_url": {"url": "x"}}]

    messages = [
        {"role": choose.choice(("user", "assistant", "system")), "content": written()}
        for _ in range(choose.randint(1, 5))
    ] + [{"role": "user", "content": written()}]
    injected = block(choose)
    copied = with_injection(messages, injected)
    require(without_injections(copied) == messages, "removal is not exact")
    require(with_injection(copied, injected) == copied, "a block is not replaced by itself")
    held = text(choose, 30)
    once = without_injection(held)
    require(without_injection(once) == once, "a removal leaves something to remove")
    fenced = with_injection([{"role": "user", "content": held + "z"}], injected or "a memory")
    for message in fenced:
        marks = [mark["ends"] is not None for mark in MARK.finditer(str(message["content"]))]
        require(marks in ([], [False, True]), "a forged fence beside the block")


def run_secrets(choose: random.Random) -> None:
    """Mask the secrets of a text."""
    masked = mask(text(choose, 40))
    require(mask(masked) == masked, "a masked text is masked again")


LONG_LINE = 8_000_000
"""Characters of the one long line that some streams have: an image, or a provider that is broken."""


def run_streams(choose: random.Random) -> None:
    """Parse a mutated stream of a model's answer, in pieces of any size: they are parsed as the whole is."""
    protocol = choose.choice(PROTOCOLS)
    events: list[Any] = [
        {"choices": [{"index": 0, "delta": {"content": text(choose, 4)}}]},
        {"type": "response.output_text.delta", "delta": text(choose, 4)},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
    ]
    if choose.random() < LARGE:
        events.append({"choices": [{"index": 0, "delta": {"content": "A" * LONG_LINE}}]})
    end = choose.choice((b"\n\n", b"\r\n\r\n", b"\r"))
    sent = b"".join(
        b"data: " + json.dumps(mutated_json(choose, event)).encode() + end
        for event in choose.choices(events, k=choose.randint(1, 6))
    )
    sent = mutated_bytes(choose, sent)
    whole, parts = protocol.answer(), protocol.answer()
    whole.feed(sent)
    size = choose.choice((1, 7, 1_000)) if len(sent) < 100_000 else 16_384
    for start in range(0, len(sent), size):
        parts.feed(sent[start : start + size])
    require(parts == whole, "the pieces of a stream are parsed as another answer than the whole")


SAVED: list[Any] = [
    *("../../etc/passwd", "..", ".", "a/b", "%2e%2e%2f", "%00", "{{7*7}}", "<script>alert(1)</script>", "' OR 1=1 --"),
    *("x\r\nSet-Cookie: a=b", "0000-01-01", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-02-30", "7d", "-1d"),
    *("\u202eabc", "💥" * 50, "a" * 20_000, 2**63, -(2**63) - 1, 0.5, "true", "00000000-0000-0000-0000-000000000000"),
]  # fmt: skip
"""Values that are odd in a request, beside `ODD`."""
UNSERVED = (501, 503)
"""Replies of endpoints that need a language model, or another part that is not configured."""


class Requests:
    """Sends requests to each endpoint of a server; keeps the parameters and fields that each declares."""

    def __init__(self, hippo: Hippocampe) -> None:
        app = create_app(hippo, loopback=True)
        self.client = TestClient(
            app, base_url="http://127.0.0.1", raise_server_exceptions=False, follow_redirects=False
        )
        description = app.openapi()
        self._schemas = description["components"]["schemas"]
        self._operations = [
            (method.upper(), path, operation)
            for path, methods in description["paths"].items()
            for method, operation in methods.items()
        ]

    def run(self, choose: random.Random) -> None:
        """Send one request to a random endpoint, and check the reply."""
        method, path, operation = choose.choice(self._operations)
        query: dict[str, Any] = {}
        for parameter in operation.get("parameters", []):
            if choose.random() < 0.6 or parameter["in"] == "path":
                value = self._value(choose, parameter.get("schema", {}))
                if parameter["in"] == "path":
                    path = path.replace(f"{{{parameter['name']}}}", _quoted(value))
                elif parameter["in"] == "query":
                    query[parameter["name"]] = _written(value)
        body = operation.get("requestBody", {}).get("content", {})
        given: dict[str, Any] = {"params": query}
        if body:
            content = self._value(choose, next(iter(body.values())).get("schema", {}))
            raw = json.dumps(content).encode()
            if choose.random() < 0.2:
                raw = mutated_bytes(choose, raw)
            given |= {"content": raw, "headers": {"Content-Type": next(iter(body))}}
        reply = self.client.request(method, path, **given)
        known = reply.status_code in UNSERVED
        require(known or reply.status_code < 500, f"{reply.status_code} of {method} {path[:60]}")
        require("Traceback (most" not in reply.text, f"a traceback of {method} {path[:60]}")
        if reply.status_code >= 400:
            problem = reply.json()
            # Those of the proxy have the forms of the providers.
            told = problem.get("detail") or problem.get("error")
            require(bool(told), f"no detail of {reply.status_code} {method} {path}")
            require(len(reply.content) < 20_000, f"a long error of {method} {path[:60]}")

    def _value(self, choose: random.Random, schema: dict[str, Any], depth: int = 0) -> Any:
        """A value of a schema, or sometimes another one."""
        if choose.random() < (0.1 if depth else 0.03):
            return choose.choice((*ODD, *SAVED, text(choose, 4)))
        if "$ref" in schema:
            schema = self._schemas[schema["$ref"].rpartition("/")[2]]
        if several := schema.get("anyOf") or schema.get("oneOf"):
            return self._value(choose, choose.choice(several), depth)
        if "enum" in schema:
            return choose.choice(schema["enum"])
        if choose.random() < 0.3 and schema.get("examples"):
            return choose.choice(schema["examples"])
        match schema.get("type"):
            case "object":
                required = schema.get("required", [])
                return {
                    name: self._value(choose, each, depth + 1)
                    for name, each in schema.get("properties", {}).items()
                    if choose.random() < (0.95 if name in required else 0.3)
                }
            case "array":
                inner = schema.get("items", {})
                return [self._value(choose, inner, depth + 1) for _ in range(choose.randint(0, 3))]
            case "integer":
                return choose.choice((1, 5, schema.get("maximum", 10), schema.get("minimum", 0)))
            case "number":
                return choose.random()
            case "boolean":
                return choose.random() < 0.5
            case "null":
                return None
            case _:
                return choose.choice(("David habite à Pau", "david", "lobby", text(choose, 3)))


def _written(value: Any) -> str:
    written = value if isinstance(value, str) else json.dumps(value)
    return written.encode("utf-8", "replace").decode()[:4_000]


def _quoted(value: Any) -> str:
    return quote_path(_written(value)[:500] or "x", safe="/." if len(_written(value)) % 2 else "")


@dataclass
class Tally:
    """What happened to the cases of a target."""

    cases: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    found: Counter[str] = field(default_factory=Counter[str])
    first: dict[str, int] = field(default_factory=dict[str, int])


def one(
    target: str, seed: int, number: int, imports: Imports, requests: Requests, tally: Tally
) -> None:
    """Run a case, which its seed and its number determine."""
    choose = random.Random(f"{seed} {target} {number}")
    started = time.process_time()
    finding = None
    try:
        match target:
            case "block":
                run_block(choose)
            case "messages":
                run_messages(choose)
            case "secrets":
                run_secrets(choose)
            case "streams":
                run_streams(choose)
            case "requests":
                requests.run(choose)
            case _:
                imports.run(choose, target)
    except Broken as exc:
        finding = str(exc)
    except Exception as exc:  # noqa: BLE001 every other error is what is looked for
        place = traceback.extract_tb(exc.__traceback__)[-1]
        finding = f"{type(exc).__name__} in {Path(place.filename).name} {place.name}"
    took = time.process_time() - started
    if finding is None and took > SLOW:
        finding = f"more than {SLOW:g} seconds"
    tally.cases += 1
    tally.seconds += took
    tally.slowest = max(tally.slowest, took)
    if finding is not None:
        tally.found[finding] += 1
        if finding not in tally.first:
            tally.first[finding] = number
            print(f"{target} {number}: {finding}", file=sys.stderr)


TARGETS = (
    *("jsonl", "whatsapp", "chatgpt", "claude", "telegram", "hippocampe", "zip"),
    *("block", "messages", "secrets", "streams", "requests"),
)


def sample(hippo: Hippocampe, folder: Path) -> list[Any]:
    """The rows of a small space of every kind."""
    scope = Scope(space="sample", user="david", channel="lobby")
    hippo.remember("David habite à Ordizan", scope=scope, subjects=["david"], metadata={"a": 1})
    hippo.remember("David a déménagé à Toulouse", scope=scope)
    hippo.set_fact("boisson", "le thé", scope=scope)
    hippo.after_turn("On part demain ?", "Oui, à 8 h.", scope=scope)
    hippo.observe("Je prends le train", scope=scope)
    hippo.update_settings(scope=scope, recent_hours=12)
    hippo.export_to(folder / "sample.jsonl", scope=scope)
    return [json.loads(line) for line in (folder / "sample.jsonl").read_text("utf-8").splitlines()]


def run(targets: Sequence[str], seconds: float, seed: int, only: int | None) -> dict[str, Any]:
    """Run the cases of each target until its share of the time is spent."""
    tallies = {target: Tally() for target in targets}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        config = Config(folder / "data", background=False)
        with Hippocampe.open(config, clock=lambda: NOW) as hippo:
            imports = Imports(folder, hippo, sample(hippo, folder))
            requests = Requests(hippo)
            for target, tally in tallies.items():
                number = 0 if only is None else only
                while tally.seconds < seconds / len(targets) and len(tally.first) < MAX_FINDINGS:
                    one(target, seed, number, imports, requests, tally)
                    number += 1
                    if only is not None:
                        break
                print(
                    f"{target}: {tally.cases} cases, {len(tally.first)} findings", file=sys.stderr
                )
    return {
        "seed": seed,
        "cases": sum(tally.cases for tally in tallies.values()),
        "findings": sum(len(tally.first) for tally in tallies.values()),
        "targets": {
            target: {
                "cases": tally.cases,
                "seconds": round(tally.seconds, 1),
                "slowest_ms": round(tally.slowest * 1_000),
                "found": {
                    finding: {"count": count, "first": tally.first[finding]}
                    for finding, count in tally.found.most_common()
                },
            }
            for target, tally in tallies.items()
        },
    }


def main() -> int:
    """Run the targets; exit with 1 if anything was found."""
    parser = common.arguments(__doc__)
    parser.add_argument(
        "--seconds", type=float, default=60, help="of the processor, for all targets"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--target", choices=TARGETS, action="append", help="repeatable; default: all"
    )
    parser.add_argument(
        "--only", type=int, metavar="NUMBER", help="run this case of each target alone"
    )
    options = parser.parse_args()
    found = run(options.target or TARGETS, options.seconds, options.seed, options.only)
    print(json.dumps(found, indent=1, ensure_ascii=False))
    common.save(options.out, "fuzz", found)
    return 1 if found["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
