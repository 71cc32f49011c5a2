"""Questions with the signals of their candidates, for `learn_rank.py`.

Besides its whole pool, each question is asked of others, and measured anew in each: without its answers, in
a pool of few texts with or without an answer, and in the pool of another space. So the scores also hold where
nothing answers, and in a store of a few memories. Signals measured in the whole pool do not: the best of a
pool without the answer still looks worse than the answer that was there.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import reader_data
from corpora import moment
from hippocampe.embed.local import MODEL, LocalEmbedder
from hippocampe.embed.questions import towards_answers
from hippocampe.embed.word_space import WordVectors, shipped
from hippocampe.engine.documents import embedding_text
from hippocampe.index.bm25 import sparse_document, sparse_query
from hippocampe.language import text, traits
from hippocampe.language.kin import Kin, kin_asked
from hippocampe.language.manners import asks_nothing
from hippocampe.language.person import is_about_speaker, is_first_person, is_to_somebody
from hippocampe.language.questions import asks, rewrite_idioms
from hippocampe.language.temporal.window import parse_window
from hippocampe.language.topics import topics_of
from hippocampe.language.values import value_words, values_asked
from hippocampe.retrieval import fusion, signals
from hippocampe.retrieval.candidates import (
    DEPTH,
    DEPTH_PER_KIND,
    MOST_MEMORIES_SCORED,
    MOST_OF_ASKER,
    MOST_SCORED,
    NEIGHBOURS_OF_BEST,
    REACH,
)
from hippocampe.retrieval.candidates import WEIGHTS as WEIGHTS_OF_RANKINGS
from hippocampe.retrieval.late_interaction import Texts
from hippocampe.retrieval.measured import CandidateFeatures, QueryFeatures
from hippocampe.retrieval.query import named_in

SIZES: Final = (1, 2, 3, 5, 10, 30)
"""Texts of the small pools."""
WEIGHTS: Final = {
    "full": 1.0,
    "removed": 0.15,
    "with few": 0.3,
    "without few": 0.2,
    "foreign": 0.12,
    "foreign few": 0.06,
    "none few": 0.2,
}
"""Weight of each variant of a question."""
FEW_SIZES: Final = 3
"""Small pools for each question."""
SENTENCE: Final = re.compile(r"(?<=[.!?»])\s+(?=[A-ZÀ-Ý«])")


@dataclass(frozen=True, slots=True)
class Case:
    """One question in one pool: the signals of its candidates, which of them are answers, the number
    of answers."""

    group: str
    text: str
    kind: str
    variant: str
    held_out: bool
    shown: list[str]
    measured: NDArray[np.float32]
    right: NDArray[np.bool_]
    answers: int
    bm25: float
    dense: float


@dataclass(slots=True)
class Collection:
    """Documents and questions, each with its scope; `answers` and the subject by question."""

    name: str
    documents: list[dict[str, Any]]
    questions: list[dict[str, Any]]
    answers: dict[str, set[str]] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)


def lines(path: Path) -> list[dict[str, Any]]:
    if path.exists():
        content = path.read_bytes()
    else:
        content = gzip.decompress(path.with_name(path.name + ".gz").read_bytes())
    return [json.loads(line) for line in content.splitlines()]


def read(folder: Path, limit: int) -> Collection:
    """A folder in the form of `recall.py`, of `ask.py` or of `reader_data.py`; about `limit` questions at most."""
    name = folder.resolve().name
    if (folder / "memories.jsonl").exists():
        return _read_asked(folder, name)
    if files := sorted(folder.glob("world-*.tsv")):
        return _read_worlds(files, name, limit)
    answers: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document = line.split("\t")[:2]
        answers[query].add(document)
    rows = lines(folder / "queries.jsonl")
    rows = rows[:: max(1, round(len(rows) / limit))]
    kept = [
        row | {"scope": row.get("scope") or ""}
        for row in rows
        if answers[row["id"]] or row.get("type") == "none"
    ]
    documents = [d | {"scope": d.get("scope") or ""} for d in lines(folder / "corpus.jsonl")]
    last: dict[str, datetime] = {}
    for document in documents:
        if at := moment(document.get("date")):
            scope = document["scope"]
            last[scope] = max(last.get(scope, at), at + timedelta(days=1))
    for row in kept:
        if row["scope"] in last:
            row.setdefault("date", last[row["scope"]].isoformat())
    return Collection(name, documents, kept, answers)


def _read_worlds(files: Sequence[Path], name: str, limit: int) -> Collection:
    """The worlds of `reader_data`, each a scope of its own; about `limit` of their questions."""
    documents: list[dict[str, Any]] = []
    questions: list[dict[str, Any]] = []
    answers: dict[str, set[str]] = {}
    for world in reader_data.worlds(files):
        within = {"scope": world.name}
        split = {"split": "held out"} if reader_data.held_out(world.name) else {}
        documents += [
            within | {"id": f"{world.name}/{id}", "text": each.content, "teller": each.user}
            for id, each in world.texts.items()
        ]
        for number, each in enumerate(world.questions):
            id = f"{world.name} {number}"
            row = {"id": id, "text": each.content, "user": each.user, "type": each.kind}
            questions.append(row | within | split)
            answers[id] = {f"{world.name}/{answer}" for answer in each.answers}
    step = max(1, round(len(questions) / limit))
    return Collection(name, documents, questions[::step], answers)


def _read_asked(folder: Path, name: str) -> Collection:
    documents = [
        {
            "id": row["id"],
            "text": row["content"],
            "scope": name,
            "teller": row["user"],
            "subjects": row["subjects"],
            "date": row["at"],
        }
        for row in lines(folder / "memories.jsonl")
    ]
    talk = lines(folder / "messages.jsonl")
    documents += [
        {
            "id": row["id"],
            "text": row["content"],
            "scope": name,
            "speaker": row["user"],
            "session": row["channel"] + row["at"][:10],
            "date": row["at"],
        }
        for row in sorted(talk, key=lambda row: (row["channel"], row["at"], row["id"]))
    ]
    asked = lines(folder / "questions.jsonl")
    questions = [
        {
            "id": row["id"],
            "text": row["text"],
            "scope": name,
            "user": row["user"],
            "date": row["at"],
            "type": row["kind"],
        }
        for row in asked
        if row["kind"] != "open"
    ]
    subjects = {d["id"]: d["subjects"] for d in documents if d.get("subjects")}
    users = {row["user"] for row in asked}
    return Collection(
        name,
        documents,
        questions,
        {r["id"]: {*r["answers"], *r["also"]} for r in asked},
        {r["id"]: _subject(r, subjects, users) for r in asked},
    )


def _subject(row: dict[str, Any], subjects: dict[str, list[str]], users: set[str]) -> str:
    """What a question is about: what an answer is about besides the users, or else the answer itself."""
    for id in (*row["answers"], *row["also"], *row["wrong"]):
        if id in subjects:
            others = [name for name in subjects[id] if text.fold(name) not in users]
            return others[0] if others else id
    return row["id"]


def sentences(collection: Collection, limit: int) -> Collection:
    """The sentences of paragraphs as memories, eight articles a space; the one that holds the answer
    to a question is right. Unlike other collections, it has many statements about the same thing."""
    article: dict[str, str] = {}
    for row in collection.questions:
        for answer in collection.answers[row["id"]]:
            article.setdefault(answer, row["type"])
    names = sorted(set(article.values()))
    order = np.random.default_rng(3).permutation(len(names))
    scope = {names[place]: f"sentences {number // 8}" for number, place in enumerate(order)}
    parts: dict[str, list[str]] = {}
    documents: list[dict[str, Any]] = []
    for document in collection.documents:
        if document["id"] not in article:
            continue
        joined: list[str] = []
        for part in SENTENCE.split(document["text"]):
            if joined and len(joined[-1]) < 60:
                joined[-1] += f" {part}"
            else:
                joined.append(part)
        parts[document["id"]] = joined = [each for each in joined if len(each) < 400]
        within = scope[article[document["id"]]]
        documents += [
            {"id": f"{document['id']}/{n}", "text": each, "scope": within}
            for n, each in enumerate(joined)
        ]
    questions: list[dict[str, Any]] = []
    answers: dict[str, set[str]] = {}
    for row in collection.questions:
        source = next(iter(collection.answers[row["id"]]))
        said = str(row.get("answer") or "\0").lower()
        holding = [n for n, each in enumerate(parts[source]) if said in each.lower()]
        if len(holding) == 1:
            questions.append(row | {"scope": scope[article[source]], "type": "sentence"})
            answers[row["id"]] = {f"{source}/{holding[0]}"}
    questions = questions[:: max(1, round(len(questions) / limit))]
    return Collection("sentences", documents, questions, answers)


class Vectors:
    """Vectors of texts by the default embedder, kept in a folder between runs."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        digest = hashlib.sha256("\0".join((MODEL, *texts)).encode()).hexdigest()[:16]
        path = self._cache / f"{digest}.npy"
        if not path.exists():
            self._cache.mkdir(parents=True, exist_ok=True)
            np.save(path, LocalEmbedder().embed(list(texts)))
        return np.load(path)


