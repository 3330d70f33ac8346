"""Banking77: which earlier question means the same? By intent, on a split of the train part."""

from __future__ import annotations

import csv
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchmarks.homes import Item, by_url, item_url, write_items
from benchmarks.paths import eval_data
from benchmarks.sets.judged import JudgedSet, Query, at
from wellread.kb import KnowledgeBase

ASKED_OF_TEN = 2  # of ten questions so many are asked, and the others are the base


@cache
def _rows() -> tuple[tuple[str, str, bool], ...]:
    """Question, intent, and whether it is asked; the same split on every machine."""
    with eval_data("banking77", "train.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["text"], row["category"]) for row in csv.DictReader(file)]
    unique = dict(rows)  # a question that stands there twice would find itself
    return tuple(
        (text, intent, hashlib.sha256(text.encode()).digest()[0] % 10 < ASKED_OF_TEN)
        for text, intent in unique.items()
    )


def _write(folder: Path) -> None:
    items = (Item(key=text, text=text) for text, _, asked in _rows() if not asked)
    write_items(folder / "banking.jsonl", "banking", items)


def _queries(kb: KnowledgeBase) -> Sequence[Query]:
    facts = by_url(kb)
    same: dict[str, dict[str, float]] = defaultdict(dict)
    for text, intent, asked in _rows():
        if not asked:
            same[intent][facts[item_url("banking", text)].id] = 1.0
    return [
        Query(id=str(number), text=text, grades=same[intent])
        for number, (text, intent, asked) in enumerate(_rows())
        if asked
    ]


BANKING = JudgedSet(
    name="banking",
    about="Banking77 (train, split): nearest question has the same of 77 intents",
    write=_write,
    queries=_queries,
    measures=at(1, "hit") | at(5, "hit"),
)
