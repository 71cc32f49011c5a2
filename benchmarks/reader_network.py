"""The reader in torch: multilingual-e5-small over two texts, with two heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from reader_base import NORMS, Weights

PARTS: Final = {"qkv": ("q", "k", "v"), "ao": ("ao",), "fi": ("fi",), "fo": ("fo",)}
"""The matrices of a layer, each with its names in the base: queries, keys and values as one, then attention
out, feed in, feed out."""
HEADS: Final = {"answer": 1, "relation": 5}
"""Logits of each head. Those of `relation` are `updates.learnt.OUTCOMES`."""
LAYERS: Final = 8
"""Layers of the base that are kept."""
HIDDEN: Final = 128
DROPOUT: Final = 0.1
"""Share of the values that are hidden while learning, unless a run says otherwise."""
MAX_PIECES: Final = 96
"""Pieces read of each text."""
MARKS: Final = 4
"""Tokens that begin, part and end two texts."""
TOKENS: Final = {"cpu": 2_048, "cuda": 49_152}
"""Tokens that are read at a time, padding included: what fits the caches of a processor is 1.2 times as fast there."""
MULTIPLE: Final = 16
"""Lengths and numbers of pairs are rounded up to it, so that few shapes occur: a GPU prepares for each new one."""
BEGIN, PADDING, END, UNKNOWN = 0, 1, 2, 3


def rounded(count: int) -> int:
    """A length or a number of pairs, rounded up."""
    return -(-count // MULTIPLE) * MULTIPLE


NOTHING: Final = -1e4
"""The score of padding, before the softmax."""
PLACES: Final = rounded(2 * MAX_PIECES + MARKS)
"""Tokens of the longest pair, with padding."""
Ids = NDArray[np.int32]
Floats = NDArray[np.float32]


class Layer(nn.Module):
    """One layer of the base."""

    def __init__(self, weights: Weights, number: int, dropout: float) -> None:
        super().__init__()
        self.heads = weights.shape.heads
        self.dropout = dropout
        for part, names in PARTS.items():
            matrix = np.concatenate([weights.matrix(f"l{number}.{name}.w") for name in names])
            bias = np.concatenate([weights.arrays[f"l{number}.{name}.b"] for name in names])
            linear = nn.Linear(matrix.shape[1], len(matrix))
            linear.load_state_dict({"weight": torch.tensor(matrix), "bias": torch.tensor(bias)})
            setattr(self, part, linear)
        for norm in NORMS:
            setattr(self, norm, _norm(weights, f"l{number}.{norm}"))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """The states after the layer.

        Args:
            states: Shape (pairs, longest, width).
            mask: What is no padding, shape (pairs, 1, 1, longest).
        """
        count, longest, width = states.shape
        projected = self.qkv(states).view(count, longest, 3, self.heads, -1)
        seen = _attended(
            *projected.permute(2, 0, 3, 1, 4), mask, self.dropout if self.training else 0.0
        )
        seen = self.ao(seen.transpose(1, 2).reshape(count, longest, width))
        states = self.aln(states + self._dropped(seen))
        return self.oln(states + self._dropped(self.fo(functional.gelu(self.fi(states)))))

    def _dropped(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.dropout, self.training)


def _attended(asked: Tensor, keys: Tensor, values: Tensor, mask: Tensor, dropout: float) -> Tensor:
    """The values that each state attends to, shape (pairs, heads, longest, width of a head)."""
    if asked.device.type != "cpu":
        return functional.scaled_dot_product_attention(
            asked, keys, values, attn_mask=mask, dropout_p=dropout
        )
    # With short texts in bfloat16, a processor learns 1.6 times as fast so as by the fused form.
    scores = (asked @ keys.transpose(-1, -2)) * asked.shape[-1] ** -0.5
    shares = scores.masked_fill(~mask, NOTHING).softmax(-1).to(values.dtype)
    return functional.dropout(shares, dropout) @ values


def _norm(weights: Weights, name: str) -> nn.LayerNorm:
    made = nn.LayerNorm(weights.shape.width, weights.shape.epsilon)
    state = {"weight": f"{name}.w", "bias": f"{name}.b"}
    made.load_state_dict({key: torch.tensor(weights.arrays[each]) for key, each in state.items()})
    return made


class Network(nn.Module):
    """The layers and both heads. The embeddings stay as they are.

    Args:
        weights: Those of the base.
        dropout: Share of the values that are hidden while learning.
    """

    def __init__(self, weights: Weights, dropout: float = DROPOUT) -> None:
        super().__init__()
        width = weights.shape.width
        words, places = torch.tensor(weights.matrix("emb.word")), torch.tensor(weights.places())
        self.register_buffer("words", words, persistent=False)
        self.register_buffer("places", places, persistent=False)
        self.norm = _norm(weights, "emb.ln").requires_grad_(False)
        self.layers = nn.ModuleList(
            Layer(weights, at, dropout) for at in range(weights.shape.layers)
        )
        self.heads = nn.ModuleDict(
            {
                name: nn.Sequential(
                    nn.Dropout(dropout),
                    nn.Linear(5 * width, HIDDEN),
                    nn.GELU(),
                    nn.Dropout(dropout),
                    nn.Linear(HIDDEN, size),
                )
                for name, size in HEADS.items()
            }
        )

    def forward(self, ids: Tensor, sides: Tensor) -> Tensor:
        """The summary of pairs of texts, shape (pairs, 5 · width).

        Args:
            ids: Pieces, shape (pairs, longest).
            sides: 1 for those of the first text, 2 for those of the second, 0 for padding.
        """
        states = self.norm(self.words[ids] + self.places[: ids.shape[1]])
        mask = (sides > 0)[:, None, None, :]
        for layer in self.layers:
            states = layer(states, mask)
        return _summary(states.float(), sides)


def _summary(states: Tensor, sides: Tensor) -> Tensor:
    """The first state, the mean of each text, their difference and product."""
    one, two = (_mean(states, sides == side) for side in (1, 2))
    return torch.cat([states[:, 0], one, two, two - one, one * two], 1)


def _mean(states: Tensor, rows: Tensor) -> Tensor:
    weights = rows.unsqueeze(-1).float()
    return (states * weights).sum(1) / weights.sum(1)


def padded(pairs: Sequence[tuple[Ids, Ids]]) -> tuple[Tensor, Tensor]:
    """Ids and sides of pairs of texts, as `Network` takes them."""
    longest = rounded(max(len(one) + len(two) + MARKS for one, two in pairs))
    ids = np.full((len(pairs), longest), PADDING, np.int32)
    sides = np.zeros((len(pairs), longest), np.int8)
    for row, (one, two) in enumerate(pairs):
        tokens = np.concatenate([[BEGIN], one, [END, END], two, [END]])
        ids[row, : len(tokens)] = tokens
        sides[row, : len(tokens)] = 2
        sides[row, : len(one) + 2] = 1
    return torch.from_numpy(ids), torch.from_numpy(sides)


def batches(
    pairs: Sequence[tuple[Ids, Ids]], tokens: int = TOKENS["cpu"]
) -> Iterator[tuple[NDArray[np.int64], tuple[Tensor, Tensor]]]:
    """Pairs of about one length together: the rows of each batch, and its ids and sides; the last row may be repeated."""
    lengths = np.array([rounded(len(one) + len(two) + MARKS) for one, two in pairs])
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        sizes = lengths[order[start:]] * np.arange(1, len(order) - start + 1)
        rows = order[start : start + max(1, int(np.searchsorted(sizes, tokens, "right")))]
        start += len(rows)
        rows = np.append(rows, np.full(rounded(len(rows)) - len(rows), rows[-1]))
        yield rows, padded([pairs[at] for at in rows])


@torch.no_grad()
def logits(network: Network, pairs: Sequence[tuple[Ids, Ids]], head: str) -> Floats:
    """Logits of a head in evaluation, shape (pairs, logits)."""
    network.eval()
    found = np.zeros((len(pairs), HEADS[head]), np.float32)
    for rows, tokens in batches(pairs):
        found[rows] = network.heads[head](network(*tokens)).numpy()
    return found


def trained(weights: Weights, state: dict[str, Any]) -> Network:
    """The network of a run, in evaluation."""
    network = Network(weights)
    network.load_state_dict(state)
    return network.eval()