def author_of(document: dict[str, Any]) -> str | None:
    """The speaker; None for a memory."""
    return document.get("speaker") or document.get("role")


def searched(document: dict[str, Any]) -> str:
    """The text that BM25 searches, as in `recall`."""
    missing = [
        n for n in document.get("subjects", ()) if text.fold(n) not in text.fold(document["text"])
    ]
    content = document["text"] + (f" ({', '.join(missing)})" if missing else "")
    return embedding_text(content, author_of(document))


class Scope:
    """The texts of a scope, with everything the signals need."""

    def __init__(self, documents: list[dict[str, Any]], dense: NDArray[np.float32]) -> None:
        self.documents = documents
        self.ids = {document["id"]: row for row, document in enumerate(documents)}
        self.authors = [author_of(document) for document in documents]
        self.memory = np.array([author is None for author in self.authors])
        self.tellers = [d.get("teller") or author_of(d) for d in documents]
        self.importance = np.array(
            [np.nan if author_of(d) else d.get("importance", 0.6) for d in documents], np.float32
        )
        contents = [searched(document) for document in documents]
        self.words = [text.keywords(content)[:2_000] for content in contents]
        self.sets = [frozenset(spoken) for spoken in self.words]
        times = [moment(d.get("date")) for d in documents]
        self.at = np.array([time.timestamp() if time else np.nan for time in times])
        self.traits = np.array([traits.traits(d["text"]) for d in documents], np.int64)
        self.of_self = np.array(
            [is_about_speaker(d["text"]) and not is_to_somebody(d["text"]) for d in documents]
        )
        self.session = self._sessions(documents)
        self.dense = dense
        self.postings: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for row, content in enumerate(contents):
            for term, weight in zip(*sparse_document(content), strict=True):
                self.postings[term].append((row, weight))
        self.frequency = Counter(word for spoken in self.sets for word in spoken)

    @staticmethod
    def _sessions(documents: list[dict[str, Any]]) -> NDArray[np.int64]:
        numbers: dict[str, int] = {}
        names = [author_of(d) and (d.get("session") or d.get("date")) for d in documents]
        return np.array([numbers.setdefault(n, len(numbers)) if n else -1 for n in names])


