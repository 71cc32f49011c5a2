"""Learn the weights of `hippocampe.updates.learnt` from records of what became of older statements.

    python benchmarks/learn_decide.py FILE... --pairs PAIRS --output src/hippocampe/data/decide.npz --cache CACHE

Files and labels are those of `benchmarks/updates.py`; those named `minimal…` hold pairs that differ by a word.
Pairs of statements of different records are added as pairs to keep, because that is what a store is full of.
A linear model and boosted trees are learnt on the same evidence, and their mean decides.

Everything is measured on records whose topic the weights have not seen. The thresholds are the ones that miss
least on natural records within the budgets of wrong merges below; minimal pairs count as a budget only.
Needs scikit-learn (`benchmarks/requirements.txt`); the product does not.
"""

from __future__ import annotations

import hashlib
import json
import platform
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import common
from hippocampe.embed.local import MODEL, LocalEmbedder
from hippocampe.embed.word_space import WordVectors, is_literal, shipped, signature
from hippocampe.engine.vocabulary import text_words
from hippocampe.language.reading.statement import Reading, read
from hippocampe.language.text import keywords
from hippocampe.updates.alignment import Alignment, align
from hippocampe.updates.decide import Decision, Verdict, decide
from hippocampe.updates.evidence import evidence_of
from hippocampe.updates.learnt import (
    LEAVES,
    LIMIT,
    MERGING,
    OUTCOMES,
    Model,
    Trees,
    matrix,
    to_arrays,
)  # fmt: skip
from hippocampe.updates.weighing import (
    LEAST_COSINE,
    conclude,
    likeliest,
    veto,
    worth_weighing,
)
from updates import Outcome, Record, figures, pairs, printed, records

FOLDS: Final = 5
WEIGHTS: Final = {"natural": 1.0, "minimal": 0.4, "sentences": 0.12, "apart": 1.0, "mixed": 1.0}
"""Weight of one pair by where it is from."""
APART: Final = 5
"""Pairs with statements of other topics, for each new statement, and as many about the same person."""
SAMPLED: Final = 60
"""Records of which older statements about people are told of another person."""
ALIKE: Final = 0.93
"""Statements of two records that are nearer than this may be one statement."""
SEPARATE, MINIMAL, SENTENCES, IN_STORE, MIXED = 0.02, 0.03, 0.01, 0.005, 0.01
"""Budgets: the share of pairs to keep that may be merged, by where they are from."""
NEITHER: Final = 0.09
"""The share of corrections that may be neither merged nor listed for review."""
REVIEWS: Final = tuple(float(each) for each in np.round(np.arange(0.40, 0.015, -0.01), 2))
MARGINS: Final = (0.0, 0.1, 0.2)
"""How much surer it must be of two long statements."""
MERGING_OUTCOMES: Final = OUTCOMES[:MERGING]
DEVELOPMENT: Final = ("fr", "en", "cross")
CHOICES: Final = tuple(float(each) for each in np.round(np.arange(0.40, 0.95, 0.02), 2))
REGULARISATION: Final = 0.003
TREES: Final = {
    "max_iter": 120, "learning_rate": 0.07, "max_leaf_nodes": LEAVES, "min_samples_leaf": 15,
    "l2_regularization": 5, "max_features": 0.3, "max_bins": 96, "early_stopping": False,
}  # fmt: skip
KEPT: Final = 140
"""How much of the evidence is used: with more of it nothing gets better, with 100 kinds it gets worse."""


@dataclass(slots=True)
class Pair:
    """An older statement and a new one, with what is known of them."""

    old: str
    new: str
    truth: str
    source: str
    topic: str
    record: int = -1
    position: int = 0
    aligned: Alignment = field(init=False)
    told: dict[str, float] = field(init=False)
    rule: Decision = field(init=False)

    @property
    def nominated(self) -> bool:
        """Whether the product weighs it."""
        return worth_weighing(self.old, set(keywords(self.new)), self.told["cosine"])


class Vectors:
    """Vectors of texts and of words, kept in a folder between runs."""

    def __init__(self, texts: Sequence[str], cache: Path) -> None:
        self.dense = dict(zip(texts, _embedded(texts, cache), strict=True))
        spoken = sorted({w for text in texts for w in text_words(text) if not is_literal(w)})
        space = shipped(MODEL)
        assert space is not None
        quantised = WordVectors.of(space.place(_embedded(spoken, cache)))
        placed = quantised[np.arange(len(spoken))]
        self.words = dict(zip(spoken, placed, strict=True))
        self.width = placed.shape[1]

    def of(self, text: str, reading: Reading) -> NDArray[np.float32]:
        """Vectors of the content words of a statement, as the product finds them."""
        known, nothing = set(text_words(text)), np.zeros(self.width, np.float32)
        rows = [
            nothing
            if word not in known
            else signature(word, self.width)
            if is_literal(word)
            else self.words[word]
            for word in reading.words
        ]
        return np.array(rows, np.float32)


