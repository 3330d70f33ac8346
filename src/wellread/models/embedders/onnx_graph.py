"""Rebuilds the default model's graph from its weights with onnxruntime's fused operators.

The published file has about 60 small attention operators per layer. Here each layer is five matrix
products around onnxruntime's MultiHeadAttention, BiasGelu and SkipLayerNormalization, and the graph
includes mean pooling and the L2 norm: a fifth faster with half the memory. Weights stay int8 in the
file, as published, and become fp32 when it is opened; all arithmetic is fp32, so that a text's
vector does not depend on its batch.

Only this module needs ``onnx``; it is imported only to build a graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from wellread.errors import ModelError
from wellread.models.model_files import DIMENSIONS
from wellread.models.onnx_runtime import frame_batch, open_session
from wellread.models.word_pieces import word_pieces

LAYERS = 6
HEADS = 12
EPSILON = 1e-12
CONTRIB = "com.microsoft"
MIN_COSINE = 0.999
CHECKED = (
    "The harbour council voted to reopen the eastern ferry line in spring.",
    "ferry timetable",
    "Photosynthesis turns sunlight, water and carbon dioxide into sugar; it takes place in the "
    "chloroplasts of plant cells, and oxygen is what it leaves over.",
    "In 2019, 41.7 % of respondents (n = 1,204) said: no!",
    "",
)

Weights = Mapping[str, NDArray[Any]]


def build_graph(source: Path) -> bytes:
    """Return the serialised graph from ``input_ids`` and ``attention_mask`` to ``vectors``."""
    original = onnx.load(str(source))
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in original.graph.initializer}
    matrices = [
        node.input[1]
        for node in original.graph.node
        if node.op_type == "MatMul" and f"{node.input[1]}_q" in weights
    ]
    writer = _Writer()
    state = _embeddings(writer, weights)
    for layer in range(LAYERS):
        state = _layer(writer, weights, matrices[6 * layer : 6 * layer + 6], layer, state)
    _pooling(writer, state)
    data = writer.serialised()
    _check(source, data)
    return data


class _Writer:
    """Collects the nodes and constants of a graph; a node's output has the node's name."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, name: str, values: NDArray[Any]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        self.nodes(operator, inputs, [name], **attributes)
        return name

    def nodes(
        self, operator: str, inputs: Sequence[str], names: Sequence[str], **attributes: Any
    ) -> None:
        self._nodes.append(helper.make_node(operator, inputs, names, **attributes))

    def fused(self, operator: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [name], domain=CONTRIB, **attributes))
        return name

    def product(self, left: str, quantised: NDArray[Any], scale: NDArray[Any], name: str) -> str:
        """Add ``left`` times an int8 matrix, which onnxruntime dequantises once, at opening."""
        self.node(
            "Cast", [self.constant(f"{name}_int8", quantised)], f"{name}_cast", to=TensorProto.FLOAT
        )
        self.node("Mul", [f"{name}_cast", self.constant(f"{name}_scale", scale)], f"{name}_weight")
        return self.node("MatMul", [left, f"{name}_weight"], name)

    def serialised(self) -> bytes:
        ids, mask = (
            helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
            for name in ("input_ids", "attention_mask")
        )
        vectors = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", DIMENSIONS])
        graph = helper.make_graph(self._nodes, "wellread", [ids, mask], [vectors], self._constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(CONTRIB, 1)],
            ir_version=9,
        )
        return bytes(model.SerializeToString())


def _embeddings(writer: _Writer, weights: Weights) -> str:
    prefix = "inner.embeddings"
    words = writer.constant("words", weights[f"{prefix}.word_embeddings.weight_q"])
    scales = writer.constant("word_scales", weights[f"{prefix}.word_embeddings.weight_scale"])
    # Only the rows looked up are dequantised, so that the large table stays int8 in memory.
    writer.node("Gather", [words, "input_ids"], "word_int8")
    writer.node("Cast", ["word_int8"], "word_cast", to=TensorProto.FLOAT)
    writer.node("Gather", [scales, "input_ids"], "word_scale")
    writer.node("Mul", ["word_cast", "word_scale"], "word")
    position = weights[f"{prefix}.position_embeddings.weight_q"].astype(np.float32)
    position = position * weights[f"{prefix}.position_embeddings.weight_scale"]
    # Every text is a single segment, so its row can be added to every position beforehand.
    table = position + weights[f"{prefix}.token_type_embeddings.weight"][0]
    writer.constant("zero", np.array([0], dtype=np.int64))
    writer.node("Shape", ["input_ids"], "width", start=1, end=2)
    writer.node("Slice", [writer.constant("positions", table), "zero", "width", "zero"], "position")
    writer.node("Add", ["word", "position"], "embedding")
    scale = writer.constant("embedding_norm_scale", weights[f"{prefix}.LayerNorm.weight"])
    bias = writer.constant("embedding_norm_bias", weights[f"{prefix}.LayerNorm.bias"])
    writer.node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    return writer.node(
        "LayerNormalization", ["embedding", scale, bias], "layer0", axis=-1, epsilon=EPSILON
    )