class Pool:
    """Some texts of a scope, as if the space held no others."""

    def __init__(self, scope: Scope, rows: NDArray[np.int64] | None = None) -> None:
        self.scope = scope
        self.inside = np.ones(len(scope.dense), bool)
        if rows is not None:
            self.inside[:] = False
            self.inside[rows] = True
        self.size = int(self.inside.sum())

    def beside(self, row: int, step: int) -> int:
        """The row at this distance in the same session, or -1."""
        session, other = self.scope.session, row + step
        there = 0 <= other < len(session) and session[row] >= 0 and self.inside[other]
        return other if there and session[other] == session[row] else -1

    def bm25(self, question: str) -> NDArray[np.float32]:
        scores = np.zeros(len(self.inside), np.float32)
        for term, weight in zip(*sparse_query(question), strict=True):
            found = [each for each in self.scope.postings.get(term, ()) if self.inside[each[0]]]
            rarity = np.log1p((self.size - len(found) + 0.5) / (len(found) + 0.5))
            for row, share in found:
                scores[row] += weight * rarity * share
        return scores

    def candidates(
        self, bm25: NDArray[np.float32], dense: NDArray[np.float32], asker: str | None
    ) -> list[int]:
        """The candidate rows, chosen as in `recall`; `asker` asks about themselves."""
        rankings: dict[str, list[str]] = {}
        kinds = [k for k in (self.scope.memory, ~self.scope.memory) if (k & self.inside).any()]
        depth = DEPTH if len(kinds) == 1 else DEPTH_PER_KIND
        most = MOST_MEMORIES_SCORED if self.scope.memory.all() else MOST_SCORED
        for number, kind in enumerate(kinds):
            rows = np.flatnonzero(kind & self.inside)
            by_words = rows[np.argsort(-bm25[rows], kind="stable")[:depth]]
            by_meaning = rows[np.argsort(-dense[rows], kind="stable")[:depth]]
            rankings[f"words {number}"] = [str(row) for row in by_words if bm25[row] > 0]
            rankings[f"meaning {number}"] = [str(row) for row in by_meaning]
        if asker:
            told = self.scope.memory & self.inside & (np.array(self.scope.tellers) == asker)
            own = np.flatnonzero(told)
            own = own[np.argsort(-dense[own], kind="stable")[:MOST_OF_ASKER]]
            rankings["own"] = [str(row) for row in own]
        weights = {"own": WEIGHTS_OF_RANKINGS["own"]}
        best = [int(row) for row in fusion.fuse(rankings, weights)[:NEIGHBOURS_OF_BEST]]
        near = [
            self.beside(row, step * away)
            for row in best
            for step in (-1, 1)
            for away in range(1, REACH + 1)
        ]
        rankings["beside"] = [str(row) for row in dict.fromkeys(near) if row >= 0]
        return [int(row) for row in fusion.fuse(rankings, weights)[:most]]

    def frequencies(self, words: Sequence[str]) -> NDArray[np.int64]:
        scope = self.scope
        if self.size == len(self.inside):
            return np.array([scope.frequency.get(word, 0) for word in words])
        wanted = frozenset(words)
        rows = np.flatnonzero(self.inside)
        counts = Counter(word for row in rows for word in scope.sets[row] & wanted)
        return np.array([counts[word] for word in words])

    def windows(self, rows: Sequence[int], vector: NDArray[np.float32]) -> NDArray[np.float32]:
        dense, found = self.scope.dense, np.empty(len(rows), np.float32)
        for place, row in enumerate(rows):
            near = [other for step in (-1, 1) if (other := self.beside(row, step)) >= 0]
            total = dense[row] + dense[near].sum(axis=0)
            found[place] = total @ vector / np.linalg.norm(total)
        return found


