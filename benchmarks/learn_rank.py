"""Learn the weights of `hippocampe.retrieval.signals` from collections of questions with known answers.

A collection is a folder with `corpus.jsonl` ({id, text, scope?, session?, date?, speaker|role?,
subjects?, importance?}), `queries.jsonl` ({id, text, scope?, type?, user?, names?, date?, split?}),
which may be gzipped, and `qrels.tsv` (query id, text id). The lines of a scope are in chronological order.
Texts without a speaker or role are memories. Candidates are gathered as in `recall`: nearest vectors, BM25,
and the neighbouring turns of the best. Questions of the type "none" have no answer. Questions with the
split "held out" are measured but not used for learning.

    python benchmarks/learn_rank.py FOLDER… --output src/hippocampe/data/rank.json --cache CACHE

All collections have the same weight. The loss is the binary cross-entropy of each candidate, for
calibration, plus the cross-entropy of the softmax over the candidates of a query, for ranking. Weights of
matches are at least 0, which transfers better to other collections. The penalty for rivals is then fitted
on the log-odds of questions that the weights have not seen.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import platform
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from corpora import moment
from hippocampe.embed.local import MODEL, LocalEmbedder
from hippocampe.embed.word_space import WordVectors, shipped
from hippocampe.index.bm25 import sparse_document, sparse_query
from hippocampe.index.documents import embedding_text
from hippocampe.language import text
from hippocampe.language.person import is_first_person
from hippocampe.language.questions import asks, rewrite_idioms
from hippocampe.language.temporal.window import parse_window
from hippocampe.language.topics import topics_of
from hippocampe.language.traits import traits
from hippocampe.retrieval import fusion, scoring, signals
from hippocampe.retrieval.candidates import DEPTH, NEIGHBOURS_OF_BEST
from hippocampe.retrieval.late_interaction import Texts
from hippocampe.retrieval.measured import MAX_CANDIDATES, CandidateFeatures, QueryFeatures
from hippocampe.retrieval.scoring import (
    FORMS,
    WEIGHT_KINDS,
    Model,
    blend,
    intercept,
    own_log_odds,
    rival_adjustment,
    rival_log_odds,
    sigmoid,
    standardise,
)

ORDER_SHARE, DECAY = 1.0, 1e-3
FEW: Final = 10
NO_RIVALS: Final = np.zeros((2, len(WEIGHT_KINDS)), np.float32)
UNITS: Final = np.eye(NO_RIVALS.size, dtype=np.float32).reshape(-1, *NO_RIVALS.shape)
"""`Model.rivals` with one weight of 1; the result is linear in the weights."""

MATCHES: Final = signals.SIGNALS[: signals.SIGNALS.index("length")]
"""Signals with weights of at least 0: more is never worse."""
BY_HAND: Final = {
    "in_window": {"mean": 0.0, "deviation": 1.0, "value": [1.0, 1.0, 1.0]},
    "importance": {"mean": 0.6, "deviation": 1.0, "value": [0.5, 0.5, 0.5]},
    "use": {"mean": 0.0, "deviation": 2.0, "value": [0.1, 0.1, 0.1]},
    "of_other": {"mean": 0.0, "deviation": 1.0, "value": [-10.0, -10.0, -10.0]},
}
"""Weights set by hand, because no collection measures them: a match of the named time counts like a good
match, importance and use only break ties, and statements of others about themselves never answer a
question about the asker."""
LEARNT: Final = {("in_window", "statement")}
"""Those of them that the collection of memories measures."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question: the signals of its candidates, which of them are answers, the number of answers."""

    group: str
    text: str
    kind: str
    held_out: bool
    shown: list[str]
    measured: NDArray[np.float32]
    right: NDArray[np.bool_]
    answers: int
    bm25: float
    dense: float


