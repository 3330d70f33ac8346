"""The whole recipe in one command: ``python -m training.recipe WEIGHTS DATA FOLDER``.

Trains in stages, each from where the one before ended, measures the mean of the last two on the
development halves and writes ``reader.onnx`` into FOLDER. A stage whose result lies there already
is not done again, so a stopped run goes on. About four hours on two cores that know bfloat16
(``--half``), eight on others.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

SIZE = ["--layers", "9", "--reading"]
PASSAGES = ["--written", "1", "--own", "m*,papers-*,reference-*,t*,long-*"]
DOCUMENTS = ["--layers", "9", "--rate", "8e-5", "--written", "1", "--claims"]
STAGES = (
    ("1-read", [*SIZE, "--pairs", "60000", "--seed", "7"]),
    ("2-read", [*SIZE, "--pairs", "60000", "--seed", "8", "--rate", "8e-5"]),
    ("3-written", [*SIZE, "--pairs", "25000", "--seed", "31", "--rate", "8e-5", *PASSAGES]),
    ("4-documents", [*DOCUMENTS, "--own", "docs-*,long-*", "--pairs", "14000", "--seed", "51"]),
    ("5-documents", [*DOCUMENTS, "--own", "docs-*", "--pairs", "10000", "--seed", "61"]),
)
"""Name and options of ``training.train``; of the pairs that are asked for about three quarters
are found once doubles are dropped."""
MEAN_OF = ("4-documents", "5-documents")
"""The stages whose mean is measured and exported (Wortsman et al. 2022, "Model soups")."""


def main() -> None:
    """Train, measure, export."""
    parser = argparse.ArgumentParser(description="Train the reader from start to end.")
    parser.add_argument("weights", type=Path, help="bge-small-en-v1.5, by training.weights")
    parser.add_argument("data", type=Path, help="folder of training pairs")
    parser.add_argument("folder", type=Path, help="where every stage's state goes")
    parser.add_argument("--half", action="store_true", help="compute in bfloat16")
    options = parser.parse_args()
    half = ["--half"] if options.half else []
    options.folder.mkdir(parents=True, exist_ok=True)
    before: Path | None = None
    for name, given in STAGES:
        state, part = options.folder / f"{name}.pt", options.folder / f"{name}.part.pt"
        start = ["--start", str(before)] if before else []
        if not state.exists():
            run("train", str(options.weights), str(options.data), str(part), *given, *start, *half)
            part.rename(state)
        before = state
    mean = options.folder / "mean.pt"
    torch.save(mean_of([options.folder / f"{name}.pt" for name in MEAN_OF]), mean)
    run("measure", str(mean))
    run("export", str(mean), str(options.folder / "reader.onnx"))


def mean_of(paths: Sequence[Path]) -> dict[str, torch.Tensor]:
    """The mean of the states that lie at ``paths``."""
    states = [torch.load(path) for path in paths]
    return {
        name: torch.stack([state[name].float() for state in states]).mean(0) for name in states[0]
    }


def run(module: str, *given: str) -> None:
    """Run a module of ``training`` in a process of its own, which gives its memory back."""
    print(f"training.{module} {' '.join(given)}", flush=True)
    subprocess.run([sys.executable, "-m", f"training.{module}", *given], check=True)


if __name__ == "__main__":
    main()