def ndcg(right: Sequence[bool], answers: int) -> float:
    """nDCG@10 of answers in order; 0 where there is none."""
    gains = 1 / np.log2(np.arange(2, 12))
    found = gains[: len(right)][np.asarray(right[:10], bool)].sum()
    return float(found / max(gains[:answers].sum(), gains[0]))


@dataclass(frozen=True, slots=True)
class Question:
    """A question, analysed as `recall` does.

    `text` is what is embedded and searched for, with the other names of those it names; `words` are
    what the ranker compares, one name for each; `same` are words to read as another one.
    """

    id: str
    asked: str
    text: str
    words: tuple[str, ...]
    same: dict[str, str]
    row: dict[str, Any]
    names: frozenset[str]
    asker: frozenset[str]
    nothing: bool


def understood(row: dict[str, Any], scope: Scope) -> Question:
    """Analyse a question of a scope."""
    said, known = rewrite_idioms(row["text"]), scope.frequency
    heard = text.words(said)
    listed = [[text.fold(n) for n in names] for names in row.get("names", ())]
    groups = [names for names in listed if not set(heard).isdisjoint(names)]
    named = [name for names in groups for name in names]
    user = text.fold(row.get("user") or "")
    if user and is_first_person(said):
        groups.append([user])
    groups = [[name for name in names if name in known] for names in groups]
    added = [name for names in groups for name in names if name not in heard]
    first = [names[0] for names in groups if names]
    same = {other: names[0] for names in groups for other in names[1:]}
    words = tuple(text.content_words(" ".join((said, *first)))) or (said[:40],)
    asker = frozenset[str]()
    if user and is_about_speaker(said):
        asker = frozenset({user}).union(*(names for names in listed if user in names))
    unknown = [word for word in words if word not in known]
    names = named_in(said, words, unknown).union(word for name in first for word in name.split())
    return Question(
        row["id"],
        said,
        " ".join((said, *added)),
        words,
        same,
        row,
        names - asker - {user},
        asker,
        asks_nothing(said, names=named),
    )