def lines(path: Path) -> list[dict[str, Any]]:
    if path.exists():
        content = path.read_bytes()
    else:
        content = gzip.decompress(path.with_name(path.name + ".gz").read_bytes())
    return [json.loads(line) for line in content.splitlines()]


def embedded(texts: Sequence[str], cache: Path) -> NDArray[np.float32]:
    """Vectors of texts by the default embedder, kept in `cache` between runs."""
    digest = hashlib.sha256("\0".join((MODEL, *texts)).encode()).hexdigest()[:16]
    path = cache / f"{digest}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
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
        self.importance = np.array(
            [np.nan if author_of(d) else d.get("importance", 0.6) for d in documents], np.float32
        )
        contents = [searched(document) for document in documents]
        self.words = [text.keywords(content)[:2_000] for content in contents]
        times = [moment(d.get("date")) for d in documents]
        self.at = np.array([time.timestamp() if time else np.nan for time in times])
        traits = np.array([traits(d["text"]) for d in documents])
        self.question, self.number, self.date, self.place = (traits & b > 0 for b in (1, 2, 4, 8))
        self.session = self._sessions(documents)
        self.dense = dense
        self.window = self._windows()
        self.postings: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for row, content in enumerate(contents):
            for term, weight in zip(*sparse_document(content), strict=True):
                self.postings[term].append((row, weight))
        self.frequency: dict[str, int] = defaultdict(int)
        for spoken in self.words:
            for word in set(spoken):
                self.frequency[word] += 1

    @staticmethod
    def _sessions(documents: list[dict[str, Any]]) -> NDArray[np.int64]:
        numbers: dict[str, int] = {}
        names = [author_of(d) and (d.get("session") or d.get("date")) for d in documents]
        return np.array([numbers.setdefault(n, len(numbers)) if n else -1 for n in names])

    def beside(self, row: int, step: int) -> int:
        """The row at this distance in the same session, or -1."""
        other = row + step
        inside = 0 <= other < len(self.session) and self.session[row] >= 0
        return other if inside and self.session[other] == self.session[row] else -1

    def _windows(self) -> NDArray[np.float32]:
        total = self.dense.copy()
        for row in range(len(total)):
            for step in (-1, 1):
                if (other := self.beside(row, step)) >= 0:
                    total[row] += self.dense[other]
        return total / np.linalg.norm(total, axis=1, keepdims=True)

    def bm25(self, question: str) -> NDArray[np.float32]:
        scores = np.zeros(len(self.dense), dtype=np.float32)
        for term, weight in zip(*sparse_query(question), strict=True):
            found = self.postings.get(term, [])
            rarity = np.log1p((len(scores) - len(found) + 0.5) / (len(found) + 0.5))
            for row, share in found:
                scores[row] += weight * rarity * share
        return scores

    def pool(self, bm25: NDArray[np.float32], dense: NDArray[np.float32]) -> list[int]:
        """The candidate rows, chosen as in `recall`."""
        rankings = {
            "words": [str(r) for r in np.argsort(-bm25, kind="stable")[:DEPTH] if bm25[r] > 0],
            "meaning": [str(r) for r in np.argsort(-dense, kind="stable")[:DEPTH]],
        }
        best = [int(row) for row in fusion.fuse(rankings, {})[:NEIGHBOURS_OF_BEST]]
        near = [self.beside(row, step) for row in best for step in (-1, 1)]
        rankings["beside"] = [str(row) for row in dict.fromkeys(near) if row >= 0]
        return [int(row) for row in fusion.fuse(rankings, {})[:MAX_CANDIDATES]]


def ndcg(right: Sequence[bool], answers: int) -> float:
    """nDCG@10 of answers in order; 0 where there is none."""
    gains = 1 / np.log2(np.arange(2, 12))
    found = gains[: len(right)][np.asarray(right[:10], bool)].sum()
    return float(found / max(gains[:answers].sum(), gains[0]))