def _embedded(texts: Sequence[str], cache: Path) -> NDArray[np.float32]:
    digest = hashlib.sha256("\0".join((MODEL, *texts)).encode()).hexdigest()[:16]
    path = cache / f"{digest}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(path, LocalEmbedder().embed(list(texts)))
    return np.load(path)


def pairs_of(found: Sequence[Record], vectors: Vectors) -> list[Pair]:
    """Every older statement of a record with the new one."""
    made: list[Pair] = []
    for number, record in enumerate(found):
        target = record.target
        if target is None and record.label != "separate":
            near = [vectors.dense[text] @ vectors.dense[record.after] for text in record.before]
            target = int(np.argmax(near))
        source = (
            "minimal" if "minimal" in record.file else "natural" if record.topic else "sentences"
        )
        topic = record.topic or f"sentences {number // 40}"
        for at, text in enumerate(record.before):
            truth = record.label if target in (None, at) else "separate"
            truth = "partial" if truth == "unsure" else truth
            made.append(Pair(text, record.after, truth, source, topic, number, at))
    return made


def pairs_apart(found: Sequence[Record], vectors: Vectors) -> list[Pair]:
    """New statements with the nearest older ones of other topics, which stay beside them.

    A store tells much of the same few people. So the older statements of a person are also told of the
    person whom the new one is about. Two statements of the user, or in two languages, are a source of
    their own, "mixed": a few of them may conflict.
    """
    natural = [(n, r) for n, r in enumerate(found) if _is_natural(r)]
    old = [(record.topic, text, read(text)) for _, record in natural for text in record.before]
    dense = np.array([vectors.dense[text] for _, text, _ in old])
    made: list[Pair] = []
    for _, record in natural:
        new, terms = read(record.after), set(keywords(record.after))
        cosines = dense @ vectors.dense[record.after]
        near: dict[str, list[str]] = {"apart": [], "mixed": []}
        for row in np.argsort(-cosines, kind="stable"):
            topic, text, reading = old[row]
            if cosines[row] < LEAST_COSINE or min(map(len, near.values())) >= APART:
                break
            alone = reading.language == new.language and not (_of_user(new) and _of_user(reading))
            listed = near["apart" if alone else "mixed"]
            fits = cosines[row] <= ALIKE and topic != record.topic and len(listed) < APART
            if fits and worth_weighing(text, terms, float(cosines[row])):
                listed.append(text)
        retold = [
            (float(vectors.dense[text] @ vectors.dense[record.after]), text)
            for text in _retold(record, natural)
        ]
        near["apart"] += [
            text
            for cosine, text in sorted(retold, reverse=True)[:APART]
            if worth_weighing(text, terms, cosine)
        ]
        made += [
            Pair(text, record.after, "separate", source, record.topic)
            for source, texts in near.items()
            for text in texts
        ]
    return made


def texts_of(found: Sequence[Record]) -> list[str]:
    """Every statement of the pairs, in order."""
    natural = [(number, record) for number, record in enumerate(found) if _is_natural(record)]
    texts = {text for record in found for text in (*record.before, record.after)}
    return sorted(texts.union(*(_retold(record, natural) for _, record in natural)))


def _of_user(reading: Reading) -> bool:
    own = reading.subject in ("speaker", "own") or "first_person" in reading.signs
    return own or any("user" in token.roles for token in reading.tokens)


def _is_natural(record: Record) -> bool:
    return bool(record.topic) and "minimal" not in record.file


def _retold(record: Record, natural: Sequence[tuple[int, Record]]) -> list[str]:
    """Older statements about people of other topics, told of the person a new one is about."""
    name = _person(record.after)
    if name is None:
        return []
    language = read(record.after).language
    chosen = random.Random(record.after).sample(natural, min(SAMPLED, len(natural)))
    return [
        text.replace(other, name, 1)
        for _, each in chosen
        if each.topic != record.topic
        for text in each.before
        if read(text).language == language and (other := _person(text)) and other != name
    ]


