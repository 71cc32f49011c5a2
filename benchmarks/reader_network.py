"""The reader in torch: multilingual-e5-small over two texts, with heads after several layers, and how it learns."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from hippocampe.updates.learnt import OUTCOMES
from reader_base import Base

PARTS: Final = {"qkv": ("q", "k", "v"), "ao": ("ao",), "fi": ("fi",), "fo": ("fo",)}
"""The matrices of a layer, each with its names in the base: queries, keys and values as one, then attention
out, feed in, feed out."""
HEADS: Final = {"answer": 1, "relation": len(OUTCOMES)}
"""Logits of each head."""
EXITS: Final = (6, 8)
"""Layers after which heads read. The lower ones learn from the last, and can be shipped instead of it."""
FROZEN: Final = 2
"""Lower layers that stay as they are, like the embeddings."""
HIDDEN: Final = 128
DROPOUT: Final = 0.1
MAX_PIECES: Final = 96
"""Pieces read of each text."""
BEGIN, PADDING, END, UNKNOWN = 0, 1, 2, 3
HIDDEN_PIECES: Final = 0.07
"""Share of the pieces that are hidden while learning, so that no text is recognised by its words."""
AVERAGED: Final = 0.998
"""Weight of the past in the moving average of the weights, which is what is exported."""

RATE: Final = 7e-5
HEAD_RATE: Final = 10.0
"""Factor of the rate of the heads."""
WARM: Final = 0.06
"""Share of the run in which the rate rises."""
QUESTIONS: Final = 4
PAIRS: Final = 20
"""Questions and pairs of a step, unless chosen."""
READ: Final = 7
"""Texts read with a question."""
MOST_RIGHT: Final = 3
"""Answers among them."""
SMOOTHING: Final = 0.05
DISTILLED: Final = 0.5
"""Share of a lower exit's loss that follows the last exit rather than the labels."""

Ids = tuple[int, ...]


class Layer(nn.Module):
    """One layer of the base."""

    def __init__(self, base: Base, number: int) -> None:
        super().__init__()
        shape = base.shape
        self.heads = shape.heads
        for part, names in PARTS.items():
            columns = shape.inner if part == "fo" else shape.width
            weight = np.concatenate([base.matrix(f"l{number}.{n}.w", columns) for n in names])
            bias = np.concatenate([base.plain(f"l{number}.{n}.b") for n in names])
            linear = nn.Linear(columns, len(weight))
            linear.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
            setattr(self, part, linear)
        for norm in ("aln", "oln"):
            setattr(self, norm, _norm(base, f"l{number}.{norm}"))

    def forward(self, states: Tensor, real: Tensor, places: Tensor) -> Tensor:
        """The states after the layer.

        Args:
            states: Those of all tokens that are no padding, shape (tokens, width).
            real: What is no padding, shape (pairs, longest).
            places: The position of each token among those with padding, shape (tokens,).
        """
        count, longest = real.shape
        projected = self.qkv(states)
        spread = projected.new_zeros(real.numel(), projected.shape[1]).index_copy(
            0, places, projected
        )
        asked, keys, values = spread.view(count, longest, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = torch.matmul(asked * asked.shape[-1] ** -0.5, keys.transpose(-1, -2)).float()
        shares = scores.masked_fill(~real[:, None, None, :], -1e4).softmax(-1).to(values.dtype)
        shares = self._dropped(shares)
        seen = torch.matmul(shares, values).transpose(1, 2).reshape(real.numel(), -1)
        states = self.aln(states + self._dropped(self.ao(seen.index_select(0, places))))
        return self.oln(states + self._dropped(self.fo(functional.gelu(self.fi(states)))))

    def _dropped(self, values: Tensor) -> Tensor:
        return functional.dropout(values, DROPOUT, self.training)


def _norm(base: Base, name: str) -> nn.LayerNorm:
    made = nn.LayerNorm(base.shape.width, base.shape.epsilon)
    state = {key: torch.tensor(base.plain(f"{name}.{key[0]}")) for key in ("weight", "bias")}
    made.load_state_dict(state)
    return made


class Network(nn.Module):
    """The layers, and both heads after each exit.

    Args:
        base: The base weights.
        rows: The row of the base's embeddings of each piece.
        exits: Layers after which heads read; those above the last are left out.
    """

    def __init__(self, base: Base, rows: Sequence[int], exits: Sequence[int] = EXITS) -> None:
        super().__init__()
        width = base.shape.width
        self.exits = tuple(exits)
        words = base.rows("emb.word", width, np.array(rows))
        self.register_buffer("words", torch.tensor(words), persistent=False)
        placed = base.plain("emb.pos").reshape(-1, width)[: 2 * MAX_PIECES + 4]
        placed = placed + base.plain("emb.type")[:width]
        self.register_buffer("places", torch.tensor(placed), persistent=False)
        self.norm = _norm(base, "emb.ln")
        self.layers = nn.ModuleList(Layer(base, number) for number in range(max(exits)))
        self.heads = nn.ModuleDict(
            {
                f"{name}{exit}": nn.Sequential(
                    nn.Dropout(DROPOUT),
                    nn.Linear(5 * width, HIDDEN),
                    nn.GELU(),
                    nn.Dropout(DROPOUT),
                    nn.Linear(HIDDEN, size),
                )
                for name, size in HEADS.items()
                for exit in exits
            }
        )
        frozen = [self.norm, *self.layers[:FROZEN]]
        for each in frozen:
            each.requires_grad_(False)

    def forward(self, ids: Tensor, sides: Tensor) -> list[Tensor]:
        """The summary of pairs of texts after each exit, each of shape (pairs, 5 · width).

        Args:
            ids: Pieces, shape (pairs, longest).
            sides: 1 for those of the first text, 2 for those of the second, 0 for padding.
        """
        real = sides > 0
        places = real.flatten().nonzero()[:, 0]
        states = self.norm(self.words[ids] + self.places[: ids.shape[1]])
        states = states.flatten(0, 1).index_select(0, places)
        found: list[Tensor] = []
        for number, layer in enumerate(self.layers, 1):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.training):
                states = layer(states, real, places)
            if number in self.exits:
                spread = states.new_zeros(real.numel(), states.shape[1])
                spread = spread.index_copy(0, places, states)
                found.append(_summary(spread.view(*real.shape, -1), sides))
        return found

    def read(self, head: str, summaries: Sequence[Tensor]) -> list[Tensor]:
        """Logits of a head after each exit, each of shape (pairs, logits)."""
        return [
            self.heads[f"{head}{exit}"](summary)
            for exit, summary in zip(self.exits, summaries, strict=True)
        ]


