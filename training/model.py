"""The reader's network: a small BERT that reads two texts together, with three heads.

The encoder is that of sentence-transformers/all-MiniLM-L6-v2 (Wang et al. 2020, MiniLM). Tokens of
the asked text that stand in the other one are marked from the third layer on, and the heads see how
well the texts meet (cosine of their means, the least met token, the share of tokens that stand in
the text), since word overlap is a strong signal that a small network learns slowly by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

FIRST_WORD_PIECE = 999  # smaller ids are [CLS], [SEP], padding and unused ones
MOST_SENTENCES = 24
FEATURES = 5
DROPOUT = 0.0  # every pair is read once or twice, so nothing is learnt by heart
MARKED_AT = 2  # the layer before which met tokens are marked


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Of the encoder; the defaults are MiniLM-L6's."""

    layers: int = 6
    width: int = 384
    heads: int = 12
    inner: int = 1536
    vocabulary: int = 30_522
    positions: int = 512


class Output(NamedTuple):
    """What the heads say, as log odds.

    Attributes:
        answers: whether the text answers the question, shape ``(pairs,)``.
        chosen: which sentence does, ``(pairs, MOST_SENTENCES)``; -10000 where there is none.
        entails: entailed, open, contradicted, ``(pairs, 3)``.
    """

    answers: Tensor
    chosen: Tensor
    entails: Tensor