@dataclass(frozen=True, slots=True)
class Question:
    """Analyse a question as `recall` does.

    `text` is what is embedded and searched for, with the other names of those it names; `words` are
    what the ranker compares, one name for each; `same` are words to read as another one.
    """

    id: str
    asked: str
    text: str
    words: tuple[str, ...]
    same: dict[str, str]
    row: dict[str, Any]


def understood(row: dict[str, Any], known: frozenset[str]) -> Question:
    """Analyse a question; `known` are the words of its scope."""
    said = rewrite_idioms(row["text"])
    heard = text.words(said)
    groups = [[text.fold(n) for n in names] for names in row.get("names", ())]
    groups = [names for names in groups if not set(heard).isdisjoint(names)]
    if row.get("user") and is_first_person(said):
        groups.append([text.fold(row["user"])])
    groups = [[name for name in names if name in known] for names in groups]
    added = [name for names in groups for name in names if name not in heard]
    first = [names[0] for names in groups if names]
    same = {other: names[0] for names in groups for other in names[1:]}
    words = text.content_words(" ".join((said, *first)))
    return Question(row["id"], said, " ".join((said, *added)), tuple(words), same, row)


def cases(folder: Path, limit: int, cache: Path) -> Iterator[Case]:
    """The questions of a collection with an answer or certainly none, about `limit` at most."""
    documents = lines(folder / "corpus.jsonl")
    rows = lines(folder / "queries.jsonl")
    rows = rows[:: max(1, round(len(rows) / limit))]
    answers: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document = line.split("\t")[:2]
        answers[query].add(document)
    said = [
        embedding_text(d["text"], author_of(d), moment(d.get("date")) if author_of(d) else None)
        for d in documents
    ]
    dense = embedded(said, cache)
    by_scope: dict[str, list[int]] = defaultdict(list)
    for row, document in enumerate(documents):
        by_scope[document.get("scope") or ""].append(row)
    scopes = {n: Scope([documents[r] for r in rows], dense[rows]) for n, rows in by_scope.items()}
    wanted = [
        understood(row, frozenset(scopes[row.get("scope") or ""].frequency))
        for row in rows
        if answers[row["id"]] or row.get("type") == "none"
    ]
    asked = embedded([question.text for question in wanted], cache)
    vocabulary = sorted(
        {w for scope in scopes.values() for w in scope.frequency}
        | {w for question in wanted for w in question.words}
    )
    space = shipped(MODEL)
    assert space is not None
    known = Words(
        {word: row for row, word in enumerate(vocabulary)},
        WordVectors.of(space.place(embedded(vocabulary, cache))),
        np.array([topics_of(word) for word in vocabulary], np.uint64),
    )
    for question, vector in zip(wanted, asked, strict=True):
        scope = scopes[question.row.get("scope") or ""]
        right = {scope.ids[id] for id in answers[question.id] if id in scope.ids}
        group = f"{folder.name}/{question.row.get('scope') or question.row.get('type')}"
        yield measure(scope, question, vector, right, group, known)


@dataclass(frozen=True, slots=True)
class Words:
    """Every word of a collection: row, vector and topics."""

    ids: dict[str, int]
    vectors: WordVectors
    topics: NDArray[np.uint64]


