"""The forward pass of the bundled model, which remembers what it computes of each piece.

The model looks up the vector of each piece of a text, and puts it through a layer of its own for
each of three branches. A branch convolves twice, over windows of 2, 3 or 5 pieces, each time adding
what it was given. The vectors and the branches of all pieces are normalised, summed and projected,
and two dense layers follow, each of which adds what it was given.

Up to the products of the first convolution, nothing depends on a piece's neighbours. So these are
kept for the pieces met last: more than half of the time of a short text, which is spent on reading
weights from memory.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from threading import Lock
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hippocampe.protocols import Vectors

KEPT: Final = 3_072
"""Pieces whose products are kept: 13 kB each. With so many, a short text of talk has one or two
others (0.9 to 1.8 in English, 1.3 to 2.4 in French, of 12), and with half as many twice that."""
PIECES_AT_ONCE: Final = 384
"""Of short texts together, so that the weights are read once for all."""

_WINDOWS: Final = ((0, 1), (-1, 0, 1), (-2, -1, 0, 1, 2))
"""The pieces that each branch sees, counted from the piece itself."""
_REACH: Final = 2
_SLOTS: Final = np.array([place for window in _WINDOWS for place in window])
_WIDTH: Final = 256
"""Dimensions of a branch."""
_BRANCHES: Final = len(_WINDOWS) * _WIDTH
_PARTS: Final = 17
"""Of the vocabulary: a piece's part is quantised with a scale and a lowest value of its own."""

Weights = NDArray[np.float32]


class Model(Protocol):
    """The weights, as the package names them; `w1` to `b2` have an entry for each branch."""

    table: NDArray[np.uint8]
    scale: Weights
    lo: Weights
    proj_W: Weights
    proj_b: Weights
    ln_g_all: Weights
    ln_b_all: Weights
    w1: list[Weights]
    b1: list[Weights]
    w2: list[Weights]
    b2: list[Weights]
    ln_g: Weights
    ln_b: Weights
    cnn_W: Weights
    cnn_b: Weights
    d0: Weights
    d1: Weights
    d2: Weights
    d3: Weights
    p1: Weights
    p3: Weights
    eps: float