class Layer(nn.Module):
    """One transformer layer, normalised after each part."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.out = nn.Linear(size.width, size.width)
        self.norm1 = nn.LayerNorm(size.width, 1e-12)
        self.up = nn.Linear(size.width, size.inner)
        self.down = nn.Linear(size.inner, size.width)
        self.norm2 = nn.LayerNorm(size.width, 1e-12)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """States after the layer, shape of ``x``: ``(pairs, tokens, width)``."""
        pairs, tokens, width = x.shape
        q, k, v = (
            self.qkv(x)
            .view(pairs, tokens, 3, self.heads, width // self.heads)
            .permute(2, 0, 3, 1, 4)
        )
        # Written out: on a processor the fused one's way back is three times as slow here.
        near = (q * (width // self.heads) ** -0.5) @ k.transpose(-1, -2) + mask.to(q.dtype)
        met = near.softmax(-1).to(v.dtype) @ v
        x = self.norm1(
            x + self.dropout(self.out(met.transpose(1, 2).reshape(pairs, tokens, width)))
        )
        return self.norm2(x + self.dropout(self.down(functional.gelu(self.up(x)))))


class Reader(nn.Module):
    """The encoder and its heads."""

    def __init__(self, size: Size, hidden: int = 256) -> None:
        super().__init__()
        width = size.width
        self.word = nn.Embedding(size.vocabulary, width)
        self.place = nn.Embedding(size.positions, width)
        self.kind = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.dropout = nn.Dropout(DROPOUT)
        self.met = nn.Parameter(torch.randn(width) * 0.02)
        self.mix = nn.Sequential(nn.LayerNorm(3 * width), nn.Linear(3 * width, hidden), nn.GELU())
        self.answers = nn.Linear(hidden + FEATURES, 1)
        self.entails = nn.Linear(hidden + FEATURES, 3)
        self.choice = nn.Sequential(
            nn.LayerNorm(3 * width), nn.Linear(3 * width, hidden), nn.GELU()
        )
        self.chosen = nn.Linear(hidden + 2, 1)

    def forward(self, ids: Tensor, sentence: Tensor, mask: Tensor) -> Output:
        """Read pairs.

        Args:
            ids: word pieces, ``[CLS] asked [SEP] text [SEP]``, shape ``(pairs, tokens)``.
            sentence: the number of each token's sentence from 1; 0 for what is asked.
            mask: 1 where there is a token.
        """
        kinds = (sentence > 0).long()
        live = mask * (ids > FIRST_WORD_PIECE)
        asked, told = (live * (1 - kinds)).float(), (live * kinds).float()
        same = (ids[:, :, None] == ids[:, None, :]).float() * asked[:, :, None] * told[:, None, :]
        asked_met, told_met = same.amax(2), same.amax(1)
        x = self._encoded(ids, kinds, mask, (asked_met + told_met)[..., None] * self.met)
        asked_count = asked.sum(1, keepdim=True).clamp(min=1)
        told_count = told.sum(1, keepdim=True).clamp(min=1)
        asked_mean = (x * asked[..., None]).sum(1) / asked_count
        told_mean = (x * told[..., None]).sum(1) / told_count
        unit = functional.normalize(x, dim=-1)
        best = (unit @ unit.transpose(1, 2) - 2 * (1 - told[:, None, :])).amax(2)
        features = torch.cat(
            [
                functional.cosine_similarity(asked_mean, told_mean)[:, None],
                (best * asked).sum(1, keepdim=True) / asked_count,
                (best * asked + 2 * (1 - asked)).amin(1, keepdim=True).clamp(max=1),
                (asked_met * asked).sum(1, keepdim=True) / asked_count,
                told_count.log() / 5,
            ],
            1,
        )
        mixed = self.mix(
            torch.cat([x[:, 0], asked_mean * told_mean * 4, (asked_mean - told_mean).abs()], 1)
        )
        both = torch.cat([self.dropout(mixed), 2 * features], 1)
        chosen = self._choose_model(x, sentence * live, asked_mean, told_met)
        return Output(self.answers(both)[:, 0], chosen, self.entails(both))

    def _encoded(self, ids: Tensor, kinds: Tensor, mask: Tensor, marks: Tensor) -> Tensor:
        x = self.word(ids) + self.place.weight[: ids.shape[1]] + self.kind(kinds)
        x = self.dropout(self.norm(x))
        hidden = (1.0 - mask.to(x.dtype))[:, None, None, :] * -1e4
        for number, layer in enumerate(self.layers):
            x = layer(x + marks if number == MARKED_AT else x, hidden)
        return x

    def _chosen(self, x: Tensor, sentence: Tensor, asked: Tensor, met: Tensor) -> Tensor:
        """The log odds of each sentence, from the mean of its tokens beside what is asked."""
        numbers = torch.arange(1, MOST_SENTENCES + 1, device=x.device)
        inside = (sentence[:, None, :] == numbers[None, :, None]).to(x.dtype)
        count = inside.sum(2, keepdim=True)
        mean = inside @ x / count.clamp(min=1)
        beside = asked[:, None, :].expand_as(mean)
        seen = torch.cat(
            [
                self.dropout(
                    self.choice(torch.cat([mean, mean * beside * 4, x[:, :1].expand_as(mean)], 2))
                ),
                2 * functional.cosine_similarity(mean, beside, dim=2)[..., None],
                2 * (inside @ met[..., None]) / count.clamp(min=1),
            ],
            2,
        )
        return self.chosen(seen)[..., 0] - 1e4 * (count[..., 0] == 0).to(x.dtype)


def layers_of(state: Mapping[str, torch.Tensor]) -> int:
    """How many layers the encoder of a trained reader has."""
    places = [re.search(r"layers?\.(\d+)\.", name) for name in state]
    return 1 + max(int(found[1]) for found in places if found)


def load_encoder(reader: Reader, state: Mapping[str, Tensor]) -> None:
    """Give ``reader`` the encoder of a BERT by its tensors' names, with or without a prefix."""
    named = {re.sub(r"^(bert\.|0\.auto_model\.)", "", name): one for name, one in state.items()}
    with torch.no_grad():
        for part, name in (("word", "word"), ("place", "position"), ("kind", "token_type")):
            getattr(reader, part).weight.copy_(named[f"embeddings.{name}_embeddings.weight"])
        for kind in ("weight", "bias"):
            getattr(reader.norm, kind).copy_(named[f"embeddings.LayerNorm.{kind}"])
            for number, layer in enumerate(reader.layers):
                at = f"encoder.layer.{number}."
                qkv = [named[f"{at}attention.self.{x}.{kind}"] for x in ("query", "key", "value")]
                getattr(layer.qkv, kind).copy_(torch.cat(qkv))
                for part, name in (
                    ("out", "attention.output.dense"),
                    ("norm1", "attention.output.LayerNorm"),
                    ("up", "intermediate.dense"),
                    ("down", "output.dense"),
                    ("norm2", "output.LayerNorm"),
                ):
                    getattr(getattr(layer, part), kind).copy_(named[f"{at}{name}.{kind}"])
