"""The reader as one file: an ONNX graph with 8-bit weights and 4-bit embeddings, its tokenizer and its provenance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from hippocampe.reader.network import FORMAT
from reader_network import HEADS, Ids, Network, padded

MICROSOFT: Final = "com.microsoft"
BLOCK: Final = 32
"""Numbers of a block, with one scale."""
ROUNDED: Final = "rounded"
FLOAT: Final = "float"
APART: Final = "apart"
OUTLIERS: Final = 8
"""Columns of each layer that are computed apart."""


@dataclass(slots=True)
class Graph:
    """Nodes and constants of a graph in the making.

    Attributes:
        kinds: By part of a layer, how its matrix is stored and multiplied: `ROUNDED` (8 bits a column, inputs
            rounded per call) or `FLOAT`. The second feed-forward matrix may be `APART`: rounded, but for the
            columns of `outliers`.
    """

    kinds: Mapping[str, str]
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    constants: list[onnx.TensorProto] = field(default_factory=list[onnx.TensorProto])
    count: int = 0

    def constant(self, values: NDArray[Any]) -> str:
        """Add an array and return its name."""
        self.count += 1
        name = f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def node(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node and return the name of its output, or their names."""
        self.count += 1
        names = [f"v{self.count}.{at}" for at in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, inputs, names, name=f"n{self.count}", **attributes)
        )
        return names[0] if outputs == 1 else names

    def times(self, values: str, matrix: NDArray[np.float32], kind: str) -> str:
        """Multiply by a matrix of shape (in, out)."""
        if kind == FLOAT:
            return self.node("MatMul", values, self.constant(matrix))
        most = np.abs(matrix).max(axis=0)
        scale = np.where(most > 0, most, 1).astype(np.float32) / 127
        numbers = np.round(matrix / scale).astype(np.int8)
        return self.node(
            "DynamicQuantizeMatMul",
            *(values, self.constant(numbers), self.constant(scale), self.constant(np.zeros_like(scale, np.int8))),
            domain=MICROSOFT,
        )  # fmt: skip

    def embedded(self, ids: str, words: NDArray[np.float32]) -> str:
        """Rows of the embeddings, whose blocks hold 4-bit numbers as the base does."""
        blocks = words.reshape(len(words), -1, BLOCK)
        scale = _scales(blocks)
        numbers = np.round(blocks / scale[..., None]).astype(np.int8).reshape(len(words), -1)
        packed = (numbers[:, ::2] & 15) | (numbers[:, 1::2] << 4)
        self.count += 1
        name = f"c{self.count}"
        made = helper.make_tensor(name, TensorProto.INT4, words.shape, packed.tobytes(), raw=True)
        self.constants.append(made)
        rows = self.node(
            "GatherBlockQuantized",
            *(name, ids, self.constant(scale.astype(np.float16))),
            domain=MICROSOFT,
            bits=4,
            block_size=BLOCK,
            gather_axis=0,
            quantize_axis=1,
        )
        return self.node("Cast", rows, to=TensorProto.FLOAT)


def _scales(blocks: NDArray[np.float32]) -> NDArray[np.float32]:
    """The scale of each block of 4-bit numbers: the largest of which all are small whole multiples.

    The base stores `number · scale`, numbers from -8 to 7, and its scale is lost once they are multiplied.
    """
    most = np.abs(blocks).max(axis=2)
    best = np.where(most > 0, most, 1).astype(np.float32)
    error = np.full(best.shape, np.inf, np.float32)
    for top in range(8, 0, -1):
        scale = np.where(most > 0, most / top, 1).astype(np.float32)
        numbers = np.round(blocks / scale[..., None])
        off = np.abs(numbers * scale[..., None] - blocks).max(axis=2) / scale
        off[(numbers.max(axis=2) > 7) | (numbers.min(axis=2) < -8)] = np.inf
        better = off < error - 1e-3
        best[better], error[better] = scale[better], off[better]
    return best


@torch.no_grad()
def outliers(network: Network, pairs: Sequence[tuple[Ids, Ids]]) -> list[NDArray[np.int64]]:
    """By layer, the columns between the feed-forward matrices with the largest values.

    In most layers a single column is far larger than all others, and only for the marks between texts. One scale for
    all would drown the others.

    Args:
        network: The network.
        pairs: Pieces of some pairs of texts.
    """
    found: list[NDArray[np.int64]] = []

    def note(_: Any, inputs: tuple[torch.Tensor]) -> None:
        most = inputs[0].abs().flatten(0, -2).amax(0).numpy()
        found.append(np.sort(np.argsort(-most)[:OUTLIERS]))

    hooks = [layer.fo.register_forward_pre_hook(note) for layer in network.layers]
    network(*padded(pairs))
    for each in hooks:
        each.remove()
    return found