class Network:
    """Makes unit vectors of texts that were cut into pieces; may be used from several threads."""

    def __init__(self, model: Model, *, kept: int = KEPT) -> None:
        self._model = model
        # Side by side, what a piece adds at each place of a branch's window.
        self._first = [
            weights.reshape(-1, _WIDTH, _WIDTH).transpose(1, 0, 2).reshape(_WIDTH, -1)
            for weights in model.w1
        ]
        self._most = kept
        self._kept: dict[int, Weights] = {}
        self._lock = Lock()

    def encode(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """One vector for each text, shape (texts, dimensions); each from its own pieces alone."""
        return np.concatenate([self._encode(group) for group in _groups(texts)])

    def _encode(self, texts: Sequence[Sequence[int]]) -> Vectors:
        model = self._model
        pieces = [piece for text in texts for piece in text]
        count = len(pieces)
        lengths = np.array([len(text) for text in texts])
        around = _around(lengths)

        own = np.empty((count + 1, _BRANCHES + len(_SLOTS) * _WIDTH), np.float32)
        np.stack(self._known(pieces), out=own[:count])
        own[count] = 0
        products = own[:, _BRANCHES:].reshape(count + 1, len(_SLOTS), _WIDTH)
        seen = products[around[:, _SLOTS + _REACH], np.arange(len(_SLOTS))]

        features = np.empty((count, model.table.shape[1] + _BRANCHES), np.float32)
        features[:, :-_BRANCHES] = self._looked_up(pieces)
        inside = np.zeros((count + 1, _WIDTH), np.float32)
        slot = 0
        for branch, window in enumerate(_WINDOWS):
            at = branch * _WIDTH
            first = seen[:, slot : slot + len(window)].sum(axis=1)
            slot += len(window)
            _rectify(first, model.b1[branch])
            first += own[:count, at : at + _WIDTH]
            inside[:count] = first
            windows = inside[around[:, window[0] + _REACH : window[-1] + _REACH + 1]]
            second = windows.reshape(count, -1) @ model.w2[branch]
            _rectify(second, model.b2[branch])
            np.add(second, first, out=features[:, at - _BRANCHES :][:, :_WIDTH])
        _normalize(features, model.ln_g, model.ln_b, model.eps)

        texts_of = np.split(features, np.cumsum(lengths)[:-1])
        # Summed before the projection, which is linear.
        summed = np.stack([text.sum(axis=0) for text in texts_of]) @ model.cnn_W
        size = lengths.astype(np.float32)[:, None]
        summed += size * model.cnn_b
        summed /= np.sqrt(size)
        return self._dense(summed)

    def _dense(self, summed: Weights) -> Vectors:
        model = self._model
        hidden = np.maximum(summed @ model.d0, 0) @ model.d1
        hidden += summed @ model.p1
        np.maximum(hidden, 0, out=hidden)
        vectors = np.maximum(hidden @ model.d2, 0) @ model.d3
        vectors += hidden @ model.p3
        np.tanh(vectors, out=vectors)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def _known(self, pieces: Sequence[int]) -> list[Weights]:
        """For each piece, its branches and then its products, one for each slot."""
        found: dict[int, Weights] = {}
        new: list[int] = []
        with self._lock:
            for piece in dict.fromkeys(pieces):
                kept = self._kept.pop(piece, None)
                if kept is None:
                    new.append(piece)
                else:
                    found[piece] = self._kept[piece] = kept
        if new:
            made = {piece: row.copy() for piece, row in zip(new, self._alone(new), strict=True)}
            found |= made
            with self._lock:
                self._kept |= made
                # Those used longest ago come first.
                for piece in list(islice(self._kept, max(0, len(self._kept) - self._most))):
                    del self._kept[piece]
        return [found[piece] for piece in pieces]

    def _alone(self, pieces: Sequence[int]) -> Weights:
        model = self._model
        branches = self._looked_up(pieces) @ model.proj_W
        branches += model.proj_b
        _normalize(branches, model.ln_g_all, model.ln_b_all, model.eps)
        products = [
            branches[:, branch * _WIDTH :][:, :_WIDTH] @ weights
            for branch, weights in enumerate(self._first)
        ]
        return np.concatenate([branches, *products], axis=1)

    def _looked_up(self, pieces: Sequence[int]) -> Weights:
        model = self._model
        ids = np.array(pieces)
        part = ids % _PARTS
        vectors = model.table[ids].astype(np.float32)
        vectors *= model.scale[part, None]
        vectors += model.lo[part, None]
        return vectors


def _groups(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """The texts in order, so many together as have not too many pieces."""
    group: list[Sequence[int]] = []
    size = 0
    for text in texts:
        if group and size + len(text) > PIECES_AT_ONCE:
            yield group
            group, size = [], 0
        group.append(text)
        size += len(text)
    if group:
        yield group


def _around(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each piece, the positions of those within reach; outside its text, one past the last."""
    ends = np.cumsum(lengths)
    starts = ends - lengths
    count = int(ends[-1])
    positions: NDArray[np.int64] = np.add.outer(np.arange(count), np.arange(-_REACH, _REACH + 1))
    before, after = (np.repeat(each, lengths)[:, None] for each in (starts, ends))
    return np.where((positions >= before) & (positions < after), positions, count)


def _rectify(values: Weights, bias: Weights) -> None:
    values += bias
    np.maximum(values, 0, out=values)


def _normalize(rows: Weights, gain: Weights, bias: Weights, smallest: float) -> None:
    """Layer normalisation, in place."""
    rows -= rows.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows) / rows.shape[1]
    rows *= (1 / np.sqrt(variance + smallest))[:, None]
    rows *= gain
    rows += bias
