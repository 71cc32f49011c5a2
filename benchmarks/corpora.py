"""Folders of documents and questions, and their import into the engine."""

import csv
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sqlalchemy import select

import common
import hippocampe
from hippocampe import Config, Hippocampe, Scope
from hippocampe.store.schema import message, turn

NONE = "none"
"""The type of a question without an answer."""
COLLECTION = {"talk": "turn", "memory": "memory"}
"""Collections to search, by form of import."""
_READ_ONLY = (
    *("recall.py", "rank.py", "relevance.py", "evidence.py", "inject.py", "asking.py", "given.py"),
    *("render.py", "cli.py", "cli", "server", "companion"),
)
"""Files whose changes do not invalidate a cached import."""
_DATES = ("%I:%M %p on %d %B, %Y", "%B-%d-%Y", "%d %B %Y", "%d %B, %Y", "%B %d, %Y")


@dataclass(frozen=True, slots=True)
class Query:
    """A question, the space it is asked in, its kind, and the ids of the documents that answer it.

    Who asks and on which day, if that is known.
    """

    text: str
    space: str
    kind: str
    answers: frozenset[str]
    user: str | None = None
    day: datetime | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder of documents, its questions with evidence, and its questions without an answer."""

    name: str
    documents: list[dict[str, Any]]
    queries: list[Query]
    unanswered: list[Query]

    @property
    def form(self) -> str:
        """`talk` if documents have a speaker, else `memory`."""
        talk = any("speaker" in each or "role" in each for each in self.documents)
        return "talk" if talk else "memory"


def read_corpus(folder: Path) -> Corpus:
    """Read `corpus.jsonl`, `queries.jsonl` (both may be gzipped) and `qrels.tsv`."""
    documents = list(common.json_lines(folder / "corpus.jsonl"))
    known = {document["id"] for document in documents}
    answers: dict[str, set[str]] = {}
    judged: set[str] = set()
    with common.opened(folder / "qrels.tsv") as lines:
        for row in csv.reader(lines, delimiter="\t"):
            if len(row) >= 2:
                judged.add(row[0])
                if row[1] in known:
                    answers.setdefault(row[0], set()).add(row[1])
    asked = [
        (query["id"], _query(query, frozenset(answers.get(query["id"], ()))))
        for query in common.json_lines(folder / "queries.jsonl")
    ]
    return Corpus(
        name=folder.resolve().name,
        documents=documents,
        queries=[query for _, query in asked if query.answers],
        unanswered=[query for id, query in asked if query.kind == NONE and id not in judged],
    )


def _query(row: dict[str, Any], answers: frozenset[str]) -> Query:
    return Query(
        text=row["text"],
        space=row.get("scope") or "default",
        kind=str(row.get("type", "")),
        answers=answers,
        user=row.get("user"),
        day=moment(row.get("date")),
    )


def sample(corpus: Corpus, count: int | None) -> list[Query]:
    """A deterministic sample of the questions; all for None."""
    if count is None or count >= len(corpus.queries):
        return corpus.queries
    return Random(0).sample(corpus.queries, count)


def moment(text: str | None) -> datetime | None:
    """Parse a date in the formats of the known collections; None without one.

    Raises:
        ValueError: It is in no known form.
    """
    if not text:
        return None
    try:
        read = datetime.fromisoformat(text)
        return read if read.tzinfo else read.replace(tzinfo=UTC)
    except ValueError:
        pass
    for form in _DATES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError(
        f"cannot read the date {text!r}: write it like 2026-01-17, or add its form to _DATES."
    )


def times(corpus: Corpus) -> list[datetime]:
    """When each document was said: its date (2020-01-01 without one), a second later than the one
    before of that date.

    Sessions of the same date are two hours apart, so that they stay sessions.
    """
    start = datetime(2020, 1, 1, tzinfo=UTC)
    counts: dict[tuple[str, str], int] = {}
    sessions: dict[tuple[str, str], dict[str, int]] = {}
    found: list[datetime] = []
    for document in corpus.documents:
        day = (document.get("scope", ""), document.get("date") or "")
        number = counts[day] = counts.get(day, -1) + 1
        known = sessions.setdefault(day, {})
        session = known.setdefault(document.get("session", ""), len(known))
        base = moment(document.get("date")) or start
        found.append(base + timedelta(hours=2 * session, seconds=number))
    return found


def memory_id(document: str) -> str:
    """The id of the memory of a document."""
    return str(uuid5(NAMESPACE_URL, document))


def import_talk(hippo: Hippocampe, corpus: Corpus, folder: Path) -> None:
    """JSON Lines of messages. Without a `role`, each is its own turn."""
    path = folder / "talk.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for document, at in zip(corpus.documents, times(corpus), strict=True):
            scope = document.get("scope") or "default"
            line = {
                "content": document["text"],
                "author": document.get("speaker") or document.get("role") or "document",
                "channel": scope,
                "space": scope,
                "at": at.isoformat(),
                "external_id": document["id"],
            }
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")
    done = hippo.import_from(path, scope=Scope(), format="jsonl")
    _check(done.added, len(corpus.documents), done.problems)


def import_memories(hippo: Hippocampe, corpus: Corpus, folder: Path) -> None:
    """One export per space."""
    spaces: dict[str, list[dict[str, Any]]] = {}
    for document, at in zip(corpus.documents, times(corpus), strict=True):
        row = {
            "id": memory_id(document["id"]),
            "type": document.get("kind", "fact"),
            "content": document["text"],
            "subjects": document.get("subjects", []),
            "importance": document.get("importance", 0.6),
            "created_at": at.isoformat(),
            "occurred_at": at.isoformat() if document.get("date") else None,
        }
        spaces.setdefault(document.get("scope") or "default", []).append(row)
    for space, rows in spaces.items():
        import_rows(hippo, Scope(space=space), rows, folder)


def import_rows(
    hippo: Hippocampe, scope: Scope, rows: Sequence[dict[str, Any]], folder: Path
) -> None:
    """Import memories through an export: that is fast, and corrects no memory by another.

    Args:
        hippo: Where to import them.
        scope: Their space.
        rows: Their id, content and time at least, in the form of an export.
        folder: Where to write the export.
    """
    made = {"record": "memory", "collection": "memory", "type": "fact", "subjects": []}
    made |= {"importance": 0.6, "source": "benchmark", "evidence": []}
    lines = [{"hippocampe": 1, "space": scope.space}]
    lines += [{**made, "updated_at": row["created_at"], **row} for row in rows]
    path = folder / "archive.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = hippo.import_from(path, scope=scope, format="hippocampe")
    _check(done.added, len(rows), done.problems)


def _check(added: int, wanted: int, problems: Sequence[object]) -> None:
    if added != wanted:
        raise SystemExit(f"only {added} of {wanted} documents came in: {problems[:3]}")


def fingerprint(corpus: Corpus, form: str) -> str:
    """Digest of what an imported folder depends on: the documents and the code that writes."""
    digest = hashlib.blake2b(form.encode(), digest_size=8)
    digest.update(json.dumps(corpus.documents, sort_keys=True).encode())
    package = Path(hippocampe.__file__).parent
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] not in _READ_ONLY:
            digest.update(path.read_bytes())
    return digest.hexdigest()


@contextmanager
def data_folder(corpus: Corpus, form: str, cache: Path | None) -> Iterator[tuple[Path, float]]:
    """A temporary folder with the corpus, and the duration of the import (0 from the cache)."""
    took = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        kept = (cache or Path(scratch)) / f"{corpus.name}-{fingerprint(corpus, form)}"
        if not kept.exists():
            making = Path(scratch) / "making"
            bring_in = import_talk if form == "talk" else import_memories
            started = time.perf_counter()
            with Hippocampe.open(Config(making, background=False)) as hippo:
                bring_in(hippo, corpus, Path(scratch))
            took = time.perf_counter() - started
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(making, kept)
        # A copy: recalls are counted, and the counts would weigh in the next run.
        used = Path(scratch) / "used"
        shutil.copytree(kept, used)
        yield used, took


@dataclass(slots=True)
class Clock:
    """The date of the question, or the day after the last document of its space."""

    ends: dict[str, datetime]
    _now: datetime | None = None

    def ask(self, query: Query) -> None:
        self._now = query.day or self.ends.get(query.space)

    def __call__(self) -> datetime:
        return self._now or datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A corpus in the engine: `documents` says which one a turn or memory came from, by its id.

    `seconds` is how long the import took, 0 from the cache.
    """

    hippo: Hippocampe
    documents: dict[str, str]
    clock: Clock
    seconds: float


