"""Write a trained reader for onnxruntime: ``python -m training.export READER OUT.onnx``.

Weights become int8 by dynamic quantisation (per channel; embeddings too), which is a quarter of the
size. They take seven of the eight bits: with eight, processors without VNNI instructions cut sums
off and say other numbers than those with them. Printed are the size and how far the numbers of some
texts are from the network's own.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from training.fused_attention import DOMAIN, fuse
from training.model import Reader, Size, layers_of
from training.smoothing import PASSAGES, example_batches, smooth
from wellread.models.trained_reader import NO_SENTENCE

INPUTS = ("ids", "sentence", "mask")
OUTPUTS = ("answers", "chosen", "entails")
HELD_OUT = 160  # passages that are compared


def main() -> None:
    """Export, quantise, compare."""
    parser = argparse.ArgumentParser(description="Write a trained reader as ONNX.")
    parser.add_argument("reader", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    state = torch.load(options.reader)
    reader = Reader(Size(layers=layers_of(state)))
    reader.load_state_dict(state)
    reader.eval()
    texts = list(example_batches(HELD_OUT, start=PASSAGES))
    with torch.no_grad():
        wanted = [[own.numpy() for own in reader(x.ids, x.sentence, x.mask)] for x in texts]
    fuse(reader, smooth(reader))
    given = example(4, 40)
    axes = {name: {0: "pairs", 1: "tokens"} for name in INPUTS} | {
        name: {0: "pairs"} for name in OUTPUTS
    }
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        whole = Path(folder) / "reader.onnx"
        torch.onnx.export(
            reader,
            given,
            str(whole),
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_axes=axes,
            opset_version=17,
            custom_opsets=DOMAIN,
            dynamo=False,
        )
        quantize_dynamic(
            whole,
            options.out,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
            op_types_to_quantize=["MatMul", "Gemm", "Gather"],
        )
    session = onnxruntime.InferenceSession(str(options.out), providers=["CPUExecutionProvider"])
    got = [session.run(OUTPUTS, {name: getattr(x, name).numpy() for name in INPUTS}) for x in texts]
    for place, name in enumerate(OUTPUTS):
        off = np.concatenate(
            [
                (said[place] - own[place])[own[place] > NO_SENTENCE].ravel()
                for said, own in zip(got, wanted, strict=True)
            ]
        )
        print(f"{name}: {np.sqrt((off**2).mean()):.3f} apart (rms), {off.mean():+.3f} on average")
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.1f} MB")


def example(count: int, tokens: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pairs of random word pieces: a quarter asked, the rest two sentences."""
    made = torch.Generator().manual_seed(7)
    ids = torch.randint(1000, 2000, (count, tokens), generator=made)
    sentence = (torch.arange(tokens) * 4 // tokens).clamp(max=2).expand(count, tokens).clone()
    return ids, sentence, torch.ones_like(ids)


if __name__ == "__main__":
    main()
