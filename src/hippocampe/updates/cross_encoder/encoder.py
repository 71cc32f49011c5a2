"""The encoder: a transformer of the BERT kind (Devlin et al., 2019) in NumPy, in float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hippocampe.updates.cross_encoder.base import Base, Floats

PARTS: Final = {"qkv": ("q", "k", "v"), "ao": ("ao",), "fi": ("fi",), "fo": ("fo",)}
"""The matrices of a layer, each with its names in the file: queries, keys and values as one, then attention
out, feed in, feed out."""
Changes = Mapping[tuple[int, str], tuple[Floats, Floats]]
_NORMS: Final = ("aln", "oln")


@dataclass(frozen=True, slots=True)
class Linear:
    """A matrix, shape (in, out), and a bias, shape (out,)."""

    matrix: Floats
    bias: Floats

    def __call__(self, values: Floats) -> Floats:
        """Values of shape (…, out)."""
        return values @ self.matrix + self.bias


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: attention, then a feed-forward network, each with a residual connection and normalisation."""

    attention: Linear
    attended: Linear
    inner: Linear
    outer: Linear
    norms: tuple[tuple[Floats, Floats], tuple[Floats, Floats]]


class Encoder:
    """Computes contextual states of tokens.

    Args:
        base: The weights.
        changes: By layer and part, two matrices of shapes (out, rank) and (rank, in): their product is
            added.
    """

    def __init__(self, base: Base, changes: Changes) -> None:
        self._base = base
        shape = base.shape
        self._positions = base.plain("emb.pos").reshape(-1, shape.width)
        self._type = base.plain("emb.type")[: shape.width]
        self._norm = base.plain("emb.ln.w"), base.plain("emb.ln.b")
        self._layers = [self._layer(number, changes) for number in range(shape.layers)]

    def states(self, tokens: Sequence[Sequence[int]]) -> tuple[Floats, NDArray[np.bool_]]:
        """The last states of texts of similar length, padded, and a mask that excludes the padding.

        Args:
            tokens: Ids of the pieces of each text.

        Returns:
            Shapes (texts, tokens, width) and (texts, tokens).
        """
        shape = self._base.shape
        longest = max(map(len, tokens))
        real = np.arange(longest) < np.array([len(each) for each in tokens])[:, None]
        ids = np.zeros(real.shape, np.int64)
        ids[real] = np.concatenate([np.array(each, np.int64) for each in tokens])
        words = self._base.rows("emb.word", shape.width, ids.ravel())
        states = words.reshape(*ids.shape, -1) + self._positions[:longest] + self._type
        states = self._normalised(states, self._norm)
        hidden = np.where(real, np.float32(0), np.float32(-1e9))[:, None, None, :]
        for layer in self._layers:
            states = self._through(layer, states, hidden)
        return states, real

    def _through(self, layer: Layer, states: Floats, hidden: Floats) -> Floats:
        heads = self._base.shape.heads
        texts, tokens, width = states.shape
        asked, keys, values = (
            layer.attention(states)
            .reshape(texts, tokens, 3, heads, width // heads)
            .transpose(2, 0, 3, 1, 4)
        )
        scores = asked @ keys.swapaxes(-1, -2) * np.float32((width // heads) ** -0.5) + hidden
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        seen = (scores @ values).transpose(0, 2, 1, 3).reshape(texts, tokens, width)
        states = self._normalised(states + layer.attended(seen), layer.norms[0])
        return self._normalised(states + layer.outer(gelu(layer.inner(states))), layer.norms[1])

    def _normalised(self, values: Floats, norm: tuple[Floats, Floats]) -> Floats:
        centred = values - values.mean(axis=-1, keepdims=True)
        spread = np.einsum("...i,...i->...", centred, centred) / np.float32(values.shape[-1])
        scale = 1 / np.sqrt(spread + np.float32(self._base.shape.epsilon))
        return centred * scale[..., None] * norm[0] + norm[1]

    def _layer(self, number: int, changes: Changes) -> Layer:
        base, shape = self._base, self._base.shape

        def linear(part: str) -> Linear:
            columns = shape.inner if part == "fo" else shape.width
            names = PARTS[part]
            matrix = np.concatenate([base.matrix(f"l{number}.{n}.w", columns) for n in names])
            if (number, part) in changes:
                up, down = changes[number, part]
                matrix += up @ down
            bias = np.concatenate([base.plain(f"l{number}.{n}.b") for n in names])
            return Linear(np.ascontiguousarray(matrix.T), bias)

        norms = [(base.plain(f"l{number}.{n}.w"), base.plain(f"l{number}.{n}.b")) for n in _NORMS]
        return Layer(
            attention=linear("qkv"),
            attended=linear("ao"),
            inner=linear("fi"),
            outer=linear("fo"),
            norms=(norms[0], norms[1]),
        )


def gelu(values: Floats) -> Floats:
    """Compute x Φ(x); the error function is formula 7.1.26 of Abramowitz and Stegun, within 1.5e-7."""
    size = np.abs(values) * np.float32(0.5**0.5)
    part = 1 / (1 + np.float32(0.3275911) * size)
    series = np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * part + np.float32(factor)
    tail = series * part * np.exp(-size * size)
    return (values * np.float32(0.5) * (1 + np.copysign(1 - tail, values))).astype(np.float32)
