"""A BERT's tensors by their names: ``python -m training.weights MODEL.onnx OUT.safetensors``.

bge-small-en-v1.5 (BAAI, MIT) can be had offline as ONNX alone: an export keeps the names of biases
and tables, but calls a weight after the product that it is used in, and turns it around.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import save_file

PRODUCT = "/MatMul"  # how the node that a dense layer became is called


def main() -> None:
    """Read, name, write."""
    parser = argparse.ArgumentParser(description="Write a BERT's weights from its ONNX export.")
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    found = named(onnx.load(str(options.model)))
    save_file(dict(found), str(options.out))
    print(f"{options.out}: {len(found)} tensors")


def named(model: onnx.ModelProto) -> Mapping[str, np.ndarray]:
    """All weights of ``model`` under the names that they have outside ONNX."""
    held = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    found = {name: one for name, one in held.items() if "::" not in name}
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.name.endswith(PRODUCT) and node.input[1] in held:
            layer = node.name.removesuffix(PRODUCT).strip("/").replace("/", ".")
            found[f"{layer}.weight"] = np.ascontiguousarray(held[node.input[1]].T)
    return found


if __name__ == "__main__":
    main()
