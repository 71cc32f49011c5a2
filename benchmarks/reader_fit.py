"""Fit the reader to what `learn_reader.py gather` wrote.

    python benchmarks/reader_fit.py --cache CACHE [--name run] [--device cuda] [--passes 10] [--seconds 3600]

Reads `lessons.json.gz`, `tokenizer.json` and `base.npz` of the cache, and writes the weights to `NAME.pt`. Needs numpy,
torch and tokenizers only: a machine with a GPU needs this folder and the cache, no more. A run that was cut off goes on
from its checkpoint.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from reader_base import Weights
from reader_network import DROPOUT, MAX_PIECES, TOKENS, UNKNOWN, Ids, Network, batches
from typed_forms import line, typed_forms

RATE: Final = 2e-4
"""Learning rate of the layers, at its highest."""
HEAD_RATE: Final = 10.0
"""Factor of the rate of the heads."""
WARM: Final = 0.06
"""Share of the run in which the rate rises. It then falls to 0."""
DECAY: Final = 0.01
AVERAGED: Final = 0.998
"""Weight of the past in the moving average of the weights, which is what is stored, unless a run says otherwise."""
HIDDEN_PIECES: Final = 0.07
"""Share of the pieces that are hidden while learning, so that no text is recognised by its words."""
QUESTIONS: Final = 48
PAIRS: Final = 96
"""Questions and pairs of a step."""
READ: Final = 12
"""Texts read with a question."""
MOST_RIGHT: Final = 4
"""Answers among them."""
NEAREST: Final = 8
"""Half of the other texts are drawn from so many of the nearest."""
AS_WRITTEN: Final = 0.5
"""Share of the messages that are read as they are written, and not as they may be typed."""
SMOOTHING: Final = 0.05
ENCODED: Final = 10_000
"""Texts that are tokenized at a time."""
KEEP: Final = 300.0
"""Seconds between checkpoints."""
REPORT: Final = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to learn from, with one set of names.

    Attributes:
        forms: The message as it is written, then as it may be typed.
        right: Texts that answer it.
        others: Other texts, the nearest first.
        near: How many of the others are always read: near misses.
    """

    forms: tuple[int, ...]
    right: Sequence[int]
    others: Sequence[int]
    near: int


@dataclass(frozen=True, slots=True)
class Related:
    """A pair to learn from: the old statement, the new one as `Asked.forms`, its outcome, its weight."""

    old: int
    forms: tuple[int, ...]
    outcome: int
    weight: float


@dataclass(frozen=True, slots=True)
class Lessons:
    """Questions, each with all its sets of names, and pairs; texts are positions in `pieces`."""

    questions: list[list[Asked]]
    pairs: list[Related]
    pieces: list[Ids]

    @classmethod
    def load(cls, cache: Path) -> Lessons:
        """Read and tokenize what was gathered."""
        with gzip.open(cache / "lessons.json.gz", "rt", encoding="utf-8") as file:
            found = json.load(file)
        known: dict[str, int] = {}

        def place(text: str) -> int:
            return known.setdefault(text, len(known))

        def forms(user: str, content: str) -> tuple[int, ...]:
            return tuple(place(line(user, each)) for each in typed_forms(content))

        questions: list[list[Asked]] = []
        for world in found["worlds"]:
            lines = [[place(text) for text in each] for each in world["texts"]]
            for times, messages, right, others, near in world["questions"]:
                variants = [
                    Asked(
                        forms(*message),
                        [texts[at] for at in right],
                        [texts[at] for at in others],
                        near,
                    )
                    for message, texts in zip(messages, lines, strict=True)
                ]
                questions += [variants] * times
        pairs = [Related(place(old), forms("", new), *rest) for old, new, *rest in found["pairs"]]
        tokenizer = Tokenizer.from_file(str(cache / "tokenizer.json"))
        tokenizer.enable_truncation(MAX_PIECES)
        texts = list(known)
        # Encodings are large, so only some exist at a time.
        pieces = [
            np.array(each.ids, np.int32)
            for start in range(0, len(texts), ENCODED)
            for each in tokenizer.encode_batch(
                texts[start : start + ENCODED], add_special_tokens=False
            )
        ]
        return cls(questions, pairs, pieces)


