"""Where the evaluation data lies, and where homes and results are kept."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "src" / "wellread" / "sample"
SAMPLE_QUESTIONS = ROOT / "tests" / "sample_questions.jsonl"
CACHE = (ROOT / "benchmarks" / ".cache").resolve()  # may be a link: one for several checkouts
RESULTS = ROOT / "benchmarks" / "results"
RESULTS_PAGE = ROOT / "benchmarks" / "RESULTS.md"


def eval_data(*parts: str) -> Path:
    """A file or folder of the evaluation data (``WELLREAD_EVAL_DATA``, else ``../shared/data``).

    Raises:
        SystemExit: it is not there.
    """
    named = os.environ.get("WELLREAD_EVAL_DATA", "")
    base = Path(named) if named else ROOT.parent / "shared" / "data"
    path = base.joinpath(*parts)
    if not path.exists():
        raise SystemExit(f"{path} is not there; set WELLREAD_EVAL_DATA to the evaluation data")
    return path.resolve()
