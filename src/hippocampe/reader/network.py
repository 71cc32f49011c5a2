"""The reader: one small transformer over two texts, with a head for each question about them.

multilingual-e5-small (Wang et al., 2024) as a cross-encoder, cut to the vocabulary of French and English and to its
lower layers, fine-tuned by `benchmarks/learn_reader.py`. Runs in onnxruntime.
"""

from __future__ import annotations

import errno
import hashlib
import json
from base64 import b64decode
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module, resources
from io import BytesIO
from math import inf
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
THREADS: Final = 2
"""Threads that read the pairs of a call with the shipped reader. More would take the cores of other callers."""
FIRST_EXPECTED: Final = 0.003
"""Expected seconds of a pair before any was read."""
SMOOTHING: Final = 0.1
"""Weight of the latest call in the moving average."""
MAX_GROWTH: Final = 4.0
"""An outlier is clipped to this many times the average."""
_BEGIN, _END = 0, 2
_FILE: Final = "reader.zip"
_PASSING: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors of a process that lacks descriptors or memory for now."""
_PRODUCT: Final = b64decode(
    "CAUSADpiChgKAWEKAWISAXkiDU1hdE11bEludGVnZXISAWdaFQoBYRIQCg4IAhIKCgMSAW0KAxIBa1oVCgFiEhAKDggDEgoKAxIBawoDEgFu"
    "YhUKAXkSEAoOCAYSCgoDEgFtCgMSAW5CBAoAEAo="
)
"""An ONNX graph of one node: the `MatMulInteger` of a matrix of uint8 and one of int8."""
_DAMAGED: Final = f"the reader cannot use its own weights, {_FILE}: reinstall Hippocampe."


class Reader:
    """Reads pairs of texts. Thread-safe.

    Each pair is read alone: a batch of texts of unequal lengths is padded, and costs more than it saves.

    Args:
        archive: The file of weights: a graph, a tokenizer and their provenance.
        threads: Threads of one call, that of the caller included.

    Attributes:
        about: How the weights were made.
        seconds_per_pair: Moving average of the time to read a pair.

    Raises:
        ModelUnavailable: The file is damaged or of another format, or a library that it needs cannot be loaded.
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
        try:
            self._session = _session(graph)
            self._tokenizer = import_module("tokenizers").Tokenizer.from_str(pieces.decode())
        except Exception as exc:  # each library has errors of its own
            if isinstance(exc, OSError) and exc.errno in _PASSING:
                raise
            raise ModelUnavailable(
                f"the reader cannot run here ({type(exc).__name__}): reinstall onnxruntime and tokenizers."
            ) from exc
        self._tokenizer.enable_truncation(MAX_PIECES)
        self._helpers = threads - 1
        self._pool = ThreadPoolExecutor(max(self._helpers, 1), "hippocampe-reader")
        self.seconds_per_pair = FIRST_EXPECTED

    def read_pairs(
        self, head: Head, pairs: Sequence[tuple[str, str]], seconds: float = inf
    ) -> Logits:
        """Logits of a head for the first pairs, as many as there is time for: shape (pairs read, logits).

        Args:
            head: What is asked of each pair.
            pairs: For `answer`, a message and a text, each after the name of its user and a colon where it is known;
                for `relation`, an old statement and a new one.
            seconds: Time that it may take; no pair is begun that would likely end later.
        """
        began = perf_counter()
        latest = began + seconds - self.seconds_per_pair
        pieces = {text: self._pieces(text) for pair in pairs for text in pair}
        places = iter(range(len(pairs)))
        read: dict[int, NDArray[np.float32]] = {}

        def work() -> None:
            while perf_counter() < latest and (place := next(places, None)) is not None:
                one, two = pairs[place]
                inputs = _inputs(pieces[one], pieces[two])
                read[place] = self._session.run([head], inputs)[0][0]

        helpers: list[Future[None]] = []
        with suppress(RuntimeError):  # no thread starts while the interpreter ends
            helpers += [self._pool.submit(work) for _ in range(min(self._helpers, len(pairs) - 1))]
        work()
        for each in helpers:
            if not each.cancel():
                each.result()
        if not read:
            return np.zeros((0, _LOGITS[head]), np.float32)
        pace = min((perf_counter() - began) / len(read), MAX_GROWTH * self.seconds_per_pair)
        self.seconds_per_pair += SMOOTHING * (pace - self.seconds_per_pair)
        return np.stack([read[place] for place in range(len(read))])

    def _pieces(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids


_PROVIDERS: Final = ["CPUExecutionProvider"]
_LOGITS: Final[dict[Head, int]] = {"answer": 1, "relation": 5}


def _session(graph: bytes) -> Any:
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    # Threads that share one pair wait for each other at every node, and on a busy machine for the slowest.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # A twentieth of the time; the logits change less than by the rounding of the weights.
    options.add_session_config_entry("optimization.enable_gelu_approximation", "1")
    if _saturates(runtime, options):
        # Logits would change by up to 1.4. Elsewhere it takes two thirds more time.
        options.add_session_config_entry("session.x64quantprecision", "1")
    return runtime.InferenceSession(graph, options, providers=_PROVIDERS)


def _saturates(runtime: Any, options: Any) -> bool:
    """Return whether sums of products of small integers do not fit on this processor: without VNNI, it adds two in 16 bits."""
    session = runtime.InferenceSession(_PRODUCT, options, providers=_PROVIDERS)
    [product] = session.run(
        None, {"a": np.full((1, 2), 255, np.uint8), "b": np.full((2, 1), 127, np.int8)}
    )
    return int(product[0, 0]) != 2 * 255 * 127


def _inputs(one: list[int], two: list[int]) -> dict[str, NDArray[np.int64]]:
    """The inputs of the graph for a pair: pieces, and 1 or 2 for those of either text."""
    ids = [_BEGIN, *one, _END, _END, *two, _END]
    sides = [1] * (len(one) + 2) + [2] * (len(two) + 2)
    return {"ids": np.array([ids], np.int64), "sides": np.array([sides], np.int64)}


_loading: Final = Lock()


def load_reader() -> Reader:
    """The shipped reader, loaded at the first call and shared within the process.

    Raises:
        ModelUnavailable: Its file is missing or damaged, or a library that it needs cannot be loaded. This is found
            once; then it stays so until the process ends. Or the process is out of descriptors or memory, for now.
    """
    try:
        with _loading:
            found = _shipped()
    except OSError as exc:
        raise ModelUnavailable(
            f"the reader cannot be loaded now: {exc.strerror}. Give the process more, or close what it does not need."
        ) from exc
    if isinstance(found, str):
        raise ModelUnavailable(found)
    return found


@cache
def _shipped() -> Reader | str:
    """The shipped reader, or why it cannot be used."""
    try:
        archive = (resources.files("hippocampe") / "data" / _FILE).read_bytes()
        return Reader(archive, min(THREADS, cpu_count() or 1))
    except OSError as exc:
        if exc.errno in _PASSING:
            raise
        return _DAMAGED
    except ModelUnavailable as exc:
        return str(exc)
