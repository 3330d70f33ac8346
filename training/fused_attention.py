"""Attention as one operator of onnxruntime, for the exported network alone.

``com.microsoft::MultiHeadAttention`` does in one step what products, a softmax and four turns of
the axes do otherwise, and saves their copies. It gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.model import Layer, Reader
from training.smoothing import Factors

DOMAIN = {"com.microsoft": 1}


class Attention(torch.autograd.Function):
    """The operator; in PyTorch the same, written out."""

    @staticmethod
    def forward(
        _ctx: Any, q: Tensor, k: Tensor, v: Tensor, bias: Tensor, mask: Tensor, heads: int
    ) -> Tensor:
        pairs, tokens, width = q.shape
        parts = [
            (one + own).view(pairs, tokens, heads, width // heads).transpose(1, 2)
            for one, own in zip((q, k, v), bias.chunk(3), strict=True)
        ]
        live = mask[:, None, None, :].bool()
        met = functional.scaled_dot_product_attention(*parts, attn_mask=live)
        return met.transpose(1, 2).reshape(pairs, tokens, width)

    @staticmethod
    def symbolic(  # noqa: PLR0913
        g: Any, q: Any, k: Any, v: Any, bias: Any, mask: Any, heads: int
    ) -> Any:
        name = f"{next(iter(DOMAIN))}::MultiHeadAttention"
        return g.op(name, q, k, v, bias, mask, num_heads_i=heads).setType(q.type())


def fuse(reader: Reader, factors: Sequence[Factors]) -> None:
    """Let every layer of ``reader`` be exported with the operator, its inputs times ``factors``."""
    for layer, own in zip(reader.layers, factors, strict=True):
        layer.forward = partial(_layer, layer, own)


def _layer(layer: Layer, factors: Factors, x: Tensor, mask: Tensor) -> Tensor:
    q, k, v = functional.linear(x * factors["qkv"], layer.qkv.weight).chunk(3, dim=-1)
    live = (mask[:, 0, 0, :] > -1).to(torch.int32)
    met = Attention.apply(q, k, v, layer.qkv.bias, live, layer.heads)
    x = layer.norm1(x + layer.out(met * factors["out"]))
    inner = functional.gelu(layer.up(x * factors["up"]))
    return layer.norm2(x + layer.down(inner * factors["down"]))