def measure(
    scope: Scope,
    question: Question,
    vector: NDArray[np.float32],
    right: set[int],
    group: str,
    known: Words,
) -> Case:
    """The candidates of one question with their signals."""
    bm25, dense = scope.bm25(question.text), scope.dense @ vector
    rows = scope.pool(bm25, dense)
    listed = list(rows)
    near = [[scope.beside(row, step) for step in (-2, -1, 1, 2)] for row in rows]
    listed += sorted({other for four in near for other in four if other >= 0} - set(rows))
    place = {row: position for position, row in enumerate(listed)} | {-1: -1}
    lengths = [len(scope.words[row]) for row in listed]
    asked = [known.ids[word] for word in question.words]
    counts = np.array([scope.frequency.get(word, 0) for word in question.words])
    shown = np.sort(bm25)[-DEPTH:].min()
    day = moment(question.row.get("date"))
    window = parse_window(question.asked, now=day, timezone="Europe/Paris") if day else None
    query = QueryFeatures(
        question.words,
        known.vectors[np.array(asked)],
        signals.rarity(counts, len(scope.dense)),
        asks(question.asked),
        (window.start.timestamp(), window.end.timestamp()) if window else None,
        tuple(topics_of(word) for word in question.words),
    )
    same = {known.ids[other]: known.ids[name] for other, name in question.same.items()}
    ids = [known.ids[word] for row in listed for word in scope.words[row]]
    texts = Texts(np.array([same.get(id, id) for id in ids], np.int64), np.cumsum([0, *lengths]))
    candidates = CandidateFeatures(
        dense=dense[rows],
        window=scope.window[rows] @ vector,
        bm25=np.where(bm25[rows] >= shown, bm25[rows], 0.0),
        vectors=known.vectors,
        texts=texts,
        neighbours=np.array([[place[other] for other in four] for four in near]),
        question=scope.question[listed],
        number=scope.number[rows],
        date=scope.date[rows],
        authors=[scope.authors[row] for row in rows],
        session=scope.session[rows],
        at=scope.at[rows],
        importance=scope.importance[rows],
        place=scope.place[rows],
        topics=known.topics[texts.ids],
    )
    return Case(
        group,
        question.asked,
        str(question.row.get("type", "")),
        question.row.get("split") == "held out",
        [scope.documents[row]["text"] for row in rows],
        signals.measure(query, candidates),
        np.isin(rows, list(right)),
        len(right),
        ndcg([r in right for r in np.argsort(-bm25, kind="stable")[:10]], len(right)),
        ndcg([r in right for r in np.argsort(-dense, kind="stable")[:10]], len(right)),
    )


def learn(collections: Sequence[Sequence[Case]]) -> Model:
    """Fit a model on questions. All collections have the same weight, independent of size.

    Each question is seen twice: with all its candidates, and with a few at random, so that the
    probabilities also hold in a store of a few memories.
    """
    usual = _usual([case.measured for questions in collections for case in questions])
    nothing = np.zeros((len(FORMS), len(signals.SIGNALS), len(WEIGHT_KINDS)), np.float32)
    empty = Model(usual, nothing, 0.0, NO_RIVALS)
    chance = np.random.default_rng(0)
    blocks: list[NDArray[np.float32]] = []
    right: list[NDArray[np.bool_]] = []
    weights: list[tuple[float, float]] = []
    for questions in collections:
        share = 1 / (len(questions) * len(collections))
        for case in questions:
            few = chance.permutation(len(case.right))[:FEW]
            for rows, weight in ((slice(None), share), (few, share / 4)):
                blocks.append(_columns(case.measured[rows], usual))
                right.append(case.right[rows])
                weights.append((weight, weight * bool(right[-1].any())))
    sizes = np.array([len(block) for block in blocks])
    starts = np.repeat([intercept(empty, size) for size in sizes], sizes)
    solved = _minimise(
        np.concatenate(blocks), np.concatenate(right), sizes, np.array(weights), starts
    )
    shape = (len(WEIGHT_KINDS), len(FORMS), len(signals.SIGNALS))
    learnt = np.moveaxis(solved[:-1].reshape(shape), 0, 2).astype(np.float32)
    for name, entry in BY_HAND.items():
        for number, kind in enumerate(WEIGHT_KINDS):
            if (name, kind) not in LEARNT:
                learnt[0, signals.SIGNALS.index(name), number] = entry["value"][number]
    return Model(usual, learnt, float(solved[-1]), NO_RIVALS)


@dataclass(frozen=True, slots=True)
class Unseen:
    """A question, and the log-odds of its candidates by weights that saw nothing of its fold: of
    all of them, and of `few`, as in a store that holds no more."""

    fold: int
    case: Case
    odds: NDArray[np.float32]
    few: NDArray[np.int64]
    few_odds: NDArray[np.float32]


