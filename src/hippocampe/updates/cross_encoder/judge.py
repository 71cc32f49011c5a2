"""Classify a pair of statements: the relation of the new one to the old one.

multilingual-e5-small (Wang et al., 2024) as a cross-encoder: both statements in one text, so that attention
spans both. `benchmarks/learn_reader.py` learnt a low-rank change (Hu et al., 2022) of its upper layers and a head.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, resources
from threading import Lock
from typing import Any, Final
from weakref import WeakValueDictionary
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from hippocampe.errors import ModelUnavailable
from hippocampe.updates import learnt
from hippocampe.updates.cross_encoder.base import SHA256, Base, Floats
from hippocampe.updates.cross_encoder.encoder import Changes, Encoder, Linear, gelu
from hippocampe.updates.cross_encoder.pieces import Cutter
from hippocampe.updates.learnt import OUTCOMES, Model

MAX_PIECES: Final = 126
"""Pieces read of a statement, the two of its prefix included."""
PREFIX: Final = "query: "
"""The prefix of texts with which the encoder was trained."""
BATCH: Final = 16
JOINT: Final = "joint."
"""Prefix of the names of the joint model's arrays."""
_FILE: Final = "reader.npz"


@dataclass(frozen=True, slots=True)
class Learnt:
    """The learnt weights on top of the encoder.

    Attributes:
        changes: Low-rank changes of the encoder's matrices, in its own format.
        head: The two matrices from the states of a pair to its outcomes.
        joint: The model that weighs the evidence of a pair and the opinion of the reader.
    """

    changes: Changes
    head: tuple[Linear, Linear]
    joint: Model


class Reader:
    """Reads pairs of statements. Thread-safe.

    Attributes:
        joint: As in `Learnt`.
    """

    def __init__(self, base: Base, taught: Learnt) -> None:
        begin, self._end, unknown = base.marks
        self._begin = begin
        self._cutter = Cutter(base.pieces, base.characters, unknown)
        self._encoder = Encoder(base, taught.changes)
        self._head = taught.head
        self.joint = taught.joint

    def judge(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """The probability of each of `OUTCOMES`, shape (pairs, outcomes).

        Args:
            pairs: The old statement and the new one of each pair.
        """
        told = np.zeros((len(pairs), len(OUTCOMES)), np.float32)
        cut = [(self._cut(old), self._cut(new)) for old, new in pairs]
        order = sorted(range(len(pairs)), key=lambda at: len(cut[at][0]) + len(cut[at][1]))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            told[rows] = self._judged([cut[at] for at in rows])
        return told

    def _cut(self, text: str) -> list[int]:
        return self._cutter.cut(PREFIX + text)[:MAX_PIECES]

    def _judged(self, cut: Sequence[tuple[list[int], list[int]]]) -> Floats:
        tokens = [[self._begin, *old, self._end, self._end, *new, self._end] for old, new in cut]
        states, real = self._encoder.states(tokens)
        after = np.zeros_like(real)
        for row, (old, _) in enumerate(cut):
            after[row, len(old) + 2 :] = True
        ours, theirs = _mean(states, real & ~after), _mean(states, real & after)
        both = [states[:, 0], ours, theirs, theirs - ours, theirs * ours]
        hidden, out = self._head
        logits = out(gelu(hidden(np.concatenate(both, axis=1))))
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def _mean(states: Floats, rows: NDArray[np.bool_]) -> Floats:
    weights = rows[..., None].astype(np.float32)
    return (states * weights).sum(axis=1) / weights.sum(axis=1)


_loading: Final = Lock()
_loaded: Final = WeakValueDictionary[str, Reader]()


def load_reader() -> Reader:
    """The reader, shared within the process while in use: 150 MB, half a second to load.

    Raises:
        ModelUnavailable: The extra is not installed, or a file of it is damaged.
    """
    with _loading:
        reader = _loaded.get(_FILE)
        if reader is None:
            # Several threads of BLAS spin at a barrier: see `embed.local`.
            import_module("threadpoolctl").threadpool_limits(limits=1, user_api="blas")
            _loaded[_FILE] = reader = Reader(Base.open(), load_learnt())
        return reader


def load_learnt() -> Learnt:
    """Load the shipped weights.

    Raises:
        ModelUnavailable: The file is damaged, or was learnt over other weights.
    """
    source = resources.files("hippocampe") / "data" / _FILE
    try:
        with source.open("rb") as file, np.load(file) as held:
            return from_arrays({name: held[name] for name in held.files})
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as exc:
        raise ModelUnavailable(
            f"the local reader cannot use its own weights, {_FILE}: reinstall Hippocampe."
        ) from exc


def from_arrays(held: Mapping[str, NDArray[Any]]) -> Learnt:
    """Rebuild the learnt weights from arrays.

    Raises:
        ValueError: They were learnt over other weights of the encoder.
    """
    about = json.loads(bytes(held["about"]).decode())
    if about["base"] != SHA256:
        raise ValueError("learnt over other weights")
    single = {
        name: each.astype(np.float32)
        for name, each in held.items()
        if name.startswith(("layer.", "head."))
    }
    places = [name.split(".")[1:3] for name in single if name.endswith(".down")]
    changes: Changes = {
        (int(layer), part): (
            single[f"layer.{layer}.{part}.up"],
            single[f"layer.{layer}.{part}.down"],
        )
        for layer, part in places
    }
    hidden, out = (
        Linear(np.ascontiguousarray(single[f"head.{n}"].T), single[f"head.{n}.bias"])
        for n in (0, 1)
    )
    joint = {
        name.removeprefix(JOINT): each for name, each in held.items() if name.startswith(JOINT)
    }
    return Learnt(changes, (hidden, out), learnt.from_arrays(joint))