def _person(text: str) -> str | None:
    """The name that a statement begins with, if its verb follows."""
    first = text.split()[0]
    reading = read(text)
    return first if reading.tokens[0].name and reading.verb == 1 and first.isalpha() else None


def tell(found: Iterable[Pair], vectors: Vectors) -> None:
    """Add the evidence and the rules' decision to each pair."""
    for pair in found:
        old, new = read(pair.old), read(pair.new)
        ours, theirs = vectors.of(pair.old, old), vectors.of(pair.new, new)
        pair.aligned = align(old, new, ours, theirs)
        cosine = float(vectors.dense[pair.old] @ vectors.dense[pair.new])
        pair.told = evidence_of(pair.aligned, cosine, ours, theirs)
        pair.rule = decide(pair.new, pair.old)


def learn(
    found: Sequence[Pair],
    values: NDArray[np.float32],
    names: Sequence[str],
    weights: Mapping[str, float] = WEIGHTS,
    runs: int = 1,
) -> Model:
    """Fit both models on pairs, whose evidence is `values`, shape (pairs, names).

    The trees are the mean of several runs, which draw other evidence for each split.
    """
    truth = np.array([OUTCOMES.index(pair.truth) for pair in found])
    weight = np.array([weights[pair.source] for pair in found])
    mean, deviation = values.mean(axis=0), values.std(axis=0) + 1e-3
    scaled = np.clip((values - mean) / deviation, -LIMIT, LIMIT)
    linear = LogisticRegression(C=REGULARISATION, max_iter=300)
    linear.fit(scaled, truth, sample_weight=weight)
    boosted = [HistGradientBoostingClassifier(**TREES, random_state=run) for run in range(runs)]
    for each in boosted:
        each.fit(values, truth, sample_weight=weight)
    return Model(
        names=tuple(names),
        mean=mean.astype(np.float32),
        deviation=deviation.astype(np.float32),
        weights=linear.coef_.astype(np.float32),
        bias=linear.intercept_.astype(np.float32),
        trees=_trees(boosted),
        embedder=MODEL,
        thresholds={},
    )


def _telling(found: Sequence[Pair], values: NDArray[np.float32]) -> NDArray[np.int64]:
    """The places of the evidence that both models use most, in order."""
    model = learn(found, values, [str(at) for at in range(values.shape[1])])
    splits = np.bincount(model.trees.feature, model.trees.threshold < np.inf, values.shape[1])
    linear = np.abs(model.weights).sum(axis=0)
    ranks = (-splits).argsort().argsort() + (-linear).argsort().argsort()
    return np.sort(np.argsort(ranks, kind="stable")[:KEPT])


def _trees(boosted: Sequence[HistGradientBoostingClassifier]) -> Trees:
    """The inner nodes and the leaves of all trees; their mean over the runs."""
    nodes: list[tuple[int, float, int]] = []
    first: list[int] = []
    leaves: list[list[float]] = []
    for tree in (tree for run in boosted for step in run._predictors for tree in step):
        first.append(len(nodes))
        leaves.append([])
        _walk(tree.nodes, 0, nodes, leaves[-1])
        if len(nodes) == first[-1]:
            # One leaf: a node that always sends to it.
            nodes.append((0, float("inf"), 1))
    feature, threshold, right = zip(*nodes, strict=True)
    return Trees(
        feature=np.array(feature, np.int64),
        threshold=np.array(threshold, np.float32),
        right=np.array(right, np.uint8),
        first=np.array(first, np.int64),
        leaves=np.array([each + [0.0] * (LEAVES - len(each)) for each in leaves], np.float32)
        / len(boosted),
        base=np.ravel(boosted[0]._baseline_prediction).astype(np.float32),
    )


def _walk(
    tree: NDArray[Any], at: int, nodes: list[tuple[int, float, int]], leaves: list[float]
) -> int:
    """Add what is below a node; return its leaves, one bit each."""
    node = tree[at]
    if node["is_leaf"]:
        leaves.append(float(node["value"]))
        return 1 << len(leaves) - 1
    place = len(nodes)
    nodes.append((0, 0.0, 0))
    left = _walk(tree, int(node["left"]), nodes, leaves)
    right = _walk(tree, int(node["right"]), nodes, leaves)
    remaining = (1 << LEAVES) - 1 & ~left
    nodes[place] = int(node["feature_idx"]), float(node["num_threshold"]), remaining
    return left | right


