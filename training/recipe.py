"""The whole recipe in one command: ``python -m training.recipe WEIGHTS DATA FOLDER``.

Trains in stages, each from where the one before ended, measures the last on the development halves
and writes ``reader.onnx`` into FOLDER. A stage whose result lies there already is not done again,
so a stopped run goes on. About two hours on two cores that know bfloat16 (``--half``), four on
others.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

SIZE = ["--layers", "9", "--reading"]
STAGES = (
    ("1-read", [*SIZE, "--pairs", "60000", "--seed", "7"]),
    ("2-read", [*SIZE, "--pairs", "60000", "--seed", "8", "--rate", "8e-5"]),
    ("3-written", [*SIZE, "--pairs", "25000", "--seed", "31", "--rate", "8e-5", "--written", "1"]),
)
"""Name and options of ``training.train``; of the pairs that are asked for about three quarters
are found once doubles are dropped."""


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
    run("measure", str(before))
    run("export", str(before), str(options.folder / "reader.onnx"))


def run(module: str, *given: str) -> None:
    """Run a module of ``training`` in a process of its own, which gives its memory back."""
    print(f"training.{module} {' '.join(given)}", flush=True)
    subprocess.run([sys.executable, "-m", f"training.{module}", *given], check=True)


if __name__ == "__main__":
    main()
