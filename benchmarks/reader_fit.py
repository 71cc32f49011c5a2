"""Fit the reader to what `learn_reader.py gather` wrote.

    python benchmarks/reader_fit.py --cache CACHE [--name run] [--teachers RUN...] [--device cuda] [--seconds 3600]

Reads `lessons.json.gz`, `tokenizer.json` and `base.npz` of the cache, and writes the weights to `NAME.pt`. Needs numpy,
torch and tokenizers only: a machine with a GPU needs this folder and the cache, no more. A run that was cut off goes on
from its checkpoint. With `--teachers`, the network also learns the mean of what these runs say (knowledge distillation,
Hinton et al., 2015).
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
from reader_network import (
    BEGIN,
    DROPOUT,
    END,
    MAX_PIECES,
    NOTHING,
    TOKENS,
    UNKNOWN,
    Network,
    batches,
    trained,
)
from typed_forms import FORMS, line

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
TAUGHT: Final = 0.7
"""Share of the loss that is the distance from the teachers, if there are any."""
ABSENT: Final = -30.0
"""The logit of a text that is not there."""
KEEP: Final = 300.0
"""Seconds between checkpoints."""
REPORT: Final = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to learn from, with one set of names.

    Attributes:
        user: Who asks.
        content: The message as it is written.
        right: Texts that answer it.
        others: Other texts, the nearest first.
        near: How many of the others are always read: near misses.
    """

    user: str
    content: str
    right: Sequence[str]
    others: Sequence[str]
    near: int


@dataclass(frozen=True, slots=True)
class Related:
    """A pair to learn from: the old statement, the new one, its outcome, its weight."""

    old: str
    new: str
    outcome: int
    weight: float


@dataclass(frozen=True, slots=True)
class Lessons:
    """Questions, each with all its sets of names, and pairs."""

    questions: list[list[Asked]]
    pairs: list[Related]

    @classmethod
    def load(cls, cache: Path) -> Lessons:
        """Read what was gathered."""
        with gzip.open(cache / "lessons.json.gz", "rt", encoding="utf-8") as file:
            found = json.load(file)
        questions: list[list[Asked]] = []
        for world in found["worlds"]:
            for times, messages, right, others, near in world["questions"]:
                variants = [
                    Asked(*message, [texts[at] for at in right], [texts[at] for at in others], near)
                    for message, texts in zip(messages, world["texts"], strict=True)
                ]
                questions += [variants] * times
        return cls(questions, [Related(*each) for each in found["pairs"]])


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
    """Draws steps without end: each question and each pair as often as any other.

    Args:
        lessons: What is learnt.
        tokenizer: The path of the tokenizer.
        questions: Of a step.
        pairs: Of a step.
        seed: Of the order.
        tokens: Tokens of a batch.
    """

    def __init__(
        self, lessons: Lessons, tokenizer: Path, questions: int, pairs: int, seed: int, tokens: int
    ) -> None:
        self.lessons = lessons
        self.tokenizer = tokenizer
        self.questions = questions
        self.pairs = pairs
        self.seed = seed
        self.tokens = tokens

    def __iter__(self) -> Iterator[Step]:
        worker = get_worker_info()
        chance = random.Random(self.seed * 1000 + (worker.id if worker else 0))
        tokenizer = Tokenizer.from_file(str(self.tokenizer))
        tokenizer.enable_truncation(MAX_PIECES)
        questions = _endless(self.lessons.questions, chance)
        pairs = _endless(self.lessons.pairs, chance)
        while True:
            right = np.zeros((self.questions, READ), bool)
            read = np.zeros_like(right)
            rows: list[tuple[str, str]] = []
            for row in range(self.questions):
                asked = chance.choice(next(questions))
                texts, answers = _drawn(asked, chance)
                right[row, :answers] = True
                read[row, : len(texts)] = True
                message = line(asked.user, _typed(asked.content, chance))
                rows += [(message, text) for text in texts]
            some = [next(pairs) for _ in range(self.pairs)]
            rows += [(each.old, _typed(each.new, chance)) for each in some]
            texts = list({text for row in rows for text in row})
            found = tokenizer.encode_batch(texts, add_special_tokens=False)
            pieces = {
                text: np.array(each.ids, np.int32) for text, each in zip(texts, found, strict=True)
            }
            cut = [(pieces[one], pieces[two]) for one, two in rows]
            order, tokens = zip(*batches(cut, self.tokens), strict=True)
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


def _typed(text: str, chance: random.Random) -> str:
    return text if chance.random() < AS_WRITTEN else chance.choice(FORMS)(text)


def _drawn(asked: Asked, chance: random.Random) -> tuple[list[str], int]:
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


@dataclass(frozen=True, slots=True)
class Said:
    """What a network says in a step.

    Attributes:
        scores: The logit of each text of each question, and 0 for none of them, shape (questions, 1 + texts).
        outcomes: Logits of the pairs, shape (pairs, outcomes).
    """

    scores: Tensor
    outcomes: Tensor


