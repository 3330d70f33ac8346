"""Train the reader: ``python -m training.train WEIGHTS DATA OUT``.

WEIGHTS is the encoder's ``model.safetensors``, DATA the folder of training pairs, OUT the file that
the trained network is written to (every few minutes too, so that a stopped run is not lost).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

from training.encode import Batch, batches, encoded
from training.model import Output, Reader, Size, load_encoder
from training.neighbours import Neighbours
from training.pairs import NOT_ENTAILED, READING, SHARES, STRICT_WITHOUT, Pair, pairs
from training.reworded import Thesaurus
from training.shipped import shipped_state
from training.written import passages, written_pairs

HEADS_RATE = 5.0  # the heads start from nothing and learn faster than the encoder
WARM = 0.05


def main() -> None:
    """Train as the command line says."""
    train(asked(sys.argv[1:]))


def train(options: argparse.Namespace) -> None:
    """Train for some epochs, or as long as is allowed."""
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    made = pairs(
        options.data,
        options.pairs,
        options.seed,
        shares=shares_of(options),
        thesaurus=Thesaurus(options.wordnet) if options.wordnet else None,
    )
    if options.written:
        own = [one for one in passages(names=options.own) if not one.held_out]
        rng, near = random.Random(options.seed), Neighbours(own)
        for _ in range(options.written):
            made += written_pairs(own, rng, near=near, claims=options.claims)
    rows = [encoded(pair) for pair in made]
    print(f"{len(rows)} pairs, {sum(len(row.ids) for row in rows) / len(rows):.0f} tokens each")
    reader = Reader(Size(layers=options.layers))
    load_encoder(reader, load_file(options.weights))
    if options.start:
        exported = options.start.suffix == ".onnx"
        state = shipped_state(options.start) if exported else torch.load(options.start)
        reader.load_state_dict(state, strict=not exported)
    reader.to(options.device).train()
    for embedding in (reader.word, reader.place, reader.kind):
        embedding.requires_grad_(False)
    optimiser = optimiser_of(reader)
    rng = random.Random(options.seed)
    total = options.epochs * sum(len(row.ids) for row in rows)
    began = saved = time.monotonic()
    seen = step = count = 0
    means: dict[str, float] = {}
    for _ in range(options.epochs):
        for batch in batches(rows, options.tokens, rng):
            done = max(seen / total, (time.monotonic() - began) / (60 * options.minutes))
            if done >= 1:
                break
            rate = options.rate * min(1.0, (seen + 1) / (WARM * total)) * max(0.02, 1 - done)
            for group, times in zip(optimiser.param_groups, (1.0, HEADS_RATE), strict=True):
                group["lr"] = rate * times
            device = options.device
            ids, sentence, mask = (
                one.to(device) for one in (batch.ids, batch.sentence, batch.mask)
            )
            with torch.autocast(device, torch.bfloat16, enabled=options.half):
                output = reader(ids, sentence, mask)
            parts = losses(Output(*(one.float() for one in output)), batch)
            optimiser.zero_grad()
            torch.stack(list(parts.values())).sum().backward()
            torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
            optimiser.step()
            seen, step, count = seen + int(batch.mask.sum()), step + 1, count + len(batch.pairs)
            for name, loss in parts.items():
                means[name] = 0.99 * means.get(name, loss.item()) + 0.01 * loss.item()
            if step % 50 == 0:
                told = ", ".join(f"{name} {mean:.3f}" for name, mean in sorted(means.items()))
                pace = count / (time.monotonic() - began)
                print(f"{done:.1%}, {count} pairs, {pace:.1f} a second: {told}", flush=True)
            if time.monotonic() - saved > 300:
                torch.save(reader.state_dict(), options.out)
                saved = time.monotonic()
    torch.save(reader.state_dict(), options.out)


def shares_of(options: argparse.Namespace) -> dict[str, float]:
    """The mixture that the options ask for."""
    shares = READING if options.reading else SHARES
    left_out = STRICT_WITHOUT if options.strict else ()
    return {source: share for source, share in shares.items() if source not in left_out}


def asked(given: Sequence[str]) -> argparse.Namespace:
    """The options of a command line."""
    parser = argparse.ArgumentParser(description="Train the reader.")
    parser.add_argument("weights", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=int, default=370_000)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop, cooled down, after these")
    parser.add_argument("--tokens", type=int, default=8192, help="of a batch, with padding")
    parser.add_argument("--rate", type=float, default=1.2e-4)
    parser.add_argument("--start", type=Path, help="go on from a run's state, or from an export")
    parser.add_argument("--layers", type=int, default=6, help="of the encoder, the lowest ones")
    parser.add_argument("--reading", action="store_true", help="mostly passages with questions")
    parser.add_argument("--strict", action="store_true", help="no share-alike or forum texts")
    parser.add_argument("--written", type=int, default=0, help="times that our own are read")
    parser.add_argument("--own", default="*", help="names of the files of our own, with commas")
    parser.add_argument("--claims", action="store_true", help="our own claims too")
    parser.add_argument("--wordnet", type=Path, help="ask part of the questions in other words")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--half",
        action="store_true",
        help="compute in bfloat16: twice as fast where the processor has avx512_bf16 or a GPU",
    )
    return parser.parse_args(given)


def optimiser_of(reader: Reader) -> torch.optim.AdamW:
    """AdamW with the encoder in the first group and the heads in the second."""
    heads = ("met", "mix", "answers", "entails", "choice", "chosen")
    groups: tuple[list[Tensor], list[Tensor]] = ([], [])
    for name, parameter in reader.named_parameters():
        if parameter.requires_grad:
            groups[name.startswith(heads)].append(parameter)
    return torch.optim.AdamW([{"params": group} for group in groups], weight_decay=0.01)


def losses(output: Output, batch: Batch) -> dict[str, Tensor]:
    """What each head has still to learn from a batch, weighted by its share of the pairs."""
    device = output.answers.device
    pairs_ = batch.pairs
    weights = torch.tensor([pair.weight for pair in pairs_], device=device)
    labels = torch.tensor([pair.label for pair in pairs_], device=device)
    asks = torch.tensor([pair.task == "qa" for pair in pairs_], device=device)
    found: dict[str, Tensor] = {}
    if asks.any():
        each = functional.binary_cross_entropy_with_logits(
            output.answers[asks], labels[asks].float(), weight=weights[asks], reduction="sum"
        )
        found["answers"] = each / len(pairs_)
    if ranked := ranking_loss(output.answers, pairs_):
        found["ranked"] = torch.stack(ranked).sum() / len(pairs_)
    if asks.any():
        found |= choice_loss(output, pairs_)
    claims = ~asks
    if claims.any():
        odds = functional.log_softmax(output.entails[claims], 1)
        label = labels[claims]
        exact = -odds.gather(1, label.clamp(max=2)[:, None])[:, 0]
        either = -torch.logsumexp(odds[:, 1:], 1)
        each = torch.where(label == NOT_ENTAILED, either, exact) * weights[claims]
        found["entails"] = each.sum() / len(pairs_)
    return found


def ranking_loss(answers: Tensor, pairs_: Sequence[Pair]) -> list[Tensor]:
    """Of each group: how far the text that answers is from the highest log odds of all.

    Cross-entropy over a question's texts, as rerankers are trained (Cao et al. 2007, "ListNet").
    """
    groups: dict[int, list[int]] = {}
    for place, pair in enumerate(pairs_):
        if pair.group is not None:
            groups.setdefault(pair.group, []).append(place)
    found = []
    for places in groups.values():
        right = [place for place in places if pairs_[place].label]
        if right and len(right) < len(places):
            found.append(answers[places].logsumexp(0) - answers[right].logsumexp(0))
    return found


def choice_loss(output: Output, pairs_: Sequence[Pair]) -> dict[str, Tensor]:
    """Cross-entropy of the sentence that answers among those of its text."""
    chosen = torch.tensor(
        [-1 if pair.chosen is None else pair.chosen for pair in pairs_],
        device=output.answers.device,
    )
    known = (chosen >= 0) & (chosen < output.chosen.shape[1])
    # A sentence that was cut off has no odds, and nothing is learnt from it.
    known &= (
        output.chosen.gather(1, chosen.clamp(min=0, max=output.chosen.shape[1] - 1)[:, None])[:, 0]
        > -5e3
    )
    several = (output.chosen > -5e3).sum(1) > 1
    pick = known & several
    if not pick.any():
        return {}
    each = functional.cross_entropy(output.chosen[pick], chosen[pick], reduction="sum")
    return {"chosen": each / len(pairs_)}


if __name__ == "__main__":
    main()