def build(
    network: Network, kinds: Mapping[str, str], apart: Sequence[NDArray[np.int64]] = ()
) -> onnx.ModelProto:
    """The graph of the layers and both heads.

    Args:
        network: The network.
        kinds: As in `Graph`.
        apart: From `outliers`, for the kind `APART`.
    """
    graph = Graph(kinds)
    state = {name: value.numpy() for name, value in network.state_dict().items()}
    width = network.words.shape[1]
    states = _beginning(graph, network)
    mask = graph.node("Cast", graph.node("Greater", "sides", graph.constant(np.int64(0))), to=TensorProto.INT32)  # fmt: skip
    for number in range(len(network.layers)):
        layer = {
            name.removeprefix(f"layers.{number}."): value
            for name, value in state.items()
            if name.startswith(f"layers.{number}.")
        }
        columns = apart[number] if apart else np.zeros(0, np.int64)
        states = _layer(graph, layer, states, mask, network.layers[0].heads, columns)
    summary = _summed(graph, states)
    outputs: list[str] = []
    for head in HEADS:
        one, two = (
            {key: state[f"heads.{head}.{at}.{key}"] for key in ("weight", "bias")} for at in (1, 4)
        )
        hidden = graph.node("Gemm", summary, graph.constant(one["weight"]), graph.constant(one["bias"]), transB=1)  # fmt: skip
        hidden = graph.node("Gelu", hidden, domain=MICROSOFT)
        made = graph.node("Gemm", hidden, graph.constant(two["weight"]), graph.constant(two["bias"]), transB=1)  # fmt: skip
        graph.nodes[-1].output[0] = head
        outputs.append(made)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])
        for name in ("ids", "sides")
    ]
    named = [
        helper.make_tensor_value_info(head, TensorProto.FLOAT, ["pairs", size])
        for head, size in HEADS.items()
    ]
    made = helper.make_model(
        helper.make_graph(graph.nodes, f"reader{width}", inputs, named, graph.constants),
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)],
    )
    made.ir_version = 10
    return made


def _beginning(graph: Graph, network: Network) -> str:
    """The states below the first layer."""
    rows = graph.embedded("ids", network.words.numpy())
    length = graph.node("Shape", "ids", start=1, end=2)
    places = graph.node(
        "Slice",
        *(graph.constant(network.places.numpy()), graph.constant(np.array([0])), length),
        graph.constant(np.array([0])),
    )
    norm = network.norm
    return graph.node(
        "LayerNormalization",
        graph.node("Add", rows, places),
        *(graph.constant(each.detach().numpy()) for each in (norm.weight, norm.bias)),
        epsilon=norm.eps,
    )


def _layer(
    graph: Graph,
    layer: Mapping[str, NDArray[np.float32]],
    states: str,
    mask: str,
    heads: int,
    apart: NDArray[np.int64],
) -> str:
    def times(values: str, part: str) -> str:
        return graph.times(values, layer[f"{part}.weight"].T, graph.kinds[part])

    def added(old: str, new: str, norm: str, part: str) -> str:
        return graph.node(
            "SkipLayerNormalization",
            *(old, new),
            *(graph.constant(layer[f"{norm}.{key}"]) for key in ("weight", "bias")),
            graph.constant(layer[f"{part}.bias"]),
            domain=MICROSOFT,
            epsilon=1e-12,
        )

    asked, keys, values = graph.node(
        "Split", times(states, "qkv"), axis=2, num_outputs=3, outputs=3
    )
    seen = graph.node(
        "MultiHeadAttention",
        *(asked, keys, values, graph.constant(layer["qkv.bias"]), mask),
        domain=MICROSOFT,
        num_heads=heads,
    )
    states = added(states, times(seen, "ao"), "aln", "ao")
    first, bias, second = layer["fi.weight"].T, layer["fi.bias"], layer["fo.weight"].T
    if graph.kinds["fo"] != APART:
        return added(
            states, _fed(graph, states, first, bias, second, graph.kinds["fo"]), "oln", "fo"
        )
    small = _fed(graph, states, first[:, apart], bias[apart], second[apart], FLOAT)
    rest = np.ones(len(bias), np.float32)
    rest[apart] = 0
    large = _fed(graph, states, first * rest, bias * rest, second * rest[:, None], ROUNDED)
    return added(states, graph.node("Add", large, small), "oln", "fo")