def unseen(collections: dict[str, list[Case]], folds: int) -> dict[str, list[Unseen]]:
    """The questions of each collection, scored by weights learnt on the other folds."""
    groups = sorted({case.group for questions in collections.values() for case in questions})
    fold = {group: number % folds for number, group in enumerate(groups)}
    chance = np.random.default_rng(1)
    found: dict[str, list[Unseen]] = {name: [] for name in collections}
    for left in range(folds):
        model = learn([[c for c in q if fold[c.group] != left] for q in collections.values()])
        for name, questions in collections.items():
            mine = [case for case in questions if fold[case.group] == left]
            found[name] += [_seen_by(model, case, left, chance) for case in mine]
    return found


def _seen_by(model: Model, case: Case, fold: int, chance: np.random.Generator) -> Unseen:
    few = chance.permutation(len(case.right))[:FEW]
    if chance.random() < 0.5:
        # In half of the small stores, the answer is there.
        few = np.unique(np.append(np.flatnonzero(case.right)[:2], few[:-2]))
    return Unseen(
        fold, case, own_log_odds(model, case.measured), few, own_log_odds(model, case.measured[few])
    )


def learn_rivals(collections: Sequence[Sequence[Unseen]]) -> NDArray[np.float32]:
    """The penalty for rivals and its compensation, as in `Model.rivals`.

    Nothing of statements: answers to held-out memories were found less often with it than without.
    """
    columns: list[NDArray[np.float32]] = []
    odds: list[NDArray[np.float32]] = []
    right: list[NDArray[np.bool_]] = []
    weights: list[NDArray[np.float64]] = []
    for questions in collections:
        for each in questions:
            measured, answers = each.case.measured, each.case.right
            for rows, own, weight in (
                (np.arange(len(answers)), each.odds, 1.0),
                (each.few, each.few_odds, 0.25),
            ):
                others = rival_log_odds(own)
                changes = [rival_adjustment(unit, measured[rows], others) for unit in UNITS]
                columns.append(np.stack(changes, axis=1))
                odds.append(own)
                right.append(answers[rows])
                weights.append(np.full(len(rows), weight / len(questions)))
    values, before = np.concatenate(columns), np.concatenate(odds)
    truth, each = np.concatenate(right).astype(np.float64), np.concatenate(weights)

    def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        after = before + values @ point
        slope = each * (1 / (1 + np.exp(-after)) - truth)
        return float((each * (np.logaddexp(0, after) - truth * after)).sum()), values.T @ slope

    bounds = 2 * [(0.0, 0.0) if kind == "statement" else (None, None) for kind in WEIGHT_KINDS]
    first = np.zeros(len(bounds))
    solved = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds)
    return solved.x.reshape(2, len(WEIGHT_KINDS)).astype(np.float32)


