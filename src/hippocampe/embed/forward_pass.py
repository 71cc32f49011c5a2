"""The forward pass of the bundled model in onnxruntime: a short text takes half the time of the package's own in NumPy.

The graph, `data/embedder.onnx`, is the same arithmetic without weights: it gets those of the package. Vectors differ by
rounding only (cosine above .999999). `benchmarks/embedder_graph.py` writes it.
"""

import logging
from collections.abc import Sequence
from functools import partial
from importlib import import_module, resources
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hippocampe.errors import EmbedderUnavailable
from hippocampe.protocols import Vectors

logger = logging.getLogger(__name__)

SHARED: Final = (
    *("proj_W", "proj_b", "ln_g_all", "ln_b_all", "ln_g", "ln_b", "cnn_W", "cnn_b"),
    *("d0", "d1", "d2", "d3", "p1", "p3"),
)
"""Weights of the model by their names in the package."""
OF_WINDOWS: Final = ("w1", "b1", "w2", "b2")
"""Lists of weights, one for each length of window."""
_FILE: Final = "embedder.onnx"


def use(backend: Any) -> None:
    """Replace the forward pass of the package's model; without onnxruntime, it keeps its own.

    Args:
        backend: The package's NumPy model.

    Raises:
        EmbedderUnavailable: The graph is damaged.
    """
    try:
        runtime = import_module("onnxruntime")
    except ImportError as exc:
        logger.debug("the embedder runs in NumPy, since onnxruntime cannot be imported: %s", exc)
        return
    backend._encode_batch = partial(_encode_batch, _session(runtime, weights_of(backend)), backend)


def weights_of(backend: Any) -> dict[str, NDArray[np.float32]]:
    """The weights of the package's model, by their names in the graph."""
    of_windows = {
        f"{name}.{place}": values
        for name in OF_WINDOWS
        for place, values in enumerate(getattr(backend, name))
    }
    return {name: getattr(backend, name) for name in SHARED} | of_windows


def _session(runtime: Any, weights: dict[str, NDArray[np.float32]]) -> Any:
    options = runtime.SessionOptions()
    # A text is too short to be shared among threads; long batches are shared by their callers.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    values = [runtime.OrtValue.ortvalue_from_numpy(each) for each in weights.values()]
    options.add_external_initializers(list(weights), values)
    try:
        graph = (resources.files("hippocampe") / "data" / _FILE).read_bytes()
        return runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as exc:  # the library has errors of its own
        raise EmbedderUnavailable(
            f"the local embedder cannot use its own graph, {_FILE}: reinstall Hippocampe."
        ) from exc


def _encode_batch(
    session: Any, backend: Any, group: Sequence[Sequence[int]], n_tokens: int, out: Vectors
) -> None:
    """Write the vectors of texts to `out`; the signature is the package's.

    Args:
        session: Runs the graph.
        backend: The package's model: its quantised table of tokens, and the windows around tokens.
        group: The token ids of each text.
        n_tokens: Tokens of all texts.
        out: Shape (texts, dimensions).
    """
    lengths = np.array([len(ids) for ids in group], np.int64)
    ids = np.fromiter(chain.from_iterable(group), np.int64, n_tokens)
    chunk = ids % len(backend.scale)
    tokens = backend.table[ids] * backend.scale[chunk, None] + backend.lo[chunk, None]
    owners = np.repeat(np.arange(len(group)), lengths)
    inputs = {
        "tokens": tokens,
        "windows": backend._window_index(np.cumsum(lengths) - lengths, lengths, n_tokens),
        "owned": (owners == np.arange(len(group))[:, None]).astype(np.float32),
        "lengths": lengths.astype(np.float32)[:, None],
    }
    out[:] = session.run(["vectors"], inputs)[0]