def _fed(
    graph: Graph,
    states: str,
    first: NDArray[np.float32],
    bias: NDArray[np.float32],
    second: NDArray[np.float32],
    kind: str,
) -> str:
    """The states through both feed-forward matrices, the second stored as `kind`."""
    inner = graph.times(states, first, FLOAT if kind == FLOAT else graph.kinds["fi"])
    inner = graph.node("BiasGelu", inner, graph.constant(bias), domain=MICROSOFT)
    return graph.times(inner, second, kind)


def _summed(graph: Graph, states: str) -> str:
    """As `Network` sums up: the first state, the mean of each text, their difference and product."""
    first = graph.node("Gather", states, graph.constant(np.int64(0)), axis=1)
    means: list[str] = []
    axis = graph.constant(np.array([1]))
    for side in (1, 2):
        own = graph.node("Equal", "sides", graph.constant(np.int64(side)))
        weights = graph.node("Cast", own, to=TensorProto.FLOAT)
        row = graph.node("Unsqueeze", weights, axis)
        total = graph.node("Squeeze", graph.node("MatMul", row, states), axis)
        means.append(graph.node("Div", total, graph.node("ReduceSum", weights, axis, keepdims=1)))
    one, two = means
    between = graph.node("Sub", two, one)
    return graph.node("Concat", first, one, two, between, graph.node("Mul", one, two), axis=1)


def store(
    path: Path, model: onnx.ModelProto, tokenizer: Tokenizer, about: Mapping[str, Any]
) -> None:
    """Write the one file that the product loads."""
    parts = {"model.onnx": model.SerializeToString(), "tokenizer.json": tokenizer.to_str().encode()}
    sums = [hashlib.sha256(each).hexdigest() for each in parts.values()]
    head = {"format": FORMAT, "sha256": sums} | dict(about)
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr("about.json", json.dumps(head, ensure_ascii=False, indent=1))
        for name, each in parts.items():
            file.writestr(name, each)


def restored(archive: Path) -> tuple[dict[str, torch.Tensor], Tokenizer]:
    """The weights of an exported network as `Network.load_state_dict` takes them, as they were rounded, and its tokenizer.

    Args:
        archive: A file that `store` wrote of what `build` made, with the second feed-forward matrices `APART`.
    """
    with ZipFile(archive) as file:
        model = onnx.load_from_string(file.read("model.onnx"))
        tokenizer = Tokenizer.from_str(file.read("tokenizer.json").decode())
    rest = iter(model.graph.initializer)

    def constant() -> NDArray[Any]:
        return numpy_helper.to_array(next(rest))

    def rounded() -> NDArray[np.float32]:
        numbers, scale, _ = constant(), constant(), constant()
        return numbers.astype(np.float32) * scale

    def skip(count: int) -> None:
        for _ in range(count):
            next(rest)

    state: dict[str, NDArray[np.float32]] = {}

    def named(prefix: str, *keys: str) -> None:
        for key in keys:
            state[f"{prefix}.{key}"] = constant()

    skip(5)  # embeddings of pieces with their scales, of places with where they are cut
    named("norm", "weight", "bias")
    skip(1)
    layers = sum(node.op_type == "MultiHeadAttention" for node in model.graph.node)
    for layer in (f"layers.{number}" for number in range(layers)):
        state[f"{layer}.qkv.weight"] = rounded().T
        named(f"{layer}.qkv", "bias")
        state[f"{layer}.ao.weight"] = rounded().T
        named(f"{layer}.aln", "weight", "bias")
        named(f"{layer}.ao", "bias")
        first, first_bias, second = constant(), constant(), constant()
        inner = rounded()
        apart = np.flatnonzero((inner == 0).all(axis=0))
        bias, outer = constant().copy(), rounded()
        inner[:, apart], bias[apart], outer[apart] = first, first_bias, second
        state[f"{layer}.fi.weight"], state[f"{layer}.fi.bias"] = inner.T, bias
        state[f"{layer}.fo.weight"] = outer.T
        named(f"{layer}.oln", "weight", "bias")
        named(f"{layer}.fo", "bias")
    skip(4)
    for head in HEADS:
        for at in (1, 4):
            named(f"heads.{head}.{at}", "weight", "bias")
    return {
        name: torch.tensor(np.ascontiguousarray(each)) for name, each in state.items()
    }, tokenizer
