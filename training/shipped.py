"""The state of a network from its int8 export, to train on from what ships.

Int8 weights times their scales, and times the factors that their inputs are multiplied by
(``smoothing.py``), are the weights again but for rounding (at most half a step of a channel). The
tables of words, places and kinds are not learnt, so they are left to the encoder that training
starts from, which has them unrounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

TABLES = ("word", "place", "kind")
_PRODUCT = re.compile(r"/(.+?)/(?:MatMul|Gemm).*")


def shipped_state(path: Path) -> Mapping[str, torch.Tensor]:
    """The tensors of ``training.model.Reader`` that lie in ``path``, an export of it.

    Raises:
        OSError: the file cannot be read.
    """
    model = onnx.load(str(path))
    held = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    made = {out: node for node in model.graph.node for out in node.output}
    found = {
        name: one
        for name, one in held.items()
        if one.dtype == np.float32 and not name.endswith("_scale")
    }
    for node in model.graph.node:
        product = _PRODUCT.fullmatch(node.name)
        if node.op_type != "MatMulInteger" or not product or node.input[1] not in held:
            continue
        name = node.input[1].removesuffix("_quantized")
        zero = held[f"{name}_zero_point"].astype(np.float32)
        weight = (held[node.input[1]].astype(np.float32) - zero) * held[f"{name}_scale"]
        weight = _factors(node, made, held)[:, None] * weight
        layer = product[1].replace("/", ".")
        layer = re.sub(r"^(layers\.\d+)$", r"\1.qkv", layer)
        layer = re.sub(r"^(\w+)\.\1\.", r"\1.", layer)
        found[f"{layer}.weight"] = weight.T
    return {
        name: torch.from_numpy(np.array(one))
        for name, one in found.items()
        if name.split(".")[0] not in TABLES
    }


def _factors(
    product: onnx.NodeProto, made: Mapping[str, onnx.NodeProto], held: Mapping[str, np.ndarray]
) -> np.ndarray:
    """What the inputs of ``product`` are multiplied by before they are rounded; ones if by none."""
    rounding = made.get(product.input[0])
    before = made.get(rounding.input[0]) if rounding else None
    if before and before.op_type == "Mul":
        for name in before.input:
            constant = made.get(name)
            if name in held:
                return np.asarray(held[name])
            if constant and constant.op_type == "Constant":
                return numpy_helper.to_array(constant.attribute[0].t)
    return np.ones(held[product.input[1]].shape[0], dtype=np.float32)