def said(network: Network, step: Step, precision: torch.dtype, hidden: float = 0.0) -> Said:
    """Read all texts of a step.

    Args:
        network: The network.
        step: The step.
        precision: Of the products of matrices.
        hidden: Share of the pieces that are hidden.
    """
    found: list[Tensor] = []
    with torch.autocast(step.places.device.type, precision, precision != torch.float32):
        for ids, sides in step.batches:
            chosen = torch.rand(ids.shape, device=ids.device) < hidden
            chosen &= (ids != BEGIN) & (ids != END) & (sides > 0)
            found.append(network(ids.masked_fill(chosen, UNKNOWN), sides))
    summaries = torch.cat(found).float()[step.places]
    count = len(summaries) - len(step.outcomes)
    answers = network.heads["answer"](summaries[:count])[:, 0]
    scores = summaries.new_full(step.read.shape, ABSENT).masked_scatter(step.read, answers)
    return Said(functional.pad(scores, (1, 0)), network.heads["relation"](summaries[count:]))


def losses(found: Said, step: Step, taught: Sequence[Said] = ()) -> tuple[Tensor, Tensor]:
    """Of the questions: which text answers, or none, and whether each one does. Of the pairs: the outcome.

    Args:
        found: What the network says.
        step: The step, with the truth.
        taught: What its teachers say.
    """
    truth = torch.cat([~step.right.any(1, keepdim=True), step.right], 1)
    which = -found.scores.log_softmax(1).masked_fill(~truth, NOTHING).logsumexp(1)
    questions = (which + _each(found, step, step.right.float())).mean()
    relation = functional.cross_entropy(
        found.outcomes, step.outcomes, reduction="none", label_smoothing=SMOOTHING
    )
    pairs = (relation * step.weights).mean()
    if not taught:
        return questions, pairs
    scores = torch.stack([each.scores for each in taught]).mean(0)
    shares = torch.stack([each.outcomes for each in taught]).mean(0).softmax(1)
    which = functional.cross_entropy(found.scores, scores.softmax(1), reduction="none")
    taught_questions = (which + _each(found, step, scores[:, 1:].sigmoid())).mean()
    relation = functional.cross_entropy(found.outcomes, shares, reduction="none")
    taught_pairs = (relation * step.weights).mean()
    return (
        torch.lerp(questions, taught_questions, TAUGHT),
        torch.lerp(pairs, taught_pairs, TAUGHT),
    )


def _each(found: Said, step: Step, truth: Tensor) -> Tensor:
    """By question: whether each text answers."""
    each = functional.binary_cross_entropy_with_logits(found.scores[:, 1:], truth, reduction="none")
    return (each * step.read).sum(1) / step.read.sum(1)


def fit(
    network: Network,
    lessons: Lessons,
    options: argparse.Namespace,
    teachers: Sequence[Network] = (),
) -> None:
    """Learn both heads together, and store the moving average of the weights."""
    device: str = options.device
    path: Path = options.cache / f"{options.name}.pt"
    checkpoint = path.with_suffix(".checkpoint.pt")
    precision = getattr(torch, options.precision)
    network.to(device).train()
    optimiser = torch.optim.AdamW(
        [{"params": network.layers.parameters()}, {"params": network.heads.parameters()}],
        weight_decay=DECAY,
        fused=device != "cpu",
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
    tokenizer = options.cache / "tokenizer.json"
    drawn = Steps(lessons, tokenizer, options.questions, options.statements, seed, tokens)
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
        moved = step.to(device)
        with torch.no_grad():
            taught = [said(each, moved, precision) for each in teachers]
        found = losses(said(network, moved, precision, HIDDEN_PIECES), moved, taught)
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
    parser.add_argument("--teachers", nargs="*", default=[], help="the names of runs to learn from")
    parser.add_argument("--passes", type=float, default=6.0, help="over the questions, at most")
    parser.add_argument("--seconds", type=float, default=3600.0, help="to learn, at most")
    parser.add_argument("--rate", type=float, default=RATE, help="of the layers, at its highest")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of a step")
    parser.add_argument("--statements", type=int, default=PAIRS, help="pairs of a step")
    parser.add_argument("--dropout", type=float, default=DROPOUT, help="while learning")
    parser.add_argument("--averaged", type=float, default=AVERAGED, help="weight of the past")
    parser.add_argument(
        "--precision",
        choices=("bfloat16", "float32"),
        default="bfloat16",
        help="of products: float32 is faster on a processor that cannot multiply in bfloat16",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=0, help="processes that draw the steps")
    options = parser.parse_args()
    lessons = Lessons.load(options.cache)
    print(len(lessons.questions), "questions,", len(lessons.pairs), "pairs", flush=True)
    network = Network(Weights.load(options.cache / "base.npz"), options.dropout)
    if options.begin:
        network.load_state_dict(_state(options.cache, options.begin))
    teachers = [
        trained(Weights.load(options.cache / "base.npz"), _state(options.cache, each))
        for each in options.teachers
    ]
    fit(network, lessons, options, [each.to(options.device) for each in teachers])


def _state(cache: Path, name: str) -> dict[str, Tensor]:
    return torch.load(cache / f"{name}.pt")["network"]


if __name__ == "__main__":
    main()