def _layer(
    writer: _Writer, weights: Weights, matrices: Sequence[str], layer: int, state: str
) -> str:
    target, source = f"layer{layer + 1}", f"inner.encoder.layer.{layer}"
    quantised = [weights[f"{name}_q"] for name in matrices]
    scales = [weights[f"{name}_scale"] for name in matrices]
    parts = ("query", "key", "value")
    biases = [weights[f"{source}.attention.self.{part}.bias"] for part in parts]

    def added_and_normalised(change: str, kept: str, name: str, where: str) -> str:
        inputs = [
            writer.constant(f"{name}_norm_scale", weights[f"{source}.{where}.LayerNorm.weight"]),
            writer.constant(f"{name}_norm_bias", weights[f"{source}.{where}.LayerNorm.bias"]),
            writer.constant(f"{name}_bias", weights[f"{source}.{where}.dense.bias"]),
        ]
        return writer.fused(
            "SkipLayerNormalization", [change, kept, *inputs], name, epsilon=EPSILON
        )

    joined = writer.product(
        state,
        np.concatenate(quantised[:3], axis=1),
        np.concatenate(scales[:3], axis=1),
        f"{target}_qkv",
    )
    split = [f"{target}_{part}" for part in parts]
    writer.nodes("Split", [joined], split, axis=-1, num_outputs=3)
    bias = writer.constant(f"{target}_qkv_bias", np.concatenate(biases))
    attention = writer.fused(
        "MultiHeadAttention", [*split, bias, "mask"], f"{target}_attention", num_heads=HEADS
    )
    mixed = writer.product(attention, quantised[3], scales[3], f"{target}_mixed")
    middle = added_and_normalised(mixed, state, f"{target}_middle", "attention.output")
    up = writer.product(middle, quantised[4], scales[4], f"{target}_up")
    up_bias = writer.constant(f"{target}_up_bias", weights[f"{source}.intermediate.dense.bias"])
    active = writer.fused("BiasGelu", [up, up_bias], f"{target}_active")
    down = writer.product(active, quantised[5], scales[5], f"{target}_down")
    return added_and_normalised(down, middle, target, "output")


def _pooling(writer: _Writer, state: str) -> None:
    """Add mean pooling and the L2 norm, which makes the mean's divisor unnecessary."""
    axis = writer.constant("axis", np.array([1], dtype=np.int64))
    writer.node("Cast", ["attention_mask"], "mask_cast", to=TensorProto.FLOAT)
    writer.node("Unsqueeze", ["mask_cast", axis], "mask_row")
    writer.node("MatMul", ["mask_row", state], "sum_row")
    writer.node("Squeeze", ["sum_row", axis], "sum")
    writer.node("LpNormalization", ["sum"], "vectors", axis=-1, p=2)


def _check(source: Path, data: bytes) -> None:
    tokens, mask = frame_batch(word_pieces(CHECKED, 62))
    feeds = {"input_ids": tokens, "attention_mask": mask}
    vectors = open_session(data, 1).run(["vectors"], feeds)[0]
    hidden = open_session(source, 1).run(
        ["last_hidden_state"], {**feeds, "token_type_ids": np.zeros_like(tokens)}
    )[0]
    expected = (hidden * mask[:, :, None]).sum(axis=1)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    lowest = float((vectors * expected).sum(axis=1).min())
    if not lowest >= MIN_COSINE:
        raise ModelError(
            f"the graph rebuilt from {source} does not give the original's vectors: lowest "
            f"cosine {lowest:.5f}, expected {MIN_COSINE}",
            hint="install another release of onnxruntime, and report this with its version",
        )
