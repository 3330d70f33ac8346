"""From an item's title to the minute in the recap at which it is talked about.

    python -m benchmarks.minutes

Optech comes in with its settings file (which takes the times from the newsletters), and each of the
listed titles is searched for among the recaps. Right is the episode; and, of the first passage of
the right episode, a beginning within a minute of the listed time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.paths import CACHE, ROOT, eval_data
from benchmarks.record import save
from benchmarks.sets.reading import Record, read_lines
from wellread.ask.retrieve.search import search
from wellread.evaluation.bootstrap import bootstrap
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.locators import Marks
from wellread.types import Filters

COLLECTION = "optech"
SETTINGS = ROOT / "examples" / "collections" / "optech.yaml"
WITHIN = 60.0  # seconds
DEPTH = 50


def main() -> None:
    """Measure, print, write ``results/minutes.json``."""
    rows = read_lines(eval_data("bitcoin_optech", "derived", "items_timestamps.jsonl"))
    # The table of the static embedder does for this: the titles' words decide.
    static = {"embedding": {"backend": "static"}}
    with open_kb(CACHE / "homes" / "minutes", overrides=static) as kb:
        folder = eval_data("bitcoin_optech")
        add(kb, [str(folder)], collection=COLLECTION, settings=SETTINGS)
        placed = [_placed(kb, row) for row in rows]
    figures = {
        "episode first": asdict(bootstrap([float(first) for first, _, _ in placed])),
        "minute right": asdict(bootstrap([float(near) for _, near, _ in placed])),
        "both": asdict(bootstrap([float(first and near) for first, near, _ in placed])),
        "no time at the passage": sum(untimed for _, _, untimed in placed),
    }
    save("minutes", figures)
    print("\n".join(table(figures)))
    print(json.dumps(figures, indent=1))


def _placed(kb: KnowledgeBase, row: Record) -> tuple[bool, bool, bool]:
    """Whether the right episode comes first; whether its passage's minute is right, or missing."""
    wanted = Path(row["podcast"]).stem
    filters = Filters(collections=(COLLECTION,), kinds=("transcript",))
    hits = search(kb, row["title"], filters, limit=DEPTH)
    right = [hit for hit in hits if Path(hit.document.uri).stem == wanted]
    if not right:
        return False, False, False
    best = right[0]
    (marks,) = kb.catalogue.marks_over([(best.document.id, best.passage.span)])
    begin = Marks(marks).locate(best.passage.span).begin
    near = begin is not None and abs(begin - seconds(row["timestamp"])) <= WITHIN
    return hits[0] is best, near, begin is None


def seconds(stamp: str) -> float:
    """``1:02:03`` and ``2:03`` as seconds."""
    total = 0.0
    for part in stamp.split(":"):
        total = total * 60 + float(part)
    return total


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures as a Markdown table."""
    lines = ["| Optech item → recap | share |", "|---|---|"]
    for name in ("episode first", "minute right", "both"):
        one = figures[name]
        lines.append(
            f"| {name} (n = {one['n']:,}) "
            f"| {one['mean']:.3f} [{one['low']:.3f}, {one['high']:.3f}] |"
        )
    lines += ["", f"{figures['no time at the passage']} passages have no time.", ""]
    return lines


if __name__ == "__main__":
    main()