@dataclass(frozen=True, slots=True)
class Step:
    """What is read in a step.

    Attributes:
        batches: Ids and sides of some of the rows each.
        places: Where each row is among those of all batches: the texts of questions, then pairs.
        right: Which text answers which question, shape (questions, texts).
        read: Which text is read at all, same shape.
        outcomes: Of the pairs.
        weights: Of the pairs.
    """

    batches: list[tuple[Tensor, Tensor]]
    places: Tensor
    right: Tensor
    read: Tensor
    outcomes: Tensor
    weights: Tensor

    def to(self, device: str) -> Step:
        """Copy it to a device."""
        moved = [tuple(each.to(device) for each in pair) for pair in self.batches]
        rest = (self.places, self.right, self.read, self.outcomes, self.weights)
        return Step(cast("Any", moved), *(each.to(device) for each in rest))


class Steps(IterableDataset[Step]):
    """Draws steps without end: each question and each pair as often as any other."""

    def __init__(
        self, lessons: Lessons, questions: int, pairs: int, seed: int, tokens: int
    ) -> None:
        self.tokens = tokens
        self.lessons = lessons
        self.questions = questions
        self.pairs = pairs
        self.seed = seed

    def __iter__(self) -> Iterator[Step]:
        worker = get_worker_info()
        chance = random.Random(self.seed * 1000 + (worker.id if worker else 0))
        hidden = np.random.default_rng(chance.randrange(1 << 30))
        questions = _endless(self.lessons.questions, chance)
        pairs = _endless(self.lessons.pairs, chance)

        def worn(at: int) -> Ids:
            pieces = self.lessons.pieces[at]
            return np.where(hidden.random(len(pieces)) < HIDDEN_PIECES, UNKNOWN, pieces)

        while True:
            right = np.zeros((self.questions, READ), bool)
            read = np.zeros_like(right)
            rows: list[tuple[Ids, Ids]] = []
            for row in range(self.questions):
                asked = chance.choice(next(questions))
                texts, answers = _drawn(asked, chance)
                right[row, :answers] = True
                read[row, : len(texts)] = True
                message = _typed(asked.forms, chance)
                rows += [(worn(message), worn(text)) for text in texts]
            some = [next(pairs) for _ in range(self.pairs)]
            rows += [(worn(each.old), worn(_typed(each.forms, chance))) for each in some]
            order, tokens = zip(*batches(rows, self.tokens), strict=True)
            everything = np.concatenate(order)
            places = np.zeros(len(rows), np.int64)
            places[everything] = np.arange(len(everything))
            yield Step(
                list(tokens),
                torch.from_numpy(places),
                torch.from_numpy(right),
                torch.from_numpy(read),
                torch.tensor([each.outcome for each in some]),
                torch.tensor([each.weight for each in some]),
            )


def _typed(forms: Sequence[int], chance: random.Random) -> int:
    return forms[0] if chance.random() < AS_WRITTEN else chance.choice(forms[1:])