@dataclass(frozen=True, slots=True)
class Words:
    """Every word of a collection: row, vector and topics."""

    ids: dict[str, int]
    vectors: WordVectors
    topics: NDArray[np.uint64]


def cases(
    collection: Collection, foreign: Sequence[str], vectors: Vectors, seed: int = 0
) -> Iterator[Case]:
    """The questions of a collection in their pools, and some `foreign` questions that nothing of it
    answers."""
    chance = np.random.default_rng(seed)
    said = [
        embedding_text(d["text"], author_of(d), moment(d.get("date")) if author_of(d) else None)
        for d in collection.documents
    ]
    dense = vectors.of(said)
    by_scope: dict[str, list[int]] = defaultdict(list)
    for number, document in enumerate(collection.documents):
        by_scope[document["scope"]].append(number)
    scopes = {
        name: Scope([collection.documents[n] for n in rows], dense[rows])
        for name, rows in by_scope.items()
    }
    asked = [understood(row, scopes[row["scope"]]) for row in collection.questions]
    each = max(1, round(len(asked) / len(scopes) / 4))
    asked += _foreign(collection, foreign, scopes, each, chance)
    placed = _place(scopes, asked, vectors)
    embedded = map(towards_answers, vectors.of([question.text for question in asked]))
    for question, vector in zip(asked, embedded, strict=True):
        scope = scopes[question.row["scope"]]
        right = {scope.ids[id] for id in collection.answers.get(question.id, ()) if id in scope.ids}
        group = _group(collection, question.row, len(scopes))
        for variant, pool in _pools(scope, question, sorted(right), chance):
            yield measure(pool, question, vector, right, group, variant, placed)


def _group(collection: Collection, row: dict[str, Any], scopes: int) -> str:
    """What a fold keeps together: a conversation, an article, or the questions about one subject."""
    if scopes > 1:
        return f"{collection.name}/{row['scope']}"
    return f"{collection.name}/{collection.about.get(row['id']) or row.get('type')}"


def _foreign(
    collection: Collection,
    foreign: Sequence[str],
    scopes: dict[str, Scope],
    each: int,
    chance: np.random.Generator,
) -> list[Question]:
    found: list[Question] = []
    for name, scope in scopes.items():
        own = [row for row in collection.questions if row["scope"] == name]
        users = sorted({row["user"] for row in own if row.get("user")})
        for number in chance.choice(len(foreign), min(each, len(foreign)), replace=False):
            row = {"id": f"foreign {name} {number}", "text": foreign[number], "scope": name}
            row |= {"type": "foreign", "date": own[0].get("date") if own else None}
            row["user"] = users[int(chance.integers(len(users)))] if users else None
            found.append(understood(row, scope))
    return found


