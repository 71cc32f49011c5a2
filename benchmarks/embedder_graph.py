"""Write `data/embedder.onnx`: the forward pass of the bundled embedder as a graph that gets its weights when it is loaded.

Run it with the packages of `requirements.txt`: `python benchmarks/embedder_graph.py`.
"""

from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from hippocampe.embed import local
from hippocampe.embed.forward_pass import weights_of

WINDOWS: Final = ((2, 0), (3, 1), (5, 2))
"""Tokens of each length of window, and how many of them are before its token."""
MOST_BEFORE: Final = 2
"""Tokens before a token in a row of `windows`."""


@dataclass(slots=True)
class Graph:
    """Nodes and constants of a graph in the making."""

    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    constants: list[onnx.TensorProto] = field(default_factory=list[onnx.TensorProto])

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, values: Any) -> str:
        """Add an array and return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values), name))
        return name

    def weights(self, name: str, values: NDArray[np.float32]) -> None:
        """Declare weights that are given when the graph is loaded."""
        declared = TensorProto(name=name, dims=values.shape, data_type=TensorProto.FLOAT)
        declared.data_location = TensorProto.EXTERNAL
        declared.external_data.add(key="location", value="given")
        self.constants.append(declared)

    def layer(self, values: str, weights: str, *more: str) -> str:
        """A matrix product, with a bias or another product added, and what is below 0 cut off."""
        product = self.node("MatMul", values, weights)
        return self.node("Relu", self.node("Add", product, *more) if more else product)


def made(backend: Any) -> onnx.ModelProto:
    """The graph of the package's model."""
    graph, epsilon = Graph(), float(backend.eps)
    for name, values in weights_of(backend).items():
        graph.weights(name, values)
    width, dimensions = backend.w1[0].shape[1], backend.table.shape[1]
    normal = {"axis": -1, "epsilon": epsilon}
    projected = graph.node("Add", graph.node("MatMul", "tokens", "proj_W"), "proj_b")
    projected = graph.node("LayerNormalization", projected, "ln_g_all", "ln_b_all", **normal)
    beyond = graph.constant(np.zeros((1, width), np.float32))

    def columns(values: str, first: int, end: int) -> str:
        ends = graph.constant([first]), graph.constant([end]), graph.constant([1])
        return graph.node("Slice", values, *ends)

    parts = ["tokens"]
    for place, (count, before) in enumerate(WINDOWS):
        first = MOST_BEFORE - before
        around = columns("windows", first, first + count)
        flat = graph.constant([-1, count * width])
        values = columns(projected, place * width, (place + 1) * width)
        for number in (1, 2):
            padded = graph.node("Concat", values, beyond, axis=0)
            seen = graph.node("Reshape", graph.node("Gather", padded, around, axis=0), flat)
            more = graph.layer(seen, f"w{number}.{place}", f"b{number}.{place}")
            values = graph.node("Add", more, values)
        parts.append(values)
    features = graph.node("Concat", *parts, axis=1)
    features = graph.node("LayerNormalization", features, "ln_g", "ln_b", **normal)
    total = graph.node("MatMul", graph.node("MatMul", "owned", features), "cnn_W")
    total = graph.node("Add", total, graph.node("Mul", "lengths", "cnn_b"))
    mean = graph.node("Div", total, graph.node("Sqrt", "lengths"))
    one = graph.layer(mean, "p1", graph.node("MatMul", graph.layer(mean, "d0"), "d1"))
    two = graph.node("MatMul", graph.layer(one, "d2"), "d3")
    last = graph.node("Tanh", graph.node("Add", graph.node("MatMul", one, "p3"), two))
    graph.nodes.append(helper.make_node("LpNormalization", [last], ["vectors"], axis=-1, p=2))
    described = helper.make_tensor_value_info
    inputs = [
        described("tokens", TensorProto.FLOAT, ["tokens", dimensions]),
        described("windows", TensorProto.INT64, ["tokens", None]),
        described("owned", TensorProto.FLOAT, ["texts", "tokens"]),
        described("lengths", TensorProto.FLOAT, ["texts", 1]),
    ]
    outputs = [described("vectors", TensorProto.FLOAT, ["texts", dimensions])]
    whole = helper.make_graph(graph.nodes, "embedder", inputs, outputs, graph.constants)
    return helper.make_model(
        whole, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="hippocampe"
    )


def main() -> None:
    """Write the file of the package."""
    content = made(local._encoder()._model).SerializeToString(deterministic=True)
    target = Path(str(resources.files("hippocampe") / "data" / "embedder.onnx"))
    target.write_bytes(content)
    print(f"{target.name}: {len(content)} bytes")


if __name__ == "__main__":
    main()
