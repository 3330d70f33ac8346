"""When an answer is declined: answerable against unanswerable, foreign and in-domain questions.

    python -m benchmarks.refusal                     # asks all, then writes the figures
    python -m benchmarks.refusal --figures           # the figures again, from what was recorded

Every question goes through ``ask.answer`` with the default settings. Each is recorded in
``.cache/cases/refusal-<set>.jsonl``: figures and calibration need no second asking.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.confidence_figures import auroc
from benchmarks.extractive import holds_gold
from benchmarks.homes import filled
from benchmarks.paths import CACHE
from benchmarks.record import save
from benchmarks.sets.asked import Asked
from benchmarks.sets.refused import REFUSED, WITHHELD
from wellread.ask import answer as answering
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.ranking import Found
from wellread.ask.verify.confidence import MEDIUM
from wellread.evaluation.scores import Interval, bootstrap
from wellread.kb import KnowledgeBase
from wellread.values.answers import Question
from wellread.values.question import Analysis

FIND = vars(answering)["find"]  # no such name, no start
THRESHOLD = 0.3
GROUPS = ("answerable", "unanswerable", WITHHELD, "foreign", "partial", "underspecified")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question asked.

    Attributes:
        right: whether the text, had it been delivered, holds the gold answer or, where only gold
            documents are known, cites one.
    """

    set: str
    id: str
    group: str
    question: str
    right: bool
    declined: bool
    confidence: float

    @property
    def held_out(self) -> bool:
        """Whether it is kept from training. A question and its twin without the answer stay
        together, and so do the turns of a conversation. The exam has a half of its own for that.
        """
        if self.set == "exam":
            return False
        group = self.id.partition("<::>")[0].removesuffix(f"-{WITHHELD}")
        return zlib.crc32(f"{self.set}/{group}".encode()) % 2 == 1


def main() -> None:
    """Ask, record, print, write ``results/refusal.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sets", default=",".join(REFUSED), help=f"of {','.join(REFUSED)}")
    parser.add_argument("--figures", action="store_true", help="ask nothing, count again")
    options = parser.parse_args()
    if not options.figures:
        for name in options.sets.split(","):
            print(name, len(record(name)), flush=True)
    found = {name: figures(recorded(name)) for name in REFUSED if path_of(name).exists()}
    about = {name: REFUSED[name].about for name in found}
    save("refusal", {"threshold": THRESHOLD, "about": about, "sets": found})
    print("\n".join(table({"threshold": THRESHOLD, "about": about, "sets": found})))


# --- asking ----------------------------------------------------------------------------------


def record(name: str) -> list[Row]:
    """Ask every question of the set and keep a row for each."""
    chosen = REFUSED[name]
    # A threshold of zero delivers every answer, so that what would be declined is seen too.
    overrides: dict[str, dict[str, Any]] = {
        "qa": {"confidence_threshold": 0.0},
        "cache": {"answers": False},
    }
    with filled(chosen.name, chosen.write, overrides) as kb:
        rows = asyncio.run(_ask(kb, name, chosen.questions(kb)))
    keep(name, rows)
    return rows


def keep(name: str, rows: Sequence[Row]) -> Path:
    """Write the rows of a set to where :func:`recorded` reads them."""
    path = path_of(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(asdict(row), ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


async def _ask(kb: KnowledgeBase, name: str, asked: Sequence[Asked]) -> list[Row]:
    rows = []
    for one in asked:
        rows.append(await _row(kb, name, one))
        if one.group == "answerable" and one.gold and name in ("xquad", "optech"):
            with withheld(one):
                alike = replace(one, id=f"{one.id}-{WITHHELD}", group=WITHHELD)
                rows.append(await _row(kb, name, alike))
    return rows


async def _row(kb: KnowledgeBase, name: str, one: Asked) -> Row:
    given = await final(answer(kb, Question(text=one.text, filters=one.filters, fresh=True)))
    return Row(
        set=name,
        id=one.id,
        group=one.group,
        question=one.text,
        right=one.group in ("answerable", "partial") and holds_gold(given, one),
        declined=given.confidence.score < THRESHOLD,
        confidence=given.confidence.score,
    )


@contextmanager
def withheld(one: Asked) -> Iterator[None]:
    """What is found inside comes without the passages that answer ``one``."""

    def without(kb: KnowledgeBase, analysis: Analysis) -> Found:
        found: Found = FIND(kb, analysis)
        kept = [
            hit
            for hit in found.hits
            if not any(
                gold.document_id == hit.document.id and hit.passage.span.overlaps(gold.within)
                for gold in one.gold
            )
        ]
        return replace(found, hits=tuple(kept))

    with patch.object(answering, "find", without):
        yield


def path_of(name: str) -> Path:
    """Where the rows of a set are kept."""
    return CACHE / "cases" / f"refusal-{name}.jsonl"


def recorded(name: str) -> list[Row]:
    """The rows of a set as they were asked.

    Raises:
        SystemExit: it was not asked yet.
    """
    path = path_of(name)
    if not path.exists():
        raise SystemExit(f"{path} is not there; run python -m benchmarks.refusal --sets {name}")
    return [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


# --- figures ---------------------------------------------------------------------------------


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Declined per group; answerable against each other group; all rows, and those held out."""
    kept = [row for row in rows if row.held_out]
    return {"all": _figures(rows), "held out": _figures(kept)}