def _summary(states: Tensor, sides: Tensor) -> Tensor:
    """The first state, the mean of each text, their difference and product."""
    one, two = (_mean(states, sides == side) for side in (1, 2))
    return torch.cat([states[:, 0], one, two, two - one, one * two], 1)


def _mean(states: Tensor, rows: Tensor) -> Tensor:
    weights = rows.unsqueeze(-1).float()
    return (states * weights).sum(1) / weights.sum(1)


def padded(pairs: Sequence[tuple[Ids, Ids]]) -> tuple[Tensor, Tensor]:
    """Ids and sides of pairs of texts, as `Network` takes them."""
    tokens = [(BEGIN, *one, END, END, *two, END) for one, two in pairs]
    longest = max(map(len, tokens))
    ids = np.full((len(pairs), longest), PADDING)
    sides = np.zeros((len(pairs), longest), np.int64)
    for row, (each, (one, _)) in enumerate(zip(tokens, pairs, strict=True)):
        ids[row, : len(each)] = each
        sides[row, : len(each)] = 2
        sides[row, : len(one) + 2] = 1
    return torch.from_numpy(ids), torch.from_numpy(sides)


@torch.no_grad()
def logits(
    network: Network, pairs: Sequence[tuple[Ids, Ids]], head: str, size: int = 32
) -> NDArray[np.float32]:
    """Logits in evaluation, shape (exits, pairs, logits)."""
    network.eval()
    found = np.zeros((len(network.exits), len(pairs), HEADS[head]), np.float32)
    order = sorted(range(len(pairs)), key=lambda at: sum(map(len, pairs[at])))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        summaries = network(*padded([pairs[at] for at in rows]))
        found[:, rows] = torch.stack(network.read(head, summaries)).numpy()
    return found


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to learn from: its ids as it may be typed, those of texts that answer, and those of others, the nearest
    first."""

    forms: tuple[Ids, ...]
    right: tuple[Ids, ...]
    others: tuple[Ids, ...]
    first: int
    """How many of the others are always read: a near miss."""


@dataclass(frozen=True, slots=True)
class Related:
    """A pair to learn from: ids of the old statement, of the new one as it may be typed, its outcome, its weight."""

    old: Ids
    forms: tuple[Ids, ...]
    label: int
    weight: float


@dataclass(frozen=True, slots=True)
class Run:
    """How long to learn: as many passes over the questions, but no more than so many seconds.

    `rate` is that of the layers at the beginning; a run that goes on needs a higher one, since it falls to 0.
    `questions` and `pairs` are those of a step.
    """

    passes: float
    seconds: float
    rate: float = RATE
    seed: int = 0
    questions: int = QUESTIONS
    pairs: int = PAIRS


def _drawn(asked: Asked, chance: random.Random) -> tuple[list[Ids], int]:
    """Texts to read with a question, the right ones first, and how many those are."""
    right = chance.sample(asked.right, min(len(asked.right), MOST_RIGHT))
    sure = list(asked.others[: asked.first])
    left = READ - len(right) - len(sure)
    near = asked.others[asked.first : asked.first + 8]
    far = asked.others[asked.first + 8 :]
    some = chance.sample(near, min(len(near), (left + 1) // 2))
    more = chance.sample(far, min(len(far), left - len(some)))
    return [*right, *sure, *some, *more], len(right)


def _answer_loss(found: list[Tensor], spans: Sequence[tuple[int, int, int]]) -> Tensor:
    """Which of the texts of a question answers, or none of them; and whether each one does."""
    last = found[-1][:, 0]
    total = torch.zeros(())
    for each in found:
        scores = each[:, 0]
        for start, right, count in spans:
            own = functional.pad(scores[start : start + count], (1, 0))
            shares = own.log_softmax(0)
            loss = -(shares[1 : right + 1].logsumexp(0) if right else shares[0])
            truth = (torch.arange(count) < right).float()
            loss = loss + functional.binary_cross_entropy_with_logits(own[1:], truth)
            if each is not found[-1]:
                guide = last[start : start + count].detach()
                target = functional.pad(guide, (1, 0)).softmax(0)
                follow = -(target * shares).sum()
                follow = follow + functional.binary_cross_entropy_with_logits(
                    own[1:], guide.sigmoid()
                )
                loss = 0.5 * ((1 - DISTILLED) * loss + DISTILLED * follow)
            total = total + loss
    return total / len(spans)


def _relation_loss(found: list[Tensor], labels: Tensor, weights: Tensor) -> Tensor:
    total = torch.zeros(())
    for each in found:
        loss = functional.cross_entropy(each, labels, reduction="none", label_smoothing=SMOOTHING)
        if each is not found[-1]:
            target = found[-1].detach().softmax(1)
            follow = -(target * each.log_softmax(1)).sum(1)
            loss = 0.5 * ((1 - DISTILLED) * loss + DISTILLED * follow)
        total = total + (loss * weights).mean()
    return total


def fit(
    network: Network,
    asked: Sequence[Asked],
    related: Sequence[Related],
    run: Run,
    checkpoint: Path,
    report: Callable[[str], None],
) -> None:
    """Learn both heads together. A run that was cut off goes on from its checkpoint."""
    body = [p for p in network.layers.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(
        [{"params": body}, {"params": list(network.heads.parameters())}], weight_decay=0.01
    )
    steps = int(run.passes * len(asked) / run.questions)
    step, spent = 0, 0.0
    averaged = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(AVERAGED))
    if checkpoint.exists():
        state: Mapping[str, Any] = torch.load(checkpoint)
        network.load_state_dict(state["learning"])
        averaged.module.load_state_dict(state["network"])
        optimiser.load_state_dict(state["optimiser"])
        step, spent = state["step"], state["spent"]
        report(f"goes on from step {step}")
    chance = random.Random(run.seed + step)
    torch.manual_seed(run.seed + step)
    questions, pairs = _endless(asked, chance), _endless(related, chance)
    began, stored = time.monotonic() - spent, time.monotonic()
    mean: list[float] = []
    network.train()
    while True:
        spent = time.monotonic() - began
        done = max(step / steps, spent / run.seconds)
        if done >= 1:
            break
        for group, factor in zip(optimiser.param_groups, (1.0, HEAD_RATE), strict=True):
            group["lr"] = run.rate * factor * min(1, (done + 1e-3) / WARM) * (1 - done)
        read: list[tuple[Ids, Ids]] = []
        spans: list[tuple[int, int, int]] = []
        for _ in range(run.questions):
            each = next(questions)
            texts, right = _drawn(each, chance)
            spans.append((len(read), right, len(texts)))
            question = chance.choice(each.forms)
            read += [(question, text) for text in texts]
        some = [next(pairs) for _ in range(run.pairs)]
        read += [(each.old, chance.choice(each.forms)) for each in some]
        worn = [(_worn(one, chance), _worn(two, chance)) for one, two in read]
        summaries = network(*padded(worn))
        answers = _answer_loss(
            network.read("answer", [each[: -run.pairs] for each in summaries]), spans
        )
        relations = _relation_loss(
            network.read("relation", [each[-run.pairs :] for each in summaries]),
            torch.tensor([each.label for each in some]),
            torch.tensor([each.weight for each in some]),
        )
        (answers + relations).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        averaged.update_parameters(network)
        step += 1
        now = [float(answers), float(relations)]
        mean = [0.98 * old + 0.02 * new for old, new in zip(mean or now, now, strict=True)]
        if step % 20 == 0:
            report(f"step {step}/{steps} {spent:.0f} s: {mean[0]:.3f} {mean[1]:.3f}")
        if time.monotonic() - stored > 300:
            _store(checkpoint, network, averaged, optimiser, step, spent)
            stored = time.monotonic()
    _store(checkpoint, network, averaged, optimiser, step, spent)


def _worn(text: Ids, chance: random.Random) -> Ids:
    """A text with some pieces hidden."""
    return tuple(UNKNOWN if chance.random() < HIDDEN_PIECES else each for each in text)


def _store(
    path: Path,
    network: Network,
    averaged: AveragedModel,
    optimiser: torch.optim.Optimizer,
    step: int,
    spent: float,
) -> None:
    state = {
        "network": averaged.module.state_dict(),
        "learning": network.state_dict(),
        "exits": network.exits,
        "optimiser": optimiser.state_dict(),
        "step": step,
        "spent": spent,
    }
    temporary = path.with_suffix(".part")
    torch.save(state, temporary)
    temporary.replace(path)


def _endless(rows: Sequence[Any], chance: random.Random) -> Any:
    while True:
        yield from chance.sample(rows, len(rows))