def _usual(measured: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Mean and standard deviation of each signal where it is present; 0 if it never is."""
    values = np.concatenate(measured)
    present = ~np.isnan(values)
    counts = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, values, 0).sum(axis=0, dtype=np.float64) / counts
    squares = np.where(present, values - mean, 0) ** 2
    usual = np.stack([mean, np.sqrt(squares.sum(axis=0) / counts)]).astype(np.float32)
    for name, entry in BY_HAND.items():
        usual[:, signals.SIGNALS.index(name)] = entry["mean"], entry["deviation"]
    return usual


def _columns(measured: NDArray[np.float32], usual: NDArray[np.float32]) -> NDArray[np.float32]:
    """Shape (n, kinds * forms * signals): the features as seen by the weights of each kind."""
    flat = np.moveaxis(standardise(measured, usual), 1, 0).reshape(len(measured), -1)
    return np.concatenate([flat * share[:, None] for share in blend(measured).T], axis=1)


def _bounds() -> list[tuple[float | None, float | None]]:
    """The range of each weight, in the order of `_columns`, and of the bias."""
    return [
        *(_range(k, f, n) for k in WEIGHT_KINDS for f in FORMS for n in signals.SIGNALS),
        (None, None),
    ]


def _range(kind: str, form: str, name: str) -> tuple[float | None, float | None]:
    if name in MATCHES:
        return 0.0, None
    if form == "value" and (name, kind) in LEARNT:
        return 0.0, None
    if form != "value" or name in BY_HAND:
        return 0.0, 0.0
    return None, None


def _minimise(
    values: NDArray[np.float32],
    right: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    weights: NDArray[np.float64],
    priors: NDArray[np.float64],
) -> NDArray[np.float64]:
    starts = np.cumsum(sizes) - sizes
    truth = right.astype(np.float64)
    share = truth / np.repeat(np.maximum(np.add.reduceat(truth, starts), 1), sizes)
    each, whole = np.repeat(weights, sizes, axis=0).T

    def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = (values @ point[:-1].astype(np.float32)).astype(np.float64) + point[-1] + priors
        binary = np.logaddexp(0, odds) - truth * odds
        exponents = np.exp(odds - np.repeat(np.maximum.reduceat(odds, starts), sizes))
        chosen = exponents / np.repeat(np.add.reduceat(exponents, starts), sizes)
        order = -share * np.log(chosen + 1e-12)
        decay = DECAY * point[:-1] @ point[:-1]
        total = (each * binary + ORDER_SHARE * whole * order).sum() + decay
        slope = each * (1 / (1 + np.exp(-odds)) - truth) + ORDER_SHARE * whole * (chosen - share)
        down = values.T @ slope.astype(np.float32) + 2 * DECAY * point[:-1]
        return float(total), np.append(down, slope.sum())

    first = np.zeros(values.shape[1] + 1)
    first[-1] = -4.0
    options = {"maxiter": 200}
    solved = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=_bounds(), options=options)
    return solved.x


def figures(questions: Sequence[Case], scores: Sequence[NDArray[np.float64]]) -> dict[str, float]:
    """nDCG@10, recall@10, hit@1 and `found` (an answer scores .5) of the questions with an answer,
    `quiet` (nothing scores .5) of those without, and the calibration error over the twenty best and
    of the best alone."""
    gains: list[float] = []
    recalls: list[float] = []
    hits: list[float] = []
    found: list[float] = []
    quiet: list[float] = []
    said: list[float] = []
    true: list[bool] = []
    first: list[float] = []
    for case, score in zip(questions, scores, strict=True):
        order = np.argsort(-score, kind="stable")
        said += score[order[:20]].tolist()
        true += case.right[order[:20]].tolist()
        if not case.answers:
            quiet.append(score.max() < 0.5)
            continue
        gains.append(ndcg(case.right[order[:10]].tolist(), case.answers))
        recalls.append(case.right[order[:10]].sum() / case.answers)
        hits.append(case.right[order[0]])
        first.append(float(score[order[0]]))
        found.append(score[case.right].max(initial=0.0) >= 0.5)
    measured = {
        "ndcg@10": gains,
        "recall@10": recalls,
        "hit@1": hits,
        "found": found,
        "quiet": quiet,
        "calibration_error": calibration_error(said, true),
        "calibration_error_of_first": calibration_error(first, hits),
    }
    return {name: round(float(np.mean(v)), 4) for name, v in measured.items() if np.size(v)}


def calibration_error(said: Sequence[float], true: Sequence[float]) -> float:
    """Expected calibration error over ten bins."""
    bins = np.minimum((np.array(said) * 10).astype(int), 9)
    errors = np.bincount(bins, np.array(said) - np.array(true), 10)
    return float(np.abs(errors).sum() / len(said))


def cross_validated(seen: dict[str, list[Unseen]]) -> dict[str, dict[str, float]]:
    """Figures of each collection, cross-validated by fold."""
    scores: dict[int, NDArray[np.float32]] = {}
    for left in {each.fold for questions in seen.values() for each in questions}:
        taught = learn_rivals([[e for e in q if e.fold != left] for q in seen.values()])
        for each in (each for q in seen.values() for each in q if each.fold == left):
            change = rival_adjustment(taught, each.case.measured, rival_log_odds(each.odds))
            scores[id(each)] = sigmoid(each.odds + change)
    return {n: figures([e.case for e in q], [scores[id(e)] for e in q]) for n, q in seen.items()}


def transferred(collections: dict[str, list[Case]]) -> dict[str, dict[str, float]]:
    """nDCG@10 on the other collections with weights learnt on one alone."""
    found: dict[str, dict[str, float]] = {}
    for source, questions in collections.items():
        model = learn([questions])
        found[source] = {
            name: figures(q, [scoring.score(c.measured, model)[0] for c in q])["ndcg@10"]
            for name, q in collections.items()
            if name != source
        }
    return found


def _entries(model: Model) -> dict[str, dict[str, Any]]:
    """A model as data: mean and deviation per signal, and its non-zero weights per form."""
    entries: dict[str, dict[str, Any]] = {}
    for column, name in enumerate(signals.SIGNALS):
        mean, deviation = (float(f"{number:.5g}") for number in model.usual[:, column])
        entries[name] = {"mean": mean, "deviation": deviation}
        for number, form in enumerate(FORMS):
            pair = [float(f"{weight:.4g}") for weight in model.weights[number, column]]
            if any(pair):
                entries[name][form] = pair
    return entries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="where vectors are kept")
    parser.add_argument("--queries", type=int, default=1_500, help="most questions a collection")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument(
        "--licence", action="append", default=[], help="NAME=LICENCE of a collection"
    )
    parser.add_argument("--transfer", action="store_true", help="also learn on each one alone")
    wanted = parser.parse_args()
    everything = {f.name: list(cases(f, wanted.queries, wanted.cache)) for f in wanted.folders}
    learnable = {n: [c for c in q if not c.held_out] for n, q in everything.items()}
    collections = {n: q for n, q in learnable.items() if q}
    for name, questions in collections.items():
        ceiling = np.mean([c.right.sum() / c.answers for c in questions if c.answers])
        bm25, dense = (
            np.mean([getattr(c, k) for c in questions if c.answers]) for k in ("bm25", "dense")
        )
        print(f"{name}: {len(questions)} bm25 {bm25:.4f} dense {dense:.4f} ceiling {ceiling:.4f}")
    seen = unseen(collections, wanted.folds)
    measured = cross_validated(seen)
    print(json.dumps(measured, indent=1), flush=True)
    taught = learn_rivals(list(seen.values()))
    model = replace(learn(list(collections.values())), rivals=taught)
    held_out = {
        name: figures(kept, [scoring.score(case.measured, model)[0] for case in kept])
        for name, q in everything.items()
        if (kept := [case for case in q if case.held_out])
    }
    print(json.dumps({"held out": held_out}, indent=1), flush=True)
    provenance = {
        "program": "benchmarks/learn_rank.py",
        "collections": {n: {"questions": len(q), **measured[n]} for n, q in collections.items()},
        "held_out": held_out,
        "licences": dict(item.split("=", 1) for item in wanted.licence),
        "cross_validation": f"{wanted.folds} folds by conversation or article",
        "embedder": MODEL,
        "by_hand": list(BY_HAND),
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }
    taken, given = ([float(f"{weight:.4g}") for weight in row] for row in model.rivals)
    entries = {
        "provenance": provenance,
        "bias": model.bias,
        "rivals": {"taken": taken, "given": given},
        "signals": _entries(model),
    }
    wanted.output.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    if wanted.transfer:
        print(json.dumps(transferred(collections), indent=1))


if __name__ == "__main__":
    main()