def _figures(rows: Sequence[Row]) -> dict[str, Any]:
    by_group = {name: [row for row in rows if row.group == name] for name in GROUPS}
    by_group = {name: members for name, members in by_group.items() if members}
    yes = by_group.get("answerable", [])
    return {
        "declined": {
            name: asdict(bootstrap([float(row.declined) for row in members]))
            for name, members in by_group.items()
        },
        "declined or hedged": {
            name: asdict(bootstrap([float(row.confidence < MEDIUM) for row in members]))
            for name, members in by_group.items()
        },
        "against answerable": {
            name: {
                "auroc": _auroc(yes, members),
                "accuracy": asdict(_accuracy(yes, members, THRESHOLD)),
                "accuracy at 0.5": asdict(_accuracy(yes, members, MEDIUM)),
            }
            for name, members in by_group.items()
            if name != "answerable" and yes
        },
        "right among answered": asdict(
            bootstrap([float(row.right) for row in yes if not row.declined])
        ),
    }


def _auroc(yes: Sequence[Row], no: Sequence[Row]) -> dict[str, Any] | None:
    found = auroc([row.confidence for row in [*yes, *no]], [True] * len(yes) + [False] * len(no))
    return asdict(found) if found else None


def _accuracy(yes: Sequence[Row], no: Sequence[Row], threshold: float) -> Interval:
    hits = [row.confidence >= threshold for row in yes] + [row.confidence < threshold for row in no]
    return bootstrap(np.asarray(hits, dtype=float).tolist())


def table(found: Mapping[str, Any]) -> list[str]:
    """The figures as Markdown tables, of the questions that were kept from training."""
    lines = [
        f"Declined below {found['threshold']}; hedged (“Based on limited information”) below "
        f"{MEDIUM}. Held-out half of the questions only; all of them in the result file.",
        "",
        "| set | group | n | declined | declined or hedged | AUROC | accuracy | accuracy at 0.5 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, parts in found["sets"].items():
        part = parts["held out"]
        for group, declined in part["declined"].items():
            against = part["against answerable"].get(group)
            cells = [_cell(declined), _cell(part["declined or hedged"][group])]
            cells += (
                [_cell(against[key]) for key in ("auroc", "accuracy", "accuracy at 0.5")]
                if against
                else ["–"] * 3
            )
            lines.append(f"| {name} | {group} | {declined['n']} | {' | '.join(cells)} |")
    return [*lines, "", *(f"{name}: {about}." for name, about in found["about"].items()), ""]


def _cell(row: Mapping[str, float] | None) -> str:
    return f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" if row else "–"


if __name__ == "__main__":
    main()