def folds_of(found: Sequence[Pair]) -> NDArray[np.int64]:
    """The fold of each pair: folds share no topic and are of like size."""
    sizes = Counter(pair.topic for pair in found if pair.record >= 0)
    filled, fold = [0] * FOLDS, dict[str, int]()
    for topic, size in sorted(sizes.items(), key=lambda each: (-each[1], each[0])):
        fold[topic] = filled.index(min(filled))
        filled[fold[topic]] += size
    return np.array([fold[pair.topic] for pair in found])


def unseen(
    found: Sequence[Pair],
    values: NDArray[np.float32],
    names: Sequence[str],
    weights: Mapping[str, float] = WEIGHTS,
    share: float = 1.0,
    runs: int = 1,
) -> NDArray[np.float32]:
    """Probabilities of each pair by weights that saw nothing of its fold, shape (pairs, outcomes).

    With a share, only as many of the other pairs are learnt from, those of a new statement together.
    """
    fold = folds_of(found)
    drawn = np.array([random.Random(pair.new).random() < share for pair in found])
    shares = np.zeros((len(found), len(OUTCOMES)), np.float32)
    for left in range(FOLDS):
        taught = np.flatnonzero((fold != left) & drawn)
        model = learn([found[at] for at in taught], values[taught], names, weights, runs)
        asked = np.flatnonzero(fold == left)
        told = [dict(zip(names, values[at].tolist(), strict=True)) for at in asked]
        shares[asked] = model.probabilities(told)
    return shares


def outcomes(
    records_: Sequence[Record],
    found: Sequence[Pair],
    shares: NDArray[np.float32],
    thresholds: Mapping[str, float],
) -> list[Outcome]:
    """What becomes of the records: the rules first, then the probabilities, as in the product."""
    made: list[tuple[set[int], set[int], set[int]]] = [(set(), set(), set()) for _ in records_]
    listed: dict[int, float] = {}
    for pair, share in zip(found, shares, strict=True):
        if pair.record < 0:
            continue
        decision = pair.rule
        if decision.verdict not in (Verdict.UPDATED, Verdict.REINFORCED):
            if not pair.nominated:
                continue
            decision = conclude(pair.aligned, pair.told, share, decision, thresholds)
        replaced, stated, doubtful = made[pair.record]
        if decision.verdict is Verdict.UPDATED:
            replaced.add(pair.position)
        elif decision.verdict is Verdict.REINFORCED:
            stated.add(pair.position)
        elif decision.verdict is Verdict.UNSURE:
            # The likeliest pair alone is listed.
            likely = decision.probability or 1.0
            if likely >= listed.get(pair.record, 0.0):
                doubtful.clear()
                doubtful.add(pair.position)
                listed[pair.record] = likely
    return [
        Outcome(frozenset(r), frozenset(s), frozenset() if r or s else frozenset(u), "")
        for r, s, u in made
    ]


def thresholds_of(
    records_: Sequence[Record], found: Sequence[Pair], shares: NDArray[np.float32]
) -> dict[str, float]:
    """The thresholds that miss least within the budgets.

    Args:
        records_: The records.
        found: Their pairs.
        shares: The probability of each outcome, shape (pairs, outcomes).
    """
    left = [
        at
        for at, pair in enumerate(found)
        if pair.rule.verdict not in (Verdict.UPDATED, Verdict.REINFORCED)
        and pair.nominated
        and veto(pair.aligned, pair.told, pair.rule) is None
    ]
    kinds = np.array([MERGING_OUTCOMES.index(likeliest(shares[at], found[at].told)) for at in left])
    mass = shares[left][:, :MERGING].sum(axis=1)
    long = np.array([bool(found[at].told["long"]) for at in left])
    merging = np.array([found[at].truth in MERGING_OUTCOMES for at in left])
    wanted = np.array([found[at].truth for at in left])
    natural = np.array([found[at].source == "natural" for at in left])
    budgets = _budgets(records_, found, left)
    best, chosen = float("inf"), None
    for update, same, detail, margin in product(CHOICES, CHOICES, CHOICES, MARGINS):
        limits = np.array([update, same, detail])[kinds] + margin * long
        merged = mass >= limits
        if any(len(np.unique(owner[merged[rows]])) > most for rows, owner, most in budgets):
            continue
        missed = natural & merging & ~merged
        cost = sum(
            share * (missed & (wanted == outcome)).sum() / (natural & (wanted == outcome)).sum()
            for outcome, share in (("update", 1.0), ("same", 0.5), ("detail", 0.5))
        )
        if cost < best:
            best, chosen = cost, (update, same, detail, margin)
    if chosen is None:
        raise SystemExit("no thresholds keep the budgets of wrong merges: lower the weights.")
    thresholds = dict(zip(("update", "same", "detail", "long"), chosen, strict=True))
    return thresholds | {"review": _review(records_, found, shares, thresholds)}