def _drawn(asked: Asked, chance: random.Random) -> tuple[list[int], int]:
    """Texts to read with a question, the right ones first, and how many those are."""
    right = chance.sample(asked.right, min(len(asked.right), MOST_RIGHT))
    sure = asked.others[: asked.near]
    left = READ - len(right) - len(sure)
    nearest = asked.others[asked.near : asked.near + NEAREST]
    far = asked.others[asked.near + NEAREST :]
    some = chance.sample(nearest, min(len(nearest), (left + 1) // 2))
    more = chance.sample(far, min(len(far), left - len(some)))
    return [*right, *sure, *some, *more], len(right)


def _endless(rows: Sequence[Any], chance: random.Random) -> Iterator[Any]:
    while True:
        yield from chance.sample(rows, len(rows))


def losses(network: Network, step: Step, device: str) -> tuple[Tensor, Tensor]:
    """Of the questions: which text answers, or none, and whether each one does. Of the pairs: the outcome."""
    with torch.autocast(torch.device(device).type, torch.bfloat16):
        summaries = torch.cat([network(*each) for each in step.batches])
    summaries = summaries.float()[step.places]
    count = len(summaries) - len(step.outcomes)
    answers = network.heads["answer"](summaries[:count])[:, 0]
    outcomes = network.heads["relation"](summaries[count:])
    scores = torch.full(step.read.shape, -30.0, device=device).masked_scatter(step.read, answers)
    shares = functional.pad(scores, (1, 0)).log_softmax(1)
    truth = torch.cat([~step.right.any(1, keepdim=True), step.right], 1)
    which = -shares.masked_fill(~truth, -1e4).logsumexp(1)
    each = functional.binary_cross_entropy_with_logits(scores, step.right.float(), reduction="none")
    each = (each * step.read).sum(1) / step.read.sum(1)
    relation = functional.cross_entropy(
        outcomes, step.outcomes, reduction="none", label_smoothing=SMOOTHING
    )
    return (which + each).mean(), (relation * step.weights).mean()


def fit(network: Network, lessons: Lessons, options: argparse.Namespace) -> None:
    """Learn both heads together, and store the moving average of the weights."""
    device: str = options.device
    path: Path = options.cache / f"{options.name}.pt"
    checkpoint = path.with_suffix(".checkpoint.pt")
    network.to(device).train()
    optimiser = torch.optim.AdamW(
        [{"params": network.layers.parameters()}, {"params": network.heads.parameters()}],
        weight_decay=DECAY,
    )
    averaged = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(options.averaged))
    number, spent = 0, 0.0
    if checkpoint.exists():
        state = torch.load(checkpoint, map_location=device)
        network.load_state_dict(state["network"])
        averaged.load_state_dict(state["averaged"])
        optimiser.load_state_dict(state["optimiser"])
        number, spent = state["number"], state["spent"]
    seed = options.seed + number
    torch.manual_seed(seed)
    steps = int(options.passes * len(lessons.questions) / options.questions)
    tokens = TOKENS[torch.device(device).type]
    drawn = Steps(lessons, options.questions, options.statements, seed, tokens)
    began, kept = time.monotonic() - spent, time.monotonic()
    mean: NDArray[np.float64] | None = None
    loader = DataLoader(drawn, batch_size=None, num_workers=options.workers)
    for step in loader:
        spent = time.monotonic() - began
        done = max(number / steps, spent / options.seconds)
        if done >= 1:
            break
        for group, factor in zip(optimiser.param_groups, (1.0, HEAD_RATE), strict=True):
            group["lr"] = options.rate * factor * min(1, (done + 1e-3) / WARM) * (1 - done)
        found = losses(network, step.to(device), device)
        (found[0] + found[1]).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        averaged.update_parameters(network)
        number += 1
        if number % 10 == 0:
            now = np.array([each.item() for each in found])
            mean = now if mean is None else 0.9 * mean + 0.1 * now
            if number % REPORT == 0:
                print(f"step {number} of {steps}, {spent:.0f} s: {mean.round(3)}", flush=True)
        if time.monotonic() - kept > KEEP:
            state = {"network": network, "averaged": averaged, "optimiser": optimiser}
            state = {name: each.state_dict() for name, each in state.items()}
            torch.save(state | {"number": number, "spent": spent}, checkpoint)
            kept = time.monotonic()
    state = averaged.module.state_dict()
    # The export keeps 8 bits.
    state = {name: each.half().cpu() for name, each in state.items()}
    torch.save({"network": state, "steps": number}, path)
    checkpoint.unlink(missing_ok=True)


def main() -> None:
    """Fit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--name", default="run", help="of the file of weights")
    parser.add_argument("--begin", help="the name of a run to go on from")
    parser.add_argument("--passes", type=float, default=6.0, help="over the questions, at most")
    parser.add_argument("--seconds", type=float, default=3600.0, help="to learn, at most")
    parser.add_argument("--rate", type=float, default=RATE, help="of the layers, at its highest")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of a step")
    parser.add_argument("--statements", type=int, default=PAIRS, help="pairs of a step")
    parser.add_argument("--dropout", type=float, default=DROPOUT, help="while learning")
    parser.add_argument("--averaged", type=float, default=AVERAGED, help="weight of the past")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=0, help="processes that draw the steps")
    options = parser.parse_args()
    lessons = Lessons.load(options.cache)
    print(len(lessons.questions), "questions,", len(lessons.pairs), "pairs", flush=True)
    network = Network(Weights.load(options.cache / "base.npz"), options.dropout)
    if options.begin:
        state = torch.load(options.cache / f"{options.begin}.pt")
        network.load_state_dict(state["network"])
    fit(network, lessons, options)


if __name__ == "__main__":
    main()
