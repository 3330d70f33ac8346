"""Every file of a folder by its ending: read, refused with which reason, or failed.

    python -m benchmarks.files_read FOLDER

FOLDER holds unpacked source archives of libraries that read such files, whose test suites have
them: ``RESULTS.md`` names those of its table. A file counts as failed when its loader raised what
nobody foresaw, and as slow from ``SLOW`` seconds.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from pathlib import Path
from time import perf_counter

from benchmarks.record import save
from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline import kinds

SEED, MOST = 7, 100  # files of one ending, drawn when there are more
SLOW = 10.0
UNFORESEEN = "cannot be parsed"  # what the report says of them


def main() -> None:
    """Read the files and print a row for each ending."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--endings", nargs="+", required=True, help="such as docx html pdf")
    options = parser.parse_args()
    rows = {}
    print("| ending | files | read | refused, with the reason | failed | slow |")
    print("|---|---|---|---|---|---|")
    for ending, paths in sorted(files_in(options.folder, options.endings).items()):
        outcome, reasons, slow = Counter[str](), Counter[str](), 0
        for path in paths:
            began = perf_counter()
            reason = why_not_read(path)
            slow += perf_counter() - began >= SLOW
            outcome["failed" if UNFORESEEN in reason else "refused" if reason else "read"] += 1
            reasons[reason] += bool(reason) and UNFORESEEN not in reason
        told = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common(3) if reason)
        refused = f"{outcome['refused']}{f': {told}' if told else ''}"
        row = (ending, len(paths), outcome["read"], refused, outcome["failed"], slow)
        print(f"| {' | '.join(map(str, row))} |")
        rows[ending] = {"files": len(paths), **outcome, "slow": slow, "reasons": dict(reasons)}
    save("files_read", {"folder": options.folder.name, "endings": rows})


def files_in(folder: Path, endings: list[str]) -> dict[str, list[Path]]:
    """The files of each ending, at most ``MOST``."""
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix[1:].lower() in endings:
            found[path.suffix[1:].lower()].append(path)
    drawn = random.Random(SEED)
    return {ending: drawn.sample(paths, min(MOST, len(paths))) for ending, paths in found.items()}


def why_not_read(path: Path) -> str:
    """The reason for which a file is refused or failed; empty if it is read."""
    source = Source(
        collection="files", uri=path.as_uri(), name=path.name, data=path.read_bytes(), path=path
    )
    try:
        kinds.load(source, LoaderLimits())
    except SourceError as error:
        return error.reason[:60]
    return ""


if __name__ == "__main__":
    main()