def _place(scopes: dict[str, Scope], asked: Sequence[Question], vectors: Vectors) -> Words:
    vocabulary = sorted(
        {w for scope in scopes.values() for w in scope.frequency}
        | {w for question in asked for w in question.words}
    )
    space = shipped(MODEL)
    assert space is not None
    return Words(
        {word: row for row, word in enumerate(vocabulary)},
        WordVectors.of(space.place(vectors.of(vocabulary))),
        np.array([topics_of(word) for word in vocabulary], np.uint64),
    )


def _pools(
    scope: Scope, question: Question, right: Sequence[int], chance: np.random.Generator
) -> Iterator[tuple[str, Pool]]:
    """The variants of a question: their names, and the pool of each."""
    size = len(scope.dense)
    every = np.arange(size)
    alone = bool(scope.memory.any())
    sizes = [int(n) for n in chance.choice(SIZES, FEW_SIZES, replace=False) if n < size]

    def few(number: int, centre: int) -> NDArray[np.int64]:
        if alone:
            return chance.choice(size, number, replace=False)
        # Talk is what was said in a row.
        start = int(np.clip(centre - chance.integers(number), 0, size - number))
        return np.arange(start, start + number)

    if question.row.get("type") == "foreign":
        yield "foreign", Pool(scope)
        yield "foreign few", Pool(scope, few(sizes[0], int(chance.integers(size))))
        return
    yield "full", Pool(scope)
    if not right:
        for number in sizes[:2]:
            yield "none few", Pool(scope, few(number, int(chance.integers(size))))
        return
    others = np.setdiff1d(every, right)
    if not len(others):
        return
    yield "removed", Pool(scope, others)
    for number in sizes:
        kept = chance.permutation(np.array(right))[: max(1, min(number // 2, len(right)))]
        if alone:
            added = chance.permutation(others)[: number - len(kept)]
            yield "with few", Pool(scope, np.concatenate([kept, added]))
            yield "without few", Pool(scope, chance.permutation(others)[:number])
        else:
            yield "with few", Pool(scope, few(number, int(kept[0])))
            rest = np.setdiff1d(few(number, int(chance.integers(size))), right)
            if len(rest):
                yield "without few", Pool(scope, rest)


def measure(
    pool: Pool,
    question: Question,
    vector: NDArray[np.float32],
    right: set[int],
    group: str,
    variant: str,
    known: Words,
) -> Case:
    """The candidates of one question in one pool, with their signals."""
    scope = pool.scope
    bm25 = pool.bm25(question.text)
    dense = np.where(pool.inside, scope.dense @ vector, -9.0).astype(np.float32)
    rows = pool.candidates(bm25, dense, question.row.get("user") if question.asker else None)
    listed = list(rows)
    near = [[pool.beside(row, step) for step in (-2, -1, 1, 2)] for row in rows]
    listed += sorted({other for four in near for other in four if other >= 0} - set(rows))
    place = {row: position for position, row in enumerate(listed)} | {-1: -1}
    lengths = [len(scope.words[row]) for row in listed]
    asked = [known.ids[word] for word in question.words]
    shown = np.sort(bm25)[-DEPTH:].min()
    day = moment(question.row.get("date"))
    window = parse_window(question.asked, now=day, timezone="Europe/Paris") if day else None
    query = QueryFeatures(
        question.words,
        known.vectors[np.array(asked)],
        signals.rarity(pool.frequencies(question.words), pool.size),
        asks(question.asked),
        (window.start.timestamp(), window.end.timestamp()) if window else None,
        tuple(topics_of(word) for word in question.words),
        names=question.names,
        asker=question.asker,
        values=values_asked(question.asked),
        value_words=value_words(question.asked),
        kin=kin_asked(question.asked),
        nothing=question.nothing,
    )
    same = {known.ids[other]: known.ids[name] for other, name in question.same.items()}
    ids = [known.ids[word] for row in listed for word in scope.words[row]]
    texts = Texts(np.array([same.get(id, id) for id in ids], np.int64), np.cumsum([0, *lengths]))
    own = scope.traits[rows]
    candidates = CandidateFeatures(
        dense=dense[rows],
        window=pool.windows(rows, vector),
        bm25=np.where(bm25[rows] >= shown, bm25[rows], 0.0).astype(np.float32),
        vectors=known.vectors,
        texts=texts,
        neighbours=np.array([[place[o] for o in four] for four in near], np.int64).reshape(-1, 4),
        question=scope.traits[listed] & traits.QUESTION > 0,
        number=own & traits.NUMBER > 0,
        date=own & traits.DATE > 0,
        authors=[scope.authors[row] for row in rows],
        session=scope.session[rows],
        at=scope.at[rows],
        importance=scope.importance[rows],
        uses=np.full(len(rows), np.nan, np.float32),
        place=own & traits.PLACE > 0,
        topics=known.topics[texts.ids],
        values=own >> traits.VALUES,
        names=own >> traits.FIRST_NAME & traits.NAMES,
        kin=_kin(scope, rows, kin_asked(question.asked)),
        owners=[_owner(scope, row) for row in rows],
    )
    tellers = frozenset(text.fold(scope.tellers[row] or "") for row in rows) - {""}
    about = question.asker | question.names & tellers
    if about:
        candidates = replace(
            candidates, **_of_others(scope, question, rows, about, tellers - about)
        )
    everything = [row in right for row in np.argsort(-bm25, kind="stable")[:10]]
    by_meaning = [row in right for row in np.argsort(-dense, kind="stable")[:10]]
    answers = sum(bool(pool.inside[row]) for row in right)
    return Case(
        group,
        question.asked,
        str(question.row.get("type", "")),
        variant,
        question.row.get("split") == "held out",
        [scope.documents[row]["text"] for row in rows],
        signals.measure(query, candidates),
        np.isin(rows, list(right)),
        answers,
        ndcg(everything, len(right)),
        ndcg(by_meaning, len(right)),
    )


def _kin(scope: Scope, rows: Sequence[int], kin: Sequence[Kin]) -> NDArray[np.bool_] | None:
    named = [[_names(scope.words[row], each) for each in kin] for row in rows]
    return np.array(named, bool) if kin else None


def _names(words: Sequence[str], kin: Kin) -> bool:
    """Whether a text names a relative, as `features` computes it from the ids of its words."""
    padded = ["", *words, ""]
    return any(
        (word in kin.words and kin.others.isdisjoint((before, after)))
        or any(before in first and word in second for first, second in kin.pairs)
        for before, word, after in zip(padded, words, padded[2:], strict=False)
    )


def _owner(scope: Scope, row: int) -> str | None:
    teller = scope.tellers[row]
    told = teller and scope.memory[row] and scope.traits[row] & traits.FIRST_PERSON
    return text.fold(teller) if teller and told else None


def _of_others(
    scope: Scope,
    question: Question,
    rows: Sequence[int],
    asked: frozenset[str],
    others: frozenset[str],
) -> dict[str, Any]:
    """As `features` reads them: what others say of themselves, and memories that name them."""
    said = [scope.sets[row] for row in rows]
    of_other = [
        text.fold(scope.tellers[row] or "") in others
        and bool(scope.of_self[row])
        and spoken.isdisjoint(asked)
        for row, spoken in zip(rows, said, strict=True)
    ]
    named = [
        bool(scope.memory[row]) and not spoken.isdisjoint(others)
        for row, spoken in zip(rows, said, strict=True)
    ]
    return {
        "of_other": np.array(of_other) if question.asker else None,
        "asked": asked,
        "names_other": np.array(named),
    }
