"""Learn the reader: which texts answer a message, and what a new statement is to an old one, in one network.

    python benchmarks/learn_reader.py prepare --data DATA --texts FILE... --cache CACHE
    python benchmarks/learn_reader.py gather --data DATA --cache CACHE [--all]
    python benchmarks/learn_reader.py restore --cache CACHE [--name run] --output src/hippocampe/data/reader.zip
    python benchmarks/reader_fit.py --cache CACHE [--name run] [--begin RUN] [--device cuda]
    python benchmarks/learn_reader.py export --data DATA --cache CACHE [--name run] [--others RUN...] --output reader.zip
    python benchmarks/learn_reader.py calibrate --data DATA --cache CACHE --output src/hippocampe/data/reader.zip
    python benchmarks/learn_reader.py measure --data DATA --cache CACHE --output reader.zip [--out FILE]

`prepare` makes the tokenizer, cuts the base, and asks `recall` every question, whose results are the texts to read.
`gather` writes what is learnt from, without what is held out unless `--all`. `restore` makes a run of an exported file, to go
on from, with its tokenizer and base. `reader_fit.py` fits the network. `export`
writes the file of the product, rounded to 8 bits. `calibrate` learns how the score of a result follows from its score and
the reader's log-odds, on worlds that are held out, into `src/hippocampe/data/rank.json`. `measure` reads what is held out
and `data/` by the file (`reader_measures.py`). Folders: `DATA/reader`, `DATA/ask-dev` and `DATA/updates-dev`, in the forms
of `reader_data.py`. Needs `benchmarks/requirements.txt`; the product does not.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from dataclasses import astuple
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from multiprocessing import Pool
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from tokenizers import Tokenizer

import common
import reader_export
import reader_lessons
import reader_vocabulary
from hippocampe.reader.network import Head, Reader
from hippocampe.retrieval import scoring
from reader_base import FILE, PACKAGE, SHA256, Base, Weights
from reader_data import (
    LANGUAGES,
    Candidate,
    Pair,
    World,
    candidates,
    held_out,
    pairs,
    worlds,
)
from reader_export import APART, ROUNDED
from reader_measures import Read, candidate_rows, questions, ranking, statements, strangers
from reader_network import LAYERS, MAX_PIECES, PLACES, Ids, Network, logits, trained

Floats = NDArray[np.float32]
OWN: Final = Path(__file__).parent / "data"
LIMITS: Final = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
"""Probabilities from which on a text counts as given."""
KINDS: Final = {"qkv": ROUNDED, "ao": ROUNDED, "fi": ROUNDED, "fo": APART}
"""How each matrix is stored. The inputs of the last have outliers, which one scale for all would drown."""
SEEN: Final = 64
"""Pairs of statements from which the outliers are taken."""
STRENGTH: Final = 10.0
"""Inverse of the decay of the weights that `calibrate` learns."""
HIGHEST: Final = {"of_other": -0.64}
"""The highest weight of a rule; of all others 0. Worlds hardly ever tell the same of two users, as rooms do."""


class Pieces:
    """The tokenizer, with its results."""

    def __init__(self, path: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(path))
        self.tokenizer.enable_truncation(MAX_PIECES)
        self._known: dict[str, Ids] = {}

    def __call__(self, text: str) -> Ids:
        """The ids of a text, without marks."""
        if text not in self._known:
            found = self.tokenizer.encode(text, add_special_tokens=False)
            self._known[text] = np.array(found.ids, np.int32)
        return self._known[text]


def known_worlds(data: Path) -> list[World]:
    """All worlds to learn from and to measure."""
    return worlds([data / "reader", data / "ask-dev", OWN / "worlds"])


def known_pairs(data: Path) -> list[Pair]:
    """All pairs to learn from and to measure."""
    groups = sorted((data / "reader").glob("pairs-*.txt"))
    return pairs([*groups, *sorted((data / "updates-dev").glob("*.jsonl"))])


def ranked(world: World, cache: Path) -> list[list[Candidate]]:
    """What `recall` found for each question of a world."""
    path = cache / "candidates" / f"{world.name}.json"
    if not path.exists():
        found = [[astuple(each) for each in some] for some in candidates(world)]
        path.write_text(json.dumps(found))
    return [[Candidate(*each) for each in some] for some in json.loads(path.read_text())]


def prepare(options: argparse.Namespace) -> None:
    """Make the tokenizer, and ask every question."""
    cache: Path = options.cache
    (cache / "candidates").mkdir(parents=True, exist_ok=True)
    files = [*options.texts, *(path for path in options.data.rglob("*-dev/*.jsonl"))]
    files += sorted((options.data / "reader").glob("*.t*"))
    files += [*sorted((OWN / "worlds").glob("*.tsv")), *sorted((OWN / "statements").glob("*.txt"))]
    base = Base.open()
    tokenizer, rows = reader_vocabulary.cut(base, files)
    tokenizer.save(str(cache / "tokenizer.json"))
    Weights.cut(base, rows, LAYERS, PLACES).store(cache / "base.npz")
    print(len(rows), "pieces")
    with Pool() as pool:
        pool.map(partial(ranked, cache=cache), known_worlds(options.data), chunksize=1)


def gather(options: argparse.Namespace) -> None:
    """Write what is learnt from."""
    cache: Path = options.cache
    known = [*known_worlds(options.data), *worlds([options.data / "locomo-dev"])]
    known = [each for each in known if options.all or not held_out(each.name)]
    found = [each for each in known_pairs(options.data) if options.all or not held_out(each.group)]
    found += pairs(sorted((OWN / "statements").glob("*.txt")))
    both = [(world, ranked(world, cache)) for world in known]
    print(reader_lessons.store(cache / "lessons.json.gz", both, found))


def restore(options: argparse.Namespace) -> None:
    """Make a run of an exported file, with its tokenizer and its base."""
    cache: Path = options.cache
    state, tokenizer = reader_export.restored(options.output)
    tokenizer.save(str(cache / "tokenizer.json"))
    base = Base.open()
    pieces = json.loads(tokenizer.to_str())["model"]["vocab"]
    rows = [base.pieces[piece][0] for piece, _ in pieces]
    Weights.cut(base, rows, LAYERS, PLACES).store(cache / "base.npz")
    torch.save({"network": state, "steps": 0}, cache / f"{options.name}.pt")


def export(options: argparse.Namespace) -> None:
    """Write the file of the product, and compare its logits with those of the network.

    The weights are the mean of those of the run and of the `--others`, which began with the same weights.
    """
    cache: Path = options.cache
    runs = [torch.load(cache / f"{name}.pt") for name in (options.name, *options.others)]
    states = [run["network"] for run in runs]
    mean = {
        name: torch.stack([state[name].float() for state in states]).mean(0) for name in states[0]
    }
    network = trained(Weights.load(cache / "base.npz"), mean)
    pieces = Pieces(cache / "tokenizer.json")
    some = random.Random(0).sample(known_pairs(options.data), SEEN)
    apart = reader_export.outliers(network, [(pieces(each.old), pieces(each.new)) for each in some])
    model = reader_export.build(network, KINDS, apart)
    about = {
        "base": {"package": PACKAGE, "file": FILE, "sha256": SHA256, "licence": "MIT"},
        "program": "benchmarks/learn_reader.py",
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {name: version(name) for name in ("torch", "onnx", "tokenizers")},
        "layers": len(network.layers),
        "steps": [run["steps"] for run in runs],
        "pieces": len(network.words),
    }
    pieces.tokenizer.no_truncation()
    reader_export.store(options.output, model, pieces.tokenizer, about)
    print(options.output, f"{options.output.stat().st_size / 1e6:.1f} MB")
    pieces.tokenizer.enable_truncation(MAX_PIECES)
    for head, figures in _differences(options, network, pieces).items():
        print(head, json.dumps(figures))


def _differences(
    options: argparse.Namespace, network: Network, pieces: Pieces
) -> dict[str, dict[str, float]]:
    """By head: how far the logits of the file are from those of the network, and its time for a pair."""
    reader = Reader(options.output.read_bytes())
    statements = [
        (each.old, each.new) for each in pairs(sorted((OWN / "reader").glob("pairs-*.txt")))
    ]
    messages = [
        (question.line, text.line)
        for world in worlds([OWN / "reader"])
        for question in world.questions
        for text in random.Random(0).sample(list(world.texts.values()), 2)
    ]
    found: dict[str, dict[str, float]] = {}
    for head, some in (("relation", statements), ("answer", messages)):
        cut = [(pieces(one), pieces(two)) for one, two in some]
        network_logits = logits(network, cut, head)
        began = time.process_time()
        file_logits = reader.read_pairs(cast("Head", head), some)
        spent = time.process_time() - began
        best = [_decided(each) for each in (network_logits, file_logits)]
        found[head] = {
            "pairs": len(some),
            "tokens": round(float(np.mean([len(a) + len(b) + 4 for a, b in cut])), 1),
            "mean_difference": round(float(np.abs(network_logits - file_logits).mean()), 4),
            "decided_otherwise": round(float(np.mean(best[0] != best[1])), 4),
            "milliseconds": round(1e3 * spent / len(some), 2),
        }
    return found


def _decided(found: Floats) -> NDArray[Any]:
    """The likeliest outcome of each pair, or whether a text rather helps than not."""
    return found.argmax(axis=1) if found.shape[1] > 1 else found[:, 0] > 0


def measure(options: argparse.Namespace) -> None:
    """Read what is held out, and what is nowhere learnt from, by language."""
    cache: Path = options.cache
    (cache / "candidates").mkdir(parents=True, exist_ok=True)
    read = Cached(Reader(options.output.read_bytes(), options.threads))
    own = worlds([OWN / "reader", OWN / "boat"])
    known, found = known_worlds(options.data), known_pairs(options.data)
    question_groups = {"own": own, "held out": [each for each in known if held_out(each.name)]}
    pair_groups = {
        "own": pairs(sorted((OWN / "reader").glob("pairs-*.txt"))),
        "updates": pairs(sorted((OWN / "updates").glob("*.jsonl"))),
        "held out": [each for each in found if held_out(each.group)],
    }
    results: dict[str, Any] = {}
    for group in options.groups:
        results[group] = _question_figures(question_groups.get(group, []), read, cache)
        results[group] |= _pair_figures(pair_groups[group], read)
        print(group, json.dumps(results[group], indent=1), flush=True)
        common.save(options.out, "learn_reader", results)


def calibrate(options: argparse.Namespace) -> None:
    """Learn the weights of `scoring.Model.reader`, and print figures by weights that saw nothing of the world."""
    read = Cached(Reader(options.output.read_bytes(), options.threads))
    known = [each for each in known_worlds(options.data) if held_out(each.name)]
    own = worlds([OWN / "reader", OWN / "boat"])
    cases = {
        each.name: candidate_rows([each], [ranked(each, options.cache)], read)
        for each in (*known, *own)
    }
    names = [each.name for each in known]
    for name in names:
        weights = _calibrated([row for other in names if other != name for row in cases[other]])
        for row in cases[name]:
            row["both"] = _features(row) @ weights[:-1] + weights[-1]
    weights = _calibrated([row for name in names for row in cases[name]])
    for each in own:
        for row in cases[each.name]:
            row["both"] = _features(row) @ weights[:-1] + weights[-1]
    signals, reader_weight, *rules, constant = weights
    chosen = {"signals": signals, "reader": reader_weight, "constant": constant}
    chosen = {name: round(float(each), 4) for name, each in chosen.items()}
    of_rules = {
        name: round(float(each / signals), 4)
        for name, each in zip(scoring.RULES, rules, strict=True)
    }
    results: dict[str, Any] = {"weights": chosen | {"rules": of_rules}}
    for title, some in (("held out", known), ("own", own)):
        for language in (*LANGUAGES, "all"):
            rows = [
                row
                for each in some
                if language in (each.language, "all")
                for row in cases[each.name]
            ]
            results[f"{title}, {language}"] = {
                way: {str(limit): ranking(rows, way, limit) for limit in LIMITS}
                for way in ("recall", "both")
            }
    print(json.dumps(results, indent=1))
    common.save(options.out, "calibrate_reader", results)
    entries = json.loads(common.RANK.read_text())
    entries["reader"] = chosen | {"rules": of_rules}
    common.RANK.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")


def _features(row: dict[str, Any]) -> NDArray[np.float64]:
    """What the score of each candidate that was read follows from: the signals, the reader, the rules."""
    most = scoring.MOST_LOG_ODDS
    odds = np.clip(row["without_rules"], -most, most)
    return np.column_stack([odds, row["reader"], row["rules"]])


def _calibrated(rows: Sequence[dict[str, Any]]) -> NDArray[np.float64]:
    """The weights of the features and the constant; that of a rule is at most `HIGHEST`."""
    columns = np.concatenate([_features(row) for row in rows])
    right = np.concatenate([row["right"] for row in rows]).astype(np.float64)

    def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = columns @ point[:-1] + point[-1]
        slope = 1 / (1 + np.exp(-odds)) - right
        decay = point[:-1] / STRENGTH
        total = (np.logaddexp(0, odds) - right * odds).sum() + decay @ point[:-1] / 2
        return float(total), np.append(columns.T @ slope + decay, slope.sum())

    rules = [(None, HIGHEST.get(rule, 0.0)) for rule in scoring.RULES]
    bounds = [(None, None), (None, None), *rules, (None, None)]
    solved = minimize(loss, np.zeros(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds)
    return solved.x


def _question_figures(known: Sequence[World], read: Read, cache: Path) -> dict[str, Any]:
    """Figures of questions, by language."""
    found = {world.name: ranked(world, cache) for world in known}
    return {
        f"questions, {language}": questions(some, [found[each.name] for each in some], read)
        for language in (*LANGUAGES, "all")
        if (some := [each for each in known if language in (each.language, "all")])
    }


def _pair_figures(known: Sequence[Pair], read: Read) -> dict[str, Any]:
    """Figures of pairs, by language; minimal pairs apart."""
    parts = {
        language: [
            each
            for each in known
            if each.source != "minimal" and language in (each.language, "all")
        ]
        for language in (*LANGUAGES, "xl", "all")
    }
    parts["minimal"] = [each for each in known if each.source == "minimal"]
    figures = {f"pairs, {part}": statements(some, read) for part, some in parts.items() if some}
    return figures | {"strangers": strangers(known, read)}


class Cached:
    """Reads each pair once.

    Args:
        reader: The file.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._logits: dict[tuple[str, tuple[str, str]], Floats] = {}

    def __call__(self, head: str, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Logits of a head, shape (pairs, logits)."""
        new = [each for each in dict.fromkeys(pairs) if (head, each) not in self._logits]
        read = self._reader.read_pairs(cast("Head", head), new) if new else ()
        self._logits |= {(head, each): logits for each, logits in zip(new, read, strict=True)}
        return np.array([self._logits[head, each] for each in pairs])


def main() -> None:
    """Run one step."""
    parser = common.arguments(__doc__)
    steps = (prepare, gather, restore, export, calibrate, measure)
    by_name = {each.__name__: each for each in steps}
    parser.add_argument("step", choices=by_name)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    parser.add_argument("--all", action="store_true", help="learn from what is held out too")
    parser.add_argument("--name", default="run", help="of the run in the cache")
    parser.add_argument("--others", nargs="*", default=[], help="runs to export the mean with")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, help="the exported file")
    parser.add_argument(
        "--groups", nargs="*", default=["own", "updates", "held out"], help="what to measure"
    )
    options = parser.parse_args()
    by_name[options.step](options)


if __name__ == "__main__":
    main()