@contextmanager
def loaded(corpus: Corpus, form: str, cache: Path | None) -> Iterator[Loaded]:
    """The corpus in a temporary folder, with every space warmed up by a question."""
    ends: dict[str, datetime] = {}
    for document, at in zip(corpus.documents, times(corpus), strict=True):
        space = document.get("scope") or "default"
        ends[space] = max(ends.get(space, at), at + timedelta(days=1))
    clock = Clock(ends)
    with (
        data_folder(corpus, form, cache) as (folder, seconds),
        Hippocampe.open(Config(folder, background=False), clock=clock) as hippo,
    ):
        for space in ends:  # word counts are loaded at the first question of a space
            hippo.recall("?", scope=Scope(space=space))
        yield Loaded(hippo, _documents(hippo, corpus, form), clock, seconds)


def _documents(hippo: Hippocampe, corpus: Corpus, form: str) -> dict[str, str]:
    if form == "memory":
        return {memory_id(each["id"]): each["id"] for each in corpus.documents}
    query = select(turn.c.id, message.c.external_id).join(message, message.c.turn_id == turn.c.id)
    with hippo._context.corpus.store.read() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


def ranker() -> dict[str, Any]:
    """Digest and provenance of the weights."""
    content = (Path(hippocampe.__file__).parent / "data" / "rank.json").read_bytes()
    digest = hashlib.blake2b(content, digest_size=8).hexdigest()
    return {"digest": digest, "provenance": json.loads(content).get("provenance")}


def in_sample(name: str) -> bool:
    """Whether the weights were learnt from questions of this folder, which makes its figures in-sample."""
    provenance = ranker()["provenance"]
    kept = provenance.get("talk_and_long", {}).get("collections", {})
    return name in provenance["collections"] or name in kept