def _review(
    records_: Sequence[Record],
    found: Sequence[Pair],
    shares: NDArray[np.float32],
    thresholds: Mapping[str, float],
) -> float:
    """The highest probability from which on enough of the missed corrections are listed for review.

    The least of `REVIEWS` if none lists enough.
    """
    name = "+".join(DEVELOPMENT)
    for review in REVIEWS:
        made = outcomes(records_, found, shares, {**thresholds, "review": review})
        if report(records_, made)[name]["update"]["neither"]["share"] <= NEITHER:
            break
    return review


def _budgets(
    records_: Sequence[Record], found: Sequence[Pair], left: Sequence[int]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64], float]]:
    """Per source: rows among `left` to keep, the record of each, and how many may be merged."""
    made: list[tuple[NDArray[np.int64], NDArray[np.int64], float]] = []
    kept = {number for number, record in enumerate(records_) if record.label == "separate"}
    development = {number for number in kept if records_[number].file in DEVELOPMENT}
    for source, share in (("natural", SEPARATE), ("minimal", MINIMAL), ("sentences", SENTENCES)):
        of_source = {pair.record for pair in found if pair.source == source} & kept
        for records_of in (of_source, of_source & development):
            rows = [row for row, at in enumerate(left) if found[at].record in records_of]
            owner = np.array([found[left[row]].record for row in rows], np.int64)
            made.append((np.array(rows, np.int64), owner, share * len(records_of)))
    for source, share in (("apart", IN_STORE), ("mixed", MIXED)):
        rows = [row for row, at in enumerate(left) if found[at].source == source]
        new = dict.fromkeys(pair.new for pair in found if pair.source == source)
        numbers = {text: number for number, text in enumerate(new)}
        owner = np.array([numbers[found[left[row]].new] for row in rows], np.int64)
        made.append((np.array(rows, np.int64), owner, share * len(new)))
    return made


def report(
    records_: Sequence[Record], made: Sequence[Outcome]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Figures by file, of those named first together ("dev") and of all."""
    parts: dict[str, list[int]] = defaultdict(list)
    for at, record in enumerate(records_):
        parts[record.file].append(at)
        if record.file in DEVELOPMENT:
            parts["+".join(DEVELOPMENT)].append(at)
            parts[f"{'+'.join(DEVELOPMENT)} {record.style}"].append(at)
    return {
        name: figures([records_[at] for at in rows], [made[at] for at in rows])
        for name, rows in parts.items()
    }


def main() -> None:
    """Learn, measure on unseen topics, print and store."""
    parser = common.arguments(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument(
        "--share",
        type=float,
        default=1.0,
        help="learn from this share of the statements, only to print the figures",
    )
    options = parser.parse_args()
    known = [record for path in options.files for record in records(path)]
    known += pairs(options.pairs)[::2]
    vectors = Vectors(texts_of(known), options.cache)
    found = pairs_of(known, vectors) + pairs_apart(known, vectors)
    tell(found, vectors)
    names = list(found[0].told)
    values = matrix([pair.told for pair in found], names)
    kept = _telling(found, values)
    names, values = [names[at] for at in kept], values[:, kept]
    if options.share < 1:
        some = unseen(found, values, names, share=options.share)
        limits = thresholds_of(known, found, some)
        for title, each in report(known, outcomes(known, found, some, limits)).items():
            printed(f"learnt from a share of {options.share:g}: {title}", each)
        return
    shares = unseen(found, values, names)
    thresholds = thresholds_of(known, found, shares)
    measured = report(known, outcomes(known, found, shares, thresholds))
    model = replace(learn(found, values, names), thresholds=thresholds)
    provenance = {
        "program": "benchmarks/learn_decide.py",
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
        "pairs": dict(Counter(pair.source for pair in found)),
        "cross_validated": measured,
    }
    np.savez_compressed(options.output, **to_arrays(model, provenance))
    common.save(options.out, "learn_decide", {"thresholds": thresholds, "unseen": measured})
    for title, each in measured.items():
        printed(title, each)
    print(json.dumps(thresholds), len(names), "kinds of evidence")


if __name__ == "__main__":
    main()
