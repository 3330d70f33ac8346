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
    path = _data_folder().joinpath(*parts)
    if not path.exists():
        raise SystemExit(f"{path} is not there; set WELLREAD_EVAL_DATA to the evaluation data")
    return path.resolve()


def has_eval_data(*parts: str) -> bool:
    """Whether a file or folder of the evaluation data is there.

    Raises:
        SystemExit: ``WELLREAD_EVAL_DATA`` names a folder that is not there: a slip of the pen.
    """
    folder = _data_folder()
    if os.environ.get("WELLREAD_EVAL_DATA") and not folder.is_dir():
        raise SystemExit(f"WELLREAD_EVAL_DATA names {folder}, which is not there")
    return folder.joinpath(*parts).exists()


def _data_folder() -> Path:
    named = os.environ.get("WELLREAD_EVAL_DATA", "")
    return Path(named) if named else ROOT.parent / "shared" / "data"
