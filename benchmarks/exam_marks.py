"""How an answer of the exam is marked: by gold strings and sources, and by a person's judgement."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wellread.values.answers import NOBODY, Answer

RIGHT, PARTLY, WRONG = "right", "partly", "wrong"
DECLINED_RIGHTLY, DECLINED_WRONGLY = "declined rightly", "declined wrongly"
MARKS = (RIGHT, PARTLY, WRONG, DECLINED_RIGHTLY, DECLINED_WRONGLY)
JUDGEMENTS = ("good", "acceptable", "bad")
SURE = 0.8
_SIGN = re.compile(r"\s*\[[\d, ]+\]|[*_`]")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamQuestion:
    """A question with its gold.

    Attributes:
        before: the turns of the conversation before it.
        expect: ``answer``; ``decline``: the material does not tell; ``correct``: the question takes
            something false for granted; ``ask back``; ``chat``: nothing is to be searched for.
        gold: groups of alternatives; an answer holds one of each group.
        sources: parts of titles and addresses, one of which a cited document bears.
    """

    id: str
    base: str
    question: str
    kind: str
    expect: str
    gold: tuple[tuple[str, ...], ...]
    before: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def read_questions(path: Path) -> list[ExamQuestion]:
    """The questions of a file of JSON lines."""
    return [
        ExamQuestion(
            id=row["id"],
            base=row["base"],
            question=row["question"],
            kind=row["kind"],
            expect=row["expect"],
            gold=tuple(tuple(group) for group in row["gold"]),
            before=tuple(row["before"]),
            sources=tuple(row["sources"]),
        )
        for row in read_rows(path)
    ]


def read_rows(path: Path) -> list[Row]:
    """A file of JSON lines; nothing where there is none."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def mark(one: ExamQuestion, given: Answer, addresses: Mapping[str, str]) -> str:
    """How far ``given`` holds the gold of ``one``.

    Args:
        addresses: document id to its title and addresses.
    """
    silent = given.answered_by == NOBODY
    if one.expect in ("decline", "ask back", "chat"):
        return DECLINED_RIGHTLY if silent else WRONG
    cells = [cell for row in given.table.rows for cell in row] if given.table else []
    said = _plain(" ".join([given.text, *map(str, cells)]))
    met = [any(_holds(said, word) for word in group) for group in one.gold]
    if silent:
        return DECLINED_RIGHTLY if one.expect == "correct" else DECLINED_WRONGLY
    if not all(met):
        return PARTLY if any(met) else WRONG
    places = " ".join(addresses.get(cited.document_id, cited.title) for cited in given.citations)
    shown = not one.sources or any(part.casefold() in places.casefold() for part in one.sources)
    return RIGHT if shown else PARTLY


def _plain(text: str) -> str:
    return " ".join(_SIGN.sub("", text).split()).casefold()


def _holds(said: str, word: str) -> bool:
    end = r"(?![\w%])" if word[-1].isdigit() or len(word) < 4 else ""
    return bool(re.search(rf"(?<![\w.,]){re.escape(_plain(word))}{end}", said))


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Shares of the marks and judgements, and how well the confidence goes with them."""
    given = [row for row in rows if not row["mark"].startswith("declined")]
    found: dict[str, Any] = {
        "questions": len(rows),
        "marks": {name: sum(row["mark"] == name for row in rows) for name in MARKS},
        "by_mark": _calibration(given, lambda row: row["mark"] == RIGHT),
    }
    judged = [row for row in rows if row["judged"]]
    if judged:
        found["judged"] = {
            name: sum(row["judged"] == name for row in judged) for name in JUDGEMENTS
        }
        delivered = [row for row in judged if row["by"] != NOBODY]
        found["by_judgement"] = _calibration(delivered, lambda row: row["judged"] != "bad")
        found["by_good_alone"] = _calibration(delivered, lambda row: row["judged"] == "good")
    for name in ("base", "kind"):
        found[f"by_{name}"] = _parted(rows, name)
    return found


def _calibration(rows: Sequence[Row], right: Callable[[Row], bool]) -> dict[str, Any]:
    sure = [row for row in rows if row["confidence"] >= SURE]
    off = [(row["confidence"] - right(row)) ** 2 for row in rows]
    return {
        "answers": len(rows),
        "sure": len(sure),
        "right_among_sure": _share(sum(map(right, sure)), len(sure)),
        "brier": round(sum(off) / len(off), 3) if off else None,
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _parted(rows: Iterable[Row], name: str) -> dict[str, dict[str, int]]:
    parts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        parts[row[name]]["questions"] += 1
        parts[row[name]]["right"] += row["mark"] in (RIGHT, DECLINED_RIGHTLY)
        if row["judged"]:
            parts[row[name]][row["judged"]] += 1
    return {key: dict(part) for key, part in sorted(parts.items())}
