"""The reader: one small transformer over two texts, with a head for each question about them.

multilingual-e5-small (Wang et al., 2024) as a cross-encoder, cut to the vocabulary of French and English and to its
lower layers, fine-tuned by `benchmarks/learn_reader.py`. Runs in onnxruntime.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib import import_module, resources
from io import BytesIO
from os import cpu_count
from threading import Lock
from time import perf_counter
from typing import Any, Final, Literal
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from hippocampe.errors import ModelUnavailable

Head = Literal["answer", "relation"]
"""`answer`: one logit, whether the second text helps the first, a message. `relation`: five logits, what the second
statement is to the first, an older one: update, same, detail, partial, separate."""
Logits = NDArray[np.float32]

FORMAT: Final = 1
MAX_PIECES: Final = 96
"""Pieces read of each text."""
BATCH: Final = 16
"""Pairs read at a time; more gain nothing and need memory."""
THREADS: Final = 2
"""Threads of the shipped reader: with two, eight pairs take 36 ms instead of 46, with more hardly less."""
FIRST_EXPECTED: Final = 0.006
"""Expected seconds of a pair before any was read."""
SMOOTHING: Final = 0.1
"""Weight of the latest call in the moving average."""
MAX_GROWTH: Final = 4.0
"""An outlier is clipped to this many times the average."""
_BEGIN, _PADDING, _END = 0, 1, 2
_FILE: Final = "reader.zip"
_DAMAGED: Final = f"the reader cannot use its own weights, {_FILE}: reinstall Hippocampe."


class Reader:
    """Reads pairs of texts. Thread-safe.

    Args:
        archive: The file of weights: a graph, a tokenizer and their provenance.
        threads: Threads of one call.

    Attributes:
        about: How the weights were made.
        seconds_per_pair: Moving average of the time to read a pair.

    Raises:
        ModelUnavailable: The file is damaged or of another format.
    """

    def __init__(self, archive: bytes, threads: int = 1) -> None:
        try:
            with ZipFile(BytesIO(archive)) as file:
                self.about: dict[str, Any] = json.loads(file.read("about.json"))
                graph, pieces = file.read("model.onnx"), file.read("tokenizer.json")
        except (BadZipFile, KeyError, ValueError) as exc:
            raise ModelUnavailable(_DAMAGED) from exc
        found = [hashlib.sha256(each).hexdigest() for each in (graph, pieces)]
        if self.about.get("format") != FORMAT or self.about.get("sha256") != found:
            raise ModelUnavailable(_DAMAGED)
        self._session = _session(graph, threads)
        self._tokenizer = import_module("tokenizers").Tokenizer.from_str(pieces.decode())
        self._tokenizer.enable_truncation(MAX_PIECES)
        self.seconds_per_pair = FIRST_EXPECTED

    def read_pairs(self, head: Head, pairs: Sequence[tuple[str, str]]) -> Logits:
        """Logits of a head, shape (pairs, logits).

        Args:
            head: What is asked of each pair.
            pairs: For `answer`, a message and a text, each after the name of its user and a colon where it is known;
                for `relation`, an old statement and a new one.
        """
        began = perf_counter()
        cut = [(self._pieces(one), self._pieces(two)) for one, two in pairs]
        order = sorted(range(len(cut)), key=lambda at: len(cut[at][0]) + len(cut[at][1]))
        parts = [
            self._session.run([head], _padded([cut[at] for at in order[start : start + BATCH]]))[0]
            for start in range(0, len(order), BATCH)
        ]
        if not parts:
            return np.zeros((0, 1 if head == "answer" else 5), np.float32)
        read = np.concatenate(parts)
        logits = np.empty_like(read)
        logits[order] = read
        pace = min((perf_counter() - began) / len(pairs), MAX_GROWTH * self.seconds_per_pair)
        self.seconds_per_pair += SMOOTHING * (pace - self.seconds_per_pair)
        return logits

    def _pieces(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids


def _session(graph: bytes, threads: int) -> Any:
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # A waiting thread that spins takes the core from the caller: see `embed.local`.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _padded(cut: Sequence[tuple[list[int], list[int]]]) -> dict[str, NDArray[np.int64]]:
    """The inputs of the graph: pieces, and 1 or 2 for those of either text."""
    tokens = [[_BEGIN, *one, _END, _END, *two, _END] for one, two in cut]
    longest = max(map(len, tokens))
    ids = np.full((len(cut), longest), _PADDING, np.int64)
    sides = np.zeros((len(cut), longest), np.int64)
    for row, (each, (one, _)) in enumerate(zip(tokens, cut, strict=True)):
        ids[row, : len(each)] = each
        sides[row, : len(each)] = 2
        sides[row, : len(one) + 2] = 1
    return {"ids": ids, "sides": sides}


_loading: Final = Lock()


def load_reader() -> Reader:
    """The shipped reader, loaded at the first call and shared within the process.

    Raises:
        ModelUnavailable: Its file is missing or damaged.
    """
    with _loading:
        return _shipped()


@cache
def _shipped() -> Reader:
    try:
        archive = (resources.files("hippocampe") / "data" / _FILE).read_bytes()
    except OSError as exc:
        raise ModelUnavailable(_DAMAGED) from exc
    return Reader(archive, min(THREADS, cpu_count() or 1))
