"""Fit the low-rank change and the head of the local reader with torch: see `learn_reader.py`."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hippocampe.updates.cross_encoder.base import Base
from hippocampe.updates.cross_encoder.encoder import PARTS
from hippocampe.updates.cross_encoder.judge import MAX_PIECES, PREFIX
from hippocampe.updates.cross_encoder.pieces import Cutter
from hippocampe.updates.learnt import OUTCOMES

FROZEN: Final = 2
"""Lower layers that stay as they are."""
RANK: Final = 8
SCALE: Final = 2.0
"""Factor of the low-rank change."""
HIDDEN: Final = 128
DROPOUT: Final = 0.1
EPOCHS: Final = 3
BATCH: Final = 16
RATE: Final = 1e-3
SMOOTHING: Final = 0.05
WEIGHTS: Final = {
    "natural": 1.0, "minimal": 0.6, "apart": 0.8, "mixed": 0.8, "sentences": 0.5, "swapped": 0.7,
}  # fmt: skip
"""Weight of one pair by where it is from."""
DRAWN: Final = {"apart": 1400, "mixed": 900, "sentences": 500}
"""Pairs drawn for each epoch, of those that are many."""


class Text:
    """Pairs as tokens, with the states that the lower layers give them."""

    def __init__(self, base: Base, told: Sequence[tuple[str, str]], path: Path) -> None:
        begin, end, unknown = base.marks
        cutter = Cutter(base.pieces, base.characters, unknown)
        cut = [[cutter.cut(PREFIX + text)[:MAX_PIECES] for text in pair] for pair in told]
        self.tokens = [[begin, *old, end, end, *new, end] for old, new in cut]
        self.split = np.array([len(old) + 2 for old, _ in cut])
        self.length = np.array([len(each) for each in self.tokens])
        self.start = np.concatenate([[0], self.length.cumsum()])
        if not path.exists():
            self._store_states(base, path)
        self.states = np.load(path, mmap_mode="r")

    @torch.no_grad()
    def _store_states(self, base: Base, path: Path) -> None:
        width = base.shape.width
        lower = [Layer(base, number, rank=0).eval() for number in range(FROZEN)]
        positions = base.plain("emb.pos").reshape(-1, width)
        made = np.zeros((self.start[-1], width), np.float16)
        for rows in self.batches(np.arange(len(self.tokens)), 32):
            ids, real = self.padded(rows)
            words = base.rows("emb.word", width, ids.ravel()).reshape(*ids.shape, width)
            embedded = words + positions[: ids.shape[1]] + base.plain("emb.type")[:width]
            scale, shift = (torch.tensor(base.plain(f"emb.ln.{n}")) for n in "wb")
            states = functional.layer_norm(
                torch.tensor(embedded), (width,), scale, shift, base.shape.epsilon
            )
            for layer in lower:
                states = layer(states, torch.tensor(real)[:, None, None, :])
            for row, found in zip(rows, states.numpy(), strict=True):
                made[self.start[row] : self.start[row + 1]] = found[: self.length[row]]
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, made)

    def padded(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The ids of some pairs and which are no padding, shape (pairs, tokens)."""
        real = np.arange(self.length[rows].max()) < self.length[rows][:, None]
        ids = np.zeros(real.shape, np.int64)
        ids[real] = np.concatenate([self.tokens[row] for row in rows])
        return ids, real

    def batches(self, rows: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
        """Batches of pairs of like length."""
        ordered = rows[np.argsort(self.length[rows], kind="stable")]
        return [ordered[start : start + size] for start in range(0, len(ordered), size)]

    def lower(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor, Tensor]:
        """States of pairs below the learnt layers, which are no padding, and which are new."""
        at = np.arange(self.length[rows].max())
        real = at < self.length[rows][:, None]
        states = np.zeros((*real.shape, self.states.shape[1]), np.float32)
        for row, into in zip(rows, states, strict=True):
            into[: self.length[row]] = self.states[self.start[row] : self.start[row + 1]]
        return (
            torch.from_numpy(states),
            torch.from_numpy(real),
            torch.from_numpy(at >= self.split[rows][:, None]),
        )


class Layer(nn.Module):
    """A layer of the base, with a low-rank change of its matrices unless the rank is 0."""

    def __init__(self, base: Base, number: int, rank: int) -> None:
        super().__init__()
        self.shape, self.rank = base.shape, rank
        kind = torch.bfloat16 if rank else torch.float32
        for part, names in PARTS.items():
            columns = base.shape.inner if part == "fo" else base.shape.width
            held = np.concatenate([base.matrix(f"l{number}.{n}.w", columns) for n in names])
            bias = np.concatenate([base.plain(f"l{number}.{n}.b") for n in names])
            self.register_buffer(part, torch.tensor(held, dtype=kind))
            self.register_buffer(f"{part}_bias", torch.tensor(bias, dtype=kind))
            if rank:
                inner = rank * len(names) if part != "qkv" else 2 * rank
                down = torch.randn(inner, columns) / math.sqrt(columns)
                self.register_parameter(f"{part}_down", nn.Parameter(down))
                self.register_parameter(f"{part}_up", nn.Parameter(torch.zeros(len(held), inner)))
        for norm in ("aln", "oln"):
            for n in "wb":
                self.register_buffer(
                    f"{norm}_{n}", torch.tensor(base.plain(f"l{number}.{norm}.{n}"))
                )

    def _linear(self, values: Tensor, part: str) -> Tensor:
        made = functional.linear(values, getattr(self, part), getattr(self, f"{part}_bias"))
        if not self.rank:
            return made
        small = functional.linear(values, getattr(self, f"{part}_down")).flatten(0, 1)
        up = (getattr(self, f"{part}_up") * SCALE).t().to(small.dtype)
        return torch.addmm(made.flatten(0, 1), small, up).view_as(made)

    def _added(self, states: Tensor, more: Tensor, norm: str) -> Tensor:
        more = functional.dropout(more, DROPOUT, self.training)
        scale, shift = getattr(self, f"{norm}_w"), getattr(self, f"{norm}_b")
        width = (states.shape[-1],)
        return functional.layer_norm(
            (states + more).float(), width, scale, shift, self.shape.epsilon
        )

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        """States of shape (pairs, tokens, width) after the layer."""
        count, tokens, width = states.shape
        heads = self.shape.heads
        asked, keys, values = (
            self._linear(states, "qkv")
            .view(count, tokens, 3, heads, width // heads)
            .permute(2, 0, 3, 1, 4)
        )
        scores = torch.matmul(asked, keys.transpose(-1, -2) * (width // heads) ** -0.5).float()
        shares = scores.masked_fill(~real, -1e4).softmax(-1).to(values.dtype)
        seen = torch.matmul(shares, values).transpose(1, 2).reshape(count, tokens, width)
        states = self._added(states, self._linear(seen, "ao"), "aln")
        inner = functional.gelu(self._linear(states, "fi"))
        return self._added(states, self._linear(inner, "fo"), "oln")


class Upper(nn.Module):
    """The learnt part: the upper layers and the head."""

    def __init__(self, base: Base) -> None:
        super().__init__()
        numbers = range(FROZEN, base.shape.layers)
        self.layers = nn.ModuleList(Layer(base, number, RANK) for number in numbers)
        self.head = nn.Sequential(
            nn.Dropout(DROPOUT),
            nn.Linear(5 * base.shape.width, HIDDEN),
            nn.GELU(),
            nn.Dropout(DROPOUT),
            nn.Linear(HIDDEN, len(OUTCOMES)),
        )

    def forward(self, states: Tensor, real: Tensor, after: Tensor) -> Tensor:
        """Logits of shape (pairs, outcomes)."""
        for layer in self.layers:
            states = layer(states, real[:, None, None, :])
        old, new = (_mean(states, real & side) for side in (~after, after))
        return self.head(torch.cat([states[:, 0], old, new, new - old, new * old], 1))


def _mean(states: Tensor, rows: Tensor) -> Tensor:
    weights = rows.unsqueeze(-1).float()
    return (states * weights).sum(1) / weights.sum(1)


def fit(
    base: Base,
    text: Text,
    truth: NDArray[np.int64],
    source: NDArray[np.str_],
    taught: NDArray[np.int64],
) -> Upper:
    """Fit the learnt part on some rows of the text."""
    torch.manual_seed(1)
    shuffled, drawn = random.Random(1), np.random.default_rng(1)
    model = Upper(base).train()
    pools = {name: taught[source[taught] == name] for name in WEIGHTS}
    weights = np.array([WEIGHTS[name] for name in source])
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    sizes = {name: min(DRAWN.get(name, len(rows)), len(rows)) for name, rows in pools.items()}
    steps = EPOCHS * math.ceil(sum(sizes.values()) / BATCH)
    step = 0
    for _ in range(EPOCHS):
        rows = np.concatenate([drawn.choice(pools[n], sizes[n], replace=False) for n in pools])
        drawn.shuffle(rows)
        batches = [
            batch
            for start in range(0, len(rows), 32 * BATCH)
            for batch in text.batches(rows[start : start + 32 * BATCH], BATCH)
        ]
        shuffled.shuffle(batches)
        for batch in batches:
            for group in optimiser.param_groups:
                group["lr"] = RATE * min(1, (step + 1) / 40) * max(0.02, 1 - step / steps)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(*text.lower(batch))
            each = functional.cross_entropy(
                logits.float(),
                torch.tensor(truth[batch]),
                label_smoothing=SMOOTHING,
                reduction="none",
            )
            (each * torch.tensor(weights[batch], dtype=torch.float32)).mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            step += 1
    return model.eval()


@torch.no_grad()
def predict(model: Upper, text: Text, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Probabilities, shape (rows, outcomes)."""
    shares = np.zeros((len(rows), len(OUTCOMES)), np.float32)
    place = {row: at for at, row in enumerate(rows.tolist())}
    for batch in text.batches(rows, 32):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(*text.lower(batch))
        shares[[place[row] for row in batch.tolist()]] = logits.float().softmax(-1).numpy()
    return shares


def arrays(model: Upper) -> dict[str, NDArray[Any]]:
    """What is stored: the low-rank changes and the head, in float16."""
    made: dict[str, NDArray[Any]] = {}
    for number, layer in enumerate(model.layers, FROZEN):
        for part in PARTS:
            up, down = (getattr(layer, f"{part}_{n}").detach().numpy() for n in ("up", "down"))
            made[f"layer.{number}.{part}.up"] = (up * SCALE).astype(np.float16)
            made[f"layer.{number}.{part}.down"] = down.astype(np.float16)
    for number, linear in enumerate((model.head[1], model.head[4])):
        made[f"head.{number}"] = linear.weight.detach().numpy().astype(np.float16)
        made[f"head.{number}.bias"] = linear.bias.detach().numpy().astype(np.float16)
    return made
